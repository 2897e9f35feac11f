"""Decoder of structs, unions and their members: positions, types, and declarations."""

from __future__ import annotations

from typing import Final

from layoutlint.model import possible_alignments
from layoutlint.model.ctype import CType
from layoutlint.model.overlaps import Overlaps
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Aggregate, Field, Source, Unstated
from layoutlint.model.target import Target
from layoutlint.readers import scalars
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.forms import DwarfError, read_uleb
from layoutlint.readers.dwarf.format.unit import NAME, Unit, Values
from layoutlint.readers.dwarf.types import corrections, spelling
from layoutlint.readers.dwarf.types.declared_order import DeclaredOrders
from layoutlint.readers.dwarf.types.fixed_fields import FixedFields
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

_MEMBER: Final = tag("member")
_UNION: Final = tag("union_type")
_BIT_FIELDS: Final = int(Unstated.BIT_FIELDS)
_ATOMIC: Final = int(Unstated.ATOMIC)
_IS_KEPT: Final = int(Unstated.ATOMIC_UNROUNDED)
_OF_MEMBERS: Final = int(Unstated.RAISED | Unstated.TYPEDEF)
"""The alignment that a member states includes that of its type, or of a typedef of it."""
_IS_ROUNDED: Final = int(Unstated.ATOMIC_ROUNDED)
_WIDE: Final = int(Unstated.WIDE)
_OF_TYPES: Final = int(Unstated.TYPEDEF)
_IS_WHOLE_HIDDEN: Final = int(Unstated.WHOLE)
_BIT_SIZE: Final = attribute("bit_size")
_BIT_OFFSET: Final = attribute("bit_offset")
_DATA_BIT_OFFSET: Final = attribute("data_bit_offset")
_LOCATION: Final = attribute("data_member_location")
_DECL_FILE: Final = attribute("decl_file")
_DECL_LINE: Final = attribute("decl_line")
_ENCODING: Final = attribute("encoding")
DECLARATION: Final = attribute("declaration")
_COMPLEX: Final = 3  # DW_ATE_complex_float
_FLOAT: Final = 4  # DW_ATE_float
_DECIMAL: Final = 0xF  # DW_ATE_decimal_float
_VENDOR: Final = 0x80  # DW_ATE_lo_user, which gcc gives complex integers
_DOUBLE: Final = 8
"""Bytes of a `double`; i386 aligns wider floats and decimals to their size."""
_PLUS_UCONST: Final = 0x23
_CONSTU: Final = 0x10
_PLUS: Final = 0x22
_MOST_FIELDS: Final = 1 << 16
"""Largest number of fields at all depths of one struct. Structs that contain one another twice double it
with each type; the largest of Linux has 2,800."""


class Body(Record, frozen=True, eq=False, gc=False):
    """The members of a struct or union, with the size and alignment of the whole."""

    bit_size: int | None
    align: int | None
    """In bytes, as the input states it."""
    fields: tuple[Field, ...]
    field_count: int = 0
    """Fields at all depths."""
    likely: int = 1
    """Its alignment, if only its members decide."""
    possible: int = 0
    """The possible alignments, as `Field.possible`."""
    declared_order: tuple[int, ...] = ()
    """As `Struct.declared_order`."""
    has_order_inside: bool = False
    """Whether a struct without a name inside it has another order than the declared one."""

    def lacks_members(self, aggregate: Aggregate) -> bool:
        """Return whether it is a union with a size and without members."""
        return aggregate == "union" and bool(self.bit_size) and not self.fields

    def problem(self, aggregate: Aggregate, overlaps: Overlaps) -> str | None:
        """Return why no compiler lays the members out so, which shows faulty input; None if all is well.

        GCC leaves out the members of a union that a typedef makes transparent (`transparent_union`), clang
        the position of a bit-field that is as wide as its type (`packed`).
        """
        if self.lacks_members(aggregate):
            return f"the debug information has none of the members of its {(self.bit_size or 0) // 8} bytes"
        if self.has_order_inside:
            return "a struct without a name inside it has the order of its build in the debug information"
        return overlaps.first_overlap(self.fields, aggregate == "union", self.bit_size)


