"""The findings of a base revision: what was there before a change does not fail it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TypeVar

from layoutlint import files
from layoutlint.comparison.baseline_match import can_be_accepted
from layoutlint.comparison.standings import finding_key, standing
from layoutlint.errors import ReadError, UsageError
from layoutlint.files import accesses
from layoutlint.judgement.finding import BaselineUse, Finding, Report, State
from layoutlint.judgement.rule import Pack
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import base_memory, base_tree, baseline, definers, run
from layoutlint.lint import lost_structs as lost
from layoutlint.lint.base_memory import BaseFindings
from layoutlint.lint.exit_status import exit_status
from layoutlint.lint.finding_order import order_findings
from layoutlint.lint.lost_structs import JudgedStruct, Loss
from layoutlint.lint.options import ChangeScope, Options
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading, TreeCopy, Unread, no_progress
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from layoutlint.readers.clang import copied_flags, text_search
from layoutlint.revisions import staged_tree
from layoutlint.revisions.change import Change
from layoutlint.revisions.git import Commit
from layoutlint.workers.child import Lost
from layoutlint.workers.pool import run_in_child
from layoutlint.workers.temporary_folder import temporary_folder

T = TypeVar("T")
_MOST_OTHERS = 8
"""The most other files that are read to find another definition of a struct."""
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

    @property
    def is_whole(self) -> bool:
        """Whether inputs were given and are judged whole."""
        return self.change is not None and self.change.is_whole

    @property
    def change(self) -> ChangeScope | None:
        """What is judged of the change."""
        return self.options.mode if isinstance(self.options.mode, ChangeScope) else None


def compare(
    report: Report, change: Change, base: BaseRun, command: str, accepts_known: bool = True
) -> Report:
    """Return a report with the structs that a change takes from rules, and in which the findings that one of
    its parents has too are known, if they are accepted.

    `command` lists these. Raises ReadError and UsageError as `find_in_base`.
    """
    parents = change.parents
    names = sorted({finding_key(finding)[1] for finding in report.findings if can_be_accepted(finding)})
    base = replace(base, sought=tuple(names), options=_with_same_units(base.options, report))
    bases = [find_in_base(parent, base, number) for number, parent in enumerate(parents)]
    if accepts_known and base.inputs:
        report = _accept_known(report, parents, bases, base, command)
    if base.options.strictness.ignore_missing:
        return report
    failed = dict.fromkeys(each for found in bases for each in found.failed)
    report = replace(report, unread=tuple(dict.fromkeys((*report.unread, *failed))))
    return lost.add(report, _losses(report, change, bases, base), base.options)


def _with_same_units(options: Options, report: Report) -> Options:
    """Return the options with which a base is read like the change: the units that it touches, or all."""
    is_part = any(reading.elsewhere is not None for reading in report.readings)
    touched = options.read.touched
    kept = replace(touched, needs_all=False) if is_part and touched is not None else None
    return replace(options, read=replace(options.read, touched=kept))


def _accept_known(
    report: Report, parents: tuple[Commit, ...], bases: list[BaseFindings], base: BaseRun, command: str
) -> Report:
    label = " and ".join(parent.name for parent in parents)
    compared = [baseline.set_states(report, each.entries, label, base.options) for each in bases]
    findings = tuple(_mildest(same) for same in zip(*(each.findings for each in compared), strict=True))
    unread = list(report.unread)
    if any(finding.state is State.NEW for finding in findings):
        for parent, each in zip(parents, bases, strict=True):
            unread += (*each.unread, *_unknown_in_base(findings, each, parent.name))
    not_judged = sum(each.baseline.not_judged for each in compared if each.baseline is not None)
    return replace(
        report,
        findings=tuple(order_findings(findings, base.options, report.builds)),
        unread=tuple(dict.fromkeys(unread)),
        exit_status=exit_status(findings, report.unread, base.options, report.coverage.not_covered),
        baseline=BaselineUse(label, (), not_judged, command),
    )


def _losses(report: Report, change: Change, bases: list[BaseFindings], base: BaseRun) -> Iterator[Finding]:
    """Yield a finding for each struct that rules judged in the parents of a change, and judge no more."""
    scope = base.change
    assert scope is not None
    rules = [rule for pack in base.packs + base.kernel_packs for rule in pack.rules]
    now = lost.list_judged(report, lambda finding: True)
    search = Heirs(change, base)
    units = search.list_units() if any(each.units for each in bases) else ()
    losses = [
        (
            *lost.find(each.judged, now, rules, scope.removed),
            *lost.find_in_units(each.units, units, rules, scope.removed),
        )
        for each in bases
    ]
    found = set[tuple[str, str]]()
    for loss in dict.fromkeys(each for of_parent in losses for each in of_parent):
        if loss.key in found:
            continue
        pairs = zip(losses, scope.changed_rules, strict=True)
        if all(loss.rule.id in new or any(loss.key == other.key for other in own) for own, new in pairs):
            findings = tuple(_finding_on(loss, search, base))
            found |= {loss.key} if findings else set()
            yield from findings


def _finding_on(loss: Loss, search: Heirs, base: BaseRun) -> Iterator[Finding]:
    scope = base.change
    assert scope is not None
    if not loss.is_judged:
        packs = [pack for pack in base.packs + base.kernel_packs if loss.rule in pack.rules]
        defining = dict(scope.definers).get(loss.rule.struct, ())
        others = (path for path in defining if any(pack.applies_to(path) for pack in packs))
        loss = replace(loss, is_judged=search.are_defined(loss.rule.struct, others))
    heirs = search.find(loss) if loss.is_judged else ()
    found = lost.finding(loss, heirs, _remedy(loss, base.options))
    yield from () if found is None else (found,)


def _remedy(loss: Loss, options: Options) -> str:
    """Return how a struct is removed on purpose."""
    when = "in the same change" if options.intents.policy is None else "first, as the owner of the rules"
    return f"if that is on purpose, remove or change the rule {when}, or pass `--removed {loss.name}`"


class Heirs(Record):
    """Searches the files of a change for the structs that can be lost ones under other names."""

    change: Change
    base: BaseRun

    def are_defined(self, struct: str, paths: Iterable[str]) -> bool:
        """Return whether one of some files, as the change has them, defines a struct or one of a pattern."""
        wanted = Wanted(patterns=(struct,)) if is_pattern(struct) else Wanted(frozenset((struct,)))
        return any(
            each.bit_size is not None and each.matches(struct)
            for path in islice(paths, _MOST_OTHERS)
            for each in self._structs((path,), wanted)
        )

    def find(self, loss: Loss) -> tuple[str, ...]:
        """Return the new structs that can be a lost one: in the files that defined it, or changed ones."""
        scope = self.base.change
        assert scope is not None
        paths = tuple(dict.fromkeys((*loss.files, *scope.own_files)))
        structs = self._structs(paths, Wanted(everything=True))
        if not lost.successors(loss, structs, frozenset()):
            return ()
        old = (names_in_base(parent, self.base, paths) for parent in self.change.parents)
        return lost.successors(loss, structs, frozenset[str]().union(*old))

    def list_units(self) -> tuple[JudgedStruct, ...]:
        """Return the structs of rules in changed files, also in what they include."""
        scope, wanted = self.base.change, _request(self.base)
        assert scope is not None
        return tuple(lost.structs_of_units(self._readings(scope.own_files, wanted), wanted))

    def _structs(self, paths: Iterable[str], wanted: Wanted) -> list[Struct]:
        return [struct for reading in self._readings(paths, wanted) for struct in reading.structs]

    def _readings(self, paths: Iterable[str], wanted: Wanted) -> list[Reading]:
        """Return the readings of some files as the change has them."""
        with staged_tree.enter(self.change) as staged:
            read = replace(self.base.options.read, copy=staged.copy, cache=False, progress=no_progress)
            existing = tuple(path for path in paths if files.is_file(path))
            readings, _ = inputs.read(existing, wanted, read)
        return readings


def _mildest(findings: tuple[Finding, ...]) -> Finding:
    """Return a finding as it compares with the parent that has it most.

    An unreliable layout is not compared, nor a struct that is missing: what a change does to it is not seen.
    """
    states = {finding.state for finding in findings}
    state = next((state for state in _MILDEST_FIRST if state in states), None)
    if state is State.KNOWN and standing(findings[0]).cause in ("unreliable-layout", "missing-struct"):
        state = State.NOT_COMPARED
    return replace(findings[0], state=state)


def find_in_base(commit: Commit, base: BaseRun, number: int = 0) -> BaseFindings:
    """Return the findings of the inputs in a commit, which is the parent of the change with a number.

    Rules that the change adds, or makes judge otherwise, have none. Raises ReadError if the process that
    reads the files of the commit dies, and UsageError if git fails.
    """
    change = base.change
    inside = tuple(filter(None, (_path_from_here(commit, path) for path in base.inputs)))
    if change is None or not (inside or change.own_files):
        return BaseFindings()
    own = replace(base, inputs=inside, options=_options_in_base(base, change))
    with temporary_folder() as root:
        find = partial(_read_base, commit, own, root, partial(_judge, label=commit.name), BaseFindings())
        if base.options.read.cache:
            found = base_memory.recall_or_find((commit.id, commit.name, own), root, find)
        else:
            found = find()
    changed = change.changed_rules[number]
    return replace(found, entries=tuple(each for each in found.entries if each.key[0] not in changed))


def names_in_base(commit: Commit, base: BaseRun, paths: tuple[str, ...]) -> frozenset[str]:
    """Return the names of all structs of some files in a commit. Raises ReadError and UsageError."""
    change = base.change
    assert change is not None
    own = replace(base, inputs=paths, options=_options_in_base(base, change))
    with temporary_folder() as root:
        return _read_base(commit, own, root, _names, frozenset[str]())


def _options_in_base(base: BaseRun, change: ChangeScope) -> Options:
    """Return the options in a base, where no rule must judge a struct."""
    read, absolute = base.options.read, copied_flags.with_absolute_build
    nearer = tuple(replace(each, flags=absolute(each.flags)) for each in read.nearer)
    read = replace(read, flags=absolute(read.flags), nearer=nearer, progress=no_progress, cache=False)
    return replace(base.options, read=read, mode=replace(change, demands=(), is_whole=False))


def _path_from_here(commit: Commit, path: str) -> str | None:
    """Return a path of the working tree from the working folder; None for one outside."""
    if not os.path.isabs(path):
        return path
    inside = commit.path_in_tree(path)
    at = None if inside is None else os.path.join(commit.top, inside)
    return None if at is None else os.path.relpath(at, files.real_path(os.curdir))


def _read_base(commit: Commit, base: BaseRun, root: str, task: Callable[..., T], nothing: T) -> T:
    """Return what a task finds in a commit, whose files are written below `root`.

    Without the working folder in the commit, that is `nothing`. Raises ReadError and UsageError.
    """
    change = base.change
    paths = (*base.inputs, *(change.own_files if change is not None else ()))
    tree = base_tree.export(commit, base.packs + base.kernel_packs, root, paths)
    if not files.is_folder(tree.folder):
        return nothing
    policy = base.options.intents.policy and base.options.intents.policy.move_to(tree.top)
    read = replace(base.options.read, copy=tree.copy)
    base = replace(base, options=replace(
        base.options,
        read=read,
        intents=replace(base.options.intents, policy=policy),
    ))
    task = partial(task, folder=tree.folder, is_kernel=tree.is_kernel)
    try:
        return run_in_child(task, base)
    except Lost as lost_process:
        raise ReadError(commit.name, f"the process that read it {lost_process.how}") from lost_process


def _names(base: BaseRun, folder: str, is_kernel: bool) -> frozenset[str]:
    accesses.enter_folder(folder)
    return inputs.names(tuple(path for path in base.inputs if files.is_file(path)), base.options.read)


def _judge(base: BaseRun, folder: str, label: str, is_kernel: bool) -> BaseFindings:
    accesses.enter_folder(folder)
    copied = filter(None, (_base_path(path, base.options.read.copy) for path in base.inputs))
    paths = tuple(path for path in copied if not _is_empty(path))
    own = tuple(_own_files(base, is_kernel))
    former = tuple(_former_files(base))
    if not (paths or own or former):
        return BaseFindings()
    try:
        every = dict.fromkeys((*paths, *own, *former))
        report = run.check(every, base.packs, base.kernel_packs, base.options)
    except UsageError:  # no rule was there
        return BaseFindings()
    unread = tuple(replace(each, origin=f"{label}:{each.origin}") for each in report.unread)
    entries = baseline.new_entries(report, replace(
        base.options,
        strictness=replace(base.options.strictness, allow_unknown=True),
    ))
    counted = frozenset((*paths, *own))
    judged = lost.list_judged(report, partial(_is_of_inputs, inputs=counted, base=base))
    missing = counted.difference(reading.path for reading in report.readings)
    failed = tuple(each for each, given in zip(unread, report.unread, strict=True) if given.origin in missing)
    units = () if is_kernel else tuple(_units(base))
    return BaseFindings(entries, unread, judged, units, failed)


def _units(base: BaseRun) -> Iterator[JudgedStruct]:
    """Yield the structs of rules in the changed files of a base, also in what they include."""
    change, wanted = base.change, _request(base)
    paths = () if change is None else tuple(path for path in change.own_files if files.is_file(path))
    if paths and (wanted.names or wanted.patterns):
        readings, _ = inputs.read(paths, wanted, base.options.read)
        yield from lost.structs_of_units(readings, wanted)


def _request(base: BaseRun) -> Wanted:
    return definers.requested_structs(base.packs + base.kernel_packs)


def _is_of_inputs(finding: Finding, inputs: frozenset[str], base: BaseRun) -> bool:
    """Return whether a finding in a base is one of what a run must judge.

    If a person gave the inputs, it is about all that they include; else about the files themselves.
    """
    change, struct = base.change, finding.struct
    if inputs.isdisjoint(finding.files):
        return not finding.files
    if change is None or change.is_whole or not frozenset(change.given).isdisjoint(finding.files):
        return True
    return struct is None or struct.source is None or definers.is_own(struct.source.file, finding.files)


def _own_files(base: BaseRun, is_kernel: bool) -> Iterator[str]:
    """Yield the changed files that a base has, and that are judged for themselves.

    Of a kernel, whose files are large, only those that seem to define a struct of a rule.
    """
    change = base.change
    if change is None or base.is_whole:
        return
    requested = _request(base)
    for path in filter(files.is_file, change.own_files):
        if _is_empty(path):
            continue
        if not is_kernel or text_search.names_in_text(text_search.content(path), requested):
            yield path


def _is_empty(path: str) -> bool:
    return files.is_file(path) and not files.status_of(path).st_size


def _former_files(base: BaseRun) -> Iterator[str]:
    """Yield the other changed files of a base that define a struct: a later one can have it now."""
    change = base.change
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
