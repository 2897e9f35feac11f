"""Words for strings, comparable between units."""

from __future__ import annotations

from layoutlint.readers.dwarf.format.sections import Sections
from layoutlint.readers.dwarf.format.unit import Unit

IS_TEXT = 1 << 62
"""Marks the words of texts; numbers this large do not occur otherwise."""
IS_SHORT = 1 << 60
"""Marks words that hold their text."""
# Variables of C if this is compiled.
_IS_TEXT = IS_TEXT
_IS_SHORT = IS_SHORT
_LONGEST = 7
"""Bytes of a text that fits into its word, with the NUL."""
_PLACES = 1 << 48
"""A string of .debug_str at a position above this is kept as text."""


class Texts:
    """Assigns equal words to equal strings of one section, and to equal texts in entries."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._main: Sections | None = None
        """The sections of the first unit, for which positions stand for their strings."""

    def is_main(self, sections: Sections) -> bool:
        """Return whether positions of .debug_str stand for their strings, as in the first unit."""
        if self._main is None:
            self._main = sections
        return self._main is sections

    def string_word(self, unit: Unit, place: int) -> int:
        """Return a word for the string at a position of .debug_str. Raises DwarfError."""
        if self.is_main(unit.sections) and place < _PLACES:
            return place
        return self.text_word(unit.sections.text(place).encode(errors="surrogateescape"))

    def inline_word(self, unit: Unit, position: int, end: int) -> int:
        """Return a word for a text in an entry; the word holds a short text."""
        if end - position > _LONGEST:
            return self.text_word(bytes(unit.data[position:end]))
        return _IS_TEXT | _IS_SHORT | unit.number(position, end - position)

    def short_word(self, unit: Unit, position: int) -> int:
        """Return the word for a short text up to a NUL, and move `unit.next_position` past it; 0 for others.

        For little-endian units only.
        """
        word = _IS_TEXT | _IS_SHORT
        for shift in range(0, 8 * _LONGEST, 8):
            byte = unit.octets[position]
            position += 1
            if byte == 0:
                unit.next_position = position
                return word
            word |= byte << shift
        return 0

    def text_word(self, text: bytes) -> int:
        """Return a word for a text."""
        return _IS_TEXT | self._numbers.setdefault(text, len(self._numbers))
