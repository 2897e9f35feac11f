"""Attribute forms: the bytes of each, and its value (DWARF 5, section 7.5.6)."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

from layoutlint.readers.dwarf.format.constants import form
from layoutlint.readers.elf.elf_file import Data


class DwarfError(Exception):
    """The debug information contradicts itself or ends early; `position` is in its section."""

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


class MissingFile(DwarfError):
    """A file that is referred to in many places is missing; reported once for all places."""


DAMAGE: Final = (DwarfError, IndexError, struct.error, OverflowError)
"""Exceptions raised by reading past the end or into nonsense."""


STRING: Final = form("string")
STRP: Final = form("strp")
LINE_STRP: Final = form("line_strp")
STRX: Final = frozenset(form(name) for name in ("strx", "strx1", "strx2", "strx3", "strx4", "GNU_str_index"))
STR_ELSEWHERE: Final = frozenset(form(name) for name in ("strp_sup", "GNU_strp_alt"))
REF_UNIT: Final = frozenset(form(name) for name in ("ref1", "ref2", "ref4", "ref8", "ref_udata"))
REF_ADDR: Final = form("ref_addr")
REF_SIG8: Final = form("ref_sig8")
REF_ELSEWHERE: Final = frozenset(form(name) for name in ("ref_sup4", "ref_sup8", "GNU_ref_alt"))
REFERENCES: Final = REF_UNIT | REF_ELSEWHERE | {REF_ADDR, REF_SIG8}
BLOCKS: Final = frozenset(form(name) for name in ("block", "block1", "block2", "block4", "exprloc"))
IMPLICIT: Final = form("implicit_const")
PRESENT: Final = form("flag_present")
INDIRECT: Final = form("indirect")
DATA1: Final = form("data1")
DATA4: Final = form("data4")
ADDRX: Final = form("addrx")
ADDRX_OFFSET: Final = form("LLVM_addrx_offset")
UDATA: Final = form("udata")
SDATA: Final = form("sdata")
NUMBERS: Final = frozenset(
    form(name) for name in ("data1", "data2", "data4", "data8", "udata", "flag", "sec_offset")
)
"""Forms of unsigned numbers of at most 8 bytes."""

# SKIP codes: how to skip a form of variable size.
SKIP_ULEB: Final = -1
SKIP_STRING: Final = -2
SKIP_BLOCK1: Final = -3
SKIP_BLOCK2: Final = -4
SKIP_BLOCK4: Final = -5
SKIP_BLOCK: Final = -6
SKIP_INDIRECT: Final = -7
"""For a form that each entry states; plans returned by `Unit.enter` have none."""

_FIXED: Final = {
    form(name): size
    for size, names in {
        0: "flag_present implicit_const",
        1: "data1 flag ref1 strx1 addrx1",
        2: "data2 ref2 strx2 addrx2",
        3: "strx3 addrx3",
        4: "data4 ref4 ref_sup4 strx4 addrx4",
        8: "data8 ref8 ref_sig8 ref_sup8",
        16: "data16",
    }.items()
    for name in names.split()
}
_OFFSETS: Final = frozenset(
    form(name) for name in ("strp", "line_strp", "sec_offset", "strp_sup", "GNU_ref_alt", "GNU_strp_alt")
)
_ULEBS: Final = frozenset(
    form(name)
    for name in (
        *("udata", "sdata", "ref_udata", "strx", "addrx", "loclistx", "rnglistx"),
        *("GNU_addr_index", "GNU_str_index"),
    )
)
_VARIABLE: Final = {
    STRING: SKIP_STRING,
    form("block1"): SKIP_BLOCK1,
    form("block2"): SKIP_BLOCK2,
    form("block4"): SKIP_BLOCK4,
    form("block"): SKIP_BLOCK,
    form("exprloc"): SKIP_BLOCK,
    **dict.fromkeys(_ULEBS, SKIP_ULEB),
}
_LENGTHS: Final = {form("block1"): 1, form("block2"): 2, form("block4"): 4}


@lru_cache(1 << 8)
def form_size(number: int, version: int, offset_size: int, address_size: int) -> int:
    """Return the bytes of a form; a negative number is a SKIP code. Raises DwarfError for an unknown form."""
    size = _FIXED.get(number)
    if size is not None:
        return size
    if number in _OFFSETS:
        return offset_size
    if number == form("addr"):
        return address_size
    if number == REF_ADDR:
        return address_size if version <= 2 else offset_size
    if number in _VARIABLE:
        return _VARIABLE[number]
    if number == INDIRECT:
        raise DwarfError("DW_FORM_indirect where a form must be stated")
    raise DwarfError(f"attribute form {number:#x} is not known")


def read_uleb(data: Data, position: int) -> tuple[int, int]:
    """Return an unsigned LEB128 number and the position after it."""
    result = shift = 0
    while True:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7
        if shift > 70:
            raise DwarfError("a LEB128 number does not end", position)


def read_sleb(data: Data, position: int) -> tuple[int, int]:
    """Return a signed LEB128 number and the position after it."""
    start = position
    result, position = read_uleb(data, position)
    bits = 7 * (position - start)
    return (result - (1 << bits) if result >> (bits - 1) & 1 else result), position


def string_end(data: Data, position: int) -> int:
    """Return the position of the NUL that ends an inline string."""
    size = 64
    while True:
        end = bytes(data[position : position + size]).find(0)
        if end >= 0:
            return position + end
        if position + size >= len(data):
            break
        size *= 4
    raise DwarfError("a string does not end", position)


def read_value(data: Data, position: int, number: int, order: str) -> tuple[int | bytes, int]:
    """Return the value of a form of variable size (strings and blocks as bytes) and the position after it."""
    if number == STRING:
        end = string_end(data, position)
        return bytes(data[position:end]), end + 1
    if number == SDATA:
        return read_sleb(data, position)
    if number not in BLOCKS:
        return read_uleb(data, position)
    width = _LENGTHS.get(number)
    if width is None:
        length, start = read_uleb(data, position)
    else:
        start = position + width
        length = int.from_bytes(data[position:start], order)  # type: ignore[arg-type]
    end = start + length
    if end > len(data):
        raise DwarfError("a block ends behind its section", position)
    return bytes(data[start:end]), end
