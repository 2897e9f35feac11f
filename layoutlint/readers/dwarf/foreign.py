"""Structs of units in other languages: whether they are laid out like the C structs of their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Final

from layoutlint.model.record import Record, field
from layoutlint.model.structs import Field
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.forms import DAMAGE, DwarfError
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values
from layoutlint.readers.dwarf.types import spelling
from layoutlint.readers.dwarf.types.decoder import DECLARATION, read_alignment
from layoutlint.readers.dwarf.types.spelling import BYTE_SIZE, KEYWORDS, SIGNATURE, TYPE

_MEMBER: Final = tag("member")
_BASE_CLASS: Final = tag("inheritance")
_OF_OTHERS: Final = frozenset((_BASE_CLASS, tag("variant_part")))
"""Parts of structs that C does not have."""
_ADDRESSES: Final = frozenset(
    (spelling.POINTER, tag("reference_type"), tag("rvalue_reference_type"), spelling.FUNCTION)
)
_EXTERNAL: Final = attribute("external")
_LOCATION: Final = attribute("data_member_location")
_BIT_SIZE, _BIT_OFFSET = attribute("bit_size"), attribute("bit_offset")
_DATA_BIT_OFFSET: Final = attribute("data_bit_offset")
_OWN_SUFFIXES: Final = (
    *(".rs", ".cc", ".cpp", ".cxx", ".C", ".hpp", ".hh", ".go", ".zig", ".d", ".f90", ".adb"),
)
"""Files that no unit in C shares."""

_PLACEHOLDERS: Final = frozenset(("_unused", "_address"))
"""The fields of what bindgen makes of a struct that C only declares."""
_Member = tuple[str | None, int, int | None, tuple["_Member", ...]]
"""Name, offset and size in bits, and the members of its type."""


class ForeignStruct(Record, frozen=True, order=True):
    """A struct in a unit that is not in C."""

    name: str
    """The wanted name; for a container, that of the struct in it."""
    place: str
    layout: str = ""
    """Its layout, as `describe_layout` returns it; empty if no C struct is like it."""
    binding: tuple[int, tuple[tuple[str, int], ...]] | None = None
    """Of a struct of Rust its size, and its fields with their offsets, in bits. It can be a binding for a C
    struct, and has no place."""
    container: str = ""
    """The struct that embeds it; empty if this is a definition of the name itself."""


class KnownLayouts(Record, frozen=True):
    """The C structs that were read."""

    layouts: frozenset[tuple[str, str, str]] = frozenset()
    """Their names, places and layouts (`describe_layout`)."""
    fields: dict[str, list[tuple[int | None, frozenset[tuple[str, int]]]]] = field(default_factory=dict)
    """The sizes and the whole fields with their offsets, in bits, of all structs of a name."""

    def has(self, struct: ForeignStruct) -> bool:
        """Return whether a struct of another language is one of these, with the same layout."""
        if struct.binding is None:
            return (struct.name, struct.place, struct.layout) in self.layouts
        size, fields = struct.binding
        if _PLACEHOLDERS.issuperset(name for name, _ in fields):
            return True  # a declaration
        own = frozenset((name.removesuffix("_"), offset) for name, offset in fields)
        return any(
            size == known and whole <= own for known, whole in self.fields.get(struct.name, ())
        )


def whole_fields(fields: tuple[Field, ...]) -> frozenset[tuple[str, int]]:
    """Return the fields that bindings for Rust have (keywords get a `_`), with their offsets in bits."""
    named = ((field.name, field) for field in fields)
    return frozenset(
        (name.removesuffix("_"), field.bit_offset) for name, field in named if name and not field.is_bitfield
    )


def _binding_of(unit: Unit, position: int) -> tuple[int, tuple[tuple[str, int], ...]] | None:
    """Return the size and the fields of a struct of Rust; None if C has no such struct. Raises DAMAGE."""
    plan, values, end = _entry(unit, position)
    size, fields = values.get(BYTE_SIZE), []
    for child, attributes, _ in unit.children(plan, end):
        location, name = attributes.get(_LOCATION, 0), unit.text(child, attributes, NAME)
        if child.tag in _OF_OTHERS or not isinstance(location, int):
            return None
        if child.tag == _MEMBER and name is not None:
            fields.append((name, 8 * location))
    return (8 * size, tuple(fields)) if isinstance(size, int) else None


def describe_layout(bit_size: int | None, align: int | None, fields: tuple[Field, ...]) -> str:
    """Return a text that is the same for structs of the same layout, whatever their language."""
    return _digest(bit_size, align, _members_of(fields))


def _members_of(fields: Iterable[Field]) -> tuple[_Member, ...]:
    return tuple(
        (field.name, field.bit_offset, field.bit_size, _members_of(field.members)) for field in fields
    )


def _digest(bit_size: int | None, align: int | None, members: tuple[_Member, ...]) -> str:
    from hashlib import sha256  # loads OpenSSL, for files with units in other languages

    return sha256(repr((bit_size, align, members)).encode()).hexdigest()


class _OtherLanguage(Exception):
    """Raised for what C does not have."""


def describe(name: str, place: str, unit: Unit, position: int) -> ForeignStruct:
    """Return the struct at a position, which has a wanted name. Raises DAMAGE."""
    binding = _binding_of(unit, position) if unit.language == "Rust" else None
    return ForeignStruct(name, place, _layout_of(unit, position, place), binding)


def _layout_of(unit: Unit, position: int, place: str) -> str:
    """Return the layout of the struct at a position like `describe_layout`; empty if C has no such struct."""
    if place.rpartition(":")[0].endswith(_OWN_SUFFIXES):
        return ""
    try:
        plan, values, end = _entry(unit, position)
        size = values.get(BYTE_SIZE)
        bits = 8 * size if isinstance(size, int) else None
        return _digest(bits, read_alignment(values), tuple(_members(unit, plan, end, 0)))
    except (_OtherLanguage, *DAMAGE):
        return ""


def contained_names(unit: Unit, position: int) -> Iterator[str]:
    """Yield the names of the structs in a type by value, at any depth, also those of other units.

    Raises DAMAGE.
    """
    pending, seen = [(unit, position, False)], set[tuple[Unit, int]]()
    while pending:
        unit, position, is_inside = pending.pop()
        if (unit, position) in seen:
            continue
        seen.add((unit, position))
        plan, values, end = _entry(unit, position)
        is_struct = plan.tag in KEYWORDS
        is_derived = plan.tag in (spelling.TYPEDEF, spelling.ARRAY) or plan.tag in spelling.QUALIFIERS
        if not (is_struct or is_derived):
            continue
        name = unit.text(plan, values, NAME)
        if name is not None and is_inside:
            yield name
        target = unit.reference(plan, values, SIGNATURE if is_struct else TYPE)
        if target is not None:
            pending.append((*target, is_inside or not is_struct))
        for child, attributes, _ in unit.children(plan, end) if is_struct else ():
            inner = unit.reference(child, attributes, TYPE) if child.tag in (_MEMBER, _BASE_CLASS) else None
            if inner is not None and _EXTERNAL not in attributes:
                pending.append((*inner, True))


def _entry(unit: Unit, position: int) -> tuple[Plan, Values, int]:
    plan, start = unit.entry(position)
    if plan is None:
        raise DwarfError("a type that is none", position)
    values, end = unit.read(plan, start)
    return plan, values, end


def _members(unit: Unit, plan: Plan, end: int, depth: int) -> Iterator[_Member]:
    """Yield the members of a struct whose attributes end at `end`. Raises _OtherLanguage and DAMAGE."""
    is_union = plan.tag == spelling.UNION
    for child, values, _ in unit.children(plan, end):
        if child.tag in _OF_OTHERS:
            raise _OtherLanguage
        if child.tag != _MEMBER or _EXTERNAL in values:
            continue
        target = unit.reference(child, values, TYPE)
        if target is None:
            raise _OtherLanguage
        size, members = _type(*target, depth + 1)
        name, bits = unit.text(child, values, NAME), values.get(_BIT_SIZE)
        if name is None and (bits is not None or not members):
            continue
        offset = 0 if is_union else _offset(unit, values, size)
        yield name, offset, bits if isinstance(bits, int) else size, members


def _offset(unit: Unit, values: Values, size: int | None) -> int:
    """Return the offset of a member in bits."""
    start, location = values.get(_DATA_BIT_OFFSET), values.get(_LOCATION, 0)
    if isinstance(start, int):
        return start
    bits, offset = values.get(_BIT_SIZE), values.get(_BIT_OFFSET, 0)
    if not (isinstance(location, int) and isinstance(offset, int)):
        raise _OtherLanguage
    if not isinstance(bits, int):
        return 8 * location
    storage = values.get(BYTE_SIZE, (size or 0) // 8)
    if not isinstance(storage, int) or offset > 8 * storage:
        raise _OtherLanguage
    return 8 * location + (8 * storage - offset - bits if unit.is_little else offset)


def _type(unit: Unit, position: int, depth: int) -> tuple[int | None, tuple[_Member, ...]]:
    """Return the size of a type in bits, and its members, or those of its elements."""
    if depth > spelling.DEEPEST:
        raise _OtherLanguage
    plan, values, end = _entry(unit, position)
    target = unit.reference(plan, values, SIGNATURE if plan.tag in KEYWORDS else TYPE)
    size = values.get(BYTE_SIZE)
    if plan.tag in KEYWORDS:
        if target is not None:
            return _type(*target, depth + 1)
        if DECLARATION in values or not isinstance(size, int):
            raise _OtherLanguage
        return 8 * size, tuple(_members(unit, plan, end, depth))
    if plan.tag == spelling.TYPEDEF or plan.tag in spelling.QUALIFIERS:
        if target is None:
            raise _OtherLanguage
        return _type(*target, depth + 1)
    if plan.tag == spelling.ARRAY and target is not None and not isinstance(size, int):
        element, members = _type(*target, depth + 1)
        counts = spelling.dimensions(unit, plan, end)
        return None if element is None else element * prod(count or 0 for count in counts), members
    if plan.tag in _ADDRESSES and not isinstance(size, int):
        size = unit.shape.address_size
    if not isinstance(size, int):
        raise _OtherLanguage
    return 8 * size, ()
