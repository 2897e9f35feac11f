"""The run of `tune`: evidence, order, comparison and measurement, one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from layoutlint.commands.tune.other_commands import Ended
from layoutlint.commands.tune.result import Effect, Tuned
from layoutlint.comparison import comparison
from layoutlint.comparison.comparison import Comparison
from layoutlint.errors import LayoutlintError, ReadError
from layoutlint.judgement.rule import Pack
from layoutlint.lint.changed_allocators import find_allocators
from layoutlint.lint.options import Options
from layoutlint.lint.sides import SideInput, read_sides
from layoutlint.model.reading import InputText, Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.readers.profiles import saved
from layoutlint.readers.profiles.saved import Measured, Profile
from layoutlint.readers.snapshot.encode import encode
from layoutlint.suggestion.builds import Request
from layoutlint.suggestion.orders.result import Suggestion
from layoutlint.suggestion.run import suggest
from layoutlint.workers.temporary_folder import temporary_folder

RunCommand = Callable[[str, list[str]], Ended]
"""Runs another command with some arguments."""


class Task(NamedTuple):
    """What is asked for."""

    path: str
    request: Request
    """The search; its evidence is what the profiles give."""
    profile_words: list[str]
    """The arguments of `evidence` for the profiles."""
    measure_words: list[str] | None
    """Further arguments of `measure`; None to measure nothing."""
    packs: tuple[Pack, ...]
    kernel_packs: tuple[Pack, ...]
    options: Options


def tune(task: Task, run_command: RunCommand, say: Callable[[str], None]) -> Tuned:
    """Return what profiles give. `say` is called with each step. Raises LayoutlintError."""
    with temporary_folder() as folder:
        say("reading the profile")
        file, profile = _evidence(task, run_command, folder)
        say("searching an order")
        suggestion = _suggest(task, file, profile)
        struct = suggestion.struct
        own = [each for each in profile.structs if struct.matches(each.name)]
        lines = tuple(line for each in own for line in each.lines)
        compared, why_not_compared = None, ""
        if _is_usable(suggestion):
            say("comparing the layouts")
            compared, why_not_compared = _compare(task, suggestion, folder)
        effect, why_not_measured = _effect(task, suggestion, file, run_command, folder, say)
        return Tuned(
            profile.reports, lines, suggestion, compared, why_not_compared, effect, why_not_measured
        )


def _is_usable(suggestion: Suggestion) -> bool:
    """Return whether there is a changed order that nothing forbids."""
    return suggestion.status in ("optimal", "feasible") and suggestion.is_change


def _evidence(task: Task, run_command: RunCommand, folder: str) -> tuple[str, Profile]:
    """Return the file with the evidence of the profiles, and its content. Raises LayoutlintError."""
    file = os.path.join(folder, "evidence.json")
    words = [*task.profile_words, "--in", task.path, "--struct", task.request.struct]
    printed = run_command("evidence", [*words, "--format", "json"]).output
    Path(file).write_text(printed, "utf-8", "surrogateescape")
    content = saved.load(file).content
    assert isinstance(content, Profile)
    if not any(each.lines for each in content.structs):
        origin, _, reason = next(iter(content.failures), "").partition(": ")
        raise ReadError(origin or task.path, reason or f"no cache line of struct {task.request.struct}")
    return file, content


def _suggest(task: Task, file: str, profile: Profile) -> Suggestion:
    """Return the order for the evidence in a file. Raises LayoutlintError that names the profiles."""
    names = tuple(report.path for report in profile.reports)
    request = replace(task.request, evidence=(file,))
    try:
        result = suggest(task.path, request, task.packs, task.kernel_packs, task.options)
    except ReadError as error:
        if error.path != file:
            raise
        raise ReadError(", ".join(names), error.reason) from error
    if result.status == "infeasible":  # an order that breaks rules is no step of the way
        return replace(result, contention=None, moves=(), new=None)
    contention = None if result.contention is None else replace(result.contention, files=names)
    if contention is not None and not contention.measured:
        raise ReadError(", ".join(names), "no HITM, and no stores with loads by other CPUs: nothing contends")
    return replace(result, contention=contention)


def _compare(task: Task, suggestion: Suggestion, folder: str) -> tuple[Comparison | None, str]:
    """Return what the change does to the input, or why it was not compared.

    The input is read again with the changed text; without one, only the struct itself is compared. Of a
    kernel, too: all of its structs would be read.
    """
    options, patch = task.options, suggestion.patch
    options = replace(options, read=replace(options.read, cache=False))
    try:
        if patch is None or os.path.isdir(task.path):
            before, after = _layout_files(suggestion, folder)
            sides = [SideInput(task.path, (before,)), SideInput("changed", (after,))]
            own = replace(options, only=(suggestion.struct.name,))
            old, new = read_sides(sides, task.packs, task.kernel_packs, own)
        else:
            side = SideInput(task.path, (task.path,))
            changed = InputText(os.path.abspath(patch.file), patch.text)
            own = replace(options, read=replace(options.read, replaced=(changed,)))
            (old,) = read_sides([side], task.packs, task.kernel_packs, options)
            (new,) = read_sides([side], task.packs, task.kernel_packs, own)
        compared = comparison.compare(old, new, ("worse",), True, None, False)
        found = find_allocators(
            compared, SideInput(task.path, (task.path,)), task.packs, task.kernel_packs, own
        )
    except LayoutlintError as error:
        return None, str(error)
    return replace(compared, allocators=found), ""


def _layout_files(suggestion: Suggestion, folder: str) -> tuple[str, str]:
    """Write snapshots of the struct before and after the change; return their paths."""
    assert suggestion.new is not None
    paths = os.path.join(folder, "before.json"), os.path.join(folder, "after.json")
    for path, struct in zip(paths, (suggestion.struct, suggestion.new), strict=True):
        with open(path, "w", encoding="utf-8") as file:
            file.write(_snapshot(struct))
    return paths


def _snapshot(struct: Struct) -> str:
    reading = Reading("", "dwarf", struct.target, (replace(struct, source=None),))
    return encode(reading, None, lambda name: name)


def _effect(
    task: Task, suggestion: Suggestion, evidence: str, run_command: RunCommand, folder: str,
    say: Callable[[str], None],
) -> tuple[Effect | None, str]:
    """Return what the change gains on this machine, or why that was not measured."""
    if task.measure_words is None:
        return None, "--no-measure"
    if not _is_usable(suggestion):
        return None, "there is no allowed order that changes anything"
    say("measuring the accesses of the profile, before and after")
    before, after = _layout_files(suggestion, folder)
    measured = os.path.join(folder, "measured.json")
    words = [suggestion.struct.name, "--before", before, "--after", after, "--evidence", evidence]
    return _measure([*words, *task.measure_words, "--output", f"json={measured}"], measured, run_command)


def _measure(words: list[str], file: str, run_command: RunCommand) -> tuple[Effect | None, str]:
    """Return what `measure` measures, or why it cannot."""
    try:
        ended = run_command("measure", words)
    except LayoutlintError as error:
        return None, str(error)
    reason = ended.complaints.strip().rpartition("\n")[2].removeprefix("layoutlint: ")
    if ended.status != 0 or not os.path.exists(file):
        return None, reason or f"`layoutlint measure` ended with status {ended.status}"
    content = saved.load(file).content
    assert isinstance(content, Measured)
    return Effect(content, ended.output), ""
