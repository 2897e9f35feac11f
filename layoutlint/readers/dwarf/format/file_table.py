"""File tables of .debug_line, which DW_AT_decl_file indexes (DWARF 5, section 6.2.4).

pyelftools builds objects for each entry, about 30 microseconds: half a minute for the 300 files of each of
2800 units of a kernel. This module keeps only the positions of names and directories, and joins them on
request.
"""

from __future__ import annotations

import posixpath
from array import array
from functools import lru_cache
from typing import Final, Literal

from layoutlint.model.record import Record
from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.cursor import Cursor
from layoutlint.readers.dwarf.format.forms import SKIP_STRING, SKIP_ULEB, DwarfError, read_value
from layoutlint.readers.elf.elf_file import Data
from layoutlint.readers.elf.span import Span

# Variables of C if this is compiled; names of another module would be objects.
_UDATA = forms.UDATA
_PATH = 1
_DIRECTORY = 2
_WIDEST = 8
_SKIP_STRING = forms.SKIP_STRING
_SKIP_ULEB = forms.SKIP_ULEB
_MOST: Final = 1 << 20
"""The largest number of entries; a table that claims more counts as damaged."""
_OLD: Final = array("q", [_PATH, forms.STRING, SKIP_STRING, _DIRECTORY, forms.UDATA, SKIP_ULEB])
"""The parts of an entry up to DWARF 4. For directories, the second part is never read."""
_NONE: Final = array("q")


class Strings(Record, frozen=True):
    """The string sections that a line table refers to, and the width of a reference."""

    line: Span
    plain: Span
    offset_size: int
    order: Literal["little", "big"]

    def text(self, form: int, offset: int) -> bytes:
        """Return the string that a reference of a form points to. Raises DwarfError."""
        if form not in (forms.LINE_STRP, forms.STRP):
            raise DwarfError(f"a file name of form {form:#x}")
        section = self.line if form == forms.LINE_STRP else self.plain
        try:
            return section.string(offset)
        except ValueError as error:
            raise DwarfError(f"a file name is missing: {error}") from error


def tidy(comp_dir: str, *parts: str) -> str:
    """Return a path as reports show it: joined, without `./`, relative to `comp_dir` if inside it."""
    path = posixpath.normpath(posixpath.join(comp_dir, *parts))
    prefix = posixpath.normpath(comp_dir) + "/" if comp_dir else ""
    return path[len(prefix) :] if prefix and path.startswith(prefix) else path


@lru_cache(1 << 16)
def _join(comp_dir: str, directory: bytes, name: bytes) -> str:
    return tidy(comp_dir, directory.decode(errors="replace"), name.decode(errors="replace"))


class Name:
    """The position of a name: a reference and its form, or that of the text itself."""

    def __init__(self) -> None:
        self.form = 0
        """0 without a name."""
        self.value = 0
        self.is_inside = False
        """Whether the table itself has the name, at `value`."""
        self.directory = 0
        """The number of its directory."""


