"""The findings of a base revision: what was there before a change does not fail it."""

from __future__ import annotations

import os
import tempfile
from functools import partial

from layoutlint import files
from layoutlint.comparison.acceptance import Entry
from layoutlint.comparison.standings import finding_key
from layoutlint.errors import ReadError, UsageError
from layoutlint.intent import exported_tree
from layoutlint.intent.git import Commit
from layoutlint.judgement.finding import Report, State
from layoutlint.judgement.rule import Pack
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import baseline, run
from layoutlint.lint.options import Options
from layoutlint.model.reading import Unread, no_progress
from layoutlint.model.record import Record, replace
from layoutlint.readers.clang.kernel.tree import enclosing_tree
from layoutlint.readers.processes.child import Lost
from layoutlint.readers.processes.pool import run_in_child


class BaseRun(Record, frozen=True):
    """What is judged in a base revision."""

    inputs: tuple[str, ...]
    """Relative to the working folder."""
    packs: tuple[Pack, ...]
    kernel_packs: tuple[Pack, ...]
    options: Options


class BaseFindings(Record, frozen=True):
    """What was there in a base revision."""

    entries: tuple[Entry, ...] = ()
    """Its findings, as a baseline accepts them."""
    unread: tuple[Unread, ...] = ()
    """What could not be read there, so that findings may seem new."""


def find_in_base(commit: Commit, base: BaseRun) -> BaseFindings:
    """Return the findings of the inputs in a commit.

    Rules that the change adds, or makes judge otherwise, have none. Raises ReadError if the process that
    reads the files of the commit dies, and UsageError if git fails.
    """
    change = base.options.change
    inside = [path for path in base.inputs if not os.path.isabs(path)]
    if not inside or change is None:
        return BaseFindings()
    packs = tuple(_without_rules(pack, change.changed_rules) for pack in base.packs)
    place = commit.path_in_tree(os.curdir) or os.curdir
    with tempfile.TemporaryDirectory(prefix="layoutlint-") as root:
        wanted = exported_tree.wanted_files(commit, place, packs + base.kernel_packs)
        exported_tree.export(commit, root, wanted)
        folder = os.path.join(root, place)
        if not files.is_folder(folder):
            return BaseFindings()
        read = replace(base.options.read, flags=_flags(base), progress=no_progress, cache=False)
        options = replace(base.options, read=read, change=replace(change, required=()))
        own = BaseRun(tuple(inside), packs, base.kernel_packs, options)
        try:
            return run_in_child(partial(_judge, folder=folder, label=commit.name), own)
        except Lost as lost:
            raise ReadError(commit.name, f"the process that read it {lost.how}") from lost


def _judge(base: BaseRun, folder: str, label: str) -> BaseFindings:
    os.chdir(folder)
    paths = tuple(path for path in base.inputs if files.exists(path))
    if not paths:
        return BaseFindings()
    try:
        report = run.check(paths, base.packs, base.kernel_packs, base.options)
    except UsageError:  # no rule was there
        return BaseFindings()
    unread = (replace(each, origin=f"{label}:{each.origin}") for each in report.unread)
    return BaseFindings(baseline.written(report, replace(base.options, allow_unknown=True)), tuple(unread))


def unknown_in_base(report: Report, found: BaseFindings, label: str) -> tuple[Unread, ...]:
    """Return the findings of a report that are new only as far as is known: the base could not be judged."""
    unknown = {entry.key for entry in found.entries if entry.standing.outcome is Outcome.UNKNOWN}
    new = (finding for finding in report.findings if finding.state is State.NEW)
    return tuple(
        Unread(f"{label}:{finding.place.file}", f"{finding.rule.id} on {key[1]} could not be judged there")
        for finding in new
        if (key := finding_key(finding)) in unknown
    )


def _without_rules(pack: Pack, ids: frozenset[str]) -> Pack:
    return replace(pack, rules=tuple(rule for rule in pack.rules if rule.id not in ids))


def _flags(base: BaseRun) -> tuple[str, ...]:
    """Return the compiler flags; a kernel that is built in place has its generated headers there."""
    flags = base.options.read.flags
    tree = enclosing_tree(os.path.join(os.getcwd(), "_"))
    if tree is None or any(flag.startswith("O=") for flag in flags):
        return flags
    return (*flags, f"O={tree}")
