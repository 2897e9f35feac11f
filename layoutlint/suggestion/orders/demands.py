"""The demands of rules on the offsets of fields, in terms that a constraint program can state exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, product
from typing import Any

from layoutlint.geometry.field_types import TYPE
from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import ASSUMED, ELEMENT, Placements, count_lines
from layoutlint.geometry.siblings import next_elements
from layoutlint.judgement.context import Context
from layoutlint.judgement.line_sharing import expand_elements, is_same_or_part, refuse_many
from layoutlint.judgement.position import Bit
from layoutlint.judgement.rule import Kind
from layoutlint.kinds.access import AccessApart
from layoutlint.kinds.adjacent import Adjacent
from layoutlint.kinds.distance import Distance
from layoutlint.kinds.guards import Guards
from layoutlint.kinds.holes import Holes
from layoutlint.kinds.isolated import Isolated
from layoutlint.kinds.line_start import LineStart
from layoutlint.kinds.lines import Lines
from layoutlint.kinds.no_straddle import NoStraddle
from layoutlint.kinds.offset import Offset
from layoutlint.kinds.one_layout import OneLayout
from layoutlint.kinds.order import Order
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.together import Together
from layoutlint.model.paths import is_within
from layoutlint.model.record import Record

MOST_LINES = 2_000
"""The most lines of a struct whose touched lines are counted: each is a variable for each field and base."""


class CannotState(Exception):
    """Raised if no demand on offsets is equivalent to a rule; the text is the reason."""


class Apart(Record, frozen=True):
    """Two fields share no line, at any of some bases."""

    a: Place
    b: Place
    bases: tuple[int, ...]
    line: int
    step: int = 0
    """Bytes from the object of `a` to the object of `b`; 0 for the same object."""
    step_is_size: bool = False
    """Whether the step is the size of the struct, also of a changed one."""


class OnOneLine(Record, frozen=True):
    """All fields are on one line, at each of some bases."""

    places: tuple[Place, ...]
    bases: tuple[int, ...]
    line: int


class LineBegins(Record, frozen=True):
    """A field begins with the first bit of a line, or another one, at each of some bases."""

    place: Place
    bases: tuple[int, ...]
    line: int
    bit: int = 0


class Between(Record, frozen=True):
    """The first byte of a field is one of a range of offsets; `high` is included."""

    place: Place
    low: int
    high: int


class Within(Record, frozen=True):
    """The lines of a field reach beyond neither end of the object, at any of some bases."""

    place: Place
    bases: tuple[int, ...]
    line: int


class Before(Record, frozen=True):
    """A field ends, to the bit, before another begins."""

    a: Place
    b: Place


class AtDistance(Record, frozen=True):
    """Two fields begin some bytes apart; None for no limit."""

    a: Place
    b: Place
    least: int | None
    most: int | None


class FewLines(Record, frozen=True):
    """The fields touch at most some lines, at each of some bases."""

    places: tuple[Place, ...]
    most: int
    bases: tuple[int, ...]
    line: int


class SideBySide(Record, frozen=True):
    """No other field stands between the fields, and gaps between them have at most some bytes."""

    places: tuple[Place, ...]
    max_gap: int | None
    """None for the padding that the alignment of a field causes."""
    others: tuple[Place, ...]
    """All other fields."""


class HoleBytes(Record, frozen=True):
    """The holes of the struct have at most some bytes; those inside of its members included."""

    most: int


_OnLines = Apart | OnOneLine | LineBegins | Within | FewLines
Demand = _OnLines | Between | Before | AtDistance | SideBySide | HoleBytes


def demands(kind: Kind, context: Context) -> tuple[Demand, ...]:
    """Return the demands that hold together exactly where a kind keeps a struct.

    Raises CannotState if there are none, and CannotTell as the kind itself does.
    """
    find = _DEMANDS.get(type(kind))
    if find is None:
        raise CannotState(f"the kind {kind.name} is not stated in terms of offsets")
    return tuple(dict.fromkeys(find(kind, context)))


def _solid(places: Iterable[Place]) -> tuple[Place, ...]:
    """Return the fields that have bytes."""
    return tuple(place for place in places if not place.is_empty)


def _separate(kind: Separate, context: Context) -> Iterator[Demand]:
    groups = [context.places(group) for group in kind.fields]
    pairs = [pair for ours, theirs in combinations(groups, 2) for pair in product(ours, theirs)]
    is_by_type = all(path.startswith(TYPE) for group in kind.fields for path in group)
    select = context.filter_own_pairs if is_by_type else None
    yield from _opposed_demands(pairs, kind.neighbours, context, select)


def _access(kind: AccessApart, context: Context) -> Iterator[Demand]:
    if kind.independent and context.companions is not None:
        raise CannotState("it depends on which fields code changes together")
    pairs = kind.opposed_fields(context)
    yield from _opposed_demands(pairs, kind.neighbours, context, context.filter_own_pairs, kind.elements)


def _guards(kind: Guards, context: Context) -> Iterator[Demand]:
    lock, placements = context.place(kind.lock), context.placements
    if lock.is_empty:
        return
    data = [p for p in context.places(kind.data) if not is_same_or_part(p, lock)]
    if kind.contended:
        yield from _opposed_demands(((lock, place) for place in data), kind.neighbours, context)
        return
    for place in _solid(data):
        yield OnOneLine((lock, place), placements.bases, placements.line_size)


def _isolated_demands(kind: Isolated, context: Context) -> Iterator[Demand]:
    places = _solid(context.places(kind.fields))
    excepted = context.places(kind.except_, or_none=True)
    others = _solid(context.remaining_fields((*places, *excepted)))
    placements = context.placements
    refuse_many(len(places) * len(others))
    for a, b in product(places, others):
        if not is_same_or_part(a, b):
            yield Apart(a, b, placements.bases, placements.line_size)
    if kind.neighbours is not False:
        for a, b in product(places, _solid(context.remaining_fields(excepted))):
            yield from _demands_across(a, b, None, context)
    if kind.neighbours:
        for place in places:
            yield Within(place, placements.bases, placements.line_size)


def _opposed_demands(
    pairs: Iterable[tuple[Place, Place]],
    neighbours: bool | None,
    context: Context,
    select: Callable[[list[tuple[Place, Place]]], list[tuple[Place, Place]]] | None = None,
    with_own_elements: bool = True,
) -> Iterator[Demand]:
    """Yield the demands of pairs that share no line, in an object and with the next one.

    A field in an array stands for its elements, which are kept apart `with_own_elements`. `select` chooses
    pairs of one object.
    """
    placements, every = context.placements, list(pairs)
    refuse_many(len(every))
    if neighbours and all(row.item == ASSUMED for row in placements.rows):
        raise CannotState("the bytes behind an object are unknown")
    elements = {place: _elements(context, place) for pair in every for place in pair}
    expanded = [(pair, each) for pair in every for each in product(*map(elements.__getitem__, pair))]
    refuse_many(len(expanded))
    inside = [
        opposed
        for (a, b), (one, other) in expanded
        if with_own_elements or a != b
        for opposed in _pairs_inside(one, other, context)
    ]
    for one, other in inside if select is None else select(inside):
        yield Apart(one, other, placements.bases, placements.line_size)
    for _, (a, b) in expanded:
        yield from _demands_across(a, b, neighbours, context)


def _elements(context: Context, place: Place) -> tuple[Place, ...]:
    """Return a field that has bytes in each element of the arrays in its path."""
    return _solid(expand_elements(context, (place,)))


def _pairs_inside(a: Place, b: Place, context: Context) -> Iterator[tuple[Place, Place]]:
    """Yield a pair of an object; for a field and its own part, the part with the elements around it."""
    if not is_same_or_part(a, b):
        yield a, b
        return
    inner, outer = (a, b) if is_within(a.path, b.path) else (b, a)
    for place in next_elements(context.layout, inner.path, outer.path, context.placements.line_size):
        yield inner, place


def _demands_across(a: Place, b: Place, neighbours: bool | None, context: Context) -> Iterator[Demand]:
    for row in context.placements.rows:
        counts = neighbours if neighbours is not None else row.item == ELEMENT
        if row.item != ASSUMED and counts:
            bases = tuple(base for base in row.bases if base in set(context.placements.bases))
            is_size = row.step == context.layout.size
            for one, other in dict.fromkeys(((a, b), (b, a))) if bases else ():
                yield Apart(one, other, bases, context.placements.line_size, row.step, is_size)


def _together_demands(kind: Together, context: Context) -> Iterator[Demand]:
    if places := _solid(context.places(kind.fields)):
        yield OnOneLine(places, *_bases_and_line(context.placements))


def _no_straddle(kind: NoStraddle, context: Context) -> Iterator[Demand]:
    places = context.places(kind.fields)
    paths = tuple(path for path in kind.fields if not path.startswith(TYPE))
    whole = places if len(paths) == len(kind.fields) else context.places(paths, or_none=True)
    for place, named in expand_elements(context, places).items():
        if place.is_flexible:
            raise CannotState(f"how far `{place.path}` goes is not known")
        if place.field.dims and named not in whole:
            raise CannotState(f"it is about each element of `{place.path}`")
        if not place.is_empty:
            yield OnOneLine((place,), *_bases_and_line(context.placements))


def _line_start(kind: LineStart, context: Context) -> Iterator[Demand]:
    for place in context.places(kind.fields):
        yield LineBegins(place, *_bases_and_line(context.placements))


def _bases_and_line(placements: Placements) -> tuple[tuple[int, ...], int]:
    return placements.bases, placements.line_size


def _lines(kind: Lines, context: Context) -> Iterator[Demand]:
    places = kind.fields_to_count(context)
    if any(place.is_flexible for place in places):
        raise CannotState("how far a flexible array goes is not known")
    bases, line = _bases_and_line(context.placements)
    if context.layout.size > MOST_LINES * line:
        raise CannotState(f"the struct has more than {MOST_LINES:,} lines")
    limit = kind.limit(count_lines(places, 0, 1), line)
    yield FewLines(_solid(places), limit, bases, line)


def _offset(kind: Offset, context: Context) -> Iterator[Demand]:
    for path, position in kind.positions:
        place, byte = context.place(path), position.byte if isinstance(position, Bit) else position
        yield Between(place, byte, byte)
        if isinstance(position, Bit):
            yield LineBegins(place, (0,), 1, position.bit)  # of each byte
    if kind.line is None:
        return
    bases, line = _bases_and_line(context.placements)
    begin = kind.line * line
    yield Between(context.place(kind.fields[0]), begin - min(bases), begin + line - 1 - max(bases))


def _order(kind: Order, context: Context) -> Iterator[Demand]:
    for pair in kind.ordered_pairs(context):
        yield Before(*pair)


def _distance(kind: Distance, context: Context) -> Iterator[Demand]:
    places = context.places(kind.fields)
    refuse_many(len(places) ** 2)
    for a, b in combinations(places, 2):
        yield AtDistance(a, b, kind.min, kind.max)


def _adjacent(kind: Adjacent, context: Context) -> Iterator[Demand]:
    places = context.places(kind.fields)
    if any(place.is_flexible or place.is_empty for place in places):
        raise CannotState("it is about fields without a length")
    if any("." in place.path or "[" in place.path for place in places):
        raise CannotState("it is about parts of members")
    yield SideBySide(places, kind.max_gap, _solid(context.remaining_fields(places)))


def _holes(kind: Holes, context: Context) -> Iterator[Demand]:
    if kind.count != ("holes",):
        raise CannotState("it counts padding other than holes")
    yield HoleBytes(kind.max)


_DEMANDS: dict[type, Callable[[Any, Context], Iterator[Demand]]] = {
    AccessApart: _access,
    Adjacent: _adjacent,
    Distance: _distance,
    Guards: _guards,
    Holes: _holes,
    Isolated: _isolated_demands,
    LineStart: _line_start,
    Lines: _lines,
    NoStraddle: _no_straddle,
    Offset: _offset,
    OneLayout: lambda kind, context: iter(()),  # all units have the order of the text
    Order: _order,
    Separate: _separate,
    Together: _together_demands,
}
