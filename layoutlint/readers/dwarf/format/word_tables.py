"""Numbers for sequences of words, and what is known of the entries of a unit, in tables of plain words."""

from __future__ import annotations

from typing import Final

_ALL = (1 << 64) - 1
_FACTOR = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, as in multiplicative hashing (Knuth, volume 3, 6.4)."""
_SEED: Final = hash("words") & _ALL
"""Differs from run to run, so that no input can be made to meet in one slot."""
_START: Final = 1 << 12
UNKNOWN: Final = (1 << 64) - 2
"""Stands for a number that is not known yet."""
_UNKNOWN = UNKNOWN
_LARGEST: Final = 1 << 63
"""Behind all keys."""


class Words:
    """Equal sequences have equal numbers, counted from 0.

    The sequences met so far stand one behind another; a hash table says where they start.
    """

    def __init__(self) -> None:
        self._seed = _SEED
        self.stack = _longs(_START)
        """Where sequences are put together, one on top of another."""
        self._kept = _longs(_START)
        self._end = 0
        self._starts = _longs(_START)
        self._count = 0
        self._slots = _longs(2 * _START)
        """One more than the number of a sequence, 0 for an empty slot."""
        self._mask = 2 * _START - 1

    def grow(self, count: int) -> memoryview:
        """The stack, with room for at least so many more words."""
        self.stack = memoryview(bytearray(self.stack) + bytes(8 * (len(self.stack) + count))).cast("Q")
        return self.stack

    def number(self, start: int, end: int) -> int:
        """The number of the words that stand from `start` up to `end` on the stack."""
        slot = self._hash(self.stack, start, end) & self._mask
        while self._slots[slot]:
            known = self._slots[slot] - 1
            if self._equals(known, start, end):
                return known
            slot = (slot + 1) & self._mask
        return self._add(start, end, slot)

    def _hash(self, words: memoryview, start: int, end: int) -> int:
        value = self._seed
        for index in range(start, end):
            value = ((value ^ words[index]) * _FACTOR) & _ALL
            value ^= value >> 32
        return value

    def _equals(self, number: int, start: int, end: int) -> bool:
        place = self._starts[number]
        if self._starts[number + 1] - place != end - start:
            return False
        kept, stack = self._kept, self.stack
        for index in range(start, end):
            if kept[place] != stack[index]:
                return False
            place += 1
        return True

    def _add(self, start: int, end: int, slot: int) -> int:
        while self._end + end - start > len(self._kept):
            self._kept = _grown(self._kept)
        if self._count + 2 > len(self._starts):
            self._starts = _grown(self._starts)
        number = self._count
        self._slots[slot] = number + 1
        for index in range(start, end):
            self._kept[self._end] = self.stack[index]
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


class Memo:
    """The numbers of keys, for as long as the unit that the keys belong to is at hand.

    A hash table with linear probing, in slots of two words. What other units left in a slot counts as empty,
    so that nothing needs to be wiped between them. Neighbouring keys have neighbouring slots, as a unit's
    entries mostly refer to others nearby.
    """

    def __init__(self) -> None:
        self._slots = _longs(2 * _START)
        self._mask = _START - 1
        self._count = 0
        self._first = 1
        self._end = 1
        self._top = 1

    def begin(self, first: int, end: int) -> None:
        """From here on keys from `first` up to `end` are kept, and all others forgotten."""
        if first < self._top:
            self._slots = _longs(2 * _START)
            self._mask = _START - 1
        self._count = 0
        self._first = first
        self._end = self._top = end

    def begin_all(self) -> None:
        """From here on all keys are kept."""
        self.begin(1, _LARGEST)

    def recall(self, key: int) -> int:
        """The number that was kept under a key, or UNKNOWN."""
        slot = key >> 2 & self._mask
        while True:
            other = self._slots[2 * slot]
            if other == key:
                return self._slots[2 * slot + 1]
            if not self._first <= other < self._end:
                return _UNKNOWN
            slot = (slot + 1) & self._mask

    def keep(self, key: int, number: int) -> None:
        """Takes down the number of a key that has none so far."""
        slot = key >> 2 & self._mask
        while self._first <= self._slots[2 * slot] < self._end:
            slot = (slot + 1) & self._mask
        self._slots[2 * slot] = key
        self._slots[2 * slot + 1] = number
        self._count += 1
        if 2 * self._count > self._mask:
            self._spread()

    def _spread(self) -> None:
        """Twice as many slots."""
        slots, count = self._slots, self._mask + 1
        self._slots = _longs(4 * count)
        self._mask = 2 * count - 1
        self._count = 0
        for slot in range(count):
            if self._first <= slots[2 * slot] < self._end:
                self.keep(slots[2 * slot], slots[2 * slot + 1])


def _longs(count: int) -> memoryview:
    return memoryview(bytearray(8 * count)).cast("Q")


def _grown(words: memoryview) -> memoryview:
    """The same words, with room for as many again."""
    return memoryview(bytearray(words) + bytes(8 * len(words))).cast("Q")
