"""Conversion of libclang's types and declarations to CType and Field, with sizes and offsets in bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from layoutlint.errors import ReadError
from layoutlint.model.ctype import UNKNOWN, UNTAGGED, CType, add_qualifier, array_of, function_of, pointer_to
from layoutlint.model.declared import Member, StructDeclaration
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Aggregate, Field, place_unnamed_bits
from layoutlint.readers.clang import attributes, libclang, pack_pragmas
from layoutlint.readers.clang.attributes import Alignments
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.gcc_layouts import GccLayouts
from layoutlint.readers.clang.libclang import Cursor, Spot, Type
from layoutlint.readers.clang.type_kinds import (
    ARRAYS,
    ATOMIC,
    ATTRIBUTED,
    BASE_TYPES,
    BLOCK_POINTER,
    COMPLEX,
    ELABORATED,
    ENUM,
    EXT_VECTOR,
    POINTER,
    PROTOTYPE,
    RECORD,
    TAG_ATTRIBUTED,
    TYPEDEF,
    UNPROTOTYPED,
    VECTOR,
    count_elements,
    unwrap,
)  # fmt: skip

_MOST_TYPEDEFS = 256
"""The longest chain of typedefs; libclang's time for each grows with those after it."""
_MOST_FIELDS = 10_000
"""The most members of a struct; libclang's time for the offset of each grows with their number."""
_MOST_IN_ALL = 1 << 16
"""The most members of a struct at all depths, as of one in debug information. Structs that contain one
another twice double it with each level, and libclang's time for the offset of a member grows with it."""
_LARGEST = 1 << 59
"""The most bytes of the members of a struct: libclang states offsets in bits, as integers of 64 bits."""
DEEPEST = 64
"""The deepest nesting: deeper types are spelled by libclang, deeper structs refused. No hand-written C comes
close."""


class TypeShape(Record, frozen=True):
    """The structure of a type: its size, alignment, and the members of an element."""

    bit_size: int | None
    align: int | None
    aggregate: Aggregate | None
    dims: tuple[int | None, ...]
    members: tuple[Field, ...]
    flexible_bits: int | None = None
    """The bits of an element of a flexible array."""


