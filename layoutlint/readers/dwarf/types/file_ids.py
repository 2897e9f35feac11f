"""Numbers for the files in which types are declared, comparable between units."""

from __future__ import annotations

from array import array

from layoutlint.readers.dwarf.format.file_table import Files, Name
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.dwarf.format.word_tables import Words

_FILES = 1 << 12
"""A unit's own numbers of files above this are looked up every time."""
_NUMBERS = 1 << 32
"""More than the number of paths."""
_PLACES = 1 << 48
"""A name at a position above this is kept as text."""
_FORM = 48
"""The bits for a name's form are above those for its position."""
_WORDS = 3
"""Words that distinguish two files."""


class Paths:
    """Assigns equal numbers to equal paths, whatever numbers the units use."""

    def __init__(self) -> None:
        self._places = Words()
        """Positions of the names of a file and its folder, which are cheaper to compare than paths."""
        self._path_numbers = array("Q", bytes(8 * _FILES))
        """One more than the number of the path, by the number of these positions; 0 if unknown."""
        self._numbers: dict[str | None, int] = {}
        """Numbers of paths."""
        self._texts: dict[tuple[int, bytes], int] = {}
        """Numbers of texts by their origin: line tables, or sections (compilation directories)."""
        self._unit: Unit | None = None
        """The unit of the last call."""
        self._files: Files | None = None
        """Its files."""
        self._origin = 0
        """The number of its sections and its compilation directory."""
        self._unit_path_numbers = array("Q", bytes(8 * _FILES))
        """The numbers of paths, by the unit's own numbers of files; the upper bits identify the unit."""
        self._unit_number = 0
        """The number of this unit, counted from 1."""

    def path_number(self, unit: Unit, number: int) -> int:
        """Return the number of the path with a unit's own file number. Raises DwarfError, IndexError."""
        if self._unit is not unit:
            self._begin(unit)
        if number < _FILES and self._unit_path_numbers[number] // _NUMBERS == self._unit_number:
            return self._unit_path_numbers[number] % _NUMBERS
        place = self._positions_number(number)
        while place >= len(self._path_numbers):
            self._path_numbers = array("Q", bytes(self._path_numbers) + bytes(8 * len(self._path_numbers)))
        entry = self._path_numbers[place]
        if entry == 0:
            entry = 1 + self._numbers.setdefault(unit.path(number), len(self._numbers))
            self._path_numbers[place] = entry
        if number < _FILES:
            self._unit_path_numbers[number] = self._unit_number * _NUMBERS + entry - 1
        return entry - 1

    def forget_places(self) -> None:
        """Forget the unit, because its file is closed."""
        self._unit = self._files = None

    def _begin(self, unit: Unit) -> None:
        self._files = unit.files
        folder = "" if self._files is None else self._files.comp_dir
        sections = unit.sections if unit.skeleton is None else unit.skeleton.sections
        self._origin = self._text_number(sections.number, folder.encode(errors="surrogateescape"))
        self._unit = unit
        self._unit_number += 1

    def _positions_number(self, number: int) -> int:
        """Return the number of the positions of a file's name and its folder's."""
        files, stack = self._files, self._places.stack
        if files is None or not files.find(number):
            return self._places.number(0, 0)
        stack[0] = self._origin
        stack[1] = self._name_word(files, files.name)
        stack[2] = self._name_word(files, files.folder)
        return self._places.number(0, _WORDS)

    def _name_word(self, files: Files, name: Name) -> int:
        value = name.value
        if name.is_inside or value >= _PLACES:
            value = self._text_number(-1, files.text(name))
        return name.form << _FORM | value

    def _text_number(self, origin: int, text: bytes) -> int:
        return self._texts.setdefault((origin, text), len(self._texts))
