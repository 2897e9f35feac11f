"""The orders of a struct's units in one build as a constraint program (CP-SAT of OR-tools).

Each unit fills a block: its padding and its bytes. Blocks do not overlap, and their lengths add up to the end
of the last one, so they leave no gap: the layout is exactly the one that a compiler gives to their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import IntVar, LinearExprT, LiteralT

from layoutlint.geometry.layout import Place
from layoutlint.model.record import Record
from layoutlint.randstruct.c_abi import round_up
from layoutlint.suggestion.orders.arrangement import Arrangement, Level, MemberUnit
from layoutlint.suggestion.orders.limits import Limit

_BYTE = 8


class GroupBlock(Record, frozen=True):
    """The variables of an opened struct, in grains."""

    begin: IntVar
    """Where the unit before it ends, and its padding begins."""
    gap: IntVar
    step: IntVar
    """Where it starts, in multiples of its alignment."""
    start: LinearExprT
    reached: IntVar
    """Where the last unit in it ends."""
    end_step: IntVar
    """Where it ends with its own padding, in multiples of its alignment."""
    end: LinearExprT
    span: IntVar
    """Padding before it, and its bytes."""


class Block(Record, frozen=True):
    """The variables of a unit, in grains."""

    unit: MemberUnit
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

    def __init__(
        self, arrangement: Arrangement, model: cp_model.CpModel, literal: Callable[[int, int], LiteralT]
    ) -> None:
        """`literal` returns the variable for which a unit or opened struct stands before one that is
        declared behind it.
        """
        self.arrangement = arrangement
        self.model = model
        self._literal = literal
        units = arrangement.units
        self.horizon = sum(max(map(sum, zip(unit.gaps, unit.lengths, strict=True))) for unit in units)
        self.horizon += sum(2 * (self._step(group) - 1) for group in arrangement.groups)
        self._most_bytes = max(self.horizon, self.horizon * arrangement.grain // _BYTE)
        self.blocks = [self._block(number, unit) for number, unit in enumerate(units)]
        self.groups = {group.number: self._group_block(group) for group in arrangement.groups}
        self._around = arrangement.top.groups_around
        self._precedes: dict[tuple[int, int], LiteralT] = {}
        self._extents: dict[Place, Extent] = {}
        self._lines: dict[tuple[int, bool, int, int], IntVar] = {}
        """Lines of bytes, by the identity of an extent that is kept in `_extents`."""
        self.end = self._tile()
        self.size = self._size()
        """The size of the struct in bytes."""

    def state_ends(self) -> None:
        """State which units can be last: a flexible array must, and others must not be one."""
        arrangement, units = self.arrangement, self.arrangement.units
        if arrangement.last is not None:
            for number in range(len(units) - 1):
                self.model.add(self.precedes(number, arrangement.last) == 1)
        others = {number for number, unit in enumerate(units) if unit.fields} - set(arrangement.markers)
        for marker in arrangement.markers if others else ():
            self.model.add_bool_or(self.precedes(marker, other) for other in sorted(others))

    def _block(self, number: int, unit: MemberUnit) -> Block:
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

    def _step(self, group: Level) -> int:
        """Return the alignment of an opened struct in grains."""
        return group.align * _BYTE // self.arrangement.grain

    def _group_block(self, group: Level) -> GroupBlock:
        model, align, number = self.model, self._step(group), group.number
        begin, reached, span = (
            model.new_int_var(0, self.horizon, f"{name}{number}") for name in ("begin", "reached", "span")
        )
        gap = model.new_int_var(0, align - 1, f"gap{number}")
        step, end_step = (
            model.new_int_var(0, self.horizon // align, f"{name}{number}") for name in ("step", "end_step")
        )
        model.add(begin + gap == step * align)
        model.add(end_step * align >= reached)
        model.add(end_step * align <= reached + align - 1)
        return GroupBlock(begin, gap, step, step * align, reached, end_step, end_step * align, span)

    def block(self, number: int) -> Block | GroupBlock:
        """Return the variables of a unit or an opened struct."""
        return self.blocks[number] if number < len(self.blocks) else self.groups[number]

    def _tile(self) -> IntVar:
        """Let the blocks follow one another without gaps; return where the last one ends."""
        end = self.model.new_int_var(0, self.horizon, "end")
        self._tile_level(self.arrangement.top, 0, end)
        return end

    def _tile_level(self, level: Level, start: LinearExprT, end: IntVar) -> None:
        """Let the blocks of a level fill the room from its start to where its last one ends."""
        model, intervals, spans = self.model, [], []
        for node in level.nodes:
            number = node if isinstance(node, int) else node.number
            block = self.block(number)
            model.add(block.span == block.end - block.begin)
            intervals.append(model.new_interval_var(block.begin, block.span, block.end, f"interval{number}"))
            model.add(block.end <= end)
            if level.number >= 0:
                model.add(block.begin >= start)
            spans.append(block.span)
            if isinstance(node, Level):
                own = self.groups[number]
                self._tile_level(node, own.start, own.reached)
        model.add_no_overlap(intervals)
        model.add(sum(spans) == end - start)

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

    def hint(self, order: Sequence[int]) -> dict[int, int]:
        """Let the search start with an order; return where each unit and opened struct ends, in grains."""
        model = self.model
        ends: dict[int, int] = {}
        last = 0
        for number, begin, start, end in self.arrangement.walk(order):
            block = self.block(number)
            values = {block.begin: begin, block.gap: start - begin, block.span: end - begin}
            if isinstance(block, GroupBlock):
                align = self._step(self._group(number))
                values |= {block.step: start // align, block.end_step: end // align, block.reached: last}
            elif block.step is not None:
                values[block.step] = start // block.unit.period
            elif block.residue is not None:
                row = begin % block.unit.period
                values |= {block.residue: row, block.length: end - start, block.end: end}
            for variable, value in values.items():
                model.add_hint(variable, value)
            ends[number] = last = end
        size = round_up(last * self.arrangement.grain, self.arrangement.align * _BYTE) // _BYTE
        model.add_hint(self.end, last)
        model.add_hint(self._steps, size // self.arrangement.align)
        model.add_hint(self.size, size)
        return ends

    def _group(self, number: int) -> Level:
        return next(group for group in self.arrangement.groups if group.number == number)

    def precedes(self, a: int, b: int) -> LiteralT:
        """Return the literal for which unit `a` stands before unit `b`."""
        first, second = self._side_by_side(a, b)
        return self._node_precedes(first, second)

    def _side_by_side(self, a: int, b: int) -> tuple[int, int]:
        """Return two units, or the opened structs with them that stand at one level."""
        paths = (*self._around[a], a), (*self._around[b], b)
        return next((one, other) for one, other in zip(*paths, strict=False) if one != other)

    def are_side_by_side(self, units: Iterable[int]) -> bool:
        """Return whether units stand at one level."""
        return len({self._around[number] for number in units}) < 2

    def _node_precedes(self, a: int, b: int) -> LiteralT:
        firsts = self._first_unit(a), self._first_unit(b)
        if firsts[0] > firsts[1]:
            return self._node_precedes(b, a).negated()
        if (a, b) not in self._precedes:
            literal = self._literal(a, b)
            first, second = self.block(a), self.block(b)
            self.model.add(first.end <= second.begin).only_enforce_if(literal)
            self.model.add(second.end <= first.begin).only_enforce_if(literal.negated())
            self._precedes[a, b] = literal
        return self._precedes[a, b]

    def _first_unit(self, node: int) -> int:
        return node if node < len(self.blocks) else self._group(node).units[0]

    def count_holes(self) -> LinearExprT:
        """Return the number of units and opened structs with unused bytes before them, or more."""
        holes = []
        gaps = [(block.gap, max(block.unit.gaps)) for block in self.blocks]
        gaps += [(self.groups[group.number].gap, self._step(group) - 1) for group in self.arrangement.groups]
        for number, (gap, most) in enumerate(gaps):
            if most:
                is_hole = self.model.new_bool_var(f"hole{number}")
                self.model.add(gap * self.arrangement.grain < _BYTE).only_enforce_if(is_hole.negated())
                holes.append(is_hole)
        return sum(holes)

    def extent(self, place: Place) -> Extent:
        """Return the bytes of a field."""
        if place not in self._extents:
            position, inner = self.arrangement.member_of(place)
            self._extents[place] = self._find_extent(position, inner, place)
        return self._extents[place]

    def extent_of_member(self, position: int) -> Extent:
        """Return the bytes of a member, by its position in `Struct.fields`.

        A flexible array has none; padding at the end of an anonymous member is left out.
        """
        field = self.arrangement.struct.fields[position]
        size = self.arrangement.covered_bits(field)
        return self._find_extent(position, 0, Place("", field.bit_offset, size, field, True))

    def _find_extent(self, position: int, inner: int, place: Place) -> Extent:
        """Return the bytes of a field that begins some bits inside of a member."""
        number = self.arrangement.unit_of(position)
        block, unit = self.blocks[number], self.arrangement.units[number]
        at = unit.fields.index(position)
        if block.step is not None:
            offset = (unit.starts[0][at] - unit.gaps[0] * self.arrangement.grain + inner) // _BYTE
            align = unit.period * self.arrangement.grain // _BYTE
            size = place.end - place.offset
            start = block.step * align
            return Extent(number, start + offset, start + offset + size - 1, offset, size)
        starts = [row[at] + inner for row in unit.starts]
        ends = [start + max(place.bit_size or 0, 1) - 1 for start in starts]
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
        model.add_division_equality(byte, self.variable(block.begin + distance), _BYTE)
        return byte

    def variable(self, expression: LinearExprT, more: int = 0) -> IntVar:
        """Return a variable for an offset and some bytes `more`: remainders and quotients are of one."""
        variable = self.model.new_int_var(0, 2 * self._most_bytes + more, "")
        self.model.add(variable == expression)
        return variable

    def add(self, expression: object, enforced: Sequence[LiteralT]) -> None:
        """State an expression, which holds if all of some literals do."""
        self.model.add(expression).only_enforce_if(*enforced)

    def refuse(self, enforced: Sequence[LiteralT]) -> None:
        """State that not all of some literals hold."""
        self.model.add_bool_or(literal.negated() for literal in enforced)

    def most_lines(self, places: Sequence[Place], bases: Iterable[int], line: int) -> LinearExprT:
        """Return the most lines that fields of an object touch at any of some bases, or more."""
        most = self.model.new_int_var(0, self._most_bytes + 2, "")
        for base in bases:
            self.model.add(most >= self.lines_touched(places, base, line))
        return most

    def line_of(self, end: tuple[Extent, bool], base: int, line: int) -> IntVar:
        """Return the line of the first byte of a field of an object at a base, or of the last one."""
        extent, is_last = end
        key = id(extent), is_last, base, line
        if key not in self._lines:
            most = self.horizon * self.arrangement.grain // _BYTE // line + 1
            number = self.model.new_int_var(0, most, "")
            byte = extent.last if is_last else extent.first
            self.model.add_division_equality(number, self.variable(byte + base, base), line)
            self._lines[key] = number
        return self._lines[key]

    def lines_touched(self, places: Iterable[Place], base: int, line: int) -> LinearExprT:
        """Return the number of lines that fields of an object at a base touch, or more."""
        count = self.horizon * self.arrangement.grain // _BYTE // line + 2
        is_touched = [self.model.new_bool_var("") for _ in range(count)]
        for place in places:
            extent = self.extent(place)
            ends = [self.line_of((extent, is_last), base, line) for is_last in (False, True)]
            for number, literal in enumerate(is_touched):
                is_behind, is_before = self.model.new_bool_var(""), self.model.new_bool_var("")
                self.model.add(ends[0] > number).only_enforce_if(is_behind)
                self.model.add(ends[1] < number).only_enforce_if(is_before)
                self.model.add_bool_or(literal, is_behind, is_before)
        return sum(is_touched)

    def stand_together(self, units: Sequence[int], enforced: Sequence[LiteralT] = ()) -> None:
        """State that no other unit with fields that have bytes stands between some units."""
        for other in range(len(self.blocks)):
            unit = self.arrangement.units[other]
            if other in units or not max(unit.lengths) or not unit.fields:
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

    @property
    def first_moves(self) -> LiteralT:
        """A literal that can be false only if the unit that is declared first stands first."""
        return self._is_first(0, range(len(self.blocks))).negated()

    def limit(self, limit: Limit) -> None:
        """State a limit on the order of units."""
        model, units = self.model, limit.units
        if limit.kind == "before":
            for a, b in product(units, limit.after):
                model.add_bool_or(self.precedes(a, b))
        elif limit.kind == "together":
            self.stand_together(units)
        elif limit.kind == "order":
            for a, b in pairwise(units):
                model.add_bool_or(self.precedes(a, b))
        elif limit.kind == "first":
            every = range(len(self.blocks))
            model.add_bool_or(self._is_first(number, every) for number in units)
        elif limit.kind == "size":
            model.add(self.size == (self.arrangement.struct.bit_size or 0) // _BYTE)
        else:
            self._keep_distances(units, limit.kind == "offset")

    def _keep_distances(self, units: Sequence[int], from_start: bool) -> None:
        """State that units stay at their distance from the first of them, or from the start of the struct."""
        declared = self.arrangement.walk(range(len(self.blocks)))
        begins = {number: start for number, _, start, _ in declared}
        for number in units:
            start = self.blocks[number].start
            origin = 0 if from_start else self.blocks[units[0]].start
            distance = begins[number] - (0 if from_start else begins[units[0]])
            self.model.add(start - origin == distance)

    def bytes_touched(self) -> LinearExprT:
        """Return the number of bytes that fields touch.

        A byte in which two runs of bit-fields meet counts once, also if the first ends in an unnamed one.
        """
        total: LinearExprT = 0
        for block in self.blocks:
            counts = self.arrangement.bytes_touched(block.unit)
            if len(set(counts)) == 1:
                total += counts[0]
            elif block.residue is not None:
                touched = self.model.new_int_var(min(counts), max(counts), "")
                self.model.add_element(block.residue, counts, touched)
                total += touched
        return total
