"""Units of .debug_info and .debug_types: their headers, root entries, strings, references and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from elftools.dwarf.enums import ENUM_DW_LANG, ENUM_DW_UT

from layoutlint.readers.dwarf import forms, lines
from layoutlint.readers.dwarf.abbrev import Format, Plan, Tables, at
from layoutlint.readers.dwarf.forms import Damaged, uleb, variable
from layoutlint.readers.elf import Data, Image

if TYPE_CHECKING:
    from layoutlint.model import CType
    from layoutlint.readers.dwarf.index import Index
    from layoutlint.readers.dwarf.members import Body
    from layoutlint.readers.dwarf.types import Type

NAME: Final = at("name")
_SIBLING: Final = at("sibling")
_LANGUAGE: Final = at("language")
_LANGUAGE_NAME: Final = 0x90  # DW_AT_language_name of DWARF 6; its DW_LNAME_C is 3
_COMP_DIR: Final = at("comp_dir")
_STMT_LIST: Final = at("stmt_list")
_STR_OFFSETS_BASE: Final = at("str_offsets_base")
_DWO_NAMES: Final = (at("dwo_name"), at("GNU_dwo_name"))
_UNIT_TYPES: Final = {value: name for name, value in ENUM_DW_UT.items()}
# DW_LANG_C89, C, C99, C11, C17, C23 (dwarfstd.org/languages.html)
_C: Final = frozenset((0x01, 0x02, 0x0C, 0x1D, 0x2C, 0x3E))
_ASSEMBLERS: Final = frozenset((0x8001, 0x31))
_LANGUAGES: Final[dict[object, str]] = {
    number: name.removeprefix("DW_LANG_").replace("_plus_plus", "++").replace("_", " ")
    for name, number in ENUM_DW_LANG.items()
}

Values = dict[int, int | bytes]
"""The attributes of one entry by number; strings and blocks inside the entry as bytes."""


@dataclass(frozen=True, slots=True)
class Sections:
    """The sections that units refer to."""

    tables: Tables
    strings: bytes
    line_strings: bytes
    line: Data
    string_offsets: Data
    texts: dict[int, str] = field(default_factory=dict)
    """Names already decoded, by their place in .debug_str."""

    @classmethod
    def of(cls, image: Image) -> Sections:
        """The sections of a file; a missing one is empty. Raises ReadError."""
        strings = bytes(image.section(".debug_str") or b"")
        line_strings = bytes(image.section(".debug_line_str") or b"")
        line, offsets = (image.section(name) or b"" for name in (".debug_line", ".debug_str_offsets"))
        return cls(Tables(image.section(".debug_abbrev") or b""), strings, line_strings, line, offsets)

    def text(self, offset: int) -> str:
        """A string of .debug_str. Raises Damaged when it is outside."""
        text = self.texts.get(offset)
        if text is None:
            end = self.strings.find(b"\0", offset)
            if not 0 <= offset < len(self.strings) or end < 0:
                raise Damaged(f"a string at {offset:#x} is outside .debug_str")
            text = self.texts[offset] = self.strings[offset:end].decode(errors="replace")
        return text


class Unit:
    """One unit; positions count from the start of its section."""

    def __init__(self, sections: Sections, index: Index, section: str, data: Data, offset: int) -> None:
        self.sections = sections
        self.index = index
        self.section = section
        """The name of the section that `data` is."""
        self.data = data
        self.offset = offset
        self.is_shared = False
        """Whether other units refer to this one."""
        self.bodies: dict[int, Body] = {}
        """Structs already decoded, by position."""
        self.types: dict[int, Type] = {}
        """Types already decoded, by position."""
        self.spellings: dict[int, CType] = {}
        """Types already spelled, by position."""
        self._paths: dict[object, str | None] = {None: None}
        """Files already named, by number."""
        self._header()

    def _header(self) -> None:
        """DWARF 5, section 7.5.1; up to DWARF 4 the abbreviation offset stands before the address size."""
        data, order = self.data, self.index.order
        position, width = self.offset + 4, 4
        length = self._number(self.offset, 4)
        if length == 0xFFFFFFFF:
            length, width, position = self._number(position, 8), 8, position + 8
        elif length >= 0xFFFFFFF0:
            raise Damaged(f"the reserved unit length {length:#x}", self.offset)
        self.end = position + length
        if self.end > len(data):
            raise Damaged(f"a unit of {length:#x} bytes ends behind its section", self.offset)
        version = self._number(position, 2)
        if not 2 <= version <= 5:
            raise Damaged(f"DWARF version {version} is not read", self.offset)
        position += 2
        self.type = "DW_UT_type" if self.section == ".debug_types" else "DW_UT_compile"
        if version >= 5:
            kind = self._number(position, 1)
            self.type = _UNIT_TYPES.get(kind, f"{kind:#x}")
            address_size = self._number(position + 1, 1)
            self.abbrev_offset = self._number(position + 2, width)
            position += 2 + width
        else:
            self.abbrev_offset = self._number(position, width)
            address_size = self._number(position + width, 1)
            position += width + 1
        if address_size not in (1, 2, 4, 8):
            raise Damaged(f"addresses of {address_size} bytes", self.offset)
        self.shape = Format(version, width, address_size, order == "little")
        self.signature = self.type_offset = None
        if self.type == "DW_UT_type":
            self.signature, self.type_offset = self._number(position, 8), self._number(position + 8, width)
            position += 8 + width
        elif self.type in ("DW_UT_skeleton", "DW_UT_split_compile"):
            position += 8
        self.first = position

    def _number(self, position: int, width: int) -> int:
        if position + width > len(self.data):
            raise Damaged("the section ends inside a unit header", self.offset)
        return int.from_bytes(self.data[position : position + width], self.index.order)

    @cached_property
    def plans(self) -> list[Plan | None]:
        """The abbreviations, by code. Raises Damaged."""
        return self.sections.tables.at(self.abbrev_offset, self.shape)

    @cached_property
    def root(self) -> tuple[Plan, Values, int]:
        """The root entry: its plan, its attributes, what is behind them. Raises Damaged."""
        plan, position = self.entry(self.first)
        if plan is None:
            raise Damaged("the unit has no root entry", self.first)
        values, position = self.read(plan, position)
        return plan, values, position

    @property
    def language(self) -> str | None:
        """None for C, for assembler and where none is stated (partial units); else the language."""
        values = self.root[1]
        number = values.get(_LANGUAGE)
        if number is None:
            return None if values.get(_LANGUAGE_NAME, 3) == 3 else "another language"
        if number in _C or number in _ASSEMBLERS:
            return None
        return _LANGUAGES.get(number, "another language")

    @property
    def split_file(self) -> str | None:
        """The name of the .dwo file that holds what this skeleton stands for; None for an ordinary unit."""
        plan, values, _ = self.root
        for number in _DWO_NAMES:
            if number in values:
                return self.text(plan, values, number)
        return "a .dwo file" if self.type in ("DW_UT_skeleton", "DW_UT_split_compile") else None

    @cached_property
    def name(self) -> str:
        """The source file, relative to the compilation directory when inside it; empty for type units."""
        plan, values, _ = self.root
        name = self.text(plan, values, NAME)
        return "" if name is None else lines.tidy(self._comp_dir, name)

    @property
    def _comp_dir(self) -> str:
        plan, values, _ = self.root
        return self.text(plan, values, _COMP_DIR) or ""

    @cached_property
    def files(self) -> lines.Files | None:
        """The files that DW_AT_decl_file counts; None when the unit has no line table. Raises Damaged."""
        offset = self.root[1].get(_STMT_LIST)
        if not isinstance(offset, int):
            return None
        sections = self.sections
        width, order = self.shape.offset_size, self.index.order
        strings = lines.Strings(sections.line_strings, sections.strings, width, order)
        try:
            return lines.files(sections.line, offset, self._comp_dir, strings)
        except IndexError as error:
            raise Damaged(f"the line table at {offset:#x} ends early", self.first) from error

    def path(self, number: object) -> str | None:
        """The file that a DW_AT_decl_file means; None for none. Raises Damaged."""
        if number not in self._paths:
            if self.files is None or not isinstance(number, int):
                return None
            self._paths[number] = self.files.path(number)
        return self._paths[number]

    def entry(self, position: int) -> tuple[Plan | None, int]:
        """The plan of an entry (None for a closing null entry) and where its attributes start."""
        if not self.first <= position < self.end:
            raise Damaged("a reference leaves its unit", position)
        code = self.data[position]
        position += 1
        if code > 127:
            code, position = uleb(self.data, position - 1)
        if code == 0:
            return None, position
        plan = self.plans[code] if code < len(self.plans) else None
        if plan is None:
            raise Damaged(f"abbreviation code {code} is not in the table", position - 1)
        return plan, position

    def read(self, plan: Plan, position: int) -> tuple[Values, int]:
        """The attributes of an entry, and the position behind them. Raises Damaged."""
        values: Values = dict(plan.constants)
        for decoder, numbers, form in plan.parts:
            if decoder is not None:
                if position + decoder.size > self.end:
                    raise Damaged("an entry ends behind its unit", position)
                values.update(zip(numbers, decoder.unpack_from(self.data, position), strict=True))
                position += decoder.size
            else:
                values[numbers[0]], position = variable(self.data, position, form, self.index.order)
        if position > self.end:
            raise Damaged("an entry ends behind its unit", position)
        return values, position

    def after(self, plan: Plan, values: Values, position: int) -> int:
        """The position behind an entry and its children; `position` is behind its attributes."""
        if not plan.has_children:
            return position
        sibling = values.get(_SIBLING)
        if isinstance(sibling, int) and plan.forms[_SIBLING] in forms.REF_UNIT:
            if not position < self.offset + sibling <= self.end:
                raise Damaged("DW_AT_sibling points backwards or outside", position)
            return self.offset + sibling
        depth = 1
        while depth:
            child, position = self.entry(position)
            if child is None:
                depth -= 1
            else:
                _, position = self.read(child, position)
                depth += child.has_children
        return position

    def children(self, plan: Plan, position: int) -> Iterator[tuple[Plan, Values, int]]:
        """Plan, attributes and position behind them of each child of an entry."""
        while plan.has_children:
            child, position = self.entry(position)
            if child is None:
                return
            values, position = self.read(child, position)
            yield child, values, position
            position = self.after(child, values, position)

    def text(self, plan: Plan, values: Values, number: int) -> str | None:
        """The string that an attribute means; None when there is no such attribute. Raises Damaged."""
        value = values.get(number)
        if value is None:
            return None
        form = plan.forms[number]
        if form == forms.STRING and isinstance(value, bytes):
            return value.decode(errors="replace")
        if isinstance(value, bytes):
            value = int.from_bytes(value, self.index.order)
        if form == forms.STRP:
            return self.sections.text(value)
        if form in forms.STRX:
            return self.sections.text(self._string_offset(value))
        if form == forms.LINE_STRP:
            end = self.sections.line_strings.find(b"\0", value)
            return self.sections.line_strings[value:end].decode(errors="replace")
        if form in forms.STR_ELSEWHERE:
            raise Damaged("a name stands in a supplementary file (dwz), which is not read")
        raise Damaged(f"a name of form {form:#x}")

    @cached_property
    def string_table(self) -> tuple[int, int]:
        """Where the unit's part of .debug_str_offsets starts, and where it ends at the latest."""
        data, width = self.sections.string_offsets, self.shape.offset_size
        start = self.root[1].get(_STR_OFFSETS_BASE, 0 if self.shape.version < 5 else 2 * width)
        if not isinstance(start, int) or start > len(data):
            raise Damaged("DW_AT_str_offsets_base is outside .debug_str_offsets", self.first)
        if self.shape.version < 5:
            return start, len(data)
        # A length, a version and padding stand before the table (DWARF 5, section 7.26).
        length = int.from_bytes(data[start - 4 - width : start - 4], self.index.order)
        return start, min(len(data), start - 4 + length)

    def _string_offset(self, number: int) -> int:
        start, end = self.string_table
        position = start + number * self.shape.offset_size
        if position + self.shape.offset_size > end:
            raise Damaged(f"string number {number} is outside .debug_str_offsets")
        return int.from_bytes(
            self.sections.string_offsets[position : position + self.shape.offset_size], self.index.order
        )

    def referred(self, position: int) -> int:
        """The position that four bytes, counting from the start of the unit, refer to."""
        return self.offset + int.from_bytes(self.data[position : position + 4], self.index.order)

    def reference(self, plan: Plan, values: Values, number: int) -> tuple[Unit, int] | None:
        """The unit and position that an attribute refers to; None when there is no such attribute."""
        value = values.get(number)
        if value is None:
            return None
        form = plan.forms.get(number)
        if not isinstance(value, int) or form is None:
            raise Damaged("a reference that is none")
        if form in forms.REF_UNIT:
            return self, self.offset + value
        if form == forms.REF_ADDR:
            unit, position = self.index.holding(value), value
        elif form == forms.REF_SIG8:
            unit, position = self.index.signed(value)
        else:
            raise _no_reference(form)
        unit.is_shared = unit is not self
        return unit, position

    def forget(self) -> None:
        """Lets go of what was remembered, unless other units refer to this one."""
        if not self.is_shared:
            self.types.clear()
            self.bodies.clear()
            self.spellings.clear()
            self._paths = {None: None}
            self.__dict__.pop("files", None)
            self.__dict__.pop("plans", None)


def _no_reference(form: int) -> Damaged:
    if form in forms.REF_ELSEWHERE:
        return Damaged("a type stands in a supplementary file (dwz), which is not read")
    return Damaged(f"a reference of form {form:#x}")
