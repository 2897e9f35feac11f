"""File tables of .debug_line, which DW_AT_decl_file indexes (DWARF 5, section 6.2.4).

pyelftools builds objects for each entry, about 30 microseconds: with the 300 files of each of 2800 units of a
kernel that is half a minute. Here only names and directories are kept, and they are joined when asked for.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from layoutlint.readers.dwarf import forms
from layoutlint.readers.dwarf.cursor import Cursor
from layoutlint.readers.dwarf.forms import SKIP_STRING, SKIP_ULEB, Damaged, uleb, variable
from layoutlint.readers.elf import Data
from layoutlint.readers.span import Span

_UDATA: Final = forms.UDATA
_PATH: Final = 1
_DIRECTORY: Final = 2
_MOST: Final = 1 << 20
"""A table that claims more entries than this is not believed."""

Kind = tuple[int, int, int]
"""A part of a table's entries: what it is, its form, its bytes or SKIP code."""
Name = tuple[int, int | bytes]
"""A form and a value of it: where a name stands, or the name itself."""
Entry = tuple[Name, int]
"""A name and the number of its directory."""
Place = tuple[str, Name, Name | None]
"""A compilation directory, a file's name and its folder's."""
_OLD: Final[list[Kind]] = [(_PATH, forms.STRING, SKIP_STRING), (_DIRECTORY, forms.UDATA, SKIP_ULEB)]
"""Up to DWARF 4; directories have no second part, and nobody asks for it."""


@dataclass(frozen=True, slots=True)
class Strings:
    """The string sections that a line table refers to, and how wide a reference is."""

    line: Span
    plain: Span
    offset_size: int
    order: Literal["little", "big"]

    def at(self, number: int, offset: int) -> bytes:
        """The string that a reference of a form means."""
        section = self.line if number == forms.LINE_STRP else self.plain
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


class Files(Cursor):
    """The files of one unit, by the numbers that DW_AT_decl_file gives; names are read when asked for."""

    def __init__(self, data: Data, offset: int, comp_dir: str, strings: Strings) -> None:
        """The tables of the line program at `offset`. Raises Damaged, IndexError where the section ends."""
        super().__init__(data, strings.order == "little")
        self.comp_dir = comp_dir
        self._strings = strings
        self._first = 1
        """1 up to DWARF 4, 0 from DWARF 5 on."""
        self._folders: list[int] = []
        self._folder_kinds: list[Kind] = _OLD
        self._names: list[int] = []
        self._name_kinds: list[Kind] = _OLD
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
            position = self._old(self._folders, position, False)
            self._old(self._names, position, True)
            return
        self._first = 0
        self._folder_kinds, position = self._entries(self._folders, position, width)
        self._name_kinds, _ = self._entries(self._names, position, width)
        # Type units do not repeat the compilation directory; it is the first of the table.
        if not self.comp_dir and self._folders:
            name, _ = self._entry(self._folder_kinds, self._folders[0])
            self.comp_dir = self._text(name).decode(errors="replace")

    def _old(self, starts: list[int], position: int, is_file: bool) -> int:
        """The tables up to DWARF 4: strings one after another, an empty one at the end."""
        while self.octets[position]:
            starts.append(position)
            position = self.step(position, SKIP_STRING)
            if is_file:
                for _ in range(3):
                    position = self.step(position, SKIP_ULEB)
        return position + 1

    def _entries(self, starts: list[int], position: int, width: int) -> tuple[list[Kind], int]:
        """Where the entries of a table of DWARF 5 stand: a format, a count, the entries."""
        kinds: list[Kind] = []
        widths: list[int] = []
        count = self.octets[position]
        position += 1
        for _ in range(count):
            content, position = uleb(self.data, position)
            number, position = uleb(self.data, position)
            widths.append(forms.step(number, 5, width, 8))
            kinds.append((content, number, widths[-1]))
        total, position = uleb(self.data, position)
        if total > _MOST or total > self.size - position:
            raise Damaged(f"a line table claims {total} files")
        for _ in range(total):
            starts.append(position)
            for step in widths:
                position = position + step if step >= 0 else self.step(position, step)
        if position > self.size:
            raise Damaged("the files of a line table end behind it")
        return kinds, position

    def _entry(self, kinds: list[Kind], position: int) -> Entry:
        """The name of an entry, a reference or the text itself, and its directory."""
        name: Name = (0, b"")
        directory = 0
        for content, form, width in kinds:
            if width >= 0:
                value: int | bytes = self.number(position, width) if width <= 8 else b""
                position += width
            elif form == _UDATA:
                value = self.uleb(position)
                position = self.behind
            else:
                value, position = variable(self.data, position, form, self._strings.order)
            if content == _PATH:
                name = form, value
            elif content == _DIRECTORY and isinstance(value, int):
                directory = value
        return name, directory

    def _text(self, name: Name) -> bytes:
        form, value = name
        return value if isinstance(value, bytes) else self._strings.at(form, value)

    def place(self, number: int) -> Place | None:
        """What tells a file from all others of the same sections; None where there is no such file."""
        index = number - self._first
        if not 0 <= index < len(self._names):
            return None
        name, directory = self._entry(self._name_kinds, self._names[index])
        index = directory - self._first
        inside = 0 <= index < len(self._folders)
        folder = self._entry(self._folder_kinds, self._folders[index])[0] if inside else None
        return self.comp_dir, name, folder

    def path(self, number: int) -> str | None:
        """The path of a file: relative to the compilation directory when inside it; None for none."""
        place = self.place(number)
        if place is None:
            return None
        _, name, folder = place
        return _joined(self.comp_dir, b"" if folder is None else self._text(folder), self._text(name))
