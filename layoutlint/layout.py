"""Pure geometry: what follows from a Struct. Offsets in bits inside, in bytes at the edge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from operator import attrgetter

from layoutlint.markers import marker
from layoutlint.model import Field, Struct

_GLOB = re.compile(r"^@|[*?]|\[(?!\d+\])")
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
            places = tuple(place for scope in scopes for place in _step(scope, step))
            scopes = [_scope(place) for place in places]
        return places

    def others(self, chosen: Iterable[Place]) -> tuple[Place, ...]:
        """The fields that are neither chosen nor part of a chosen one.

        A field of which only a part is chosen gives its other parts, and an array its other elements.
        """
        return tuple(_rest(self.places, [steps_of(place.path) for place in chosen]))

    @cached_property
    def open_end(self) -> Place | None:
        """The flexible array behind which the object goes on, at any depth; None when sizeof is its size."""
        return _open_end(self.struct.fields, "", 0, self.struct.aggregate == "union")

    @property
    def holes(self) -> tuple[Hole, ...]:
        """What lies between fields and is covered by none, split at byte boundaries; without the tail."""
        return tuple([hole for start, end in self._gaps[0] for hole in _split(start, end)])

    @property
    def bit_padding(self) -> int:
        """Bits behind the last field."""
        return max(0, self.bit_size - self._gaps[1])

    @cached_property
    def align(self) -> Alignment:
        """The stated alignment, else the one that follows from the members and the size."""
        if self.struct.align is not None:
            is_declared = self.struct.randomised is None
            return Alignment(self.struct.align, "stated by the input" if is_declared else "as it is laid out")
        value = max(map(_natural, self.struct.fields), default=1)
        while self.size and self.size % value:
            value //= 2
        return Alignment(value, "natural alignment of its members")

    @property
    def suggested_align(self) -> Alignment | None:
        """A larger alignment that gaps suggest where the input states none; None when nothing does."""
        if self.struct.align is not None:
            return None
        largest = max(self._suggestions(), key=lambda a: a.value, default=self.align)
        return largest if largest.value > self.align.value else None

    def _suggestions(self) -> Iterator[Alignment]:
        """Alignments that would explain a gap: padding is shorter than the alignment that caused it."""
        padding = self.bit_padding // 8
        gaps = [(self.size, padding, f"{padding} bytes of padding at its end")]
        for start, end in self._between_members():
            behind = next(member for member in self.struct.fields if member.bit_offset == end)
            gaps.append((end // 8, (end - start) // 8, f"the hole before `{behind.name or ''}`"))
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


def is_pattern(path: str) -> bool:
    """Whether a field path is an fnmatch pattern or an `@access`; `ring[2]` is an element, and neither."""
    return _GLOB.search(path) is not None


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


def _step(scope: _Scope, step: str) -> Iterator[Place]:
    """The members that one step of a path means, or the element of one."""
    if is_pattern(step):
        yield from (place for place in named(*scope) if fnmatchcase(place.field.name or "", step))
        return
    parsed = _STEP.fullmatch(step)
    place = parsed and next((place for place in named(*scope) if place.field.name == parsed[1]), None)
    if parsed and place:
        element = _element(place, tuple(map(int, re.findall(r"\d+", parsed[2])))) if parsed[2] else place
        if element is not None:
            yield element


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


Steps = tuple[str | int, ...]
"""A path as names and array indices."""


def steps_of(path: str) -> Steps:
    """A path taken apart."""
    return tuple(int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", path))


def _rest(places: Iterable[Place], chosen: list[Steps]) -> Iterator[Place]:
    """What is left of some fields when the chosen ones are taken out."""
    for place in places:
        yield from without(place, [steps[1:] for steps in chosen if steps[0] == place.field.name])


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
        index, inner = (first, steps[1:]) if isinstance(first, int) else (0, steps)
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


def _natural(member: Field) -> int:
    """The alignment of a member that its offset bears out; 1 for a packed one and for bit-fields."""
    align = member.align
    if not align or member.is_bitfield:
        return 1
    return align if member.bit_offset // 8 % align == 0 else 1


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
