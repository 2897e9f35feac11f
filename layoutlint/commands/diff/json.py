"""Format `json` of `diff`: the comparison for scripts (schema `layoutlint/diff/1`, docs/json.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, TypeVar

from layoutlint.commands.diff.likely_sharing_json import LikelySharingJson, likely_sharing
from layoutlint.commands.diff.variables_json import VariablesJson, variables
from layoutlint.comparison.allocations import Allocators, RoomChange, room_changes
from layoutlint.comparison.comparison import Comparison, Side, hole_bits, line_count
from layoutlint.comparison.edits import Edit, EditKind, Move
from layoutlint.comparison.idle_rules import IdleRule
from layoutlint.comparison.layouts import LayoutChange, NotCompared, Presence
from layoutlint.comparison.spelled_types import Retyping
from layoutlint.comparison.standings import Status
from layoutlint.comparison.straddles import StraddleChange, straddle_changes
from layoutlint.comparison.verdicts import PairChange, RuleChange
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.json_object import JsonObject, Natural, Positive, one_of
from layoutlint.model.structs import Aggregate, Struct
from layoutlint.reports.json_values import document_text, file_and_line

_Side = TypeVar("_Side")
_Value = TypeVar("_Value")


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/diff/1"):
    """What differs between two inputs.

    Sizes and offsets are in bytes, unless the key says bits. An unknown value is null. Pairs of values are
    those of the old and of the new input.
    """

    status: Annotated[str, one_of(*Status)]
    """Worse if a criterion of `--fail-on` is met; else not-compared if something could not be compared; else
    better if a rule got better."""
    old: SideJson
    """The old input."""
    new: SideJson
    """The new input."""
    structs: Sequence[StructJson]
    """Those on which a rule got worse come first, then others with rules, then the largest changes of size.
    Added ones are the last."""
    rules: Sequence[RuleJson]
    """All rules that judged a struct in one of the inputs; guesses only if they changed."""
    variables: VariablesJson | None
    """How the variables compare. Null without `--variables`."""
    likely_sharing: LikelySharingJson | None
    """What functions do to the fields that share a line more often than before. Null without `--uses`."""
    not_compared: Sequence[NotCompared]
    """The exit status is 3 if there is something here, nothing is worse, and `--allow-unknown` is not
    given."""
    idle_rules: Sequence[IdleRule]
    """The rules that compare nothing: neither input has their struct, or their `when` excludes one. They fail
    nothing."""
    notes: Sequence[str]
    """Differences of the inputs that are no change of the code: another reader, target or compiler."""
    compared: Natural
    """The number of structs that both inputs define."""
    failures: Sequence[Annotated[str, one_of("worse", "size", "lines", "holes", "share", "moved", "types")]]
    """The criteria of `--fail-on` that are met."""
    exit: Annotated[int, one_of(0, 1, 3)]
    """The exit status."""


class SideJson(JsonObject, frozen=True):
    """One of the two inputs."""

    label: str
    """Its name, as on the command line."""
    inputs: Sequence[InputJson]
    """What was read of it."""
    structs: Natural
    """The number of structs that were read."""
    exit: Annotated[int, one_of(0, 1, 3)]
    """The exit status of `check` on it alone."""


class StructJson(JsonObject, frozen=True):
    """A struct or union whose layout or types changed, or whose fields share other lines."""

    name: str
    """The struct's tag, or the typedef that names it; of a renamed one the new name."""
    aggregate: Aggregate
    """Which of the two it is."""
    status: Annotated[str, one_of(*Status, "added", "removed", "renamed", "retyped")]
    """By the rules on it, unless only one input has it, or it has another name; retyped if only types of its
    fields differ."""
    old_name: str | None
    """The old name of a renamed struct."""
    file: str | None
    """The file that defines it."""
    line: Positive | None
    """Line number, from 1."""
    size: tuple[int | None, int | None]
    """The sizes."""
    lines: tuple[int | None, int | None]
    """The lines that an object at the start of a line touches."""
    hole_bits: tuple[int | None, int | None]
    """The bits of all holes, without the padding at the end."""
    align: tuple[int | None, int | None]
    """The alignments; null if several are possible."""
    moved: Sequence[MovedJson]
    """The fields that moved, in declared order; then those that moved inside embedded structs that are not
    listed themselves."""
    straddles: Sequence[StraddleJson]
    """The fields that began or ceased to lie on two lines although one could hold them."""
    edits: Sequence[EditJson]
    """The changes of its own fields, in declared order; then those inside embedded structs that are not
    listed themselves."""
    retyped: Sequence[RetypedJson]
    """The fields with another type of the same size, as deep as structs that are not listed themselves are
    embedded in it."""
    cause: CauseJson | None
    """The edit behind the first field that moved, or behind the size. Null if no field explains the
    change."""
    root: str | None
    """The struct inside whose change explains all of this one's. Null if the struct itself was edited."""
    pairs: Sequence[PairJson]
    """The pairs of fields whose number of shared placements changed."""
    containers: Sequence[str]
    """The structs that changed because this one did."""
    allocations: Sequence[AllocationJson]
    """What an object takes of its allocators, if its size changed."""


