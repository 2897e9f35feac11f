"""The orders of a struct's units as a constraint program (CP-SAT of OR-tools).

Each unit fills a block: its padding and its bytes. Blocks do not overlap, and their lengths add up to the end
of the last one, so they leave no gap: the layout is exactly the one that a compiler gives to their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise, product
from math import gcd

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import IntVar, LinearExprT, LiteralT

from layoutlint.geometry.layout import Place
from layoutlint.model.record import Record
from layoutlint.randstruct.c_abi import round_up
from layoutlint.suggestion.arrangement import Arrangement, Unit
from layoutlint.suggestion.demands import (
    Apart,
    AtDistance,
    Before,
    Between,
    CannotState,
    Demand,
    FewLines,
    HoleBytes,
    LineBegins,
    OnOneLine,
    SideBySide,
)
from layoutlint.suggestion.limits import Limit

_BYTE = 8


class Block(Record, frozen=True):
    """The variables of a unit, in grains."""

    unit: Unit
    begin: IntVar
    """Where the unit before it ends, and its padding begins."""
    gap: IntVar
    start: LinearExprT
    end: LinearExprT
    residue: IntVar | None
    """`begin` modulo the period of the unit's tables; None for a plain unit."""
    step: IntVar | None
    """`start` in multiples of the unit's alignment; None unless it is plain."""
    span: IntVar
    """Padding and bytes."""
    length: IntVar | None = None
    """The bytes, if they depend on the residue."""


class Extent(Record, frozen=True):
    """The first and the last byte of a field as expressions."""

    unit: int
    first: LinearExprT
    last: LinearExprT
    offset: int | None
    """Bytes from the start of its unit; None if they depend on where that stands."""
    size: int
    """Bytes from the first to one behind the last, if `offset` is not None."""


