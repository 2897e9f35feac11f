"""The geometry of a Struct: places, holes, alignment. Offsets are in bits inside, in bytes outside."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import accumulate
from math import isqrt, prod
from operator import attrgetter

from layoutlint.geometry.group_marks import parse_marker
from layoutlint.model import possible_alignments
from layoutlint.model.paths import Steps, indices, is_pattern, steps_of
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct, Unstated

_MOST_INDICES = 4
"""Maximum number of indices after one name that are tried if dimensions are not stated."""
_STEP = re.compile(r"([^.\[\]]+)((?:\[\d{1,19}\])*)")
_TELLING_GAP = 16
"""A gap of at least this many bytes suggests an alignment, but proves none: Linux's old_timex32 ends in
eleven unnamed bit-fields of 32 bits, which no debug information contains."""


class Place(Record, frozen=True, gc=False):
    """A field and its position, from the start of the outermost struct."""

    path: str
    """Dotted from the outermost struct; empty for an anonymous member."""
    bit_offset: int
    bit_size: int | None
    field: Field
    is_marker: bool = False
    """Whether it is an array without length before other members or at the end of a group, so without
    content."""

    def __hash__(self) -> int:
        return hash((self.path, self.bit_offset))  # the field can contain a thousand others

    @property
    def offset(self) -> int:
        """The first byte that the field touches."""
        return self.bit_offset // 8

    @property
    def end(self) -> int:
        """One past the last byte touched; a flexible array counts with its first byte only.

        Raises ValueError if the size is unknown.
        """
        if self.bit_size is None:
            raise ValueError(f"the size of {self.path!r} is not known")
        if self.is_flexible:
            return self.offset + 1
        return (self.bit_offset + self.bit_size + 7) // 8

    @property
    def size(self) -> int | None:
        """Bytes touched; None if unknown, 0 for a flexible array."""
        start, size = self.bit_offset, self.bit_size
        if size is None or self.is_flexible:
            return size
        return (start + size + 7) // 8 - start // 8

    @property
    def is_flexible(self) -> bool:
        """Whether this is an array that extends beyond its struct (`x[]`, or `x[0]` at its end)."""
        return self.field.is_flexible and not self.is_marker

    @property
    def element_bits(self) -> int | None:
        """The bits of one element of an array (of an array of arrays, the innermost); None if unknown."""
        count = prod(length or 0 for length in self.field.dims)
        if not count:
            return self.field.flexible_bits
        return None if self.bit_size is None else self.bit_size // count

    @property
    def is_empty(self) -> bool:
        """Whether the field occupies no byte (an empty struct); a flexible array is not empty."""
        return self.bit_size == 0 and not self.is_flexible

    @property
    def extent(self) -> str:
        """The bytes as reports print them: `16..19`, or `136 and beyond` for a flexible array."""
        if self.bit_size is None:
            return f"{self.offset}..??"
        if self.is_flexible:
            return f"{self.offset} and beyond"
        if self.is_empty:
            return f"{self.offset}, empty"
        if self.field.is_bitfield:
            return f"bits {self.bit_offset}..{self.bit_offset + self.bit_size - 1}"
        return f"{self.offset}..{self.end - 1}"


class Hole(Record, frozen=True):
    """Bits between two fields that no field covers."""

    bit_offset: int
    bit_size: int

    @property
    def is_whole(self) -> bool:
        """Whether it starts and ends on byte boundaries; if not, it is next to bit-fields."""
        return self.bit_offset % 8 == 0 and self.bit_size % 8 == 0

    @property
    def offset(self) -> int:
        """The first byte of the gap. Raises ValueError inside a byte."""
        if not self.is_whole:
            raise ValueError(f"the hole at bit {self.bit_offset} starts or ends inside a byte")
        return self.bit_offset // 8

    @property
    def size(self) -> int:
        """The length of the gap in bytes. Raises ValueError if it starts or ends inside a byte."""
        if not self.is_whole:
            raise ValueError(f"the hole at bit {self.bit_offset} has no length in bytes")
        return self.bit_size // 8


class Alignment(Record, frozen=True):
    """The alignment of a struct in bytes, and its source."""

    value: int
    basis: str


class Layout(Record, frozen=True, dict=True):
    """The geometry of one complete struct. Raises ValueError for an incomplete one."""

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
        """The fields that C addresses with one name, in declared order; members of anonymous structs
        included.
        """
        return tuple(named_members(self.struct.fields, "", 0, self.struct.aggregate == "union"))

    def walk_fields(self, depth: int | None = None) -> Iterator[Place]:
        """Return every named field, outer ones first, with the first element of arrays.

        `depth` limits the number of dots in a path.
        """
        return _walk((self.struct.fields, "", 0, self.struct.aggregate == "union"), depth)

    def find(self, path: str) -> Place | None:
        """Return the field at a dotted path (`i_mmap_rwsem.owner`, `ring[2].head`); None for none."""
        return None if is_pattern(path) else next(iter(self.match(path)), None)

    def match(self, pattern: str) -> tuple[Place, ...]:
        """Return the fields that match a path. Each step can be an fnmatch pattern (`ring[2].*`)."""
        places: tuple[Place, ...] = ()
        scopes: list[_Scope] = [(self.struct.fields, "", 0, self.struct.aggregate == "union")]
        for step in pattern.split("."):
            places = tuple(place for scope in scopes for place in self._match_step(scope, step))
            scopes = [_scope_of(place) for place in places]
        return places

    def _match_step(self, scope: _Scope, step: str) -> Iterator[Place]:
        """Yield the members that match one step of a path, or the named element."""
        if is_pattern(step):
            yield from (place for place in named_members(*scope) if fnmatchcase(place.field.name or "", step))
            return
        parsed = _STEP.fullmatch(step)
        place = self._members_by_name(scope).get(parsed[1]) if parsed else None
        if parsed and place:
            indices = tuple(map(int, re.findall(r"\d+", parsed[2])))
            element = _find_element(place, indices) if indices else place
            if element is not None:
                yield element

    @cached_property
    def _members_by_scope(self) -> dict[tuple[str, int], dict[str, Place]]:
        """The members of visited structs by name, by path and offset of the struct."""
        return {}

    def _members_by_name(self, scope: _Scope) -> dict[str, Place]:
        """Return members by name, the first of each name: a rule can name thousands."""
        key = scope[1:3]
        if key not in self._members_by_scope:
            members: dict[str, Place] = {}
            for place in named_members(*scope):
                members.setdefault(place.field.name or "", place)
            self._members_by_scope[key] = members
        return self._members_by_scope[key]

    def remaining_fields(self, chosen: Iterable[Place]) -> tuple[Place, ...]:
        """Return the fields that are neither chosen nor part of a chosen one.

        Of a field with a chosen part, return its other parts; of an array, its other elements.
        """
        return tuple(_remaining_fields(self.places, [steps_of(place.path) for place in chosen]))

    def remaining_fields_near(
        self, chosen: Iterable[Place], centers: Iterable[Place], distance: int, shift: int = 0
    ) -> tuple[Place, ...]:
        """Return the fields that are not chosen and have bytes within a distance of some fields.

        `distance` and `shift` are in bytes. `shift` moves those fields before the comparison. Fields without
        bytes and fields of unknown size are left out.
        """
        places, ends = self._sorted_places
        near: dict[int, Place] = {}
        for place in centers:
            start, stop = place.offset + shift - distance, place.end + shift + distance
            for rank, other in places[bisect_right(ends, start) :]:
                if other.offset >= stop:
                    break
                near[rank] = other
        in_order = [place for _, place in sorted(near.items())]
        return tuple(_remaining_fields(in_order, [steps_of(place.path) for place in chosen]))

    @cached_property
    def is_sized(self) -> bool:
        """Whether the size of every field is known."""
        return all(place.bit_size is not None for place in self.places)

    @cached_property
    def open_end(self) -> Place | None:
        """The flexible array at the end of the object, at any depth; None if sizeof is the object's size."""
        return _find_open_end(self.struct.fields, "", 0, self.struct.aggregate == "union")

    def fields_touching(self, start: int, stop: int) -> Iterator[Place]:
        """Yield the fields that touch some of the bytes [start, stop), without flexible arrays."""
        places, ends = self._sorted_places
        for _, place in places[bisect_right(ends, start) :]:
            if place.offset >= stop:
                break
            if place.end > start and not place.is_flexible:
                yield place

    def innermost_fields(self, byte: int) -> Iterator[Place]:
        """Yield the fields at a byte: the members of embedded structs, and the elements of arrays.

        Where an embedded struct has a hole, the field is that struct.
        """
        scope = self.struct.fields, "", 0, self.struct.aggregate == "union"
        return _innermost_members(scope, byte)

    def objects_at(self, byte: int) -> Iterator[Place]:
        """Yield the fields at a byte that have members, outer ones first; of arrays the element."""
        return _objects_at((self.struct.fields, "", 0, self.struct.aggregate == "union"), byte)

    @cached_property
    def _sorted_places(self) -> tuple[list[tuple[int, Place]], list[int]]:
        """The fields with bytes, sorted by offset, each with its declared number; and the running maximum of
        their ends.
        """
        sized = [(n, place) for n, place in enumerate(self.places) if place.bit_size or place.is_flexible]
        ordered = sorted(sized, key=lambda each: each[1].bit_offset)
        return ordered, list(accumulate((place.end for _, place in ordered), max))

    @property
    def holes(self) -> tuple[Hole, ...]:
        """The gaps between fields, split at byte boundaries, without the padding at the end."""
        return tuple([hole for start, end in self._gaps[0] for hole in split_gap(start, end)])

    @property
    def bit_padding(self) -> int:
        """Bits after the last field."""
        return max(0, self.bit_size - self._gaps[1])

    @cached_property
    def _alignments(self) -> tuple[int, int]:
        """The likeliest alignment, and the mask of all possible ones."""
        return possible_alignments.struct_alignments(self.struct, self.bit_size)

    @cached_property
    def align(self) -> Alignment:
        """The known alignment, or else the natural alignment of the members."""
        value, every = self._alignments
        if value != every:
            return Alignment(value, "what its members need, if nothing is packed")
        if self.struct.align is None:
            basis = "proved by its members" if self.struct.unstated else "natural alignment of its members"
            if self.struct.possible:
                basis = "proved by another input or by its uses"
            return Alignment(value, basis)
        is_declared = self.struct.randomised is None
        return Alignment(value, "stated by the input" if is_declared else "as it is laid out")

    @property
    def alignments(self) -> tuple[int, ...]:
        """Every possible alignment in ascending order: several if the input does not state it."""
        return possible_alignments.values(self._alignments[1])

    def with_alignment(self, align: int) -> Layout:
        """Return the layout of the struct with one of the possible alignments."""
        if align not in self._layouts_by_alignment:
            struct = replace(self.struct, align=align, unstated=Unstated.NOTHING, possible=0)
            self._layouts_by_alignment[align] = Layout(struct)
        return self._layouts_by_alignment[align]

    @cached_property
    def _layouts_by_alignment(self) -> dict[int, Layout]:
        """Layouts by alignment."""
        return {}

    @property
    def suggested_align(self) -> Alignment | None:
        """A larger possible alignment that gaps suggest; None for none."""
        value, every = self._alignments
        if value == every:
            return None
        suggestions = [alignment for alignment in self._suggestions() if alignment.value & every]
        largest = max(suggestions, key=lambda each: each.value, default=self.align)
        return largest if largest.value > value else None

    def _suggestions(self) -> Iterator[Alignment]:
        """Yield alignments that explain a gap: padding is shorter than the alignment that causes it."""
        padding = self.bit_padding // 8
        gaps = [(self.size, padding, f"{padding} bytes of padding at its end")]
        for start, end in self._member_gaps():
            name = next(member.name for member in self.struct.fields if member.bit_offset == end)
            gaps.append((end // 8, (end - start) // 8, f"the hole before `{name or ''}`"))
        for boundary, gap, basis in gaps:
            value = 1 << gap.bit_length()
            if gap >= _TELLING_GAP and boundary % value == 0 and self.size % value == 0:
                yield Alignment(value, f"suggested by {basis}")

    def _member_gaps(self) -> list[tuple[int, int]]:
        """The gaps between members, with each anonymous member as a whole."""
        members = self.struct.fields
        if self.struct.aggregate == "union":
            return []
        is_flat = None not in [member.name for member in members]
        return self._gaps[0] if is_flat else find_gaps(members, self.bit_size)[0]

    @cached_property
    def _gaps(self) -> _Gaps:
        return find_gaps(self.places, self.bit_size)


_MOST_CACHED = 256
"""Maximum number of cached layouts: rules with patterns judge thousands of structs in turn."""
_layout_cache: dict[int, Layout] = {}


def cached_layout(struct: Struct) -> Layout:
    """Return the layout of a struct, cached: thousands of rules can judge one struct."""
    layout = _layout_cache.get(id(struct))  # the cached layout keeps the identity unique
    if layout is None:
        if len(_layout_cache) >= _MOST_CACHED:
            _layout_cache.clear()
        layout = _layout_cache[id(struct)] = Layout(struct)
    return layout


def forget() -> None:
    """Forget the layouts that are kept, and what is kept of their structs."""
    _layout_cache.clear()
    possible_alignments.forget()


def named_members(
    fields: tuple[Field, ...], prefix: str, base: int, is_union: bool, is_last: bool = True
) -> Iterator[Place]:
    """Yield named members, with the members of anonymous ones in their place.

    `base` is their start in bits, `prefix` the beginning of their paths. `is_last` says that nothing is
    declared after them.
    """
    for index, member in enumerate(fields):
        start, last = base + member.bit_offset, is_last and (is_union or index == len(fields) - 1)
        if member.name is None:
            yield from named_members(member.members, prefix, start, member.aggregate == "union", last)
        else:
            is_marker = member.is_flexible and not (last and parse_marker(member.name) is None)
            yield Place(prefix + member.name, start, member.bit_size, member, is_marker)


_Scope = tuple[tuple[Field, ...], str, int, bool]
"""The arguments of `named_members` for the members of a struct."""


def _scope_of(place: Place) -> _Scope:
    member = place.field
    return member.members, f"{place.path}.", place.bit_offset, member.aggregate == "union"


def _walk(scope: _Scope, depth: int | None) -> Iterator[Place]:
    for place in named_members(*scope):
        yield place
        if depth != 0 and place.field.members:
            yield from _walk(_scope_of(place), None if depth is None else depth - 1)


def flexible_end(member: Field) -> Place | None:
    """Return the flexible array at the end of a struct that is a member, with its path in that struct.

    None if there is none. For an array of structs, it is that of an element.
    """
    return _find_open_end(member.members, "", 0, member.aggregate == "union")


def _find_open_end(fields: tuple[Field, ...], prefix: str, base: int, is_union: bool) -> Place | None:
    """Return the flexible array at the end of some members, at any depth; None for none."""
    for member in fields if is_union else fields[-1:]:
        place = Place(prefix + (member.name or ""), base + member.bit_offset, member.bit_size, member)
        if member.is_flexible:
            return place if parse_marker(member.name) is None else None
        if not member.dims:
            inner = prefix if member.name is None else f"{place.path}."
            array = _find_open_end(member.members, inner, place.bit_offset, member.aggregate == "union")
            if array is not None:
                return array
    return None


def _remaining_fields(places: Iterable[Place], chosen: list[Steps]) -> Iterator[Place]:
    """Yield fields without the chosen parts."""
    paths_by_field: dict[str | int | range | None, list[Steps]] = {}
    for steps in chosen:
        paths_by_field.setdefault(steps[0], []).append(steps[1:])
    for place in places:
        yield from remaining_parts(place, paths_by_field.get(place.field.name, []))


def remaining_parts(place: Place, chosen: list[Steps]) -> Iterator[Place]:
    """Yield the parts of a field that are not chosen. `chosen` are paths inside the field."""
    if not chosen:
        yield place
    elif all(chosen):
        member = place.field
        if member.dims:
            yield from _remaining_elements(place, chosen)
        else:
            yield from _remaining_fields(named_members(*_scope_of(place)), chosen)


def _remaining_elements(array: Place, chosen: list[Steps]) -> Iterator[Place]:
    """Yield runs of elements without chosen parts, and the remaining parts of the others.

    A path without an index means the first element.
    """
    paths_by_index: dict[int, list[Steps]] = {}
    for steps in chosen:
        first = steps[0]
        elements, inner = (range(1), steps) if isinstance(first, str) else (indices(first), steps[1:])
        for index in elements:
            paths_by_index.setdefault(index, []).append(inner)
    position = 0
    for index in [*sorted(paths_by_index), array.field.dims[0] or 0]:
        if index > position:
            yield _element_run(array, position, index)
        element = _element_at(array, (index,))
        if element is not None:
            yield from remaining_parts(element, paths_by_index[index])
        position = index + 1


def _element_run(array: Place, first: int, stop: int) -> Place:
    """Return elements [first, stop) of an array as one field."""
    size = (array.bit_size or 0) // (array.field.dims[0] or 1)
    path = f"{array.path}[{first}]" if stop == first + 1 else f"{array.path}[{first}..{stop - 1}]"
    start = array.bit_offset + first * size
    return replace(array, path=path, bit_offset=start, bit_size=size * (stop - first))


def _element_at(place: Place, indices: tuple[int, ...]) -> Place | None:
    """Return an element of an array; None if an index is out of range or there are too many."""
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
    path = place.path + "".join(f"[{index}]" for index in indices)
    member = place.field
    rest = Field(
        member.name, member.type, member.bit_offset, size, False, member.aggregate, dims[len(indices) :],
        member.members, member.align, member.source,
    )  # fmt: skip
    return Place(path, offset, size, rest)


def _innermost_members(scope: _Scope, byte: int) -> Iterator[Place]:
    for place in named_members(*scope):
        if place.bit_size and place.offset <= byte < place.end:
            element = _element_with(place, byte)
            has_members = bool(element.field.members) and not element.field.dims
            inner = tuple(_innermost_members(_scope_of(element), byte)) if has_members else ()
            yield from inner or (element,)


def _objects_at(scope: _Scope, byte: int) -> Iterator[Place]:
    for place in named_members(*scope):
        if place.bit_size and place.offset <= byte < place.end:
            element = _element_with(place, byte)
            if element.field.members and not element.field.dims:
                yield Place(element.path, element.bit_offset, element.bit_size, place.field)
                yield from _objects_at(_scope_of(element), byte)


def _element_with(place: Place, byte: int) -> Place:
    """Return the element of an array at a byte; another field, or an array of unknown shape, as it is."""
    dims, size = place.field.dims, place.bit_size
    if not dims or not size or place.field.is_flattened or not all(dims):
        return place
    indices, rest = [], byte * 8 - place.bit_offset
    for count in dims:
        size //= count or 1
        indices.append(rest // size if size else 0)
        rest %= size or 1
    return _element_at(place, tuple(indices)) or place


def _find_element(place: Place, indices: tuple[int, ...]) -> Place | None:
    """Return the element that indices name; None also if it depends on dimensions that are not stated."""
    if not place.field.is_flattened:
        return _element_at(place, indices)
    total = prod(count or 0 for count in place.field.dims)
    if not total or place.bit_size is None or len(indices) > _MOST_INDICES:
        return None
    element = _sole_value(_possible_elements(tuple(count or 0 for count in place.field.dims), indices))
    if element is None:
        return None
    first, count = element
    bits = place.bit_size // total
    member = replace(place.field, bit_size=count * bits, dims=(count,) if count > 1 else ())
    path = place.path + "".join(f"[{index}]" for index in indices)
    return Place(path, place.bit_offset + first * bits, count * bits, member)


def _sole_value(values: Iterator[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the value if all are equal; None for none or several."""
    first = next(values, None)
    return first if all(other == first for other in values) else None


def _possible_elements(dims: tuple[int, ...], indices: tuple[int, ...]) -> Iterator[tuple[int, int]]:
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
            for first, count in _possible_elements(rest, tuple(others)):
                yield index * prod(rest) + first, count


def _divisors(number: int) -> Iterator[int]:
    """Yield the divisors of a number below 2^32."""
    for small in range(1, isqrt(number) + 1):
        if number % small == 0:
            yield small
            if small * small != number:
                yield number // small


_Gaps = tuple[list[tuple[int, int]], int]
"""Start and end of each gap in bits, and the end of the last member."""


def find_gaps(members: Iterable[Place | Field | Hole], bit_size: int) -> _Gaps:
    """Find the gaps between members. After a member of unknown size, no gap is assumed."""
    between, reached = [], 0
    for member in sorted(members, key=attrgetter("bit_offset")):
        start, size = member.bit_offset, member.bit_size
        if start > reached:
            between.append((reached, start))
        end = max(start, bit_size) if size is None else start + size
        if end > reached:
            reached = end
    return between, reached


def split_gap(start: int, end: int) -> Iterator[Hole]:
    """Split a gap into the rest of a byte, whole bytes, and the beginning of a byte."""
    first, last = min(end, -(-start // 8) * 8), max(start, end // 8 * 8)
    if first > last:
        yield Hole(start, end - start)
        return
    for low, high in ((start, first), (first, last), (last, end)):
        if high > low:
            yield Hole(low, high - low)
