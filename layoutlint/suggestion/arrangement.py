"""The members of a struct as units that can stand in any order, and the layout of each order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from layoutlint.geometry.layout import Place, named_members
from layoutlint.model import possible_alignments
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct
from layoutlint.randstruct.c_abi import CannotLayOut, Rules
from layoutlint.randstruct.variants import Way

_BYTE = 8


class Unit(Record, frozen=True):
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


class Arrangement(Record, frozen=True):
    """A struct with the units that its members form, in their declared order."""

    struct: Struct
    way: Way
    units: tuple[Unit, ...]
    grain: int
    """Bits in a grain: 8, or 1 if several runs of bit-fields can meet in one byte."""
    last: int | None
    """The unit that must stay last, because it ends in a flexible array; None for none."""
    align: int
    """The alignment of the struct in bytes, in every order."""

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

    def bytes_touched(self, unit: Unit) -> tuple[int, ...]:
        """Return the bytes that the fields of a unit touch, for each row of its tables.

        A byte that the unit before may touch does not count.
        """
        return tuple(
            _bytes_covered(self._spans(unit, row), -(-row * self.grain // _BYTE))
            for row in range(unit.period)
        )

    def _spans(self, unit: Unit, row: int) -> Iterator[tuple[int, int]]:
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
            if number != self.last and unit.fields and _is_open(self.struct.fields[unit.fields[-1]])
        )

    def field_order(self, order: Sequence[int]) -> list[int]:
        """Return the positions of the fields in an order of the units."""
        return [position for number in order for position in self.units[number].fields]

    def count_holes(self, order: Sequence[int]) -> int:
        """Return the number of units with unused bytes before them."""
        end = holes = 0
        for number in order:
            unit = self.units[number]
            row = end % unit.period
            holes += unit.gaps[row] * self.grain >= _BYTE
            end += unit.gaps[row] + unit.lengths[row]
        return holes

    def lay_out(self, order: Sequence[int]) -> Struct:
        """Return the struct with its units in an order."""
        members = [position for number in order for position in self.units[number].members]
        layout = self.way.lay_out(members)
        positions = [self.way.fields[member] for member in members]
        fields = tuple(
            replace(self.struct.fields[at], bit_offset=offset)
            for at, offset in zip(positions, layout.offsets, strict=True)
            if at is not None
        )
        return possible_alignments.reorder(self.struct, fields, layout.bit_size, layout.align)


def arrange(struct: Struct, way: Way, runs: Sequence[tuple[int, ...]] = ()) -> Arrangement:
    """Return the units of a struct that is declared in a way. Raises CannotLayOut.

    `runs` are the members of each unit, as positions in `Way.members`; without them only bit-fields in a row
    are one unit.
    """
    runs = runs or list(_runs(way))
    align = way.lay_out(range(len(way.members))).align
    grain = _BYTE if sum(any(way.members[member].unit for member in run) for run in runs) < 2 else 1
    # A packed struct can have a smaller alignment than `int : 0` in it.
    largest = max([align, *(max(one.align or 1, one.requested_align or 1) for one in way.members)])
    units = tuple(_unit(way, run, largest * _BYTE // grain, grain) for run in runs)
    last = len(units) - 1 if units and struct.fields and _is_open(struct.fields[-1]) else None
    return Arrangement(struct, way, units, grain, last, align)


def _runs(way: Way) -> Iterator[tuple[int, ...]]:
    """Yield the members that stay together: all bit-fields in a row, else each by itself."""
    run: list[int] = []
    for position, member in enumerate(way.members):
        if run and not (member.unit and way.members[run[-1]].unit):
            yield tuple(run)
            run = []
        run.append(position)
    if run:
        yield tuple(run)


def _is_open(field: Field) -> bool:
    """Return whether a member ends in a flexible array, at any depth."""
    if field.is_flexible:
        return True
    inner = field.members if field.aggregate == "union" else field.members[-1:]
    return not field.dims and any(_is_open(member) for member in inner)


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


def _unit(way: Way, run: tuple[int, ...], period: int, grain: int) -> Unit:
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
    return Unit(run, fields, gaps, lengths, starts)


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