class RuleJson(JsonObject, frozen=True):
    """A rule on one struct."""

    rule: str
    """The rule's id."""
    kind: str
    """The kind of the rule."""
    struct: str
    """The struct, variable or array."""
    severity: Annotated[str, one_of(*Severity)]
    """The severity; notes do not decide the status."""
    before: Annotated[str, one_of(*Outcome)] | None
    """The old outcome. Null if the rule judged no such struct."""
    after: Annotated[str, one_of(*Outcome)] | None
    """The new outcome."""
    status: Annotated[str, one_of(*Status)]
    """How they compare. A rule that fails in more placements, or on more pairs of fields, is worse."""
    reason: str | None
    """Why it could not be compared."""
    violating: tuple[int | None, int | None]
    """The number of placements in which it fails."""
    total: tuple[int | None, int | None]
    """The number of placements; 0 if they do not matter."""
    suppressed: str | None
    """The reason of a suppression; suppressed findings do not decide the status."""
    message: str
    """What was found in the new input, or in the old one if the new one lacks it."""
    file: str
    """The file of the finding."""
    line: Positive | None
    """Line number, from 1."""


class InputJson(JsonObject, frozen=True):
    """An input."""

    path: str
    """The path."""
    reader: str
    """What was read: dwarf, btf or clang, or a snapshot of one."""
    target: str
    """The name of the target."""
    build_id: str | None
    """The build id, in hexadecimal digits."""


class MovedJson(JsonObject, frozen=True):
    """A field at another offset."""

    path: str
    """The path."""
    old: Natural
    """The old offset."""
    new: Natural
    """The new offset."""
    old_bit: Natural | None
    """The first bit of a bit-field, from the start of the struct. Null for other fields."""
    new_bit: Natural | None
    """The same in the new input."""
    lines: tuple[Natural, Natural]
    """The first line that it touches, of an object at the start of a line."""
    cause: str | None
    """The field whose edit pushed it. Null if no field of the struct explains it."""


class StraddleJson(JsonObject, frozen=True):
    """A field."""

    path: str
    """The path."""
    offset: tuple[Natural | None, Natural | None]
    """The offset, before and now. Null without the field."""
    lines: tuple[Natural, Natural]
    """The number of lines that it touches, of an object at the start of a line. 0 without the field."""


class EditJson(JsonObject, frozen=True):
    """A change of one field, which can move others."""

    kind: Annotated[str, one_of(*EditKind)]
    """What happened to it: `changed` if its type holds something else at the same size."""
    path: str
    """The path."""
    old_path: str | None
    """The old path of a renamed field. Null for others."""
    size: tuple[int | None, int | None]
    """The sizes of the field; null where it is missing."""
    struct: str | None
    """The struct in the field whose own change resized, realigned or changed it."""
    file: str | None
    """The file that declares it."""
    line: Positive | None
    """Line number, from 1."""


class RetypedJson(JsonObject, frozen=True):
    """A field that has another type of the same size."""

    path: str
    """The path."""
    old: str
    """The old type."""
    new: str
    """The new type."""
    file: str | None
    """The file of its declaration."""
    line: Positive | None
    """Line number, from 1."""


class CauseJson(JsonObject, frozen=True):
    """An edit."""

    path: str
    """The field."""
    kind: Annotated[str, one_of(*EditKind)]
    """What happened to it: `changed` if its type holds something else at the same size."""
    struct: str | None
    """The struct in the field whose own change resized, realigned or changed it."""
    file: str | None
    """The file that declares it."""
    line: Positive | None
    """Line number, from 1."""


class PairJson(JsonObject, frozen=True):
    """Two fields that a rule keeps apart, and that share a line in more or fewer placements."""

    fields: tuple[str, str]
    """The paths of the fields."""
    violating: tuple[Natural, Natural]
    """The number of placements in which they share a line."""
    total: Natural
    """The number of placements of the new struct."""
    old_total: Natural
    """The number of placements of the old one; 0 if there was none."""
    bases: tuple[Sequence[Natural], Sequence[Natural]]
    """The bases at which they share a line."""
    is_across: bool
    """True if the second field is in the next object."""
    rule: str
    """The rule's id."""


