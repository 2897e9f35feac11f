"""Demands of rules as constraints of a program: a demand holds if and only if its constraints do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, permutations
from math import gcd, lcm

from ortools.sat.python.cp_model import Domain, LinearExprT, LiteralT

from layoutlint.geometry.layout import Place
from layoutlint.suggestion.orders.demands import (
    Apart,
    AtDistance,
    Before,
    Between,
    Demand,
    FewLines,
    HoleBytes,
    LineBegins,
    OnOneLine,
    SideBySide,
    Within,
)
from layoutlint.suggestion.orders.program import Extent, Program

_BYTE = 8
Enforced = Sequence[LiteralT]


def state(program: Program, demand: Demand, enforced: Enforced) -> None:
    """State a demand, which holds if all of some literals do."""
    _STATE[type(demand)](program, demand, enforced)


def _state_apart(program: Program, demand: Apart, enforced: Enforced) -> None:
    a, b = program.extent(demand.a), program.extent(demand.b)
    if demand.step or demand.step_is_size:
        step = program.size if demand.step_is_size else demand.step
        _state_behind(program, a, b, step, demand, enforced)
    elif a.unit == b.unit:
        _state_apart_inside(program, demand, enforced)
    else:
        is_first = program.precedes(a.unit, b.unit)
        _state_behind(program, a, b, 0, demand, (*enforced, is_first))
        _state_behind(program, b, a, 0, demand, (*enforced, is_first.negated()))


def _state_behind(
    program: Program, a: Extent, b: Extent, step: LinearExprT, demand: Apart, enforced: Enforced
) -> None:
    """State that `b` begins on a line behind that of the last byte of `a`, at each base."""
    if len(demand.bases) == 1 and isinstance(step, int) and not step:
        first, last = (
            program.line_of(byte, demand.bases[0], demand.line) for byte in ((b, False), (a, True))
        )
        program.add(first >= last + 1, enforced)
        return
    program.add(b.first + step >= a.last + _rest(program, a, demand.bases, demand.line), enforced)


def _rest(program: Program, extent: Extent, bases: Iterable[int], line: int) -> LinearExprT:
    """Return the bytes from the last one of a field to the end of its line, where there are most.

    That is at the base where it is nearest to the beginning of the line.
    """
    return _table(program, extent, extent.last, lambda at: line - min((at + b) % line for b in bases), line)


def _table(
    program: Program, extent: Extent, byte: LinearExprT, value: Callable[[int], int], line: int
) -> LinearExprT:
    """Return a value that depends on a byte modulo the line; a number if all its places have the same."""
    unit = program.arrangement.units[extent.unit]
    values = [value(at) for at in range(line)]
    if extent.offset is not None:
        align = gcd(unit.period * program.arrangement.grain // _BYTE or 1, line)
        last = extent.offset + extent.size - 1 if byte is extent.last else extent.offset
        possible = {values[(at + last) % line] for at in range(0, line, align)}
        if len(possible) == 1:
            return possible.pop()
    residue = program.model.new_int_var(0, line - 1, "")
    program.model.add_modulo_equality(residue, program.variable(byte), line)
    result = program.model.new_int_var(min(values), max(values), "")
    program.model.add_element(residue, values, result)
    return result


def _state_apart_inside(program: Program, demand: Apart, enforced: Enforced) -> None:
    """State that parts of one unit are apart: it depends on where on a line the unit starts."""
    line = demand.line

    def is_apart(places: tuple[tuple[int, int], ...]) -> bool:
        (_, low), (high, _) = sorted((start // _BYTE, end // _BYTE) for start, end in places)
        return all((low + base) // line < (high + base) // line for base in demand.bases)

    _restrict_start(program, (demand.a, demand.b), line, is_apart, enforced)


def _restrict_start(
    program: Program,
    places: tuple[Place, ...],
    line: int,
    is_allowed: Callable[[tuple[tuple[int, int], ...]], bool],
    enforced: Enforced,
) -> None:
    """State where on a line a unit may begin, by the first and last bits of fields in it."""
    grain, unit = program.arrangement.grain, program.extent(places[0]).unit
    period = lcm(max(1, line * _BYTE // grain), program.arrangement.units[unit].period)
    allowed = [
        at
        for at in range(period)
        if is_allowed(tuple(program.arrangement.bits_of(place, at) for place in places))
    ]
    if len(allowed) == period:
        return
    residue = program.model.new_int_var(0, period - 1, "")
    program.model.add_modulo_equality(residue, program.blocks[unit].begin, period)
    domain = Domain.from_values(allowed)
    program.model.add_linear_expression_in_domain(residue, domain).only_enforce_if(*enforced)


def _state_one_line(program: Program, demand: OnOneLine, enforced: Enforced) -> None:
    """State that bytes from the first to the last field are on one line, at each base.

    At the base where the first byte is nearest to the end of its line, the fewest bytes fit.
    """
    line, bases = demand.line, demand.bases
    extents = [program.extent(place) for place in demand.places]
    if len(bases) == 1:
        begin, *others = [program.line_of((e, end), bases[0], line) for e in extents for end in (False, True)]
        for other in others:
            program.add(begin == other, enforced)
        return
    for first in extents:
        fits = _table(
            program, first, first.first, lambda at: line - max((at + b) % line for b in bases), line
        )
        for last in extents:
            program.add(last.last - first.first + 1 <= fits, enforced)


def _line_begins(program: Program, demand: LineBegins, enforced: Enforced) -> None:
    line = demand.line * _BYTE

    def is_begin(places: tuple[tuple[int, int], ...]) -> bool:
        return all((base * _BYTE + places[0][0] - demand.bit) % line == 0 for base in demand.bases)

    _restrict_start(program, (demand.place,), demand.line, is_begin, enforced)


def _state_between(program: Program, demand: Between, enforced: Enforced) -> None:
    first = program.extent(demand.place).first
    program.add(first >= demand.low, enforced)
    program.add(first <= demand.high, enforced)


def _state_within(program: Program, demand: Within, enforced: Enforced) -> None:
    extent, line = program.extent(demand.place), demand.line
    inside = [line - base for base in demand.bases if base]
    program.add(extent.first >= max(inside, default=0), enforced)
    program.add(extent.last + _rest(program, extent, demand.bases, line) <= program.size, enforced)


def _state_before(program: Program, demand: Before, enforced: Enforced) -> None:
    a, b = program.extent(demand.a), program.extent(demand.b)
    if demand.a.is_flexible:
        program.refuse(enforced)
    elif demand.a.is_empty or demand.b.is_empty:
        program.add(a.last + 1 <= b.first, enforced)
    elif a.unit != b.unit:
        program.model.add_bool_or(program.precedes(a.unit, b.unit)).only_enforce_if(*enforced)
    elif demand.a.bit_offset + (demand.a.bit_size or 0) > demand.b.bit_offset:
        program.refuse(enforced)


def _state_distance(program: Program, demand: AtDistance, enforced: Enforced) -> None:
    a, b = program.extent(demand.a), program.extent(demand.b)
    if a.unit == b.unit:
        pairs = [(a, b, enforced)]
        if demand.a.bit_offset > demand.b.bit_offset:
            pairs = [(b, a, enforced)]
    else:
        is_first = program.precedes(a.unit, b.unit)
        pairs = [(a, b, (*enforced, is_first)), (b, a, (*enforced, is_first.negated()))]
    for first, second, literals in pairs:
        if demand.least is not None:
            program.add(second.first - first.first >= demand.least, literals)
        if demand.most is not None:
            program.add(second.first - first.first <= demand.most, literals)


def _few_lines(program: Program, demand: FewLines, enforced: Enforced) -> None:
    for base in demand.bases:
        touched = program.lines_touched(demand.places, base, demand.line)
        program.add(touched <= demand.most, enforced)


def _side_by_side(program: Program, demand: SideBySide, enforced: Enforced) -> None:
    groups: dict[int, list[Place]] = {}
    for place in demand.places:
        groups.setdefault(program.extent(place).unit, []).append(place)
    program.stand_together(tuple(groups), enforced)
    for unit, places in groups.items():
        others = [other for other in demand.others if program.extent(other).unit == unit]
        ends = ((-1, 0), (1 << 60, 1 << 60))
        rest = [number for number in groups if number != unit]
        if not _is_clear(_spans(places), others):
            program.refuse(enforced)
        _limit_gaps_inside(program, demand, places, enforced)
        if not _is_clear((ends[0], *_spans(places)), others):
            for other in rest:
                program.model.add_implication(program.precedes(other, unit), False).only_enforce_if(*enforced)
        if not _is_clear((*_spans(places), ends[1]), others):
            for other in rest:
                program.model.add_implication(program.precedes(unit, other), False).only_enforce_if(*enforced)
    if demand.max_gap is not None or not _fills(program, groups):
        for low, high in permutations(groups, 2):
            _limit_gap(program, demand, groups, low, high, enforced)


def _spans(places: Iterable[Place]) -> tuple[tuple[int, int], ...]:
    """Return the first bits of fields and those behind them, in order."""
    return tuple(sorted((place.bit_offset, place.bit_offset + (place.bit_size or 0)) for place in places))


def _is_clear(spans: Sequence[tuple[int, int]], others: Sequence[Place]) -> bool:
    """Return whether no other part of a unit stands between fields in it, and before or behind them."""
    end = 0
    for low, high in pairwise(spans):
        end = max(end, low[1])
        if any(other.bit_offset < high[0] and _spans((other,))[0][1] > end for other in others):
            return False
    return True


def _fills(program: Program, groups: dict[int, list[Place]]) -> bool:
    """Return whether only padding for alignment can be between fields of units that stand side by side."""
    units = program.arrangement.units
    if not all(unit.fields for unit in units) or not all(units[number].is_plain for number in groups):
        return False
    if not program.are_side_by_side(groups):  # an opened struct can end in padding
        return False
    bits = program.arrangement.struct.fields
    return all(
        max(end for _, end in _spans(places)) == bits[at].bit_offset + (bits[at].bit_size or 0)
        and min(_spans(places))[0] == bits[at].bit_offset
        for number, places in groups.items()
        for at in units[number].fields
    )


def _limit_gaps_inside(
    program: Program, demand: SideBySide, places: Sequence[Place], enforced: Enforced
) -> None:
    """State that only so many bytes are between fields of one unit, by where it starts."""
    if len(places) < 2:
        return
    aligns = [place.field.align or 1 for place in places]

    def are_near(spans: tuple[tuple[int, int], ...]) -> bool:
        ordered = sorted(zip(spans, aligns, strict=True))
        reached = 0
        for ((_, last), _), ((first, _), align) in pairwise(ordered):
            reached = max(reached, last // _BYTE + 1)
            allowed = -reached % align if demand.max_gap is None else demand.max_gap
            if first // _BYTE - reached > allowed:
                return False
        return True

    _restrict_start(program, tuple(places), lcm(*aligns), are_near, enforced)


def _limit_gap(
    program: Program,
    demand: SideBySide,
    groups: dict[int, list[Place]],
    low: int,
    high: int,
    enforced: Enforced,
) -> None:
    """State that only so many bytes are between fields of two units if none of the others is between."""
    model = program.model
    is_next = model.new_bool_var("")
    between = []
    for other in groups:
        if other not in (low, high):
            between.append(literal := model.new_bool_var(""))
            model.add_implication(literal, program.precedes(low, other))
            model.add_implication(literal, program.precedes(other, high))
    model.add_bool_or(is_next, program.precedes(high, low), *between)
    last = program.extent(max(groups[low], key=lambda each: each.bit_offset + (each.bit_size or 0)))
    place = min(groups[high], key=lambda each: each.bit_offset)
    first = program.extent(place).first
    if demand.max_gap is not None:
        allowed: LinearExprT = demand.max_gap
    else:
        align = place.field.align or 1
        allowed = _table(program, last, last.last, lambda at: -(at + 1) % align, align)
    program.add(first - last.last - 1 <= allowed, (*enforced, is_next))


def _hole_bytes(program: Program, demand: HoleBytes, enforced: Enforced) -> None:
    """State that few bytes before the end of the last field are touched by none.

    A byte that two runs of bit-fields share counts for the first of them.
    """
    touched = program.bytes_touched()
    for position in range(len(program.arrangement.struct.fields)):
        last = program.extent_of_member(position).last
        program.add(last + 1 - touched <= demand.most, enforced)


_STATE: dict[type, Callable[..., None]] = {
    Apart: _state_apart,
    AtDistance: _state_distance,
    Before: _state_before,
    Between: _state_between,
    FewLines: _few_lines,
    HoleBytes: _hole_bytes,
    LineBegins: _line_begins,
    OnOneLine: _state_one_line,
    SideBySide: _side_by_side,
    Within: _state_within,
}
