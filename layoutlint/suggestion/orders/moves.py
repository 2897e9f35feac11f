"""The orders that one move leads to, or two: the inner loops of the search for few moves."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from layoutlint.suggestion.orders.layouts import Tables, numbers

_FAR = 1 << 60
_MOST_EQUAL = 500
"""The most orders that are kept which are equally good."""


class Orders:
    """The orders that moves lead to, of tokens that all builds share."""

    def __init__(
        self,
        builds: Sequence[Tables],
        levels: Sequence[int],
        closing: Sequence[int],
        on_step: Callable[[int], None],
        is_contended: bool = False,
    ) -> None:
        """`levels` are those in which tokens stand. Of a token that closes one it is -1, and `closing` has
        its number; of one that opens a level, `closing` is -2. `on_step` is called with the work now and
        then: an interrupt is raised there. If it `is_contended`, what pairs cost that share a line is to be
        small, not the struct.
        """
        self._on_step = on_step
        self._is_contended = is_contended
        self._builds = list(builds)
        self._levels, self._closing = numbers(levels), numbers(closing)
        self._count = len(self._levels)
        self._rest, self._tried = (numbers([0] * (self._count + 1)) for _ in range(2))
        self.work = 0
        """Tokens that were laid out."""
        self.best: tuple[int, int, int] = (_FAR, 0, 0)
        """Weight of the moves, size and holes of the best orders that break nothing."""
        self.found: list[tuple[int, ...]] = []
        """These orders, as far as they are kept."""
        self.improved: list[tuple[int, int, int, int]] = []
        """Rules broken, by how much in all, the token that moves and where to, of orders that break less; for
        small orders the bits up to their ends, the holes, the token and where to. If it is contended, what
        the pairs cost, and the bits."""
        self._largest = -1

    def faults(self, order: Sequence[int]) -> tuple[int, int]:
        """Return how many rules an order breaks, and by how much; what it must meet is one rule more."""
        tokens = numbers(order)
        broken = missed = 0
        for build in self._builds:
            build.walk(tokens, 0, self._count, 0)
            broken += build.faults(_FAR)
            missed += build.missed
            broken += not build.is_allowed(tokens, self._count)
        return broken, missed

    def broken_rules(self, order: Sequence[int]) -> list[int]:
        """Return the numbers of the rules that an order breaks, through all builds."""
        self.faults(order)
        return [number for build in self._builds for number in build.broken_rules()]

    def failing(self, order: Sequence[int], whole: bool) -> list[list[int]]:
        """Return the tokens of each demand that an order does not meet, as in `Tables.failing`."""
        self.faults(order)
        return [own for build in self._builds for own in build.failing(whole)]

    def value(self, order: Sequence[int]) -> int:
        """Return what `try_smaller` makes less, summed over all builds.

        The bits up to the end of the last member, or what the pairs cost that share a line.
        """
        tokens = numbers(order)
        total = 0
        for build in self._builds:
            build.walk(tokens, 0, self._count, 0)
            own = build.contention() if self._is_contended else build.end * build.grain
            total += build.weight * own
        return total

    def sizes(self, order: Sequence[int]) -> list[int]:
        """Return the bytes of the struct in each build."""
        tokens = numbers(order)
        found = []
        for build in self._builds:
            build.walk(tokens, 0, self._count, 0)
            found.append(build.size())
        return found

    def length(self, order: array[int], at: int) -> int:
        """Return the number of tokens that move with the one at a place: all of an opened struct."""
        token = order[at]
        if self._levels[token] < 0:
            return 0
        stop = at + 1
        inner = 0
        while stop < self._count and (inner or self._opens(token)):
            inner += self._opens(order[stop])
            if self._levels[order[stop]] < 0:
                if not inner:
                    return stop + 1 - at
                inner -= 1
            stop += 1
        return 1

    def _opens(self, token: int) -> bool:
        return self._closing[token] == -2

    def move(self, order: Sequence[int], token: int, to: int) -> tuple[int, ...]:
        """Return an order in which a token, with what moves with it, stands at a place among the others."""
        tokens = numbers(order)
        at = order.index(token)
        run = order[at : at + self.length(tokens, at)]
        rest = (*order[:at], *order[at + len(run) :])
        return (*rest[:to], *run, *rest[to:])

    def try_one(
        self,
        order: Sequence[int],
        movers: Sequence[int],
        weights: Sequence[int],
        windows: Sequence[tuple[int, int]],
        spent: int,
        limit: int,
        is_sideways: bool = False,
    ) -> bool:
        """Try orders in which one token moves: some anywhere, the others to windows of places.

        `spent` is the weight of the moves before; the order itself breaks some rules. If it `is_sideways`,
        orders that break as many by more are noted, too. Returns whether all were tried before the limit of
        work.
        """
        tokens = numbers(order)
        broken, missed = self.faults(order)
        if is_sideways:
            missed = _FAR
        is_mover = numbers([0] * self._count)
        for token in movers:
            is_mover[token] = 1
        for at in range(self._count):
            token = tokens[at]
            if self._levels[token] < 0 or (not is_mover[token] and not windows):
                continue
            self._on_step(self.work)
            own = () if is_mover[token] else windows
            self._slide(tokens, at, spent + weights[token], broken, missed, own)
            if self.work > limit:
                return False
        return True

    def try_smaller(self, order: Sequence[int], movers: Sequence[int], largest: int) -> None:
        """Note the orders in which one token moves whose `value` is at most `largest`, and break nothing.

        Where the last member ends says more than the size, which is a multiple of the alignment.
        """
        tokens = numbers(order)
        self._largest, self.improved = largest, []
        for mover in movers:
            self._on_step(self.work)
            self._slide(tokens, order.index(mover), 0, 0, 0, ())
        self._largest = -1

    def try_two(
        self, order: Sequence[int], movers: Sequence[int], weights: Sequence[int], most: int, limit: int
    ) -> bool:
        """Try the orders in which two tokens move; return whether that was done before the limit of work.

        Their moves weigh at most `most`.
        """
        tokens, moved = numbers(order), numbers(order)
        for number, first in enumerate(movers):
            seconds = [each for each in movers[number + 1 :] if weights[first] + weights[each] <= most]
            at = order.index(first)
            length = self.length(tokens, at)
            for to in range(self._count - length + 1 if seconds else 0):
                if not self._shift(tokens, moved, at, length, to):
                    continue
                for second in seconds:
                    place, wanted = 0, second
                    while moved[place] != wanted:
                        place += 1
                    self._slide(moved, place, weights[first] + weights[second], 0, 0, ())
                self._on_step(self.work)
                if self.work > limit:
                    return False
        return True

    def _shift(self, order: array[int], moved: array[int], at: int, length: int, to: int) -> bool:
        """Put some tokens to a place among the others; return whether they may stand there."""
        place = 0
        for index in range(self._count):
            if not at <= index < at + length:
                self._rest[place] = order[index]
                place += 1
        if not self._may_stand(order[at], to, place):
            return False
        for index in range(to):
            moved[index] = self._rest[index]
        for index in range(length):
            moved[to + index] = order[at + index]
        for index in range(to, place):
            moved[length + index] = self._rest[index]
        return True

    def _may_stand(self, token: int, to: int, count: int) -> bool:
        """Return whether a token can stand before a place of the rest: in its level."""
        level = self._levels[token]
        if to == count:
            return level == 0
        behind = self._rest[to]
        return self._levels[behind] == level or self._closing[behind] == level

    def _slide(
        self,
        order: array[int],
        at: int,
        weight: int,
        broken: int,
        missed: int,
        windows: Sequence[tuple[int, int]],
    ) -> None:
        """Try all places for a token: keep orders that break nothing, and note those that break less.

        With `broken` 0, only orders that break nothing count.
        """
        length = self.length(order, at)
        if weight > self.best[0] and not broken:
            return
        rest = 0
        for index in range(self._count):
            if not at <= index < at + length:
                self._rest[rest] = order[index]
                rest += 1
        for index in range(length):
            self._tried[index] = order[at + index]
        for index in range(rest):
            self._tried[length + index] = self._rest[index]
        for build in self._builds:
            build.prefix = 0
        for to in range(rest + 1):
            if to:
                token = self._rest[to - 1]
                self._tried[to - 1] = token
                for index in range(length):
                    self._tried[to + index] = order[at + index]
                for build in self._builds:
                    build.step(token)
            moving = order[at]
            if to != at and self._may_stand(moving, to, rest) and (not windows or _is_in(windows, to)):
                self._judge(to, moving, weight, broken, missed)

    def _judge(self, to: int, token: int, weight: int, most: int, least: int) -> None:
        """Judge the order that is tried, whose tokens before a place are laid out."""
        broken = missed = size = 0
        for build in self._builds:
            build.walk(self._tried, to, self._count, build.prefix)
            broken += build.faults(most - broken)
            missed += build.missed
            if broken > most:
                break
        self.work += self._count - to
        if broken > most or (broken and broken == most and missed >= least):
            return
        if broken:
            self.improved.append((broken, missed, token, to))
            return
        holes = end = contention = 0
        for build in self._builds:
            if not build.is_allowed(self._tried, self._count):
                return
            end += build.weight * build.end * build.grain
            size += build.weight * build.size()
            if self._is_contended:
                contention += build.weight * build.contention()
            holes += build.weight * build.holes(self._tried, self._count)
        if self._largest < 0:
            self._keep(weight, size, holes)
        elif self._is_contended:
            if contention <= self._largest:
                self.improved.append((contention, end, token, to))
        elif end <= self._largest:
            self.improved.append((end, holes, token, to))

    def _keep(self, weight: int, size: int, holes: int) -> None:
        """Keep the order that is tried if none is better."""
        key = (weight, size, holes)
        if key > self.best or (key == self.best and len(self.found) >= _MOST_EQUAL):
            return
        if key < self.best:
            self.best, self.found = key, []
        self.found.append(tuple([self._tried[index] for index in range(self._count)]))


def _is_in(windows: Sequence[tuple[int, int]], place: int) -> bool:
    """Return whether a place is in a window."""
    for low, high in windows:  # noqa: SIM110  no closures in C
        if low <= place <= high:
            return True
    return False
