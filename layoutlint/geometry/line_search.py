"""Which bytes of a struct a cache line has, found from the offsets on the line that code touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.geometry.access_masks import Masks
from layoutlint.model.record import Record


class Expectation(Record, frozen=True):
    """An offset that some code touched, and the bytes of the struct with the types that this code is for."""

    offset: int
    mask: int

    def holds(self, shift: int) -> bool:
        """Return whether the offset is at one of these bytes, if the line starts at a byte of the struct."""
        return shift + self.offset >= 0 and bool(self.mask >> (shift + self.offset) & 1)


class Candidate(Record, frozen=True):
    """A position of a line in a struct that explains all touched offsets."""

    shift: int
    """The byte of the struct at the start of the line; negative if the object starts on the line."""
    is_exact: bool
    """Whether every offset is the start of a field, not inside an integer."""
    is_met: bool
    """Whether all expectations hold."""

    def base(self, line_size: int) -> int:
        """Return the start of the object, modulo the line size."""
        return -self.shift % line_size


class Search(Record, frozen=True):
    """A search for the place of offsets on one line, in a struct of a size and alignment, all in bytes."""

    line_size: int
    size: int
    align: int
    offsets: tuple[int, ...]
    expectations: tuple[Expectation, ...] = ()

    def candidates(self, masks: Masks) -> tuple[Candidate, ...]:
        """Return all positions that explain every offset, by position."""
        exact = set(self._shifts(masks.starts))
        return tuple(
            Candidate(shift, shift in exact, self._is_met(shift)) for shift in self._shifts(masks.inside)
        )

    def _shifts(self, mask: int) -> Iterator[int]:
        """Yield the positions at which each offset is one of the bytes of a mask."""
        padded = mask << self.line_size
        shifts = -1
        for offset in self.offsets:
            shifts &= padded >> offset
            if not shifts:
                return
        if not self.offsets:
            return
        for bit in _bits(shifts):
            shift = bit - self.line_size
            if shift % self.align == 0 and -self.line_size < shift < self.size:
                yield shift

    def _is_met(self, shift: int) -> bool:
        return all(each.holds(shift) for each in self.expectations)


def _bits(number: int) -> Iterator[int]:
    """Yield the positions of the bits of a number, in order."""
    data = number.to_bytes((number.bit_length() + 7) // 8, "little")
    for position, byte in enumerate(data):
        while byte:
            low = byte & -byte
            yield position * 8 + low.bit_length() - 1
            byte ^= low


def best(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates that meet all expectations: the exact ones, or all if none is exact."""
    complete = [each for each in candidates if each.is_met]
    return tuple([each for each in complete if each.is_exact] or complete)
