"""What rules demand of the offsets of fields, in terms that a constraint program can state exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, product
from typing import Any

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import ASSUMED, ELEMENT, Placements, count_lines
from layoutlint.judgement.context import Context
from layoutlint.judgement.line_sharing import is_same_or_part, refuse_many
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
from layoutlint.kinds.order import Order
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.together import Together
from layoutlint.model.record import Record


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
    """A field begins with the first bit of a line, at each of some bases."""

    place: Place
    bases: tuple[int, ...]
    line: int


class Between(Record, frozen=True):
    """The first byte of a field is one of a range of offsets; `high` is included."""

    place: Place
    low: int
    high: int


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
    """No other unit stands between the fields, and gaps between them have at most some bytes."""

    places: tuple[Place, ...]
    max_gap: int | None


class HoleBytes(Record, frozen=True):
    """The holes of the struct have at most some bytes; those inside of its members included."""

    most: int


Demand = Apart | OnOneLine | LineBegins | Between | Before | AtDistance | FewLines | SideBySide | HoleBytes


def demands(kind: Kind, context: Context) -> tuple[Demand, ...]:
    """Return the demands that hold together exactly where a kind keeps a struct.

    Raises CannotState if there are none, and CannotTell as the kind itself does.
    """
    find = _DEMANDS.get(type(kind))
    if find is None:
        raise CannotState(f"the kind {kind.name} is not stated in terms of offsets")
    return tuple(dict.fromkeys(find(kind, context)))


def _single(places: Iterable[Place], context: Context) -> tuple[Place, ...]:
    """Return the fields that have bytes. Raises CannotState for fields that stand for many elements."""
    found = tuple(place for place in places if not place.is_empty)
    for place in found:
        steps = place.path.split(".")
        for end in range(1, len(steps)):
            outer = context.layout.find(".".join(steps[:end]))
            if outer is not None and outer.field.dims:
                raise CannotState(f"`{place.path}` stands for all elements of an array")
    return found


def _separate(kind: Separate, context: Context) -> Iterator[Demand]:
    if context.is_one_of_many:
        raise CannotState("it is about every struct that matches a pattern")
    groups = [_single(context.places(group), context) for group in kind.fields]
    for ours, theirs in combinations(groups, 2):
        yield from _opposed(product(ours, theirs), kind.neighbours, context)


def _access(kind: AccessApart, context: Context) -> Iterator[Demand]:
    if kind.independent or context.is_one_of_many:
        raise CannotState("it is about every struct that matches a pattern")
    pairs = kind.opposed_fields(context)
    _single((place for pair in pairs for place in pair), context)
    yield from _opposed(pairs, kind.neighbours, context)


def _guards(kind: Guards, context: Context) -> Iterator[Demand]:
    (lock, *_), placements = _single((context.place(kind.lock),), context) or (None,), context.placements
    if lock is None:
        return
    data = [p for p in _single(context.places(kind.data), context) if not is_same_or_part(p, lock)]
    if kind.contended:
        yield from _opposed(((lock, place) for place in data), kind.neighbours, context)
        return
    for place in data:
        yield OnOneLine((lock, place), placements.bases, placements.line_size)


def _isolated(kind: Isolated, context: Context) -> Iterator[Demand]:
    if kind.neighbours or any(row.item == ELEMENT for row in context.placements.rows):
        raise CannotState("it depends on the objects before and behind, too")
    places = _single(context.places(kind.fields), context)
    excepted = context.places(kind.except_, or_none=True)
    others = _single(context.remaining_fields((*places, *excepted)), context)
    yield from _opposed(product(places, others), False, context)


def _opposed(
    pairs: Iterable[tuple[Place, Place]], neighbours: bool | None, context: Context
) -> Iterator[Demand]:
    """Yield the demands of pairs that share no line, in an object and with the next one."""
    placements, every = context.placements, list(pairs)
    refuse_many(len(every))
    if neighbours and all(row.item == ASSUMED for row in placements.rows):
        raise CannotState("what stands behind an object is not known")
    for a, b in every:
        if a.is_empty or b.is_empty:
            continue
        if is_same_or_part(a, b):
            if a.path != b.path and any(place.field.dims for place in (a, b)):
                raise CannotState(f"`{a.path}` and `{b.path}` are parts of each other")
        else:
            yield Apart(a, b, placements.bases, placements.line_size)
        yield from _opposed_across(a, b, neighbours, context)


def _opposed_across(a: Place, b: Place, neighbours: bool | None, context: Context) -> Iterator[Demand]:
    for row in context.placements.rows:
        counts = neighbours if neighbours is not None else row.item == ELEMENT
        if row.item != ASSUMED and counts:
            bases = tuple(base for base in row.bases if base in set(context.placements.bases))
            is_size = row.step == context.layout.size
            for one, other in dict.fromkeys(((a, b), (b, a))):
                yield Apart(one, other, bases, context.placements.line_size, row.step, is_size)


def _together(kind: Together, context: Context) -> Iterator[Demand]:
    yield OnOneLine(_single(context.places(kind.fields), context), *_where(context.placements))


def _no_straddle(kind: NoStraddle, context: Context) -> Iterator[Demand]:
    if any(path.startswith("@") for path in kind.fields):
        raise CannotState("it names fields by their type or access")
    for place in _single(context.places(kind.fields), context):
        if place.is_flexible:
            raise CannotState(f"how far `{place.path}` goes is not known")
        yield OnOneLine((place,), *_where(context.placements))


def _line_start(kind: LineStart, context: Context) -> Iterator[Demand]:
    places = context.places(kind.fields)
    _single(places, context)
    for place in places:
        yield LineBegins(place, *_where(context.placements))


def _where(placements: Placements) -> tuple[tuple[int, ...], int]:
    return placements.bases, placements.line_size


def _lines(kind: Lines, context: Context) -> Iterator[Demand]:
    places = kind.fields_to_count(context)
    if any(place.is_flexible for place in places):
        raise CannotState("how far a flexible array goes is not known")
    bases, line = _where(context.placements)
    limit = kind.limit(count_lines(places, 0, 1), line)
    yield FewLines(_single(places, context), limit, bases, line)


def _offset(kind: Offset, context: Context) -> Iterator[Demand]:
    place = context.place(kind.fields[0])
    if kind.at is not None:
        yield Between(place, kind.at, kind.at)
        return
    bases, line = _where(context.placements)
    begin = (kind.line or 0) * line
    yield Between(place, begin - min(bases), begin + line - 1 - max(bases))


def _order(kind: Order, context: Context) -> Iterator[Demand]:
    for pair in kind.ordered_pairs(context):
        for place in pair:
            if place.is_flexible:
                raise CannotState(f"where `{place.path}` ends is not known")
        _single(pair, context)
        yield Before(*pair)


def _distance(kind: Distance, context: Context) -> Iterator[Demand]:
    places = context.places(kind.fields)
    _single(places, context)
    refuse_many(len(places) ** 2)
    for a, b in combinations(places, 2):
        yield AtDistance(a, b, kind.min, kind.max)


def _adjacent(kind: Adjacent, context: Context) -> Iterator[Demand]:
    places = _single(context.places(kind.fields), context)
    if any(place.is_flexible for place in places) or any("." in place.path for place in places):
        raise CannotState("it is about parts of members")
    yield SideBySide(places, kind.max_gap)


def _holes(kind: Holes, context: Context) -> Iterator[Demand]:
    yield HoleBytes(kind.max)


_DEMANDS: dict[type, Callable[[Any, Context], Iterator[Demand]]] = {
    AccessApart: _access,
    Adjacent: _adjacent,
    Distance: _distance,
    Guards: _guards,
    Holes: _holes,
    Isolated: _isolated,
    LineStart: _line_start,
    Lines: _lines,
    NoStraddle: _no_straddle,
    Offset: _offset,
    Order: _order,
    Separate: _separate,
    Together: _together,
}
