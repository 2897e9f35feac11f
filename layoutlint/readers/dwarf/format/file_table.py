"""File tables of .debug_line, which DW_AT_decl_file indexes (DWARF 5, section 6.2.4).

pyelftools builds objects for each entry, about 30 microseconds: with the 300 files of each of 2800 units of a
kernel that is half a minute. Here only names and directories are kept, and they are joined when asked for.
"""

from __future__ import annotations

import posixpath
from array import array
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.cursor import Cursor
from layoutlint.readers.dwarf.format.forms import SKIP_STRING, SKIP_ULEB, Damaged, variable
from layoutlint.readers.elf.elf_file import Data
from layoutlint.readers.elf.span import Span

# Variables of C where this is compiled; names of another module would be objects.
_UDATA = forms.UDATA
_PATH = 1
_DIRECTORY = 2
_WIDEST = 8
_SKIP_STRING = forms.SKIP_STRING
_SKIP_ULEB = forms.SKIP_ULEB
_MOST: Final = 1 << 20
"""A table that claims more entries than this is not believed."""
_OLD: Final = array("q", [_PATH, forms.STRING, SKIP_STRING, _DIRECTORY, forms.UDATA, SKIP_ULEB])
"""Up to DWARF 4; directories have no second part, and nobody asks for it."""
_NONE: Final = array("q")


@dataclass(frozen=True, slots=True)
class Strings:
    """The string sections that a line table refers to, and how wide a reference is."""

    line: Span
    plain: Span
    offset_size: int
    order: Literal["little", "big"]

    def at(self, form: int, offset: int) -> bytes:
        """The string that a reference of a form means. Raises Damaged."""
        if form not in (forms.LINE_STRP, forms.STRP):
            raise Damaged(f"a file name of form {form:#x}")
        section = self.line if form == forms.LINE_STRP else self.plain
        try:
            return section.at(offset)
        except ValueError as error:
            raise Damaged(f"a file name is missing: {error}") from error


def tidy(comp_dir: str, *parts: str) -> str:
    """A path as reports show it: joined, without `./`, relative to `comp_dir` when inside it."""
    path = posixpath.normpath(posixpath.join(comp_dir, *parts))
    inside = posixpath.normpath(comp_dir) + "/" if comp_dir else ""
    return path[len(inside) :] if inside and path.startswith(inside) else path


@lru_cache(1 << 16)
def _joined(comp_dir: str, directory: bytes, name: bytes) -> str:
    return tidy(comp_dir, directory.decode(errors="replace"), name.decode(errors="replace"))


class Name:
    """Where a name stands that was looked up: a reference and its form, or the place of the text itself."""

    def __init__(self) -> None:
        self.form = 0
        """0 where there is none."""
        self.value = 0
        self.is_inside = False
        """Whether the name stands in the table itself, at `value`."""
        self.directory = 0
        """The number of the directory that belongs to it."""


