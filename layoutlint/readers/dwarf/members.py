"""Members of structs and unions: where they stand, what they are, where they are declared."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from layoutlint.ctype import CType
from layoutlint.model import Aggregate, Field, Source, Target
from layoutlint.readers.dwarf import types
from layoutlint.readers.dwarf.abbrev import Plan
from layoutlint.readers.dwarf.forms import Damaged, uleb
from layoutlint.readers.dwarf.names import at, tag
from layoutlint.readers.dwarf.plain import Plain
from layoutlint.readers.dwarf.shapes import Shapes
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
        end = 0
        for field in self.fields:
            if field.bit_offset < end:
                return _overlap(self.fields)
            end = field.bit_offset + (field.bit_size or 0)
        return None


class _Members:
    """The members of one struct, while they are read."""

    def __init__(self) -> None:
        self.fields: list[Field] = []
        self.key: list[object] = []
        """Equal for equal fields, and quicker to compare."""
        self.count = 0
        """Fields at all depths."""
        self._file: object = None
        """The unit's number of the file that `_path` is."""
        self._path: str | None = None

    def path(self, unit: Unit, number: object) -> str | None:
        """The file that a number means, which is that of the member before as a rule. Raises Damaged."""
        if number != self._file:
            self._path = unit.path(number)
            self._file = number
        return self._path

    def add(
        self, name: str | None, kind: Type, bit_offset: int, bit_size: int | None, is_bitfield: bool,
        align: int | None, path: str | None, line: object,
    ) -> None:  # fmt: skip
        """Adds a member: its name, its type, its place, and where it is declared."""
        line = None if path is None else line
        source = None if path is None else Source(path, line if isinstance(line, int) else None)
        field = Field(
            name, kind.spelling, bit_offset, bit_size, is_bitfield, kind.aggregate, kind.dims, kind.members,
            align, source, kind.calls, kind.stands_for,
        )  # fmt: skip
        self.fields.append(field)
        self.key += (name, kind, bit_offset, path, line)
        if is_bitfield or align != kind.align:
            self.key += (bit_size, align)
        self.count += 1 + kind.field_count

    def once(self, known: dict[tuple[object, ...], tuple[Field, ...]]) -> tuple[Field, ...]:
        """The fields; equal ones are the same object."""
        key = tuple(self.key)
        fields = known.get(key)
        if fields is None:
            fields = known[key] = tuple(self.fields)
        return fields


