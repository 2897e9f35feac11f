"""Units of .debug_info and .debug_types: their headers, root entries, strings, references and files."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal, Protocol

from layoutlint.readers.dwarf.format import abbreviations, file_table, forms, unit_header
from layoutlint.readers.dwarf.format.abbreviation_tables import Table
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.cursor import Cursor
from layoutlint.readers.dwarf.format.forms import DwarfError, read_value
from layoutlint.readers.dwarf.format.languages import ASSEMBLERS, foreign
from layoutlint.readers.dwarf.format.sections import Sections, string
from layoutlint.readers.dwarf.format.type_recipe import Pair
from layoutlint.readers.elf.elf_file import Data

if TYPE_CHECKING:
    from layoutlint.model.ctype import CType
    from layoutlint.readers.dwarf.format.package import UnitParts

NAME: Final = attribute("name")
_SIBLING: Final = attribute("sibling")
_LANGUAGE: Final = attribute("language")
_LANGUAGE_NAME: Final = 0x90  # DW_AT_language_name of DWARF 6
_COMP_DIR: Final = attribute("comp_dir")
_PRODUCER: Final = attribute("producer")
_STMT_LIST: Final = attribute("stmt_list")
_STR_OFFSETS_BASE: Final = attribute("str_offsets_base")
_DWO_NAMES: Final = (attribute("dwo_name"), attribute("GNU_dwo_name"))
_SPLIT_ID: Final = attribute("GNU_dwo_id")
_IDS_IN_HEADERS: Final = 5
"""The first version of DWARF with the id in unit headers."""
_PARTIAL_UNIT: Final = tag("partial_unit")

Values = dict[int, int | bytes]
"""The attributes of one entry by number; strings and blocks inside the entry as bytes."""


class UnitIndex(Protocol):
    """All units of a file, as a unit uses them to resolve its references."""

    order: Literal["little", "big"]
    where: str
    is_split: bool
    key: int
    sections: Sections

    @property
    def supplement(self) -> UnitIndex:
        """The units of the supplementary file (dwz). Raises DwarfError without one."""

    def unit_at(self, position: int) -> Unit:
        """Return the unit at a position of .debug_info. Raises DwarfError."""

    def find_type(self, signature: int) -> tuple[Unit, int]:
        """Return the type unit with a signature, and the position of its type. Raises DwarfError."""

    def has_type(self, signature: int) -> bool:
        """Return whether there is a type unit with this signature."""


class Unit(Cursor):
    """One unit; positions count from the start of its section."""

    def __init__(
        self,
        sections: Sections,
        index: UnitIndex,
        section: str,
        data: Data,
        offset: int,
        part: UnitParts | None,
    ) -> None:
        self.sections = sections
        self.index = index
        self.section = section
        """The name of the section with `data`."""
        super().__init__(data, index.order == "little")
        self.offset = offset
        self.is_shared = False
        """Whether other units refer to this one."""
        self.key = index.key << 40
        """Distinguishes its positions from those of other sections: twice a position is added to it."""
        self.spellings: dict[int, CType] = {}
        """Types already spelled, by position."""
        self._paths: dict[object, str | None] = {None: None}
        self._root: tuple[Plan, Values, int] | None = None
        self._name: str | None = None
        self._table: Table | None = None
        self._files: tuple[file_table.Files | None] | None = None
        self._string_table: tuple[int, int] | None = None
        self.part = part
        """The unit's parts of a package's sections; None outside of packages."""
        self.skeleton: Unit | None = None
        """The skeleton of this unit in the program, which has its files."""
        self.home: str | None = None
        """The compilation directory of a unit that refers to this one, which has none of its own (dwz)."""
        self.imports: list[int] = []
        """Positions of the entries that import units, as far as the unit was walked."""
        self.local: list[int] | None = None
        """Positions of structs that are local to functions; None if they are not searched for."""
        header = unit_header.read(self, section, offset)
        self.end, self.first, self.type, self.shape = header.end, header.first, header.type, header.shape
        self.signature, self.type_offset = header.signature, header.type_offset
        self.abbrev_offset = header.abbrev_offset + (0 if part is None else part.abbrev)
        self._split_id = header.split_id

    @property
    def table(self) -> Table:
        """The abbreviations. Raises DwarfError."""
        if self._table is None:
            self._table = self.sections.tables.table(self.abbrev_offset, self.shape)
        return self._table

    @property
    def root(self) -> tuple[Plan, Values, int]:
        """The root entry: its plan, its attributes, the position after them. Raises DwarfError."""
        if self._root is None:
            plan = self.enter(self.first)
            if plan is None:
                raise DwarfError("the unit has no root entry", self.first)
            values, position = self.read(plan, self.next_position)
            self._root = plan, values, position
        return self._root

    @property
    def language(self) -> str | None:
        """The language; None for C, for assembler and if none is stated. Raises DwarfError."""
        values = self.root[1]
        return foreign(values.get(_LANGUAGE), values.get(_LANGUAGE_NAME))

    @property
    def is_assembler(self) -> bool:
        """Whether it is assembler, which defines no structs. Raises DwarfError."""
        return self.root[1].get(_LANGUAGE) in ASSEMBLERS

    @property
    def is_partial(self) -> bool:
        """Whether it is only read through units that import it, in their language. Raises DwarfError."""
        plan, values, _ = self.root
        if plan.tag != _PARTIAL_UNIT and self.type != "DW_UT_partial":
            return False
        return _LANGUAGE not in values and _LANGUAGE_NAME not in values

    @property
    def split_file(self) -> str | None:
        """The name of the .dwo file with the unit of this skeleton; None for an ordinary unit.

        Raises DwarfError.
        """
        plan, values, _ = self.root
        for number in () if self.index.is_split else _DWO_NAMES:
            if number in values:
                return self.text(plan, values, number)
        if self.type == "DW_UT_skeleton" and not self.index.is_split:
            raise DwarfError("a skeleton unit that names no .dwo file", self.offset)
        return None

    @property
    def split_id(self) -> int | None:
        """The id that a skeleton and its unit share; None for other units."""
        if self._split_id is None and self.shape.version < _IDS_IN_HEADERS:
            try:
                split_id = self.root[1].get(_SPLIT_ID)
            except (DwarfError, IndexError, struct.error):
                return None  # damage is reported when the unit is read
            return split_id if isinstance(split_id, int) else None
        return self._split_id

    @property
    def name(self) -> str:
        """The source file, relative to the compilation directory if inside it; empty for type units."""
        if self._name is None:
            plan, values, _ = self.root
            name = self.text(plan, values, NAME)
            self._name = "" if name is None else file_table.tidy(self.comp_dir, name)
        return self._name

    @property
    def producer(self) -> bytes:
        """The compiler, if the unit itself holds that text; empty otherwise. Raises DwarfError."""
        plan, values, _ = self.root
        text = values.get(_PRODUCER)
        return text if isinstance(text, bytes) and plan.forms[_PRODUCER] == forms.STRING else b""

    @property
    def comp_dir(self) -> str:
        """The compilation directory, empty if the unit states none. Raises DwarfError."""
        plan, values, _ = self.root
        directory = self.text(plan, values, _COMP_DIR)
        return directory or (self.home or "" if self.skeleton is None else self.skeleton.comp_dir)

    @property
    def files(self) -> file_table.Files | None:
        """The files that DW_AT_decl_file indexes; None without a line table. Raises DwarfError."""
        if self.skeleton is not None:
            return self.skeleton.files
        if self._files is None:
            self._files = (self._read_file_table(),)
        return self._files[0]

    def _read_file_table(self) -> file_table.Files | None:
        offset = self.root[1].get(_STMT_LIST)
        if not isinstance(offset, int):
            return None
        sections = self.sections
        width, order = self.shape.offset_size, self.index.order
        strings = file_table.Strings(sections.line_strings, sections.strings, width, order)
        try:
            offset += 0 if self.part is None else self.part.line
            return file_table.Files(sections.line, offset, self.comp_dir, strings)
        except IndexError as error:
            raise DwarfError(f"the line table at {offset:#x} ends early", self.first) from error

    def path(self, number: object) -> str | None:
        """Return the file of a DW_AT_decl_file; None for none. Raises DwarfError."""
        if number not in self._paths:
            if self.files is None or not isinstance(number, int):
                return None
            self._paths[number] = self.files.path(number)
        return self._paths[number]

    def enter(self, position: int) -> Plan | None:
        """Return the plan of an entry, None for a null entry; its attributes start at `next_position`.

        Raises DwarfError.
        """
        if not self.first <= position < self.end:
            raise DwarfError("a reference leaves its unit", position)
        code = self.octets[position]
        self.next_position = position + 1
        if code > 127:
            code = self.uleb(position)
        if code == 0:
            return None
        table = self.table if self._table is None else self._table
        plan = table.plans[code] if code < len(table.plans) else None
        if plan is None:
            plan = table.plan(code)
        if plan is None:
            raise DwarfError(f"abbreviation code {code} is not in the table", position)
        return self._enter_indirect(plan, self.next_position) if plan.is_indirect else plan

    def _enter_indirect(self, plan: Plan, position: int) -> Plan:
        """Return the plan of an entry that states its forms; its attributes start at a position.

        The form precedes the value: its bytes become attributes without a number, which nothing reads. Raises
        DwarfError.
        """
        start = position
        pairs: list[Pair] = []
        constants = dict(plan.constants)
        for number, form, width in plan.pairs:
            first = len(pairs)
            if form == forms.INDIRECT:
                stated = self.uleb(position)
                pairs += [(0, forms.DATA1, 1)] * (self.next_position - position)
                abbreviations.add(number, stated, self.shape, pairs, constants)
            else:
                pairs.append((number, form, width))
            for _, _, size in pairs[first:]:
                position = position + size if size >= 0 else self.skip(position, size)
        self.next_position = start
        return plan.with_forms(pairs, constants)

    def entry(self, position: int) -> tuple[Plan | None, int]:
        """Return the plan of an entry (None for a null entry) and the start of its attributes."""
        plan = self.enter(position)
        return plan, self.next_position

    def read(self, plan: Plan, position: int) -> tuple[Values, int]:
        """Return the attributes of an entry, and the position after them. Raises DwarfError."""
        values: Values = dict(plan.constants)
        for decoder, numbers, form in plan.parts:
            if decoder is not None:
                if position + decoder.size > self.end:
                    raise DwarfError("an entry ends behind its unit", position)
                values.update(zip(numbers, decoder.unpack_from(self.data, position), strict=True))
                position += decoder.size
            else:
                values[numbers[0]], position = read_value(self.data, position, form, self.index.order)
        if position > self.end:
            raise DwarfError("an entry ends behind its unit", position)
        return values, position

    def skip_children(self, plan: Plan, values: Values, position: int) -> int:
        """Return the position after an entry and its children; `position` is the end of its attributes."""
        if not plan.has_children:
            return position
        sibling = values.get(_SIBLING)
        if isinstance(sibling, int) and plan.forms.get(_SIBLING) in forms.REF_UNIT:
            if not position < self.offset + sibling <= self.end:
                raise DwarfError("DW_AT_sibling points backwards or outside", position)
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

    def skip_attributes(self, plan: Plan, position: int) -> int:
        """Return the end of the attributes of an entry, from their start. Raises as `skip` does."""
        if plan.size >= 0:
            return position + plan.size
        for kind in plan.steps:
            position = position + kind if kind >= 0 else self.skip(position, kind)
        return position

    def skip_entry(self, plan: Plan, position: int) -> int:
        """Return the position after an entry and its children; `position` is the start of its attributes.

        Raises DwarfError.
        """
        depth = 0
        while True:
            if not plan.has_children:
                position = self.skip_attributes(plan, position)
            elif plan.sibling_at >= 0:
                position = self._read_sibling(position, plan.sibling_at, plan.sibling_width)
            elif plan.sibling_step >= 0:
                place = position
                for index in range(plan.sibling_step):
                    kind = plan.steps[index]
                    place = place + kind if kind >= 0 else self.skip(place, kind)
                position = self._read_sibling(place, 0, plan.sibling_width)
            else:
                position = self.skip_attributes(plan, position)
                depth += 1
            while depth:
                child = self.enter(position)
                position = self.next_position
                if child is not None:
                    plan = child
                    break
                depth -= 1
            if not depth:
                return position

    def _read_sibling(self, position: int, reference_at: int, width: int) -> int:
        """Return the sibling to which a reference at `position + at` points."""
        sibling = self.number(position + reference_at, width)
        if sibling > self.end - self.offset or self.offset + sibling <= position:
            raise DwarfError("DW_AT_sibling points backwards or outside", position)
        return self.offset + sibling

    def children(self, plan: Plan, position: int) -> Iterator[tuple[Plan, Values, int]]:
        """Yield the plan, the attributes and their end of each child of an entry."""
        while plan.has_children:
            child, position = self.entry(position)
            if child is None:
                return
            values, position = self.read(child, position)
            yield child, values, position
            position = self.skip_children(child, values, position)

    def text(self, plan: Plan, values: Values, number: int) -> str | None:
        """Return the string of an attribute; None without the attribute. Raises DwarfError."""
        value = values.get(number)
        if value is None:
            return None
        form = plan.forms.get(number, forms.IMPLICIT)  # a constant of the abbreviation is no string
        if form == forms.STRING and isinstance(value, bytes):
            return value.decode(errors="replace")
        if isinstance(value, bytes):
            value = int.from_bytes(value, self.index.order)
        return self.string(form, value)

    def string(self, form: int, value: int) -> str:
        """Return the string that a number of a form refers to. Raises DwarfError."""
        if form == forms.STRP:
            return self.sections.text(value)
        if form in forms.STRX:
            return self.sections.text(self.string_offset(value))
        if form == forms.LINE_STRP:
            return string(self.sections.line_strings, value, ".debug_line_str")
        if form in forms.STR_ELSEWHERE:
            return self.index.supplement.sections.text(value)
        raise DwarfError(f"a name of form {form:#x}")

    @property
    def string_table(self) -> tuple[int, int]:
        """The start and the largest possible end of the unit's part of .debug_str_offsets."""
        if self._string_table is None:
            self._string_table = self._find_string_table()
        return self._string_table

    def _find_string_table(self) -> tuple[int, int]:
        data, width = self.sections.string_offsets, self.shape.offset_size
        start = self.root[1].get(_STR_OFFSETS_BASE, 0 if self.shape.version < 5 else 2 * width)
        if not isinstance(start, int) or start > len(data):
            raise DwarfError("DW_AT_str_offsets_base is outside .debug_str_offsets", self.first)
        if self.part is not None:
            first, end = self.part.strings or (0, 0)
            return first + start, min(end, len(data))
        if self.shape.version < 5:
            return start, len(data)
        # A length, a version and padding precede the table (DWARF 5, section 7.26).
        length = int.from_bytes(data[max(0, start - 4 - width) : max(0, start - 4)], self.index.order)
        return start, min(len(data), start - 4 + length)

    def string_offset(self, number: int) -> int:
        """Return the position in .debug_str of the string with an index. Raises DwarfError."""
        start, end = self.string_table
        position = start + number * self.shape.offset_size
        if position + self.shape.offset_size > end:
            raise DwarfError(f"string number {number} is outside .debug_str_offsets")
        return int.from_bytes(
            self.sections.string_offsets[position : position + self.shape.offset_size], self.index.order
        )

    def reference(self, plan: Plan, values: Values, number: int) -> tuple[Unit, int] | None:
        """Return the unit and position that an attribute refers to; None without the attribute."""
        value = values.get(number)
        if value is None:
            return None
        form = plan.forms.get(number)
        if not isinstance(value, int) or form is None:
            raise DwarfError("a reference that is none")
        return self.refer(form, value)

    def refer(self, form: int, value: int) -> tuple[Unit, int]:
        """Return the unit and position that a reference of a form points to. Raises DwarfError."""
        if form in forms.REF_UNIT:
            if value > self.size:
                raise DwarfError("a reference leaves its unit")
            return self, self.offset + value
        if form == forms.REF_ADDR:
            unit, position = self.index.unit_at(value), value
        elif form == forms.REF_SIG8:
            unit, position = self.index.find_type(value)
        elif form in forms.REF_ELSEWHERE:
            unit, position = self.index.supplement.unit_at(value), value
        else:
            raise DwarfError(f"a reference of form {form:#x}")
        unit.is_shared = unit.is_shared or unit is not self
        if unit.home is None and form != forms.REF_SIG8:
            unit.home = self.comp_dir
        return unit, position

    def forget(self) -> None:
        """Drop what was remembered, unless other units refer to this one."""
        if not self.is_shared:
            self.spellings.clear()
            self._paths = {None: None}
            self.imports.clear()
            self._files = self._table = self._string_table = self._root = self._name = None
