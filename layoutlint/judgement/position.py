"""Where rules say that a field begins."""

from __future__ import annotations

import re

from layoutlint.model.record import Record

_BYTE = 8
_SPELLING = re.compile(r"(\d{1,15})(?::(\d{1,15}))?")


class Bit(Record, frozen=True):
    """A bit of a byte of a struct. `show` prints bit-fields with it: `14:3`."""

    byte: int
    bit: int
    """From 0 to 7."""

    def __str__(self) -> str:
        return f"{self.byte}:{self.bit}"


Position = int | Bit
"""A byte of a struct, in which a field begins with any bit, or a bit of one."""


def read_position(text: str) -> Position:
    """Return the position that a text states, `14` or `14:3`. Raises ValueError for others."""
    match = _SPELLING.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot be `{text}`: an offset in bytes, 14, or a bit as `show` prints it, `14:3`")
    byte = int(match[1])
    if match[2] is None:
        return byte
    bit = int(match[2])
    if bit >= _BYTE:
        meant = Bit(byte + bit // _BYTE, bit % _BYTE)
        raise ValueError(f"cannot be `{text}`: the bits of a byte are 0 to 7 (write `{meant}`)")
    return Bit(byte, bit)
