"""Layouts of orders of a struct's members, and what they break.

All numbers are in arrays: an order is a sequence of tokens, one for each unit, and two for each opened
struct, where it opens and where it closes. Each token adds bytes to the end of the one before it, which
depend on that end alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Final

APART: Final = 0
ON_ONE_LINE: Final = 1
LINE_BEGINS: Final = 2
WITHIN: Final = 3
FEW_LINES: Final = 4
BETWEEN: Final = 5
BEFORE: Final = 6
DISTANCE: Final = 7
SIDE_BY_SIDE: Final = 8
HOLES: Final = 9
NEVER: Final = 10
"""The kinds of demands, which the first of ten numbers states.

The others are two fields, the place in the pool of more and their number, the same of bases, the bytes of a
line, and two numbers. What never holds can have sizes for fields, at which it holds.
"""
BEFORE_ALL: Final = 0
TOGETHER: Final = 1
IN_ORDER: Final = 2
FIRST: Final = 3
OFFSET: Final = 4
SPACING: Final = 5
SIZE: Final = 6
"""The kinds of limits, which the first of five numbers states.

The others are the place in the pool of units and their number, and the same of other units.
"""

_APART, _ON_ONE_LINE, _LINE_BEGINS, _WITHIN, _FEW_LINES = range(5)
_BETWEEN, _BEFORE, _DISTANCE, _SIDE_BY_SIDE, _HOLES, _NEVER = range(5, 11)
_BEFORE_ALL, _TOGETHER, _IN_ORDER, _FIRST, _OFFSET, _SPACING, _SIZE = range(7)
_WIDTH = 10
_LIMIT_WIDTH = 5
_FAR = 1 << 60


def numbers(values: Iterable[int]) -> array[int]:
    """Return integers of 64 bits."""
    return array("q", values)


class Tables:
    """What decides on the layouts of a build: for each token, field, demand and limit a few numbers."""

    def __init__(
        self,
        tokens: Sequence[Sequence[int]],
        rows: Sequence[Sequence[int]],
        fields: Sequence[Sequence[int]],
        starts: Iterable[int],
        shape: Sequence[int],
    ) -> None:
        """Take the tables.

        `tokens` have a mask for the end before them, their first row, whether they have fields, and whether
        these have bytes. `rows` have the grains before a token, those with its bytes, the bytes that fields
        touch, and the bits up to the end of the last one. `fields` have their token, the place of their first
        bit for each row in `starts`, and their bits. `shape` has the bits in a grain, the alignment in bits,
        and how often the build counts.
        """
        self.masks, self.bases = (numbers(each[at] for each in tokens) for at in (0, 1))
        self.has_fields, self.is_solid = (numbers(each[at] for each in tokens) for at in (2, 3))
        self.gaps, self.advances, self.touched, self.reaches = (
            numbers(each[at] for each in rows) for at in range(4)
        )
        self.field_tokens, self.field_starts, self.field_bits = (
            numbers(each[at] for each in fields) for at in range(3)
        )
        self.starts = numbers(starts)
        self.grain, self.align, self.weight = shape
        self.begins = numbers([0] * len(tokens))
        self.places = numbers([0] * len(tokens))
        self.first, self.last, self._sorted = (numbers([0] * (len(fields) + 1)) for _ in range(3))
        self.end = self.prefix = self.missed = 0
        self.last_token = -1
        self.is_marker = numbers([0] * len(tokens))
        self.declared_size = 0
        self.declared = numbers([0] * len(tokens))
        self.limits = self.pool = numbers(())
        self.classes = self.rules = self.cases = self.demands = numbers(())
        self.pairs = numbers(())
        self.first_size = -1

    def state_rules(
        self,
        sizes: Sequence[tuple[int, int]],
        rules: Sequence[Sequence[int]],
        cases: Sequence[int],
        demands: Sequence[Sequence[int]],
        pairs: Sequence[Sequence[int]],
        pool: Sequence[int],
    ) -> None:
        """Take the rules.

        `sizes` have a size in bytes, or -1 for any, and its class. `rules` have for each class where its own
        begin and end among the numbers in them; then each rule has its first case, the one behind its last,
        how many may fail, and its number. A case has the demands from its number in `cases` to the next.
        `pairs` have a demand that two fields are apart, and what each base costs where they are not.
        """
        known = dict(sizes)
        self.first_size = min(known, default=-1)
        step = self.align // 8
        last = max(known, default=-1)
        if known:
            self.classes = numbers(known.get(size, -1) for size in range(self.first_size, last + 1, step))
        self.rules = numbers(number for each in rules for number in each)
        self.cases, self.pool = numbers(cases), numbers(pool)
        self.demands = numbers(number for each in demands for number in each)
        self.pairs = numbers(number for each in pairs for number in each)

    def state_limits(
        self,
        limits: Sequence[Sequence[int]],
        last: int,
        markers: Iterable[int],
        order: Sequence[int],
        size: int,
    ) -> None:
        """Take what orders must meet beside the rules; `order` and `size` are the declared ones."""
        self.limits = numbers(number for each in limits for number in each)
        self.last_token, self.declared_size = last, size
        for marker in markers:
            self.is_marker[marker] = 1
        tokens = numbers(order)
        self.walk(tokens, 0, len(tokens), 0)
        for token in order:
            self.declared[token] = self.begins[token] + self.gaps[self._row(token)]

    def walk(self, order: array[int], at: int, stop: int, end: int) -> None:
        """Lay out the tokens of an order from a place on, behind those that end at some grain."""
        while at < stop:
            token = order[at]
            self.begins[token] = end
            end += self.advances[self.bases[token] + (end & self.masks[token])]
            at += 1
        self.end = end

    def step(self, token: int) -> None:
        """Lay out one more token behind those before it."""
        self.begins[token] = self.prefix
        self.prefix += self.advances[self.bases[token] + (self.prefix & self.masks[token])]

    def _row(self, token: int) -> int:
        return self.bases[token] + (self.begins[token] & self.masks[token])

    def size(self) -> int:
        """Return the size of the struct in bytes."""
        bits = self.end * self.grain
        return (bits + self.align - 1) // self.align * self.align // 8

    def holes(self, order: array[int], stop: int) -> int:
        """Return the number of tokens with unused bytes before them."""
        count = 0
        for at in range(stop):
            count += self.gaps[self._row(order[at])] * self.grain >= 8
        return count

    def faults(self, most: int) -> int:
        """Return how many rules the layout breaks, and stop behind `most`; `missed` is by how much in all."""
        self.missed = 0
        size = self.size()
        chosen = self._class_at(size)
        if chosen < 0:
            return most + 1 if len(self.classes) else 0  # not known at this size, or no rules
        self._place_fields()
        broken = 0
        at, stop = self.rules[2 * chosen], self.rules[2 * chosen + 1]
        while at < stop and broken <= most:
            failing = missed = 0
            for case in range(self.rules[at], self.rules[at + 1]):
                own = 0
                for demand in range(self.cases[case], self.cases[case + 1]):
                    own += self._misses(demand * _WIDTH, size)
                failing += own > 0
                missed += own
            if failing > self.rules[at + 2]:
                broken += 1
                self.missed += missed
            at += 4
        return broken

    def contention(self) -> int:
        """Return what the pairs cost that share a line, at all bases."""
        total = 0
        self._place_fields()
        for at in range(0, len(self.pairs), 2):
            total += self._count_shared(self.pairs[at] * _WIDTH, 0) * self.pairs[at + 1]
        return total

    def _class_at(self, size: int) -> int:
        """Return the class of a size; -1 for none."""
        if self.first_size < 0:
            return len(self.classes) - 1
        at = (size - self.first_size) * 8 // self.align
        return self.classes[at] if 0 <= at < len(self.classes) else -1

    def _place_fields(self) -> None:
        """Note the first and the last bit of each field."""
        for field in range(len(self.field_tokens)):
            token = self.field_tokens[field]
            begin = self.begins[token]
            start = begin * self.grain + self.starts[self.field_starts[field] + (begin & self.masks[token])]
            self.first[field] = start
            self.last[field] = start + self.field_bits[field] - 1

    def failing(self, whole: bool) -> list[list[int]]:
        """Return the tokens of each demand that the layout does not meet, of rules that it breaks.

        Those of all demands of these rules if `whole`.
        """
        found: list[list[int]] = []
        for _, cases, missed in self._broken():
            found += (self._tokens_of(one) for case in (cases if whole else missed) for one in case)
        return found

    def broken_rules(self) -> list[int]:
        """Return the numbers of the rules that the layout breaks."""
        return [number for number, _, _ in self._broken()]

    def _broken(self) -> list[tuple[int, list[range], list[list[int]]]]:
        """Return the rules that the layout breaks: number, demands of each case, those that are not met."""
        size = self.size()
        own_class = self._class_at(size)
        chosen = [] if own_class < 0 else [own_class]
        self._place_fields()
        found = []
        for at in (at for each in chosen for at in range(self.rules[2 * each], self.rules[2 * each + 1], 4)):
            own = range(self.rules[at], self.rules[at + 1])
            cases = [range(self.cases[case], self.cases[case + 1]) for case in own]
            missed = [[one for one in case if self._misses(one * _WIDTH, size)] for case in cases]
            if sum(map(bool, missed)) > self.rules[at + 2]:
                found.append((self.rules[at + 3], cases, missed))
        return found

    def _tokens_of(self, demand: int) -> list[int]:
        """Return the tokens with the fields of a demand, as it states them."""
        kind, a, b, start, count = [self.demands[demand * _WIDTH + at] for at in range(5)]
        two = {_APART: (a, b), _BEFORE: (a, b), _DISTANCE: (a, b), _HOLES: (), NEVER: ()}
        has_more = count and kind != NEVER
        fields = [self.pool[at] for at in range(start, start + count)] if has_more else two.get(kind, (a,))
        return [self.field_tokens[field] for field in fields]

    def _misses(self, at: int, size: int) -> int:
        """Return by how much a demand does not hold: bases, lines at all of them, or bytes."""
        kind = self.demands[at]
        if kind == _APART:
            return self._count_shared(at, size)
        if kind > _FEW_LINES:
            return self._excess(at, kind)
        missed = 0
        for number in range(self.demands[at + 5], self.demands[at + 5] + self.demands[at + 6]):
            missed += self._excess_at(at, kind, self.pool[number], size)
        return missed

    def _count_shared(self, at: int, size: int) -> int:
        """Return at how many bases two fields share a line."""
        a, b, line = self.demands[at + 1], self.demands[at + 2], self.demands[at + 7]
        step = size if self.demands[at + 9] else self.demands[at + 8]
        if not step and self.first[b] < self.first[a]:
            a, b = b, a
        before, behind = self.last[a] >> 3, (self.first[b] >> 3) + step
        missed = 0
        for number in range(self.demands[at + 5], self.demands[at + 5] + self.demands[at + 6]):
            base = self.pool[number]
            missed += (before + base) // line >= (behind + base) // line
        return missed

    def _excess_at(self, at: int, kind: int, base: int, size: int) -> int:
        """Return how many lines too many fields touch at a base; of other demands 1 if one does not hold."""
        line, field = self.demands[at + 7], self.demands[at + 1]
        if kind == _LINE_BEGINS:
            return (base * 8 + self.first[field] - self.demands[at + 8]) % (line * 8) != 0
        if kind != _WITHIN:
            lines, most = self._lines(at, base), self.demands[at + 8]
            return lines - most if lines > most else 0
        first, last = (self.first[field] >> 3) + base, (self.last[field] >> 3) + base
        return first // line * line < base or (last // line + 1) * line > base + size

    def _excess(self, at: int, kind: int) -> int:
        """Return how many bytes are missing or too many for a demand without bases; 0 if it holds."""
        a, b, low, high = (
            self.demands[at + 1], self.demands[at + 2], self.demands[at + 8], self.demands[at + 9],
        )  # fmt: skip
        if kind == _BEFORE:
            return self.last[a] >= self.first[b]
        if kind == _SIDE_BY_SIDE:
            return self._count_between(at)
        if kind == _NEVER:
            return self._bytes_to_size(at)
        value = 0
        if kind == _BETWEEN:
            value = self.first[a] >> 3
        elif kind == _DISTANCE:
            value = abs((self.first[a] >> 3) - (self.first[b] >> 3))
        else:
            value, high = self._count_unused(), low
            low = 0
        return low - value if value < low else value - high if value > high else 0

    def _bytes_to_size(self, at: int) -> int:
        """Return how many bytes less, or more, give the struct the next of some sizes; 1 without sizes."""
        start, count = self.demands[at + 3], self.demands[at + 4]
        bits, least = self.end * self.grain, _FAR
        for number in range(start, start + count):
            most = self.pool[number] * 8
            away = bits - most if bits > most else most - self.align + 1 - bits
            if away < least:
                least = away
        return (least + 7) >> 3 if count else 1

    def _sort(self, at: int) -> int:
        """Sort the fields of a demand by their beginnings; return their number."""
        start, count = self.demands[at + 3], self.demands[at + 4]
        for number in range(count):
            field = self.pool[start + number]
            place = number
            while place and self.first[self._sorted[place - 1]] > self.first[field]:
                self._sorted[place] = self._sorted[place - 1]
                place -= 1
            self._sorted[place] = field
        return count

    def _lines(self, at: int, base: int) -> int:
        """Return the lines that fields touch at a base, or those from the first to the last of them."""
        line, is_few = self.demands[at + 7], self.demands[at] == _FEW_LINES
        count, reached, touched = self._sort(at), -1, 0
        for number in range(count):
            field = self._sorted[number]
            first, last = ((self.first[field] >> 3) + base) // line, ((self.last[field] >> 3) + base) // line
            if number and not is_few and first > reached:
                first = reached + 1
            if first <= reached:
                first = reached + 1
            if last >= first:
                touched += last - first + 1
                reached = last
        return touched

    def _count_between(self, at: int) -> int:
        """Return the bytes too many between fields; `pool` has the alignment behind each of them."""
        start, most = self.demands[at + 3], self.demands[at + 8]
        count, others = self._sort(at), start + 2 * self.demands[at + 4]
        reached, excess = self.last[self._sorted[0]] + 1, 0
        for number in range(1, count):
            field = self._sorted[number]
            begin = self.first[field]
            least = 0
            for other in range(others, others + self.demands[at + 9]):
                one = self.pool[other]
                if self.first[one] < begin and self.last[one] >= reached:
                    least = 1
            end = (reached + 7) >> 3
            align = 1
            for own in range(start, start + count):
                if self.pool[own] == field:
                    align = self.pool[own + count]
            room = most
            if most < 0:
                room = (end + align - 1) // align * align - end
            beyond = (begin >> 3) - end - room
            excess += beyond if beyond > least else least
            if self.last[field] >= reached:
                reached = self.last[field] + 1
        return excess

    def _count_unused(self) -> int:
        """Return the bytes before the end of the last field that none touches."""
        end = touched = 0
        for token in range(len(self.bases)):
            row = self._row(token)
            touched += self.touched[row]
            if self.reaches[row] >= 0:
                reached = (self.begins[token] * self.grain + self.reaches[row] + 7) >> 3
                if reached > end:
                    end = reached
        return end - touched

    def is_allowed(self, order: array[int], stop: int) -> bool:
        """Return whether an order that was laid out meets the limits."""
        if not self._has_right_end(order, stop):
            return False
        if not len(self.limits):
            return True
        for at in range(stop):
            self.places[order[at]] = at
        for limit in range(0, len(self.limits), _LIMIT_WIDTH):  # noqa: SIM110  no closures in C
            if not self._meets(limit, order, stop):
                return False
        return True

    def _has_right_end(self, order: array[int], stop: int) -> bool:
        """Return whether a flexible array is the last one, and no array without a length becomes one."""
        if self.last_token >= 0 and order[stop - 1] != self.last_token:
            return False
        at = stop
        while at and not self.has_fields[order[at - 1]]:
            at -= 1
        return not at or not self.is_marker[order[at - 1]]

    def _meets(self, limit: int, order: array[int], stop: int) -> bool:
        kind, start, count = self.limits[limit], self.limits[limit + 1], self.limits[limit + 2]
        if kind in (_OFFSET, _SPACING):
            return self._keeps_offsets(kind, start, count)
        if kind == _SIZE:
            return self.size() == self.declared_size
        low, high, previous = _FAR, -1, -1
        for number in range(start, start + count):
            place = self.places[self.pool[number]]
            if kind == _IN_ORDER and place < previous:
                return False
            previous = place
            low = place if place < low else low
            high = place if place > high else high
        if kind == _BEFORE_ALL:
            return self._are_behind(high, limit)
        if kind == _TOGETHER:
            return self._is_run(start, count, order, low, high)
        return kind != _FIRST or self._is_first(low, order)

    def _keeps_offsets(self, kind: int, start: int, count: int) -> bool:
        """Return whether units are where they are declared, or all as far from there as the first."""
        wanted = 0
        for number in range(start, start + count):
            token = self.pool[number]
            own = self.begins[token] + self.gaps[self._row(token)] - self.declared[token]
            if kind == _SPACING and number == start:
                wanted = own
            if own != wanted:
                return False
        return True

    def _are_behind(self, place: int, limit: int) -> bool:
        """Return whether the other units of a limit stand behind a place."""
        other = self.limits[limit + 3]
        for number in range(other, other + self.limits[limit + 4]):
            if self.places[self.pool[number]] < place:
                return False
        return True

    def _is_run(self, start: int, count: int, order: array[int], low: int, high: int) -> bool:
        """Return whether no other unit with bytes stands among some, between two places."""
        others = 0
        for at in range(low, high + 1):
            others += self.is_solid[order[at]]
        for number in range(start, start + count):
            others -= self.is_solid[self.pool[number]]
        return others == 0

    def _is_first(self, place: int, order: array[int]) -> bool:
        """Return whether no unit stands before a place."""
        at = 0
        while not self.is_unit(order[at]):
            at += 1
        return at == place

    def is_unit(self, token: int) -> bool:
        """Return whether the build has a token, and it is a unit."""
        return self.has_fields[token] != 0 or self.is_solid[token] != 0
