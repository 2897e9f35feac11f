"""Abbreviation tables, turned into plans: what to skip, and where the interesting attributes stand."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal

from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_TAG

from layoutlint.readers.dwarf import forms
from layoutlint.readers.dwarf.forms import Damaged, sleb, uleb
from layoutlint.readers.elf import Data

_LARGEST_CODE = 1 << 16
"""Producers number abbreviations densely; a table with a larger code is not believed."""
_KEPT = 64
"""Tables kept at a time: units that share one follow one another."""
_LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q", 3: "3s", 16: "16s"}

OTHER, AGGREGATE, TYPEDEF = 0, 1, 2
"""What the scan does with an entry: steps over it, or looks at its name."""


def at(name: str) -> int:
    """The number of `DW_AT_name`."""
    return int(ENUM_DW_AT["DW_AT_" + name])


def tag(name: str) -> int:
    """The number of `DW_TAG_name`."""
    return int(ENUM_DW_TAG["DW_TAG_" + name])


_NAME: Final = at("name")
_SIBLING: Final = at("sibling")
_TYPE: Final = at("type")
_DECLARATION: Final = at("declaration")
_QUALIFIERS: Final = frozenset(tag(name) for name in ("const_type", "volatile_type"))
_KINDS: Final = {tag("structure_type"): AGGREGATE, tag("union_type"): AGGREGATE, tag("typedef"): TYPEDEF}

Part = tuple[struct.Struct | None, tuple[int, ...], int]
"""A run of fixed attributes (its decoder and their numbers), or None, one number and its form."""
Pair = tuple[int, int, int]
"""An attribute, its form, and how many bytes it takes or a SKIP code."""


@dataclass(frozen=True, slots=True)
class Format:
    """What the size of forms depends on."""

    version: int
    offset_size: int
    address_size: int
    little_endian: bool

    @property
    def order(self) -> Literal["little", "big"]:
        """The byte order, as int.from_bytes takes it."""
        return "little" if self.little_endian else "big"


class Plan:
    """One abbreviation; offsets count from behind the abbreviation code of an entry."""

    __slots__ = (
        "constants", "forms", "has_children", "is_plain", "kind", "leads_on", "name_at", "name_width",
        "opens", "parts", "quick", "sibling_at", "sibling_step", "sibling_width", "size", "steps", "tag",
        "type_at",
    )  # fmt: skip

    def __init__(
        self, entry_tag: int, has_children: bool, pairs: list[Pair], constants: dict[int, int]
    ) -> None:
        self.tag = entry_tag
        self.has_children = has_children
        self.constants = constants
        """Attributes whose value stands in the abbreviation."""
        self.forms = {number: form for number, form, _ in pairs}
        fixed = all(width >= 0 for _, _, width in pairs)
        self.size = sum(width for _, _, width in pairs) if fixed else -1
        """Bytes of all attributes when that is fixed, else -1."""
        kind = _KINDS.get(entry_tag, OTHER)
        self.leads_on = _NAME not in self.forms and (kind == AGGREGATE or entry_tag in _QUALIFIERS)
        """Whether a typedef that stands for this may name an anonymous struct."""
        self.kind = kind if _NAME in self.forms else OTHER
        self.name_at = self.sibling_at = self.type_at = -1
        """Where the attribute stands when that is fixed and it is a plain number, else -1."""
        self.name_width = self.sibling_width = 0
        self._find(pairs)
        self.steps: list[int] = []
        """Bytes to skip, or SKIP codes, to get behind the attributes."""
        self.sibling_step = -1
        """How many of `steps` lie before the sibling, when it stands at no fixed place."""
        self._walk(pairs)
        self.opens = int(has_children and self.sibling_at < 0 and self.sibling_step < 0)
        """1 when the entry behind this one is its first child, for want of a sibling."""
        self.quick = -1 if has_children or self.kind != OTHER else self.size
        """Bytes to the next entry for one of no interest that has no children; else -1."""
        name = self.forms.get(_NAME, forms.STRP)
        self.is_plain = self.size >= 0 and self.type_at >= 0 and name == forms.STRP and not has_children
        """Whether all but the type of such an entry means the same in every unit when its bytes are equal."""
        self.parts: tuple[Part, ...] = ()

    @property
    def is_declaration(self) -> bool:
        """Whether entries of this shape are only declared."""
        return _DECLARATION in self.forms or _DECLARATION in self.constants

    def _find(self, pairs: list[Pair]) -> None:
        offset = 0
        for number, form, width in pairs:
            if width < 0:
                return
            if number == _NAME and (form == forms.STRP or form in forms.STRX):
                self.name_at, self.name_width = offset, width
            elif number == _SIBLING:
                self.sibling_at, self.sibling_width = offset, width
            elif number == _TYPE and form in forms.REF_UNIT and width == 4:
                self.type_at = offset
            offset += width

    def _walk(self, pairs: list[Pair]) -> None:
        run = 0
        for number, _, width in pairs:
            if number == _SIBLING and width > 0 and self.sibling_at < 0:
                self.steps.append(run)
                self.sibling_step, self.sibling_width, run = len(self.steps), width, 0
            if width >= 0:
                run += width
            else:
                self.steps += [run, width]
                run = 0
        self.steps.append(run)


def parts_of(pairs: list[Pair], little_endian: bool) -> tuple[Part, ...]:
    """The decoders that together give all attributes of an entry."""
    parts: list[Part] = []
    letters, numbers = "<" if little_endian else ">", []
    for number, form, width in [*pairs, (0, 0, -1)]:
        if width >= 0:
            letters += _LETTERS[width]
            numbers.append(number)
            continue
        if numbers:
            parts.append((struct.Struct(letters), tuple(numbers), 0))
        if form:
            parts.append((None, (number,), form))
        letters, numbers = letters[0], []
    return tuple(parts)


class Tables:
    """The abbreviation tables of a file; equal abbreviations of different units share one plan."""

    def __init__(self, data: Data) -> None:
        self._data = bytes(data)
        self._plans: dict[tuple[Format, bytes], Plan] = {}
        self._tables: dict[tuple[Format, int], list[Plan | None]] = {}

    def at(self, offset: int, shape: Format) -> list[Plan | None]:
        """The plans of the table at `offset`, by code. Raises Damaged."""
        key = shape, offset
        if key not in self._tables:
            if len(self._tables) > _KEPT:
                self._tables.clear()
            self._tables[key] = self._table(offset, shape)
        return self._tables[key]

    def _table(self, offset: int, shape: Format) -> list[Plan | None]:
        data, position = self._data, offset
        if not 0 <= offset < len(data):
            raise Damaged(f"the abbreviation table at {offset:#x} is outside .debug_abbrev")
        plans: list[Plan | None] = [None]
        while True:
            code = data[position]
            position += 1
            if code == 0:
                return plans
            if code > 127:
                code, position = uleb(data, position - 1)
            if code > _LARGEST_CODE:
                raise Damaged(f"abbreviation code {code:#x} is not believed")
            while code >= len(plans):
                plans.append(None)
            # Units repeat one another's abbreviations: the bytes up to the closing pair of zeros are the key.
            # An implicit constant may end in zero and so cut the key short; such a one is not kept.
            end = data.find(b"\0\0", position) + 2
            body = data[position:end]
            plan = self._plans.get((shape, body))
            if plan is None:
                plan, behind = self._plan(position, shape)
                if behind == end:
                    self._plans[shape, body] = plan
                end = behind
            plans[code] = plan
            position = end

    def _plan(self, position: int, shape: Format) -> tuple[Plan, int]:
        data = self._data
        entry_tag, position = uleb(data, position)
        has_children = data[position] != 0
        position += 1
        pairs: list[Pair] = []
        constants: dict[int, int] = {}
        while True:
            number, position = uleb(data, position)
            form, position = uleb(data, position)
            if form == forms.IMPLICIT:
                constants[number], position = sleb(data, position)
            elif form == forms.PRESENT:
                constants[number] = 1
            elif number == form == 0:
                break
            else:
                width = forms.step(form, shape.version, shape.offset_size, shape.address_size)
                pairs.append((number, form, width))
        plan = Plan(entry_tag, has_children, pairs, constants)
        plan.parts = parts_of(pairs, shape.little_endian)
        return plan, position
