"""The comparison of two runs: what got worse, and what could not be compared."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from layoutlint.comparison.allocations import Allocators
from layoutlint.comparison.change_order import order_rules, order_structs
from layoutlint.comparison.edits import EditKind
from layoutlint.comparison.idle_rules import IdleRule, idle_rules
from layoutlint.comparison.layouts import (
    LayoutChange,
    LayoutComparison,
    NotCompared,
    Presence,
    compare_layouts,
)
from layoutlint.comparison.likely_sharing import LikelySharing
from layoutlint.comparison.scope import (
    LACKS_UNUSED,
    UNTOLD_TYPES,
    Scopes,
    report_within,
    scope_of,
    spell_types_alike,
    structs_within,
)
from layoutlint.comparison.standings import Status
from layoutlint.comparison.variables import VariableComparison, VariableQuery, compare_variables
from layoutlint.comparison.verdicts import RuleChange, compare_reports
from layoutlint.errors import EXIT_FINDINGS, EXIT_KEPT, EXIT_UNKNOWN
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.finding import Report
from layoutlint.model.reading import SNAPSHOT_OF, Reading, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.model.variables import VariableTable
from layoutlint.readers.elf import compiler_marks


class Side(Record, frozen=True):
    """One of the two inputs."""

    label: str
    """Its name in reports."""
    report: Report
    structs: tuple[Struct, ...]
    """All structs that are compared."""
    is_absent: bool = False
    """Whether it is known to define nothing: a revision without the file."""
    tables: tuple[VariableTable, ...] = ()
    """The variables of its files, if they are compared."""
    unread_tables: tuple[Unread, ...] = ()
    """The files whose variables could not be read."""
    flags_from: tuple[str, ...] = ()
    """The compilation databases that a revision was read with."""
    is_in_random_order: bool = False
    """Whether its structs have the order of a seed, not the declared one."""
    unmatched: tuple[tuple[str, str], ...] = ()
    """The requested names and patterns that none of its structs has, each with a sentence."""

    @property
    def is_read(self) -> bool:
        """Whether its structs are known, as far as its gaps do not say otherwise."""
        return self.is_absent or bool(self.report.readings)

    def gaps(self) -> Iterator[NotCompared]:
        """Yield what was not read, and what was not judged although a rule could apply to it."""
        for reading in self.report.readings:
            is_shuffled = reading.shuffled is not None and reading.shuffled.by == "gcc"
            if is_shuffled and not self.is_in_random_order:
                reason = "GCC randomised its layouts, and its debug information has the declared order"
                yield NotCompared(self.label, reason)
        for unread in self.report.unread:
            yield NotCompared(self.label, unread.text_for(self.label))
        for part in self.report.coverage.not_covered:
            if part.rules:
                yield NotCompared(self.label, part.sentence if part.origin == self.label else str(part))

    def lacks(self, name: str) -> bool:
        """Return whether a struct may be missing only because it was not read: one local to a function."""
        omissions = (each for reading in self.report.readings for each in reading.omissions)
        return any(each.structs is not None and name in each.structs for each in omissions)

    def notes(self) -> Iterator[str]:
        """Yield the parts of the input that were not read, and that no rule can be about."""
        for reading in self.report.readings:
            if reading.reader == "symbols":
                yield f"{self.label}: structs not compared: it has no debug information"
        for database in self.flags_from:
            yield f"{self.label}: flags from {database}"
        judged = {part.reason for part in self.report.coverage.not_covered if part.rules}
        for reading in self.report.readings:
            for omission in reading.omissions:
                if not omission.is_harmless and omission.reason not in judged:
                    yield f"{self.label}: not compared: {omission.reason}"


class Comparison(Record, frozen=True):
    """The differences of two inputs, in printed order."""

    old: Side
    new: Side
    layouts: LayoutComparison
    rules: tuple[RuleChange, ...]
    """All rules that judged a struct, except guesses that did not change."""
    not_compared: tuple[NotCompared, ...]
    notes: tuple[str, ...]
    """Differences of the inputs that are no change of the code."""
    failures: tuple[str, ...]
    """The criteria that are met, of those that fail."""
    allows_unknown: bool = False
    variables: VariableComparison | None = None
    """How the variables compare; None if they were not asked for."""
    allocators: Allocators = Allocators()
    """Where objects come from."""
    idle_rules: tuple[IdleRule, ...] = ()
    """The rules that compare nothing, and fail nothing."""
    likely: LikelySharing | None = None
    """What functions say about the fields that came to share a line; None if no sources were given."""

    @property
    def exit_status(self) -> int:
        """1 if something got worse; else 3 if something could not be compared."""
        if self.failures:
            return EXIT_FINDINGS
        return EXIT_UNKNOWN if self.not_compared and not self.allows_unknown else EXIT_KEPT

    @property
    def status(self) -> Status:
        """Whether the new input is worse, the same or better; not-compared if a part is not known."""
        if self.failures:
            return Status.WORSE
        if self.not_compared:
            return Status.NOT_COMPARED
        is_better = any(change.status is Status.BETTER for change in self.rules)
        return Status.BETTER if is_better else Status.SAME

    @property
    def changed_rules(self) -> tuple[RuleChange, ...]:
        """The rules that got worse, those that got better, and those that fail for fewer fields."""
        shown = (Status.WORSE, Status.BETTER)
        return tuple(change for change in self.rules if change.status in shown or change.is_eased)

    @property
    def is_silent(self) -> bool:
        """Whether nothing differs, and everything was compared."""
        are_variables_same = self.variables is None or self.variables.is_same
        are_structs_same = not (self.layouts.changes or self.layouts.retyped)
        return are_variables_same and are_structs_same and not (self.changed_rules or self.not_compared)


def compare(
    old: Side,
    new: Side,
    fail_on: Sequence[str],
    allows_unknown: bool = False,
    query: VariableQuery | None = None,
    accepts_renames: bool = False,
) -> Comparison:
    """Compare two inputs; nothing if one cannot be read at all. With `query`, compare their variables too.

    `fail_on` are criteria: `worse` rules; a larger `size`, more `lines` or larger `holes` of structs; fields
    that `share` a line in more placements; `moved` fields, or other sizes; other `types` of fields. A renamed
    field counts as moved, unless renames are accepted.
    """
    are_read = old.is_read and new.is_read
    scopes = Scopes(*(scope_of(side.label, side.report.readings, side.structs) for side in (old, new)))
    old, new, scope_notes = _narrow_to_common(old, new, scopes)
    layouts, changes = LayoutComparison((), (), 0, {}), tuple[RuleChange, ...]()
    if are_read:
        are_alike = spell_types_alike(old.report.readings, new.report.readings)
        layouts = compare_layouts(old.structs, new.structs, scopes.are_alike, are_alike)
        known = (change for change in layouts.changes if not _is_unread(change, old, new, scopes))
        layouts = replace(layouts, changes=tuple(known))
        changes = tuple(compare_reports(old.report, new.report, layouts, scopes))
    rules = order_rules(each for each in changes if each.status is not Status.SAME or not each.rule.guess)
    layouts = replace(layouts, changes=order_structs(layouts.changes, rules))
    variables = None if query is None else compare_variables(old.tables, new.tables, query)
    not_compared = [
        *(NotCompared(f"{each.rule.id} on {each.struct}", each.reason) for each in rules if each.reason),
        *layouts.not_compared,
        *_unmet_requests(old, new, fail_on, layouts),
        *(each for side in (old, new) for each in side.gaps()),
        *(_variable_gaps(old, new, variables) if variables is not None else ()),
    ]
    has_variables = variables is not None and bool(variables.pair_count)
    if not (layouts.compared or layouts.changes or not_compared or has_variables):
        subject = "a struct" if variables is None else "a struct or variable"
        not_compared.append(NotCompared(new.label, f"neither input defines {subject} to compare"))
    failures = tuple(n for n in dict.fromkeys(fail_on) if _is_met(n, layouts, rules, accepts_renames))
    notes = (
        *scope_notes,
        *fidelity_notes(old.report.readings, new.report.readings),
        *old.notes(),
        *new.notes(),
    )
    notes = (*dict.fromkeys(notes), *(variables.notes if variables is not None else ()))
    judged = (change.rule.id for change in changes)
    idle = idle_rules((old.report, new.report), scopes, judged) if are_read else ()
    return Comparison(
        old,
        new,
        layouts,
        rules,
        tuple(dict.fromkeys(not_compared)),
        notes,
        failures,
        allows_unknown,
        variables,
        idle_rules=tuple(idle),
    )


def _variable_gaps(old: Side, new: Side, variables: VariableComparison) -> Iterator[NotCompared]:
    """Yield why variables could not be compared."""
    known = {(unread.origin, unread.reason) for side in (old, new) for unread in side.report.unread}
    for side in (old, new):
        for unread in side.unread_tables:
            if (unread.origin, unread.reason) not in known:
                yield NotCompared(unread.origin, f"variables: {unread.reason}")
        if not (side.tables or side.unread_tables):
            yield NotCompared(side.label, "variables: it has no files with addresses")
    yield from variables.not_compared
    if old.tables and new.tables and not (variables.tables or variables.not_compared):
        yield NotCompared(new.label, "variables: no file has the name of one in the other input")


def _narrow_to_common(old: Side, new: Side, scopes: Scopes) -> tuple[Side, Side, tuple[str, ...]]:
    """Return two sides with the structs about which both say something, and notes on the others."""
    partial = [scope.label for scope in (scopes.old, scopes.new) if not scope.is_whole]
    if not partial:
        return old, new, ()
    sides = [
        replace(
            side,
            structs=structs_within(side.structs, other),
            report=report_within(side.report, other),
        )
        for side, other in ((old, scopes.new), (new, scopes.old))
    ]
    notes = tuple(f"{label} is a snapshot of chosen structs; others are not compared" for label in partial)
    return sides[0], sides[1], notes


def _is_unread(change: LayoutChange, old: Side, new: Side, scopes: Scopes) -> bool:
    """Return whether a struct was not read in the input that seems to lack it."""
    name = change.name
    if change.presence is Presence.ADDED:
        return old.lacks(name) or bool(scopes.absence_from(scopes.old, name))
    return change.presence is Presence.REMOVED and (
        new.lacks(name) or bool(scopes.absence_from(scopes.new, name))
    )


def _unmet_requests(
    old: Side, new: Side, fail_on: Iterable[str], layouts: LayoutComparison
) -> Iterator[NotCompared]:
    """Yield the requested names and patterns that neither input has, and types that are not stated."""
    are_read = old.is_read and new.is_read
    for glob, sentence in {**dict(old.unmatched), **dict(new.unmatched)}.items():
        if are_read and all(side.is_absent or glob in dict(side.unmatched) for side in (old, new)):
            yield NotCompared("--struct", sentence)
    if "types" in fail_on and not layouts.compares_types:
        yield NotCompared("--fail-on types", UNTOLD_TYPES)


def _is_met(
    criterion: str, layouts: LayoutComparison, rules: Iterable[RuleChange], accepts_renames: bool
) -> bool:
    if criterion == "worse":
        return any(change.status is Status.WORSE and change.counts for change in rules)
    if criterion == "share":
        return any(pair.shares[0] < pair.shares[1] for change in rules for pair in change.pairs)
    if criterion == "types":
        return any(change.retyped for change in (*layouts.changes, *layouts.retyped))
    if criterion == "moved":
        changed = {change.name for change in layouts.changes}
        kinds = {EditKind.REMOVED, EditKind.RESIZED, *(() if accepts_renames else (EditKind.RENAMED,))}
        return any(_has_moved(change, changed, kinds) for change in layouts.changes)
    both = (change for change in layouts.changes if change.presence is Presence.BOTH)
    return any(first < second for first, second in (_measures(criterion, change) for change in both))


def _has_moved(change: LayoutChange, changed: Container[str], kinds: Container[EditKind]) -> bool:
    """Return whether a field of a struct moved or has an edit of some kinds, or the struct has another size.

    Structs in `changed` are looked at themselves, not in what embeds them.
    """
    if change.old is None or change.new is None:
        return change.new is None
    if change.edits.moves or change.old.bit_size != change.new.bit_size:
        return True
    return any(
        edit.kind in kinds
        or (edit.kind is EditKind.CHANGED and edit.struct not in changed)
        for edit in change.edits.edits
    )


def _measures(criterion: str, change: LayoutChange) -> tuple[int, int]:
    """Return the bytes, lines or bytes of holes of a struct, before and after."""
    layouts = [Layout(struct) for struct in (change.old, change.new) if struct is not None]
    if criterion == "size":
        first, second = (layout.size for layout in layouts)
    elif criterion == "lines":
        first, second = (line_count(layout.struct) for layout in layouts)
    else:
        first, second = (hole_bits(layout) for layout in layouts)
    return first, second


def line_count(struct: Struct) -> int:
    """Return the lines that an object at the start of a line touches."""
    size = (struct.bit_size or 0) // 8
    return -(-size // struct.target.line_size)


def hole_bits(layout: Layout) -> int:
    """Return the bits of all holes, without the padding at the end."""
    return sum(hole.bit_size for hole in layout.holes)


def fidelity_notes(old: Iterable[Reading], new: Iterable[Reading]) -> Iterator[str]:
    """Yield what the two inputs state differently although the code may be the same."""
    sides = [tuple(readings) for readings in (old, new)]
    if not all(sides):
        return
    readers = [sorted({reading.reader.removeprefix(SNAPSHOT_OF) for reading in side}) for side in sides]
    if readers[0] != readers[1]:
        yield f"read from {' and '.join(readers[0])} before and {' and '.join(readers[1])} now"
    if (readers[0] == ["clang"]) != (readers[1] == ["clang"]):
        yield f"{LACKS_UNUSED}; structs that one input lacks are not compared"
    if sorted(readers) == [["btf"], ["dwarf"]]:
        yield "BTF has structs that are local to functions, which are not read from DWARF"
    if not spell_types_alike(*sides):
        yield f"types are not compared: {UNTOLD_TYPES}"
    targets = [sorted({reading.target.name for reading in side}) for side in sides]
    if targets[0] != targets[1]:
        yield f"built for {' and '.join(targets[0])} before and {' and '.join(targets[1])} now"
    compilers = [{name for reading in side for name in reading.compilers} for side in sides]
    if any(reading.reader.startswith(SNAPSHOT_OF) for side in sides for reading in side):
        compilers = [set(compiler_marks.major_versions(side)) for side in compilers]
    if compilers[0] != compilers[1] and all(compilers):
        before, now = (", ".join(sorted(side)) for side in compilers)
        yield f"compiled by {before} before and by {now} now"
    shuffled = [any(reading.shuffled for reading in side) for side in sides]
    if shuffled[0] != shuffled[1]:
        yield f"layouts are randomised {'before' if shuffled[0] else 'now'} only"
