"""The functions of a linked ELF file, from its unwind tables: .eh_frame (LSB 5.0, section 10.6.1).

On most machines compilers write an entry for each function, with `-g` and without; linkers add entries for
code that they generate. `strip` keeps them.
"""

from __future__ import annotations

import struct
import sys
from array import array
from typing import Final

from layoutlint.errors import ReadError
from layoutlint.readers.elf.elf_file import Data, Image

_FORMATS: Final = {0x02: "H", 0x03: "I", 0x04: "Q", 0x0A: "h", 0x0B: "i", 0x0C: "q"}
"""struct formats of DW_EH_PE_udata2 and so on, by the lower half of an encoding."""
_SIZE, _HOW, _ABSOLUTE, _RELATIVE = 0x0F, 0x70, 0x00, 0x10
"""Masks of an encoding, and values of the second: DW_EH_PE_absptr and DW_EH_PE_pcrel."""
_SEARCHABLE: Final = b"\x01\x1b\x03\x3b"
"""The version and encodings of .eh_frame_hdr that linkers write: 4 bytes, relative to the section."""
_TABLE: Final = 12
_DAMAGE: Final = (IndexError, KeyError, ValueError, struct.error)


def starts(image: Image) -> list[int]:
    """Return the addresses of functions; none for an object file. Raises ReadError as `sizes` does."""
    return _sorted_starts(image) or list(sizes(image))


def sizes(image: Image) -> dict[int, int]:
    """Return the sizes of functions in bytes, by address; none for an object file.

    Raises ReadError for a table that is damaged, or whose addresses cannot be decoded.
    """
    functions: dict[int, int] = {}
    for header in image.headers if not image.is_relocatable else ():
        if header.name == ".eh_frame" and image.holds_content(header):
            table = _UnwindTable(image, image.raw(header), header.address)
            try:
                functions.update(table.functions())
            except _DAMAGE as error:
                raise ReadError(image.path, f"section .eh_frame cannot be read: {error!r}") from error
    return functions


def _sorted_starts(image: Image) -> list[int]:
    """Return the function addresses in the linker's search table; none without such a table."""
    header = next((section for section in image.headers if section.name == ".eh_frame_hdr"), None)
    if header is None or image.is_relocatable or not image.holds_content(header):
        return []
    content = image.raw(header)
    if bytes(content[:4]) != _SEARCHABLE or len(content) < _TABLE:
        return []
    count = int.from_bytes(content[_TABLE - 4 : _TABLE], "little" if image.little_endian else "big")
    pairs = array("i", bytes(content[_TABLE : _TABLE + 8 * count]))
    if len(pairs) != 2 * count:
        return []
    if image.little_endian != (sys.byteorder == "little"):
        pairs.byteswap()
    return [header.address + start for start in pairs[::2]]


class _UnwindTable:
    """One section of unwind entries, with the encodings of its common entries."""

    def __init__(self, image: Image, data: Data, address: int) -> None:
        self._data = data
        self._address = address
        self._order = "<" if image.little_endian else ">"
        self._pointer = "Q" if image.bits == 64 else "I"
        self._mask = (1 << image.bits) - 1
        self._encodings: dict[int, int] = {}

    def functions(self) -> list[tuple[int, int]]:
        """Return address and size of each function. Raises one of _DAMAGE."""
        functions, position, end = [], 0, len(self._data)
        while position + 4 <= end:
            (length,) = struct.unpack_from(self._order + "I", self._data, position)
            content = position + 4
            if length > end - content:
                raise ValueError("an entry ends behind it")
            if length:  # 0 ends the entries of one linked file
                (distance,) = struct.unpack_from(self._order + "I", self._data, content)
                if distance:
                    functions.append(self._function(content + 4, self._encodings[content - distance]))
                else:
                    self._encodings[position] = self._encoding(content + 4)
            position = content + length
        return functions

    def _function(self, position: int, encoding: int) -> tuple[int, int]:
        start, end = self._number(position, encoding)
        if encoding & _HOW == _RELATIVE:
            start += self._address + position
        size, _ = self._number(end, encoding)
        return start & self._mask, size & self._mask

    def _encoding(self, position: int) -> int:
        """Return the encoding of the functions of the common entry whose version is at a position."""
        version = self._data[position]
        end = position + 1
        while self._data[end]:
            end += 1
        letters = bytes(self._data[position + 1 : end])
        if not letters.startswith(b"z"):
            return _ABSOLUTE
        position = self._end_of_uleb(self._end_of_uleb(end + 1))
        position = position + 1 if version == 1 else self._end_of_uleb(position)
        position = self._end_of_uleb(position)
        for letter in letters.decode("latin-1")[1:]:
            if letter == "R":
                return self._data[position]
            if letter == "P":
                _, position = self._number(position + 1, self._data[position])
            elif letter == "L":
                position += 1
        return _ABSOLUTE

    def _end_of_uleb(self, position: int) -> int:
        while self._data[position] > 127:
            position += 1
        return position + 1

    def _number(self, position: int, encoding: int) -> tuple[int, int]:
        """Return a number in an encoding, and the position after it."""
        letter = _FORMATS.get(encoding & _SIZE, self._pointer if encoding & _SIZE == 0 else "")
        if not letter or encoding & _HOW not in (_ABSOLUTE, _RELATIVE):
            raise ValueError(f"pointers of encoding {encoding:#x}")
        format = struct.Struct(self._order + letter)
        (number,) = format.unpack_from(self._data, position)
        return number, position + format.size
