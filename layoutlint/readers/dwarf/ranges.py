"""Addresses of code that units describe: DW_AT_low_pc, DW_AT_high_pc and DW_AT_ranges of their root entries.

DWARF 5, sections 2.17 and 7.25 to 7.28; DWARF 4, section 2.17.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.constants import attribute, form
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.elf.elf_file import Data, Image

_LOW, _HIGH, _RANGES = attribute("low_pc"), attribute("high_pc"), attribute("ranges")
_ADDR_BASES: Final = (attribute("addr_base"), attribute("GNU_addr_base"))
_LISTS_BASE: Final = attribute("rnglists_base")
_ADDR: Final = form("addr")
_NUMBERED: Final = frozenset(
    form(name) for name in ("addrx", "addrx1", "addrx2", "addrx3", "addrx4", "GNU_addr_index")
)
_RNGLISTX: Final = form("rnglistx")
_END, _BASEX, _STARTX_ENDX, _STARTX_LENGTH, _OFFSETS, _BASE, _START_END, _START_LENGTH = range(8)
"""DW_RLE_end_of_list and the other kinds of entries of .debug_rnglists."""

Range = tuple[int, int]
"""The first address, and the one after the last."""


class Ranges:
    """Reads the ranges of units of a file. Lists of ranges are read once for all units together."""

    def __init__(self, image: Image) -> None:
        """Find the sections. Raises ReadError for one that cannot be read."""
        self._order: Literal["little", "big"] = "little" if image.little_endian else "big"
        self._addresses = image.section(".debug_addr") or b""
        self._lists = image.section(".debug_rnglists") or b""
        self._pairs = image.section(".debug_ranges") or b""
        self._remaining = len(self._lists) + len(self._pairs)
        """Entries that may still be read, so that overlapping lists cannot multiply the work."""
        self._cache: dict[tuple[bool, int, int], list[Range]] = {}

    def read(self, unit: Unit) -> list[Range]:
        """Return the ranges of a unit. Raises DAMAGE."""
        plan, values, _ = unit.root
        low = self._address(unit, plan.forms.get(_LOW), values.get(_LOW))
        place = self._number(values.get(_RANGES))
        if place is not None:
            return self._read_list(unit, plan.forms.get(_RANGES) == _RNGLISTX, place, low or 0)
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
        return self._indexed_address(unit, number) if number is not None and kind in _NUMBERED else number

    def _indexed_address(self, unit: Unit, number: int) -> int:
        """Return the address with an index in the unit's part of .debug_addr."""
        values = unit.root[1]
        base = next((values[attribute] for attribute in _ADDR_BASES if attribute in values), 0)
        width = unit.shape.address_size
        return _read_number(self._addresses, (self._number(base) or 0) + number * width, width, self._order)

    def _read_list(self, unit: Unit, is_indexed: bool, place: int, base: int) -> list[Range]:
        is_new = unit.shape.version >= 5
        if is_indexed:
            first, width = self._number(unit.root[1].get(_LISTS_BASE)) or 0, unit.shape.offset_size
            place = first + _read_number(self._lists, first + place * width, width, self._order)
        key = (is_new, place, base)
        if key not in self._cache:
            ranges = self._read_entries(unit, place, base) if is_new else self._read_pairs(unit, place, base)
            self._cache[key] = list(ranges)
        return self._cache[key]

    def _count_entry(self) -> None:
        self._remaining -= 1
        if self._remaining < 0:
            raise DwarfError("lists of ranges that overlap")

    def _read_pairs(self, unit: Unit, place: int, base: int) -> Iterator[Range]:
        """Yield a list of .debug_ranges."""
        width, order, pairs = unit.shape.address_size, self._order, self._pairs
        while True:
            self._count_entry()
            first, end = (
                _read_number(pairs, place, width, order),
                _read_number(pairs, place + width, width, order),
            )
            place += 2 * width
            if first == end == 0:
                return
            if first == (1 << 8 * width) - 1:
                base = end
            else:
                yield base + first, base + end

    def _read_entries(self, unit: Unit, place: int, base: int) -> Iterator[Range]:
        """Yield a list of .debug_rnglists."""
        lists = self._lists
        while lists[place] != _END:
            self._count_entry()
            kind = lists[place]
            first, place = self._operand(unit, place + 1, kind in (_BASE, _START_END, _START_LENGTH))
            if kind == _BASE:
                base = first
                continue
            if kind == _BASEX:
                base = self._indexed_address(unit, first)
                continue
            end, place = self._operand(unit, place, kind == _START_END)
            yield self._range(unit, kind, base, (first, end))

    def _operand(self, unit: Unit, place: int, is_address: bool) -> tuple[int, int]:
        if not is_address:
            return forms.read_uleb(self._lists, place)
        width = unit.shape.address_size
        return _read_number(self._lists, place, width, self._order), place + width

    def _range(self, unit: Unit, kind: int, base: int, operands: Range) -> Range:
        first, second = operands
        if kind == _OFFSETS:
            return base + first, base + second
        if kind in (_STARTX_ENDX, _STARTX_LENGTH):
            first = self._indexed_address(unit, first)
        if kind == _STARTX_ENDX:
            second = self._indexed_address(unit, second)
        elif kind in (_STARTX_LENGTH, _START_LENGTH):
            second += first
        elif kind != _START_END:
            raise DwarfError(f"an entry of kind {kind:#x} in .debug_rnglists")
        return first, second


def _read_number(data: Data, position: int, width: int, order: Literal["little", "big"]) -> int:
    if position + width > len(data):
        raise DwarfError("a list of ranges or addresses ends early")
    return int.from_bytes(data[position : position + width], order)
