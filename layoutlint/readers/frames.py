"""Functions of a linked ELF file, as its unwind tables list them: .eh_frame (LSB 5.0, section 10.6.1).

Compilers write an entry for each function on most machines, with `-g` and without; linkers write entries for
what they make themselves. `strip` leaves them in the file.
"""

from __future__ import annotations

import struct
import sys
from array import array
from typing import Final

from layoutlint.errors import ReadError
from layoutlint.readers.elf.elf_file import Data, Image

_FORMATS: Final = {0x02: "H", 0x03: "I", 0x04: "Q", 0x0A: "h", 0x0B: "i", 0x0C: "q"}
"""DW_EH_PE_udata2 and so on, by the lower half of an encoding."""
_SIZE, _HOW, _ABSOLUTE, _RELATIVE = 0x0F, 0x70, 0x00, 0x10
"""Parts of an encoding; DW_EH_PE_absptr and DW_EH_PE_pcrel."""
_SEARCHABLE: Final = b"\x01\x1b\x03\x3b"
"""The version of .eh_frame_hdr, and its encodings, that linkers write: 4 bytes, counted from the section."""
_TABLE: Final = 12
_DAMAGE: Final = (IndexError, KeyError, ValueError, struct.error)


def starts(image: Image) -> list[int]:
    """Return where the functions start; of an object file none. Raises ReadError as `sizes` does."""
    return _sorted(image) or list(sizes(image))


def sizes(image: Image) -> dict[int, int]:
    """Return the bytes of the functions by where they start; of an object file none.

    Raises ReadError for a table that is damaged, or whose addresses cannot be decoded.
    """
    found: dict[int, int] = {}
    for header in image.headers if not image.is_relocatable else ():
        if header.name == ".eh_frame" and image.holds_content(header):
            table = _Table(image, image.raw(header), header.address)
            try:
                found.update(table.functions())
            except _DAMAGE as error:
                raise ReadError(image.path, f"section .eh_frame cannot be read: {error!r}") from error
    return found


def _sorted(image: Image) -> list[int]:
    """Return the starts that the linker sorted for searching; none where it wrote no such table."""
    header = next((one for one in image.headers if one.name == ".eh_frame_hdr"), None)
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


class _Table:
    """One section of unwind entries, and the encodings that they have in common."""

    def __init__(self, image: Image, data: Data, address: int) -> None:
        self._data = data
        self._address = address
        self._order = "<" if image.little_endian else ">"
        self._pointer = "Q" if image.bits == 64 else "I"
        self._mask = (1 << image.bits) - 1
        self._encodings: dict[int, int] = {}

    def functions(self) -> list[tuple[int, int]]:
        """Return start and size of each function. Raises _DAMAGE."""
        found, position, end = [], 0, len(self._data)
        while position + 4 <= end:
            (length,) = struct.unpack_from(self._order + "I", self._data, position)
            content = position + 4
            if length > end - content:
                raise ValueError("an entry ends behind it")
            if length:  # 0 ends what one of the files that were linked had
                (back,) = struct.unpack_from(self._order + "I", self._data, content)
                if back:
                    found.append(self._function(content + 4, self._encodings[content - back]))
                else:
                    self._encodings[position] = self._encoding(content + 4)
            position = content + length
        return found

    def _function(self, position: int, encoding: int) -> tuple[int, int]:
        start, behind = self._number(position, encoding)
        if encoding & _HOW == _RELATIVE:
            start += self._address + position
        size, _ = self._number(behind, encoding)
        return start & self._mask, size & self._mask

    def _encoding(self, position: int) -> int:
        """Return how the functions of a common entry are written; its version stands at a position."""
        version = self._data[position]
        end = position + 1
        while self._data[end]:
            end += 1
        letters = bytes(self._data[position + 1 : end])
        if not letters.startswith(b"z"):
            return _ABSOLUTE
        position = self._behind_uleb(self._behind_uleb(end + 1))
        position = position + 1 if version == 1 else self._behind_uleb(position)
        position = self._behind_uleb(position)
        for letter in letters.decode("latin-1")[1:]:
            if letter == "R":
                return self._data[position]
            if letter == "P":
                _, position = self._number(position + 1, self._data[position])
            elif letter == "L":
                position += 1
        return _ABSOLUTE

    def _behind_uleb(self, position: int) -> int:
        while self._data[position] > 127:
            position += 1
        return position + 1

    def _number(self, position: int, encoding: int) -> tuple[int, int]:
        """Return a number in an encoding, and the position behind it."""
        letter = _FORMATS.get(encoding & _SIZE, self._pointer if encoding & _SIZE == 0 else "")
        if not letter or encoding & _HOW not in (_ABSOLUTE, _RELATIVE):
            raise ValueError(f"pointers of encoding {encoding:#x}")
        shape = struct.Struct(self._order + letter)
        (number,) = shape.unpack_from(self._data, position)
        return number, position + shape.size
