"""Orders with one or two moves in plain Python: every place is tried, and every rule is judged at every base.

It shares no code with the search. A struct is a list of sizes and alignments, as compilers for x86-64 lay them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

LINE = 64
Order = tuple[int, ...]


@dataclass(frozen=True)
class Member:
    """A member of a struct."""

    name: str
    type: str
    size: int
    align: int


@dataclass(frozen=True)
class Condition:
    """A rule on members by their positions: its kind, and what it names."""

    kind: str
    groups: tuple[tuple[int, ...], ...]
    number: int = 0

    @property
    def named(self) -> tuple[int, ...]:
        """The members that it names."""
        return tuple(at for group in self.groups for at in group)


@dataclass(frozen=True)
class Problem:
    """A struct with rules."""

    members: tuple[Member, ...]
    rules: tuple[Condition, ...]
    align: int = 8

    def bases(self) -> range:
        """The places in a line at which an object of the struct can begin."""
        return range(0, LINE, min(max(each.align for each in self.members), LINE))

    def is_kept(self, rule: Condition, order: Sequence[int]) -> bool:
        """Return whether an order keeps a rule."""
        places, end = {}, 0
        for at in order:
            one = self.members[at]
            end = -(-end // one.align) * one.align
            places[at] = (end, end + one.size - 1)
            end += one.size
        return _JUDGE[rule.kind](rule, places, self.bases())

    def broken(self, order: Sequence[int]) -> list[Condition]:
        """Return the rules that an order breaks."""
        return [rule for rule in self.rules if not self.is_kept(rule, order)]


Places = dict[int, tuple[int, int]]


def _lines(place: tuple[int, int], base: int) -> range:
    return range((place[0] + base) // LINE, (place[1] + base) // LINE + 1)


def _separate(rule: Condition, places: Places, bases: range) -> bool:
    for ours, theirs in combinations(rule.groups, 2):
        for a in ours:
            for b in theirs:
                for base in bases:
                    if set(_lines(places[a], base)) & set(_lines(places[b], base)):
                        return False
    return True


def _together(rule: Condition, places: Places, bases: range) -> bool:
    return all(len({line for at in rule.named for line in _lines(places[at], base)}) == 1 for base in bases)


def _order(rule: Condition, places: Places, _: range) -> bool:
    ends = [places[at] for at in rule.named]
    return all(one[1] < other[0] for one, other in pairwise(ends))


def _distance(rule: Condition, places: Places, _: range) -> bool:
    return all(abs(places[a][0] - places[b][0]) >= rule.number for a, b in combinations(rule.named, 2))


def _line_of_offset(rule: Condition, places: Places, bases: range) -> bool:
    low = rule.number * LINE
    return all(low <= places[rule.named[0]][0] + base < low + LINE for base in bases)


_JUDGE = {
    "separate": _separate,
    "together": _together,
    "order": _order,
    "distance": _distance,
    "offset": _line_of_offset,
}


def fewest_moves(problem: Problem) -> int | None:
    """Return 0, 1 or 2 if an order with so many moves keeps all rules; None if none was found.

    With two moves, only members that a broken rule names move. With one, any member goes anywhere.
    """
    start = tuple(range(len(problem.members)))
    broken = problem.broken(start)
    if not broken:
        return 0
    named = sorted({at for rule in broken for at in rule.named})
    if any(not problem.broken(order) for at in start for order in _orders_by_moving(start, at)):
        return 1
    for a, b in combinations(named, 2):
        for first in _orders_by_moving(start, a):
            # Where `b` stands decides nothing on rules that do not name it, unless it pushes others.
            if any(all(problem.is_kept(rule, order) for rule in problem.rules) for order in _orders_by_moving(first, b)):
                return 2
    return None


def _orders_by_moving(order: Order, member: int) -> Iterator[Order]:
    """Yield the orders in which a member stands at each place."""
    rest = tuple(at for at in order if at != member)
    for place in range(len(rest) + 1):
        yield (*rest[:place], member, *rest[place:])
