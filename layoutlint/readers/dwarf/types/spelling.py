"""Types of DWARF entries: their spellings, the lengths of their arrays, and the decoded `Type`."""

from __future__ import annotations

from typing import Final

from layoutlint.model.ctype import UNTAGGED, CType, add_qualifier, array_of, function_of, pointer_to
from layoutlint.model.structs import Aggregate, Field
from layoutlint.readers import scalars
from layoutlint.readers.dwarf.format import type_recipe
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.forms import REFERENCES, DwarfError
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values
from layoutlint.readers.dwarf.types.fixed_fields import FixedFieldsTable

DEEPEST: Final = 100
"""Longer chains of types that refer to one another form a circle."""

TYPE: Final = attribute("type")
BYTE_SIZE: Final = attribute("byte_size")
ALIGNMENT: Final = attribute("alignment")
SIGNATURE: Final = attribute("signature")
_COUNT: Final = attribute("count")
_UPPER_BOUND: Final = attribute("upper_bound")
_LOWER_BOUND: Final = attribute("lower_bound")
_PROTOTYPED: Final = attribute("prototyped")
GNU_VECTOR: Final = attribute("GNU_vector")

STRUCT: Final = tag("structure_type")
CLASS: Final = tag("class_type")
UNION: Final = tag("union_type")
TYPEDEF: Final = tag("typedef")
BASE: Final = tag("base_type")
ENUM: Final = tag("enumeration_type")
POINTER: Final = tag("pointer_type")
ARRAY: Final = tag("array_type")
_SUBRANGE: Final = tag("subrange_type")
FUNCTION: Final = tag("subroutine_type")
# Variables of C if this is compiled; names that other modules import are objects.
_FUNCTION = FUNCTION
_TYPEDEF = TYPEDEF
_DERIVED = type_recipe.DERIVED
ATOMIC: Final = tag("atomic_type")
_PARAMETER: Final = tag("formal_parameter")
_MORE: Final = tag("unspecified_parameters")
UNSPECIFIED: Final = tag("unspecified_type")
QUALIFIERS: Final = {
    tag("const_type"): "const",
    tag("volatile_type"): "volatile",
    tag("restrict_type"): "restrict",
    ATOMIC: "_Atomic",
    **dict.fromkeys(type_recipe.TRANSPARENT, ""),
}
KEYWORDS: Final[dict[int, Aggregate]] = {STRUCT: "struct", CLASS: "struct", UNION: "union"}
_TAG_KEYWORDS: Final = {STRUCT: "struct", UNION: "union", ENUM: "enum"}
_LONGEST: Final = 1 << 14
"""Characters of a type's spelling; types that repeat one another can need more than any memory has."""
COMPUTED: Final = -1
"""Stands for an array length that is an expression or a variable."""
_MINUS_ONE: Final = (1 << 64) - 1
"""-1 in a form of eight bytes; no array has so many elements."""
_ALL_ONES: Final = (0xFF, 0xFFFF, 0xFFFFFFFF)

_BASES: Final = {
    **scalars.GCC_NAMES,
    "complex": "complex double",
    "_Complex float": "complex float",
    "_Complex double": "complex double",
    "_Complex long double": "complex long double",
}  # fmt: skip


def spell_tag(keyword: str, name: str | None) -> CType:
    """Return the spelling of a struct, union or enum."""
    return CType(f"{keyword} {name}" if name is not None else f"{keyword} {UNTAGGED}")


def dimensions(unit: Unit, plan: Plan, end: int) -> tuple[int | None, ...]:
    """Return the lengths of an array, outermost first:

    None for a flexible one, COMPUTED for a variable one.
    """
    return tuple(
        _length(unit, child, values)
        for child, values, _ in unit.children(plan, end)
        if child.tag == _SUBRANGE
    )


