"""Abbreviations as plans: how to skip an entry, and the offsets of the attributes that matter."""

from __future__ import annotations

import struct
from typing import Final

from layoutlint.model.record import Record
from layoutlint.readers.dwarf.format import forms, type_recipe
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.cursor import Cursor
from layoutlint.readers.dwarf.format.forms import DwarfError, read_sleb
from layoutlint.readers.dwarf.format.type_recipe import Pair, Recipe

_LARGEST_TAG = 0xFFFF
"""DW_TAG_hi_user."""
_LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q", 3: "3s", 16: "16s"}

OTHER, AGGREGATE, TYPEDEF, IMPORT = 0, 1, 2, 3
"""What the scan does with an entry: skip it, compare its name, or note its position."""

# Variables of C if this is compiled.
_NAME = attribute("name")
_SIBLING = attribute("sibling")
_TYPE = attribute("type")
_STRING = forms.STRING
_IMPLICIT = forms.IMPLICIT
_PRESENT = forms.PRESENT
_INDIRECT = forms.INDIRECT
_ADDRX_OFFSET = forms.ADDRX_OFFSET
_MOST_DIRECT: Final = 1 << 8
"""Combinations of forms remembered for one abbreviation."""
_DECLARATION: Final = attribute("declaration")
_QUALIFIERS: Final = frozenset(
    (tag("const_type"), tag("volatile_type"), tag("atomic_type"), *type_recipe.TRANSPARENT)
)
_IMPORTED: Final = tag("imported_unit")
_SCOPES: Final = frozenset((tag("subprogram"), tag("lexical_block")))
_ABSTRACT_ORIGIN: Final = attribute("abstract_origin")
_KINDS: Final = {
    **dict.fromkeys((tag("structure_type"), tag("class_type"), tag("union_type")), AGGREGATE),
    tag("typedef"): TYPEDEF,
}

AttributeRun = tuple[struct.Struct | None, tuple[int, ...], int]
"""A run of attributes of fixed size (its decoder and their numbers), or None, one number and its form."""


class Format(Record, frozen=True):
    """The properties of a unit on which the sizes of forms depend."""

    version: int
    offset_size: int
    address_size: int
    little_endian: bool


