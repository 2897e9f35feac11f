"""Pure geometry: what follows from a Struct. Offsets in bits inside, in bytes at the edge."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import accumulate
from math import isqrt, prod
from operator import attrgetter

from layoutlint.geometry.group_marks import marker
from layoutlint.model import alignment
from layoutlint.model.paths import Steps, indices, is_pattern, steps_of
from layoutlint.model.structs import Field, Struct, Unstated

_MOST_INDICES = 4
"""Indices behind one name that are tried where dimensions are not stated."""
_STEP = re.compile(r"([^.\[\]]+)((?:\[\d{1,19}\])*)")
_TELLING_GAP = 16
"""A gap of so many bytes suggests alignment. It proves none: Linux's old_timex32 ends in eleven unnamed
bit-fields of 32 bits, which no debug information shows."""


@dataclass(frozen=True, slots=True)
class Place:
    """A field and where it stands, from the start of the outermost struct."""

    path: str
    """Dotted from the outermost struct; empty for an anonymous member."""
    bit_offset: int
    bit_size: int | None
    field: Field
    is_marker: bool = False
    """An array without length that has members behind it, or ends a group, and so holds nothing."""

    def __hash__(self) -> int:
        return hash((self.path, self.bit_offset))  # what the field holds can be a thousand others

    @property
    def offset(self) -> int:
        """The first byte that the field touches."""
        return self.bit_offset // 8

    @property
    def end(self) -> int:
        """One past the last byte touched; a flexible array counts with its first byte only.

        Raises ValueError when the size is not known.
        """
        if self.bit_size is None:
            raise ValueError(f"the size of {self.path!r} is not known")
        if self.is_flexible:
            return self.offset + 1
        return (self.bit_offset + self.bit_size + 7) // 8

    @property
    def size(self) -> int | None:
        """Bytes touched, None when not known; 0 for a flexible array."""
        start, size = self.bit_offset, self.bit_size
        if size is None or self.is_flexible:
            return size
        return (start + size + 7) // 8 - start // 8

    @property
    def is_flexible(self) -> bool:
        """Whether this is an array that goes on behind its struct (`x[]`, or `x[0]` at its end)."""
        return self.field.is_flexible and not self.is_marker

    @property
    def is_empty(self) -> bool:
        """Whether the field occupies no byte at all (an empty struct); a flexible array is not empty."""
        return self.bit_size == 0 and not self.is_flexible

    @property
    def extent(self) -> str:
        """Where it stands, as reports say it: `16..19`, or `at 136 and beyond` for a flexible array."""
        if self.bit_size is None:
            return f"{self.offset}..??"
        if self.is_flexible:
            return f"{self.offset} and beyond"
        if self.is_empty:
            return f"{self.offset}, empty"
        if self.field.is_bitfield:
            return f"bits {self.bit_offset}..{self.bit_offset + self.bit_size - 1}"
        return f"{self.offset}..{self.end - 1}"


@dataclass(frozen=True, slots=True)
class Hole:
    """Bits between two fields that no field covers."""

    bit_offset: int
    bit_size: int

    @property
    def is_whole(self) -> bool:
        """Whether it starts and ends between bytes; if not it is a rest beside bit-fields."""
        return self.bit_offset % 8 == 0 and self.bit_size % 8 == 0

    @property
    def offset(self) -> int:
        """Its first byte; raises ValueError inside a byte."""
        if not self.is_whole:
            raise ValueError(f"the hole at bit {self.bit_offset} starts or ends inside a byte")
        return self.bit_offset // 8

    @property
    def size(self) -> int:
        """Its length in bytes; raises ValueError when it starts or ends inside a byte."""
        if not self.is_whole:
            raise ValueError(f"the hole at bit {self.bit_offset} has no length in bytes")
        return self.bit_size // 8


@dataclass(frozen=True, slots=True)
class Alignment:
    """The alignment of a struct in bytes, and how it is known."""

    value: int
    basis: str


@dataclass(frozen=True)
class Layout:
    """The geometry of one complete struct; raises ValueError for an incomplete one."""

    struct: Struct

    def __post_init__(self) -> None:
        if self.struct.bit_size is None:
            raise ValueError(f"struct {self.struct.name} is incomplete")

    @property
    def bit_size(self) -> int:
        """Size of the struct in bits."""
        return self.struct.bit_size or 0

    @property
    def size(self) -> int:
        """Size of the struct in bytes."""
        return self.bit_size // 8

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The fields that C addresses with one name, in declared order; anonymous members are opened."""
        return tuple(named(self.struct.fields, "", 0, self.struct.aggregate == "union"))

    def expanded(self, depth: int | None = None) -> Iterator[Place]:
        """Every named field, outer ones first, of arrays the first element; `depth` is the most dots."""
        return _deep((self.struct.fields, "", 0, self.struct.aggregate == "union"), depth)

    def find(self, path: str) -> Place | None:
        """The field at a dotted path (`i_mmap_rwsem.owner`, `ring[2].head`); None when there is none."""
        return None if is_pattern(path) else next(iter(self.match(path)), None)

    def match(self, pattern: str) -> tuple[Place, ...]:
        """The fields that a path means, any step of which can be an fnmatch pattern (`ring[2].*`)."""
        places: tuple[Place, ...] = ()
        scopes: list[_Scope] = [(self.struct.fields, "", 0, self.struct.aggregate == "union")]
        for step in pattern.split("."):
            places = tuple(place for scope in scopes for place in self._step(scope, step))
            scopes = [_scope(place) for place in places]
        return places

    def _step(self, scope: _Scope, step: str) -> Iterator[Place]:
        """The members that one step of a path means, or the element of one."""
        if is_pattern(step):
            yield from (place for place in named(*scope) if fnmatchcase(place.field.name or "", step))
            return
        parsed = _STEP.fullmatch(step)
        place = self._by_name(scope).get(parsed[1]) if parsed else None
        if parsed and place:
            indices = tuple(map(int, re.findall(r"\d+", parsed[2])))
            element = _named_element(place, indices) if indices else place
            if element is not None:
                yield element

    @cached_property
    def _known(self) -> dict[tuple[str, int], dict[str, Place]]:
        """The members of the structs that paths led into, by the paths."""
        return {}

    def _by_name(self, scope: _Scope) -> dict[str, Place]:
        """Members by name, the first of each: a rule can name each of thousands."""
        key = scope[1:3]
        if key not in self._known:
            found: dict[str, Place] = {}
            for place in named(*scope):
                found.setdefault(place.field.name or "", place)
            self._known[key] = found
        return self._known[key]

    def others(self, chosen: Iterable[Place]) -> tuple[Place, ...]:
        """The fields that are neither chosen nor part of a chosen one.

        A field of which only a part is chosen gives its other parts, and an array its other elements.
        """
        return tuple(_rest(self.places, [steps_of(place.path) for place in chosen]))

    def others_near(
        self, chosen: Iterable[Place], centers: Iterable[Place], distance: int, shift: int = 0
    ) -> tuple[Place, ...]:
        """Return those of the others with bytes at most so many bytes before or behind some fields.

        With a shift they are near where the fields would be so many bytes further on. Fields without bytes
        and those of unknown size are left out.
        """
        places, ends = self._by_end
        near: dict[int, Place] = {}
        for place in centers:
            start, stop = place.offset + shift - distance, place.end + shift + distance
            for rank, other in places[bisect_right(ends, start) :]:
                if other.offset >= stop:
                    break
                near[rank] = other
        in_order = [place for _, place in sorted(near.items())]
        return tuple(_rest(in_order, [steps_of(place.path) for place in chosen]))

    @cached_property
    def is_sized(self) -> bool:
        """Whether the size of every field is known."""
        return all(place.bit_size is not None for place in self.places)

    @cached_property
    def open_end(self) -> Place | None:
        """The flexible array behind which the object goes on, at any depth; None when sizeof is its size."""
        return _open_end(self.struct.fields, "", 0, self.struct.aggregate == "union")

    def touching(self, start: int, stop: int) -> Iterator[Place]:
        """Yield the fields that touch some of the bytes [start, stop), without flexible arrays."""
        places, ends = self._by_end
        for _, place in places[bisect_right(ends, start) :]:
            if place.offset >= stop:
                break
            if place.end > start and not place.is_flexible:
                yield place

    @cached_property
    def _by_end(self) -> tuple[list[tuple[int, Place]], list[int]]:
        """The fields with bytes and numbers, by their offsets; for each the end of it and all before."""
        sized = [(n, place) for n, place in enumerate(self.places) if place.bit_size or place.is_flexible]
        ordered = sorted(sized, key=lambda each: each[1].bit_offset)
        return ordered, list(accumulate((place.end for _, place in ordered), max))

    @property
    def holes(self) -> tuple[Hole, ...]:
        """What lies between fields and is covered by none, split at byte boundaries; without the tail."""
        return tuple([hole for start, end in self._gaps[0] for hole in _split(start, end)])

    @property
    def bit_padding(self) -> int:
        """Bits behind the last field."""
        return max(0, self.bit_size - self._gaps[1])

    @cached_property
    def _alignments(self) -> tuple[int, int]:
        """The likeliest alignment and the set of all."""
        return alignment.of(self.struct, self.bit_size)

    @cached_property
    def align(self) -> Alignment:
        """The alignment where one is known, else the one that the members ask for."""
        value, every = self._alignments
        if value != every:
            return Alignment(value, "what its members ask for, if nothing is packed")
        if self.struct.align is None:
            basis = "proved by its members" if self.struct.unstated else "natural alignment of its members"
            if self.struct.possible:
                basis = "proved by another input or by its uses"
            return Alignment(value, basis)
        is_declared = self.struct.randomised is None
        return Alignment(value, "stated by the input" if is_declared else "as it is laid out")

    @property
    def alignments(self) -> tuple[int, ...]:
        """Every alignment that it can have, from the smallest: several where the input does not tell."""
        return alignment.values(self._alignments[1])

    def aligned_to(self, align: int) -> Layout:
        """The same with one of the possible alignments."""
        if align not in self._aligned:
            struct = replace(self.struct, align=align, unstated=Unstated.NOTHING, possible=0)
            self._aligned[align] = Layout(struct)
        return self._aligned[align]

    @cached_property
    def _aligned(self) -> dict[int, Layout]:
        """The same with other alignments."""
        return {}

    @property
    def suggested_align(self) -> Alignment | None:
        """A larger alignment that gaps suggest, of those that are possible; None when nothing does."""
        value, every = self._alignments
        if value == every:
            return None
        found = [each for each in self._suggestions() if each.value & every]
        largest = max(found, key=lambda each: each.value, default=self.align)
        return largest if largest.value > value else None

    def _suggestions(self) -> Iterator[Alignment]:
        """Alignments that would explain a gap: padding is shorter than the alignment that caused it."""
        padding = self.bit_padding // 8
        gaps = [(self.size, padding, f"{padding} bytes of padding at its end")]
        between = self._between_members()
        starts = (
            {member.bit_offset: member.name for member in reversed(self.struct.fields)} if between else {}
        )
        for start, end in between:
            gaps.append((end // 8, (end - start) // 8, f"the hole before `{starts[end] or ''}`"))
        for boundary, gap, basis in gaps:
            value = 1 << gap.bit_length()
            if gap >= _TELLING_GAP and boundary % value == 0 and self.size % value == 0:
                yield Alignment(value, f"suggested by {basis}")

    def _between_members(self) -> list[tuple[int, int]]:
        """The gaps of a struct when anonymous members count as a whole."""
        members = self.struct.fields
        if self.struct.aggregate == "union":
            return []
        is_flat = None not in [member.name for member in members]
        return self._gaps[0] if is_flat else _gaps(members, self.bit_size)[0]

    @cached_property
    def _gaps(self) -> _Gaps:
        return _gaps(self.places, self.bit_size)


_MOST_SHARED = 256
"""Layouts that are kept: rules with patterns judge thousands of structs, one after the other."""
_shared: dict[int, Layout] = {}


def shared(struct: Struct) -> Layout:
    """Return the layout of a struct, the same one each time: thousands of rules can be about one struct."""
    found = _shared.get(id(struct))  # no other struct has this identity while its layout is kept
    if found is None:
        if len(_shared) >= _MOST_SHARED:
            _shared.clear()
        found = _shared[id(struct)] = Layout(struct)
    return found


def named(
    fields: tuple[Field, ...], prefix: str, base: int, is_union: bool, is_last: bool = True
) -> Iterator[Place]:
    """Members with names, those of anonymous ones in their stead; `is_last` when none is declared behind.

    `base` is where they start, in bits, and `prefix` what their paths begin with.
    """
    for index, member in enumerate(fields):
        start, last = base + member.bit_offset, is_last and (is_union or index == len(fields) - 1)
        if member.name is None:
            yield from named(member.members, prefix, start, member.aggregate == "union", last)
        else:
            is_marker = member.is_flexible and not (last and marker(member.name) is None)
            yield Place(prefix + member.name, start, member.bit_size, member, is_marker)


_Scope = tuple[tuple[Field, ...], str, int, bool]
"""Members, and what `_named` must know of them."""


def _scope(place: Place) -> _Scope:
    member = place.field
    return member.members, f"{place.path}.", place.bit_offset, member.aggregate == "union"


def _deep(scope: _Scope, depth: int | None) -> Iterator[Place]:
    for place in named(*scope):
        yield place
        if depth != 0 and place.field.members:
            yield from _deep(_scope(place), None if depth is None else depth - 1)


def _open_end(fields: tuple[Field, ...], prefix: str, base: int, is_union: bool) -> Place | None:
    """The flexible array with which these members end, at any depth."""
    for member in fields if is_union else fields[-1:]:
        place = Place(prefix + (member.name or ""), base + member.bit_offset, member.bit_size, member)
        if member.is_flexible:
            return place if marker(member.name) is None else None
        if not member.dims:
            inner = prefix if member.name is None else f"{place.path}."
            found = _open_end(member.members, inner, place.bit_offset, member.aggregate == "union")
            if found is not None:
                return found
    return None


def _rest(places: Iterable[Place], chosen: list[Steps]) -> Iterator[Place]:
    """What is left of some fields when the chosen ones are taken out."""
    inside: dict[str | int | range | None, list[Steps]] = {}
    for steps in chosen:
        inside.setdefault(steps[0], []).append(steps[1:])
    for place in places:
        yield from without(place, inside.get(place.field.name, []))


def without(place: Place, chosen: list[Steps]) -> Iterator[Place]:
    """What is left of one field, when `chosen`, paths inside it, are taken out."""
    if not chosen:
        yield place
    elif all(chosen):
        member = place.field
        if member.dims:
            yield from _other_elements(place, chosen)
        else:
            yield from _rest(named(*_scope(place)), chosen)


def _other_elements(array: Place, chosen: list[Steps]) -> Iterator[Place]:
    """Elements without chosen parts as runs, and what is left of the others; no index means the first."""
    of: dict[int, list[Steps]] = {}
    for steps in chosen:
        first = steps[0]
        some, inner = (range(1), steps) if isinstance(first, str) else (indices(first), steps[1:])
        for index in some:
            of.setdefault(index, []).append(inner)
    position = 0
    for index in [*sorted(of), array.field.dims[0] or 0]:
        if index > position:
            yield _run(array, position, index)
        element = _element(array, (index,))
        if element is not None:
            yield from without(element, of[index])
        position = index + 1


def _run(array: Place, first: int, stop: int) -> Place:
    """Elements [first, stop) of an array as one field."""
    size = (array.bit_size or 0) // (array.field.dims[0] or 1)
    spelled = f"{array.path}[{first}]" if stop == first + 1 else f"{array.path}[{first}..{stop - 1}]"
    start = array.bit_offset + first * size
    return replace(array, path=spelled, bit_offset=start, bit_size=size * (stop - first))


def _element(place: Place, indices: tuple[int, ...]) -> Place | None:
    """The element of an array; None when the index is outside or there are too many indices."""
    dims = place.field.dims
    if len(indices) > len(dims) or place.bit_size is None:
        return None
    size = place.bit_size
    offset = place.bit_offset
    for index, count in zip(indices, dims, strict=False):
        if not count or index >= count:
            return None
        size //= count
        offset += index * size
    spelled = place.path + "".join(f"[{index}]" for index in indices)
    member = place.field
    rest = Field(
        member.name, member.type, member.bit_offset, size, False, member.aggregate, dims[len(indices) :],
        member.members, member.align, member.source,
    )  # fmt: skip
    return Place(spelled, offset, size, rest)


def _named_element(place: Place, indices: tuple[int, ...]) -> Place | None:
    """Return the element that indices name; None also where dimensions that are not stated decide which."""
    if not place.field.is_flattened:
        return _element(place, indices)
    total = prod(count or 0 for count in place.field.dims)
    if not total or place.bit_size is None or len(indices) > _MOST_INDICES:
        return None
    found = _only(_elements(tuple(count or 0 for count in place.field.dims), indices))
    if found is None:
        return None
    first, count = found
    bits = place.bit_size // total
    member = replace(place.field, bit_size=count * bits, dims=(count,) if count > 1 else ())
    spelled = place.path + "".join(f"[{index}]" for index in indices)
    return Place(spelled, place.bit_offset + first * bits, count * bits, member)


def _only(found: Iterator[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the one value that all have; None for none and for several."""
    first = next(found, None)
    return first if all(other == first for other in found) else None


def _elements(dims: tuple[int, ...], indices: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield the first element and the number of elements for each meaning of indices.

    Each dimension can be the product of several.
    """
    if not indices:
        yield 0, prod(dims)
        return
    index, *others = indices
    for outer in _divisors(dims[0]) if dims else ():
        if outer > index:
            rest = (dims[0] // outer, *dims[1:]) if outer < dims[0] else dims[1:]
            for first, count in _elements(rest, tuple(others)):
                yield index * prod(rest) + first, count


def _divisors(number: int) -> Iterator[int]:
    """Yield the numbers that divide another, which is below 2^32."""
    for small in range(1, isqrt(number) + 1):
        if number % small == 0:
            yield small
            if small * small != number:
                yield number // small


_Gaps = tuple[list[tuple[int, int]], int]
"""From where to where there is none of some members, in bits, and where the last of them ends."""


def _gaps(members: Iterable[Place | Field], bit_size: int) -> _Gaps:
    """A member of unknown size may take all behind it, and no gap is claimed there."""
    between, reached = [], 0
    for member in sorted(members, key=attrgetter("bit_offset")):
        start, size = member.bit_offset, member.bit_size
        if start > reached:
            between.append((reached, start))
        end = max(start, bit_size) if size is None else start + size
        if end > reached:
            reached = end
    return between, reached


def _split(start: int, end: int) -> Iterator[Hole]:
    """A gap as the rest of a byte, whole bytes, and the beginning of a byte."""
    first, last = min(end, -(-start // 8) * 8), max(start, end // 8 * 8)
    if first > last:
        yield Hole(start, end - start)
        return
    for low, high in ((start, first), (first, last), (last, end)):
        if high > low:
            yield Hole(low, high - low)
