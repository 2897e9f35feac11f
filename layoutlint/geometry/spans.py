"""Ranges of memory: which overlap, and which are near one another."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate


class Spans:
    """Ranges of memory, found by binary search: a kernel has 100,000 variables."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = spans
        self._numbers = sorted(range(len(spans)), key=spans.__getitem__)
        self._starts = [spans[number][0] for number in self._numbers]
        self._ends = list(accumulate((spans[number][1] for number in self._numbers), max))
        """The maximum end up to each range."""
        self._by_end = sorted(range(len(spans)), key=lambda number: spans[number][1])
        self._sorted_ends = [spans[number][1] for number in self._by_end]

    def overlapping_indices(self, start: int, end: int) -> list[int]:
        """Return the indices of the ranges that overlap [start, end), in ascending order."""
        chosen = self._numbers[self._first_index(start) : bisect_left(self._starts, end)]
        return sorted(number for number in chosen if self._spans[number][1] > start)

    def count_candidates(self, start: int, end: int) -> int:
        """Return an upper limit for the number of ranges that `overlapping` returns."""
        return max(0, bisect_left(self._starts, end) - self._first_index(start))

    def indices_beside(self, start: int, end: int, line: int) -> set[int]:
        """Return the indices of the ranges less than a line before or after [start, end)."""
        before, after = self._slices_beside(start, end, line)
        return {*self._by_end[before], *self._numbers[after]}

    def count_beside(self, start: int, end: int, line: int) -> int:
        """Return the number of ranges that `indices_beside` returns, before and after."""
        return sum(each.stop - each.start for each in self._slices_beside(start, end, line))

    def _slices_beside(self, start: int, end: int, line: int) -> tuple[slice, slice]:
        ends, starts = self._sorted_ends, self._starts
        return (
            slice(bisect_right(ends, start - line), bisect_right(ends, start)),
            slice(bisect_left(starts, end), bisect_left(starts, end + line)),
        )

    def _first_index(self, start: int) -> int:
        return bisect_right(self._ends, start)
