"""The least size that an order of the members gives a struct, and an order with few moves that reaches it.

This is for thousands of structs: it needs sizes and alignments only. They are in bits here, and so are ends;
members are placed by the rules of `randstruct.c_abi`. If members end later, those behind them never end
earlier. So of all orders of some members, only the one that ends first counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from math import prod
from typing import NamedTuple

from layoutlint.model.structs import Field, Struct
from layoutlint.randstruct.c_abi import CannotLayOut, member_of, round_up
from layoutlint.suggestion.orders.arrangement import ends_open
from layoutlint.suggestion.orders.common_order import unmoved_units

_BYTE = 8
_MOST_STATES = 4_000
"""The most sets of members whose earliest end is computed; a thousand take some milliseconds."""
_LONGEST_RUN = 12
"""The most members that are put back together."""
_MOST_WORK = 1_500_000
"""The most places that are tried for members of one struct; a million take about a second."""


class Bits(NamedTuple):
    """A bit-field: bits, alignment and size of its declared type, and whether it starts a new unit of it."""

    bits: int
    align: int
    unit: int
    is_fresh: bool


class Unit(NamedTuple):
    """A member, or all bit-fields in a row, which moves as a whole."""

    bits: int
    align: int
    fields: tuple[int, ...]
    """Positions in `Struct.fields`."""
    run: tuple[Bits, ...] = ()
    """The bit-fields; empty for another member."""
    is_barrier: bool = False
    """Whether nothing moves past it: a mark without bytes, padding that starts a line, a flexible array."""

    def advance(self, end: int) -> int:
        """Return where the unit ends behind one that ends at `end`."""
        if not self.run:
            return -(-end // self.align) * self.align + self.bits
        for bits, align, unit, is_fresh in self.run:
            crosses = (end % align + bits + align - 1) // align > unit // align
            end = (round_up(end, align) if crosses or is_fresh else end) + bits
        return end


class Packing(NamedTuple):
    """An order of units, and how good it is. Sizes are in bytes."""

    size: int
    bound: int
    """No order is smaller."""
    order: tuple[int, ...]
    """Positions of the units as declared."""
    moves: int
    """The units that move: all others keep their relative order."""
    is_fewest: bool
    """Whether it is proved that no order of this size moves fewer."""


def units_of(struct: Struct, line: int) -> tuple[Unit, ...]:
    """Return the units of a struct in their declared order. `line` is the line size in bytes.

    Raises CannotLayOut if they do not give the offsets and the size that the input states, as in packed
    structs, or if a size or an alignment is unknown.
    """
    units: list[Unit] = []
    end = 0
    for at, field in enumerate(struct.fields):
        if field.bit_size is None or field.align is None:
            raise CannotLayOut(f"the size or the alignment of `{field.name}` is not known")
        if field.is_bitfield:
            bits = _bits_of(struct, field, end)
            if units and units[-1].run:
                own = units.pop()
                fields = (*own.fields, at)
                unit = Unit(own.bits + bits.bits, max(own.align, bits.align), fields, (*own.run, bits))
            else:
                unit = Unit(bits.bits, bits.align, (at,), (bits,))
        else:
            is_last = at == len(struct.fields) - 1
            unit = Unit(field.bit_size, field.align * _BYTE, (at,), (), _is_barrier(field, is_last, line))
        units.append(unit)
        end = (Unit(0, 1, (), (bits,)) if field.is_bitfield else unit).advance(end)
        if end - field.bit_size != field.bit_offset:
            raise CannotLayOut(f"`{field.name}` is not where its alignment puts it")
    if round_up(end, align_of(struct, units)) != struct.bit_size:
        raise CannotLayOut("its size is not what its members give")
    return tuple(units)


def _bits_of(struct: Struct, field: Field, end: int) -> Bits:
    """Return a bit-field whose predecessor ends at `end`.

    A gap before it comes from one without a name (`int : 0`), which debug information omits.
    """
    member = member_of(field, struct.target)
    align = (field.align or 1) * _BYTE
    bits = Bits(field.bit_size or 0, align, member.unit * _BYTE, False)
    natural = Unit(0, 1, (), (bits,)).advance(end) - bits.bits
    return bits._replace(is_fresh=natural != field.bit_offset == round_up(end, align))


def _is_barrier(field: Field, is_last: bool, line: int) -> bool:
    """Return whether nothing moves past a member: it has no bytes, but a place, or must stay last."""
    if is_last and ends_open(field):
        return True
    is_mark = bool(field.dims) or field.type.is_untagged or (field.align or 1) >= line
    return field.bit_size == 0 and is_mark


def align_of(struct: Struct, units: Iterable[Unit]) -> int:
    """Return the alignment of a struct in bits: the stated one, or what its members need."""
    return max(((struct.align or 1) * _BYTE, *(unit.align for unit in units)))


def gaps(units: Sequence[Unit], bit_size: int) -> tuple[list[int], int]:
    """Return the whole bytes of each hole between units in their declared order, and those at the end."""
    holes: list[int] = []
    end = 0
    for unit in units:
        after = unit.advance(end)
        holes.append((after - end - unit.bits) // _BYTE)
        end = after
    return [hole for hole in holes if hole], (bit_size - end) // _BYTE


def pack(units: Sequence[Unit], align: int) -> Packing:
    """Return the smallest order of some units in a struct with an alignment in bits, with few moves."""
    order, size, bound = _smallest_order(units, align)
    order, is_fewest = _with_few_moves(units, list(_parts(units)), size, order)
    return Packing(size // _BYTE, bound // _BYTE, order, count_moves(order), is_fewest)


def least_size(units: Sequence[Unit], align: int) -> int:
    """Return the bytes of the smallest order, as `pack` does, without its moves."""
    return _smallest_order(units, align)[1] // _BYTE


def _smallest_order(units: Sequence[Unit], align: int) -> tuple[tuple[int, ...], int, int]:
    """Return an order, the declared one if it can be, its size, and the size that none is below; in bits."""
    parts, as_declared = list(_parts(units)), tuple(range(len(units)))
    declared = round_up(_end_of(units, as_declared), align)
    bound = round_up(_lower_bound(units, parts), align)
    if declared == bound:
        return as_declared, declared, bound
    order, least = _dense_order(units, parts, _near_falling)
    if round_up(least, align) > bound:
        exact = [_earliest_order] if all(_states(units, part) <= _MOST_STATES for part in parts) else []
        for find in (_best_fit, *exact):
            other, end = _dense_order(units, parts, find)
            order, least = (other, end) if end < least else (order, least)
        bound = round_up(least, align) if exact else bound
    size = min(round_up(least, align), declared)
    return as_declared if size == declared else order, size, bound


def count_moves(order: Sequence[int]) -> int:
    """Return how many units an order moves: those outside of a longest ascending part."""
    return len(order) - len(staying(order))


def staying(order: Sequence[int]) -> frozenset[int]:
    """Return the units of a longest ascending part of an order."""
    return unmoved_units(order, [1] * len(order))


def _parts(units: Sequence[Unit]) -> Iterator[range]:
    """Yield the units between barriers, and each barrier alone: these follow one another in every order."""
    at = 0
    for is_barrier, group in groupby(units, lambda unit: unit.is_barrier):
        count = sum(1 for _ in group)
        if is_barrier:
            yield from (range(each, each + 1) for each in range(at, at + count))
        else:
            yield range(at, at + count)
        at += count


def _end_of(units: Sequence[Unit], order: Iterable[int], end: int = 0) -> int:
    for at in order:
        end = units[at].advance(end)
    return end


def _lower_bound(units: Sequence[Unit], parts: Iterable[range]) -> int:
    """Return a bit before which no order of the parts ends: all sizes, and padding only before one unit."""
    end = 0
    for part in parts:
        first = units[part[0]]
        end = round_up(end, first.align) if len(part) == 1 and not first.run else end
        end += sum(units[at].bits for at in part)
    return end


def _dense_order(
    units: Sequence[Unit],
    parts: Iterable[range],
    find: Callable[[Sequence[Unit], Sequence[int], int], Sequence[int]],
) -> tuple[tuple[int, ...], int]:
    """Return the order in which each part is put by a function, and where it ends."""
    order: list[int] = []
    end = 0
    for part in parts:
        own = find(units, part, end) if len(part) > 1 else part
        order += own
        end = _end_of(units, own, end)
    return tuple(order), end


def _weight(unit: Unit) -> int:
    """Return the alignment that a unit needs to be dense: for bit-fields, what their bits fill."""
    return min(unit.align, 1 << (unit.bits.bit_length() - 1)) if unit.run and unit.bits else unit.align


def _near_falling(units: Sequence[Unit], part: Sequence[int], end: int) -> list[int]:
    """Return units by falling alignment, bit-fields last among equal ones."""
    return sorted(part, key=lambda at: (-_weight(units[at]), bool(units[at].run)))


def _best_fit(units: Sequence[Unit], part: Sequence[int], end: int) -> list[int]:
    """Return units in an order in which the next one is that with the least padding before it."""
    rest = _near_falling(units, part, end)
    order: list[int] = []
    while rest:
        best = min(range(len(rest)), key=lambda at: units[rest[at]].advance(end) - end - units[rest[at]].bits)
        order.append(rest.pop(best))
        end = units[order[-1]].advance(end)
    return order


def _kinds(units: Sequence[Unit], part: Sequence[int]) -> list[list[int]]:
    """Return units in groups of which any is as good as another: their ends differ by whole alignments."""
    period = max(units[at].align for at in part)
    groups: dict[tuple[object, ...], list[int]] = {}
    for at in part:
        unit = units[at]
        groups.setdefault(unit.run or (unit.bits % period, unit.align), []).append(at)
    return list(groups.values())


def _states(units: Sequence[Unit], part: Sequence[int]) -> int:
    return prod(len(group) + 1 for group in _kinds(units, part))


def _earliest_order(units: Sequence[Unit], part: Sequence[int], end: int) -> list[int]:
    """Return an order of units that ends first; the work grows with the product of the sizes of groups."""
    groups = _kinds(units, part)
    counts = [len(group) for group in groups]
    steps = list(accumulate((count + 1 for count in counts[:-1]), lambda a, b: a * b, initial=1))
    first = [units[group[0]] for group in groups]
    total = prod(count + 1 for count in counts)
    ends = [end] + [-1] * (total - 1)
    last = [-1] * total
    for state in range(total):
        for kind, step in enumerate(steps):
            if state // step % (counts[kind] + 1) < counts[kind]:
                after = first[kind].advance(ends[state])
                if last[state + step] < 0 or after < ends[state + step]:
                    ends[state + step], last[state + step] = after, kind
    chosen: list[int] = []
    state = total - 1
    while state:
        chosen.append(last[state])
        state -= steps[last[state]]
    members = [iter(group) for group in groups]
    return [next(members[kind]) for kind in reversed(chosen)]


def _with_few_moves(
    units: Sequence[Unit], parts: Sequence[range], size: int, found: tuple[int, ...]
) -> tuple[tuple[int, ...], bool]:
    """Return an order of at most some bits with few moves, and whether no order has fewer.

    It is the better one of two: one move after the other from the declared order, and the order found with
    members put back. That no single move suffices is known from the first move.
    """
    if count_moves(found) == 0:
        return found, True
    order = _by_single_moves(units, parts, size)
    if order is None or count_moves(order) > 2:
        orders = (_with_members_back(units, parts, size, found), *([] if order is None else [order]))
        order = min(orders, key=count_moves)
    return order, count_moves(order) <= 2


def _by_single_moves(units: Sequence[Unit], parts: Sequence[range], size: int) -> tuple[int, ...] | None:
    """Return an order of at most some bits that single moves lead to, each of which leaves the least.

    None if no move leaves less, or there is too much to try.
    """
    order, work = tuple(range(len(units))), 0
    cost = sum(len(part) ** 2 for part in parts)
    while (end := _end_of(units, order)) > size:
        best = _OneMove(units, order, size).best(parts)
        work += cost
        if best is None or best[0] >= end or work > _MOST_WORK:
            return None
        at, to = best[-2:]
        rest = (*order[:at], *order[at + 1 :])
        order = (*rest[:to], order[at], *rest[to:])
    return order


def _with_members_back(
    units: Sequence[Unit], parts: Iterable[range], size: int, found: tuple[int, ...]
) -> tuple[int, ...]:
    """Return an order of at most some bits in which members of an order are back between their neighbours.

    Members that are declared side by side go back together: one alone can leave a hole.
    """
    order, kept = list(found), set(staying(found))
    for part in parts:
        for length in range(min(len(part), _LONGEST_RUN), 0, -1):
            for first in range(part.start, part.stop - length + 1):
                run = range(first, first + length)
                if kept.isdisjoint(run):
                    back = _put_back(units, part, size, order, kept, run)
                    order, kept = (back, kept | set(run)) if back else (order, kept)
    return tuple(order)


def _put_back(
    units: Sequence[Unit], part: range, size: int, order: Sequence[int], kept: set[int], run: range
) -> list[int] | None:
    """Return an order in which a run of units stands between those that are kept; None if none is small."""
    rest = [at for at in order if at not in run]
    stop = part.stop - len(run)
    places = [at for at in range(part.start, stop) if rest[at] in kept]
    low = max((at + 1 for at in places if rest[at] < run[0]), default=part.start)
    high = min((at for at in places if rest[at] > run[0]), default=stop)
    begin = _end_of(units, rest[:low])
    for place in range(low, high + 1):
        if _end_of(units, rest[place:], _end_of(units, run, begin)) <= size:
            return [*rest[:place], *run, *rest[place:]]
        begin = units[rest[place]].advance(begin) if place < len(rest) else begin
    return None


_Move = tuple[int, bool, int, int, int]
"""Where the struct then ends, whether another unit comes first, how far it is, from where, and to where."""


class _OneMove:
    """The ends of the orders that one move leads to. Ends up to `enough` count as equally good."""

    def __init__(self, units: Sequence[Unit], order: Sequence[int], enough: int) -> None:
        self._units = [units[at] for at in order]
        self._begins = list(accumulate(self._units, lambda end, unit: unit.advance(end), initial=0))
        self._period = max(unit.align for unit in units)
        self._enough = enough
        self._rests: dict[tuple[int, int], int] = {}

    def best(self, parts: Iterable[range]) -> _Move | None:
        """Return the best move of a unit within one of some parts; None if none has several units."""
        least, best = 1 << 62, None
        for part in parts:
            for end, at, to in self._moves(part):
                if end <= least:  # most moves are worse, and there are many
                    move = max(end, self._enough), to == 0 or at == 0, abs(at - to), at, to
                    best = move if best is None else min(best, move)
                    least = best[0]
        return best

    def _moves(self, part: range) -> Iterator[tuple[int, int, int]]:
        """Yield the moves between some places: where the struct then ends, from where, and to where."""
        units = self._units
        for at in part:
            advance, end = units[at].advance, self._begins[at]
            for place in range(at + 1, part.stop):
                end = units[place].advance(end)
                yield self._end(place + 1, advance(end)), at, place
        for to in part:
            walks: dict[int, tuple[int, int]] = {}
            begin = self._begins[to]
            for at in range(to + 1, part.stop):
                start = units[at].advance(begin)
                residue = start % self._period
                place, end = walks.get(residue, (to, residue))
                for each in units[place:at]:
                    end = each.advance(end)
                walks[residue] = at, end
                yield self._end(at + 1, start - residue + end), at, to

    def _end(self, place: int, end: int) -> int:
        """Return where the struct ends if the units from a place on begin at some end."""
        residue = end % self._period
        key = place, residue
        if key not in self._rests:
            after = residue
            for number in range(place, len(self._units)):
                if (after - self._begins[number]) % self._period == 0:
                    after += self._begins[-1] - self._begins[number]
                    break
                after = self._units[number].advance(after)
            self._rests[key] = after
        return end - residue + self._rests[key]
