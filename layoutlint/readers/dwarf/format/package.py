"""Indexes of .dwp packages: the parts of the shared sections that belong to each unit.

Version 2 is GNU's, for DWARF 4 (gcc.gnu.org/wiki/DebugFissionDWP); version 5 is in DWARF 5, section 7.3.5.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from layoutlint.model.record import Record
from layoutlint.readers.dwarf.format.cursor import Cursor
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.elf.elf_file import Image

_INFO: Final = 1
_TYPES: Final = 2
_ABBREV: Final = 3
_LINE: Final = 4
_STRINGS: Final = 6
_MOST_COLUMNS: Final = 8
"""Sections of which a unit can have a part."""
_HEADER: Final = 16

Extent = tuple[int, int]
"""The start and the end of a unit's part of a section."""
Row = dict[int, Extent]
"""The parts of one unit, by the number of the section."""


class UnitParts(Record, frozen=True):
    """The start of a unit's part of each shared section; positions in the unit count from there."""

    abbrev: int
    line: int
    strings: Extent | None
    """In .debug_str_offsets.dwo."""


class Package:
    """The rows of both indexes, by the positions of the units."""

    def __init__(self, image: Image) -> None:
        """Read both indexes. Raises DwarfError for one that contradicts itself."""
        rows = [row for name in (".debug_cu_index", ".debug_tu_index") for row in _rows(image, name)]
        self._rows = {
            ".debug_info.dwo": sorted(((*row[_INFO], row) for row in rows if _INFO in row), key=_place),
            ".debug_types.dwo": sorted(((*row[_TYPES], row) for row in rows if _TYPES in row), key=_place),
        }

    def part(self, section: str, position: int) -> UnitParts | None:
        """Return the parts of the unit at a position of a section; None if no row covers it."""
        rows = self._rows[section]
        index = bisect_right(rows, position, key=_place) - 1
        if index < 0 or position >= rows[index][1]:
            return None
        row = rows[index][2]
        return UnitParts(row.get(_ABBREV, (0, 0))[0], row.get(_LINE, (0, 0))[0], row.get(_STRINGS))


def _place(row: tuple[int, int, Row]) -> int:
    return row[0]


def _rows(image: Image, name: str) -> list[Row]:
    """Return the rows of an index; none if the section is missing or empty."""
    data = image.section(name)
    if not data:
        return []
    if len(data) < _HEADER:
        raise DwarfError(f"{name} ends inside its header")
    cursor = Cursor(data, image.little_endian)
    # four bytes in version 2; in version 5 two, and two of padding
    if cursor.number(0, 4) != 2 and cursor.number(0, 2) != 5:
        raise DwarfError(f"{name} has version {cursor.number(0, 2)}, which is not read")
    columns, units, slots = (cursor.number(position, 4) for position in (4, 8, 12))
    ids = _HEADER + slots * 12  # after the hash table: a signature and a row for each slot
    starts = ids + columns * 4
    sizes = starts + units * columns * 4
    if columns > _MOST_COLUMNS or (units and not columns) or sizes + units * columns * 4 > len(data):
        raise DwarfError(f"{name} ends inside its table of {units} units and {columns} sections")
    kinds = [cursor.number(ids + column * 4, 4) for column in range(columns)]
    rows = []
    for unit in range(units):
        row: Row = {}
        for column, kind in enumerate(kinds):
            place = (unit * columns + column) * 4
            start, size = cursor.number(starts + place, 4), cursor.number(sizes + place, 4)
            if size:
                row[kind] = start, start + size
        rows.append(row)
    return rows