class _Members:
    """The members of one struct, while they are read."""

    def __init__(self) -> None:
        self.fields: list[Field] = []
        self.key: list[object] = []
        """Equal for equal fields, and quicker to compare."""
        self.count = 0
        """Fields at all depths."""
        self._file: object = None
        """The unit's number of the file with path `_path`."""
        self._path: str | None = None

    def path(self, unit: Unit, number: object) -> str | None:
        """Return the file with a number, which is usually that of the previous member. Raises DwarfError."""
        if number != self._file:
            self._path = unit.path(number)
            self._file = number
        return self._path

    def add(
        self, name: str | None, kind: Type, bit_offset: int, bit_size: int | None, is_bitfield: bool,
        align: int | None, path: str | None, line: object, own_align: int = 0, possible: int = 0,
    ) -> None:  # fmt: skip
        """Add a member: its name, its type, its position, and where it is declared."""
        line = None if path is None else line
        source = declaration_source(path, line)
        field = Field(
            name, kind.spelling, bit_offset, bit_size, is_bitfield, kind.aggregate, kind.dims, kind.members,
            align, source, kind.calls, kind.stands_for, own_align, possible, False, kind.flexible_bits,
        )  # fmt: skip
        self.fields.append(field)
        self.key += (name, kind, bit_offset, path, line)
        if is_bitfield or own_align or align != kind.align:
            self.key += (bit_size, align, own_align, possible)
        self.count += 1 + kind.field_count

    def intern(self, cache: dict[tuple[object, ...], tuple[Field, ...]]) -> tuple[Field, ...]:
        """Return the fields; equal ones are the same object."""
        key = tuple(self.key)
        fields = cache.get(key)
        if fields is None:
            fields = cache[key] = tuple(self.fields)
        return fields


