"""The padding of a struct, and of the members that it holds by value, at any depth.

`find_padding` names each gap for a rule; `inner_holes` lists them at their places, as `show --expand` does.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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


_Bits = tuple[int, int]
"""The first bit of a gap, and its number of bits."""
_Span = tuple[int, int]
"""The first bit of a gap, and the one behind it."""


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
    with_unnamed: bool = False
    """Whether unnamed bit-fields are padding."""


def find_padding(layout: Layout, *, is_deep: bool = True, with_unnamed: bool = False) -> Iterator[Gap]:
    """Yield the padding of the struct, then, if `is_deep`, that inside its members.

    With `with_unnamed`, unnamed bit-fields are padding too, as in inputs that do not state them.

    What another member of a union covers counts inside the member that does not; what several of them share,
    inside the first. The elements of a flexible array are no part of the struct. Raises UnknownSize.
    """
    part = replace(_outermost(layout), with_unnamed=with_unnamed)
    yield from _own_padding(part)
    if is_deep:
        gaps: dict[_Bits, Gap] = {}
        for gap in _nested_padding(part):
            bits = gap.bit_offset, gap.bit_size
            if bits not in gaps or gaps[bits].count < gap.count:
                gaps[bits] = gap
        yield from gaps.values()


def count_nested_bytes(layout: Layout) -> int | None:
    """Return the whole bytes of padding inside members, in all elements of their arrays.

    None if the size of a member is unknown.
    """
    try:
        counts = _count_nested_gaps(_outermost(layout)) if layout.is_sized else None
    except UnknownSize:
        return None
    return None if counts is None else sum(bits // 8 * count for (_, bits), count in counts.items())


_MOST_KEPT = 4096
_kept: dict[tuple[int, int], tuple[tuple[Field, ...], dict[_Bits, int]]] = {}
"""By the identity of the members of a type and its bits: the members, which keeps the identity unique, and
the gaps of whole bytes in it, from its start, each with the number of elements that have it."""


def _count_nested_gaps(part: _Part) -> dict[_Bits, int]:
    """Return the gaps of whole bytes inside members, each with the number of elements that have it."""
    if not any(member.members for member in part.fields):
        return {}
    counts = {(gap.bit_offset, gap.bit_size): 1 for gap in _padding_of_nameless(part) if gap.is_whole}
    for inner in _inner_parts(part):
        for (offset, bits), count in _count_gaps_of_type(inner).items():
            key = inner.base + offset, bits
            counts[key] = max(counts.get(key, 0), count * inner.count)
    return counts


def _count_gaps_of_type(part: _Part) -> dict[_Bits, int]:
    """Return the gaps of whole bytes in a type and inside its members; many structs share types."""
    key = id(part.fields), part.bit_size
    if key not in _kept:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        alone = replace(part, base=0, count=1)
        own = {(gap.bit_offset, gap.bit_size): 1 for gap in _own_padding(alone) if gap.is_whole}
        _kept[key] = part.fields, own | _count_nested_gaps(alone)
    return _kept[key][1]


def _outermost(layout: Layout) -> _Part:
    return _Part(layout.struct.fields, 0, layout.bit_size, layout.struct.aggregate == "union")


def _own_padding(part: _Part) -> Iterator[Gap]:
    yield from _gaps(part, _find_uncovered(part))


def _nested_padding(part: _Part) -> Iterator[Gap]:
    """Yield the padding inside the members of a part."""
    yield from _padding_of_nameless(part)
    for inner in _inner_parts(part):
        yield from _own_padding(inner)
        yield from _nested_padding(inner)


def _inner_parts(part: _Part) -> Iterator[_Part]:
    """Yield the structs and unions with a name among the members; of an array, the first one."""
    for place in _places(part):
        member = place.field
        if member.members and not place.is_flexible and place.element_bits:
            first = f"{place.path}{'[0]' * len(member.dims)}"
            yield _Part(
                member.members, place.bit_offset, place.element_bits, member.aggregate == "union", first,
                f"{first}.", part.count * prod(length or 0 for length in member.dims), ("nested", "nested"),
            )  # fmt: skip


def _padding_of_nameless(part: _Part) -> Iterator[Gap]:
    """Yield the padding of structs without a name that other members cover."""
    nameless = list(_nameless(part))
    if nameless:
        covered = [Hole(start, stop - start) for start, stop in _find_uncovered(part)]
        for inner in nameless:
            yield from _hidden_padding(inner, covered)


def _hidden_padding(part: _Part, covered: list[Hole]) -> Iterator[Gap]:
    """Yield the gaps of a struct without a name that members beside it in a union cover.

    `covered` has the gaps that are yielded already, and gets the others.
    """
    own = _find_uncovered(part)
    yield from _gaps(part, _find_outside(own, covered))
    covered += (Hole(start, stop - start) for start, stop in own)
    for inner in _nameless(part):
        yield from _hidden_padding(inner, covered)


def _find_outside(gaps: list[_Span], covered: list[Hole]) -> list[_Span]:
    """Return the parts of gaps that are not covered."""
    edges = [0, *(edge for span in gaps for edge in span)]
    edges.append(edges[-1])
    between = [Hole(stop, start - stop) for stop, start in zip(edges[::2], edges[1::2], strict=True)]
    return find_gaps([*(hole for hole in covered if hole.bit_offset < edges[-1]), *between], 0)[0]


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


def _find_uncovered(part: _Part) -> list[_Span]:
    """Return start and end of the gaps between the members of a part, and behind them."""
    if not part.fields:
        return []  # nothing, or unnamed bit-fields alone
    end = part.base + part.bit_size
    members: list[Place | Hole] = [Hole(0, part.base)]
    members += () if part.with_unnamed else _declared_holes(part.fields, part.base)
    for place in _places(part):
        if place.bit_size is None:
            raise UnknownSize(place.path)
        members.append(place)
    gaps, reached = find_gaps(members, end)
    return [*gaps, (reached, end)] if reached < end else gaps


def _declared_holes(fields: tuple[Field, ...], base: int) -> Iterator[Hole]:
    """Yield the unnamed bit-fields that the input states, as bits that are no padding."""
    for member in fields:
        start = base + member.bit_offset
        for offset, width in member.unnamed_bits or ():
            yield Hole(start + offset, width)
        if member.name is None:
            yield from _declared_holes(member.members, start)


def _gaps(part: _Part, spans: Iterable[_Span]) -> Iterator[Gap]:
    """Yield the gaps of a part, split into whole bytes and bits."""
    beside = _Neighbours(_places(part))
    for start, stop in spans:
        before, after = beside.find_before(start), beside.find_after(stop)
        fields = [place.field for place in (before, after) if place is not None]
        can_be_declared = any(field.is_bitfield and field.unnamed_bits is None for field in fields)
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


class _Neighbours:
    """The members next to a gap; of several, the first one."""

    def __init__(self, places: Iterable[Place]) -> None:
        in_order = list(places)
        self._by_start, self._by_end = sorted(in_order, key=_start), sorted(in_order, key=_end)

    def find_before(self, start: int) -> Place | None:
        """Return the member that ends last before a bit."""
        at = bisect_right(self._by_end, start, key=_end)
        return self._by_end[bisect_left(self._by_end, _end(self._by_end[at - 1]), key=_end)] if at else None

    def find_after(self, stop: int) -> Place | None:
        """Return the member that starts first from a bit on."""
        at = bisect_left(self._by_start, stop, key=_start)
        return self._by_start[at] if at < len(self._by_start) else None


def _start(place: Place) -> int:
    return place.bit_offset


def _end(place: Place) -> int:
    return place.bit_offset + (place.bit_size or 0)


def inner_holes(layout: Layout) -> tuple[Hole, ...]:
    """Return the holes of a struct and of those inside it, each once; without the padding at its own end.

    Inside a union, other members can cover them. Of an array of structs, those of its first element are
    returned.
    """
    holes = dict.fromkeys(_all_holes(layout.struct.fields, 0, layout.bit_size - layout.bit_padding))
    return tuple(sorted(holes, key=lambda hole: (hole.bit_offset, hole.bit_size)))


def _all_holes(fields: tuple[Field, ...], base: int, bit_size: int) -> Iterator[Hole]:
    yield from own_holes(fields, base, bit_size)
    for member in fields:
        bits = shown_bits(member)
        if bits:
            yield from _all_holes(member.members, base + member.bit_offset, bits)


def own_holes(fields: tuple[Field, ...], base: int, bit_size: int) -> Iterator[Hole]:
    """Yield the holes between the members of a struct that starts at bit `base`, and behind them.

    A struct or union without a name is a member here.
    """
    gaps, reached = find_gaps(fields, bit_size)
    if reached < bit_size:
        gaps.append((reached, bit_size))
    for start, stop in gaps:
        yield from split_gap(base + start, base + stop)


def shown_bits(member: Field) -> int:
    """Return the bits of a struct that a member is, or of the first one in an array; 0 for other members."""
    if not member.members or member.is_flexible:
        return 0
    return Place("", member.bit_offset, member.bit_size, member).element_bits or 0
