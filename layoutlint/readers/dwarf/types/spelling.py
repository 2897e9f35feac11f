"""Types of DWARF entries: what they are, how they are spelled, how long their arrays are."""

from __future__ import annotations

from typing import Final

from layoutlint.model.ctype import CType, array_of, function_of, pointer_to, qualified
from layoutlint.model.structs import Aggregate, Field
from layoutlint.readers import scalars
from layoutlint.readers.dwarf.format import type_recipe
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.constants import at, tag
from layoutlint.readers.dwarf.format.forms import REFERENCES, Damaged
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values
from layoutlint.readers.dwarf.types.fixed_fields import Plains

DEEPEST: Final = 100
"""Types that refer to one another further than this go in a circle."""

TYPE: Final = at("type")
BYTE_SIZE: Final = at("byte_size")
ALIGNMENT: Final = at("alignment")
SIGNATURE: Final = at("signature")
_COUNT: Final = at("count")
_UPPER_BOUND: Final = at("upper_bound")
_LOWER_BOUND: Final = at("lower_bound")
_PROTOTYPED: Final = at("prototyped")
GNU_VECTOR: Final = at("GNU_vector")

STRUCT: Final = tag("structure_type")
UNION: Final = tag("union_type")
TYPEDEF: Final = tag("typedef")
BASE: Final = tag("base_type")
ENUM: Final = tag("enumeration_type")
POINTER: Final = tag("pointer_type")
ARRAY: Final = tag("array_type")
_SUBRANGE: Final = tag("subrange_type")
FUNCTION: Final = tag("subroutine_type")
# Variables of C where this is compiled; names that other modules import are objects.
_FUNCTION = FUNCTION
_TYPEDEF = TYPEDEF
_MADE = type_recipe.MADE
ATOMIC: Final = tag("atomic_type")
_PARAMETER: Final = tag("formal_parameter")
_MORE: Final = tag("unspecified_parameters")
_UNSPECIFIED: Final = tag("unspecified_type")
QUALIFIERS: Final = {
    tag("const_type"): "const",
    tag("volatile_type"): "volatile",
    tag("restrict_type"): "restrict",
    ATOMIC: "_Atomic",
    **dict.fromkeys(type_recipe.TRANSPARENT, ""),
}
KEYWORDS: Final[dict[int, Aggregate]] = {STRUCT: "struct", UNION: "union"}
_TAGGED: Final = {STRUCT: "struct", UNION: "union", ENUM: "enum"}
_LONGEST: Final = 1 << 14
"""Characters of a type's spelling; types that repeat one another can need more than any memory has."""
COMPUTED: Final = -1
"""Stands for an array length that is an expression or a variable."""
_MINUS_ONE: Final = (1 << 64) - 1
"""-1 in a form of eight bytes, as no array has so many elements."""
_ALL_ONES: Final = (0xFF, 0xFFFF, 0xFFFFFFFF)

_BASES: Final = {
    **scalars.GCC_NAMES,
    "complex": "complex double",
    "_Complex float": "complex float",
    "_Complex double": "complex double",
    "_Complex long double": "complex long double",
}  # fmt: skip


def tagged(keyword: str, name: str | None) -> CType:
    """The spelling of a struct, union or enum."""
    return CType(f"{keyword} {name}" if name is not None else keyword + " {...}")