class Decoder:
    """Decodes types by value. Equal types and fields of different units become one object."""

    def __init__(self, target: Target, unstated: int = Unstated.NOTHING, has_atomics: bool = True) -> None:
        """Create a decoder for one file.

        `has_atomics` states that the file can have atomic types, and typedefs with alignments that are not
        stated; Linux is assumed to have none.
        """
        self.target = target
        self.unstated = int(unstated)
        self.has_atomics = has_atomics
        self.hides_atomics = has_atomics and bool(self.unstated & _ATOMIC)
        self.hides_typedefs = has_atomics and bool(self.unstated & _OF_TYPES)
        self.can_ignore_typedefs = has_atomics and bool(self.unstated & _BIT_FIELDS)
        """Whether `ms_struct` may have aligned scalars to their size instead of a typedef's alignment
        (clang)."""
        is_kept, is_rounded = bool(self.unstated & _IS_KEPT), bool(self.unstated & _IS_ROUNDED)
        self.is_rounded = is_rounded if is_kept != is_rounded else None
        """Whether atomic types are rounded up to powers of two; None if unknown."""
        self.spelling = Spelling()
        self.shapes = Shapes()
        self._types_by_shape: dict[int, Type] = {}
        self._bodies_by_shape: dict[int, Body] = {}
        self._types: dict[tuple[object, ...], Type] = {}
        self._fields: dict[tuple[object, ...], tuple[Field, ...]] = {}
        self._bodies: dict[tuple[object, ...], Body] = {}
        self._sources: dict[tuple[str, object], Source] = {}
        self._orders = DeclaredOrders()

    def body(self, unit: Unit, position: int, plan: Plan, values: Values, end: int, depth: int = 0) -> Body:
        """Return the members of the complete struct or union at a position. Raises DwarfError."""
        shape = self.shapes.shape(unit, position)
        body = self._bodies_by_shape.get(shape)
        if body is None:
            body = self._bodies_by_shape[shape] = self._decode_body(unit, plan, values, end, depth)
        return body

    def _decode_body(self, unit: Unit, plan: Plan, values: Values, end: int, depth: int) -> Body:
        size = values.get(BYTE_SIZE)
        align = _alignment(values, None)
        if not isinstance(size, int) or size < 0:
            raise DwarfError("a struct whose size is not a number", end)
        if size >= (1 << 8 * unit.shape.address_size) - 1:
            raise DwarfError(f"a struct of {size:#x} bytes, which no address space has", end)
        members = self._read_members(unit, end, depth) if plan.has_children else _Members()
        is_union = plan.tag == _UNION
        fields = members.intern(self._fields)
        if is_union:
            fields = self._move_to_start(fields)
        if self.unstated & _IS_WHOLE_HIDDEN or (self.hides_atomics and self.is_rounded is not False):
            fields = self._drop_doubtful_sizes(fields, size * 8, is_union)
        order = self._orders.find(unit, end, fields) if plan.has_children and not is_union else ()
        key = (size, align, id(fields), is_union, order)
        body = self._bodies.get(key)
        if body is None:
            if plan.tag == spelling.STRUCT and not self._orders.is_randomised(unit):
                fields = corrections.resolve_overlaps(fields, size * 8)
            for member in fields:
                is_behind = member.bit_offset + (member.bit_size or 0) > size * 8
                if member.bit_offset < 0 or (is_behind and not self._orders.is_randomised(unit)):
                    raise DwarfError(f"member {member.name} stands outside its struct", end)
            likely, possible = possible_alignments.possible(
                fields, size * 8, is_union, align, self.unstated & ~_OF_TYPES, self.target
            )
            body = self._bodies[key] = Body(
                size * 8, align, fields, members.count, likely, 0 if possible == likely else possible, order,
                any(self._orders.is_moved(member.members) for member in fields if member.type.is_untagged),
            )
        return body

    def _move_to_start(self, fields: tuple[Field, ...]) -> tuple[Field, ...]:
        """Return the members of a union, all at its start."""
        key = (id(fields), "from start")
        moved = self._fields.get(key)
        if moved is None:
            moved = self._fields[key] = corrections.move_to_start(fields)
        return moved

    def _drop_doubtful_sizes(
        self, fields: tuple[Field, ...], bit_size: int, is_union: bool
    ) -> tuple[Field, ...]:
        """Return the members of a struct, without the sizes of those that may be larger than they seem."""
        key = (id(fields), bit_size, is_union, "doubted")
        checked = self._fields.get(key)
        if checked is None:
            can_round = self.hides_atomics and self.is_rounded is not False
            checked = corrections.drop_doubtful_sizes(fields, bit_size, is_union, self.unstated, can_round)
            self._fields[key] = checked
        return checked

    def realign(self, body: Body, align: int | None, bit_size: int | None) -> Body:
        """Return a struct with the alignment of a typedef, and the size of an atomic type."""
        size = body.bit_size if bit_size is None else bit_size
        key = (size, align, id(body))
        realign = self._bodies.get(key)
        if realign is None:
            realign = self._bodies[key] = replace(
                body, bit_size=size, align=align, likely=align or body.likely, possible=0
            )
        return realign

    def _read_members(self, unit: Unit, position: int, depth: int) -> _Members:
        """Return the members up to the closing null entry. Raises DwarfError."""
        members = _Members()
        while True:
            plan = unit.enter(position)
            start = unit.next_position
            if plan is None:
                return members
            fixed = self.spelling.fixed_fields.find(unit, plan)
            if plan.tag != _MEMBER:
                position = unit.skip_entry(plan, start)
            elif fixed.is_member:
                fixed_start = fixed.start(unit, start)
                position = fixed_start + fixed.size
                self._add_plain(unit, fixed, start, fixed_start, members, depth)
            else:
                position = unit.skip_entry(plan, start)
                self._add_member(unit, plan, start, members, depth)
            if members.count > _MOST_FIELDS:
                raise DwarfError(f"a struct with more than {_MOST_FIELDS} fields at all depths", start)

    def _add_plain(
        self, unit: Unit, fixed: FixedFields, position: int, start: int, members: _Members, depth: int
    ) -> None:
        """Add a member that is no bit-field and states no alignment; its attributes start at `position`."""
        name = fixed.name(unit, position, start)
        kind = self.type_at(unit, fixed.target(unit, start), depth)
        if name is None and not kind.members:
            return
        byte, file, line = fixed.location, fixed.file, fixed.line
        if fixed.location_at >= 0:
            byte = unit.number(start + fixed.location_at, fixed.location_width)
        if fixed.file_at >= 0:
            file = unit.number(start + fixed.file_at, fixed.file_width)
        if fixed.line_at >= 0:
            line = unit.number(start + fixed.line_at, fixed.line_width)
        path = members.path(unit, file)
        members.add(name, kind, byte * 8, kind.bit_size, False, kind.align, path, line, 0, kind.possible)

    def _add_member(self, unit: Unit, plan: Plan, start: int, members: _Members, depth: int) -> None:
        """Add any member. Unnamed bit-fields are padding and are skipped."""
        values, _ = unit.read(plan, start)
        name, bits = unit.text(plan, values, NAME), values.get(_BIT_SIZE)
        if not isinstance(bits, int | None) or (bits or 0) < 0:
            raise DwarfError(f"the size of bit-field {name} is not a number")
        target = unit.reference(plan, values, TYPE)
        if target is None:
            raise DwarfError("a member without a type", start)
        kind = self.type_at(*target, depth)
        if name is None and (bits is not None or not (kind.members or self._aligns_struct(values, kind))):
            return
        path, line, offset = unit.path(values.get(_DECL_FILE)), values.get(_DECL_LINE), 8 * _location(values)
        if bits is None:
            align, own_align, possible = self._member_alignment(values, kind)
            if self.can_ignore_typedefs and align and kind.aggregate is None and kind.plain_align > align:
                possible = (possible or align) | kind.plain_align
            members.add(name, kind, offset, kind.bit_size, False, align, path, line, own_align, possible)
        else:
            offset += self._bit_offset(values, kind, offset)
            align = None if ALIGNMENT in values else kind.align  # one of its own counts otherwise
            possible = kind.possible
            if self.has_atomics:
                possible |= scalars.ms_struct(self.target, kind.bit_size, align, _alignment(values, None))
            members.add(name, kind, offset, bits, True, align, path, line, 0, possible)

    def _aligns_struct(self, values: Values, kind: Type) -> bool:
        """Return whether a member without a name and members is the only sign of the struct's alignment.

        GCC states the alignment of the struct as well. Raises DwarfError.
        """
        is_clang = bool(self.unstated & _BIT_FIELDS)
        return is_clang and kind.aggregate is not None and (_alignment(values, None) or 1) > 1

    def _member_alignment(self, values: Values, kind: Type) -> tuple[int | None, int, int]:
        """Return the alignment of a member, its own request, and the possible ones. Raises DwarfError.

        GCC states the resulting alignment. Clang states the requested one, which lowers nothing unless the
        struct is packed; or else that of its type.
        """
        stated, possible = _alignment(values, None), kind.possible
        if stated is None:
            return kind.align, 0, possible
        if not self.unstated & _BIT_FIELDS:
            return stated, stated, 0
        align = max(stated, kind.align or 1)
        # For a type of several possible alignments, only a requested alignment is stated.
        is_of_type = stated == kind.align and (possible == 0 or self.unstated & _OF_MEMBERS)
        if is_of_type or (self.hides_typedefs and possible):
            return align, 0, possible and possible | stated
        return align, stated, possible

    def source(self, unit: Unit, values: Values) -> Source | None:
        """Return where an entry is declared; None if it does not state it. Raises DwarfError."""
        path, line = unit.path(values.get(_DECL_FILE)), values.get(_DECL_LINE)
        if path is None:
            return None
        source = self._sources.get((path, line))
        if source is None:
            source = self._sources[path, line] = Source(path, _line(line))
        return source

    def type_at(self, unit: Unit, position: int, depth: int = 0) -> Type:
        """Return the type at a position. Raises DwarfError."""
        shape = self.shapes.shape(unit, position)
        decoded = self._types_by_shape.get(shape)
        if decoded is None:
            if depth > spelling.DEEPEST:
                raise DwarfError("types contain one another in a circle", position)
            plan = unit.enter(position)
            start = unit.next_position
            if plan is None:
                raise DwarfError("a type that is none", position)
            fixed = self.spelling.fixed_fields.find(unit, plan)
            values = fixed.layout(unit, start) if fixed.is_whole else unit.read(plan, start)[0]
            end = unit.skip_attributes(plan, start)
            decoded = self._types_by_shape[shape] = self._decode(
                unit, plan, values, (position, end), depth + 1
            )
        return decoded

    def _decode(self, unit: Unit, plan: Plan, values: Values, where: tuple[int, int], depth: int) -> Type:
        position, end = where
        kind = plan.tag
        ctype = self.spelling.spell(unit, position, depth)
        if kind in KEYWORDS:
            return self._aggregate_type(unit, plan, values, ctype, where, depth)
        if kind == spelling.TYPEDEF or kind in spelling.QUALIFIERS:
            return self._derived_type(unit, plan, values, ctype, depth, kind == spelling.TYPEDEF)
        if kind == spelling.ARRAY:
            return self._array_type(unit, plan, values, (ctype, end), depth)
        calls = kind == spelling.POINTER and spelling.is_function(unit, position)
        size = values.get(BYTE_SIZE)
        if size is None and (kind == spelling.POINTER or _is_null_pointer(kind, ctype)):
            size = min(unit.shape.address_size, self.target.pointer_size)
        if not isinstance(size, int):
            return self._intern_type(ctype, None, None)
        if size < 0:
            raise DwarfError(f"a type of {size} bytes", end)
        natural, possible = self._natural_alignment(size, values.get(_ENCODING), ctype)
        align = _alignment(values, natural)
        if ALIGNMENT in values:
            # gcc confuses arrays of an atomic type with those of an aligned typedef of it.
            possible = align | natural if align and self.hides_atomics else 0
        return self._intern_type(ctype, size * 8, align, None, (), (), 0, calls, (), possible)

    def _intern_type(
        self, ctype: CType, bit_size: int | None, align: int | None, aggregate: Aggregate | None = None,
        dims: tuple[int | None, ...] = (), members: tuple[Field, ...] = (), count: int = 0,
        calls: bool = False, stands_for: tuple[CType, ...] = (), possible: int = 0, plain_align: int = 0,
        flexible_bits: int | None = None,
    ) -> Type:  # fmt: skip
        key = (
            ctype, bit_size, align, aggregate, dims, id(members), calls, possible, plain_align, flexible_bits,
        )  # fmt: skip
        interned = self._types.get(key)
        if interned is None:
            interned = self._types[key] = Type(
                ctype,
                bit_size,
                align,
                aggregate,
                dims,
                members,
                count,
                calls,
                stands_for,
                possible,
                plain_align,
                flexible_bits,
            )
        return interned

    def _natural_alignment(self, size: int, encoding: object, ctype: CType) -> tuple[int, int]:
        """Return the alignment of a scalar in a struct, and the possible ones."""
        # An `ms_struct` aligns 8-byte scalars to 8 on i386 as well; nothing states it.
        is_wide = None if self.unstated & _WIDE or self.has_atomics else False
        if "_BitInt" in ctype.left:
            return scalars.bit_int(self.target, size, is_wide)
        if encoding == _COMPLEX or (encoding == _VENDOR and ctype.left.startswith("complex")):
            size //= 2
        is_integer = encoding != _DECIMAL and (encoding not in (_FLOAT, _COMPLEX) or size <= _DOUBLE)
        return scalars.natural(self.target, size, is_integer, is_wide)

    def _derived_type(
        self, unit: Unit, plan: Plan, values: Values, ctype: CType, depth: int, is_typedef: bool
    ) -> Type:
        """Return the type of a typedef or qualified type, with its own name and alignment."""
        target = unit.reference(plan, values, TYPE)
        if target is None:
            return self._intern_type(ctype, None, None)
        inner = self.type_at(*target, depth)
        size, natural, possible = inner.bit_size, inner.align, inner.possible
        if plan.tag == spelling.ATOMIC and natural is not None:
            possible = possible or natural
            size, natural, possible = scalars.atomic(self.target, size, natural, possible, self.is_rounded)
        align, plain_align = _alignment(values, natural), inner.plain_align
        if ALIGNMENT in values:
            possible, plain_align = 0, plain_align or inner.possible or inner.align or 0
        elif is_typedef and self.hides_typedefs and natural is not None:
            possible = possible_alignments.ANY
        stands_for = (inner.spelling, *inner.stands_for) if is_typedef else inner.stands_for
        return self._intern_type(
            ctype, size, align, inner.aggregate, inner.dims, inner.members, inner.field_count,
            inner.calls, stands_for, possible, plain_align, inner.flexible_bits,
        )  # fmt: skip

    def _array_type(
        self, unit: Unit, plan: Plan, values: Values, shape: tuple[CType, int], depth: int
    ) -> Type:
        ctype, end = shape
        target = unit.reference(plan, values, TYPE)
        if target is None:
            raise DwarfError("an array of nothing", end)
        element = self.type_at(*target, depth)
        counts = spelling.dimensions(unit, plan, end)
        if spelling.COMPUTED in counts:
            raise DwarfError("an array whose length is computed when the program runs", end)
        bits = element.bit_size
        for count in reversed(counts):
            bits = None if bits is None else bits * (count or 0)
            if element.plain_align and bits and bits % (8 * (element.align or 1)):
                bits = None  # clang rounds up arrays that gcc rejects
        if spelling.GNU_VECTOR in values:
            size = values.get(BYTE_SIZE, None if bits is None else bits // 8)
            if not isinstance(size, int) or size < 0:
                raise DwarfError("a vector of unknown size", end)
            natural, possible = scalars.vector(self.target, size)
            align = _alignment(values, natural)
            possible = 0 if ALIGNMENT in values else possible
            return self._intern_type(ctype, size * 8, align, None, (), (), 0, False, (), possible)
        possible = element.possible
        if element.plain_align and self.is_rounded is not True:
            # gcc can lose the alignment stated by the typedef of an array's elements: if it is `const`, for
            # arrays of arrays, or because of other types of the unit (build_array_type_1 in gcc/tree.cc).
            possible = (possible or element.align or 1) | element.plain_align
        return self._intern_type(
            ctype, bits, _alignment(values, element.align), element.aggregate, counts + element.dims,
            element.members, element.field_count, element.calls, element.stands_for,
            0 if ALIGNMENT in values or possible == element.align else possible, element.plain_align,
            None if counts[0] else scalars.innermost_bits(element.bit_size, element.dims),
        )  # fmt: skip

    def _aggregate_type(
        self, unit: Unit, plan: Plan, values: Values, ctype: CType, where: tuple[int, int], depth: int
    ) -> Type:
        """Return the type of a struct or union by value; one with a signature is in a type unit."""
        position, end = where
        signature_target = unit.reference(plan, values, SIGNATURE)
        if signature_target is not None:
            defined_type = self.type_at(*signature_target, depth)
            if defined_type.aggregate is None or defined_type.dims:
                raise DwarfError("the signature of a struct or union means another type", end)
            return defined_type
        keyword = KEYWORDS[plan.tag]
        if DECLARATION in values:
            return self._intern_type(ctype, None, None, keyword)
        body = self.body(unit, position, plan, values, end, depth)
        possible = body.possible
        if self.hides_atomics and body.bit_size:
            base = possible or body.likely
            for is_rounded in (True, False) if self.is_rounded is None else (self.is_rounded,):
                atomic = scalars.atomic(self.target, body.bit_size, body.likely, base, is_rounded)
                possible = (possible or base) | (atomic.possible or atomic.align)
            possible = 0 if possible == body.likely else possible
        return self._intern_type(
            ctype,
            body.bit_size,
            body.likely,
            keyword,
            (),
            body.fields,
            body.field_count,
            False,
            (),
            possible,
        )

    def _bit_offset(self, values: Values, kind: Type, location: int) -> int:
        """Return the bits from a location, in bits, to a bit-field (DWARF 5, 5.7.6; DWARF 3, 5.6.6)."""
        start = values.get(_DATA_BIT_OFFSET)
        if isinstance(start, int):
            return start
        offset, bits = values.get(_BIT_OFFSET, 0), values[_BIT_SIZE]
        storage = values.get(BYTE_SIZE, (kind.bit_size or 0) // 8)
        if not (isinstance(offset, int) and isinstance(bits, int) and isinstance(storage, int)):
            raise DwarfError("the place of a bit-field is not a number")
        is_little = self.target.little_endian
        if offset > storage * 8:
            # If it starts after its storage, in a packed struct, clang writes a negative number without a
            # sign. If it starts far before it, in an `ms_struct`, gcc writes a positive one.
            is_negative = location + storage * 8 < offset + bits if is_little else offset >> 31 != 0
            offset = _negative(offset) if is_negative else offset
        return storage * 8 - offset - bits if is_little else offset


def _is_null_pointer(kind: int, ctype: CType) -> bool:
    """Return whether a type is that of `nullptr`: clang calls it `decltype(nullptr)`, and states no size.

    It has that of a pointer (C23 7.21, C++ [basic.fundamental]).
    """
    return kind == spelling.UNSPECIFIED and "nullptr" in ctype.left


def _negative(number: int) -> int:
    """Return the negative number that a form without a stated sign holds (DWARF 5, section 7.5.5)."""
    bits = next((bits for bits in (8, 16, 32, 64) if number < 1 << bits), 64)
    return number - (1 << bits) if number >> (bits - 1) else number


def declaration_source(path: str | None, line: object) -> Source | None:
    """Return where something is declared; None without a file."""
    return None if path is None else Source(path, _line(line))


def _line(number: object) -> int | None:
    """Return a line; None for 0, which means unknown (DWARF 5, section 2.14)."""
    return number if isinstance(number, int) and number > 0 else None


def read_alignment(values: Values) -> int | None:
    """Return the alignment in bytes that an entry states; None for none. Raises DwarfError."""
    return _alignment(values, None)


def _alignment(values: Values, default: int | None) -> int | None:
    """Return the alignment that an entry states, else `default`. Raises DwarfError for no power of two."""
    align = values.get(ALIGNMENT, default)
    if align is None:
        return None
    if not isinstance(align, int) or align < 1 or align & (align - 1):
        raise DwarfError(f"an alignment of {align if isinstance(align, int) else 'no number of'} bytes")
    return align


def _location(values: Values) -> int:
    """Return the byte offset of a member: a constant, or up to DWARF 3 an expression that adds one."""
    value = values.get(_LOCATION, 0)
    if isinstance(value, int):
        return value
    if value and value[0] in (_PLUS_UCONST, _CONSTU):
        number, end = read_uleb(value, 1)
        tail = b"" if value[0] == _PLUS_UCONST else bytes((_PLUS,))
        if value[end:] == tail:
            return number
    raise DwarfError(f"a member's location is the expression {value.hex(' ')}")