def _length(unit: Unit, plan: Plan, values: Values) -> int | None:
    """Return the number of elements that a dimension states (DWARF 5, section 5.13)."""
    for number in (_COUNT, _UPPER_BOUND):
        value = values.get(number)
        if value is None:
            continue
        if isinstance(value, bytes) or plan.forms.get(number) in REFERENCES:
            return COMPUTED
        if number == _COUNT:
            return None if value in (-1, _MINUS_ONE) else max(0, value)
        lower = values.get(_LOWER_BOUND, 0)
        if not isinstance(lower, int):
            return COMPUTED
        return max(0, _array_bound(unit, plan, values, value) + 1 - _array_bound(unit, plan, values, lower))
    return None


def _array_bound(unit: Unit, plan: Plan, values: Values, value: int) -> int:
    """Return a bound of an array, which a form of no stated sign can hold (DWARF 5, section 7.5.5).

    GCC writes a bound as an unsigned number as wide as its type, and up to GCC 7 gave `[0]` the upper bound
    -1: all ones in the width of an address. In a narrower form these bits are a large number. Raises
    DwarfError if they can be either.
    """
    address_bits = 8 * unit.shape.address_size
    if value in (_MINUS_ONE, (1 << address_bits) - 1):
        return -1
    if value in _ALL_ONES and plan.forms.get(TYPE) is not None:
        index = unit.reference(plan, values, TYPE)
        size = None if index is None else _byte_size(*index)
        if size is not None and value == (1 << 8 * size) - 1:
            raise DwarfError(f"an array bound of {value:#x}, which can be -1 in an index of {size} bytes")
    return value


def _byte_size(unit: Unit, position: int) -> int | None:
    """Return the size in bytes that the entry at a position states. Raises DwarfError."""
    plan, start = unit.entry(position)
    size = None if plan is None else unit.read(plan, start)[0].get(BYTE_SIZE)
    return size if isinstance(size, int) else None


def _has(plan: Plan, number: int) -> bool:
    """Return whether the entries of an abbreviation have an attribute."""
    return number in plan.forms or number in plan.constants


class Type:
    """The type of a field; equal ones are the same object, so identity compares them."""

    def __init__(
        self, spelling: CType, bit_size: int | None, align: int | None, aggregate: Aggregate | None,
        dims: tuple[int | None, ...], members: tuple[Field, ...], field_count: int, calls: bool,
        stands_for: tuple[CType, ...], possible: int, plain_align: int, flexible_bits: int | None,
    ) -> None:  # fmt: skip
        self.spelling = spelling
        self.bit_size = bit_size
        self.align = align
        self.aggregate = aggregate
        self.dims = dims
        self.members = members
        self.field_count = field_count
        """Fields at all depths."""
        self.calls = calls
        """Whether it, or the element of an array, is a pointer to a function."""
        self.stands_for = stands_for
        """The types of which it, or the element of an array, is a typedef; equal types have those of the
        first."""
        self.possible = possible
        """The possible alignments, as `Field.possible`."""
        self.plain_align = plain_align
        """The alignment without that stated by a typedef; 0 if none states one."""
        self.flexible_bits = flexible_bits
        """As `Field.flexible_bits`."""


