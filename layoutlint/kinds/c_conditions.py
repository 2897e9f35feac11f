"""The conditions in C that hold exactly where a rule is kept, by its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise, product
from typing import Any

from layoutlint.geometry.layout import Place
from layoutlint.judgement.c_assertion import (
    CannotAssert,
    CNames,
    condition_for_different_lines,
    conditions_for_one_line,
    start_unit,
)
from layoutlint.judgement.context import Context
from layoutlint.judgement.line_sharing import refuse_many
from layoutlint.judgement.position import Bit
from layoutlint.judgement.rule import Kind
from layoutlint.kinds.distance import Distance
from layoutlint.kinds.line_start import LineStart
from layoutlint.kinds.no_straddle import NoStraddle
from layoutlint.kinds.offset import Offset
from layoutlint.kinds.order import Order
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.size import Size
from layoutlint.kinds.together import Together
from layoutlint.model.paths import is_pattern


def conditions(kind: Kind, context: Context) -> tuple[str, ...]:
    """Return the conditions that hold together exactly where a kind keeps a struct, without duplicates.

    Raises CannotAssert if C cannot say it, and CannotTell as the kind itself does.
    """
    find = _CONDITIONS.get(type(kind))
    if find is None:
        raise CannotAssert(f"no expression in C is equivalent to the kind {kind.name}")
    return tuple(dict.fromkeys(find(kind, context, CNames(context.layout.struct))))


def _places(paths: tuple[str, ...], context: Context) -> tuple[Place, ...]:
    """Return the fields with some paths; raise CannotAssert for patterns, which match later fields too."""
    for path in paths:
        if is_pattern(path):
            raise CannotAssert(f"a field that is added later can match `{path}`")
    return context.places(paths)


def _place(path: str, context: Context) -> Place:
    """Return the one field at a path; raise as `_places`, and CannotTell."""
    _places((path,), context)
    return context.place(path)


def _size(kind: Size, context: Context, names: CNames) -> Iterator[str]:
    if kind.max_lines is not None:
        raise CannotAssert("the lines of a whole object depend on where it starts")
    if kind.max is not None:
        yield f"{names.size} <= {kind.max}"
    if kind.exact is not None:
        yield f"{names.size} == {kind.exact}"
    if kind.multiple_of is not None:
        yield f"{names.size} % {kind.multiple_of} == 0"


def _offset(kind: Offset, context: Context, names: CNames) -> Iterator[str]:
    for path, position in kind.positions:
        byte, bit = (position.byte, position.bit) if isinstance(position, Bit) else (position, 0)
        if bit:
            raise CannotAssert(f"`{path}` must begin at {position}, and offsetof() counts bytes")
        yield f"{names.start(_place(path, context))} == {byte}"
    if kind.line is None:
        return
    start = names.start(_place(kind.fields[0], context))
    unit = start_unit(names, context)
    yield from unit.guards
    yield f"{start} / {unit.line_size} == {kind.line}"
    yield f"({start} + {unit.line_size} - {unit.text}) / {unit.line_size} == {kind.line}"  # the last base


def _order(kind: Order, context: Context, names: CNames) -> Iterator[str]:
    for before, behind in pairwise(kind.fields):
        yield f"{names.last(_place(before, context))} < {names.start(_place(behind, context))}"


def _distance(kind: Distance, context: Context, names: CNames) -> Iterator[str]:
    places = _places(kind.fields, context)
    refuse_many(len(places) ** 2)
    for a, b in combinations(places, 2):
        first, second = sorted((a, b), key=lambda place: place.offset)
        apart = f"{names.start(second)} - {names.start(first)}"
        other = f"{names.start(first)} - {names.start(second)}"
        distance = f"({names.start(second)} > {names.start(first)} ? {apart} : {other})"
        if kind.min is not None:
            yield f"{distance} >= {kind.min}"
        if kind.max is not None:
            yield f"{distance} <= {kind.max}"


def _line_start(kind: LineStart, context: Context, names: CNames) -> Iterator[str]:
    unit = start_unit(names, context)
    yield from unit.guards
    yield f"{unit.text} == {unit.line_size}"
    for place in _places(kind.fields, context):
        yield f"{names.start(place)} % {unit.line_size} == 0"


def _no_straddle(kind: NoStraddle, context: Context, names: CNames) -> Iterator[str]:
    unit = start_unit(names, context)
    yield from unit.guards
    for place in _places(kind.fields, context):
        yield from conditions_for_one_line(names, (place,), unit)


def _together_conditions(kind: Together, context: Context, names: CNames) -> Iterator[str]:
    places, unit = _places(kind.fields, context), start_unit(names, context)
    yield from unit.guards
    yield from conditions_for_one_line(names, places, unit)


def _separate(kind: Separate, context: Context, names: CNames) -> Iterator[str]:
    if kind.neighbours:
        raise CannotAssert("it depends on the objects before and behind, too")
    unit, groups = start_unit(names, context), [_places(group, context) for group in kind.fields]
    yield from unit.guards
    for ours, theirs in combinations(groups, 2):
        refuse_many(len(ours) * len(theirs))
        for a, b in product(ours, theirs):
            yield condition_for_different_lines(names, a, b, unit)


_CONDITIONS: dict[type, Callable[[Any, Context, CNames], Iterator[str]]] = {
    Distance: _distance,
    LineStart: _line_start,
    NoStraddle: _no_straddle,
    Offset: _offset,
    Order: _order,
    Separate: _separate,
    Size: _size,
    Together: _together_conditions,
}
