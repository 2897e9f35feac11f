"""A task as tables of numbers, for the loops that try layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from layoutlint.geometry.layout import Place
from layoutlint.suggestion.orders import layouts
from layoutlint.suggestion.orders.arrangement import Arrangement, Level, MemberUnit
from layoutlint.suggestion.orders.common_order import CommonOrder
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
from layoutlint.suggestion.orders.limits import Limit
from layoutlint.suggestion.orders.moves import Orders
from layoutlint.suggestion.orders.problem import BuildTask, OrderTask, SizeClass

_BYTE = 8
_FAR = 1 << 60
_LIMITS = {
    "before": layouts.BEFORE_ALL, "together": layouts.TOGETHER, "order": layouts.IN_ORDER,
    "first": layouts.FIRST, "offset": layouts.OFFSET, "distance": layouts.SPACING, "size": layouts.SIZE,
}  # fmt: skip


_Rule = tuple[list[list[list[int]]], int, int]
"""The demands of each case, as ten numbers, how many cases may fail, and the number through all builds."""


class Pool:
    """Lists of numbers, one behind the other."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def add(self, values: Iterable[int]) -> tuple[int, int]:
        """Return the place and the number of some values."""
        start = len(self.numbers)
        self.numbers += values
        return start, len(self.numbers) - start


def tokens(order: CommonOrder, units: Sequence[int]) -> tuple[int, ...]:
    """Return an order of the units as tokens: those of opened structs stand between two more."""
    return tuple(_tokens(order, order.top, units))


def _tokens(order: CommonOrder, nodes: Sequence[int], units: Sequence[int]) -> Iterator[int]:
    for node in order.in_order(nodes, units):
        yield node
        group = order.group(node)
        if group is not None:
            yield from _tokens(order, group.nodes, units)
            yield node + len(order.groups)


def orders_of(task: OrderTask, on_step: Callable[[int], None]) -> Orders:
    """Return the loops that try orders of a task; `on_step` gets their work."""
    order = task.order
    count, groups = len(order.members), len(order.groups)
    levels, closing = [0] * (count + 2 * groups), [-1] * (count + 2 * groups)
    for number, nodes in enumerate(order.levels):
        for node in nodes:
            levels[node] = number
    for at in range(groups):
        levels[count + groups + at] = -1
        closing[count + at] = -2
        closing[count + groups + at] = at + 1
    builds = [_Build(task, number).tables for number in range(len(task.builds))]
    return Orders(builds, levels, closing, on_step, task.aims[0] == "contention")


