"""The members of a struct as units that can stand in any order, and the layout of each order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import gcd
from types import MappingProxyType

from layoutlint.geometry.layout import Place, named_members
from layoutlint.model import possible_alignments
from layoutlint.model.declared import Member
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct, fields_in_braces, place_unnamed_bits
from layoutlint.randstruct.c_abi import CannotLayOut, MemberLayout, Rules, round_up
from layoutlint.randstruct.variants import Way

_BYTE = 8
_MOST_ROWS = 1 << 20
"""The most rows of the tables of all units; a million takes seconds."""


class MemberUnit(Record, frozen=True):
    """A member, or a run of bit-fields or of what else stays together, which moves as a whole.

    Its layout depends on where the unit before it ends, and repeats with the alignment. Each table has a row
    for each residue of that end; numbers are in grains of the arrangement.
    """

    members: tuple[int, ...]
    """Positions in `Way.members`."""
    fields: tuple[int, ...]
    """Positions in `Struct.fields`, without unnamed bit-fields."""
    gaps: tuple[int, ...]
    """Padding before the unit."""
    lengths: tuple[int, ...]
    """From the first to the end of the last member."""
    starts: tuple[tuple[int, ...], ...]
    """Bits from the end of the unit before to each of `fields`."""

    @property
    def period(self) -> int:
        """The number of rows of the tables."""
        return len(self.gaps)

    @property
    def is_plain(self) -> bool:
        """Whether the unit starts at the next multiple of its alignment, and always looks the same."""
        gaps = tuple(-row % self.period for row in range(self.period))
        return self.gaps == gaps and len(set(self.lengths)) == 1


class Opened(Record, frozen=True):
    """A struct without a name whose members can stand in any order in it."""

    way: Way
    inner: Mapping[int, Opened]
    """Those in it, by their position in its fields."""
    runs: tuple[tuple[int, ...], ...] = ()
    """The members of each unit and opened struct in it, as positions in `Way.members`; empty for `_runs`."""


class Level(Record, frozen=True):
    """The units that stand side by side in the braces of the struct, or of an opened one in it."""

    way: Way
    nodes: tuple[int | Level, ...]
    """Units by their number, and opened structs; in their declared order."""
    member: int
    """The position of the opened struct in the `Way.members` around it; 0 for the struct itself."""
    number: int
    """The number of the opened struct, which follow those of the units; -1 for the struct itself."""
    align: int
    """In bytes."""

    @property
    def units(self) -> tuple[int, ...]:
        """The units in it, at any depth."""
        return tuple(
            unit for node in self.nodes for unit in ((node,) if isinstance(node, int) else node.units)
        )

    @property
    def inner(self) -> tuple[Level, ...]:
        """The opened structs in it, at any depth; those around others first."""
        own = (node for node in self.nodes if isinstance(node, Level))
        return tuple(level for each in own for level in (each, *each.inner))

    @property
    def groups_around(self) -> dict[int, tuple[int, ...]]:
        """The opened structs in it around each unit, by their numbers, the outermost first."""
        around: dict[int, tuple[int, ...]] = {}
        for node in self.nodes:
            if isinstance(node, int):
                around[node] = ()
            else:
                around |= {unit: (node.number, *path) for unit, path in node.groups_around.items()}
        return around

    @property
    def nesting(self) -> tuple[object, ...]:
        """Its nodes, and the alignments of opened structs: what of it decides on layouts of units."""
        nodes = (node if isinstance(node, int) else node.nesting for node in self.nodes)
        return (self.align, *nodes)

    def in_order(self, places: Mapping[int, int]) -> list[int | Level]:
        """Return its nodes by the places of the units in an order."""
        return sorted(self.nodes, key=lambda node: places[node if isinstance(node, int) else node.units[0]])


class Arrangement(Record, frozen=True):
    """A struct with the units that its members form, in their declared order.

    Members of opened structs are fields of `struct`: C names them alike.
    """

    struct: Struct
    """The struct with the members of opened structs in their place."""
    declared: Struct
    """The struct as it is declared."""
    opened: Mapping[int, Opened]
    """The opened structs, by their position in the fields of `declared`."""
    top: Level
    units: tuple[MemberUnit, ...]
    grain: int
    """Bits in a grain, in which units begin and end: 1 if several runs of bit-fields can meet in one byte.

    Else at least 8, and more if all lengths are multiples of it: the search is faster with fewer places.
    """
    last: int | None
    """The unit that must stay last, because it ends in a flexible array; None for none."""
    align: int
    """The alignment of the struct in bytes, in every order."""
    together: tuple[tuple[int, ...], ...] = ()
    """The fields of each declaration with several, as `long a, b;`."""

    @property
    def way(self) -> Way:
        """The declaration of the struct."""
        return self.top.way

    @property
    def groups(self) -> tuple[Level, ...]:
        """The opened structs: their units stay together."""
        return self.top.inner

    @property
    def groups_of_fields(self) -> tuple[tuple[int, int], ...]:
        """For each opened struct its first field, and the one behind its last; those around others first."""
        fields = [[at for unit in group.units for at in self.units[unit].fields] for group in self.groups]
        return tuple((own[0], own[-1] + 1) for own in fields)

    def group_name(self, group: Level) -> str:
        """Return the name of an opened struct: that of its first member with a name, in braces."""
        own = [node for node in group.nodes if isinstance(node, int)]
        fields = [self.struct.fields[at] for unit in (*own, *group.units) for at in self.units[unit].fields]
        inside = (path for field in fields for path, _ in fields_in_braces((field,)))
        name = next((field.name for field in fields if field.name is not None), None) or next(inside, "")
        return f"{{{name}}}"

    def unit_of(self, position: int) -> int:
        """Return the unit of a field, by its position in `Struct.fields`."""
        return next(number for number, unit in enumerate(self.units) if position in unit.fields)

    def member_of(self, place: Place) -> tuple[int, int]:
        """Return the member that a field is, or is a part of, and the bits from its start to the field.

        The member is a position in `Struct.fields`. Raises CannotLayOut for a field of another struct.
        """
        name = place.path.split(".")[0].split("[")[0]
        for position, field in enumerate(self.struct.fields):
            if field.name == name or (field.name is None and _has_member(field, name)):
                return position, place.bit_offset - field.bit_offset
        raise CannotLayOut(f"`{place.path}` is in no member of the struct")

    def bits_of(self, place: Place, begin: int) -> tuple[int, int]:
        """Return the first and the last bit of a field if the unit before its own ends at some grain."""
        position, inner = self.member_of(place)
        unit = self.units[self.unit_of(position)]
        starts = unit.starts[begin % unit.period]
        first = begin * self.grain + starts[unit.fields.index(position)] + inner
        return first, first + max(place.bit_size or 0, 1) - 1

    def bytes_touched(self, unit: MemberUnit) -> tuple[int, ...]:
        """Return the bytes that the fields of a unit touch, for each row of its tables.

        A byte that the unit before may touch does not count.
        """
        return tuple(
            _bytes_covered(self._spans(unit, row), -(-row * self.grain // _BYTE))
            for row in range(unit.period)
        )

    def _spans(self, unit: MemberUnit, row: int) -> Iterator[tuple[int, int]]:
        """Yield the first bits of fields and those behind them; of anonymous members those inside."""
        for at, start in zip(unit.fields, unit.starts[row], strict=True):
            field = self.struct.fields[at]
            begin = row * self.grain + start
            for place in named_members((replace(field, bit_offset=begin),), "", 0, False):
                yield place.bit_offset, place.bit_offset + (place.bit_size or 0)

    def covered_bits(self, field: Field) -> int:
        """Return the bits from the start of a member to the end of the last field in it."""
        places = named_members((replace(field, bit_offset=0),), "", 0, False)
        return max((place.bit_offset + (place.bit_size or 0) for place in places), default=0)

    @property
    def markers(self) -> tuple[int, ...]:
        """The arrays without a length before other members: behind them, they would be flexible."""
        return tuple(
            number
            for number, unit in enumerate(self.units)
            if number != self.last and unit.fields and ends_open(self.struct.fields[unit.fields[-1]])
        )

    def field_order(self, order: Sequence[int]) -> list[int]:
        """Return the positions of the fields in an order of the units."""
        return [position for number in order for position in self.units[number].fields]

    def walk(self, order: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
        """Yield each unit and opened struct of an order by its number: begin, start and end in grains.

        `begin` is where the one before it ends. An opened struct comes behind its units.
        """
        places = {number: at for at, number in enumerate(order)}
        yield from self._walk(self.top, places, 0)

    def _walk(self, level: Level, places: Mapping[int, int], end: int) -> Iterator[tuple[int, int, int, int]]:
        for node in level.in_order(places):
            begin = end
            if isinstance(node, int):
                unit = self.units[node]
                row = begin % unit.period
                start = begin + unit.gaps[row]
                end = start + unit.lengths[row]
                yield node, begin, start, end
                continue
            step = node.align * _BYTE // self.grain
            start = end = round_up(begin, step)
            for each in self._walk(node, places, start):
                end = each[-1]
                yield each
            end = round_up(end, step)
            yield node.number, begin, start, end

    def count_holes(self, order: Sequence[int]) -> int:
        """Return the number of units and opened structs with unused bytes before them."""
        return sum((start - begin) * self.grain >= _BYTE for _, begin, start, _ in self.walk(order))

    def lay_out(self, order: Sequence[int]) -> Struct:
        """Return the struct as it is declared with its units in an order."""
        places = {number: at for at, number in enumerate(order)}
        fields, layout = self._lay_out_level(self.top, self.declared.fields, places)
        return possible_alignments.reorder(self.declared, fields, layout.bit_size, layout.align)

    def _lay_out_level(
        self, level: Level, fields: Sequence[Field], places: Mapping[int, int]
    ) -> tuple[tuple[Field, ...], MemberLayout]:
        way = level.way
        members: list[Member] = []
        new: list[Field | None] = []
        for node in level.in_order(places):
            for position in self.units[node].members if isinstance(node, int) else (node.member,):
                member, at = way.members[position], way.fields[position]
                field = None if at is None else fields[at]
                if field is not None and isinstance(node, Level):
                    inner, layout = self._lay_out_level(node, field.members, places)
                    field = replace(field, members=inner, bit_size=layout.bit_size)
                    member = replace(member, bit_size=layout.bit_size)
                members.append(member)
                new.append(field)
        layout = way.rules.lay_out(members)
        placed = (
            None if field is None else replace(field, bit_offset=offset)
            for field, offset in zip(new, layout.offsets, strict=True)
        )
        widths = (member.bit_size or 0 for member in members)
        return place_unnamed_bits(zip(placed, layout.offsets, widths, strict=True)), layout

    def flatten(self, struct: Struct) -> Struct:
        """Return the struct in some order with the members of opened structs in their place."""
        names = {
            frozenset(_names_inside(field)) for field in _fields_to_open(self.declared.fields, self.opened)
        }
        return replace(struct, fields=tuple(_flat_fields(struct.fields, names, 0)))

    def lay_out_flat(self, order: Sequence[int]) -> Struct:
        """Return the struct with its units in an order, and the members of opened structs in their place."""
        return self.flatten(self.lay_out(order))


def arrange(
    struct: Struct,
    way: Way,
    runs: Sequence[tuple[int, ...]] = (),
    opened: Mapping[int, Opened] = MappingProxyType({}),
) -> Arrangement:
    """Return the units of a struct that is declared in a way. Raises CannotLayOut.

    `runs` are the members of each unit, as positions in `Way.members`; without them only bit-fields in a row
    are one unit. `opened` are structs without a name in it whose members are units, too.
    """
    every = [Opened(way, opened, tuple(runs)), *_opened_inside(opened)]
    ways = [each.way for each in every]
    lists = [_runs_of(each) for each in every]
    aligns = [each.lay_out(range(len(each.members))).align for each in ways]
    has_several = any(
        sum(any(each.members[member].unit for member in run) for run in own) > 1
        for each, own in zip(ways, lists, strict=True)
    )
    grain = 1 if has_several else _BYTE
    # A packed struct can have a smaller alignment than `int : 0` in it.
    wanted = [max(one.align or 1, one.requested_align or 1) for each in ways for one in each.members]
    most = max([*aligns, *wanted]) * _BYTE
    if most // grain * sum(len(each.members) for each in ways) > _MOST_ROWS:
        raise CannotLayOut(f"too many orders differ: it needs an alignment of {most // _BYTE:,} bytes")
    builder = _UnitBuilder(most // grain, grain, [])
    top = builder.level(every[0])
    if (coarse := _coarse_grain(builder.units, grain, min(aligns) * _BYTE)) > grain:
        grain = coarse
        builder = _UnitBuilder(most // grain, grain, [])
        top = builder.level(every[0])
    units = tuple(builder.units)
    top = _with_numbers(top, iter(range(len(units), len(units) + len(ways))))
    last = len(units) - 1 if units and struct.fields and ends_open(struct.fields[-1]) else None
    names = {frozenset(_names_inside(field)) for field in _fields_to_open(struct.fields, opened)}
    flat = replace(struct, fields=tuple(_flat_fields(struct.fields, names, 0)))
    return Arrangement(flat, struct, opened, top, units, grain, last, aligns[0])


def _coarse_grain(units: Sequence[MemberUnit], grain: int, most: int) -> int:
    """Return the largest power of two, at most `most` bits, in which all units begin and end in any order."""
    if grain < _BYTE or not all(unit.is_plain for unit in units):
        return grain
    length = gcd(*(unit.lengths[0] for unit in units)) * grain
    return min(length & -length or most, most)


class _UnitBuilder(Record):
    """Makes units, and the levels at which they stand."""

    period: int
    grain: int
    units: list[MemberUnit]
    fields: int = 0
    """The number of fields so far."""

    def level(self, opened: Opened) -> Level:
        """Return the nodes of a struct's members; adds their units."""
        way = opened.way
        nodes: list[int | Level] = []
        for run in _runs_of(opened):
            at = way.fields[run[0]]
            inner = None if at is None else opened.inner.get(at)
            if inner is not None:
                nodes.append(replace(self.level(inner), member=run[0]))
                continue
            unit = _unit(way, run, self.period, self.grain)
            count = len(unit.fields)
            fields = tuple(range(self.fields, self.fields + count))
            self.fields += count
            nodes.append(len(self.units))
            self.units.append(replace(unit, fields=fields))
        align = way.lay_out(range(len(way.members))).align
        return Level(way, tuple(nodes), 0, -1, align)


