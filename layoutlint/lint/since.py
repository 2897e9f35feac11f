"""The findings of a base revision: what was there before a change does not fail it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial

from layoutlint import files
from layoutlint.comparison.baseline_match import can_be_accepted
from layoutlint.comparison.standings import finding_key, standing
from layoutlint.errors import ReadError, UsageError
from layoutlint.files import accesses
from layoutlint.intent import exported_tree, git_index, tree_copies
from layoutlint.intent.git import Commit
from layoutlint.judgement.finding import BaselineUse, Finding, Report, State
from layoutlint.judgement.rule import Pack
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import base_memory, baseline, run
from layoutlint.lint.base_memory import BaseFindings
from layoutlint.lint.exit_status import exit_status
from layoutlint.lint.options import Options
from layoutlint.model.reading import TreeCopy, Unread, no_progress
from layoutlint.model.record import Record, replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import copied_flags, text_search
from layoutlint.readers.clang.kernel.tree import enclosing_tree
from layoutlint.readers.processes.child import Lost
from layoutlint.readers.processes.pool import run_in_child
from layoutlint.readers.processes.temporary_folder import temporary_folder

_MILDEST_FIRST = (State.KNOWN, State.NOT_COMPARED, State.WORSE, State.NEW)


class BaseRun(Record, frozen=True):
    """The run that judges a base revision."""

    inputs: tuple[str, ...]
    """Relative to the working folder."""
    packs: tuple[Pack, ...]
    kernel_packs: tuple[Pack, ...]
    options: Options
    sought: tuple[str, ...] = ()
    """The structs that are searched in other changed files: the change can have moved them to an input."""


def compare(report: Report, parents: Iterable[Commit], base: BaseRun, command: str) -> Report:
    """Return a report in which the findings that one of the parents of a change has too are known.

    `command` lists these. The parents are read only if a finding can be known. Raises ReadError and
    UsageError as `find_in_base`.
    """
    parents = tuple(parents)
    label = " and ".join(parent.name for parent in parents)
    names = sorted({finding_key(finding)[1] for finding in report.findings if can_be_accepted(finding)})
    base = replace(base, sought=tuple(names))
    bases = [
        find_in_base(parent, base, number) if names else BaseFindings()
        for number, parent in enumerate(parents)
    ]
    compared = [baseline.apply(report, each.entries, label, base.options) for each in bases]
    findings = tuple(_mildest(same) for same in zip(*(each.findings for each in compared), strict=True))
    unread = list(report.unread)
    if any(finding.state is State.NEW for finding in findings):
        for parent, each in zip(parents, bases, strict=True):
            unread += (*each.unread, *_unknown_in_base(findings, each, parent.name))
    not_judged = sum(each.baseline.not_judged for each in compared if each.baseline is not None)
    return replace(
        report,
        findings=findings,
        unread=tuple(dict.fromkeys(unread)),
        exit_status=exit_status(findings, report.unread, base.options, report.coverage.not_covered),
        baseline=BaselineUse(label, (), not_judged, command),
    )


def _mildest(findings: tuple[Finding, ...]) -> Finding:
    """Return a finding as it compares with the parent that has it most.

    An unreliable layout is not compared: what a change does to it is not seen.
    """
    states = {finding.state for finding in findings}
    state = next((state for state in _MILDEST_FIRST if state in states), None)
    if state is State.KNOWN and standing(findings[0]).cause == "unreliable-layout":
        state = State.NOT_COMPARED
    return replace(findings[0], state=state)


def find_in_base(commit: Commit, base: BaseRun, number: int = 0) -> BaseFindings:
    """Return the findings of the inputs in a commit, which is the parent of the change with a number.

    Rules that the change adds, or makes judge otherwise, have none. Raises ReadError if the process that
    reads the files of the commit dies, and UsageError if git fails.
    """
    change = base.options.change
    inside = [path for path in base.inputs if not os.path.isabs(path)]
    if not inside or change is None:
        return BaseFindings()
    changed = change.changed_rules[number]
    packs, kernel_packs = (
        tuple(_without_rules(pack, changed) for pack in packs) for packs in (base.packs, base.kernel_packs)
    )
    read = replace(base.options.read, flags=_flags(base), progress=no_progress, cache=False)
    options = replace(base.options, read=read, change=replace(change, required=()))
    own = BaseRun(tuple(inside), packs, kernel_packs, options, base.sought)
    with temporary_folder() as root:
        find = partial(_read_base, commit, own, root)
        if not base.options.read.cache:
            return find()
        return base_memory.recall_or_find((commit.id, commit.name, own), root, find)


def _read_base(commit: Commit, base: BaseRun, root: str) -> BaseFindings:
    """Return the findings in a commit, whose files are written below `root`. Raises ReadError, UsageError."""
    place = commit.path_in_tree(os.curdir) or os.curdir
    wanted = exported_tree.wanted_files(commit, place, base.packs + base.kernel_packs)
    tree = os.path.join(root, "tree")
    exported = exported_tree.export(commit, tree, wanted, index=git_index.read(commit.top))
    working_tree = tree_copies.working_tree(commit, root, wanted)
    copy = None if working_tree is None else working_tree.copy(tree, exported.files)
    read = replace(base.options.read, copy=copy)
    folder = os.path.join(tree, place)
    if not files.is_folder(folder):
        return BaseFindings()
    policy = base.options.policy and base.options.policy.move_to(files.real_path(tree))
    base = replace(base, options=replace(base.options, policy=policy, read=read))
    try:
        return run_in_child(partial(_judge, folder=folder, label=commit.name), base)
    except Lost as lost:
        raise ReadError(commit.name, f"the process that read it {lost.how}") from lost


def _judge(base: BaseRun, folder: str, label: str) -> BaseFindings:
    accesses.enter_folder(folder)
    paths = tuple(filter(None, (_base_path(path, base.options.read.copy) for path in base.inputs)))
    paths = tuple(dict.fromkeys((*paths, *_former_files(base))))
    if not paths:
        return BaseFindings()
    try:
        report = run.check(paths, base.packs, base.kernel_packs, base.options)
    except UsageError:  # no rule was there
        return BaseFindings()
    unread = (replace(each, origin=f"{label}:{each.origin}") for each in report.unread)
    entries = baseline.new_entries(report, replace(base.options, allow_unknown=True))
    return BaseFindings(entries, tuple(unread))


def _former_files(base: BaseRun) -> Iterator[str]:
    """Yield the other changed files of a base that define a struct: a later one can have it now."""
    change = base.options.change
    changed = () if change is None else (path for path in change.changed_files if files.is_file(path))
    others = (path for path in changed if path not in base.inputs)
    for places in text_search.definitions(others, Wanted(frozenset(base.sought))).values():
        yield from places


def _base_path(path: str, copy: TreeCopy | None) -> str | None:
    """Return the path of an input in a base; None if it is missing there.

    A compilation database of the working tree names the units of the base too.
    """
    if files.exists(path) or copy is None or not path.endswith(".json"):
        return path if files.exists(path) else None
    database = copied_flags.path_in_working_tree(copy, path)
    return database if files.is_file(database) else None


def _unknown_in_base(findings: Iterable[Finding], base: BaseFindings, label: str) -> tuple[Unread, ...]:
    """Return the findings that are new only as far as is known: the base could not be judged."""
    unknown = {entry.key for entry in base.entries if entry.standing.outcome is Outcome.UNKNOWN}
    new = (finding for finding in findings if finding.state is State.NEW)
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
