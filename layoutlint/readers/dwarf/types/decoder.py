"""Members of structs and unions: where they stand, what they are, where they are declared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from layoutlint.model import alignment
from layoutlint.model.ctype import CType
from layoutlint.model.structs import Aggregate, Field, Source, Unstated
from layoutlint.model.target import Target
from layoutlint.readers import scalars
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.constants import at, tag
from layoutlint.readers.dwarf.format.forms import Damaged, uleb
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values
from layoutlint.readers.dwarf.types import corrections, spelling
from layoutlint.readers.dwarf.types.fixed_fields import Plain
from layoutlint.readers.dwarf.types.spelling import (
    ALIGNMENT,
    BYTE_SIZE,
    KEYWORDS,
    SIGNATURE,
    TYPE,
    Spelling,
    Type,
)
from layoutlint.readers.dwarf.types.type_ids import Shapes
from layoutlint.readers.overlaps import Overlaps

_MEMBER: Final = tag("member")
_UNION: Final = tag("union_type")
_BIT_FIELDS: Final = int(Unstated.BIT_FIELDS)
_ATOMIC: Final = int(Unstated.ATOMIC)
_KEPT: Final = int(Unstated.KEPT)
_OF_MEMBERS: Final = int(Unstated.RAISED | Unstated.TYPEDEF)
"""Where a member states what its type, or a typedef of that, asks for and does not state itself."""
_IS_ROUNDED: Final = int(Unstated.ROUNDED)
_WIDE: Final = int(Unstated.WIDE)
_OF_TYPES: Final = int(Unstated.TYPEDEF)
_WHOLE: Final = int(Unstated.WHOLE)
_BIT_SIZE: Final = at("bit_size")
_BIT_OFFSET: Final = at("bit_offset")
_DATA_BIT_OFFSET: Final = at("data_bit_offset")
_LOCATION: Final = at("data_member_location")
_DECL_FILE: Final = at("decl_file")
_DECL_LINE: Final = at("decl_line")
_ENCODING: Final = at("encoding")
DECLARATION: Final = at("declaration")
_COMPLEX: Final = 3  # DW_ATE_complex_float
_FLOAT: Final = 4  # DW_ATE_float
_DECIMAL: Final = 0xF  # DW_ATE_decimal_float
_VENDOR: Final = 0x80  # DW_ATE_lo_user, which gcc gives complex integers
_DOUBLE: Final = 8
"""Bytes of a `double`; i386 aligns wider ones and decimals to their size."""
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
    likely: int = 1
    """Its alignment, as far as nothing but its members decides."""
    possible: int = 0
    """Those that it can have, as `Field.possible`."""

    def lacks_members(self, aggregate: Aggregate) -> bool:
        """Whether it is a union of some size and of no members."""
        return aggregate == "union" and bool(self.bit_size) and not self.fields

    def problem(self, aggregate: Aggregate, overlaps: Overlaps) -> str | None:
        """What no compiler lays out so, and the debug information must lack; None if all is well.

        GCC leaves out the members of a union that a typedef makes transparent (`transparent_union`), clang
        the position of a bit-field that is as wide as its type (`packed`).
        """
        if self.lacks_members(aggregate):
            return f"the debug information has none of the members of its {(self.bit_size or 0) // 8} bytes"
        return overlaps.within(self.fields, aggregate == "union")


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
        align: int | None, path: str | None, line: object, asked: int = 0, possible: int = 0,
    ) -> None:  # fmt: skip
        """Adds a member: its name, its type, its place, and where it is declared."""
        line = None if path is None else line
        source = declared_at(path, line)
        field = Field(
            name, kind.spelling, bit_offset, bit_size, is_bitfield, kind.aggregate, kind.dims, kind.members,
            align, source, kind.calls, kind.stands_for, asked, possible,
        )  # fmt: skip
        self.fields.append(field)
        self.key += (name, kind, bit_offset, path, line)
        if is_bitfield or asked or align != kind.align:
            self.key += (bit_size, align, asked, possible)
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

    def __init__(self, target: Target, unstated: int = Unstated.NOTHING, has_atomics: bool = True) -> None:
        """`has_atomics`: that there can be atomic types, and typedefs with alignments that are not stated, of
        which Linux is taken to have none.
        """
        self.target = target
        self.unstated = int(unstated)
        self.has_atomics = has_atomics
        self.hides_atomics = has_atomics and bool(self.unstated & _ATOMIC)
        self.hides_typedefs = has_atomics and bool(self.unstated & _OF_TYPES)
        self.can_ignore_typedefs = has_atomics and bool(self.unstated & _BIT_FIELDS)
        """Whether `ms_struct` may have aligned scalars to their size, whatever typedefs ask for (clang)."""
        is_kept, is_rounded = bool(self.unstated & _KEPT), bool(self.unstated & _IS_ROUNDED)
        self.is_rounded = is_rounded if is_kept != is_rounded else None
        """Whether atomic types are rounded up to powers of two; None where that is not known."""
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
        if size >= (1 << 8 * unit.shape.address_size) - 1:
            raise Damaged(f"a struct of {size:#x} bytes, which no address space has", behind)
        found = self._members(unit, behind, depth) if plan.has_children else _Members()
        is_union = plan.tag == _UNION
        fields = found.once(self._fields)
        if is_union:
            fields = self._from_start(fields)
        if self.unstated & _WHOLE or (self.hides_atomics and self.is_rounded is not False):
            fields = self._doubted(fields, size * 8, is_union)
        key = (size, align, id(fields), is_union)
        known = self._bodies.get(key)
        if known is None:
            fields = corrections.settled(fields, size * 8) if plan.tag == spelling.STRUCT else fields
            for member in fields:
                if member.bit_offset < 0 or member.bit_offset + (member.bit_size or 0) > size * 8:
                    raise Damaged(f"member {member.name} stands outside its struct", behind)
            likely, every = alignment.possible(
                fields, size * 8, is_union, align, self.unstated & ~_OF_TYPES, self.target
            )
            known = self._bodies[key] = Body(
                size * 8, align, fields, found.count, likely, 0 if every == likely else every
            )
        return known

    def _from_start(self, fields: tuple[Field, ...]) -> tuple[Field, ...]:
        """Members of a union, all of which start with it."""
        key = (id(fields), "from start")
        known = self._fields.get(key)
        if known is None:
            known = self._fields[key] = corrections.from_start(fields)
        return known

    def _doubted(self, fields: tuple[Field, ...], bit_size: int, is_union: bool) -> tuple[Field, ...]:
        """Members of a struct, without the sizes of those that may be larger than they seem."""
        key = (id(fields), bit_size, is_union, "doubted")
        known = self._fields.get(key)
        if known is None:
            can_round = self.hides_atomics and self.is_rounded is not False
            known = corrections.unsized(fields, bit_size, is_union, self.unstated, can_round)
            self._fields[key] = known
        return known

    def realigned(self, body: Body, align: int | None, bit_size: int | None) -> Body:
        """The same struct with the alignment of a typedef, and the size of an atomic type."""
        size = body.bit_size if bit_size is None else bit_size
        key = (size, align, id(body))
        known = self._bodies.get(key)
        if known is None:
            known = self._bodies[key] = replace(
                body, bit_size=size, align=align, likely=align or body.likely, possible=0
            )
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
        found.add(name, kind, byte * 8, kind.bit_size, False, kind.align, path, line, 0, kind.possible)

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
            align, asked, possible = self._own(values, kind)
            if self.can_ignore_typedefs and align and kind.aggregate is None and kind.plain > align:
                possible = (possible or align) | kind.plain
            found.add(name, kind, offset, kind.bit_size, False, align, path, line, asked, possible)
        else:
            offset += self._bit_offset(values, kind)
            align = None if ALIGNMENT in values else kind.align  # one of its own counts otherwise
            possible = kind.possible
            if self.has_atomics:
                possible |= scalars.ms_struct(self.target, kind.bit_size, align, _alignment(values, None))
            found.add(name, kind, offset, bits, True, align, path, line, 0, possible)

    def _own(self, values: Values, kind: Type) -> tuple[int | None, int, int]:
        """The alignment of a member, what of it is its own, and those that are possible. Raises Damaged.

        GCC states where the member stands. Clang states what it asks for, which lowers nothing unless the
        struct is packed; or else what its type does.
        """
        stated, every = _alignment(values, None), kind.possible
        if stated is None:
            return kind.align, 0, every
        if not self.unstated & _BIT_FIELDS:
            return stated, stated, 0
        align = max(stated, kind.align or 1)
        # What a type of several possible alignments has is not stated, but where it is what it asks for.
        is_of_type = stated == kind.align and (every == 0 or self.unstated & _OF_MEMBERS)
        if is_of_type or (self.hides_typedefs and every):
            return align, 0, every and every | stated
        return align, stated, every

    def source(self, unit: Unit, values: Values) -> Source | None:
        """Where an entry is declared; None when it does not say. Raises Damaged."""
        path, line = unit.path(values.get(_DECL_FILE)), values.get(_DECL_LINE)
        if path is None:
            return None
        known = self._sources.get((path, line))
        if known is None:
            known = self._sources[path, line] = Source(path, _line(line))
        return known

    def at(self, unit: Unit, position: int, depth: int = 0) -> Type:
        """The type at a position. Raises Damaged."""
        shape = self.shapes.of(unit, position)
        known = self._shaped.get(shape)
        if known is None:
            if depth > spelling.DEEPEST:
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
        if kind == spelling.TYPEDEF or kind in spelling.QUALIFIERS:
            return self._renamed(unit, plan, values, spelled, depth, kind == spelling.TYPEDEF)
        if kind == spelling.ARRAY:
            return self._array(unit, plan, values, (spelled, behind), depth)
        calls = kind == spelling.POINTER and spelling.is_function(unit, position)
        size = values.get(BYTE_SIZE)
        if size is None and kind == spelling.POINTER:
            size = min(unit.shape.address_size, self.target.pointer_size)
        if not isinstance(size, int):
            return self._type(spelled, None, None)
        if size < 0:
            raise Damaged(f"a type of {size} bytes", behind)
        natural, every = self._natural(size, values.get(_ENCODING), spelled)
        align = _alignment(values, natural)
        if ALIGNMENT in values:
            # gcc takes arrays of an atomic type for ones of a typedef of it that has an alignment.
            every = align | natural if align and self.hides_atomics else 0
        return self._type(spelled, size * 8, align, None, (), (), 0, calls, (), every)

    def _type(
        self, spelled: CType, bit_size: int | None, align: int | None, aggregate: Aggregate | None = None,
        dims: tuple[int | None, ...] = (), members: tuple[Field, ...] = (), count: int = 0,
        calls: bool = False, stands_for: tuple[CType, ...] = (), possible: int = 0, plain: int = 0,
    ) -> Type:  # fmt: skip
        key = (spelled, bit_size, align, aggregate, dims, id(members), calls, possible, plain)
        known = self._types.get(key)
        if known is None:
            known = self._types[key] = Type(
                spelled, bit_size, align, aggregate, dims, members, count, calls, stands_for, possible, plain
            )
        return known

    def _natural(self, size: int, encoding: object, spelled: CType) -> tuple[int, int]:
        """The alignment of a scalar in a struct, and those that are possible."""
        is_wide = None if self.unstated & _WIDE or self.hides_atomics else False
        if "_BitInt" in spelled.left:
            return scalars.bit_int(self.target, size, is_wide)
        if encoding == _COMPLEX or (encoding == _VENDOR and spelled.left.startswith("complex")):
            size //= 2
        is_integer = encoding != _DECIMAL and (encoding not in (_FLOAT, _COMPLEX) or size <= _DOUBLE)
        return scalars.natural(self.target, size, is_integer, is_wide)

    def _renamed(
        self, unit: Unit, plan: Plan, values: Values, spelled: CType, depth: int, is_typedef: bool
    ) -> Type:
        """A typedef, or a qualified type: what it stands for, under its own name and alignment."""
        target = unit.reference(plan, values, TYPE)
        if target is None:
            return self._type(spelled, None, None)
        inner = self.at(*target, depth)
        size, natural, every = inner.bit_size, inner.align, inner.possible
        if plan.tag == spelling.ATOMIC and natural is not None:
            every = every or natural
            size, natural, every = scalars.atomic(self.target, size, natural, every, self.is_rounded)
        align, plain = _alignment(values, natural), inner.plain
        if ALIGNMENT in values:
            every, plain = 0, plain or inner.possible or inner.align or 0
        elif is_typedef and self.hides_typedefs and natural is not None:
            every = alignment.ANY
        meant = (inner.spelling, *inner.stands_for) if is_typedef else inner.stands_for
        return self._type(
            spelled, size, align, inner.aggregate, inner.dims, inner.members, inner.field_count,
            inner.calls, meant, every, plain,
        )  # fmt: skip

    def _array(self, unit: Unit, plan: Plan, values: Values, shape: tuple[CType, int], depth: int) -> Type:
        spelled, behind = shape
        target = unit.reference(plan, values, TYPE)
        if target is None:
            raise Damaged("an array of nothing", behind)
        element = self.at(*target, depth)
        counts = spelling.dimensions(unit, plan, behind)
        if spelling.COMPUTED in counts:
            raise Damaged("an array whose length is computed when the program runs", behind)
        bits = element.bit_size
        for count in reversed(counts):
            bits = None if bits is None else bits * (count or 0)
            if element.plain and bits and bits % (8 * (element.align or 1)):
                bits = None  # clang rounds up what gcc refuses
        if spelling.GNU_VECTOR in values:
            size = values.get(BYTE_SIZE, None if bits is None else bits // 8)
            if not isinstance(size, int) or size < 0:
                raise Damaged("a vector of unknown size", behind)
            natural, every = scalars.vector(self.target, size)
            align = _alignment(values, natural)
            every = 0 if ALIGNMENT in values else every
            return self._type(spelled, size * 8, align, None, (), (), 0, False, (), every)
        every = element.possible
        if element.plain and self.is_rounded is not True:
            # An array of gcc's can have lost what the typedef of its elements states: where that is `const`,
            # or an array of arrays, or by what the unit has besides (build_array_type_1 in gcc/tree.cc).
            every = (every or element.align or 1) | element.plain
        return self._type(
            spelled, bits, _alignment(values, element.align), element.aggregate, counts + element.dims,
            element.members, element.field_count, element.calls, element.stands_for,
            0 if ALIGNMENT in values or every == element.align else every, element.plain,
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
        every = body.possible
        if self.hides_atomics and body.bit_size:
            whole = every or body.likely
            for is_rounded in (True, False) if self.is_rounded is None else (self.is_rounded,):
                made = scalars.atomic(self.target, body.bit_size, body.likely, whole, is_rounded)
                every = (every or whole) | (made.possible or made.align)
            every = 0 if every == body.likely else every
        return self._type(
            spelled, body.bit_size, body.likely, keyword, (), body.fields, body.field_count, False, (), every
        )

    def _bit_offset(self, values: Values, kind: Type) -> int:
        """Bits from the member's location to a bit-field (DWARF 5, section 5.7.6; DWARF 3, 5.6.6)."""
        start = values.get(_DATA_BIT_OFFSET)
        if isinstance(start, int):
            return start
        left, bits = values.get(_BIT_OFFSET, 0), values[_BIT_SIZE]
        storage = values.get(BYTE_SIZE, (kind.bit_size or 0) // 8)
        if not (isinstance(left, int) and isinstance(bits, int) and isinstance(storage, int)):
            raise Damaged("the place of a bit-field is no number")
        if left > storage * 8:
            left = _negative(left)  # in a packed struct it may start before its storage
        if self.target.little_endian:
            left = storage * 8 - left - bits
        return left


def _negative(number: int) -> int:
    """Return the negative number that a form without a stated sign holds (DWARF 5, section 7.5.5).

    GCC and clang write it in the width of their own integers, DW_FORM_data4 or DW_FORM_data8.
    """
    bits = next((bits for bits in (8, 16, 32, 64) if number < 1 << bits), 64)
    return number - (1 << bits) if number >> (bits - 1) else number


def declared_at(path: str | None, line: object) -> Source | None:
    """Where something is declared; None without a file."""
    return None if path is None else Source(path, _line(line))


def _line(number: object) -> int | None:
    """A line; 0 means that none is known (DWARF 5, section 2.14)."""
    return number if isinstance(number, int) and number > 0 else None


def stated(values: Values) -> int | None:
    """The alignment in bytes that an entry states; None for none. Raises Damaged."""
    return _alignment(values, None)


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
