"""The padding of a struct, and of the members that it holds by value, at any depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Literal

from layoutlint.geometry.layout import Hole, Layout, Place, find_gaps, named_members, split_gap
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field

Where = Literal["holes", "tail", "nested"]


class Gap(Record, frozen=True):
    """Whole bytes, or bits of one byte, that no member covers and no unnamed bit-field declares."""

    bit_offset: int
    """From the start of the outermost struct; for the elements of arrays, in the first one."""
    bit_size: int
    where: Where
    """Between fields of the struct, at its end, or inside a member that it holds by value."""
    place: str
    """The place in words: "before `b`", "at the end of `ring[0]`"."""
    count: int = 1
    """The number of elements that have it."""
    is_declared: bool | None = False
    """None if the input does not state unnamed bit-fields, and one can be there: it is beside a bit-field."""

    @property
    def is_whole(self) -> bool:
        """Whether it starts and ends on byte boundaries."""
        return self.bit_offset % 8 == 0 and self.bit_size % 8 == 0


class UnknownSize(ValueError):
    """Raised for a field whose size the input does not state; the text is its path."""


class _Part(Record, frozen=True):
    """A struct or union inside another one, with its members as `named_members` has them."""

    fields: tuple[Field, ...]
    base: int
    bit_size: int
    is_union: bool
    path: str = ""
    """What messages call it; empty for the outermost struct, and for one without a name."""
    prefix: str = ""
    """The beginning of the paths of its members."""
    count: int = 1
    where: tuple[Where, Where] = ("holes", "tail")
    """Of the gaps between its members, and of those behind them."""


def find_padding(layout: Layout, *, is_deep: bool = True) -> Iterator[Gap]:
    """Yield the padding of the struct, then, if `is_deep`, that inside its members.

    What another member of a union covers counts inside the member that does not. The elements of a flexible
    array are no part of the struct. Raises UnknownSize.
    """
    struct = layout.struct
    part = _Part(struct.fields, 0, layout.bit_size, struct.aggregate == "union")
    yield from _padding(part) if is_deep else _own_padding(part)


def count_nested_bytes(layout: Layout) -> int:
    """Return the whole bytes of padding inside members, in all elements of their arrays."""
    nested = (gap for gap in find_padding(layout) if gap.where == "nested" and gap.is_whole)
    return sum(gap.bit_size // 8 * gap.count for gap in nested)


def _own_padding(part: _Part) -> Iterator[Gap]:
    for start, stop in _uncovered(part):
        yield from _gaps(part, start, stop)


def _padding(part: _Part) -> Iterator[Gap]:
    """Yield the padding of a part, then that of its members."""
    yield from _own_padding(part)
    covered = [Hole(start, stop - start) for start, stop in _uncovered(part)]
    for inner in _nameless(part):
        yield from _hidden_padding(inner, covered)
    for place in _places(part):
        yield from _member_padding(part, place)


def _member_padding(part: _Part, place: Place) -> Iterator[Gap]:
    member, element = place.field, place.element_bits
    if not member.members or place.is_flexible or place.is_marker or not element:
        return
    first = f"{place.path}{'[0]' * len(member.dims)}"
    elements = prod(length or 0 for length in member.dims)
    yield from _padding(
        _Part(
            member.members, place.bit_offset, element, member.aggregate == "union", first, f"{first}.",
            part.count * elements, ("nested", "nested"),
        )
    )  # fmt: skip


def _hidden_padding(part: _Part, covered: list[Hole]) -> Iterator[Gap]:
    """Yield the gaps of a struct without a name that members beside it in a union cover.

    `covered` has the gaps that are yielded already, and gets the others.
    """
    for start, stop in _uncovered(part):
        rest, _ = find_gaps([*_within(covered, start, stop), Hole(stop, 0)], stop)
        for low, high in rest:
            if low >= start:
                yield from _gaps(part, low, high)
        covered.append(Hole(start, stop - start))
    for inner in _nameless(part):
        yield from _hidden_padding(inner, covered)


def _within(holes: Iterable[Hole], start: int, stop: int) -> Iterator[Hole]:
    """Yield the parts of gaps inside a range, and what is before it."""
    yield Hole(0, start)
    for hole in holes:
        if hole.bit_offset < stop and hole.bit_offset + hole.bit_size > start:
            yield hole


def _nameless(part: _Part) -> Iterator[_Part]:
    """Yield the structs and unions without a name among the members."""
    for member in part.fields:
        if member.name is None and member.members and member.bit_size:
            yield replace(
                part, fields=member.members, base=part.base + member.bit_offset, bit_size=member.bit_size,
                is_union=member.aggregate == "union", path="", where=("nested", "nested"),
            )  # fmt: skip


def _places(part: _Part) -> Iterator[Place]:
    return named_members(part.fields, part.prefix, part.base, part.is_union)


def _uncovered(part: _Part) -> list[tuple[int, int]]:
    """Return start and end of the gaps between the members of a part, and behind them."""
    if not part.fields:
        return []  # nothing, or unnamed bit-fields alone
    end = part.base + part.bit_size
    members: list[Place | Hole] = [Hole(0, part.base), *_unnamed_bits(part.fields, part.base)]
    for place in _places(part):
        if place.bit_size is None:
            raise UnknownSize(place.path)
        members.append(place)
    gaps, reached = find_gaps(members, end)
    return [*gaps, (reached, end)] if reached < end else gaps


def _unnamed_bits(fields: tuple[Field, ...], base: int) -> Iterator[Hole]:
    """Yield the unnamed bit-fields that the input states, as bits that are no padding."""
    for member in fields:
        start = base + member.bit_offset
        for offset, width in member.unnamed_bits or ():
            yield Hole(start + offset, width)
        if member.name is None:
            yield from _unnamed_bits(member.members, start)


def _gaps(part: _Part, start: int, stop: int) -> Iterator[Gap]:
    """Yield one gap of a part, split into whole bytes and bits."""
    places = list(_places(part))
    before = max((p for p in places if _end(p) <= start), key=_end, default=None)
    after = min((p for p in places if p.bit_offset >= stop), key=lambda p: p.bit_offset, default=None)
    beside = [place.field for place in (before, after) if place is not None]
    can_be_declared = any(field.is_bitfield and field.unnamed_bits is None for field in beside)
    if after is not None:
        where, words = part.where[0], f"before `{after.path}`"
    elif part.path or before is None or part.where[1] == "tail":
        where, words = part.where[1], f"at the end of `{part.path}`" if part.path else "at the end"
    else:
        where, words = part.where[1], f"behind `{before.path}`"
    for hole in split_gap(start, stop):
        yield Gap(
            hole.bit_offset, hole.bit_size, where, words, part.count, None if can_be_declared else False
        )


def _end(place: Place) -> int:
    return place.bit_offset + (place.bit_size or 0)
