"""The changes of a struct that may mend a finding, in the order in which they are tried.

A level has changes of one sort. If some of a level keep the rule, the one with the smallest struct is taken,
so alignments, which change no order, come before moves, and what costs least before what always helps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Literal

from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.context import CannotTell
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.sides import HasSides
from layoutlint.lint.changed_layout import Change, Changeable, Path, moves_to
from layoutlint.lint.placing import RulePlacements
from layoutlint.model.record import Record
from layoutlint.model.structs import Field

_MOST_MEMBERS = 12
"""The most members from which those that are aligned are chosen."""
_MOST_STEPS = 3
"""The most moves of which each makes a struct denser."""
_MOST_KEPT = 4
"""The most orders from which more moves are searched."""
_MOST_ORDERS = 2_500
"""The most orders that are laid out for a finding, which takes a tenth of a second."""
_MOST_ORDERS_OF_ALL = 60_000
_SHARE = 16
"""The most in a run, and the part of those left that one finding may use: others have some left then."""
_Levels = Iterator[Sequence[Change]]


class OrderBudget(Record):
    """The orders of members that may still be laid out, in a run and for a finding."""

    of_run: int = _MOST_ORDERS_OF_ALL
    of_finding: int = _MOST_ORDERS

    def begin_finding(self) -> None:
        """Allow the orders of one finding."""
        self.of_finding = min(_MOST_ORDERS, self.of_run // _SHARE)

    def spend(self) -> bool:
        """Take one order; return whether there was one left."""
        if self.of_finding <= 0:
            return False
        self.of_run -= 1
        self.of_finding -= 1
        return True


class _Sides(Record, frozen=True):
    """The members of each side of a rule, in the order of the struct."""

    arranges: Literal["apart", "together"] | None
    members: tuple[tuple[Path, ...], ...] = ()

    @property
    def boundaries(self) -> list[Path]:
        """The members at which another side begins than that of the member before."""
        ordered = sorted((path, side) for side, own in enumerate(self.members) for path in own)
        pairs = pairwise(ordered)
        return [path for (_, before), (path, side) in pairs if side != before]


def levels(
    finding: Finding, own: Changeable, where: RulePlacements, budget: OrderBudget
) -> _Levels:
    """Yield the levels of changes for a finding; none makes sense for a struct that has no members."""
    budget.begin_finding()
    kind, verdict = finding.rule.kind, finding.verdict
    members = _members(verdict.evidence, own)
    sides = _sides(kind, own, where) if isinstance(kind, HasSides) else _Sides(kind.traits.arranges)
    line = where.line_size or own.struct.target.line_size
    if sides.arranges == "apart":
        yield from _start_lines(own, members, sides, line)
    elif verdict.total:
        yield from _on_one_line(own, members, line)
        if own.can_move:
            yield list(_first(own, members, line))
            yield from _gather(own, members, line)
    if own.can_move:
        yield from _move(own, members, budget)
    if sides.arranges == "apart":
        yield from _pad(own, members, sides, line)


def _members(places: Iterable[Place], own: Changeable) -> list[Path]:
    """Return the members of some fields, in the order of the struct."""
    found = {path for place in places if (path := own.path_of(place)) is not None}
    return sorted(found)


def _sides(kind: HasSides, own: Changeable, where: RulePlacements) -> _Sides:
    layout = Layout(own.struct)
    try:
        cases = where.usual_cases(layout)
        sides = kind.sides(where.context(layout, cases[0].placements))
    except CannotTell:
        return _Sides(None)
    return _Sides(sides.arranges, tuple(tuple(_members(side.places, own)) for side in sides.sides))


def _nearby_members(own: Changeable, members: Iterable[Path]) -> list[Path]:
    """Return the members that can be aligned, of some, what is around them, and what is next to those."""
    found: set[Path] = set()
    for path in members:
        for length in range(1, len(path) + 1):
            outer = path[:length]
            found |= {outer, (*outer[:-1], outer[-1] + 1)}
    return [path for path in sorted(found) if _is_member(own, path) and own.can_align(path)]


def _is_member(own: Changeable, path: Path) -> bool:
    around = own.struct.fields if len(path) == 1 else own.field(path[:-1]).members
    return path[-1] < len(around)


def _align_all(members: Iterable[Path], size: int) -> Change:
    return Change(tuple((path, size) for path in members))


def _start_lines(own: Changeable, members: Sequence[Path], sides: _Sides, line: int) -> _Levels:
    """Yield alignments that start lines: of one member, of the type, of two members, of all; then moves."""
    usable = _nearby_members(own, [*members, *sides.boundaries])
    few = sorted(usable, key=lambda path: path not in members)[:_MOST_MEMBERS]
    yield [_align_all((path,), line) for path in few]
    yield [Change(of_struct=line)]
    yield [_align_all(sorted(pair), line) for pair in combinations(few, 2)]
    starts = [path for path in sides.boundaries if own.can_align(path)]
    yield [_align_all(starts, line), _align_all(sorted({*usable[:1], *starts}), line)]
    yield [_align_all(usable, line)]
    if own.can_move:
        yield list(_last(own, sides, line))
        yield list(_alone_at_the_start(own, members, line))


def _alone_at_the_start(own: Changeable, members: Sequence[Path], line: int) -> Iterator[Change]:
    """Yield changes that move a member, a bit-field too, to the start, and start the next one on a line."""
    for top in dict.fromkeys(path[0] for path in members):
        following = 0 if top else 1
        if following < own.count and own.can_align((following,)):
            yield Change((((following,), line),), moves=((top, -1),) if top else ())


def _last(own: Changeable, sides: _Sides, line: int) -> Iterator[Change]:
    """Yield changes that move each side to the end, and start it on a line."""
    for side in sides.members:
        tops = list(dict.fromkeys(path[0] for path in side))
        if tops and len(tops) <= _MOST_MEMBERS and own.can_align((tops[0],)):
            order = [*(at for at in range(own.count) if at not in tops), *tops]
            moves = moves_to(order)
            yield Change((((tops[0],), line),), moves=moves)
            yield Change((((tops[0],), line),), of_struct=line, moves=moves)


def _on_one_line(own: Changeable, members: Sequence[Path], line: int) -> _Levels:
    """Yield alignments that keep fields whole, or start them on a line; the smallest first."""
    around = {path[:length] for path in members for length in range(1, len(path) + 1)}
    usable = [path for path in sorted(around) if own.can_align(path)][:_MOST_MEMBERS]
    for size in (1 << power for power in range(1, line.bit_length())):
        yield [Change(of_struct=size), *(_align_all((path,), size) for path in usable)]
    yield [Change(tuple((path, _whole(own, path, line)) for path in usable))]
    own_members = [path for path in members if own.can_align(path)]
    yield [_align_all(own_members, line), *(_align_all(pair, line) for pair in combinations(usable, 2))]


def _first(own: Changeable, members: Sequence[Path], line: int) -> Iterator[Change]:
    """Yield changes that move a member to the start, and start the others, or the struct, on a line."""
    for top in dict.fromkeys(path[0] for path in members) if len(members) <= _MOST_MEMBERS else ():
        others = [path for path in members if path[0] != top and own.can_align(path)]
        moves = ((top, -1),) if top else ()
        yield Change(tuple((path, line) for path in others), line * (not others), moves)


def _whole(own: Changeable, path: Path, line: int) -> int:
    """Return the alignment that keeps a member on one line: its size, rounded up to a power of two."""
    size = (own.field(path).bit_size or 0) // 8
    return min(line, 1 << max(0, size - 1).bit_length())


def _gather(own: Changeable, members: Sequence[Path], line: int) -> _Levels:
    """Yield orders in which members are side by side, by size or as declared, with each alignment."""
    tops = list(dict.fromkeys(path[0] for path in members))
    if not 1 < len(tops) <= _MOST_MEMBERS:
        return
    by_align = sorted(tops, key=lambda at: -(own.way.members[at].align or 1))
    runs = [tops, by_align, by_align[::-1]]
    for size in (0, *(1 << power for power in range(3, line.bit_length()))):
        level = []
        for run in runs:
            others = [at for at in range(own.count) if at not in run]
            for start in {0, len(others), sum(at < tops[0] for at in others)}:
                moves = moves_to([*others[:start], *run, *others[start:]])
                if not size:
                    level.append(Change(moves=moves))
                elif own.can_align((run[0],)):
                    level.append(Change((((run[0],), size),), moves=moves))
        yield sorted(dict.fromkeys(level), key=lambda change: len(change.moves))[:_MOST_MEMBERS]


def _move(own: Changeable, members: Sequence[Path], budget: OrderBudget) -> _Levels:
    """Yield moves of one of some members; without members, moves that make the struct denser; then orders."""
    tops = list(dict.fromkeys(path[0] for path in members))
    if tops:
        order = range(own.count)
        yield [Change(moves=(move,)) for member in tops for move in _moves_of(member, order)]
    else:
        yield from _denser(own, budget)
        budget.begin_finding()
        yield [Change(moves=moves_to(order)) for order in _Packing(own, budget).orders()]


class _Ends:
    """The ends of members behind others."""

    def __init__(self, own: Changeable) -> None:
        self._rules, self._members = own.way.rules, own.way.members
        self._starts: dict[tuple[int, int], int] = {}
        self._tails = [(field.bit_size or 0) - _used_bits(field) for field in own.struct.fields]
        """The padding at the end of each member, if its type has no name: a hole, unless it comes last."""
        self.period = 8 * max(8, *(member.align or 1 for member in self._members))
        """Bits after which members are laid out in the same way again."""

    def start(self, at: int, end: int) -> int:
        """Return the offset in bits of a member behind an end. Raises CannotLayOut."""
        phase = end % self.period
        gap = self._starts.get((at, phase))
        if gap is None:
            gap = self._starts[at, phase] = self._rules.start(self._members[at], phase) - phase
        return end + gap

    def holes(self, order: Iterable[int]) -> int:
        """Return the bits of holes in an order. Raises CannotLayOut."""
        end = holes = tail = 0
        for at in order:
            start = self.start(at, end)
            holes += start - end + tail
            end, tail = start + (self._members[at].bit_size or 0), self._tails[at]
        return holes


def _used_bits(field: Field) -> int:
    """Return the bits of a member without the padding at the end of a type that has no name."""
    if field.name is not None or not field.members:
        return field.bit_size or 0
    return max((member.bit_offset or 0) + _used_bits(member) for member in field.members)


class _Packing:
    """Searches orders of members with ever fewer bits of padding between them."""

    def __init__(self, own: Changeable, budget: OrderBudget) -> None:
        self._ends, self._members = _Ends(own), own.way.members
        self._least, self._budget = 1 << 60, budget
        self._found: list[list[int]] = []
        self._paddings: dict[tuple[tuple[int, ...], int], int] = {}
        """The padding with which some members were left behind an end, modulo the largest alignment."""

    def orders(self) -> list[list[int]]:
        """Return the orders that were found, the densest first."""
        self._place([], list(range(len(self._members))), 0, 0)
        return self._found[::-1]

    def _place(self, order: list[int], left: list[int], end: int, padding: int) -> None:
        """Place the members that are left behind others, which end at a bit; those without padding first."""
        if not left:
            self._least = padding
            self._found.append(order)
            return
        state = tuple(left), end % self._ends.period
        if self._paddings.get(state, padding + 1) <= padding:
            return
        self._paddings[state] = padding
        choices: dict[tuple[int, int, int], tuple[int, int, int]] = {}
        for at in left:
            member = self._members[at]
            start = self._ends.start(at, end)
            align = (member.align or 1) * (not member.unit)
            key = start, start + (member.bit_size or 0), align
            choices.setdefault(key, (start - end, -align, at))
        for (start, stop, _), (gap, _, at) in sorted(choices.items(), key=lambda one: one[1]):
            if not self._budget.spend() or padding + gap >= self._least:
                return
            self._place([*order, at], [one for one in left if one != at], stop, padding + start - end)


def _denser(own: Changeable, budget: OrderBudget) -> _Levels:
    """Yield the densest structs after one move, after two and so on, from the densest after fewer."""
    best, ends = [Change()], _Ends(own)
    seen: set[tuple[int, ...]] = set()
    for _ in range(_MOST_STEPS):
        found: list[tuple[int, int, Change]] = []
        for change in (further for before in best for further in _with_a_move(before, own.count)):
            order = tuple(change.order(own.count))
            if order in seen:
                continue
            if not budget.spend():
                break
            seen.add(order)
            found.append((ends.holes(order), len(found), change))
        best = [change for _, _, change in sorted(found, key=lambda one: one[:2])[:_MOST_KEPT]]
        yield best


def _with_a_move(change: Change, count: int) -> Iterator[Change]:
    """Yield a change with each further move."""
    order = change.order(count)
    yield from (Change(moves=(*change.moves, move)) for member in order for move in _moves_of(member, order))


def _moves_of(member: int, order: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the moves of a member in an order: behind another one, or to the start."""
    at = order.index(member)
    previous = order[at - 1] if at else -1
    yield from ((member, behind) for behind in (-1, *order) if behind not in (member, previous))


def _pad(own: Changeable, members: Sequence[Path], sides: _Sides, line: int) -> _Levels:
    """Yield arrays between sides, for objects whose allocator heeds no alignment; the smallest first."""
    tops = {path[0] for path in (*members, *sides.boundaries)}
    gaps = sorted({at for top in tops for at in (top - 1, top) if 0 <= at < own.count - 1})[:_MOST_MEMBERS]
    for size in range(line // 4, line + 1, line // 4):
        yield [Change(padding=((at, size),)) for at in gaps]
    yield [Change(padding=tuple((at, line) for at in pair)) for pair in combinations(gaps, 2)]
    yield [Change(padding=tuple((top - 1, line) for top in sorted({p[0] for p in sides.boundaries}) if top))]
