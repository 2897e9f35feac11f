"""Hash tables of plain words: numbers for sequences of words, and for the entries of a unit."""

from __future__ import annotations

from typing import Final

_ALL = (1 << 64) - 1
_FACTOR = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, as in multiplicative hashing (Knuth, volume 3, 6.4)."""
_SEED: Final = hash("words") & _ALL
"""Differs between runs, so that no input can be built to collide in one slot."""
_START: Final = 1 << 12
UNKNOWN: Final = (1 << 64) - 2
"""Stands for an unknown number."""
_UNKNOWN = UNKNOWN
_LARGEST: Final = 1 << 63
"""Greater than all keys."""


class Words:
    """Assigns equal numbers to equal sequences of words, from 0 on.

    The sequences are stored one after another; a hash table maps them to their numbers.
    """

    def __init__(self) -> None:
        self._seed = _SEED
        self.stack = _zeros(_START)
        """Space for new sequences, one on top of another."""
        self._sequences = _zeros(_START)
        self._end = 0
        self._starts = _zeros(_START)
        self._count = 0
        self._slots = _zeros(2 * _START)
        """One more than the number of a sequence, 0 for an empty slot."""
        self._mask = 2 * _START - 1
        self._next = 0
        """One more than the number of the last sequence that had a number already. Units repeat one another,
        so the same sequences often follow it."""

    def grow(self, count: int) -> memoryview:
        """Return the stack, with room for at least `count` more words."""
        self.stack = memoryview(bytearray(self.stack) + bytes(8 * (len(self.stack) + count))).cast("Q")
        return self.stack

    def number(self, start: int, end: int) -> int:
        """Return the number of the words from `start` up to `end` on the stack."""
        if self._next < self._count and self._equals(self._next, start, end):
            self._next += 1
            return self._next - 1
        slot = self._hash(self.stack, start, end) & self._mask
        while self._slots[slot]:
            number = self._slots[slot] - 1
            if self._equals(number, start, end):
                self._next = number + 1
                return number
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
        for index in range(start, end):
            if self._sequences[place] != self.stack[index]:
                return False
            place += 1
        return True

    def _add(self, start: int, end: int, slot: int) -> int:
        while self._end + end - start > len(self._sequences):
            self._sequences = _double(self._sequences)
        if self._count + 2 > len(self._starts):
            self._starts = _double(self._starts)
        number = self._count
        self._slots[slot] = number + 1
        for index in range(start, end):
            self._sequences[self._end] = self.stack[index]
            self._end += 1
        self._count += 1
        self._starts[self._count] = self._end
        if 2 * self._count > self._mask:
            self._double_slots()
        return number

    def _double_slots(self) -> None:
        """Double the number of slots."""
        self._mask = 2 * self._mask + 1
        self._slots = _zeros(self._mask + 1)
        for number in range(self._count):
            slot = self._hash(self._sequences, self._starts[number], self._starts[number + 1]) & self._mask
            while self._slots[slot]:
                slot = (slot + 1) & self._mask
            self._slots[slot] = number + 1


class Memo:
    """Maps keys to numbers, until the next unit begins.

    A hash table with linear probing, in slots of two words. An entry of another unit counts as an empty slot,
    so nothing is cleared between units. Neighbouring keys have neighbouring slots, because a unit's entries
    mostly refer to others nearby.
    """

    def __init__(self) -> None:
        self._slots = _zeros(2 * _START)
        self._mask = _START - 1
        self._count = 0
        self._first = 1
        self._end = 1
        self._top = 1

    def begin(self, first: int, end: int) -> None:
        """Keep keys from `first` up to `end` from now on, and forget all others."""
        if first < self._top:
            self._slots = _zeros(2 * _START)
            self._mask = _START - 1
        self._count = 0
        self._first = first
        self._end = self._top = end

    def begin_all(self) -> None:
        """Keep all keys from now on."""
        self.begin(1, _LARGEST)

    def recall(self, key: int) -> int:
        """Return the number that was kept for a key, or UNKNOWN."""
        slot = key >> 2 & self._mask
        while True:
            stored = self._slots[2 * slot]
            if stored == key:
                return self._slots[2 * slot + 1]
            if not self._first <= stored < self._end:
                return _UNKNOWN
            slot = (slot + 1) & self._mask

    def keep(self, key: int, number: int) -> None:
        """Keep the number of a key that has none so far."""
        slot = key >> 2 & self._mask
        while self._first <= self._slots[2 * slot] < self._end:
            slot = (slot + 1) & self._mask
        self._slots[2 * slot] = key
        self._slots[2 * slot + 1] = number
        self._count += 1
        if 2 * self._count > self._mask:
            self._double_slots()

    def _double_slots(self) -> None:
        """Double the number of slots."""
        slots, count = self._slots, self._mask + 1
        self._slots = _zeros(4 * count)
        self._mask = 2 * count - 1
        self._count = 0
        for slot in range(count):
            if self._first <= slots[2 * slot] < self._end:
                self.keep(slots[2 * slot], slots[2 * slot + 1])


def _zeros(count: int) -> memoryview:
    return memoryview(bytearray(8 * count)).cast("Q")


def _double(words: memoryview) -> memoryview:
    """Return a table of these words, with room for as many again."""
    return memoryview(bytearray(words) + bytes(8 * len(words))).cast("Q")