class Decoder:
    """Decodes types by value. Equal types and fields of different units become one object."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.spelling = Spelling()
        self.shapes = Shapes()
        self._shaped: dict[int, Type] = {}
        self._laid_out: dict[int, Body] = {}
        self._types: dict[tuple[object, ...], Type] = {}
        self._fields: dict[tuple[object, ...], tuple[Field, ...]] = {}
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
        found = self._members(unit, behind, depth) if plan.has_children else _Members()
        fields = found.once(self._fields)
        key = (size, align, id(fields))
        known = self._bodies.get(key)
        if known is None:
            for member in fields:
                if member.bit_offset < 0 or member.bit_offset + (member.bit_size or 0) > size * 8:
                    raise Damaged(f"member {member.name} stands outside its struct", behind)
            known = self._bodies[key] = Body(size * 8, align, fields, found.count)
        return known

    def _members(self, unit: Unit, position: int, depth: int) -> _Members:
        """The members up to the closing null entry. Raises Damaged."""
        found = _Members()
        while True:
            plan = unit.enter(position)
            start = unit.behind
            if plan is None:
                return found
            plain = self.spelling.plains.of(unit, plan)
            if plan.tag != _MEMBER:
                position = unit.past(plan, start)
            elif plain.is_member:
                behind = plain.start(unit, start)
                position = behind + plain.size
                self._plain(unit, plain, start, behind, found, depth)
            else:
                position = unit.past(plan, start)
                self._member(unit, plan, start, found, depth)
            if found.count > _MOST_FIELDS:
                raise Damaged(f"a struct with more than {_MOST_FIELDS} fields at all depths", start)

    def _plain(
        self, unit: Unit, plain: Plain, position: int, start: int, found: _Members, depth: int
    ) -> None:
        """Adds a member that is no bit-field and states no alignment, from where its attributes stand."""
        name = plain.name(unit, position, start)
        kind = self.at(unit, plain.target(unit, start), depth)
        if name is None and not kind.members:
            return
        byte, file, line = plain.location, plain.file, plain.line
        if plain.location_at >= 0:
            byte = unit.number(start + plain.location_at, plain.location_width)
        if plain.file_at >= 0:
            file = unit.number(start + plain.file_at, plain.file_width)
        if plain.line_at >= 0:
            line = unit.number(start + plain.line_at, plain.line_width)
        path = found.path(unit, file)
        found.add(name, kind, byte * 8, kind.bit_size, False, kind.align, path, line)

    def _member(self, unit: Unit, plan: Plan, start: int, found: _Members, depth: int) -> None:
        """Adds any member, but for unnamed bit-fields, which are padding."""
        values, _ = unit.read(plan, start)
        name, bits = unit.text(plan, values, NAME), values.get(_BIT_SIZE)
        if not isinstance(bits, int | None) or (bits or 0) < 0:
            raise Damaged(f"the size of bit-field {name} is no number")
        target = unit.reference(plan, values, TYPE)
        if target is None:
            raise Damaged("a member without a type", start)
        kind = self.at(*target, depth)
        if name is None and (bits is not None or not kind.members):
            return
        path, line, offset = unit.path(values.get(_DECL_FILE)), values.get(_DECL_LINE), 8 * _location(values)
        if bits is None:
            found.add(name, kind, offset, kind.bit_size, False, _alignment(values, kind.align), path, line)
        else:
            offset += self._bit_offset(values, kind)
            align = None if ALIGNMENT in values else kind.align  # one of its own counts otherwise
            found.add(name, kind, offset, bits, True, align, path, line)

    def source(self, unit: Unit, values: Values) -> Source | None:
        """Where an entry is declared; None when it does not say. Raises Damaged."""
        path, line = unit.path(values.get(_DECL_FILE)), values.get(_DECL_LINE)
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
            if depth > types.DEEPEST:
                raise Damaged("types contain one another in a circle", position)
            plan = unit.enter(position)
            start = unit.behind
            if plan is None:
                raise Damaged("a type that is none", position)
            plain = self.spelling.plains.of(unit, plan)
            values = plain.layout(unit, start) if plain.is_whole else unit.read(plan, start)[0]
            behind = unit.over(plan, start)
            known = self._shaped[shape] = self._decode(unit, plan, values, (position, behind), depth + 1)
        return known

    def _decode(self, unit: Unit, plan: Plan, values: Values, where: tuple[int, int], depth: int) -> Type:
        position, behind = where
        kind = plan.tag
        spelled = self.spelling.at(unit, position, depth)
        if kind in KEYWORDS:
            return self._aggregate(unit, plan, values, spelled, where, depth)
        if kind == types.TYPEDEF or kind in types.QUALIFIERS:
            return self._renamed(unit, plan, values, spelled, depth, kind == types.TYPEDEF)
        if kind == types.ARRAY:
            return self._array(unit, plan, values, (spelled, behind), depth)
        calls = kind == types.POINTER and types.is_function(unit, position)
        size = values.get(BYTE_SIZE)
        if size is None and kind == types.POINTER:
            size = self.target.pointer_size
        if not isinstance(size, int):
            return self._type(spelled, None, None)
        if size < 0:
            raise Damaged(f"a type of {size} bytes", behind)
        natural = self._natural(size // 2 if values.get(_ENCODING) == _COMPLEX else size)
        return self._type(spelled, size * 8, _alignment(values, natural), None, (), (), 0, calls)

    def _type(
        self, spelled: CType, bit_size: int | None, align: int | None, aggregate: Aggregate | None = None,
        dims: tuple[int | None, ...] = (), members: tuple[Field, ...] = (), count: int = 0,
        calls: bool = False, stands_for: tuple[CType, ...] = (),
    ) -> Type:  # fmt: skip
        key = (spelled, bit_size, align, aggregate, dims, id(members), calls)
        known = self._types.get(key)
        if known is None:
            known = self._types[key] = Type(
                spelled, bit_size, align, aggregate, dims, members, count, calls, stands_for
            )
        return known

    def _natural(self, size: int) -> int:
        """The alignment of a scalar: the power of two in its size, at most what the target's ABI gives."""
        return min(size & -size, self.target.max_align) or 1

    def _renamed(
        self, unit: Unit, plan: Plan, values: Values, spelled: CType, depth: int, is_typedef: bool
    ) -> Type:
        """A typedef, or a qualified type: what it stands for, under its own name and alignment."""
        target = unit.reference(plan, values, TYPE)
        if target is None:
            return self._type(spelled, None, None)
        inner = self.at(*target, depth)
        align = _alignment(values, inner.align)
        meant = (inner.spelling, *inner.stands_for) if is_typedef else inner.stands_for
        return self._type(
            spelled, inner.bit_size, align, inner.aggregate, inner.dims, inner.members, inner.field_count,
            inner.calls, meant,
        )  # fmt: skip

    def _array(self, unit: Unit, plan: Plan, values: Values, shape: tuple[CType, int], depth: int) -> Type:
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
            return self._type(spelled, size * 8, _alignment({}, size & -size))
        return self._type(
            spelled, bits, element.align, element.aggregate, counts + element.dims, element.members,
            element.field_count, element.calls, element.stands_for,
        )  # fmt: skip

    def _aggregate(
        self, unit: Unit, plan: Plan, values: Values, spelled: CType, where: tuple[int, int], depth: int
    ) -> Type:
        """A struct or union by value; one with a signature stands in a type unit."""
        position, behind = where
        defined = unit.reference(plan, values, SIGNATURE)
        if defined is not None:
            meant = self.at(*defined, depth)
            if meant.aggregate is None or meant.dims:
                raise Damaged("the signature of a struct or union means another type", behind)
            return meant
        keyword = KEYWORDS[plan.tag]
        if DECLARATION in values:
            return self._type(spelled, None, None, keyword)
        body = self.body(unit, position, plan, values, behind, depth)
        align = body.align if body.align is not None else _proven(body)
        return self._type(spelled, body.bit_size, align, keyword, (), body.fields, body.field_count)

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


def _overlap(fields: tuple[Field, ...]) -> str | None:
    """Which members of a struct overlap, None for none."""
    ordered = sorted(fields, key=lambda f: (f.bit_offset, f.bit_size or 0))
    for low, high in pairwise(ordered):
        if low.bit_size and high.bit_size and low.bit_offset + low.bit_size > high.bit_offset:
            return f"`{low.name}` and `{high.name}` overlap in the debug information"
    return None


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