class Types(Record):
    """The types of one translation unit; each is converted once."""

    lib: Any
    unit: int
    places: Places
    with_marks: bool = False
    """Whether to fill `declared`, which takes time."""
    has_errors: bool = False
    """Whether the unit has errors: libclang takes members of unknown types for `int`."""
    alignments: Alignments | None = None
    """The values of alignments that members state by types."""
    gcc: GccLayouts | None = None
    """gcc's layouts, if gcc compiles the unit; None for clang's."""
    has_atomics: bool = False
    """Whether an atomic type was converted."""
    declared: dict[int, tuple[Cursor, StructDeclaration]] = field(default_factory=dict)
    """The structs whose members were read, without names, by their identity."""
    _spellings: dict[int, CType] = field(default_factory=dict)
    _shapes: dict[int, TypeShape] = field(default_factory=dict)
    _members: dict[int, tuple[Field, ...]] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)
    """The number of members at all depths, by the identity of the tuple in `_members`."""
    _pragmas: dict[int, tuple[tuple[int, bytes], ...]] = field(default_factory=dict)
    _depth: int = 0

    def spell(self, ctype: Type, depth: int = 0) -> CType:
        """Return the spelling of a type, built from its structure."""
        key = ctype.data[0]
        if key not in self._spellings:
            inner = self._spell_unqualified(ctype, depth)
            for qualifier in self._qualifiers(ctype):
                inner = add_qualifier(inner, qualifier)
            self._spellings[key] = inner
        return self._spellings[key]

    def _qualifiers(self, ctype: Type) -> list[str]:
        """Return the qualifiers of a type, innermost first; `const` is last and so printed first: `const
        volatile int`.
        """
        lib = self.lib
        tests = (
            ("restrict", lib.clang_isRestrictQualifiedType),
            ("volatile", lib.clang_isVolatileQualifiedType),
            ("const", lib.clang_isConstQualifiedType),
        )
        return [name for name, is_qualified in tests if is_qualified(ctype)]

    def _spell_unqualified(self, ctype: Type, depth: int) -> CType:
        kind, lib = ctype.kind, self.lib
        if kind in BASE_TYPES:
            return CType(BASE_TYPES[kind])
        if kind in (RECORD, ENUM, TYPEDEF):
            return CType(self._tag(ctype, kind))
        if depth > DEEPEST:
            return CType(libclang.text(lib, lib.clang_getTypeSpelling(ctype)))
        if kind in (POINTER, BLOCK_POINTER):
            return pointer_to(self.spell(lib.clang_getPointeeType(ctype), depth + 1))
        if kind in (*ARRAYS, VECTOR, EXT_VECTOR):
            element = self.spell(lib.clang_getElementType(ctype), depth + 1)
            count = count_elements(lib, ctype)
            if kind in ARRAYS:
                return array_of(element, count)
            return CType(f"__attribute__((__vector_size__({count} * sizeof({element})))) {element}")
        if kind in (PROTOTYPE, UNPROTOTYPED):
            return self._function(ctype, depth)
        if kind == ELABORATED:
            return self.spell(lib.clang_Type_getNamedType(ctype), depth + 1)
        return self._rare(ctype, depth)

    def _rare(self, ctype: Type, depth: int) -> CType:
        """Return the spelling of atomic, complex and attributed types, and of those that libclang does not
        resolve (`typeof`).
        """
        lib = self.lib
        if ctype.kind == ATOMIC:
            self.has_atomics = True
            return add_qualifier(self.spell(lib.clang_Type_getValueType(ctype), depth + 1), "_Atomic")
        if ctype.kind == COMPLEX:
            return CType(f"complex {self.spell(lib.clang_getElementType(ctype), depth + 1)}")
        if ctype.kind in (ATTRIBUTED, TAG_ATTRIBUTED):
            return self.spell(lib.clang_Type_getModifiedType(ctype), depth + 1)
        canonical = lib.clang_getCanonicalType(ctype)
        if canonical.kind != ctype.kind:
            return self._spell_unqualified(canonical, depth + 1)
        return CType(libclang.text(lib, lib.clang_getTypeSpelling(ctype)))

    def _tag(self, ctype: Type, kind: int) -> str:
        declaration = self.lib.clang_getTypeDeclaration(ctype)
        if kind == TYPEDEF:
            return libclang.spelling(self.lib, declaration)
        word = {libclang.STRUCT: "struct", libclang.UNION: "union"}.get(declaration.kind, "enum")
        name = self.tag(declaration)
        return f"{word} {name}" if name else f"{word} {UNTAGGED}"

    def tag(self, declaration: Cursor) -> str:
        """Return the tag of a struct, union or enum; empty if it has none, even if a typedef names it."""
        lib = self.lib
        if lib.clang_Cursor_isAnonymous(declaration):
            return ""
        # Only a typedef's name for an untagged one is spelled without `struct`.
        type_spelling = libclang.text(lib, lib.clang_getTypeSpelling(lib.clang_getCursorType(declaration)))
        return libclang.spelling(lib, declaration) if " " in type_spelling else ""

    def _function(self, ctype: Type, depth: int) -> CType:
        lib = self.lib
        result = self.spell(lib.clang_getResultType(ctype), depth + 1)
        if ctype.kind == UNPROTOTYPED:
            return function_of(result, ())
        count = lib.clang_getNumArgTypes(ctype)
        words = [str(self._parameter(lib.clang_getArgType(ctype, i), depth + 1)) for i in range(count)]
        if lib.clang_isFunctionTypeVariadic(ctype):
            words.append("...")
        return function_of(result, tuple(words) or ("void",))

    def _parameter(self, ctype: Type, depth: int) -> CType:
        """Return a parameter's type as adjusted by C11 6.7.6.3p7: libclang gives arrays and functions as
        written.
        """
        lib = self.lib
        kind = lib.clang_getCanonicalType(ctype).kind
        if kind in (PROTOTYPE, UNPROTOTYPED):
            return pointer_to(self.spell(ctype, depth))
        if kind not in ARRAYS:
            return self.spell(ctype, depth)
        outer: list[str] = []
        while ctype.kind in (ELABORATED, TYPEDEF):
            outer += self._qualifiers(ctype)
            if ctype.kind == TYPEDEF:
                ctype = lib.clang_getTypedefDeclUnderlyingType(lib.clang_getTypeDeclaration(ctype))
            else:
                ctype = lib.clang_Type_getNamedType(ctype)
        element = self.spell(lib.clang_getElementType(ctype), depth)
        for qualifier in outer:
            element = add_qualifier(element, qualifier)
        return pointer_to(element)

    def shape(self, ctype: Type) -> TypeShape:
        """Return size, alignment, dimensions and members of a type, through its typedefs."""
        key = ctype.data[0]
        if key not in self._shapes:
            self._shapes[key] = self._shape(ctype)
        return self._shapes[key]

    def _shape(self, ctype: Type) -> TypeShape:
        lib = self.lib
        size, align = lib.clang_Type_getSizeOf(ctype), lib.clang_Type_getAlignOf(ctype)
        if self.gcc is not None and size >= 0:
            size, align = self.gcc.type_of(ctype).bit_size // 8, self.gcc.alignment_of(ctype)
        element, dims = self.element(lib, ctype)
        aggregate: Aggregate | None = None
        members: tuple[Field, ...] = ()
        if element.kind == RECORD:
            declaration = lib.clang_getCursorDefinition(lib.clang_getTypeDeclaration(element))
            aggregate = "union" if lib.clang_getTypeDeclaration(element).kind == libclang.UNION else "struct"
            members = self.members(declaration)
        element_bits = self.shape(element).bit_size if dims and not dims[0] else None
        if dims and dims[0] is None:
            size = 0
        return TypeShape(
            size * 8 if size >= 0 else None,
            align if align > 0 else None,
            aggregate,
            dims,
            members,
            element_bits or None,
        )

    def _alignment(self, ctype: Type) -> int | None:
        if self.gcc is not None:
            return self.gcc.alignment_of(ctype)
        align = int(self.lib.clang_Type_getAlignOf(ctype))
        return align if align > 0 else None

    @staticmethod
    def element(lib: Any, ctype: Type) -> tuple[Type, tuple[int | None, ...]]:
        """Return the element type of a multi-dimensional array, through typedefs, and its dimensions."""
        dims: list[int | None] = []
        ctype = lib.clang_getCanonicalType(ctype)
        while ctype.kind in ARRAYS or ctype.kind == ATOMIC:
            if ctype.kind == ATOMIC:
                ctype = lib.clang_getCanonicalType(lib.clang_Type_getValueType(ctype))
                continue
            dims.append(count_elements(lib, ctype))
            ctype = lib.clang_getCanonicalType(lib.clang_getElementType(ctype))
        return ctype, tuple(dims)

    def members(self, record: Cursor) -> tuple[Field, ...]:
        """Return the fields of a struct or union in declared order, without unnamed bit-fields."""
        key = record.data[0]
        if key is None:
            return ()
        if key not in self._members:
            if self._depth > DEEPEST:
                place = self.places.source(record)
                raise ReadError(place.file, f"line {place.line}: structs are nested more than {DEEPEST} deep")
            self._members[key] = ()  # for a struct that embeds itself, which is an error
            self._depth += 1
            cursors = libclang.fields_of(self.lib, self.lib.clang_getCursorType(record))
            if len(cursors) > _MOST_FIELDS:
                place = self.places.source(record)
                raise ReadError(
                    place.file, f"line {place.line}: a struct has more than {_MOST_FIELDS:,} fields"
                )
            self._refuse_too_large(record, cursors)
            number = self._count_in_all(record, cursors)
            offsets = self._offsets(record, cursors)
            fields = [self._field(cursor, offset) for cursor, offset in zip(cursors, offsets, strict=True)]
            self._depth -= 1
            widths = map(self.lib.clang_getFieldDeclBitWidth, cursors)
            members = place_unnamed_bits(zip(fields, offsets, widths, strict=True))
            self._members[key], self._numbers[id(members)] = members, number
            if self.with_marks:
                self.declared[key] = record, self._declaration(record, cursors, fields)
        return self._members[key]

    def _count_in_all(self, record: Cursor, cursors: list[Cursor]) -> int:
        """Return the number of members at all depths. Raises ReadError for too many."""
        shapes = (self.shape(self.lib.clang_getCursorType(cursor)) for cursor in cursors)
        number = len(cursors) + sum(self._numbers.get(id(shape.members), 0) for shape in shapes)
        if number > _MOST_IN_ALL:
            place = self.places.source(record)
            reason = f"a struct has more than {_MOST_IN_ALL:,} fields at all depths"
            raise ReadError(place.file, f"line {place.line}: {reason}")
        return number

    def _refuse_too_large(self, record: Cursor, cursors: list[Cursor]) -> None:
        """Raise ReadError for a struct of which libclang states wrong offsets and sizes."""
        types = map(self.lib.clang_getCursorType, cursors)
        if sum(max(0, self.lib.clang_Type_getSizeOf(type_)) for type_ in types) > _LARGEST:
            place = self.places.source(record)
            reason = "a struct has more than 2^59 bytes, in which libclang states wrong offsets"
            raise ReadError(place.file, f"line {place.line}: {reason}")

    def _offsets(self, record: Cursor, cursors: list[Cursor]) -> Sequence[int]:
        """Return the offset of each member, in bits."""
        if self.gcc is not None:
            return self.gcc.record(record).layout.bit_offsets
        return [max(0, self.lib.clang_Cursor_getOffsetOfField(cursor)) for cursor in cursors]

    def _declaration(
        self, record: Cursor, cursors: list[Cursor], converted: list[Field | None]
    ) -> StructDeclaration:
        """Return the declaration of a struct, with the attributes that debug information omits."""
        attributes_of_record = attributes.read_attributes(self.lib, record)
        members = [self._member(cursor, attributes_of_record.is_packed) for cursor in cursors]
        positions = iter(range(len(converted)))
        fields = tuple(None if member_field is None else next(positions) for member_field in converted)
        stated_align = self._alignment(self.lib.clang_getCursorType(record))
        packs = self._packs(record)
        return StructDeclaration(
            "",
            stated_align,
            fields,
            tuple(members),
            attributes_of_record.is_randomised,
            attributes_of_record.is_kept,
            packs,
        )

    def _packs(self, record: Cursor) -> bool:
        """Return whether a `#pragma pack` may be in force where a struct ends."""
        lib = self.lib
        end = Spot(lib, lib.clang_getRangeEnd(lib.clang_getCursorExtent(record)))
        if end.file is None:
            return False
        if end.file not in self._pragmas:
            self._pragmas[end.file] = pack_pragmas.pragmas(libclang.contents(lib, self.unit, end.file))
        return pack_pragmas.may_hold(self._pragmas[end.file], end.offset)

    def _member(self, cursor: Cursor, is_packed: bool) -> Member:
        lib = self.lib
        own_attributes = attributes.read_attributes(lib, cursor, self.alignments)
        shape = self.shape(lib.clang_getCursorType(cursor))
        size, unit = shape.bit_size, 0
        if lib.clang_Cursor_isBitField(cursor):
            size, unit = lib.clang_getFieldDeclBitWidth(cursor), (shape.bit_size or 0) // 8
        name = libclang.spelling(lib, cursor) or None
        return Member(
            name, size, shape.align, own_attributes.aligned, unit, is_packed or own_attributes.is_packed
        )

    def _field(self, cursor: Cursor, offset: int) -> Field | None:
        lib = self.lib
        name = libclang.spelling(lib, cursor)
        ctype = lib.clang_getCursorType(cursor)
        is_bits = bool(lib.clang_Cursor_isBitField(cursor))
        if is_bits and not name:
            return None
        shape = self.shape(ctype)
        size = lib.clang_getFieldDeclBitWidth(cursor) if is_bits else shape.bit_size
        is_named = bool(name) and not name.endswith(")")
        return Field(
            name=name if is_named else None,
            type=self._member_type(cursor, ctype) if is_named else self._anonymous_type(cursor, ctype),
            bit_offset=offset,
            bit_size=size,
            is_bitfield=is_bits,
            aggregate=shape.aggregate,
            dims=shape.dims,
            members=shape.members,
            align=shape.align if is_bits else self._member_alignment(cursor, shape.align),
            source=self.places.source(cursor),
            is_function_pointer=self._is_function_pointer(ctype),
            underlying_types=self._underlying_types(ctype, cursor),
            flexible_bits=shape.flexible_bits,
            unnamed_bits=() if is_bits else None,
        )

    def _member_type(self, member: Cursor, ctype: Type) -> CType:
        is_invalid = self.has_errors and self.lib.clang_isInvalidDeclaration(member)
        return UNKNOWN if is_invalid else self.spell(ctype)

    def variable(self, cursor: Cursor) -> Field:
        """Return a variable as a field at offset 0."""
        lib, ctype = self.lib, self.lib.clang_getCursorType(cursor)
        shape = self.shape(ctype)
        return Field(
            name=libclang.spelling(lib, cursor),
            type=self.spell(ctype),
            bit_offset=0,
            bit_size=shape.bit_size,
            aggregate=shape.aggregate,
            dims=shape.dims,
            members=shape.members,
            align=self._member_alignment(cursor, shape.align),
            source=self.places.source(cursor),
            underlying_types=self._underlying_types(ctype, cursor),
        )

    def _member_alignment(self, member: Cursor, of_type: int | None) -> int | None:
        """Return the alignment of a member other than a bit-field: its type's, or its own by `aligned`."""
        if not self.lib.clang_Cursor_hasAttrs(member):
            return of_type
        own_attributes = attributes.read_attributes(self.lib, member, self.alignments)
        if own_attributes.aligned is None or (own_attributes.aligned and own_attributes.is_packed):
            return own_attributes.aligned
        return of_type and max(of_type, own_attributes.aligned)

    def _underlying_types(self, ctype: Type, member: Cursor) -> tuple[CType, ...]:
        """Return the types that the typedef of a member, or of its array elements, refers to, outermost
        first.
        """
        lib, typedefs = self.lib, list[CType]()
        while True:
            inner = lib.clang_Type_getValueType(ctype) if ctype.kind == ATOMIC else unwrap(lib, ctype)
            if inner is None:
                return tuple(typedefs)
            if ctype.kind == TYPEDEF:
                typedefs.append(self.spell(inner))
            if len(typedefs) > _MOST_TYPEDEFS:
                place = self.places.source(member)
                reason = f"its type leads through more than {_MOST_TYPEDEFS:,} typedefs"
                raise ReadError(place.file, f"line {place.line}: {reason}")
            ctype = inner

    def _is_function_pointer(self, ctype: Type) -> bool:
        lib = self.lib
        element, _ = self.element(lib, ctype)
        if element.kind != POINTER:
            return False
        pointee = lib.clang_getCanonicalType(lib.clang_getPointeeType(element))
        return pointee.kind in (PROTOTYPE, UNPROTOTYPED)

    def _anonymous_type(self, field: Cursor, ctype: Type) -> CType:
        """Return the type of an anonymous member, with the qualifiers before it, which libclang omits."""
        lib = self.lib
        spelling = self.spell(ctype)
        record = lib.clang_getCursorExtent(lib.clang_getTypeDeclaration(ctype))
        start = Spot(lib, lib.clang_getRangeStart(lib.clang_getCursorExtent(field)))
        end = Spot(lib, lib.clang_getRangeStart(record))
        if start.file is None or start.file != end.file or start.offset >= end.offset:
            return spelling
        words = libclang.contents(lib, self.unit, start.file)[start.offset : end.offset].split()
        for qualifier in ("volatile", "const"):
            if qualifier.encode() in words:
                spelling = add_qualifier(spelling, qualifier)
        return spelling