class _Build:
    """The tables of one build."""

    def __init__(self, task: OrderTask, number: int) -> None:
        self._build: BuildTask = task.builds[number]
        self._before = task.builds[:number]
        self._arrangement: Arrangement = self._build.arrangement
        self._units = task.order.units[number]
        self._places: dict[Place, int] = {}
        self._fields: list[tuple[int, int, int]] = []
        self._starts: list[int] = []
        self._pool = Pool()
        self._sizes: dict[int, tuple[int, int]] = {}
        own = dict(zip(self._units, self._arrangement.units, strict=True))
        groups = dict(zip(task.order.own_groups[number], self._arrangement.groups, strict=True))
        first, count = len(task.order.members), len(task.order.groups)
        rows: list[tuple[int, int, int, int]] = []
        every: list[tuple[int, int, int, int]] = []
        for token in range(first + 2 * count):
            node = token if token < first + count else token - count
            added = (
                _unit_rows(self._arrangement, own[node])
                if node in own
                else self._group_rows(groups.get(node))
            )
            if token >= first + count:
                added = [(0, *row[1:]) for row in added]
            unit = own.get(token)
            is_solid = unit is not None and bool(unit.fields) and max(unit.lengths) > 0
            every.append(
                (len(added) - 1, len(rows), int(unit is not None and bool(unit.fields)), int(is_solid))
            )
            rows += added
        classes = [self._class(each) for each in self._build.classes]
        pairs = [(self._demand(pair.apart), pair.weight) for pair in self._build.pairs]
        limits = [self._limit_numbers(each) for each in self._build.limits]
        shape = self._arrangement.grain, self._arrangement.align * _BYTE, self._build.weight
        self.tables = layouts.Tables(every, rows, self._fields, self._starts, shape)
        self._state(classes, pairs)
        self._limit(limits, tokens(task.order, task.order.declared_order()))

    def _group_rows(self, group: Level | None) -> list[tuple[int, int, int, int]]:
        """Return the rows of where an opened struct begins or ends."""
        step = 1 if group is None else group.align * _BYTE // self._arrangement.grain
        return [(-row % step, -row % step, 0, -1) for row in range(step)]

    def _field(self, place: Place) -> int:
        """Return the number of a field in the tables."""
        if place not in self._places:
            position, inner = self._arrangement.member_of(place)
            number = self._arrangement.unit_of(position)
            unit = self._arrangement.units[number]
            at = unit.fields.index(position)
            bits = (place.bit_size or 0) if unit.is_plain else max(place.bit_size or 0, 1)
            self._places[place] = len(self._fields)
            self._fields.append((self._units[number], len(self._starts), bits))
            self._starts += (row[at] + inner for row in unit.starts)
        return self._places[place]

    def _class(self, each: SizeClass) -> list[_Rule]:
        """Return the rules at some sizes."""
        before = sum(build.rules for build in self._before)
        every: list[_Rule] = []
        for rule in range(self._build.rules):
            number = before + rule
            if rule in each.impossible:
                every.append(([[self._impossible(rule)]], 0, number))
            elif rule in each.tolerated:
                by_base, most = each.tolerated[rule]
                every.append(([[self._demand(one) for one in own] for own in by_base], most, number))
            elif rule in each.demands:
                every.append(([[self._demand(one) for one in each.demands[rule]]], 0, number))
        return every

    def _impossible(self, rule: int) -> list[int]:
        """Return the ten numbers of what holds at other sizes of the struct alone."""
        if rule not in self._sizes:
            classes = (each for each in self._build.classes if rule not in each.impossible)
            self._sizes[rule] = self._pool.add(sorted(size for each in classes for size in each.sizes))
        return [layouts.NEVER, 0, 0, *self._sizes[rule], *[0] * 5]

    def _demand(self, demand: Demand) -> list[int]:
        """Return the ten numbers of a demand."""
        kind, fields, bases, line, low, high = _DEMANDS[type(demand)](demand, self._pool, self._field)
        return [kind, *fields, *bases, line, low, high]

    def _state(self, classes: Sequence[Sequence[_Rule]], pairs: Sequence[tuple[list[int], int]]) -> None:
        """Hand the rules to the tables, and the pairs that contend, with their weights."""
        sizes = [(size, at) for at, each in enumerate(self._build.classes) for size in each.sizes or (-1,)]
        ends = list(accumulate((4 * len(each) for each in classes), initial=2 * len(classes)))
        rules: list[tuple[int, ...]] = list(pairwise(ends))
        cases, demands = [0], list[list[int]]()
        for own, most, number in (each for every in classes for each in every):
            first = len(cases) - 1
            for case in own:
                demands += case
                cases.append(len(demands))
            rules.append((first, len(cases) - 1, most, number))
        numbered = [(len(demands) + at, weight) for at, (_, weight) in enumerate(pairs)]
        demands += (demand for demand, _ in pairs)
        self.tables.state_rules(sizes, rules, cases, demands, numbered, self._pool.numbers)

    def _limit(self, limits: Sequence[Sequence[int]], declared: Sequence[int]) -> None:
        """Hand the limits to the tables."""
        arrangement = self._arrangement
        last = -1 if arrangement.last is None else self._units[arrangement.last]
        others = {number for number, unit in enumerate(arrangement.units) if unit.fields} - {
            *arrangement.markers
        }
        markers = [self._units[number] for number in arrangement.markers] if others else []
        size = (arrangement.struct.bit_size or 0) // _BYTE
        self.tables.state_limits(limits, last, markers, declared, size)

    def _limit_numbers(self, limit: Limit) -> tuple[int, ...]:
        units = self._pool.add(self._units[number] for number in limit.units)
        return (_LIMITS[limit.kind], *units, *self._pool.add(self._units[number] for number in limit.after))


