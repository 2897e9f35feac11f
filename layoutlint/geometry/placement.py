"""Where an object can sit on cache lines, and which of its bytes then share one (docs/placements.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from layoutlint.geometry.allocators import Wanting, blocks
from layoutlint.geometry.containers import Container
from layoutlint.geometry.layout import Alignment, Layout, Place
from layoutlint.model.storage import Storage
from layoutlint.model.target import Target

_FEW = 3
"""Containers are hundreds; the reason for some placements names the first of them."""


ELEMENT, ASSUMED = "element", "assumed element"
"""What stands in a row: an element of an array, or what would be one if there were an array."""


@dataclass(frozen=True, slots=True)
class Row:
    """Objects of a struct that stand one behind the other."""

    what: str
    """ELEMENT, ASSUMED, or what `allocators.Blocks` says."""
    step: int
    """Bytes from one to the next."""
    bases: tuple[int, ...]
    """Those, modulo the line size, at which an object can stand that has another behind it."""


@dataclass(frozen=True, slots=True)
class Placements:
    """The bases, modulo the line size, at which an object can start, and why no others."""

    line_size: int
    """Bytes in a cache line."""
    bases: tuple[int, ...]
    why: str
    parts: tuple[Placements, ...] = ()
    """Those of each place, where an object can be in several."""
    rows: tuple[Row, ...] = ()
    """Where other objects of the struct stand behind and before it, as far as that is known."""
    in_pairs: bool = False
    """Whether each line is an aligned pair of lines of the target."""

    @property
    def unit(self) -> str:
        """What two fields share at a base, as messages say it."""
        return "pair of lines" if self.in_pairs else "line"

    def basis(self, violating: tuple[int, ...], failing: Sequence[Placements] | None = None) -> str:
        """Why there are no others; of several places, in how many a rule fails that some bases violate.

        `failing` are the places in which it does, where the bases alone do not tell.
        """
        if not self.parts:
            return self.why
        if failing is None:
            failing = [part for part in self.parts if not set(part.bases).isdisjoint(violating)]
        whys = [part.why for part in failing or self.parts]
        more = len(whys) - _FEW
        first = "; ".join(whys[:_FEW]) + (f"; and {more:,} more" if more > 0 else "")
        return f"fails in {len(failing)} of {len(self.parts)} places: {first}" if failing else first

    def violating(self, violates: Callable[[int], bool]) -> tuple[int, ...]:
        """The bases at which `violates(base)` holds."""
        return tuple(base for base in self.bases if violates(base))

    def in_any(self, found: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
        """The bases that some of the findings have, in order."""
        return self.violating({base for bases in found for base in bases}.__contains__)


def pair_size(line_size: int | None, target: Target) -> int:
    """Return the bytes of an aligned pair of lines; `line_size` overrides the target's.

    A line size above the target's own (`--line-size 128` on x86) is taken to be that of a pair already.
    """
    if line_size is None or line_size <= target.line_size:
        return 2 * (line_size or target.line_size)
    return max(line_size, 2 * target.line_size)


def of(
    layout: Layout,
    line_size: int | None = None,
    min_align: int | None = None,
    storage: Storage | None = None,
    align: Alignment | None = None,
) -> Placements:
    """The placements of a struct: multiples of its alignment, or of the allocator's if that is larger.

    `line_size` and `min_align`, in bytes, override the target's. `storage` is what a rule file says of where
    objects start, not `embedded` (see `embedded`); `align` takes the place of the layout's. Raises ValueError
    unless sizes are powers of two.
    """
    target = layout.struct.target
    line = target.line_size if line_size is None else line_size
    smallest = target.min_align if min_align is None else min_align
    for value in (line, smallest):
        if value < 1 or value & (value - 1):
            raise ValueError(f"{value} is not a power of two")
    align = align or layout.align
    if storage is not None:
        return _stored(storage, wanting(layout, min_align, align), line)
    step = max(align.value, smallest)
    if step > align.value:
        why = f"objects are aligned to {smallest}, the smallest that {target.name} allocates"
    else:
        why = f"aligned to {align.value} ({align.basis})"
    bases = range(0, line, gcd(step, line))
    return Placements(line, tuple(bases), why, rows=_assumed(layout, set(bases), line))


def _assumed(layout: Layout, starts: set[int], line: int) -> tuple[Row, ...]:
    """The row that elements would be in; none for what ends with a flexible array, and is no element."""
    if layout.open_end is not None:
        return ()
    return _row(ASSUMED, layout.size, repeated(starts, layout.size, None, line))


def wanting(layout: Layout, min_align: int | None = None, align: Alignment | None = None) -> Wanting:
    """What a struct asks of an allocator."""
    is_open = layout.open_end is not None
    value = (align or layout.align).value
    return Wanting(layout.size, value, layout.struct.target, is_open, min_align)


def _stored(storage: Storage, wanted: Wanting, line: int) -> Placements:
    """Where objects start in the memory that holds them: one in a block, or an array of them."""
    found = blocks(storage, wanted)
    starts = {(found.first + at) % line for step in found.steps for at in range(0, line, gcd(step, line))}
    why, size, count = found.why, wanted.size, storage.array
    last = size * ((count or 1) - 1)
    ends = {(start + last) % line for start in starts}
    rows = () if found.distance is None else _row(found.row, found.distance - last, ends)
    if count is not None:
        rows = (*_elements(starts, size, count, line), *rows)
        starts = repeated(starts, size, count, line)
        why += f", {size} bytes from one element of an array to the next"
    return Placements(line, tuple(sorted(starts)), why, rows=rows)


def _elements(starts: set[int], stride: int, count: int | None, line: int, back: int = 0) -> tuple[Row, ...]:
    """The elements of an array that have another behind them: all but the last, of any number all.

    `back` is how far what counts in an element stands behind what counts in the next.
    """
    if count == 1:
        return ()
    return _row(ELEMENT, stride - back, repeated(starts, stride, count and count - 1, line))


def _row(what: str, step: int, bases: set[int]) -> tuple[Row, ...]:
    """The row, unless objects have no size and all stand at one place."""
    return (Row(what, step, tuple(sorted(bases))),) if step > 0 else ()


def anywhere(found: Sequence[Placements]) -> Placements:
    """The placements of what can be in any of several places, of which there is at least one."""
    bases = sorted({base for each in found for base in each.bases})
    parts = tuple(dict.fromkeys(found))
    rows = tuple(dict.fromkeys(row for part in parts for row in part.rows))
    why = f"in {len(parts)} places of other structs"
    return Placements(found[0].line_size, tuple(bases), why, parts, rows, found[0].in_pairs)


def inside(
    container: Container,
    line_size: int | None = None,
    min_align: int | None = None,
    storage: Storage | None = None,
    align: Alignment | None = None,
) -> Placements | None:
    """The placements of an embedded struct: its container's, moved by its offset and by elements of arrays.

    None when the size of the container, or of an element, is not known. The rest is about the container, as
    `of` takes it, and raises ValueError as that does.
    """
    if container.struct.bit_size is None:
        return None
    outer = of(Layout(container.struct), line_size, min_align, storage, align)
    line = outer.line_size
    starts = starts_inside(container, outer)
    if starts is None:
        return None
    why = f"at {container.offset} of {container.struct.name}, which is {outer.why}"
    return Placements(line, tuple(sorted(starts)), why, rows=tuple(_rows_inside(container, outer)))


def starts_inside(container: Container, outer: Placements) -> set[int] | None:
    """Where on a line an embedded struct can start in a container of some placements.

    None when the size of an element of an array is not known.
    """
    starts = {(base + container.offset) % outer.line_size for base in outer.bases}
    for array in container.arrays:
        if array.bit_stride is None:
            return None
        starts = repeated(starts, array.bit_stride // 8, array.count, outer.line_size)
    return starts


def _rows_inside(container: Container, outer: Placements) -> Iterator[Row]:
    """Of embedded structs: the next element of each array, and the next container behind the last element."""
    arrays = [(array.count, (array.bit_stride or 0) // 8) for array in container.arrays]
    line, back = outer.line_size, 0
    for at in reversed(range(len(arrays))):
        count, stride = arrays[at]
        starts = {(base + container.offset + back) % line for base in outer.bases}
        for number, step in arrays[:at]:
            starts = repeated(starts, step, number, line)
        yield from _elements(starts, stride, count, line, back)
        if not count:  # which element is the last one is not known
            return
        back += (count - 1) * stride
    for row in outer.rows:
        if row.what != ASSUMED:
            starts = {(base + container.offset + back) % line for base in row.bases}
            yield from _row(row.what, row.step - back, starts)


def repeated(starts: set[int], stride: int, count: int | None, line: int) -> set[int]:
    """Where elements of an array start, modulo the line size: the first at `starts`, then twice as many."""
    different = line // gcd(stride, line)
    number, known = min(count or different, different), 1
    while known < number:
        step = min(known, number - known) * stride
        starts = starts | {(start + step) % line for start in starts}
        known += min(known, number - known)
    return starts


def lines(base: int, start: int, end: int, line_size: int) -> range:
    """The lines that bytes [start, end) touch in an object at `base`; empty for an empty range."""
    if end <= start:
        return range(0)
    return range((base + start) // line_size, (base + end - 1) // line_size + 1)


def lines_of(place: Place, base: int, line_size: int) -> range:
    """The lines that a field touches in an object at `base`."""
    return range(0) if place.is_empty else lines(base, place.offset, place.end, line_size)


def share(a: Place, b: Place, base: int, line_size: int) -> bool:
    """Whether two fields touch a common line in an object at `base`; empty fields share nothing."""
    first, second = lines_of(a, base, line_size), lines_of(b, base, line_size)
    return bool(first) and bool(second) and _meet(first, second)


def _meet(first: range, second: range) -> bool:
    return first.start < second.stop and second.start < first.stop


def next_shared(a: Place, b: Place, row: Row, line_size: int) -> tuple[int, ...]:
    """The bases of a row at which a field shares a line with a field of the next object."""
    if a.is_empty or b.is_empty or row.step + b.offset - a.end >= line_size:
        return ()
    start, end = row.step + b.offset, row.step + b.end
    return tuple(
        base for base in row.bases if _meet(lines_of(a, base, line_size), lines(base, start, end, line_size))
    )


def line_count(places: Iterable[Place], base: int, line_size: int) -> int:
    """How many lines some fields touch in an object at `base`, each line counted once."""
    count, reach = 0, -1
    for found in sorted((lines_of(place, base, line_size) for place in places), key=lambda r: r.start):
        count += max(0, found.stop - max(found.start, reach))
        reach = max(reach, found.stop)
    return count


def shared(a: Place, b: Place, placements: Placements) -> tuple[int, ...]:
    """The bases at which two fields touch a common line."""
    if max(a.offset - b.end, b.offset - a.end) >= placements.line_size - 1:
        return ()  # no base brings the last byte of one and the first of the other onto one line
    return placements.violating(lambda base: share(a, b, base, placements.line_size))


def clear_of(end: int, placements: Placements) -> int:
    """The smallest offset from which on nothing shares a line with the bytes before `end`, at any base."""
    size = placements.line_size
    return max(((base + end - 1) // size + 1) * size - base for base in placements.bases)


def fitting_alignment(start: int, end: int, placements: Placements) -> int | None:
    """The smallest alignment of the object that keeps bytes [start, end) on one line, in bytes.

    None when they cross a line even in an object that starts on one.
    """
    align = 1
    while align <= placements.line_size:
        if start // align == (end - 1) // align:
            return align
        align *= 2
    return None
