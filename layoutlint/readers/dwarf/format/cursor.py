"""Numbers and forms where they stand in a section."""

from __future__ import annotations

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.forms import Damaged
from layoutlint.readers.elf.elf_file import Data

# Variables of C where this is compiled; names of another module would be objects.
_SKIP_ULEB = forms.SKIP_ULEB
_SKIP_STRING = forms.SKIP_STRING
_SKIP_BLOCK = forms.SKIP_BLOCK
_SKIP_BLOCK1 = forms.SKIP_BLOCK1
_SKIP_BLOCK2 = forms.SKIP_BLOCK2


class Cursor:
    """Reads a section of a byte order; positions count from its start."""

    def __init__(self, data: Data, is_little: bool) -> None:
        self.data = data
        self.octets = data
        """The same, as compiled code reads it."""
        self.size = len(data)
        self.is_little = is_little
        self.behind = 0
        """The position behind what was read last, where its length is not fixed."""

    def number(self, position: int, width: int) -> int:
        """An unsigned number of at most 8 bytes. Raises IndexError where the section ends inside it."""
        value = 0
        if self.is_little and width == 4:  # most are of this width
            value = self.octets[position + 3]
            value = value << 8 | self.octets[position + 2]
            value = value << 8 | self.octets[position + 1]
            value = value << 8 | self.octets[position]
        elif self.is_little:
            for index in range(position + width - 1, position - 1, -1):
                value = value << 8 | self.octets[index]
        else:
            for index in range(position, position + width):
                value = value << 8 | self.octets[index]
        return value

    def value(self, position: int, width: int) -> int:
        """An unsigned number of a width, or a LEB128 where that is below zero. Raises as they do."""
        return self.number(position, width) if width >= 0 else self.uleb(position)

    def uleb(self, position: int) -> int:
        """An unsigned LEB128 number of at most 64 bits; `behind` is then the position behind it.

        Raises IndexError where the section ends inside it, Damaged for a larger one.
        """
        value = 0
        for shift in range(0, 64, 7):
            byte = self.octets[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if shift == 63 and byte > 1:
                    break
                self.behind = position
                return value
        raise Damaged("a LEB128 number of more than 64 bits", position)

    def step(self, position: int, kind: int) -> int:
        """The position behind a form without fixed size; `kind` is its SKIP code. Raises as `uleb` does."""
        if kind == _SKIP_ULEB:
            while self.octets[position] > 127:
                position += 1
            return position + 1
        if kind == _SKIP_STRING:
            while self.octets[position]:
                position += 1
            return position + 1
        if kind == _SKIP_BLOCK:
            size = self.uleb(position)
            position = self.behind
        else:
            width = 1 if kind == _SKIP_BLOCK1 else 2 if kind == _SKIP_BLOCK2 else 4
            size = self.number(position, width)
            position += width
        if size > self.size - position:
            raise Damaged("a block ends behind its section", position)
        return position + size
