"""The code that units describe: DW_AT_low_pc, DW_AT_high_pc and DW_AT_ranges of their root entries.

DWARF 5, sections 2.17 and 7.25 to 7.28; DWARF 4, section 2.17.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.constants import at, form
from layoutlint.readers.dwarf.format.forms import Damaged
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.elf.elf_file import Data, Image

_LOW, _HIGH, _RANGES = at("low_pc"), at("high_pc"), at("ranges")
_ADDR_BASES: Final = (at("addr_base"), at("GNU_addr_base"))
_LISTS_BASE: Final = at("rnglists_base")
_ADDR: Final = form("addr")
_NUMBERED: Final = frozenset(
    form(name) for name in ("addrx", "addrx1", "addrx2", "addrx3", "addrx4", "GNU_addr_index")
)
_RNGLISTX: Final = form("rnglistx")
_END, _BASEX, _STARTX_ENDX, _STARTX_LENGTH, _OFFSETS, _BASE, _START_END, _START_LENGTH = range(8)
"""DW_RLE_end_of_list and the other kinds of entries of .debug_rnglists."""

Range = tuple[int, int]
"""The first address, and the one behind the last."""


class Ranges:
    """Reads the ranges of units of a file. Lists of ranges are read once for all units together."""

    def __init__(self, image: Image) -> None:
        """Raises ReadError for a section that cannot be read."""
        self._order: Literal["little", "big"] = "little" if image.little_endian else "big"
        self._addresses = image.section(".debug_addr") or b""
        self._lists = image.section(".debug_rnglists") or b""
        self._pairs = image.section(".debug_ranges") or b""
        self._left = len(self._lists) + len(self._pairs)
        """Entries that may still be read: a list that units share would otherwise be read for each."""
        self._known: dict[tuple[bool, int, int], list[Range]] = {}

    def of(self, unit: Unit) -> list[Range]:
        """Return the ranges of a unit. Raises DAMAGE."""
        plan, values, _ = unit.root
        low = self._address(unit, plan.forms.get(_LOW), values.get(_LOW))
        listed = self._number(values.get(_RANGES))
        if listed is not None:
            return self._listed(unit, plan.forms.get(_RANGES) == _RNGLISTX, listed, low or 0)
        high, kind = values.get(_HIGH), plan.forms.get(_HIGH)
        if low is None or high is None:
            return []
        if kind == _ADDR or kind in _NUMBERED:
            return [(low, self._address(unit, kind, high) or 0)]
        return [(low, low + (self._number(high) or 0))]

    def _number(self, value: int | bytes | None) -> int | None:
        return int.from_bytes(value, self._order) if isinstance(value, bytes) else value

    def _address(self, unit: Unit, kind: int | None, value: int | bytes | None) -> int | None:
        number = self._number(value)
        return self._numbered(unit, number) if number is not None and kind in _NUMBERED else number

    def _numbered(self, unit: Unit, number: int) -> int:
        """Return the address that has a number in the unit's part of .debug_addr."""
        values = unit.root[1]
        base = next((values[each] for each in _ADDR_BASES if each in values), 0)
        width = unit.shape.address_size
        return _at(self._addresses, (self._number(base) or 0) + number * width, width, self._order)

    def _listed(self, unit: Unit, is_numbered: bool, place: int, base: int) -> list[Range]:
        is_new = unit.shape.version >= 5
        if is_numbered:
            first, width = self._number(unit.root[1].get(_LISTS_BASE)) or 0, unit.shape.offset_size
            place = first + _at(self._lists, first + place * width, width, self._order)
        key = (is_new, place, base)
        if key not in self._known:
            read = self._entries(unit, place, base) if is_new else self._pairs_at(unit, place, base)
            self._known[key] = list(read)
        return self._known[key]

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Damaged("lists of ranges that overlap")

    def _pairs_at(self, unit: Unit, place: int, base: int) -> Iterator[Range]:
        """Yield a list of .debug_ranges."""
        width, order, pairs = unit.shape.address_size, self._order, self._pairs
        while True:
            self._count()
            first, end = _at(pairs, place, width, order), _at(pairs, place + width, width, order)
            place += 2 * width
            if first == end == 0:
                return
            if first == (1 << 8 * width) - 1:
                base = end
            else:
                yield base + first, base + end

    def _entries(self, unit: Unit, place: int, base: int) -> Iterator[Range]:
        """Yield a list of .debug_rnglists."""
        lists = self._lists
        while lists[place] != _END:
            self._count()
            kind = lists[place]
            first, place = self._operand(unit, place + 1, kind in (_BASE, _START_END, _START_LENGTH))
            if kind == _BASE:
                base = first
                continue
            if kind == _BASEX:
                base = self._numbered(unit, first)
                continue
            end, place = self._operand(unit, place, kind == _START_END)
            yield self._range(unit, kind, base, (first, end))

    def _operand(self, unit: Unit, place: int, is_address: bool) -> tuple[int, int]:
        if not is_address:
            return forms.uleb(self._lists, place)
        width = unit.shape.address_size
        return _at(self._lists, place, width, self._order), place + width

    def _range(self, unit: Unit, kind: int, base: int, operands: Range) -> Range:
        first, second = operands
        if kind == _OFFSETS:
            return base + first, base + second
        if kind in (_STARTX_ENDX, _STARTX_LENGTH):
            first = self._numbered(unit, first)
        if kind == _STARTX_ENDX:
            second = self._numbered(unit, second)
        elif kind in (_STARTX_LENGTH, _START_LENGTH):
            second += first
        elif kind != _START_END:
            raise Damaged(f"an entry of kind {kind:#x} in .debug_rnglists")
        return first, second


def _at(data: Data, position: int, width: int, order: Literal["little", "big"]) -> int:
    if position + width > len(data):
        raise Damaged("a list of ranges or addresses ends early")
    return int.from_bytes(data[position : position + width], order)