class Program:
    """A constraint program whose solutions are the orders of an arrangement."""

    def __init__(self, arrangement: Arrangement) -> None:
        self.arrangement = arrangement
        self.model = cp_model.CpModel()
        units = arrangement.units
        self.horizon = sum(max(map(sum, zip(unit.gaps, unit.lengths, strict=True))) for unit in units)
        self.blocks = [self._block(number, unit) for number, unit in enumerate(units)]
        self._precedes: dict[tuple[int, int], IntVar] = {}
        self._extents: dict[Place, Extent] = {}
        self.end = self._tile()
        self.size = self._size()
        """The size of the struct in bytes."""
        self.is_kept = [self.model.new_bool_var(f"kept{number}") for number in range(len(units))]
        self._relate_kept()
        if arrangement.last is not None:
            for number in range(len(units) - 1):
                self.model.add(self.precedes(number, arrangement.last) == 1)

    def _block(self, number: int, unit: Unit) -> Block:
        model, period = self.model, unit.period
        begin = model.new_int_var(0, self.horizon, f"begin{number}")
        span = model.new_int_var(0, self.horizon, f"span{number}")
        gap = model.new_int_var(min(unit.gaps), max(unit.gaps), f"gap{number}")
        if unit.is_plain:
            step = model.new_int_var(0, self.horizon // period, f"step{number}")
            start = step * period
            model.add(begin + gap == start)
            return Block(unit, begin, gap, start, start + unit.lengths[0], None, step, span)
        residue = model.new_int_var(0, period - 1, f"residue{number}")
        model.add_modulo_equality(residue, begin, period)
        model.add_element(residue, unit.gaps, gap)
        length = model.new_int_var(min(unit.lengths), max(unit.lengths), f"length{number}")
        model.add_element(residue, unit.lengths, length)
        end = model.new_int_var(0, self.horizon, f"end{number}")
        model.add(end == begin + gap + length)
        return Block(unit, begin, gap, begin + gap, end, residue, None, span, length)

    def _tile(self) -> IntVar:
        """Let the blocks follow one another without gaps; return where the last one ends."""
        model = self.model
        end = model.new_int_var(0, self.horizon, "end")
        intervals = []
        for number, block in enumerate(self.blocks):
            model.add(block.span == block.end - block.begin)
            intervals.append(model.new_interval_var(block.begin, block.span, block.end, f"interval{number}"))
            model.add(block.end <= end)
        model.add_no_overlap(intervals)
        model.add(sum(block.span for block in self.blocks) == end)
        return end

    def _size(self) -> IntVar:
        """Return the size of the struct: its end, rounded up to its alignment."""
        align = self.arrangement.align * _BYTE // self.arrangement.grain
        steps = self.model.new_int_var(0, self.horizon // align + 1, "steps")
        self.model.add(steps * align >= self.end)
        self.model.add(steps * align <= self.end + align - 1)
        size = self.model.new_int_var(0, (self.horizon // align + 1) * self.arrangement.align, "size")
        self.model.add(size == steps * self.arrangement.align)
        self._steps = steps
        return size

    def hint(self, order: Sequence[int]) -> None:
        """Let the search start with an order."""
        model, place = self.model, {number: at for at, number in enumerate(order)}
        model.clear_hints()
        end = 0
        for number in order:
            block, begin = self.blocks[number], end
            unit, row = block.unit, begin % block.unit.period
            end = begin + unit.gaps[row] + unit.lengths[row]
            values = {block.begin: begin, block.gap: unit.gaps[row], block.span: end - begin}
            if block.step is not None:
                values[block.step] = (begin + unit.gaps[row]) // unit.period
            if block.residue is not None:
                values |= {block.residue: row, block.length: unit.lengths[row], block.end: end}
            for variable, value in values.items():
                model.add_hint(variable, value)
        size = round_up(end * self.arrangement.grain, self.arrangement.align * _BYTE) // _BYTE
        model.add_hint(self.end, end)
        model.add_hint(self._steps, size // self.arrangement.align)
        model.add_hint(self.size, size)
        for (a, b), literal in self._precedes.items():
            model.add_hint(literal, place[a] < place[b])
        kept = unmoved(order, [len(block.unit.members) for block in self.blocks])
        for number, literal in enumerate(self.is_kept):
            model.add_hint(literal, number in kept)

    def precedes(self, a: int, b: int) -> LiteralT:
        """Return the literal for which unit `a` stands before unit `b`."""
        if a > b:
            return self.precedes(b, a).negated()
        if (a, b) not in self._precedes:
            literal = self.model.new_bool_var(f"before{a}_{b}")
            first, second = self.blocks[a], self.blocks[b]
            self.model.add(first.end <= second.begin).only_enforce_if(literal)
            self.model.add(second.end <= first.begin).only_enforce_if(literal.negated())
            self._precedes[a, b] = literal
        return self._precedes[a, b]

    def _relate_kept(self) -> None:
        """Relate units that stay: they keep their order among one another."""
        for a, b in combinations(range(len(self.blocks)), 2):
            self.model.add_bool_or(
                self.is_kept[a].negated(), self.is_kept[b].negated(), self.precedes(a, b)
            )

    @property
    def moves(self) -> LinearExprT:
        """The number of declarations that move."""
        return sum(
            len(block.unit.members) * kept.negated()
            for block, kept in zip(self.blocks, self.is_kept, strict=True)
        )

    def count_holes(self) -> LinearExprT:
        """Return the number of units with padding before them."""
        holes = []
        for number, block in enumerate(self.blocks):
            if max(block.unit.gaps):
                is_hole = self.model.new_bool_var(f"hole{number}")
                self.model.add(block.gap == 0).only_enforce_if(is_hole.negated())
                holes.append(is_hole)
        return sum(holes)

    def extent(self, place: Place) -> Extent:
        """Return the bytes of a field. Raises CannotState if its unit has no fixed layout to name them."""
        if place not in self._extents:
            self._extents[place] = self._find_extent(place)
        return self._extents[place]

    def _find_extent(self, place: Place) -> Extent:
        position, inner = self._member_of(place)
        number = self.arrangement.unit_of(position)
        block, unit = self.blocks[number], self.arrangement.units[number]
        at = unit.fields.index(position)
        width = max(place.bit_size or 0, 1)
        if block.step is not None:
            offset = (unit.starts[0][at] - unit.gaps[0] * self.arrangement.grain + inner) // _BYTE
            align = unit.period * self.arrangement.grain // _BYTE
            last = offset + (place.end - place.offset) - 1
            start = block.step * align
            return Extent(number, start + offset, start + last, offset, last + 1 - offset)
        starts = [row[at] + inner for row in unit.starts]
        ends = [start + width - 1 for start in starts]
        return Extent(number, self._byte(block, starts), self._byte(block, ends), None, 0)

    def _byte(self, block: Block, bits: list[int]) -> LinearExprT:
        """Return the byte that holds a bit of a unit, whose place after `begin` depends on the residue."""
        model, grain = self.model, self.arrangement.grain
        assert block.residue is not None
        table = bits if grain == 1 else [bit // _BYTE for bit in bits]
        distance = model.new_int_var(min(table), max(table), "")
        model.add_element(block.residue, table, distance)
        if grain == _BYTE:
            return block.begin + distance
        byte = model.new_int_var(0, self.horizon, "")
        model.add_division_equality(byte, self._variable(block.begin + distance), _BYTE)
        return byte

    def _variable(self, expression: LinearExprT) -> IntVar:
        """Return a variable for an expression: remainders and quotients are of one variable."""
        variable = self.model.new_int_var(0, 2 * self.horizon, "")
        self.model.add(variable == expression)
        return variable

    def _member_of(self, place: Place) -> tuple[int, int]:
        """Return the position of the member that a field is, or is a part of, and its bits from there."""
        fields = self.arrangement.struct.fields
        name = place.path.split(".")[0].split("[")[0]
        for position, field in enumerate(fields):
            if field.name == name:
                return position, place.bit_offset - field.bit_offset
        for position, field in enumerate(fields):
            if field.name is None and 0 <= place.bit_offset - field.bit_offset < (field.bit_size or 0):
                return position, place.bit_offset - field.bit_offset
        raise CannotState(f"`{place.path}` is in no member of the struct")

    def demand(self, demand: Demand, enforced: Sequence[LiteralT]) -> None:
        """State a demand, which holds if all of some literals do. Raises CannotState."""
        _STATE[type(demand)](self, demand, enforced)

    def _add(self, expression: object, enforced: Sequence[LiteralT]) -> None:
        self.model.add(expression).only_enforce_if(*enforced)

    def _apart(self, demand: Apart, enforced: Sequence[LiteralT]) -> None:
        a, b = self.extent(demand.a), self.extent(demand.b)
        if demand.step or demand.step_is_size:
            step = self.size if demand.step_is_size else demand.step
            self._behind(a, b, step, demand, enforced)
        elif a.unit == b.unit:
            self._apart_inside(a, b, demand, enforced)
        else:
            is_first = self.precedes(a.unit, b.unit)
            self._behind(a, b, 0, demand, (*enforced, is_first))
            self._behind(b, a, 0, demand, (*enforced, is_first.negated()))

    def _behind(
        self, a: Extent, b: Extent, step: LinearExprT, demand: Apart, enforced: Sequence[LiteralT]
    ) -> None:
        """State that `b` begins on a line behind that of the last byte of `a`, at each base.

        They are on one line if the bytes between them do not reach the end of the line of that byte. At the
        base where it is nearest to the beginning of its line, most bytes are needed.
        """
        line, bases = demand.line, demand.bases
        rest = self._table(a, a.last, lambda at: line - min((at + base) % line for base in bases), line)
        self._add(b.first + step >= a.last + rest, enforced)

    def _table(
        self, extent: Extent, byte: LinearExprT, value: Callable[[int], int], line: int
    ) -> LinearExprT:
        """Return a value that depends on a byte modulo the line; a number if all its places have the same."""
        unit = self.arrangement.units[extent.unit]
        values = [value(at) for at in range(line)]
        if extent.offset is not None:
            align = gcd(unit.period * self.arrangement.grain // _BYTE or 1, line)
            last = extent.offset + extent.size - 1 if byte is extent.last else extent.offset
            possible = {values[(at + last) % line] for at in range(0, line, align)}
            if len(possible) == 1:
                return possible.pop()
        residue = self.model.new_int_var(0, line - 1, "")
        self.model.add_modulo_equality(residue, self._variable(byte), line)
        result = self.model.new_int_var(min(values), max(values), "")
        self.model.add_element(residue, values, result)
        return result

    def _apart_inside(self, a: Extent, b: Extent, demand: Apart, enforced: Sequence[LiteralT]) -> None:
        """State that parts of one unit are apart: it depends on where on a line the unit starts."""
        if a.offset is None or b.offset is None:
            raise CannotState("it keeps bit-fields of one run apart")
        low, high = sorted((a, b), key=lambda extent: extent.offset or 0)
        distance = (high.offset or 0) - (low.offset or 0) - low.size + 1
        line = demand.line

        def is_apart(last: int) -> int:
            return int(all((last + base) % line + distance >= line for base in demand.bases))

        self._add(self._table(low, low.last, is_apart, line) == 1, enforced)

    def _on_one_line(self, demand: OnOneLine, enforced: Sequence[LiteralT]) -> None:
        """State that bytes from the first to the last field are on one line, at each base.

        At the base where the first byte is nearest to the end of its line, the fewest bytes fit.
        """
        line, extents = demand.line, [self.extent(place) for place in demand.places]
        if not extents:
            return
        room = [
            self._table(e, e.first, lambda at: line - max((at + base) % line for base in demand.bases), line)
            for e in extents
        ]
        for first, fits in zip(extents, room, strict=True):
            for last in extents:
                self._add(last.last - first.first + 1 <= fits, enforced)

    def _line_begins(self, demand: LineBegins, enforced: Sequence[LiteralT]) -> None:
        extent, line = self.extent(demand.place), demand.line
        if extent.offset is None:
            raise CannotState("a bit-field is to begin a line")
        is_begin = self._table(
            extent, extent.first, lambda at: int(all((at + b) % line == 0 for b in demand.bases)), line
        )
        self._add(is_begin == 1, enforced)

    def _between(self, demand: Between, enforced: Sequence[LiteralT]) -> None:
        first = self.extent(demand.place).first
        self._add(first >= demand.low, enforced)
        self._add(first <= demand.high, enforced)

    def _before(self, demand: Before, enforced: Sequence[LiteralT]) -> None:
        a, b = self.extent(demand.a), self.extent(demand.b)
        if a.unit != b.unit:
            self.model.add_bool_or(self.precedes(a.unit, b.unit)).only_enforce_if(*enforced)
        elif demand.a.bit_offset + (demand.a.bit_size or 0) > demand.b.bit_offset:
            self.model.add_bool_or([]).only_enforce_if(*enforced)

    def _at_distance(self, demand: AtDistance, enforced: Sequence[LiteralT]) -> None:
        a, b = self.extent(demand.a), self.extent(demand.b)
        low_first = demand.a.bit_offset <= demand.b.bit_offset
        is_first = self.precedes(a.unit, b.unit) if a.unit != b.unit else None
        pairs = [(a, b, is_first), (b, a, is_first.negated())] if is_first is not None else []
        if is_first is None:
            pairs = [(a, b, None) if low_first else (b, a, None)]
        for first, second, literal in pairs:
            also = (*enforced, literal) if literal is not None else tuple(enforced)
            if demand.least is not None:
                self._add(second.first - first.first >= demand.least, also)
            if demand.most is not None:
                self._add(second.first - first.first <= demand.most, also)

    def _few_lines(self, demand: FewLines, enforced: Sequence[LiteralT]) -> None:
        for base in demand.bases:
            touched = self.lines_touched(demand.places, base, demand.line)
            self._add(touched <= demand.most, enforced)

    def most_lines(self, places: Sequence[Place], bases: Iterable[int], line: int) -> LinearExprT:
        """Return the most lines that fields of an object touch at any of some bases, or more."""
        most = self.model.new_int_var(0, self.horizon, "")
        for base in bases:
            self.model.add(most >= self.lines_touched(places, base, line))
        return most

    def lines_touched(self, places: Iterable[Place], base: int, line: int) -> LinearExprT:
        """Return the number of lines that fields of an object at a base touch, or more."""
        count = self.horizon * self.arrangement.grain // _BYTE // line + 2
        is_touched = [self.model.new_bool_var("") for _ in range(count)]
        for place in places:
            extent = self.extent(place)
            ends = []
            for byte in (extent.first, extent.last):
                number = self.model.new_int_var(0, count - 1, "")
                self.model.add_division_equality(number, self._variable(byte + base), line)
                ends.append(number)
            for number, literal in enumerate(is_touched):
                is_behind, is_before = self.model.new_bool_var(""), self.model.new_bool_var("")
                self.model.add(ends[0] > number).only_enforce_if(is_behind)
                self.model.add(ends[1] < number).only_enforce_if(is_before)
                self.model.add_bool_or(literal, is_behind, is_before)
        return sum(is_touched)

    def _side_by_side(self, demand: SideBySide, enforced: Sequence[LiteralT]) -> None:
        units = tuple({self.extent(place).unit: None for place in demand.places})
        self._together(units, enforced)
        if demand.max_gap is None:
            return
        for number in units:
            is_first = self._is_first(number, units)
            gap = self.blocks[number].gap * self.arrangement.grain
            self._add(gap <= demand.max_gap * _BYTE, (*enforced, is_first.negated()))

    def _together(self, units: Sequence[int], enforced: Sequence[LiteralT] = ()) -> None:
        """State that no other unit with bytes stands between some units."""
        for other in range(len(self.blocks)):
            if other in units or not max(self.arrangement.units[other].lengths):
                continue
            is_behind = self.model.new_bool_var("")
            for number in units:
                literal = self.precedes(number, other)
                self.model.add_bool_or(is_behind.negated(), literal).only_enforce_if(*enforced)
                self.model.add_bool_or(is_behind, literal.negated()).only_enforce_if(*enforced)

    def _is_first(self, number: int, units: Iterable[int]) -> IntVar:
        """Return a literal that can be true only if a unit stands before the others of some units."""
        is_first = self.model.new_bool_var("")
        for other in units:
            if other != number:
                self.model.add_implication(is_first, self.precedes(number, other))
        return is_first

    def limit(self, limit: Limit) -> None:
        """State a limit on the order of units."""
        model, units = self.model, limit.units
        if limit.kind == "before":
            for a, b in product(units, limit.after):
                model.add_bool_or(self.precedes(a, b))
        elif limit.kind == "together":
            self._together(units)
        elif limit.kind == "order":
            for a, b in pairwise(units):
                model.add_bool_or(self.precedes(a, b))
        elif limit.kind == "first":
            every = range(len(self.blocks))
            model.add_bool_or(self._is_first(number, every) for number in units)
        else:
            self._keep_distances(units, limit.kind == "offset")

    def _keep_distances(self, units: Sequence[int], from_start: bool) -> None:
        """State that units stay at their distance from the first of them, or from the start of the struct."""
        begins = {}
        end = 0
        for number, block in enumerate(self.blocks):
            row = end % block.unit.period
            begins[number] = end + block.unit.gaps[row]
            end = begins[number] + block.unit.lengths[row]
        for number in units:
            start = self.blocks[number].start
            origin = 0 if from_start else self.blocks[units[0]].start
            distance = begins[number] - (0 if from_start else begins[units[0]])
            self.model.add(start - origin == distance)

    def _hole_bytes(self, demand: HoleBytes, enforced: Sequence[LiteralT]) -> None:
        if self.arrangement.grain != _BYTE or any(block.step is None for block in self.blocks):
            raise CannotState("bit-fields leave holes of bits")
        self._add(sum(block.gap for block in self.blocks) <= demand.most, enforced)


_STATE: dict[type, Callable[..., None]] = {
    Apart: Program._apart,
    AtDistance: Program._at_distance,
    Before: Program._before,
    Between: Program._between,
    FewLines: Program._few_lines,
    HoleBytes: Program._hole_bytes,
    LineBegins: Program._line_begins,
    OnOneLine: Program._on_one_line,
    SideBySide: Program._side_by_side,
}


def order_at(begins: Sequence[int], ends: Sequence[int]) -> tuple[int, ...]:
    """Return the order of units that begin and end at some grains.

    An empty one stands before the one at its place.
    """
    keys = sorted(zip(begins, ends, range(len(begins)), strict=True))
    return tuple(number for _, _, number in keys)


def unmoved(order: Sequence[int], weights: Sequence[int]) -> frozenset[int]:
    """Return the units that stay: the heaviest increasing subsequence of an order."""
    best: list[tuple[int, int | None]] = []
    for at, number in enumerate(order):
        before = [(best[i][0], i) for i in range(at) if order[i] < number]
        weight, previous = max(before, key=lambda each: each[0], default=(0, None))
        best.append((weight + weights[number], previous))
    last: int | None = max(range(len(best)), key=lambda at: best[at][0], default=None)
    kept = []
    while last is not None:
        kept.append(order[last])
        last = best[last][1]
    return frozenset(kept)