class Files(Cursor):
    """The files of one unit, by the numbers in DW_AT_decl_file; names are read on request."""

    def __init__(self, data: Data, offset: int, comp_dir: str, strings: Strings) -> None:
        """Find the tables of the line program at `offset`.

        Raises DwarfError, IndexError if the section ends.
        """
        super().__init__(data, strings.order == "little")
        self.comp_dir = comp_dir
        self._strings = strings
        self._first = 1
        """The number of the first entry: 1 up to DWARF 4, 0 since DWARF 5."""
        self._folders = _NONE
        """The positions of the entries."""
        self._folder_parts = _OLD
        """For each part of an entry: its content, its form, and its bytes or SKIP code."""
        self._names = _NONE
        self._name_parts = _OLD
        self.name = Name()
        """The name of the file that was found last."""
        self.folder = Name()
        self._find_tables(offset)

    def _find_tables(self, offset: int) -> None:
        data, order = self.data, self._strings.order
        position, width = offset, 4
        length = int.from_bytes(data[position : position + 4], order)
        if length == 0xFFFFFFFF:
            width = 8
            length = int.from_bytes(data[position + 4 : position + 12], order)
        position += 4 if width == 4 else 12
        if not (offset < position <= self.size and length <= self.size - position):
            raise DwarfError(f"the line table at {offset:#x} is outside .debug_line")
        self.size = position + length
        version = int.from_bytes(data[position : position + 2], order)
        if not 2 <= version <= 5:
            raise DwarfError(f"the line table at {offset:#x} has version {version}")
        # version, address_size and segment_selector_size; header_length; minimum_instruction_length, (from
        # version 4) maximum_operations_per_instruction, default_is_stmt, line_base, line_range; opcode_base
        position += 2 + (2 if version >= 5 else 0) + width + (5 if version >= 4 else 4)
        position += self.octets[position]
        if version < 5:
            self._folders = self._find_old_entries(position, False)
            self._names = self._find_old_entries(self.next_position, True)
            return
        self._first = 0
        self._folder_parts = self._read_parts(position, width)
        self._folders = self._find_entries(self.next_position, self._folder_parts)
        self._name_parts = self._read_parts(self.next_position, width)
        self._names = self._find_entries(self.next_position, self._name_parts)
        # Type units do not repeat the compilation directory; it is the first of the table.
        if not self.comp_dir and len(self._folders):
            self._read_entry(self.folder, self._folder_parts, self._folders[0])
            self.comp_dir = self.text(self.folder).decode(errors="replace")

    def _find_old_entries(self, position: int, is_file: bool) -> array[int]:
        """Return the positions of the entries of a table up to DWARF 4, which an empty string ends."""
        starts = array("q")
        while self.octets[position]:
            starts.append(position)
            position = self.skip(position, _SKIP_STRING)
            if is_file:
                for _ in range(3):
                    position = self.skip(position, _SKIP_ULEB)
        self.next_position = position + 1
        return starts

    def _read_parts(self, position: int, width: int) -> array[int]:
        """Return the parts of the entries of a DWARF 5 table; their count is then at `next_position`."""
        kinds = array("q")
        self.next_position = position + 1
        for _ in range(self.octets[position]):
            content = self.uleb(self.next_position)
            form = self.uleb(self.next_position)
            part = content if content in (_PATH, _DIRECTORY) else 0
            kinds.extend((part, form, forms.form_size(form, 5, width, 8)))
        return kinds

    def _find_entries(self, position: int, kinds: array[int]) -> array[int]:
        """Return the positions of the entries of a DWARF 5 table, from the position of their count."""
        total = self.uleb(position)
        position = self.next_position
        if total > _MOST or position + total > self.size:
            raise DwarfError(f"a line table claims {total} files")
        starts = array("q", bytes(8 * total))
        places = starts  # a view of them if this is compiled
        for number in range(total):
            places[number] = position
            for index in range(2, len(kinds), 3):
                step = kinds[index]
                position = position + step if step >= 0 else self.skip(position, step)
        if position > self.size:
            raise DwarfError("the files of a line table end behind it")
        self.next_position = position
        return starts

    def _read_entry(self, name: Name, kinds: array[int], position: int) -> None:
        """Read an entry into `name`."""
        name.form = name.value = name.directory = 0
        name.is_inside = False
        for index in range(0, len(kinds), 3):
            content, form, width = kinds[index], kinds[index + 1], kinds[index + 2]
            is_number = 0 <= width <= _WIDEST or form == _UDATA
            value = self.value(position, width) if is_number and content else position
            if content == _PATH:
                name.form, name.value, name.is_inside = form, value, not is_number
            elif content == _DIRECTORY and is_number:
                name.directory = value
            position = position + width if width >= 0 else self.skip(position, width)

    def find(self, number: int) -> bool:
        """Return whether there is a file of this number; `name` and `folder` then describe it."""
        if not self._first <= number < self._first + len(self._names):
            return False
        self._read_entry(self.name, self._name_parts, self._names[number - self._first])
        directory = self.name.directory
        if self._first <= directory < self._first + len(self._folders):
            self._read_entry(self.folder, self._folder_parts, self._folders[directory - self._first])
        else:
            self.folder.form = 0
        return True

    def text(self, name: Name) -> bytes:
        """Return the text of a name. Raises DwarfError."""
        if name.form == 0:
            return b""
        if not name.is_inside:
            return self._strings.text(name.form, name.value)
        text = read_value(self.data, name.value, name.form, self._strings.order)[0]
        if not isinstance(text, bytes):
            raise DwarfError(f"a file name of form {name.form:#x}", name.value)
        return text

    def path(self, number: int) -> str | None:
        """Return the path of a file: relative to the compilation directory if inside it; None for none."""
        if not 0 <= number <= _MOST or not self.find(number):
            return None
        return _join(self.comp_dir, self.text(self.folder), self.text(self.name))
