"""Abbreviation tables of units, and the plans that are made of abbreviations on first use."""

from __future__ import annotations

from array import array
from typing import Final

from layoutlint.readers.dwarf.format import abbreviations, forms
from layoutlint.readers.dwarf.format.abbreviations import Format, Plan
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.dwarf.format.word_tables import Words
from layoutlint.readers.elf.elf_file import Data
from layoutlint.readers.elf.span import Span

_IMPLICIT = forms.IMPLICIT
_LARGEST_CODE = 1 << 16
"""Producers number abbreviations densely; a table with a larger code counts as damaged."""
_WIDEST = 21
"""Bits before the last byte of the widest code that is read."""
_PACKED = 8
"""Bytes in a word."""
_MOST_TABLES: Final = 64
"""Tables remembered at a time; units that share one follow one another."""

_STARTS = array("q", [0]) * (_LARGEST_CODE + 1)
"""Space in which a table is built before its used part is copied."""


class Plans:
    """The plans of one format; equal abbreviations of different tables share one."""

    def __init__(self, data: Data, shape: Format) -> None:
        self._data = data
        self._shape = shape
        self._words = Words()
        self._plans: list[Plan | None] = []
        """Plans by the number of the words that hold an abbreviation."""

    def plan(self, start: int, end: int) -> Plan:
        """Return the plan of the abbreviation from its tag up to `end`. Raises DwarfError."""
        number = self._intern(start, end)
        while number >= len(self._plans):
            self._plans.append(None)
        plan = self._plans[number]
        if plan is None:
            plan = self._plans[number] = abbreviations.read(bytes(self._data[start:end]), self._shape)
        return plan

    def _intern(self, start: int, end: int) -> int:
        """Return the number of these bytes: the number of their length and of their words of eight bytes."""
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

    def __init__(self, data: Data, offset: int, plans: Plans) -> None:
        self._data = data
        self._shared_plans = plans
        self.plans: list[Plan | None] = [None]
        """The plans that were read so far."""
        self._starts = array("q")
        """Positions of the abbreviations' tags, by code; 0 for unused codes, because a code precedes each
        tag."""
        self._find_abbreviations(offset)

    def plan(self, code: int) -> Plan | None:
        """Return the plan of a code, None if the table does not have it. Raises DwarfError."""
        plan = self.plans[code] if code < len(self.plans) else None
        if plan is None:
            if code >= len(self.plans) or self._starts[code] == 0:
                return None
            start = self._starts[code]
            plan = self._shared_plans.plan(start, self._skip_abbreviation(start))
            if not plan.is_indirect:  # otherwise each entry has its own plan
                self.plans[code] = plan
        return plan

    def _find_abbreviations(self, position: int) -> None:
        data, starts = self._data, _STARTS
        largest = 0
        while True:
            code = data[position]
            position += 1
            shift = 7
            while code >> shift:  # a set highest bit means that another byte follows
                if shift > _WIDEST:
                    raise DwarfError("an abbreviation code of more than four bytes is not believed")
                code += (data[position] - 1) << shift
                position += 1
                shift += 7
            if code > _LARGEST_CODE:
                raise DwarfError(f"abbreviation code {code:#x} is not believed")
            if code == 0:  # in any number of bytes
                break
            while largest < code:
                largest += 1
                starts[largest] = 0
            starts[code] = position
            position = self._skip_abbreviation(position)
        self.plans = [None] * (largest + 1)
        self._starts = _STARTS[: largest + 1]

    def _skip_abbreviation(self, position: int) -> int:
        """Return the position after an abbreviation, from that of its tag."""
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
            if form > 127 or form == _IMPLICIT:  # the rest of a vendor's form, or the constant
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

    def table(self, offset: int, shape: Format) -> Table:
        """Return the table at `offset`. Raises DwarfError, and IndexError if the section ends inside it."""
        key = shape, offset
        table = self._tables.get(key)
        if table is None:
            if not 0 <= offset < len(self._data):
                raise DwarfError(f"the abbreviation table at {offset:#x} is outside .debug_abbrev")
            if len(self._tables) > _MOST_TABLES:
                self._tables.clear()
            plans = self._plans.get(shape)
            if plans is None:
                plans = self._plans[shape] = Plans(self._data, shape)
            table = self._tables[key] = Table(self._data, offset, plans)
        return table