class Plan:
    """One abbreviation; offsets count from the end of an entry's abbreviation code."""

    def __init__(
        self,
        entry_tag: int,
        has_children: bool,
        pairs: list[Pair],
        constants: dict[int, int],
        is_little: bool,
    ) -> None:
        self.tag = entry_tag
        self.has_children = has_children
        self.constants = constants
        """Attributes with their value in the abbreviation."""
        self.forms = {number: form for number, form, _ in pairs}
        self.size = 0
        """Bytes of all attributes if that is fixed, else -1."""
        self.rest = self.rest_type_at = -1
        """The attributes after a name that comes first as text: their bytes, if these are fixed and there
        are no children, and the offset of the type among them, if it is a plain number. Otherwise -1."""
        kind = _KINDS.get(entry_tag, OTHER)
        self.can_name_struct = _NAME not in self.forms and (kind == AGGREGATE or entry_tag in _QUALIFIERS)
        """Whether a typedef of such a type may name an anonymous struct."""
        self.kind = kind if _NAME in self.forms else OTHER
        self.role = type_recipe.role(entry_tag)
        if entry_tag == _IMPORTED:
            self.kind = IMPORT
        self.name_at = self.sibling_at = self.type_at = -1
        """The offset of the attribute if that is fixed and the value is a plain number, else -1."""
        self.text_at = -1
        """The offset of the name if that is fixed and the entry holds the text itself, else -1."""
        self.name_width = self.sibling_width = 0
        self.is_indexed = self.forms.get(_NAME) in forms.STRX
        """Whether the name is an index into .debug_str_offsets."""
        self.is_scope = has_children and entry_tag in _SCOPES and _ABSTRACT_ORIGIN not in self.forms
        """Whether structs can be declared inside: this is a function or block, and not a copy of one."""
        self.has_signature = forms.REF_SIG8 in self.forms.values()
        """Whether it refers to a type unit."""
        self._find(pairs)
        if not has_children:
            self._find_rest(pairs)
        self.steps: list[int] = []
        """Bytes to skip, or SKIP codes, up to the end of the attributes."""
        self.sibling_step = -1
        """How many of `steps` precede the sibling, if its offset is not fixed."""
        self._walk(pairs)
        self.opens = int(has_children and self.sibling_at < 0 and self.sibling_step < 0)
        """1 if the next entry is the first child, because no sibling is stated; else 0."""
        self.skip_size = -1 if has_children or self.kind != OTHER else self.size
        """Bytes to the next entry, if this one is of no interest and has no children; else -1."""
        self.pairs = pairs
        self.is_indirect = any(form == _INDIRECT for _, form, _ in pairs)
        """Whether entries state their forms (DW_FORM_indirect); `with_forms` then returns their plan."""
        self._by_forms: dict[tuple[object, ...], Plan] = {}
        self._is_little = is_little
        self._parts: tuple[AttributeRun, ...] | None = None
        self.recipe: Recipe | None = None
        """How to compute the shape of an entry; None before the first use."""

    @property
    def parts(self) -> tuple[AttributeRun, ...]:
        """The decoders that together read all attributes."""
        if self._parts is None:
            self._parts = _parts_of(self.pairs, self._is_little)
        return self._parts

    def make_recipe(self) -> Recipe:
        """Return how to compute the shape of an entry."""
        if self.recipe is None:
            self.recipe = type_recipe.find_recipe(self.tag, self.pairs, self.constants)
        return self.recipe

    def with_forms(self, pairs: list[Pair], constants: dict[int, int]) -> Plan:
        """Return the plan for entries that state forms: of these attributes and constants."""
        key = tuple(pairs), tuple(constants)
        plan = self._by_forms.get(key)
        if plan is None:
            if len(self._by_forms) >= _MOST_DIRECT:
                self._by_forms.clear()
            plan = self._by_forms[key] = Plan(self.tag, self.has_children, pairs, constants, self._is_little)
        return plan

    @property
    def is_declaration(self) -> bool:
        """Whether entries with this abbreviation are declarations only."""
        return _DECLARATION in self.forms or _DECLARATION in self.constants

    def _find(self, pairs: list[Pair]) -> None:
        offset = 0
        for number, form, width in pairs:
            if number == _NAME and form == _STRING:
                self.text_at = offset
            if width < 0:
                self.size = -1
                return
            if number == _NAME:
                if form == forms.STRP or form in forms.STRX:
                    self.name_at, self.name_width = offset, width
            elif number == _SIBLING:
                self.sibling_at, self.sibling_width = offset, width
            elif number == _TYPE and width == 4 and form in forms.REF_UNIT:
                self.type_at = offset
            offset += width
        self.size = offset

    def _find_rest(self, pairs: list[Pair]) -> None:
        """Find the attributes after a name that comes first as text, or all attributes without one."""
        offset = 0
        for number, form, width in pairs[self.text_at == 0 :]:
            if width < 0:
                self.rest_type_at = -1
                return
            if number == _TYPE and width == 4 and form in forms.REF_UNIT:
                self.rest_type_at = offset
            offset += width
        self.rest = offset

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


def add(number: int, form: int, shape: Format, pairs: list[Pair], constants: dict[int, int]) -> None:
    """Add an attribute with a given form. Raises DwarfError."""
    if form == _PRESENT:
        constants[number] = 1
    elif form == _IMPLICIT:
        raise DwarfError("DW_FORM_implicit_const in an entry, which has no place for its value")
    elif form == _ADDRX_OFFSET:  # an index and four bytes: for addresses only
        pairs += [(number, forms.ADDRX, forms.SKIP_ULEB), (0, forms.DATA4, 4)]
    else:
        pairs.append(
            (number, form, forms.form_size(form, shape.version, shape.offset_size, shape.address_size))
        )


def _parts_of(pairs: list[Pair], little_endian: bool) -> tuple[AttributeRun, ...]:
    """Return the decoders that together read all attributes of an entry."""
    parts: list[AttributeRun] = []
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


def read(data: bytes, shape: Format) -> Plan:
    """Return the plan of an abbreviation, from its tag to the zeros that end it. Raises DwarfError."""
    cursor = Cursor(data, shape.little_endian)
    entry_tag = cursor.uleb(0)
    has_children = data[cursor.next_position] != 0
    position = cursor.next_position + 1
    pairs: list[Pair] = []
    constants: dict[int, int] = {}
    while True:
        number = cursor.uleb(position)
        form = cursor.uleb(cursor.next_position)
        position = cursor.next_position
        if form == _IMPLICIT:
            constants[number], position = read_sleb(data, position)
        elif form == _INDIRECT:
            pairs.append((number, form, forms.SKIP_INDIRECT))
        elif number == 0 and form == 0:
            break
        else:
            add(number, form, shape, pairs, constants)
    if entry_tag > _LARGEST_TAG:
        raise DwarfError(f"the tag {entry_tag:#x} is not believed")
    return Plan(entry_tag, has_children, pairs, constants, shape.little_endian)