def dimensions(unit: Unit, plan: Plan, behind: int) -> tuple[int | None, ...]:
    """Return the lengths of an array, outermost first: None for a flexible one, COMPUTED for a variable one.

    Raises Damaged.
    """
    return tuple(
        _length(unit, child, values)
        for child, values, _ in unit.children(plan, behind)
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
        return max(0, _bound(unit, plan, values, value) + 1 - _bound(unit, plan, values, lower))
    return None


def _bound(unit: Unit, plan: Plan, values: Values, value: int) -> int:
    """Return a bound of an array, which a form of no stated sign can hold (DWARF 5, section 7.5.5).

    GCC writes a bound as an unsigned number as wide as its type, and up to GCC 7 gave `[0]` the upper bound
    -1: all ones in the width of an address. In a narrower form these bits are a large number. Raises Damaged
    where they can be either.
    """
    address_bits = 8 * unit.shape.address_size
    if value in (_MINUS_ONE, (1 << address_bits) - 1):
        return -1
    if value in _ALL_ONES and plan.forms.get(TYPE) is not None:
        index = unit.reference(plan, values, TYPE)
        size = None if index is None else _byte_size(*index)
        if size is not None and value == (1 << 8 * size) - 1:
            raise Damaged(f"an array bound of {value:#x}, which can be -1 in an index of {size} bytes")
    return value


def _byte_size(unit: Unit, position: int) -> int | None:
    """Return the size in bytes that the entry at a position states. Raises Damaged."""
    plan, behind = unit.entry(position)
    size = None if plan is None else unit.read(plan, behind)[0].get(BYTE_SIZE)
    return size if isinstance(size, int) else None


def _has(plan: Plan, number: int) -> bool:
    """Whether the entries of an abbreviation have an attribute."""
    return number in plan.forms or number in plan.constants


class Type:
    """A type as a field can have it; equal ones are the same object, so that identity compares them."""

    def __init__(
        self, spelling: CType, bit_size: int | None, align: int | None, aggregate: Aggregate | None,
        dims: tuple[int | None, ...], members: tuple[Field, ...], field_count: int, calls: bool,
        stands_for: tuple[CType, ...], possible: int, plain: int,
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
        """What it, or the element of an array, is a typedef of; of equal types that of the first."""
        self.possible = possible
        """The alignments that it can have, as `Field.possible`."""
        self.plain = plain
        """The alignment without what a typedef states; 0 where none states one."""


class Spelling:
    """How the types of a file are spelled; pointees are not opened, so that it ends with the first name."""

    def __init__(self) -> None:
        self.plains = Plains()

    def of(self, unit: Unit, plan: Plan, start: int, depth: int) -> CType:
        """The type that an entry's DW_AT_type means; `void` when it has none. Raises Damaged."""
        plain = self.plains.of(unit, plan)
        if plain.is_plain:
            if plain.type_at < 0:
                return CType("void")
            return self.at(unit, plain.target(unit, plain.start(unit, start)), depth)
        target = unit.reference(plan, unit.read(plan, start)[0], TYPE)
        return CType("void") if target is None else self.at(*target, depth)

    def at(self, unit: Unit, position: int, depth: int = 0) -> CType:
        """The spelling of the type at a position. Raises Damaged."""
        known = unit.spellings.get(position)
        if known is None:
            if depth > DEEPEST:
                raise Damaged("types refer to one another in a circle", position)
            plan = unit.enter(position)
            if plan is None:
                raise Damaged("a type that is none", position)
            known = self._spell(unit, plan, unit.behind, depth + 1)
            if len(known.left) + len(known.right) > _LONGEST:
                raise Damaged(f"a type whose spelling is longer than {_LONGEST} characters", position)
            unit.spellings[position] = known
        return known

    def _spell(self, unit: Unit, plan: Plan, start: int, depth: int) -> CType:
        kind = plan.tag
        if kind == POINTER:
            return pointer_to(self.of(unit, plan, start, depth))
        if kind in QUALIFIERS:
            inner = self.of(unit, plan, start, depth)
            return qualified(inner, QUALIFIERS[kind]) if QUALIFIERS[kind] else inner
        if kind == ARRAY:
            return self._array(unit, plan, start, depth)
        if kind == FUNCTION:
            return function_of(self.of(unit, plan, start, depth), self._parameters(unit, plan, start, depth))
        return self._named(unit, plan, start, depth)

    def _named(self, unit: Unit, plan: Plan, start: int, depth: int) -> CType:
        """The spelling of what has a name, or could have."""
        kind = plan.tag
        plain = self.plains.of(unit, plan)
        if plain.is_plain:
            name = plain.name(unit, start, plain.start(unit, start))
        else:
            values, _ = unit.read(plan, start)
            name = unit.text(plan, values, NAME)
            defined = unit.reference(plan, values, SIGNATURE) if name is None and kind in _TAGGED else None
            if defined is not None:
                return self.at(*defined, depth)
        if kind in _TAGGED:
            return tagged(_TAGGED[kind], name)
        if kind == BASE:
            return CType(_BASES.get(name or "", name or "??"))
        if kind in (TYPEDEF, _UNSPECIFIED) and name is not None:
            return CType(name)
        raise Damaged(f"an entry with tag {kind:#x} where a type is expected", start)

    def _array(self, unit: Unit, plan: Plan, start: int, depth: int) -> CType:
        spelled = self.of(unit, plan, start, depth)
        counts = dimensions(unit, plan, unit.over(plan, start))
        if _has(plan, GNU_VECTOR) and counts:
            return CType(f"__attribute__((__vector_size__({counts[0]} * sizeof({spelled})))) {spelled}")
        for count in reversed(counts):
            spelled = array_of(spelled, None if count == COMPUTED else count)
        return spelled

    def _parameters(self, unit: Unit, plan: Plan, start: int, depth: int) -> tuple[str, ...]:
        spelled: list[str] = []
        position = unit.over(plan, start)
        while plan.has_children:
            child = unit.enter(position)
            if child is None:
                break
            inner = unit.behind
            if child.tag == _PARAMETER:
                spelled.append(str(self.of(unit, child, inner, depth)))
            elif child.tag == _MORE:
                spelled.append("...")
            position = unit.past(child, inner)
        if _has(plan, _PROTOTYPED):
            return tuple(spelled) or ("void",)
        return () if spelled == ["..."] else tuple(spelled)


def is_function(unit: Unit, position: int) -> bool:
    """Whether the pointer or typedef at a position means a function, also through typedefs.

    Raises Damaged.
    """
    for count in range(DEEPEST):
        plan = unit.enter(position)
        if plan is None or plan.tag == _FUNCTION:
            return plan is not None
        if count and plan.tag != _TYPEDEF and (plan.role != _MADE or plan.tag not in QUALIFIERS):
            return False
        if plan.type_at >= 0:
            position = unit.offset + unit.number(unit.behind + plan.type_at, 4)
            continue
        target = unit.reference(plan, unit.read(plan, unit.behind)[0], TYPE) if _has(plan, TYPE) else None
        if target is None:
            return False
        unit, position = target
    raise Damaged("types refer to one another in a circle", position)