def _with_numbers(level: Level, numbers: Iterator[int]) -> Level:
    """Return a level whose opened structs have numbers, those around others first."""
    nodes = []
    for node in level.nodes:
        if isinstance(node, Level):
            node = _with_numbers(replace(node, number=next(numbers)), numbers)
        nodes.append(node)
    return replace(level, nodes=tuple(nodes))


def _opened_inside(opened: Mapping[int, Opened]) -> Iterator[Opened]:
    for _, each in sorted(opened.items()):
        yield each
        yield from _opened_inside(each.inner)


def _runs_of(opened: Opened) -> tuple[tuple[int, ...], ...]:
    return opened.runs or tuple(_runs(opened.way))


def join_units(arrangement: Arrangement, numbers: Sequence[int]) -> Arrangement | None:
    """Return the arrangement with units of one number as one; None if those do not stand side by side.

    `numbers` has the number of each unit.
    """
    if len(set(numbers)) == len(numbers):
        return arrangement
    whole = _with_runs(arrangement, arrangement.top, Opened(arrangement.way, arrangement.opened), numbers)
    joined = arrange(arrangement.declared, whole.way, whole.runs, whole.inner)
    joined = replace(joined, together=arrangement.together)
    return joined if len(joined.units) == len(set(numbers)) else None


