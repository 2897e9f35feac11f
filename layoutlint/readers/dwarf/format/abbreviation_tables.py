"""Abbreviation tables: where the abbreviations of a unit stand, and the plans of those that are met."""

from __future__ import annotations

from array import array
from typing import Final

from layoutlint.readers.dwarf.format import abbreviations, forms
from layoutlint.readers.dwarf.format.abbreviations import Format, Plan
from layoutlint.readers.dwarf.format.forms import Damaged
from layoutlint.readers.dwarf.format.word_tables import Words
from layoutlint.readers.elf.elf_file import Data
from layoutlint.readers.elf.span import Span

_IMPLICIT = forms.IMPLICIT
_LARGEST_CODE = 1 << 16
"""Producers number abbreviations densely; a table with a larger code is not believed."""
_WIDEST = 21
"""Bits in front of the last byte of the widest code that is read."""
_PACKED = 8
"""Bytes in a word."""
_KEPT: Final = 64
"""Tables kept at a time: units that share one follow one another."""

_STARTS = array("q", [0]) * (_LARGEST_CODE + 1)
"""Where a table is put together, before as much of it is kept as there is."""


class Plans:
    """The plans of one format; equal abbreviations of different tables share one."""

    def __init__(self, data: Data, shape: Format) -> None:
        self._data = data
        self._shape = shape
        self._words = Words()
        self._plans: list[Plan | None] = []
        """By the number of the words that an abbreviation is packed into."""

    def of(self, start: int, end: int) -> Plan:
        """The plan of the abbreviation that stands from its tag up to `end`. Raises Damaged."""
        number = self._number(start, end)
        while number >= len(self._plans):
            self._plans.append(None)
        plan = self._plans[number]
        if plan is None:
            plan = self._plans[number] = abbreviations.read(bytes(self._data[start:end]), self._shape)
        return plan

    def _number(self, start: int, end: int) -> int:
        """The number of these bytes: that of how many they are, and of words of eight."""
        count = 1 + (end - start + _PACKED - 1) // _PACKED
        if count > len(self._words.stack):
            self._words.grow(count)
        stack = self._words.stack
        stack[0] = end - start
        for index in range(1, count):
            word = 0
            for position in range(start, min(start + _PACKED, end)):
                word = word << 8 | self._data[position]
            stack[index] = word
            start += _PACKED
        return self._words.number(0, count)


class Table:
    """The abbreviations of a unit, by code."""

    def __init__(self, data: Data, offset: int, known: Plans) -> None:
        self._data = data
        self._known = known
        self.plans: list[Plan | None] = [None]
        """The plans that were asked for."""
        self._starts = array("q")
        """Where each abbreviation's tag stands, by code; 0 for none: a code stands before each."""
        self._divide(offset)

    def plan(self, code: int) -> Plan | None:
        """The plan of a code, None for one that is not in the table. Raises Damaged."""
        plan = self.plans[code] if code < len(self.plans) else None
        if plan is None:
            if code >= len(self.plans) or self._starts[code] == 0:
                return None
            start = self._starts[code]
            plan = self._known.of(start, self._behind(start))
            if not plan.is_indirect:  # of the others each entry has a plan of its own
                self.plans[code] = plan
        return plan

    def _divide(self, position: int) -> None:
        data, starts = self._data, _STARTS
        largest = 0
        while True:
            code = data[position]
            position += 1
            shift = 7
            while code >> shift:  # the highest bit of the last byte says that another one follows
                if shift > _WIDEST:
                    raise Damaged("an abbreviation code of more than four bytes is not believed")
                code += (data[position] - 1) << shift
                position += 1
                shift += 7
            if code > _LARGEST_CODE:
                raise Damaged(f"abbreviation code {code:#x} is not believed")
            if code == 0:  # however many bytes it takes
                break
            while largest < code:
                largest += 1
                starts[largest] = 0
            starts[code] = position
            position = self._behind(position)
        self.plans = [None] * (largest + 1)
        self._starts = _STARTS[: largest + 1]

    def _behind(self, position: int) -> int:
        """The position behind an abbreviation whose tag stands at a position."""
        data = self._data
        while data[position] > 127:
            position += 1
        position += 2  # the tag's last byte, and whether it has children
        while True:
            number = data[position]
            if number > 127:
                while data[position] > 127:
                    position += 1
            form = data[position + 1]
            position += 2
            if form > 127 or form == _IMPLICIT:  # the rest of a vendor's form, or the constant itself
                while data[position] > 127:
                    position += 1
                position += 1
            elif form == number == 0:
                return position


class Tables:
    """The abbreviation tables of a file; equal abbreviations of different units share one plan."""

    def __init__(self, span: Span) -> None:
        self._data = span.octets
        self._plans: dict[Format, Plans] = {}
        self._tables: dict[tuple[Format, int], Table] = {}

    def at(self, offset: int, shape: Format) -> Table:
        """The table at `offset`. Raises Damaged, and IndexError where the section ends inside it."""
        key = shape, offset
        table = self._tables.get(key)
        if table is None:
            if not 0 <= offset < len(self._data):
                raise Damaged(f"the abbreviation table at {offset:#x} is outside .debug_abbrev")
            if len(self._tables) > _KEPT:
                self._tables.clear()
            known = self._plans.get(shape)
            if known is None:
                known = self._plans[shape] = Plans(self._data, shape)
            table = self._tables[key] = Table(self._data, offset, known)
        return table