def _unit_rows(arrangement: Arrangement, unit: MemberUnit) -> list[tuple[int, int, int, int]]:
    """Return the rows of a unit: gap, gap and bytes, bytes that fields touch, bits to the end of the last."""
    touched = arrangement.bytes_touched(unit)
    fields = [arrangement.struct.fields[at] for at in unit.fields]
    covered = [arrangement.covered_bits(field) for field in fields]
    rows = []
    for row, (gap, length) in enumerate(zip(unit.gaps, unit.lengths, strict=True)):
        ends = (start + bits for start, bits in zip(unit.starts[row], covered, strict=True) if bits)
        rows.append((gap, gap + length, touched[row], max(ends, default=-1)))
    return rows


_Find = Callable[[Place], int]
_Stated = tuple[int, tuple[int, int, int, int], tuple[int, int], int, int, int]
"""Kind, two fields, others and their number, bases and their number, line, two numbers."""


def _state_apart(one: Apart, pool: Pool, find: _Find) -> _Stated:
    fields = (find(one.a), find(one.b), 0, 0)
    return layouts.APART, fields, pool.add(one.bases), one.line, one.step, int(one.step_is_size)


def _state_on_one_line(one: OnOneLine, pool: Pool, find: _Find) -> _Stated:
    fields = (0, 0, *pool.add(map(find, one.places)))
    return layouts.ON_ONE_LINE, fields, pool.add(one.bases), one.line, 1, 0


def _state_few_lines(one: FewLines, pool: Pool, find: _Find) -> _Stated:
    fields = (0, 0, *pool.add(map(find, one.places)))
    return layouts.FEW_LINES, fields, pool.add(one.bases), one.line, one.most, 0


def _state_line_begins(one: LineBegins, pool: Pool, find: _Find) -> _Stated:
    return layouts.LINE_BEGINS, (find(one.place), 0, 0, 0), pool.add(one.bases), one.line, one.bit, 0


def _state_within(one: Within, pool: Pool, find: _Find) -> _Stated:
    return layouts.WITHIN, (find(one.place), 0, 0, 0), pool.add(one.bases), one.line, 0, 0


def _state_between(one: Between, pool: Pool, find: _Find) -> _Stated:
    return layouts.BETWEEN, (find(one.place), 0, 0, 0), (0, 0), 0, one.low, one.high


def _state_before(one: Before, pool: Pool, find: _Find) -> _Stated:
    kind = layouts.NEVER if one.a.is_flexible else layouts.BEFORE
    return kind, (find(one.a), find(one.b), 0, 0), (0, 0), 0, 0, 0


def _state_at_distance(one: AtDistance, pool: Pool, find: _Find) -> _Stated:
    least, most = one.least or 0, _FAR if one.most is None else one.most
    return layouts.DISTANCE, (find(one.a), find(one.b), 0, 0), (0, 0), 0, least, most


def _state_side_by_side(one: SideBySide, pool: Pool, find: _Find) -> _Stated:
    own = [find(place) for place in one.places]
    aligns = [place.field.align or 1 for place in one.places]
    start, _ = pool.add((*own, *aligns, *map(find, one.others)))
    most = -1 if one.max_gap is None else one.max_gap
    return layouts.SIDE_BY_SIDE, (0, 0, start, len(own)), (0, 0), 0, most, len(one.others)


def _state_hole_bytes(one: HoleBytes, pool: Pool, find: _Find) -> _Stated:
    return layouts.HOLES, (0, 0, 0, 0), (0, 0), 0, one.most, 0


_DEMANDS: dict[type, Callable[..., _Stated]] = {
    Apart: _state_apart,
    AtDistance: _state_at_distance,
    Before: _state_before,
    Between: _state_between,
    FewLines: _state_few_lines,
    HoleBytes: _state_hole_bytes,
    LineBegins: _state_line_begins,
    OnOneLine: _state_on_one_line,
    SideBySide: _state_side_by_side,
    Within: _state_within,
}