def join_declarations(arrangement: Arrangement, together: Sequence[tuple[int, ...]]) -> Arrangement:
    """Return the arrangement in which each declaration of several fields is one unit.

    One whose fields are units that do not stand side by side stays as it is.
    """
    numbers = list(range(len(arrangement.units)))
    unit_of = {at: number for number, unit in enumerate(arrangement.units) for at in unit.fields}
    for fields in together:
        own = {numbers[unit_of[at]] for at in fields}
        joined = [min(own) if number in own else number for number in numbers]
        if own == set(numbers[min(own) : max(unit_of[at] for at in fields) + 1]):
            numbers = joined
    return replace(join_units(arrangement, numbers) or arrangement, together=tuple(together))


def _with_runs(arrangement: Arrangement, level: Level, opened: Opened, numbers: Sequence[int]) -> Opened:
    """Return an opened struct with runs of units with one number."""
    runs: list[tuple[int, ...]] = []
    inner: dict[int, Opened] = {}
    previous = None
    for node in level.nodes:
        if isinstance(node, Level):
            at = level.way.fields[node.member] or 0
            inner[at] = _with_runs(arrangement, node, opened.inner[at], numbers)
            runs.append((node.member,))
            previous = None
        elif numbers[node] == previous:
            runs[-1] += arrangement.units[node].members
        else:
            runs.append(arrangement.units[node].members)
            previous = numbers[node]
    return Opened(opened.way, inner, tuple(runs))


