"""Samples of types and offsets, at the fields of an input."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from layoutlint.commands.evidence.lines import ObjectType, refusal
from layoutlint.geometry.access_masks import field_at
from layoutlint.geometry.layout import Place
from layoutlint.judgement.evidence import EventSummary, RefusedTouch, TypedCount
from layoutlint.model.paths import is_within
from layoutlint.model.record import Record, field
from layoutlint.readers.profiles.records import EventProfile, Profile, TypeRow

_KEYWORDS = re.compile(r"^(?:(?:const|volatile|struct|union|class) )+")
_INDICES = re.compile(r"\[\d+\]")


class TypeResult(Record):
    """The placed and refused rows of all profiles."""

    events: list[EventSummary] = field(default_factory=list)
    counts: dict[int, list[TypedCount]] = field(default_factory=lambda: defaultdict(list))
    """By the position of the struct."""
    refused: dict[int, list[tuple[int, RefusedTouch]]] = field(default_factory=lambda: defaultdict(list))
    notes: dict[str, None] = field(default_factory=dict)


def bare_name(type_name: str) -> str:
    """Return the tag or typedef of a type that perf names."""
    return _KEYWORDS.sub("", type_name)


def names_of_types(profile: Profile) -> frozenset[str]:
    """Return the tags and typedefs of all types with offsets in a profile; pointers have none."""
    return frozenset(
        bare_name(row.type_name) for event in profile.events for row in event.rows if "*" not in row.type_name
    )


def place_types(profile: Profile, kinds: Sequence[ObjectType], result: TypeResult) -> None:
    """Place the rows of a profile at the fields of structs; refuse those that contradict the input."""
    by_name: dict[str, list[int]] = defaultdict(list)
    for number, kind in enumerate(kinds):
        for name in dict.fromkeys((kind.struct.name, *kind.struct.aliases)):
            by_name[name].append(number)
    for event in profile.events:
        _place_event(profile, event, kinds, by_name, result)


def _place_event(
    profile: Profile,
    event: EventProfile,
    kinds: Sequence[ObjectType],
    by_name: dict[str, list[int]],
    result: TypeResult,
) -> None:
    number = len(result.events)
    rows: dict[str, list[TypeRow]] = defaultdict(list)
    for row in event.rows:
        rows[row.type_name].append(row)
    sums = {"elsewhere": 0.0, "refused": 0.0, "placed": 0.0}
    placed = 0
    for type_name, own in rows.items():
        numbers = by_name.get(bare_name(type_name), []) if "*" not in type_name else []
        if not numbers:
            sums["elsewhere"] += _share(own)
            continue
        reason, chosen = _choose(own, event, [(n, kinds[n]) for n in numbers])
        placed_rows: dict[tuple[str, int], list[tuple[TypeRow, Place]]] = defaultdict(list)
        is_other = any(row.path and _check(kinds[chosen], row)[0] for row in own)
        for row in own:
            wrong, place = (reason, None) if reason else _check(kinds[chosen], row)
            if is_other and not row.path and place is not None:
                wrong, place = "perf names no field, and others contradict the input: another build", None
            if place is None:
                sums["refused"] += row.share or 0
                refused = RefusedTouch(row.offset, wrong or "in padding", row.samples, row.share, row.line)
                result.refused[chosen].append((number, refused))
            else:
                placed_rows[place.path, row.offset].append((row, place))
                sums["placed"] += row.share or 0
                placed += 1
        result.counts[chosen] += [_count(profile.path, number, event, each) for each in placed_rows.values()]
    result.events.append(
        EventSummary(
            profile.path,
            event.line,
            event.name,
            event.role,
            event.scope,
            event.unknown,
            event.scalars,
            sums["elsewhere"],
            sums["refused"],
            sums["placed"],
            placed,
        )
    )


def _share(rows: list[TypeRow]) -> float:
    return sum(row.share or 0 for row in rows)


def _choose(rows: list[TypeRow], event: EventProfile, kinds: list[tuple[int, ObjectType]]) -> tuple[str, int]:
    """Return the definition that the rows are about, and why none is; the definition is then the first."""
    files = {row.file for row in rows} | {
        size.file for size in event.sizes if size.type_name == rows[0].type_name
    }
    if len(files) > 1:
        return f"types of {len(files)} programs have this name", kinds[0][0]
    sizes = {size.size for size in event.sizes if size.type_name == rows[0].type_name}
    fitting = [
        (number, kind)
        for number, kind in kinds
        if (not sizes or sizes == {kind.layout.size})
        and all(_check(kind, row)[1] is not None for row in rows)
    ]
    if len(kinds) > 1 and len(fitting) != 1:
        return f"{len(kinds)} structs of the input have this name", kinds[0][0]
    number, kind = fitting[0] if fitting else kinds[0]
    if sizes and sizes != {kind.layout.size}:
        size = "/".join(map(str, sorted(sizes)))
        return f"the type has {size} bytes in the profile, and {kind.layout.size} in the input", number
    return "", number


def _check(kind: ObjectType, row: TypeRow) -> tuple[str | None, Place | None]:
    """Return the field of a row, or the reason why the row contradicts the struct."""
    if row.size is not None:  # a member with its size, which can be an array with samples at any element
        place = kind.layout.find(row.path) if row.path else field_at(kind.layout, row.offset)
        if place is None or not _is_of_size(place, row, row.size):
            return _differs(kind, row), None
        return None, place
    reason = refusal(kind, row.offset)
    if reason is not None:
        return reason, None
    place = field_at(kind.layout, row.offset)
    if place is not None and place.field.is_bitfield and row.path is None:
        return None, place  # perf knows the first byte of a bit-field only
    if place is None or row.path is None:
        return (
            "in padding"
            if place is None
            else f"the profile has no field there, and the input has `{place.path}`"
        ), None
    if not row.path:
        return None, place  # perf names some members of anonymous structs without a name
    named = _named_place(kind, row)
    return (None, named) if named is not None else (_differs(kind, row), None)


def _is_of_size(place: Place, row: TypeRow, size: int) -> bool:
    """Return whether a member has the position and size that a report states.

    For a bit-field that is its first byte and its bits as bytes, or the storage unit around it (DWARF 4).
    """
    if place.field.is_bitfield:
        return row.offset <= place.offset < row.offset + max(size, 1)
    return place.offset == row.offset and (not row.path or place.size == size)


def _named_place(kind: ObjectType, row: TypeRow) -> Place | None:
    """Return the field that perf names, if the input has it at the offset too; the innermost one there."""
    path = row.path or ""
    places = [
        place
        for place in kind.layout.innermost_fields(row.offset)
        if _is_named(_INDICES.sub("", place.path), path, row)
    ]
    if places:
        return next((place for place in places if not place.field.members), None)
    stated = None if row.is_cut else kind.layout.find(path)
    place = field_at(kind.layout, row.offset)
    if stated is not None and stated.field.is_bitfield and place is not None and place.field.is_bitfield:
        return place  # perf names the first one of a storage unit
    covers = stated is not None and stated.bit_size is not None and stated.offset <= row.offset < stated.end
    return place if covers else None


def _is_named(own: str, path: str, row: TypeRow) -> bool:
    return own.startswith(path) if row.is_cut else is_within(own, path)


def _differs(kind: ObjectType, row: TypeRow) -> str:
    place = field_at(kind.layout, row.offset)
    has = f"`{place.path}`" if place is not None else "no field"
    return f"the profile has `{row.path}` there, and the input has {has}: another build"


def _count(report: str, number: int, event: EventProfile, rows: list[tuple[TypeRow, Place]]) -> TypedCount:
    row, place = rows[0]
    samples = [each.samples for each, _ in rows]
    shares = [each.share for each, _ in rows]
    return TypedCount(
        report,
        number,
        place.path,
        place.offset,
        place.size,
        row.offset,
        event.role,
        None if None in shares else sum(share or 0 for share in shares),
        None if None in samples else sum(sample or 0 for sample in samples),
        tuple(each.line for each, _ in rows),
    )
