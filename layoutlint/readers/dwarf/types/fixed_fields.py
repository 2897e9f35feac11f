"""Fields at fixed offsets, where most members and types keep all their attributes; only these are read."""

from __future__ import annotations

from typing import Final

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.abbreviations import Format, Plan
from layoutlint.readers.dwarf.format.constants import attribute
from layoutlint.readers.dwarf.format.forms import SKIP_STRING, DwarfError
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values

_TYPE: Final = attribute("type")
_FILE: Final = attribute("decl_file")
_LINE: Final = attribute("decl_line")
_LOCATION: Final = attribute("data_member_location")
_SIGNATURE: Final = attribute("signature")
_SIZE: Final = attribute("byte_size")
_SPECIAL: Final = {
    *(attribute("bit_size"), attribute("bit_offset"), attribute("data_bit_offset"), attribute("alignment")),
    *(attribute("declaration"), attribute("encoding"), attribute("GNU_vector")),
}
"""Attributes that affect layouts, and that few members and types have."""
_WIDEST: Final = 4
"""Bytes of the widest location that is read; as a number of bits it still fits into 64."""
_MOST: Final = 1 << 12
"""Abbreviations remembered at a time; the structs of a kernel have 300."""
_SKIP_STRING = SKIP_STRING  # a variable of C if this is compiled


class FixedFields:
    """Offsets of the attributes of one abbreviation's entries.

    Offsets count from the end of the abbreviation code, or of the name if its text comes first. -1 stands for
    an attribute that is missing, or is a constant of the abbreviation.
    """

    def __init__(self, plan: Plan, shape: Format) -> None:
        self.size = 0
        """Bytes of all attributes without the text."""
        self.has_text = False
        """Whether the entry starts with the text of its name."""
        self.is_indexed = False
        """Whether the name is an index into .debug_str_offsets, else a position in .debug_str."""
        self.name_at = self.type_at = self.file_at = self.line_at = self.location_at = self.size_at = -1
        self.name_width = self.file_width = self.line_width = self.location_width = self.size_width = 0
        self.file = plan.constants.get(_FILE)
        """The constant, None without one; so are the next three."""
        self.byte_size = plan.constants.get(_SIZE)
        self.line = plan.constants.get(_LINE)
        self.location = plan.constants.get(_LOCATION, 0)
        count = sum(len(numbers) for _, numbers, _ in plan.parts)
        self.is_plain = count == len({*plan.forms, *plan.constants}) - len(plan.constants)
        """Whether name and type can be read. Then no attribute comes twice."""
        for number, form in plan.forms.items():
            width = forms.form_size(form, shape.version, shape.offset_size, shape.address_size)
            self.is_plain = self._locate(number, form, width) and self.is_plain
        if not plan.constants.keys().isdisjoint((NAME, _TYPE, _SIGNATURE)):
            self.is_plain = False
        self.is_whole = self.is_plain and _SPECIAL.isdisjoint({*plan.forms, *plan.constants})
        """Whether all attributes that matter can be read."""
        self.is_member = self.is_whole and self.type_at >= 0 and not plan.has_children
        """Whether all attributes of a member can be read."""

    def _locate(self, number: int, form: int, width: int) -> bool:
        """Note the offset of the next attribute; return whether it can be read, or skipped."""
        place = self.size
        if number == NAME and form == forms.STRING:
            self.has_text = place == 0
            return self.has_text
        if width < 0 or number == _SIGNATURE:
            return False
        self.size += width
        if number == NAME:
            self.name_at, self.name_width, self.is_indexed = place, width, form in forms.STRX
            return form == forms.STRP or self.is_indexed
        if number == _TYPE:
            self.type_at = place
            return form in forms.REF_UNIT and width == 4
        if number == _FILE:
            self.file_at, self.file_width = place, width
        elif number == _LINE:
            self.line_at, self.line_width = place, width
        elif number == _LOCATION:
            self.location_at, self.location_width = place, width
            return form in forms.NUMBERS and width <= _WIDEST
        elif number == _SIZE:
            self.size_at, self.size_width = place, width
        else:
            return True
        return form in forms.NUMBERS

    def start(self, unit: Unit, position: int) -> int:
        """Return the position from which offsets count, for attributes that start at `position`.

        Raises DwarfError.
        """
        start = unit.skip(position, _SKIP_STRING) if self.has_text else position
        if start + self.size > unit.end:
            raise DwarfError("an entry ends behind its unit", position)
        return start

    def name(self, unit: Unit, position: int, start: int) -> str | None:
        """Return the name of an entry, None without one. Raises DwarfError."""
        if self.has_text:
            return bytes(unit.data[position : start - 1]).decode(errors="replace")
        if self.name_at < 0:
            return None
        place = unit.number(start + self.name_at, self.name_width)
        return unit.sections.text(unit.string_offset(place) if self.is_indexed else place)

    def target(self, unit: Unit, start: int) -> int:
        """Return the position of the type that an entry refers to, which may be invalid."""
        return unit.offset + unit.number(start + self.type_at, 4)

    def layout(self, unit: Unit, position: int) -> Values:
        """Return the size and the reference of a type, from which its layout is decoded.

        Raises DwarfError.
        """
        start = self.start(unit, position)
        values: Values = {} if self.byte_size is None else {_SIZE: self.byte_size}
        if self.type_at >= 0:
            values[_TYPE] = unit.number(start + self.type_at, 4)
        if self.size_at >= 0:
            values[_SIZE] = unit.number(start + self.size_at, self.size_width)
        return values


class FixedFieldsTable:
    """The offsets of attributes, by abbreviation."""

    def __init__(self) -> None:
        self._by_plan: dict[Plan, FixedFields] = {}

    def find(self, unit: Unit, plan: Plan) -> FixedFields:
        """Return the offsets of an abbreviation's attributes."""
        fixed = self._by_plan.get(plan)
        if fixed is None:
            if len(self._by_plan) >= _MOST:
                self._by_plan.clear()
            fixed = self._by_plan[plan] = FixedFields(plan, unit.shape)
        return fixed
