"""libclang's types and declarations as the model's words: CType, Field, sizes and offsets in bits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from layoutlint.errors import ReadError
from layoutlint.model.ctype import CType, array_of, function_of, pointer_to, qualified
from layoutlint.model.declared import Declared, Member
from layoutlint.model.structs import Aggregate, Field
from layoutlint.readers.clang import attributes, libclang
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor, Spot, Type

# enum CXTypeKind; base types are spelled as in GCC's debug information.
BASE_TYPES = {
    2: "void", 3: "_Bool", 4: "char", 5: "unsigned char", 6: "char16_t", 7: "char32_t",
    8: "short unsigned int", 9: "unsigned int", 10: "long unsigned int", 11: "long long unsigned int",
    12: "__int128 unsigned", 13: "char", 14: "signed char", 15: "wchar_t", 16: "short int", 17: "int",
    18: "long int", 19: "long long int", 20: "__int128", 21: "float", 22: "double", 23: "long double",
    30: "_Float128", 31: "_Float16", 32: "_Float16", 39: "__bf16", 40: "__ibm128",
}  # fmt: skip
COMPLEX, POINTER, BLOCK_POINTER, RECORD, ENUM, TYPEDEF = 100, 101, 102, 105, 106, 107
UNPROTOTYPED, PROTOTYPE = 110, 111
CONSTANT_ARRAY, VECTOR, INCOMPLETE_ARRAY, VARIABLE_ARRAY = 112, 113, 114, 115
ELABORATED, ATTRIBUTED, EXT_VECTOR, ATOMIC, TAG_ATTRIBUTED = 119, 163, 176, 177, 178
ARRAYS = (CONSTANT_ARRAY, INCOMPLETE_ARRAY, VARIABLE_ARRAY)
_MOST_TYPEDEFS = 256
"""Typedefs that stand for one another; libclang takes a time for each that grows with those behind it."""
_MOST_FIELDS = 10_000
"""Members of a struct; libclang takes a time for the offset of each that grows with their number."""
DEEPEST = 64
"""Types nested deeper are spelled by libclang, structs refused: no C that is written by hand goes so far."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a type is made of: its size, alignment, and what an element of it contains."""

    bit_size: int | None
    align: int | None
    aggregate: Aggregate | None
    dims: tuple[int | None, ...]
    members: tuple[Field, ...]


