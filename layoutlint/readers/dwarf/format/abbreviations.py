"""Abbreviation tables, turned into plans: what to skip, and where the interesting attributes stand."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal

from layoutlint.readers.dwarf.format import forms, type_recipe
from layoutlint.readers.dwarf.format.constants import at, tag
from layoutlint.readers.dwarf.format.cursor import Cursor
from layoutlint.readers.dwarf.format.forms import Damaged, sleb
from layoutlint.readers.dwarf.format.type_recipe import Pair, Recipe

_LARGEST_TAG = 0xFFFF
"""DW_TAG_hi_user."""
_LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q", 3: "3s", 16: "16s"}

OTHER, AGGREGATE, TYPEDEF, IMPORT = 0, 1, 2, 3
"""What the scan does with an entry: steps over it, looks at its name, or remembers it."""

# Variables of C where this is compiled.
_NAME = at("name")
_SIBLING = at("sibling")
_TYPE = at("type")
_STRING = forms.STRING
_IMPLICIT = forms.IMPLICIT
_PRESENT = forms.PRESENT
_INDIRECT = forms.INDIRECT
_ADDRX_OFFSET = forms.ADDRX_OFFSET
_MOST_DIRECT: Final = 1 << 8
"""Combinations of forms remembered for one abbreviation."""
_DECLARATION: Final = at("declaration")
_QUALIFIERS: Final = frozenset(
    (tag("const_type"), tag("volatile_type"), tag("atomic_type"), *type_recipe.TRANSPARENT)
)
_IMPORTED: Final = tag("imported_unit")
_SCOPES: Final = frozenset((tag("subprogram"), tag("lexical_block")))
_ABSTRACT_ORIGIN: Final = at("abstract_origin")
_KINDS: Final = {tag("structure_type"): AGGREGATE, tag("union_type"): AGGREGATE, tag("typedef"): TYPEDEF}

Part = tuple[struct.Struct | None, tuple[int, ...], int]
"""A run of fixed attributes (its decoder and their numbers), or None, one number and its form."""


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
        """Attributes whose value stands in the abbreviation."""
        self.forms = {number: form for number, form, _ in pairs}
        self.size = 0
        """Bytes of all attributes when that is fixed, else -1."""
        self.rest = self.rest_type_at = -1
        """Bytes of all attributes, behind a name that stands first as text, when these are of fixed length
        and there are no children; else -1. Where the type stands in them, when that is a plain number."""
        kind = _KINDS.get(entry_tag, OTHER)
        self.leads_on = _NAME not in self.forms and (kind == AGGREGATE or entry_tag in _QUALIFIERS)
        """Whether a typedef that stands for this may name an anonymous struct."""
        self.kind = kind if _NAME in self.forms else OTHER
        self.role = type_recipe.role(entry_tag)
        if entry_tag == _IMPORTED:
            self.kind = IMPORT
        self.name_at = self.sibling_at = self.type_at = -1
        """Where the attribute stands when that is fixed and it is a plain number, else -1."""
        self.text_at = -1
        """Where the name stands when that is fixed and it is text in the entry itself, else -1."""
        self.name_width = self.sibling_width = 0
        self.is_indexed = self.forms.get(_NAME) in forms.STRX
        """Whether the name is a number of .debug_str_offsets."""
        self.is_scope = has_children and entry_tag in _SCOPES and _ABSTRACT_ORIGIN not in self.forms
        """Whether structs can be declared inside: in a function or block, and not in a copy of one."""
        self.has_signature = forms.REF_SIG8 in self.forms.values()
        """Whether it refers to a type unit."""
        self._find(pairs)
        if not has_children:
            self._find_rest(pairs)
        self.steps: list[int] = []
        """Bytes to skip, or SKIP codes, to get behind the attributes."""
        self.sibling_step = -1
        """How many of `steps` lie before the sibling, when it stands at no fixed place."""
        self._walk(pairs)
        self.opens = int(has_children and self.sibling_at < 0 and self.sibling_step < 0)
        """1 when the entry behind this one is its first child, for want of a sibling."""
        self.quick = -1 if has_children or self.kind != OTHER else self.size
        """Bytes to the next entry for one of no interest that has no children; else -1."""
        self.pairs = pairs
        self.is_indirect = any(form == _INDIRECT for _, form, _ in pairs)
        """Whether entries state forms of their own (DW_FORM_indirect); `direct` then gives their plan."""
        self._direct: dict[tuple[object, ...], Plan] = {}
        self._is_little = is_little
        self._parts: tuple[Part, ...] | None = None
        self.recipe: Recipe | None = None
        """What of an entry makes its shape; None until it is asked for."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The decoders that together give all attributes."""
        if self._parts is None:
            self._parts = _parts_of(self.pairs, self._is_little)
        return self._parts

    def cook(self) -> Recipe:
        """What of an entry makes its shape."""
        if self.recipe is None:
            self.recipe = type_recipe.of(self.tag, self.pairs, self.constants)
        return self.recipe

    def direct(self, pairs: list[Pair], constants: dict[int, int]) -> Plan:
        """Return the plan of entries whose own forms are among these attributes and constants."""
        key = tuple(pairs), tuple(constants)
        plan = self._direct.get(key)
        if plan is None:
            if len(self._direct) >= _MOST_DIRECT:
                self._direct.clear()
            plan = self._direct[key] = Plan(self.tag, self.has_children, pairs, constants, self._is_little)
        return plan

    @property
    def is_declaration(self) -> bool:
        """Whether entries of this shape are only declared."""
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
        """What stands behind a name that stands first as text, or from the start where none does."""
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
    """Add an attribute whose form is known. Raises Damaged."""
    if form == _PRESENT:
        constants[number] = 1
    elif form == _IMPLICIT:
        raise Damaged("DW_FORM_implicit_const in an entry, which has no place for its value")
    elif form == _ADDRX_OFFSET:  # a number and four bytes: of addresses only
        pairs += [(number, forms.ADDRX, forms.SKIP_ULEB), (0, forms.DATA4, 4)]
    else:
        pairs.append((number, form, forms.step(form, shape.version, shape.offset_size, shape.address_size)))


def _parts_of(pairs: list[Pair], little_endian: bool) -> tuple[Part, ...]:
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


def read(data: bytes, shape: Format) -> Plan:
    """The plan of an abbreviation, from its tag to the zeros that end it. Raises Damaged."""
    cursor = Cursor(data, shape.little_endian)
    entry_tag = cursor.uleb(0)
    has_children = data[cursor.behind] != 0
    position = cursor.behind + 1
    pairs: list[Pair] = []
    constants: dict[int, int] = {}
    while True:
        number = cursor.uleb(position)
        form = cursor.uleb(cursor.behind)
        position = cursor.behind
        if form == _IMPLICIT:
            constants[number], position = sleb(data, position)
        elif form == _INDIRECT:
            pairs.append((number, form, forms.SKIP_INDIRECT))
        elif number == 0 and form == 0:
            break
        else:
            add(number, form, shape, pairs, constants)
    if entry_tag > _LARGEST_TAG:
        raise Damaged(f"the tag {entry_tag:#x} is not believed")
    return Plan(entry_tag, has_children, pairs, constants, shape.little_endian)
