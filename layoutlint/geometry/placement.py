"""Positions of objects on cache lines, and the lines that their bytes touch (docs/concepts.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import gcd

from layoutlint.geometry.allocators import AllocationRequest, blocks
from layoutlint.geometry.containers import Container
from layoutlint.geometry.layout import Alignment, Layout, Place
from layoutlint.model.aligner import LINUX, Aligner
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import CacheSlab, Storage
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target
from layoutlint.phrases import part_of, quantity

_FEW = 3
"""Maximum number of containers named in a reason: there can be hundreds."""


ELEMENT, ASSUMED = "element", "assumed element"
"""Items of a row: elements of an array, or elements of an assumed array."""


class ObjectRow(Record, frozen=True):
    """Objects of a struct in a row."""

    item: str
    """ELEMENT, ASSUMED, or the `item` of `allocators.Blocks`."""
    step: int
    """Bytes from one to the next."""
    bases: tuple[int, ...]
    """The bases, modulo the line size, of objects with another object after them."""


class Placements(Record, frozen=True):
    """The bases, modulo the line size, at which an object can start, and the reason."""

    line_size: int
    """Bytes in a cache line."""
    bases: tuple[int, ...]
    why: str
    parts: tuple[Placements, ...] = ()
    """The placements at each place, if the object can be at several."""
    rows: tuple[ObjectRow, ...] = ()
    """The rows of objects of the struct that this object can be in, as far as they are known."""
    in_pairs: bool = False
    """Whether `line_size` is that of an aligned pair of the target's lines."""
    source_aligner: Aligner = LINUX
    """What aligns declarations in the source."""
    caches: tuple[CacheSlab, ...] = ()
    """The caches of a kernel that have the objects, or the containers around them; empty if not known."""
    weights: tuple[int, ...] = ()
    """How many objects were seen at each base; empty if none was."""
    container: str = ""
    """The container and the member that is the object, if the object is embedded in one: `inode.i_data`."""

    @property
    def unit(self) -> str:
        """The unit that two fields share, as messages print it."""
        return "pair of lines" if self.in_pairs else "line"

    @property
    def aligner(self) -> str:
        """The words that align a member to a line, or to a pair of lines, as code."""
        return f"`{self.source_aligner.of_member(self.line_size, self._size_of_macro)}`"

    @property
    def type_aligner(self) -> str:
        """The words that align a type to a line, or to a pair of lines, as code."""
        return f"`{self.source_aligner.of_declarator(self.line_size, self._size_of_macro)}`"

    @property
    def _size_of_macro(self) -> int:
        """The bytes to which the macro of the source aligns: a line."""
        return 0 if self.in_pairs else self.line_size

    def basis(self, violating: tuple[int, ...], failing: Sequence[Placements] | None = None) -> str:
        """Return the reason for the placements; with several places, also in how many a rule fails.

        `violating` are the bases at which the rule fails. `failing` are the places, if they do not follow
        from the bases.
        """
        if not self.parts:
            return self.why
        if failing is None:
            failing = [part for part in self.parts if not set(part.bases).isdisjoint(violating)]
        whys = [part.why for part in failing or self.parts]
        more = len(whys) - _FEW
        first = "; ".join(whys[:_FEW]) + (f"; and {more:,} more" if more > 0 else "")
        return f"fails in {part_of(len(failing), len(self.parts), 'place')}: {first}" if failing else first

    def violating_bases(self, violates: Callable[[int], bool]) -> tuple[int, ...]:
        """Return the bases at which `violates(base)` holds."""
        return tuple(base for base in self.bases if violates(base))

    def bases_in_any(self, base_sets: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
        """Return the bases that are in any of the tuples, in order."""
        return self.violating_bases({base for bases in base_sets for base in bases}.__contains__)


def pair_size(line_size: int | None, target: Target) -> int:
    """Return the bytes of an aligned pair of lines. `line_size` overrides the target's.

    A line size above the target's own (`--line-size 128` on x86) is taken as that of a pair.
    """
    line = line_size or target.line_size
    return max(line, 2 * min(line, target.line_size))


def placements(
    layout: Layout,
    line_size: int | None = None,
    min_align: int | None = None,
    storage: Storage | None = None,
    align: Alignment | None = None,
) -> Placements:
    """Return the placements of a struct: multiples of its alignment, or of the allocator's if that is larger.

    `line_size` and `min_align`, in bytes, override the target's. `storage` is the `placement` of the rule
    file, except `embedded` (see `embedded_placements`). `align` overrides the layout's alignment. Raises
    ValueError unless sizes are powers of two.
    """
    target = layout.struct.target
    line = target.line_size if line_size is None else line_size
    smallest = target.min_align if min_align is None else min_align
    for value in (line, smallest):
        if value < 1 or value & (value - 1):
            raise ValueError(f"{value} is not a power of two")
    align = align or layout.align
    if storage is not None and storage.seen:
        return _seen_placements(storage, line)
    if storage is not None:
        return _stored_placements(storage, allocation_request(layout, min_align, align), line)
    step = max(align.value, smallest)
    if step > align.value:
        why = f"objects are aligned to {smallest}, the smallest that {target.name} allocates"
    else:
        why = f"aligned to {align.value} ({align.basis})"
    return Placements(line, _multiples(gcd(step, line), line), why, rows=_assumed_rows(layout, step, line))


def _assumed_rows(layout: Layout, step: int, line: int) -> tuple[ObjectRow, ...]:
    """Return the row of an assumed array of objects at multiples of `step`; none with a flexible array."""
    if layout.open_end is not None or not layout.size:
        return ()
    return (ObjectRow(ASSUMED, layout.size, _multiples(gcd(step, layout.size, line), line)),)


@lru_cache(maxsize=64)  # with lines of 1 MiB they take longer than all else of a struct
def _multiples(step: int, line: int) -> tuple[int, ...]:
    """Return the multiples of a step, modulo the line size, of which it is a divisor."""
    return tuple(range(0, line, step))


def allocation_request(
    layout: Layout, min_align: int | None = None, align: Alignment | None = None
) -> AllocationRequest:
    """Return the allocation request for a struct."""
    is_open = layout.open_end is not None
    value = (align or layout.align).value
    return AllocationRequest(layout.size, value, layout.struct.target, is_open, min_align)


def _stored_placements(storage: Storage, request: AllocationRequest, line: int) -> Placements:
    """Return the placements of objects in allocated memory: one object per block, or an array of them."""
    memory = blocks(storage, request)
    starts = {(memory.first + at) % line for step in memory.steps for at in range(0, line, gcd(step, line))}
    starts.update(*(_starts_in_slab(slab, slab.objects, line) for slab in memory.slabs))
    why, size, count = memory.why, request.size, storage.array
    last = size * ((count or 1) - 1)
    ends = {(start + last) % line for start in starts}
    rows = () if memory.distance is None else _nonempty_row(memory.item, memory.distance - last, ends)
    for slab in memory.slabs:
        ends = {(start + last) % line for start in _starts_in_slab(slab, slab.objects - 1, line)}
        rows += _nonempty_row(memory.item, slab.stride - last, ends) if ends else ()
    if count is not None:
        rows = (*_element_rows(starts, size, count, line), *rows)
        starts = element_starts(starts, size, count, line)
        why += f", {size} bytes from one element of an array to the next"
    return Placements(line, tuple(sorted(starts)), why, rows=rows, caches=storage.caches)


def _seen_placements(storage: Storage, line: int) -> Placements:
    """Return the placements of the objects that were seen, with their numbers."""
    weights: dict[int, int] = {}
    for start, count in storage.seen:
        weights[start % line] = weights.get(start % line, 0) + count
    bases = tuple(sorted(weights))
    why = f"where {quantity(sum(weights.values()), 'object')} of {storage.seen_in} were"
    return Placements(line, bases, why, weights=tuple(weights[base] for base in bases))


def _starts_in_slab(slab: CacheSlab, objects: int, line: int) -> set[int]:
    """Return the starts, modulo the line size, of the first objects of a slab, which starts on a page."""
    return element_starts({slab.first % line}, slab.stride, objects, line) if objects > 0 else set()


def _element_rows(
    starts: set[int], stride: int, count: int | None, line: int, back: int = 0
) -> tuple[ObjectRow, ...]:
    """Return the row of the array elements that have another after them: all but the last.

    `back` is the distance in bytes from the part of the next element to the same part of the element before
    it.
    """
    if count == 1:
        return ()
    return _nonempty_row(ELEMENT, stride - back, element_starts(starts, stride, count and count - 1, line))


def _nonempty_row(item: str, step: int, bases: set[int]) -> tuple[ObjectRow, ...]:
    """Return the row, or none if all objects are at one place because they have no size."""
    return (ObjectRow(item, step, tuple(sorted(bases))),) if step > 0 else ()


def combine_placements(alternatives: Sequence[Placements]) -> Placements:
    """Return the combined placements of an object that can be at any of several places, at least one."""
    bases = sorted({base for each in alternatives for base in each.bases})
    parts = tuple(dict.fromkeys(alternatives))
    rows = tuple(dict.fromkeys(row for part in parts for row in part.rows))
    why = f"in {len(parts)} places of other structs"
    return Placements(alternatives[0].line_size, tuple(bases), why, parts, rows, alternatives[0].in_pairs)


def add_places(usual: Placements, places: Sequence[Placements]) -> Placements:
    """Return placements with those at other places, each named; the rows are those of the usual ones."""
    others = tuple(dict.fromkeys(place for place in places if not set(place.bases) <= set(usual.bases)))
    if not others:
        return usual
    bases = {base for part in (usual, *others) for base in part.bases}
    return replace(usual, bases=tuple(sorted(bases)), parts=(replace(usual, rows=()), *others))


def shown_placements(container: Container, place: str, outer: Placements) -> Placements | None:
    """Return the placements at one place of a container, given those of the container; None if unknown.

    `place` names it.
    """
    starts = embedded_starts(container, outer)
    return None if starts is None else Placements(outer.line_size, tuple(sorted(starts)), place)


def variable_placements(variable: Struct, line: int) -> Placements:
    """Return the placements of data in memory: at its address, or at all multiples of its alignment."""
    if variable.address is not None:
        return Placements(line, (variable.address % line,), "")
    return Placements(line, _multiples(gcd(variable.align or 1, line), line), "")


def embedded_placements(
    container: Container,
    line_size: int | None = None,
    min_align: int | None = None,
    storage: Storage | None = None,
    align: Alignment | None = None,
) -> Placements | None:
    """Return the placements of an embedded struct: those of its container, moved by its offset and array
    elements.

    None if the size of the container or of an element is unknown. The other parameters are about the
    container, as for `placements`, with the same ValueError.
    """
    if container.struct.bit_size is None:
        return None
    outer = placements(Layout(container.struct), line_size, min_align, storage, align)
    line = outer.line_size
    starts = embedded_starts(container, outer)
    if starts is None:
        return None
    why = f"at {container.offset} of {container.struct.name}, which is {outer.why}"
    rows = tuple(_embedded_rows(container, outer))
    name = f"{container.struct.name}.{container.written}".rstrip(".")
    bases = tuple(sorted(starts))
    return Placements(line, bases, why, rows=rows, caches=outer.caches, container=name)


def embedded_starts(container: Container, outer: Placements) -> set[int] | None:
    """Return the starts of an embedded struct on a line, given the placements of its container.

    None if the size of an array element is unknown.
    """
    starts = {(base + container.offset) % outer.line_size for base in outer.bases}
    for array in container.arrays:
        if array.bit_stride is None:
            return None
        starts = element_starts(starts, array.bit_stride // 8, array.count, outer.line_size)
    return starts


def _embedded_rows(container: Container, outer: Placements) -> Iterator[ObjectRow]:
    """Yield the rows of an embedded struct: next elements of each array, then the next container after the
    last element.
    """
    arrays = [(array.count, (array.bit_stride or 0) // 8) for array in container.arrays]
    line, back = outer.line_size, 0
    for at in reversed(range(len(arrays))):
        count, stride = arrays[at]
        starts = {(base + container.offset + back) % line for base in outer.bases}
        for number, step in arrays[:at]:
            starts = element_starts(starts, step, number, line)
        yield from _element_rows(starts, stride, count, line, back)
        if not count:  # the last element is unknown
            return
        back += (count - 1) * stride
    for row in outer.rows:
        if row.item != ASSUMED:
            starts = {(base + container.offset + back) % line for base in row.bases}
            yield from _nonempty_row(row.item, row.step - back, starts)


def element_starts(starts: set[int], stride: int, count: int | None, line: int) -> set[int]:
    """Return the starts of array elements, modulo the line size. The first element is at one of `starts`."""
    distinct = line // gcd(stride, line)
    total, covered = min(count or distinct, distinct), 1
    while covered < total:
        step = min(covered, total - covered) * stride
        starts = starts | {(start + step) % line for start in starts}
        covered += min(covered, total - covered)
    return starts


def touched_lines(base: int, start: int, end: int, line_size: int) -> range:
    """Return the lines that bytes [start, end) of an object at `base` touch; empty for an empty range."""
    if end <= start:
        return range(0)
    return range((base + start) // line_size, (base + end - 1) // line_size + 1)


def field_lines(place: Place, base: int, line_size: int) -> range:
    """Return the lines that a field of an object at `base` touches."""
    return touched_lines(base, place.offset, place.end, line_size)


def share_line(a: Place, b: Place, base: int, line_size: int) -> bool:
    """Return whether two fields of an object at `base` touch a common line; empty fields share nothing."""
    first, second = field_lines(a, base, line_size), field_lines(b, base, line_size)
    return bool(first) and bool(second) and _overlap(first, second)


def _overlap(first: range, second: range) -> bool:
    return first.start < second.stop and second.start < first.stop


def bases_shared_with_next(a: Place, b: Place, row: ObjectRow, line_size: int) -> tuple[int, ...]:
    """Return the bases of a row at which a field shares a line with a field of the next object."""
    if a.is_empty or b.is_empty or row.step + b.offset - a.end >= line_size:
        return ()
    start, end = row.step + b.offset, row.step + b.end
    return tuple(
        base
        for base in row.bases
        if _overlap(field_lines(a, base, line_size), touched_lines(base, start, end, line_size))
    )


def count_lines(places: Iterable[Place], base: int, line_size: int) -> int:
    """Return the number of lines that some fields of an object at `base` touch, each counted once."""
    count, reach = 0, -1
    for touched in sorted((field_lines(place, base, line_size) for place in places), key=lambda r: r.start):
        count += max(0, touched.stop - max(touched.start, reach))
        reach = max(reach, touched.stop)
    return count


def shared_bases(a: Place, b: Place, placements: Placements) -> tuple[int, ...]:
    """Return the bases at which two fields touch a common line."""
    if max(a.offset - b.end, b.offset - a.end) >= placements.line_size - 1:
        return ()  # at no base are the last byte of one and the first byte of the other on one line
    return placements.violating_bases(lambda base: share_line(a, b, base, placements.line_size))


def first_clear_offset(end: int, placements: Placements) -> int:
    """Return the smallest offset from which on nothing shares a line with the bytes before `end`, at any
    base.
    """
    size = placements.line_size
    return max(((base + end - 1) // size + 1) * size - base for base in placements.bases)


def fitting_alignment(start: int, end: int, placements: Placements) -> int | None:
    """Return the smallest alignment in bytes that keeps bytes [start, end) on one line.

    None if they cross a line even in an object that starts on one.
    """
    align = 1
    while align <= placements.line_size:
        if start // align == (end - 1) // align:
            return align
        align *= 2
    return None
