"""Headers of units (DWARF 5, section 7.5.1)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from layoutlint.model.record import Record
from layoutlint.readers.dwarf.format.abbreviations import Format
from layoutlint.readers.dwarf.format.constants import UNITS
from layoutlint.readers.dwarf.format.cursor import Cursor
from layoutlint.readers.dwarf.format.forms import DwarfError

_TYPES: Final = {number: f"DW_UT_{name}" for name, number in UNITS.items()}


class Header(Record, frozen=True):
    """The header of a unit; positions count from the start of the section."""

    end: int
    """The position after the unit."""
    first: int
    """The position of the root entry."""
    type: str
    """As DWARF 5 names it; up to DWARF 4 `DW_UT_compile` or `DW_UT_type`."""
    shape: Format
    abbrev_offset: int
    split_id: int | None = None
    """The id that a skeleton and its unit share, since DWARF 5."""
    signature: int | None = None
    type_offset: int | None = None
    """The position of a type unit's type, from the start of the unit."""


def read(cursor: Cursor, section: str, offset: int) -> Header:
    """Return the header of the unit at `offset` of a section of this name. Raises DwarfError."""
    position, width = offset + 4, 4
    length = _number(cursor, offset, offset, 4)
    if length == 0xFFFFFFFF:
        length, width, position = _number(cursor, offset, position, 8), 8, position + 8
    elif length >= 0xFFFFFFF0:
        raise DwarfError(f"the reserved unit length {length:#x}", offset)
    if length > cursor.size - position:
        raise DwarfError(f"a unit of {length:#x} bytes ends behind its section", offset)
    end = position + length
    version = _number(cursor, offset, position, 2)
    if not 2 <= version <= 5:
        raise DwarfError(f"DWARF version {version} is not read", offset)
    position += 2
    kind = "DW_UT_type" if section.startswith(".debug_types") else "DW_UT_compile"
    if version >= 5:
        number = _number(cursor, offset, position, 1)
        kind = _TYPES.get(number, f"{number:#x}")
        address_size = _number(cursor, offset, position + 1, 1)
        abbrev_offset = _number(cursor, offset, position + 2, width)
        position += 2 + width
    else:
        # up to DWARF 4 the abbreviation offset precedes the address size
        abbrev_offset = _number(cursor, offset, position, width)
        address_size = _number(cursor, offset, position + width, 1)
        position += width + 1
    if address_size not in (1, 2, 4, 8):
        raise DwarfError(f"addresses of {address_size} bytes", offset)
    shape = _shape(version, width, address_size, cursor.is_little)
    if kind in ("DW_UT_type", "DW_UT_split_type"):
        signature, place = _number(cursor, offset, position, 8), _number(cursor, offset, position + 8, width)
        return Header(end, position + 8 + width, kind, shape, abbrev_offset, None, signature, place)
    if kind in ("DW_UT_skeleton", "DW_UT_split_compile"):
        split_id = _number(cursor, offset, position, 8)
        return Header(end, position + 8, kind, shape, abbrev_offset, split_id)
    return Header(end, position, kind, shape, abbrev_offset)


@lru_cache(1 << 6)
def _shape(version: int, offset_size: int, address_size: int, is_little: bool) -> Format:
    """Return one object for all units of a format: formats are compared, and are keys of tables."""
    return Format(version, offset_size, address_size, is_little)


def _number(cursor: Cursor, unit: int, position: int, width: int) -> int:
    if position + width > cursor.size:
        raise DwarfError("the section ends inside a unit header", unit)
    return cursor.number(position, width)
