"""Members of structs and unions: where they stand, what they are, where they are declared."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from layoutlint.frozen import dataclass
from layoutlint.model import Aggregate, CType, Field, Source, Target
from layoutlint.readers.dwarf import types
from layoutlint.readers.dwarf.abbrev import Plan
from layoutlint.readers.dwarf.forms import Damaged, uleb
from layoutlint.readers.dwarf.names import at, tag
from layoutlint.readers.dwarf.shapes import DEEPEST, Shapes
from layoutlint.readers.dwarf.types import ALIGNMENT, BYTE_SIZE, KEYWORDS, SIGNATURE, TYPE, Spelling, Type
from layoutlint.readers.dwarf.unit import NAME, Unit, Values

_MEMBER: Final = tag("member")
_BIT_SIZE: Final = at("bit_size")
_BIT_OFFSET: Final = at("bit_offset")
_DATA_BIT_OFFSET: Final = at("data_bit_offset")
_LOCATION: Final = at("data_member_location")
_DECL_FILE: Final = at("decl_file")
_DECL_LINE: Final = at("decl_line")
_ENCODING: Final = at("encoding")
DECLARATION: Final = at("declaration")
_COMPLEX: Final = 3  # DW_ATE_complex_float
_PLUS_UCONST: Final = 0x23
_CONSTU: Final = 0x10
_PLUS: Final = 0x22
_MOST_FIELDS: Final = 1 << 16
"""Fields at all depths of one struct: structs that hold one another twice double them with each type, and the
largest of Linux has 2,800."""


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """What stands between the braces of a struct or union, with the size and alignment of the whole."""

    bit_size: int | None
    align: int | None
    """As the input states it."""
    fields: tuple[Field, ...]
    field_count: int = 0
    """Fields at all depths."""

    def lacks_members(self, aggregate: Aggregate) -> bool:
        """Whether it is a union of some size and of no members."""
        return aggregate == "union" and bool(self.bit_size) and not self.fields

    def problem(self, aggregate: Aggregate) -> str | None:
        """What no compiler lays out so, and the debug information must lack; None if all is well.

        GCC leaves out the members of a union that a typedef makes transparent (`transparent_union`), clang
        the position of a bit-field that is as wide as its type (`packed`).
        """
        if self.lacks_members(aggregate):
            return f"the debug information has none of the members of its {(self.bit_size or 0) // 8} bytes"
        if aggregate == "union":
            return None
        ordered = sorted(self.fields, key=lambda f: (f.bit_offset, f.bit_size or 0))
        for low, high in pairwise(ordered):
            if low.bit_size and high.bit_size and low.bit_offset + low.bit_size > high.bit_offset:
                return f"`{low.name}` and `{high.name}` overlap in the debug information"
        return None


@dataclass(frozen=True, slots=True, eq=False)
class _Member:
    """What a member's entry says, apart from its type."""

    name: str | None
    bit_size: int | None
    file: object
    line: object
    values: Values