class Spelling:
    """Spells the types of a file. Pointees stay unopened, so a spelling ends with the first name."""

    def __init__(self) -> None:
        self.fixed_fields = FixedFieldsTable()

    def spell_target(self, unit: Unit, plan: Plan, start: int, depth: int) -> CType:
        """Return the spelling of an entry's DW_AT_type; `void` without one. Raises DwarfError."""
        fixed = self.fixed_fields.find(unit, plan)
        if fixed.is_plain:
            if fixed.type_at < 0:
                return CType("void")
            return self.spell(unit, fixed.target(unit, fixed.start(unit, start)), depth)
        target = unit.reference(plan, unit.read(plan, start)[0], TYPE)
        return CType("void") if target is None else self.spell(*target, depth)

    def spell(self, unit: Unit, position: int, depth: int = 0) -> CType:
        """Return the spelling of the type at a position. Raises DwarfError."""
        ctype = unit.spellings.get(position)
        if ctype is None:
            if depth > DEEPEST:
                raise DwarfError("types refer to one another in a circle", position)
            plan = unit.enter(position)
            if plan is None:
                raise DwarfError("a type that is none", position)
            ctype = self._spell_entry(unit, plan, unit.next_position, depth + 1)
            if len(ctype.left) + len(ctype.right) > _LONGEST:
                raise DwarfError(f"a type whose spelling is longer than {_LONGEST} characters", position)
            unit.spellings[position] = ctype
        return ctype

    def _spell_entry(self, unit: Unit, plan: Plan, start: int, depth: int) -> CType:
        kind = plan.tag
        if kind == POINTER:
            return pointer_to(self.spell_target(unit, plan, start, depth))
        if kind in QUALIFIERS:
            inner = self.spell_target(unit, plan, start, depth)
            return add_qualifier(inner, QUALIFIERS[kind]) if QUALIFIERS[kind] else inner
        if kind == ARRAY:
            return self._spell_array(unit, plan, start, depth)
        if kind == FUNCTION:
            return function_of(
                self.spell_target(unit, plan, start, depth), self._spell_parameters(unit, plan, start, depth)
            )
        return self._spell_named(unit, plan, start, depth)

    def _spell_named(self, unit: Unit, plan: Plan, start: int, depth: int) -> CType:
        """Return the spelling of a type that has a name, or can have one."""
        kind = plan.tag
        fixed = self.fixed_fields.find(unit, plan)
        if fixed.is_plain:
            name = fixed.name(unit, start, fixed.start(unit, start))
        else:
            values, _ = unit.read(plan, start)
            name = unit.text(plan, values, NAME)
            signature_target = (
                unit.reference(plan, values, SIGNATURE) if name is None and kind in _TAG_KEYWORDS else None
            )
            if signature_target is not None:
                return self.spell(*signature_target, depth)
        if kind in _TAG_KEYWORDS:
            return spell_tag(_TAG_KEYWORDS[kind], name)
        if kind == BASE:
            return CType(_BASES.get(name or "", name or "??"))
        if kind in (TYPEDEF, UNSPECIFIED) and name is not None:
            return CType(name)
        raise DwarfError(f"an entry with tag {kind:#x} where a type is expected", start)

    def _spell_array(self, unit: Unit, plan: Plan, start: int, depth: int) -> CType:
        ctype = self.spell_target(unit, plan, start, depth)
        counts = dimensions(unit, plan, unit.skip_attributes(plan, start))
        if _has(plan, GNU_VECTOR) and counts:
            return CType(f"__attribute__((__vector_size__({counts[0]} * sizeof({ctype})))) {ctype}")
        for count in reversed(counts):
            ctype = array_of(ctype, None if count == COMPUTED else count)
        return ctype

    def _spell_parameters(self, unit: Unit, plan: Plan, start: int, depth: int) -> tuple[str, ...]:
        parameters: list[str] = []
        position = unit.skip_attributes(plan, start)
        while plan.has_children:
            child = unit.enter(position)
            if child is None:
                break
            inner = unit.next_position
            if child.tag == _PARAMETER:
                parameters.append(str(self.spell_target(unit, child, inner, depth)))
            elif child.tag == _MORE:
                parameters.append("...")
            position = unit.skip_entry(child, inner)
        if _has(plan, _PROTOTYPED):
            return tuple(parameters) or ("void",)
        return () if parameters == ["..."] else tuple(parameters)


def is_function(unit: Unit, position: int) -> bool:
    """Return whether the pointer or typedef at a position refers to a function, also through typedefs.

    Raises DwarfError.
    """
    for count in range(DEEPEST):
        plan = unit.enter(position)
        if plan is None or plan.tag == _FUNCTION:
            return plan is not None
        if count and plan.tag != _TYPEDEF and (plan.role != _DERIVED or plan.tag not in QUALIFIERS):
            return False
        if plan.type_at >= 0:
            position = unit.offset + unit.number(unit.next_position + plan.type_at, 4)
            continue
        target = (
            unit.reference(plan, unit.read(plan, unit.next_position)[0], TYPE) if _has(plan, TYPE) else None
        )
        if target is None:
            return False
        unit, position = target
    raise DwarfError("types refer to one another in a circle", position)