class AllocationJson(JsonObject, frozen=True, rename={"class_": "class"}):
    """An allocator."""

    allocator: Annotated[str, one_of("kmalloc", "slab")]
    """The allocator."""
    is_assumed: bool
    """True if no rule file and no call states it: kmalloc in a kernel."""
    class_: tuple[Natural | None, Natural | None]
    """The classes of kmalloc, in bytes. Null for slabs."""
    slack: tuple[Natural | None, Natural | None]
    """The bytes of the class that are left. Null for slabs."""
    slabs: Sequence[SlabJson]
    """By the number of CPUs. Empty for kmalloc."""


class SlabJson(JsonObject, frozen=True):
    """The slabs on machines with some numbers of CPUs."""

    cpus: tuple[Positive, Positive]
    """The fewest and most CPUs."""
    order: tuple[Natural, Natural]
    """The orders: two to the power of this is the number of pages of 4096 bytes."""
    objects: tuple[Natural, Natural]
    """The objects in a slab."""
    stride: tuple[Natural, Natural]
    """The bytes from one object to the next."""
    room: Natural | None
    """The bytes by which the struct can grow now before a slab has fewer objects or another order. Null if
    not known."""


def render(comparison: Comparison) -> str:
    """Return the comparison as one JSON object, with a newline at the end."""
    by_struct: dict[str, list[RuleChange]] = defaultdict(list)
    for change in comparison.rules:
        by_struct[change.struct].append(change)
    document = Document(
        status=comparison.status.value,
        old=_side(comparison.old),
        new=_side(comparison.new),
        structs=list(_structs(comparison, by_struct)),
        rules=[_rule(change) for change in comparison.rules],
        variables=variables(comparison.variables),
        likely_sharing=None if comparison.likely is None else likely_sharing(comparison.likely),
        not_compared=comparison.not_compared,
        idle_rules=comparison.idle_rules,
        notes=comparison.notes,
        compared=comparison.layouts.compared,
        failures=comparison.failures,
        exit=comparison.exit_status,
    )
    return document_text(document)


def _both(function: Callable[[_Side], _Value], sides: tuple[_Side, _Side]) -> tuple[_Value, _Value]:
    """Return the values of a function for what is old and what is new."""
    return function(sides[0]), function(sides[1])


def _side(side: Side) -> SideJson:
    readings = side.report.readings
    return SideJson(
        label=side.label,
        inputs=[
            InputJson(path=r.path, reader=r.reader, target=r.target.name, build_id=r.build_id)
            for r in readings
        ],
        structs=len(side.structs),
        exit=side.report.exit_status,
    )


def _structs(comparison: Comparison, rules: dict[str, list[RuleChange]]) -> Iterable[StructJson]:
    """Yield the structs that changed, and those with pairs of fields that share other lines."""
    layouts = comparison.layouts
    changes = (*layouts.changes, *layouts.retyped)
    changed = {change.name for change in changes}
    for change in changes:
        own = [each for each in rules.get(change.name, ()) if _is_about(each, change)]
        yield _struct(change, own, comparison.allocators)
    for name in sorted(rules.keys() - changed):
        if any(each.pairs for each in rules[name]):
            struct = rules[name][0].finding.struct
            same = LayoutChange(Presence.BOTH, struct, struct)
            yield _struct(same, rules[name], comparison.allocators, name)


def _struct(
    change: LayoutChange, rules: list[RuleChange], allocators: Allocators, name: str = ""
) -> StructJson:
    layouts = _both(_layout, (change.old, change.new))
    return StructJson(
        name=name or change.name,
        aggregate=change.struct.aggregate,
        status=_status(change, rules),
        old_name=change.old.name if change.old is not None and change.old.name != change.name else None,
        **file_and_line(change.struct.source),
        size=_both(_size, (change.old, change.new)),
        lines=_both(_lines, (change.old, change.new)),
        hole_bits=_both(_hole_bits, layouts),
        align=_both(_align, layouts),
        moved=[_move(move, change.struct.target.line_size) for move in change.edits.moves],
        straddles=[_straddle(each) for each in straddle_changes(change)],
        edits=[_edit(edit) for edit in change.edits.edits],
        retyped=[_retyping(each) for each in change.retyped],
        cause=_cause(change.edits.cause),
        root=change.root or None,
        pairs=[_pair(pair, each) for each in rules for pair in each.pairs],
        containers=change.containers,
        allocations=[_allocation(room) for room in room_changes(change, allocators)],
    )


