"""Words for strings, by which those of different units compare."""

from __future__ import annotations

from layoutlint.readers.dwarf.format.sections import Sections
from layoutlint.readers.dwarf.format.unit import Unit

IS_TEXT = 1 << 62
"""Marks the words of texts; those of numbers that large do not matter."""
IS_SHORT = 1 << 60
"""Marks the words of texts that are in the word itself."""
# Variables of C where this is compiled.
_IS_TEXT = IS_TEXT
_IS_SHORT = IS_SHORT
_LONGEST = 7
"""Bytes of a text that is in the word itself, with the NUL."""
_PLACES = 1 << 48
"""A place of .debug_str behind this is kept as text."""


class Texts:
    """Equal strings of one section have equal words, and so have equal texts that stand in entries."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._main: Sections | None = None
        """The sections of the first unit, whose places stand for their strings."""

    def is_main(self, sections: Sections) -> bool:
        """Whether places of .debug_str stand for their strings: in the sections asked about first."""
        if self._main is None:
            self._main = sections
        return self._main is sections

    def at(self, unit: Unit, place: int) -> int:
        """A word for the string at a place of .debug_str. Raises Damaged."""
        if self.is_main(unit.sections) and place < _PLACES:
            return place
        return self.of(unit.sections.text(place).encode(errors="surrogateescape"))

    def inside(self, unit: Unit, position: int, end: int) -> int:
        """A word for a text that stands in an entry; short ones are that word."""
        if end - position > _LONGEST:
            return self.of(bytes(unit.data[position:end]))
        return _IS_TEXT | _IS_SHORT | unit.number(position, end - position)

    def brief(self, unit: Unit, position: int) -> int:
        """The same word, of a text up to a NUL, behind which `unit.behind` stands then; 0 for a longer one.

        For little-endian units only.
        """
        word = _IS_TEXT | _IS_SHORT
        for shift in range(0, 8 * _LONGEST, 8):
            byte = unit.octets[position]
            position += 1
            if byte == 0:
                unit.behind = position
                return word
            word |= byte << shift
        return 0

    def of(self, text: bytes) -> int:
        """A word for a text."""
        return _IS_TEXT | self._numbers.setdefault(text, len(self._numbers))