class Files(Cursor):
    """The files of one unit, by the numbers that DW_AT_decl_file gives; names are read when asked for."""

    def __init__(self, data: Data, offset: int, comp_dir: str, strings: Strings) -> None:
        """The tables of the line program at `offset`. Raises Damaged, IndexError where the section ends."""
        super().__init__(data, strings.order == "little")
        self.comp_dir = comp_dir
        self._strings = strings
        self._first = 1
        """1 up to DWARF 4, 0 from DWARF 5 on."""
        self._folders = _NONE
        """Where the entries start."""
        self._folder_kinds = _OLD
        """Of each part of an entry: what it is, its form, its bytes or SKIP code."""
        self._names = _NONE
        self._name_kinds = _OLD
        self.name = Name()
        """Of the file that was looked up."""
        self.folder = Name()
        self._tables(offset)

    def _tables(self, offset: int) -> None:
        data, order = self.data, self._strings.order
        position, width = offset, 4
        length = int.from_bytes(data[position : position + 4], order)
        if length == 0xFFFFFFFF:
            width = 8
            length = int.from_bytes(data[position + 4 : position + 12], order)
        position += 4 if width == 4 else 12
        if not (offset < position <= self.size and length <= self.size - position):
            raise Damaged(f"the line table at {offset:#x} is outside .debug_line")
        self.size = position + length
        version = int.from_bytes(data[position : position + 2], order)
        if not 2 <= version <= 5:
            raise Damaged(f"the line table at {offset:#x} has version {version}")
        # version, address_size and segment_selector_size; header_length; minimum_instruction_length, (from
        # version 4) maximum_operations_per_instruction, default_is_stmt, line_base, line_range; opcode_base
        position += 2 + (2 if version >= 5 else 0) + width + (5 if version >= 4 else 4)
        position += self.octets[position]
        if version < 5:
            self._folders = self._old(position, False)
            self._names = self._old(self.behind, True)
            return
        self._first = 0
        self._folder_kinds = self._kinds(position, width)
        self._folders = self._divide(self.behind, self._folder_kinds)
        self._name_kinds = self._kinds(self.behind, width)
        self._names = self._divide(self.behind, self._name_kinds)
        # Type units do not repeat the compilation directory; it is the first of the table.
        if not self.comp_dir and len(self._folders):
            self._read(self.folder, self._folder_kinds, self._folders[0])
            self.comp_dir = self.text(self.folder).decode(errors="replace")

    def _old(self, position: int, is_file: bool) -> array[int]:
        """Where the entries of a table up to DWARF 4 start: strings, an empty one at the end."""
        starts = array("q")
        while self.octets[position]:
            starts.append(position)
            position = self.step(position, _SKIP_STRING)
            if is_file:
                for _ in range(3):
                    position = self.step(position, _SKIP_ULEB)
        self.behind = position + 1
        return starts

    def _kinds(self, position: int, width: int) -> array[int]:
        """What the entries of a table of DWARF 5 consist of; the count of the entries stands at `behind`."""
        kinds = array("q")
        self.behind = position + 1
        for _ in range(self.octets[position]):
            content = self.uleb(self.behind)
            form = self.uleb(self.behind)
            known = content if content in (_PATH, _DIRECTORY) else 0
            kinds.extend((known, form, forms.step(form, 5, width, 8)))
        return kinds

    def _divide(self, position: int, kinds: array[int]) -> array[int]:
        """Where the entries of a table of DWARF 5 start, from where their count stands."""
        total = self.uleb(position)
        position = self.behind
        if total > _MOST or position + total > self.size:
            raise Damaged(f"a line table claims {total} files")
        starts = array("q", bytes(8 * total))
        places = starts  # a view of them where this is compiled
        for number in range(total):
            places[number] = position
            for index in range(2, len(kinds), 3):
                step = kinds[index]
                position = position + step if step >= 0 else self.step(position, step)
        if position > self.size:
            raise Damaged("the files of a line table end behind it")
        self.behind = position
        return starts

    def _read(self, name: Name, kinds: array[int], position: int) -> None:
        """Reads an entry."""
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
            position = position + width if width >= 0 else self.step(position, width)

    def find(self, number: int) -> bool:
        """Whether there is a file of a number; `name` and `folder` are then about it."""
        if not self._first <= number < self._first + len(self._names):
            return False
        self._read(self.name, self._name_kinds, self._names[number - self._first])
        directory = self.name.directory
        if self._first <= directory < self._first + len(self._folders):
            self._read(self.folder, self._folder_kinds, self._folders[directory - self._first])
        else:
            self.folder.form = 0
        return True

    def text(self, name: Name) -> bytes:
        """The name that was looked up. Raises Damaged."""
        if name.form == 0:
            return b""
        if not name.is_inside:
            return self._strings.at(name.form, name.value)
        text = variable(self.data, name.value, name.form, self._strings.order)[0]
        if not isinstance(text, bytes):
            raise Damaged(f"a file name of form {name.form:#x}", name.value)
        return text

    def path(self, number: int) -> str | None:
        """The path of a file: relative to the compilation directory when inside it; None for none."""
        if not 0 <= number <= _MOST or not self.find(number):
            return None
        return _joined(self.comp_dir, self.text(self.folder), self.text(self.name))