class Decoder:
    """Decodes types by value. Equal types and fields of different units become one object."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.spelling = Spelling()
        self.shapes = Shapes()
        self._shaped: dict[int, Type] = {}
        self._laid_out: dict[int, Body] = {}
        self._types: dict[tuple[object, ...], Type] = {}
        self._known: dict[tuple[Plan, bytes, bytes], _Member] = {}
        self._fields: dict[tuple[_Member, Type, int], Field] = {}
        self._placed: dict[tuple[object, ...], Field] = {}
        self._bodies: dict[tuple[object, ...], Body] = {}
        self._sources: dict[tuple[str, object], Source] = {}

    def body(
        self, unit: Unit, position: int, plan: Plan, values: Values, behind: int, depth: int = 0
    ) -> Body:
        """The members of the complete struct or union at a position. Raises Damaged."""
        shape = self.shapes.of(unit, position)
        known = self._laid_out.get(shape)
        if known is None:
            known = self._laid_out[shape] = self._body(unit, plan, values, behind, depth)
        return known

    def _body(self, unit: Unit, plan: Plan, values: Values, behind: int, depth: int) -> Body:
        size = values.get(BYTE_SIZE)
        align = _alignment(values, None)
        if not isinstance(size, int) or size < 0:
            raise Damaged("a struct whose size is no number", behind)
        fields, count = self._members(unit, behind, depth) if plan.has_children else ([], 0)
        key = (size, align, *map(id, fields))
        known = self._bodies.get(key)
        if known is None:
            for member in fields:
                if member.bit_offset < 0 or member.bit_offset + (member.bit_size or 0) > size * 8:
                    raise Damaged(f"member {member.name} stands outside its struct", behind)
            known = self._bodies[key] = Body(size * 8, align, tuple(fields), count)
        return known

    def _members(self, unit: Unit, position: int, depth: int) -> tuple[list[Field], int]:
        """The members up to the closing null entry, and how many fields that makes at all depths."""
        fields: list[Field] = []
        count = 0
        while True:
            plan, start = unit.entry(position)
            if plan is None:
                return fields, count
            if plan.tag == _MEMBER and plan.is_plain:
                position = start + plan.size
                member = self._plain(unit, plan, start)
                target: tuple[Unit, int] | None = unit, unit.referred(start + plan.type_at)
            else:
                values, behind = unit.read(plan, start)
                position = unit.after(plan, values, behind)
                if plan.tag != _MEMBER:
                    continue
                member = _member(unit, plan, values)
                target = unit.reference(plan, values, TYPE)
            if target is None:
                raise Damaged("a member without a type", start)
            kind = self.at(*target, depth)
            field = self._field(unit, member, kind)
            if field is not None:
                fields.append(field)
                count += 1 + kind.field_count
            if count > _MOST_FIELDS:
                raise Damaged(f"a struct with more than {_MOST_FIELDS} fields at all depths", start)

    def _plain(self, unit: Unit, plan: Plan, start: int) -> _Member:
        """A member whose bytes, apart from its type, mean the same in every unit."""
        end, cut = start + plan.size, start + plan.type_at
        if end > unit.end:
            raise Damaged("an entry ends behind its unit", start)
        key = (plan, bytes(unit.data[start:cut]), bytes(unit.data[cut + 4 : end]))
        known = self._known.get(key)
        if known is None:
            values, _ = unit.read(plan, start)
            known = self._known[key] = _member(unit, plan, values)
        return known

    def source(self, unit: Unit, values: Values) -> Source | None:
        """Where an entry is declared; None when it does not say. Raises Damaged."""
        return self._source(unit, values.get(_DECL_FILE), values.get(_DECL_LINE))

    def _source(self, unit: Unit, number: object, line: object) -> Source | None:
        path = unit.path(number)
        if path is None:
            return None
        known = self._sources.get((path, line))
        if known is None:
            known = self._sources[path, line] = Source(path, line if isinstance(line, int) else None)
        return known

    def at(self, unit: Unit, position: int, depth: int = 0) -> Type:
        """The type at a position. Raises Damaged."""
        shape = self.shapes.of(unit, position)
        known = self._shaped.get(shape)
        if known is None:
            if depth > DEEPEST:
                raise Damaged("types contain one another in a circle", position)
            plan, behind = unit.entry(position)
            if plan is None:
                raise Damaged("a type that is none", position)
            values, behind = unit.read(plan, behind)
            known = self._shaped[shape] = self._decode(unit, plan, values, (position, behind), depth + 1)
        return known

    def _decode(self, unit: Unit, plan: Plan, values: Values, where: tuple[int, int], depth: int) -> Type:
        position, behind = where
        kind = plan.tag
        spelled = self.spelling.at(unit, position, depth)
        if kind in KEYWORDS:
            return self._aggregate(unit, plan, values, where, depth)
        if kind == types.TYPEDEF or kind in types.QUALIFIERS:
            return self._renamed(unit, plan, values, spelled, depth)
        if kind == types.ARRAY:
            return self._array(unit, plan, values, (spelled, behind), depth)
        size = values.get(BYTE_SIZE)
        if size is None and kind == types.POINTER:
            size = self.target.pointer_size
        if not isinstance(size, int):
            return self._type(spelled, None, None)
        if size < 0:
            raise Damaged(f"a type of {size} bytes", behind)
        natural = self._natural(size // 2 if values.get(_ENCODING) == _COMPLEX else size)
        return self._type(spelled, size * 8, _alignment(values, natural))

    def _type(
        self, spelled: CType, bit_size: int | None, align: int | None, aggregate: Aggregate | None = None,
        dims: tuple[int | None, ...] = (), members: tuple[Field, ...] = (), count: int = 0,
    ) -> Type:  # fmt: skip
        key = (spelled, bit_size, align, aggregate, dims, *map(id, members))
        known = self._types.get(key)
        if known is None:
            known = self._types[key] = Type(spelled, bit_size, align, aggregate, dims, members, count)
        return known

    def _natural(self, size: int) -> int:
        """The alignment of a scalar: the power of two in its size, at most what the target's ABI gives."""
        return min(size & -size, self.target.max_align) or 1

    def _renamed(self, unit: Unit, plan: Plan, values: Values, spelled: CType, depth: int) -> Type:
        """A typedef, or a qualified type: what it stands for, under its own name and alignment."""
        target = unit.reference(plan, values, TYPE)
        if target is None:
            return self._type(spelled, None, None)
        inner = self.at(*target, depth)
        align = _alignment(values, inner.align)
        return self._type(
            spelled, inner.bit_size, align, inner.aggregate, inner.dims, inner.members, inner.field_count
        )

    def _array(
        self, unit: Unit, plan: Plan, values: Values, shape: tuple[CType, int], depth: int
    ) -> Type:
        spelled, behind = shape
        target = unit.reference(plan, values, TYPE)
        if target is None:
            raise Damaged("an array of nothing", behind)
        element = self.at(*target, depth)
        counts = types.dimensions(unit, plan, behind)
        if types.COMPUTED in counts:
            raise Damaged("an array whose length is computed when the program runs", behind)
        bits = element.bit_size
        for count in counts:
            bits = None if bits is None else bits * (count or 0)
        if types.GNU_VECTOR in values:
            size = values.get(BYTE_SIZE, None if bits is None else bits // 8)
            if not isinstance(size, int) or size < 0:
                raise Damaged("a vector of unknown size", behind)
            return self._type(spelled, size * 8, size & -size)
        return self._type(
            spelled, bits, element.align, element.aggregate, counts + element.dims, element.members,
            element.field_count,
        )  # fmt: skip

    def _aggregate(self, unit: Unit, plan: Plan, values: Values, where: tuple[int, int], depth: int) -> Type:
        """A struct or union by value; one with a signature stands in a type unit."""
        position, behind = where
        spelled = self.spelling.at(unit, position)
        defined = unit.reference(plan, values, SIGNATURE)
        if defined is not None:
            return self.at(*defined, depth)
        keyword = KEYWORDS[plan.tag]
        if DECLARATION in values:
            return self._type(spelled, None, None, keyword)
        body = self.body(unit, position, plan, values, behind, depth)
        align = body.align if body.align is not None else _proven(body)
        return self._type(spelled, body.bit_size, align, keyword, (), body.fields, body.field_count)

    def _field(self, unit: Unit, member: _Member, kind: Type) -> Field | None:
        """A member with its type and place; None for an unnamed bit-field, which is padding."""
        if member.name is None and (member.bit_size is not None or not kind.members):
            return None
        source = self._source(unit, member.file, member.line)
        key = (member, kind, id(source))
        known = self._fields.get(key)
        if known is None:
            is_bitfield = member.bit_size is not None
            byte = _location(member.values)
            offset = byte * 8 + (self._bit_offset(member.values, kind) if is_bitfield else 0)
            size = member.bit_size if is_bitfield else kind.bit_size
            align = None if is_bitfield else _alignment(member.values, kind.align)
            place = (member.name, kind, offset, size, is_bitfield, align, id(source))
            field = Field(
                member.name, kind.spelling, offset, size, is_bitfield, kind.aggregate, kind.dims,
                kind.members, align, source,
            )  # fmt: skip
            known = self._fields[key] = self._placed.setdefault(place, field)
        return known

    def _bit_offset(self, values: Values, kind: Type) -> int:
        """Bits from the member's location to a bit-field (DWARF 5, section 5.7.6; DWARF 3, 5.6.6)."""
        start = values.get(_DATA_BIT_OFFSET)
        if isinstance(start, int):
            return start
        left, bits = values.get(_BIT_OFFSET, 0), values[_BIT_SIZE]
        storage = values.get(BYTE_SIZE, (kind.bit_size or 0) // 8)
        if not (isinstance(left, int) and isinstance(bits, int) and isinstance(storage, int)):
            raise Damaged("the place of a bit-field is no number")
        if left >= 1 << 63:
            left -= 1 << 64  # in a packed struct it may start before its storage
        if self.target.little_endian:
            left = storage * 8 - left - bits
        return left


def _member(unit: Unit, plan: Plan, values: Values) -> _Member:
    bits = values.get(_BIT_SIZE)
    name = unit.text(plan, values, NAME)
    if not isinstance(bits, int | None) or (bits or 0) < 0:
        raise Damaged(f"the size of bit-field {name} is no number")
    return _Member(name, bits, values.get(_DECL_FILE), values.get(_DECL_LINE), values)


def _alignment(values: Values, otherwise: int | None) -> int | None:
    """The alignment that an entry states, else another. Raises Damaged for what is no power of two."""
    align = values.get(ALIGNMENT, otherwise)
    if align is None:
        return None
    if not isinstance(align, int) or align < 1 or align & (align - 1):
        raise Damaged(f"an alignment of {align if isinstance(align, int) else 'no number of'} bytes")
    return align


def _location(values: Values) -> int:
    """The byte at which a member stands: a constant, or up to DWARF 3 an expression that adds one."""
    value = values.get(_LOCATION, 0)
    if isinstance(value, int):
        return value
    if value and value[0] in (_PLUS_UCONST, _CONSTU):
        number, end = uleb(value, 1)
        rest = b"" if value[0] == _PLUS_UCONST else bytes((_PLUS,))
        if value[end:] == rest:
            return number
    raise Damaged(f"a member's location is the expression {value.hex(' ')}")


def _proven(body: Body) -> int:
    """The alignment of an embedded struct: the largest of its members' that their offsets bear out."""
    align = 1
    for member in body.fields:
        if member.align and not member.is_bitfield and member.bit_offset % (member.align * 8) == 0:
            align = max(align, member.align)
    while body.bit_size and body.bit_size % (align * 8):
        align //= 2
    return align


