"""Plain entries: what counts of most members and types stands at fixed places, and is read alone."""

from __future__ import annotations

from typing import Final

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.abbreviations import Format, Plan
from layoutlint.readers.dwarf.format.constants import at
from layoutlint.readers.dwarf.format.forms import SKIP_STRING, Damaged
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values

_TYPE: Final = at("type")
_FILE: Final = at("decl_file")
_LINE: Final = at("decl_line")
_LOCATION: Final = at("data_member_location")
_SIGNATURE: Final = at("signature")
_SIZE: Final = at("byte_size")
_SPECIAL: Final = {
    *(at("bit_size"), at("bit_offset"), at("data_bit_offset"), at("alignment"), at("declaration")),
    *(at("encoding"), at("GNU_vector")),
}
"""What layouts depend on, and only few members and types have."""
_WIDEST: Final = 4
"""Bytes of a number of bytes that has room for as many bits."""
_MOST: Final = 1 << 12
"""Abbreviations remembered at a time; the structs of a kernel have 300."""
_SKIP_STRING = SKIP_STRING  # a variable of C where this is compiled


class Plain:
    """Where the attributes of one abbreviation's entries stand.

    Offsets count from behind the abbreviation code, or from behind the name where its text comes first; -1 is
    for an attribute that is missing, or is a constant of the abbreviation.
    """

    def __init__(self, plan: Plan, shape: Format) -> None:
        self.size = 0
        """Bytes of all attributes but the text."""
        self.has_text = False
        """Whether the entry starts with the text of its name."""
        self.is_indexed = False
        """Whether the name is a number of .debug_str_offsets, else a place in .debug_str."""
        self.name_at = self.type_at = self.file_at = self.line_at = self.location_at = self.size_at = -1
        self.name_width = self.file_width = self.line_width = self.location_width = self.size_width = 0
        self.file = plan.constants.get(_FILE)
        """The constant, None for none; so are the next three."""
        self.byte_size = plan.constants.get(_SIZE)
        self.line = plan.constants.get(_LINE)
        self.location = plan.constants.get(_LOCATION, 0)
        count = sum(len(numbers) for _, numbers, _ in plan.parts)
        self.is_plain = count == len({*plan.forms, *plan.constants}) - len(plan.constants)
        """Whether name and type can be read. No attribute comes twice then."""
        for number, form in plan.forms.items():
            width = forms.step(form, shape.version, shape.offset_size, shape.address_size)
            self.is_plain = self._find(number, form, width) and self.is_plain
        if not plan.constants.keys().isdisjoint((NAME, _TYPE, _SIGNATURE)):
            self.is_plain = False
        self.is_whole = self.is_plain and _SPECIAL.isdisjoint({*plan.forms, *plan.constants})
        """Whether all can be read that counts."""
        self.is_member = self.is_whole and self.type_at >= 0 and not plan.has_children
        """Whether that is so for a member."""

    def _find(self, number: int, form: int, width: int) -> bool:
        """Where an attribute stands that comes next; whether it can be read, or stepped over."""
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
        """Where offsets count from in an entry whose attributes start at a position. Raises Damaged."""
        start = unit.step(position, _SKIP_STRING) if self.has_text else position
        if start + self.size > unit.end:
            raise Damaged("an entry ends behind its unit", position)
        return start

    def name(self, unit: Unit, position: int, start: int) -> str | None:
        """The name of an entry, None for none. Raises Damaged."""
        if self.has_text:
            return bytes(unit.data[position : start - 1]).decode(errors="replace")
        if self.name_at < 0:
            return None
        place = unit.number(start + self.name_at, self.name_width)
        return unit.sections.text(unit.string_offset(place) if self.is_indexed else place)

    def target(self, unit: Unit, start: int) -> int:
        """Where in the unit the type stands that an entry refers to; what is no type is told there."""
        return unit.offset + unit.number(start + self.type_at, 4)

    def layout(self, unit: Unit, position: int) -> Values:
        """The size and the reference of a type, all of its attributes that its layout is decoded from.

        Raises Damaged.
        """
        start = self.start(unit, position)
        values: Values = {} if self.byte_size is None else {_SIZE: self.byte_size}
        if self.type_at >= 0:
            values[_TYPE] = unit.number(start + self.type_at, 4)
        if self.size_at >= 0:
            values[_SIZE] = unit.number(start + self.size_at, self.size_width)
        return values


class Plains:
    """What is known of the abbreviations of entries that were met."""

    def __init__(self) -> None:
        self._known: dict[Plan, Plain] = {}

    def of(self, unit: Unit, plan: Plan) -> Plain:
        """Where the attributes of an abbreviation's entries stand."""
        known = self._known.get(plan)
        if known is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[plan] = Plain(plan, unit.shape)
        return known