def _fields_to_open(fields: Sequence[Field], opened: Mapping[int, Opened]) -> Iterator[Field]:
    """Yield the fields that are opened, at any depth."""
    for position, each in opened.items():
        yield fields[position]
        yield from _fields_to_open(fields[position].members, each.inner)


def _names_inside(field: Field) -> Iterator[str]:
    """Yield the names in a struct without a name, which no other one in the struct has."""
    return (path for path, _ in fields_in_braces(field.members))


def _flat_fields(fields: Sequence[Field], opened: Collection[frozenset[str]], start: int) -> Iterator[Field]:
    """Yield fields with the members of opened structs in their place, from the start of the outer struct."""
    for field in fields:
        offset = start + field.bit_offset
        if field.name is None and opened and frozenset(_names_inside(field)) in opened:
            yield from _flat_fields(field.members, opened, offset)
        else:
            yield replace(field, bit_offset=offset)


def _runs(way: Way) -> Iterator[tuple[int, ...]]:
    """Yield the members that stay together: all bit-fields in a row, else each by itself.

    A bit-field without a name belongs to the member before it, or else to the one behind it.
    """
    run: list[int] = []
    for position, member in enumerate(way.members):
        is_unnamed = way.fields[position] is None
        has_name = any(way.fields[each] is not None for each in run)
        if has_name and not is_unnamed and not (member.unit and way.members[run[-1]].unit):
            yield tuple(run)
            run = []
        run.append(position)
    if run:
        yield tuple(run)


