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
from layoutlint.readers.dwarf.forms import Damaged, string_end, uleb, variable
from layoutlint.readers.elf import Data

_PATH: Final = 1
_DIRECTORY: Final = 2
_MOST: Final = 1 << 20
"""A table that claims more entries than this is not believed."""


@dataclass(frozen=True, slots=True)
class Strings:
    """The string sections that a line table refers to, and how wide a reference is."""

    line: bytes
    plain: bytes
    offset_size: int
    order: Literal["little", "big"]

    def at(self, number: int, offset: int) -> bytes:
        """The string that a reference of a form means."""
        section = self.line if number == forms.LINE_STRP else self.plain
        end = section.find(b"\0", offset)
        if end < 0:
            raise Damaged(f"a file name at {offset:#x} is outside its string section")
        return section[offset:end]


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one unit, by the numbers that DW_AT_decl_file gives."""

    comp_dir: str
    directories: tuple[bytes, ...]
    names: tuple[tuple[bytes, int], ...]
    first: int
    """1 up to DWARF 4, 0 from DWARF 5 on."""

    def path(self, number: int) -> str | None:
        """The path of a file: relative to the compilation directory when inside it; None for none."""
        index = number - self.first
        if not 0 <= index < len(self.names):
            return None
        name, directory = self.names[index]
        index = directory - self.first
        inside = self.directories[index] if 0 <= index < len(self.directories) else b""
        return _joined(self.comp_dir, inside, name)


def tidy(comp_dir: str, *parts: str) -> str:
    """A path as reports show it: joined, without `./`, relative to `comp_dir` when inside it."""
    path = posixpath.normpath(posixpath.join(comp_dir, *parts))
    inside = posixpath.normpath(comp_dir) + "/" if comp_dir else ""
    return path[len(inside) :] if inside and path.startswith(inside) else path


@lru_cache(1 << 16)
def _joined(comp_dir: str, directory: bytes, name: bytes) -> str:
    return tidy(comp_dir, directory.decode(errors="replace"), name.decode(errors="replace"))


def files(data: Data, offset: int, comp_dir: str, strings: Strings) -> Files:
    """The file table of the line program at `offset`. Raises Damaged."""
    order = strings.order
    position, width = offset, 4
    length = int.from_bytes(data[position : position + 4], order)
    if length == 0xFFFFFFFF:
        width = 8
        length = int.from_bytes(data[position + 4 : position + 12], order)
    position += 4 if width == 4 else 12
    end = position + length
    if not offset < end <= len(data):
        raise Damaged(f"the line table at {offset:#x} is outside .debug_line")
    version = int.from_bytes(data[position : position + 2], order)
    position += 2
    if not 2 <= version <= 5:
        raise Damaged(f"the line table at {offset:#x} has version {version}")
    # address_size and segment_selector_size; header_length; minimum_instruction_length, (from version 4)
    # maximum_operations_per_instruction, default_is_stmt, line_base, line_range; opcode_base
    position += (2 if version >= 5 else 0) + width + (5 if version >= 4 else 4)
    position += data[position]
    header = data[position:end]
    if version >= 5:
        directories, position = _entries(header, 0, strings, width)
        names, _ = _entries(header, position, strings, width)
        folders = tuple(name for name, _ in directories)
        # Type units do not repeat the compilation directory; it is the first of the table.
        start = comp_dir or b"".join(folders[:1]).decode(errors="replace")
        return Files(start, folders, tuple(names), 0)
    return _old(header, comp_dir)


def _old(data: Data, comp_dir: str) -> Files:
    """The tables up to DWARF 4: strings one after another, an empty one at the end."""
    directories: list[bytes] = []
    names: list[tuple[bytes, int]] = []
    position = 0
    while data[position]:
        end = string_end(data, position)
        directories.append(bytes(data[position:end]))
        position = end + 1
    position += 1
    while data[position]:
        end = string_end(data, position)
        directory, after = uleb(data, end + 1)
        names.append((bytes(data[position:end]), directory))
        _, after = uleb(data, after)
        _, position = uleb(data, after)
    return Files(comp_dir, tuple(directories), tuple(names), 1)


def _entries(data: Data, position: int, strings: Strings, width: int) -> tuple[list[tuple[bytes, int]], int]:
    """One of the two tables of DWARF 5: a format, a count, the entries."""
    kinds: list[tuple[int, int, int]] = []
    count = data[position]
    position += 1
    for _ in range(count):
        content, position = uleb(data, position)
        number, position = uleb(data, position)
        kinds.append((content, number, forms.step(number, 5, width, 8)))
    total, position = uleb(data, position)
    if total > _MOST or total > len(data) - position:
        raise Damaged(f"a line table claims {total} files")
    found: list[tuple[bytes, int]] = []
    for _ in range(total):
        name, directory = b"", 0
        for content, number, size in kinds:
            if size >= 0:
                value: int | bytes = int.from_bytes(data[position : position + size], strings.order)
                position += size
            else:
                value, position = variable(data, position, number, strings.order)
            if content == _PATH:
                name = value if isinstance(value, bytes) else strings.at(number, value)
            elif content == _DIRECTORY and isinstance(value, int):
                directory = value
        found.append((name, directory))
    return found, position