def _allocation(room: RoomChange) -> AllocationJson:
    return AllocationJson(
        allocator=room.new.word,
        is_assumed=room.is_assumed,
        class_=(room.old.block, room.new.block),
        slack=(room.old.slack, room.new.slack),
        slabs=[
            SlabJson(
                cpus=(slab.fewest_cpus, slab.most_cpus),
                order=(slab.old.order, slab.new.order),
                objects=(slab.old.objects, slab.new.objects),
                stride=(slab.old.stride, slab.new.stride),
                room=slab.room,
            )
            for slab in room.slabs
        ],
    )


def _is_about(rule: RuleChange, change: LayoutChange) -> bool:
    """Return whether a rule judged the definition that changed, and not another one of its name."""
    sides = (rule.old, change.old), (rule.new, change.new)
    return any(
        finding is not None
        and (finding.struct is None or (struct and finding.struct.source == struct.source))
        for finding, struct in sides
    )


def _status(change: LayoutChange, rules: list[RuleChange]) -> str:
    if change.presence is not Presence.BOTH:
        return str(change.presence.value)
    statuses = {each.status for each in rules}
    order = (Status.WORSE, Status.NOT_COMPARED, Status.BETTER)
    status = next((status for status in order if status in statuses), None)
    if status is None:
        return "retyped" if change.is_retyped_only else Status.SAME.value
    return str(status.value)


def _size(struct: Struct | None) -> int | None:
    return None if struct is None or struct.bit_size is None or struct.problem else struct.bit_size // 8


def _lines(struct: Struct | None) -> int | None:
    return None if struct is None or _size(struct) is None else line_count(struct)


def _layout(struct: Struct | None) -> Layout | None:
    return None if struct is None or _size(struct) is None else Layout(struct)


def _hole_bits(layout: Layout | None) -> int | None:
    return None if layout is None else hole_bits(layout)


def _align(layout: Layout | None) -> int | None:
    """Return the alignment; None if several are possible."""
    alignments = layout.alignments if layout is not None else ()
    return alignments[0] if len(alignments) == 1 else None


def _move(move: Move, line: int) -> MovedJson:
    return MovedJson(
        path=move.new.path,
        old=move.old.offset,
        new=move.new.offset,
        old_bit=move.old.bit_offset if move.old.field.is_bitfield else None,
        new_bit=move.new.bit_offset if move.new.field.is_bitfield else None,
        lines=(move.old.offset // line, move.new.offset // line),
        cause=None if move.cause is None else move.cause.path,
    )


def _straddle(each: StraddleChange) -> StraddleJson:
    return StraddleJson(
        path=each.path,
        offset=_both(_offset, (each.old, each.new)),
        lines=_both(len, each.lines),
    )


def _edit(edit: Edit) -> EditJson:
    return EditJson(
        kind=edit.kind.value,
        path=edit.path,
        old_path=edit.old.path if edit.kind is EditKind.RENAMED and edit.old is not None else None,
        size=_both(_place_size, (edit.old, edit.new)),
        struct=edit.struct or None,
        **file_and_line(edit.source),
    )


def _retyping(each: Retyping) -> RetypedJson:
    return RetypedJson(path=each.path, old=each.old, new=each.new, **file_and_line(each.source))


def _offset(place: Place | None) -> int | None:
    return None if place is None else place.offset


def _place_size(place: Place | None) -> int | None:
    return None if place is None else place.size


def _cause(edit: Edit | None) -> CauseJson | None:
    if edit is None:
        return None
    return CauseJson(
        path=edit.path,
        kind=edit.kind.value,
        struct=edit.struct or None,
        **file_and_line(edit.source),
    )


def _pair(pair: PairChange, change: RuleChange) -> PairJson:
    return PairJson(
        fields=(pair.first, pair.second),
        violating=(len(pair.old), len(pair.new)),
        total=pair.new_total,
        old_total=pair.old_total,
        bases=(pair.old, pair.new),
        is_across=pair.is_across,
        rule=change.rule.id,
    )


def _rule(change: RuleChange) -> RuleJson:
    place = change.finding.place
    return RuleJson(
        rule=change.rule.id,
        kind=change.rule.kind.name,
        struct=change.struct,
        severity=change.rule.severity.value,
        before=_outcome(change.old),
        after=_outcome(change.new),
        status=change.status.value,
        reason=change.reason or None,
        violating=_both(_violating_count, (change.old, change.new)),
        total=_both(_total, (change.old, change.new)),
        suppressed=change.finding.suppressed,
        message=finding_message(change.finding),
        file=place.file,
        line=place.line,
    )


def _outcome(finding: Finding | None) -> str | None:
    return None if finding is None else finding.verdict.outcome.value


def _violating_count(finding: Finding | None) -> int | None:
    return None if finding is None else len(finding.verdict.bases)


def _total(finding: Finding | None) -> int | None:
    return None if finding is None else finding.verdict.total
