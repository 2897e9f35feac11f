"""Numbers for sequences of words: equal sequences have equal numbers, counted from 0."""

from __future__ import annotations

from typing import Final

_ALL = (1 << 64) - 1
_FACTOR = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, as in multiplicative hashing (Knuth, volume 3, 6.4)."""
_SEED: Final = hash("words") & _ALL
"""Differs from run to run, so that no input can be made to meet in one slot."""
_START: Final = 1 << 12


class Words:
    """The sequences met so far, one behind another, and a hash table of where they start."""

    def __init__(self) -> None:
        self._seed = _SEED
        self._kept = _longs(_START)
        self._end = 0
        self._starts = _longs(_START)
        self._count = 0
        self._slots = _longs(2 * _START)
        """One more than the number of a sequence, 0 for an empty slot."""
        self._mask = 2 * _START - 1

    def number(self, words: memoryview, start: int, end: int) -> int:
        """The number of the words from `start` up to `end`."""
        slot = self._hash(words, start, end) & self._mask
        while self._slots[slot]:
            known = self._slots[slot] - 1
            if self._equals(known, words, start, end):
                return known
            slot = (slot + 1) & self._mask
        return self._add(words, start, end, slot)

    def _hash(self, words: memoryview, start: int, end: int) -> int:
        value = self._seed
        for index in range(start, end):
            value = ((value ^ words[index]) * _FACTOR) & _ALL
            value ^= value >> 32
        return value

    def _equals(self, number: int, words: memoryview, start: int, end: int) -> bool:
        place = self._starts[number]
        if self._starts[number + 1] - place != end - start:
            return False
        for index in range(start, end):
            if self._kept[place] != words[index]:
                return False
            place += 1
        return True

    def _add(self, words: memoryview, start: int, end: int, slot: int) -> int:
        while self._end + end - start > len(self._kept):
            self._kept = _grown(self._kept)
        if self._count + 2 > len(self._starts):
            self._starts = _grown(self._starts)
        number = self._count
        self._slots[slot] = number + 1
        for index in range(start, end):
            self._kept[self._end] = words[index]
            self._end += 1
        self._count += 1
        self._starts[self._count] = self._end
        if 2 * self._count > self._mask:
            self._spread()
        return number

    def _spread(self) -> None:
        """Twice as many slots."""
        self._mask = 2 * self._mask + 1
        self._slots = _longs(self._mask + 1)
        for number in range(self._count):
            slot = self._hash(self._kept, self._starts[number], self._starts[number + 1]) & self._mask
            while self._slots[slot]:
                slot = (slot + 1) & self._mask
            self._slots[slot] = number + 1


def _longs(count: int) -> memoryview:
    return memoryview(bytearray(8 * count)).cast("Q")


def _grown(words: memoryview) -> memoryview:
    """The same words, with room for as many again."""
    return memoryview(bytearray(words) + bytes(8 * len(words))).cast("Q")