@dataclass(slots=True)
class Types:
    """The types of one translation unit; each is described once."""

    lib: Any
    unit: int
    places: Places
    with_marks: bool = False
    """Whether `declared` is filled, which takes time."""
    has_atomics: bool = False
    """Whether an atomic type was met."""
    declared: dict[int, tuple[Cursor, Declared]] = field(default_factory=dict)
    """The structs whose members were looked at, without names, by their identity."""
    _spelled: dict[int, CType] = field(default_factory=dict)
    _shapes: dict[int, Shape] = field(default_factory=dict)
    _members: dict[int, tuple[Field, ...]] = field(default_factory=dict)
    _pragmas: dict[int, tuple[tuple[int, bytes], ...]] = field(default_factory=dict)
    _depth: int = 0

    def spelled(self, of: Type, depth: int = 0) -> CType:
        """How a type is written, built from its structure."""
        key = of.data[0]
        if key not in self._spelled:
            inner = self._unqualified(of, depth)
            for qualifier in self._qualifiers(of):
                inner = qualified(inner, qualifier)
            self._spelled[key] = inner
        return self._spelled[key]

    def _qualifiers(self, of: Type) -> list[str]:
        """Innermost first; `const` comes last and so stands first: GCC writes `const volatile int`."""
        lib = self.lib
        asked = (
            ("restrict", lib.clang_isRestrictQualifiedType),
            ("volatile", lib.clang_isVolatileQualifiedType),
            ("const", lib.clang_isConstQualifiedType),
        )
        return [name for name, is_qualified in asked if is_qualified(of)]

    def _unqualified(self, of: Type, depth: int) -> CType:
        kind, lib = of.kind, self.lib
        if kind in BASE_TYPES:
            return CType(BASE_TYPES[kind])
        if kind in (RECORD, ENUM, TYPEDEF):
            return CType(self._tag(of, kind))
        if depth > DEEPEST:
            return CType(libclang.text(lib, lib.clang_getTypeSpelling(of)))
        if kind in (POINTER, BLOCK_POINTER):
            return pointer_to(self.spelled(lib.clang_getPointeeType(of), depth + 1))
        if kind in (*ARRAYS, VECTOR, EXT_VECTOR):
            element = self.spelled(lib.clang_getElementType(of), depth + 1)
            count = _count(lib, of)
            if kind in ARRAYS:
                return array_of(element, count)
            return CType(f"__attribute__((__vector_size__({count} * sizeof({element})))) {element}")
        if kind in (PROTOTYPE, UNPROTOTYPED):
            return self._function(of, depth)
        if kind == ELABORATED:
            return self.spelled(lib.clang_Type_getNamedType(of), depth + 1)
        return self._rare(of, depth)

    def _rare(self, of: Type, depth: int) -> CType:
        """Atomic, complex and attributed types, and those that libclang does not open (`typeof`)."""
        lib = self.lib
        if of.kind == ATOMIC:
            self.has_atomics = True
            return qualified(self.spelled(lib.clang_Type_getValueType(of), depth + 1), "_Atomic")
        if of.kind == COMPLEX:
            return CType(f"complex {self.spelled(lib.clang_getElementType(of), depth + 1)}")
        if of.kind in (ATTRIBUTED, TAG_ATTRIBUTED):
            return self.spelled(lib.clang_Type_getModifiedType(of), depth + 1)
        canonical = lib.clang_getCanonicalType(of)
        if canonical.kind != of.kind:
            return self._unqualified(canonical, depth + 1)
        return CType(libclang.text(lib, lib.clang_getTypeSpelling(of)))

    def _tag(self, of: Type, kind: int) -> str:
        declaration = self.lib.clang_getTypeDeclaration(of)
        if kind == TYPEDEF:
            return libclang.spelling(self.lib, declaration)
        word = {libclang.STRUCT: "struct", libclang.UNION: "union"}.get(declaration.kind, "enum")
        name = self.tag(declaration)
        return f"{word} {name}" if name else f"{word} {{...}}"

    def tag(self, declaration: Cursor) -> str:
        """The tag of a struct, union or enum; empty when it has none, even if a typedef names it."""
        lib = self.lib
        if lib.clang_Cursor_isAnonymous(declaration):
            return ""
        # Only a typedef's name for an untagged one is spelled without `struct`.
        written = libclang.text(lib, lib.clang_getTypeSpelling(lib.clang_getCursorType(declaration)))
        return libclang.spelling(lib, declaration) if " " in written else ""

    def _function(self, of: Type, depth: int) -> CType:
        lib = self.lib
        result = self.spelled(lib.clang_getResultType(of), depth + 1)
        if of.kind == UNPROTOTYPED:
            return function_of(result, ())
        count = lib.clang_getNumArgTypes(of)
        words = [str(self._parameter(lib.clang_getArgType(of, i), depth + 1)) for i in range(count)]
        if lib.clang_isFunctionTypeVariadic(of):
            words.append("...")
        return function_of(result, tuple(words) or ("void",))

    def _parameter(self, of: Type, depth: int) -> CType:
        """A parameter's type adjusted (C11 6.7.6.3p7): libclang gives arrays and functions as written."""
        lib = self.lib
        kind = lib.clang_getCanonicalType(of).kind
        if kind in (PROTOTYPE, UNPROTOTYPED):
            return pointer_to(self.spelled(of, depth))
        if kind not in ARRAYS:
            return self.spelled(of, depth)
        outer: list[str] = []
        while of.kind in (ELABORATED, TYPEDEF):
            outer += self._qualifiers(of)
            if of.kind == TYPEDEF:
                of = lib.clang_getTypedefDeclUnderlyingType(lib.clang_getTypeDeclaration(of))
            else:
                of = lib.clang_Type_getNamedType(of)
        element = self.spelled(lib.clang_getElementType(of), depth)
        for qualifier in outer:
            element = qualified(element, qualifier)
        return pointer_to(element)

    def shape(self, of: Type) -> Shape:
        """Size, alignment, dimensions and members of a type, seen through its typedefs."""
        key = of.data[0]
        if key not in self._shapes:
            self._shapes[key] = self._shape(of)
        return self._shapes[key]

    def _shape(self, of: Type) -> Shape:
        lib = self.lib
        size, align = lib.clang_Type_getSizeOf(of), lib.clang_Type_getAlignOf(of)
        element, dims = self.element(lib, of)
        aggregate: Aggregate | None = None
        members: tuple[Field, ...] = ()
        if element.kind == RECORD:
            declaration = lib.clang_getCursorDefinition(lib.clang_getTypeDeclaration(element))
            aggregate = "union" if lib.clang_getTypeDeclaration(element).kind == libclang.UNION else "struct"
            members = self.members(declaration)
        if dims and dims[0] is None:
            size = 0
        return Shape(size * 8 if size >= 0 else None, align if align > 0 else None, aggregate, dims, members)

    @staticmethod
    def element(lib: Any, of: Type) -> tuple[Type, tuple[int | None, ...]]:
        """What the elements of a (typedef of a) many-dimensional array are, and its dimensions."""
        dims: list[int | None] = []
        of = lib.clang_getCanonicalType(of)
        while of.kind in ARRAYS or of.kind == ATOMIC:
            if of.kind == ATOMIC:
                of = lib.clang_getCanonicalType(lib.clang_Type_getValueType(of))
                continue
            dims.append(_count(lib, of))
            of = lib.clang_getCanonicalType(lib.clang_getElementType(of))
        return of, tuple(dims)

    def members(self, record: Cursor) -> tuple[Field, ...]:
        """The fields of a struct or union's definition, in declared order, without unnamed bit-fields."""
        key = record.data[0]
        if key is None:
            return ()
        if key not in self._members:
            if self._depth > DEEPEST:
                place = self.places.source(record)
                raise ReadError(place.file, f"line {place.line}: structs are nested more than {DEEPEST} deep")
            self._depth += 1
            cursors = libclang.fields_of(self.lib, self.lib.clang_getCursorType(record))
            if len(cursors) > _MOST_FIELDS:
                place = self.places.source(record)
                raise ReadError(
                    place.file, f"line {place.line}: a struct has more than {_MOST_FIELDS:,} fields"
                )
            found = [self._field(cursor) for cursor in cursors]
            self._depth -= 1
            self._members[key] = tuple(member for member in found if member is not None)
            if self.with_marks:
                self.declared[key] = record, self._declared(record, cursors, found)
        return self._members[key]

    def _declared(self, record: Cursor, cursors: list[Cursor], found: list[Field | None]) -> Declared:
        """A struct with the attributes that debug information does not show."""
        has = attributes.of(self.lib, record)
        members = [self._member(cursor, has.is_packed) for cursor in cursors]
        positions = iter(range(len(found)))
        fields = tuple(None if one is None else next(positions) for one in found)
        align = self.lib.clang_Type_getAlignOf(self.lib.clang_getCursorType(record))
        known = align if align > 0 else None
        packs = self._packs(record)
        return Declared("", known, fields, tuple(members), has.is_randomised, has.is_kept, packs)

    def _packs(self, record: Cursor) -> bool:
        """Whether a `#pragma pack` may hold where a struct ends."""
        lib = self.lib
        end = Spot(lib, lib.clang_getRangeEnd(lib.clang_getCursorExtent(record)))
        if end.file is None:
            return False
        if end.file not in self._pragmas:
            self._pragmas[end.file] = attributes.pragmas(libclang.contents(lib, self.unit, end.file))
        return attributes.may_hold(self._pragmas[end.file], end.offset)

    def _member(self, cursor: Cursor, is_packed: bool) -> Member:
        lib = self.lib
        has = attributes.of(lib, cursor)
        shape = self.shape(lib.clang_getCursorType(cursor))
        size, unit = shape.bit_size, 0
        if lib.clang_Cursor_isBitField(cursor):
            size, unit = lib.clang_getFieldDeclBitWidth(cursor), (shape.bit_size or 0) // 8
        name = libclang.spelling(lib, cursor) or None
        return Member(name, size, shape.align, has.aligned, unit, is_packed or has.is_packed)

    def _field(self, cursor: Cursor) -> Field | None:
        lib = self.lib
        name = libclang.spelling(lib, cursor)
        of = lib.clang_getCursorType(cursor)
        is_bits = bool(lib.clang_Cursor_isBitField(cursor))
        if is_bits and not name:
            return None
        shape = self.shape(of)
        size = lib.clang_getFieldDeclBitWidth(cursor) if is_bits else shape.bit_size
        is_named = bool(name) and not name.endswith(")")
        return Field(
            name=name if is_named else None,
            type=self.spelled(of) if is_named else self._unnamed(cursor, of),
            bit_offset=max(0, lib.clang_Cursor_getOffsetOfField(cursor)),
            bit_size=size,
            is_bitfield=is_bits,
            aggregate=shape.aggregate,
            dims=shape.dims,
            members=shape.members,
            align=shape.align if is_bits else self._aligned(cursor, shape.align),
            source=self.places.source(cursor),
            is_function_pointer=self._is_function_pointer(of),
            stands_for=self._stands_for(of, cursor),
        )

    def _aligned(self, member: Cursor, of_type: int | None) -> int | None:
        """The alignment of a member that is no bit-field: its type's, or what its own `aligned` makes it."""
        if not self.lib.clang_Cursor_hasAttrs(member):
            return of_type
        has = attributes.of(self.lib, member)
        if has.aligned is None or (has.aligned and has.is_packed):
            return has.aligned
        return of_type and max(of_type, has.aligned)

    def _stands_for(self, of: Type, member: Cursor) -> tuple[CType, ...]:
        """What the type of a member, or of an array's elements, is a typedef of, outermost first."""
        lib, found = self.lib, list[CType]()
        while True:
            if of.kind in ARRAYS:
                of = lib.clang_getElementType(of)
            elif of.kind == ELABORATED:
                of = lib.clang_Type_getNamedType(of)
            elif of.kind in (ATTRIBUTED, TAG_ATTRIBUTED):
                of = lib.clang_Type_getModifiedType(of)
            elif of.kind == ATOMIC:
                of = lib.clang_Type_getValueType(of)
            elif of.kind == TYPEDEF:
                of = lib.clang_getTypedefDeclUnderlyingType(lib.clang_getTypeDeclaration(of))
                found.append(self.spelled(of))
                if len(found) > _MOST_TYPEDEFS:
                    place = self.places.source(member)
                    reason = (
                        f"its type stands for more than {_MOST_TYPEDEFS:,} typedefs, one behind the other"
                    )
                    raise ReadError(place.file, f"line {place.line}: {reason}")
            else:
                return tuple(found)

    def _is_function_pointer(self, of: Type) -> bool:
        lib = self.lib
        element, _ = self.element(lib, of)
        if element.kind != POINTER:
            return False
        pointee = lib.clang_getCanonicalType(lib.clang_getPointeeType(element))
        return pointee.kind in (PROTOTYPE, UNPROTOTYPED)

    def _unnamed(self, field: Cursor, of: Type) -> CType:
        """The type of an anonymous member; libclang leaves out the qualifiers that stand before it."""
        lib = self.lib
        spelled = self.spelled(of)
        record = lib.clang_getCursorExtent(lib.clang_getTypeDeclaration(of))
        start = Spot(lib, lib.clang_getRangeStart(lib.clang_getCursorExtent(field)))
        end = Spot(lib, lib.clang_getRangeStart(record))
        if start.file is None or start.file != end.file or start.offset >= end.offset:
            return spelled
        written = libclang.contents(lib, self.unit, start.file)[start.offset : end.offset].split()
        for qualifier in ("volatile", "const"):
            if qualifier.encode() in written:
                spelled = qualified(spelled, qualifier)
        return spelled


def _count(lib: Any, array: Type) -> int | None:
    if array.kind == INCOMPLETE_ARRAY:
        return None
    return max(0, int(lib.clang_getNumElements(array)))