def ends_open(field: Field) -> bool:
    """Return whether a member ends in a flexible array, at any depth."""
    if field.is_flexible:
        return True
    inner = field.members if field.aggregate == "union" else field.members[-1:]
    return not field.dims and any(ends_open(member) for member in inner)


def _has_member(field: Field, name: str) -> bool:
    """Return whether an anonymous member has a member of a name, at any depth of anonymous ones."""
    return any(
        member.name == name or (member.name is None and _has_member(member, name)) for member in field.members
    )


def _bytes_covered(spans: Iterable[tuple[int, int]], least: int) -> int:
    """Return the number of bytes from a least one on that some bits touch."""
    count, reached = 0, least
    for start, end in sorted(spans):
        first, stop = max(start // _BYTE, reached), -(-end // _BYTE)
        if start < end and stop > first:
            count += stop - first
            reached = stop
    return count


def _unit(way: Way, run: tuple[int, ...], period: int, grain: int) -> MemberUnit:
    """Return the unit of some members, with the shortest tables that describe it."""
    rows = [_row(way.rules, way, run, residue * grain, grain) for residue in range(period)]
    shortest = next(
        size
        for size in range(1, period + 1)
        if period % size == 0
        and size * grain % _BYTE == 0
        and all(row == rows[number % size] for number, row in enumerate(rows))
    )
    gaps, lengths, starts = zip(*rows[:shortest], strict=True)
    fields = tuple(at for member in run if (at := way.fields[member]) is not None)
    return MemberUnit(run, fields, gaps, lengths, starts)


def _row(
    rules: Rules, way: Way, run: tuple[int, ...], end: int, grain: int
) -> tuple[int, int, tuple[int, ...]]:
    """Return padding, length and starts of a unit after one that ends at bit `end`."""
    at, first, starts = end, None, []
    for position in run:
        start = rules.start(way.members[position], at)
        first = start if first is None else first
        if way.fields[position] is not None:
            starts.append(start - end)
        at = start + (way.members[position].bit_size or 0)
    begin = ((first or 0) - end) // grain
    return begin, -(-(at - end) // grain) - begin, tuple(starts)
