"""Numbers and forms at positions of a section."""

from __future__ import annotations

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.elf.elf_file import Data

# Variables of C if this is compiled; names of another module would be objects.
_SKIP_ULEB = forms.SKIP_ULEB
_SKIP_STRING = forms.SKIP_STRING
_SKIP_BLOCK = forms.SKIP_BLOCK
_SKIP_BLOCK1 = forms.SKIP_BLOCK1
_SKIP_BLOCK2 = forms.SKIP_BLOCK2


class Cursor:
    """Reads a section in its byte order; positions count from its start."""

    def __init__(self, data: Data, is_little: bool) -> None:
        self.data = data
        self.octets = data
        """The same bytes, as compiled code reads them."""
        self.size = len(data)
        self.is_little = is_little
        self.next_position = 0
        """The position after the value that was read last, if its length is not fixed."""

    def number(self, position: int, width: int) -> int:
        """Return an unsigned number of at most 8 bytes. Raises IndexError if the section ends inside it."""
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
        """Return an unsigned number of `width` bytes, or a LEB128 number if `width` is negative.

        Raises as `number` and `uleb` do.
        """
        return self.number(position, width) if width >= 0 else self.uleb(position)

    def uleb(self, position: int) -> int:
        """Return an unsigned LEB128 number of at most 64 bits; `next_position` is then the position after it.

        Raises IndexError if the section ends inside it, DwarfError for a larger number.
        """
        value = 0
        for shift in range(0, 64, 7):
            byte = self.octets[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if shift == 63 and byte > 1:
                    break
                self.next_position = position
                return value
        raise DwarfError("a LEB128 number of more than 64 bits", position)

    def skip(self, position: int, kind: int) -> int:
        """Return the position after a form of variable size;

        `kind` is its SKIP code. Raises as `uleb` does.
        """
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
            position = self.next_position
        else:
            width = 1 if kind == _SKIP_BLOCK1 else 2 if kind == _SKIP_BLOCK2 else 4
            size = self.number(position, width)
            position += width
        if size > self.size - position:
            raise DwarfError("a block ends behind its section", position)
        return position + size
