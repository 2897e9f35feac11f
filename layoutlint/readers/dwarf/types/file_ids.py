"""Numbers for the files in which types are declared, by which those of different units compare."""

from __future__ import annotations

from array import array

from layoutlint.readers.dwarf.format.file_table import Files, Name
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.dwarf.format.word_tables import Words

_FILES = 1 << 12
"""A unit's own numbers of files behind this are looked up every time."""
_NUMBERS = 1 << 32
"""More than there are paths."""
_PLACES = 1 << 48
"""A name's place behind this is kept as text."""
_FORM = 48
"""The bits of a name's form stand above those of its place."""
_WORDS = 3
"""Words that tell two files apart."""


class Paths:
    """Equal paths have equal numbers, whichever numbers the units give them."""

    def __init__(self) -> None:
        self._places = Words()
        """Where the names of a file and its folder stand, which is cheaper to tell than the path."""
        self._known = array("Q", bytes(8 * _FILES))
        """One more than the number of the path, by that of these places; 0 for one that is not known."""
        self._numbers: dict[str | None, int] = {}
        """Of the paths."""
        self._texts: dict[tuple[int, bytes], int] = {}
        """Numbers of names by where they are from: line tables, or sections (compilation directories)."""
        self._unit: Unit | None = None
        """The unit that was asked about last."""
        self._files: Files | None = None
        """Its files."""
        self._origin = 0
        """Stands for its sections and its compilation directory."""
        self._turns = array("Q", bytes(8 * _FILES))
        """The numbers of paths, by the unit's own numbers of files; above those which unit that was."""
        self._turn = 0
        """The how manieth unit that is."""

    def of(self, unit: Unit, number: int) -> int:
        """The number of the file that a unit's own number means. Raises Damaged, IndexError."""
        if self._unit is not unit:
            self._begin(unit)
        if number < _FILES and self._turns[number] // _NUMBERS == self._turn:
            return self._turns[number] % _NUMBERS
        place = self._place(number)
        while place >= len(self._known):
            self._known = array("Q", bytes(self._known) + bytes(8 * len(self._known)))
        known = self._known[place]
        if known == 0:
            known = 1 + self._numbers.setdefault(unit.path(number), len(self._numbers))
            self._known[place] = known
        if number < _FILES:
            self._turns[number] = self._turn * _NUMBERS + known - 1
        return known - 1

    def leave(self) -> None:
        """Lets go of the unit, whose file is closed."""
        self._unit = self._files = None

    def _begin(self, unit: Unit) -> None:
        self._files = unit.files
        folder = "" if self._files is None else self._files.comp_dir
        sections = unit.sections if unit.skeleton is None else unit.skeleton.sections
        self._origin = self._text(sections.number, folder.encode(errors="surrogateescape"))
        self._unit = unit
        self._turn += 1

    def _place(self, number: int) -> int:
        """The number of where the names of a file and its folder stand."""
        files, stack = self._files, self._places.stack
        if files is None or not files.find(number):
            return self._places.number(0, 0)
        stack[0] = self._origin
        stack[1] = self._word(files, files.name)
        stack[2] = self._word(files, files.folder)
        return self._places.number(0, _WORDS)

    def _word(self, files: Files, name: Name) -> int:
        value = name.value
        if name.is_inside or value >= _PLACES:
            value = self._text(-1, files.text(name))
        return name.form << _FORM | value

    def _text(self, origin: int, text: bytes) -> int:
        return self._texts.setdefault((origin, text), len(self._texts))
