"""Places the fields of a struct on its cache lines, for pictures.

Fields that overlap, as in unions, are drawn one above the other, in lanes. Lines inside one long field are
folded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from layoutlint.geometry.layout import Layout, Place, named_members
from layoutlint.model.record import Record

MOST_LANES = 4
"""Overlapping fields that are drawn one above the other; the others are only listed."""
_FOLD = 3
"""Lines between the ends of fields that are folded if there are at least as many."""


class Strip(Record, frozen=True):
    """A field, a hole or the padding, from the start of the struct."""

    place: Place | None
    """The field; None for a hole or padding."""
    bit_start: int
    bit_stop: int
    """One past its last bit; a flexible array counts with its first byte."""
    lane: int = 0
    """Its place among overlapping fields, from 0 at the top."""
    lanes: int = 1
    """Number of lanes of the fields that overlap here."""
    is_padding: bool = False
    """Whether it is a gap at the end of the struct."""

    @property
    def is_open(self) -> bool:
        """Whether it is a flexible array, which ends nowhere."""
        return self.place is not None and self.place.is_flexible


class Strips(Record, frozen=True):
    """The rows of a picture of a struct, and the fields that it leaves out."""

    drawn: tuple[Strip, ...]
    """In the order of their offsets."""
    crowded: tuple[Place, ...] = ()
    """Fields that overlap with more fields than there are lanes."""
    unsized: tuple[Place, ...] = ()
    """Fields of unknown size."""


class Piece(Record, frozen=True):
    """The part of a strip on one line; bits from the start of the line."""

    strip: Strip
    bit_start: int
    bit_stop: int
    starts: bool
    """Whether the strip starts here."""
    ends: bool
    """Whether the strip ends here."""


class MapRow(Record, frozen=True):
    """A line with its pieces, or some lines inside the same fields."""

    first: int
    """The number of the line; the line with the byte 0 of an object at base 0 is 0."""
    last: int
    """The same number, or that of the last folded line."""
    pieces: tuple[Piece, ...]


def strips(layout: Layout, expand: bool = False) -> Strips:
    """Return what to draw of a struct. With `expand`, the members of embedded structs are fields too."""
    places = drawable(layout, expand)
    sized = [place for place in places if place.bit_size or place.is_flexible]
    drawn: list[Strip] = []
    crowded: list[Place] = []
    for cluster in _clusters(sized):
        lanes, left = _lanes(cluster)
        crowded += left
        number = max(lane for _, lane in lanes) + 1
        drawn += [Strip(place, place.bit_offset, _stop(place), lane, number) for place, lane in lanes]
    unsized = tuple(place for place in places if place.bit_size is None)
    drawn += _gaps(drawn, unsized, layout.bit_size)
    drawn.sort(key=lambda strip: (strip.bit_start, strip.lane))
    return Strips(tuple(drawn), tuple(crowded), unsized)


def drawable(layout: Layout, expand: bool = False) -> Sequence[Place]:
    """Return the fields that a drawing shows; with `expand`, members in place of embedded structs."""
    return list(_leaves(layout.places)) if expand else layout.places


def _leaves(places: Iterable[Place]) -> Iterator[Place]:
    """Yield fields; for an embedded struct that is no array, its members."""
    for place in places:
        member = place.field
        if member.members and not member.dims:
            is_union = member.aggregate == "union"
            yield from _leaves(named_members(member.members, f"{place.path}.", place.bit_offset, is_union))
        else:
            yield place


def _gaps(drawn: Sequence[Strip], unsized: Sequence[Place], bit_size: int) -> Iterator[Strip]:
    """Yield the holes and the padding; none after a field of unknown size, up to the next one.

    What follows a flexible array belongs to it.
    """
    unknown = sorted(place.bit_offset for place in unsized)
    reached = 0
    ends = () if any(strip.is_open for strip in drawn) else (Strip(None, bit_size, bit_size),)
    for strip in (*drawn, *ends):
        start = strip.bit_start
        if start > reached and bisect_left(unknown, start) == bisect_left(unknown, reached):
            yield Strip(None, reached, start, is_padding=start == bit_size and strip.place is None)
        reached = max(reached, strip.bit_stop)


def _stop(place: Place) -> int:
    if place.is_flexible or place.bit_size is None:
        return place.bit_offset + 8
    return place.bit_offset + place.bit_size


def _clusters(places: Sequence[Place]) -> Iterator[list[Place]]:
    """Yield fields in groups that overlap each other, directly or through others."""
    cluster: list[Place] = []
    reached = 0
    for place in sorted(places, key=lambda place: place.bit_offset):
        if cluster and place.bit_offset >= reached:
            yield cluster
            cluster = []
        cluster.append(place)
        reached = max(reached, _stop(place))
    if cluster:
        yield cluster


def _lanes(cluster: Sequence[Place]) -> tuple[list[tuple[Place, int]], list[Place]]:
    """Return each field with the first lane that is free there, and the fields for which none is."""
    ends = [0] * MOST_LANES
    placed, left = [], []
    for place in cluster:
        free = (lane for lane, end in enumerate(ends) if end <= place.bit_offset)
        lane = next(free, None)
        if lane is None:
            left.append(place)
        else:
            ends[lane] = _stop(place)
            placed.append((place, lane))
    return placed, left


def line_rows(drawn: Sequence[Strip], base: int, line_size: int) -> list[MapRow]:
    """Return the lines of an object at `base`, with what is on each; few for each strip, however long."""
    per_line = line_size * 8
    touched = [_lines(strip, base, per_line) for strip in drawn]
    rows = _row_ranges(sorted({line for first, last in touched for line in (first, last)}))
    firsts = [first for first, _ in rows]
    pieces: list[list[Piece]] = [[] for _ in rows]
    for strip, (first, last) in zip(drawn, touched, strict=True):
        for number in range(bisect_left(firsts, first), len(rows)):
            if firsts[number] > last:
                break
            pieces[number].append(_piece(strip, firsts[number], first, last, base, per_line))
    return [MapRow(*ends, tuple(each)) for ends, each in zip(rows, pieces, strict=True)]


def _lines(strip: Strip, base: int, per_line: int) -> tuple[int, int]:
    return (base * 8 + strip.bit_start) // per_line, (base * 8 + strip.bit_stop - 1) // per_line


def _row_ranges(ends: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last line of each row: those at which something starts or ends have their own."""
    rows: list[tuple[int, int]] = []
    for line in ends:
        before = rows[-1][1] + 1 if rows else line
        if line - before >= _FOLD:
            rows.append((before, line - 1))
        else:
            rows += [(number, number) for number in range(before, line)]
        rows.append((line, line))
    return rows


def _piece(strip: Strip, line: int, first: int, last: int, base: int, per_line: int) -> Piece:
    start = max(base * 8 + strip.bit_start - line * per_line, 0)
    stop = min(base * 8 + strip.bit_stop - line * per_line, per_line)
    if strip.is_open:
        return Piece(strip, start, per_line, True, False)
    return Piece(strip, start, stop, line == first, line == last)
