"""gcc's layouts of the structs of a parsed unit, where they can differ from libclang's.

libclang states the declarations. It also states the layout of a struct whose members are as large and aligned
to gcc as to clang, without attributes, bit-fields and `#pragma pack`. Of all others, gcc's is computed
(gcc_records), and clang's as well (clang_records): if that is libclang's, all that decides it is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from layoutlint.model.record import Record, field, replace
from layoutlint.model.target import Target
from layoutlint.readers import scalars
from layoutlint.readers.c_tokens import number
from layoutlint.readers.clang import (
    attributes,
    clang_records,
    gcc_records,
    libclang,
    type_kinds,
)
from layoutlint.readers.clang.build_compiler import Compiler
from layoutlint.readers.clang.clang_records import ClangRules
from layoutlint.readers.clang.gcc_records import GccRules
from layoutlint.readers.clang.gcc_texts import BlankedAttribute
from layoutlint.readers.clang.libclang import Cursor, Spot, Type
from layoutlint.readers.clang.measured_types import MeasuredTypes
from layoutlint.readers.clang.record_facts import (
    UNKNOWN,
    MemberFacts,
    Mode,
    RecordFacts,
    RecordLayout,
    TypeFacts,
)
from layoutlint.readers.clang.struct_texts import PACKS, Attribute, StructTexts

_SIZED = re.compile(r"\b(?P<operator>sizeof|_Alignof|__alignof(?:__)?)\s*\((?P<type>[\w ]+[ *]*)\)")
_SIZES = {
    "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4,
    "unsigned int": 4, "long long": 8, "unsigned long long": 8, "float": 4, "double": 8,
    "__float128": 16, "_Float128": 16,
}  # fmt: skip
"""The bytes of scalars, which are their `__alignof__` as well."""
_LONG_DOUBLES = {"i386": 4, "arm": 8, "armeb": 8, "mips": 8, "mipsel": 8, "s390x": 8}
"""The alignment of `long double` in bytes where it is not 16."""
_FIXED = re.compile(r"_{0,2}[us](8|16|32|64)|u?int(8|16|32|64)_t")
"""Names of integers that state their bits."""
_MEASURED_OTHERWISE = (
    "a `sizeof`, alignment or `offsetof` in it is of a type that gcc lays out otherwise than clang"
)
_INTEGERS = frozenset((3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20))
"""Kinds of integers (enum CXTypeKind)."""
_MODES = (0, 8, 16, 32, 64)
"""The bits of what has a mode in a struct of 8 bytes."""
_DOUBLE, _LONG_DOUBLE = 22, 23
_X87 = {("i386", 12): 4, ("x86_64", 16): 16, ("x32", 16): 16}
"""The alignment of `long double` in bytes by target and size: for clang, it is 8 under -malign-double."""
_MS_TARGETS = ("x86_64", "x32", "i386", "powerpc", "powerpc64", "powerpc64le")
"""The targets on which gcc has `ms_struct` and `gcc_struct`."""
_BARE_IS_16 = ("x86_64", "x32", "i386")
"""The targets on which registers of more than 16 bytes leave `aligned` without a number alone."""
_AAPCS = ("arm", "armeb", "aarch64", "aarch64_be")
_WORDS = ("arm", "armeb", "mips", "mipsel", "s390x")
"""The targets whose largest alignment is 8 bytes to gcc (BIGGEST_ALIGNMENT)."""


_LAST_WITHOUT_QUADWORDS = 12
"""The last gcc that aligns atomic types of 16 bytes to 8 on s390x."""
_MMX = re.compile(
    r"-m(?:mmx|3dnow|sse\w*|ssse3|avx\w*|fma|f16c)|-march=(?!i[3456]86$|pentium$|pentiumpro$|lakemont$)(?!native).*"
)
"""Flags under which i386 has registers for vectors of 8 bytes."""
_NO_MMX = re.compile(r"-mno-mmx|-march=(?:i[3456]86|pentium|pentiumpro|lakemont)|--target=i[3456]86-.*")


_VX = re.compile(r"-march=(?:z1[3-7]|arch1[1-5])")
_NO_VX = re.compile(r"-march=(?:z900|z990|z9-109|z9-ec|z10|z196|zEC12|arch[5-9]|arch10)")
"""Processors of s390x with and without registers for vectors (GCC manual, "S/390 and zSeries Options")."""


class SettledRecord(Record, frozen=True):
    """A struct to gcc."""

    layout: RecordLayout
    problem: str | None = None
    """Why gcc's layout is not known; None if it is."""
    is_user_aligned: bool = False
    has_scalars: bool = False
    """Whether all its members are scalars."""
    has_no_mode: bool = False
    """Whether a member has no mode: a vector without registers, or `[]`."""
    is_open: bool = False
    """Whether its members are being read: until then, only pointers to it have a size."""


class GccLayouts(Record, dict=True):
    """gcc's types and layouts of one unit; each is computed once."""

    lib: Any
    unit: int
    target: Target
    flags: tuple[str, ...]
    """The flags for libclang."""
    compiler: Compiler
    blanked: tuple[BlankedAttribute, ...] = ()
    """The alignments that libclang does not see."""
    _types: dict[int, TypeFacts] = field(default_factory=dict)
    _records: dict[int, SettledRecord] = field(default_factory=dict)

    def type_of(self, ctype: Type) -> TypeFacts:
        """Return a type to gcc."""
        key = ctype.data[0]
        if key not in self._types:
            self._types[key] = self._type(ctype)
        return self._types[key]

    def alignment_of(self, ctype: Type) -> int:
        """Return the alignment of a type, in bytes (min_align_of_type, which is `_Alignof`)."""
        facts = self.type_of(ctype)
        align = gcc_records.field_alignment(facts, self._rules)
        return align if facts.is_user_aligned else min(align, self._rules.biggest_align)

    def record(self, definition: Cursor) -> SettledRecord:
        """Return gcc's layout of a struct or union from its definition."""
        key = definition.data[0]
        if key not in self._records:
            # One that embeds itself, which is an error, has no layout.
            self._records[key] = SettledRecord(RecordLayout(0, 1, ()), is_open=True)
            self._records[key] = self._settle(definition)
        return self._records[key]

    @cached_property
    def _measured(self) -> MeasuredTypes:
        return MeasuredTypes(self.lib, self.unit, self)

    def _has_other_numbers(self, cursor: Cursor) -> bool:
        """Return whether a number in a declaration may not be the one that libclang computes."""
        canonical = self.lib.clang_getCanonicalType(self.lib.clang_getCursorType(cursor))
        counts = canonical.kind in type_kinds.ARRAYS or self.lib.clang_Cursor_isBitField(cursor)
        if counts and self._measured.differ_in(cursor):
            return True
        aligned = (each for each in self._texts.attributes(cursor) if each.kind == libclang.ALIGNED)
        unclear = (f"{each.text} {each.argument or ''}" for each in aligned if self._value(each) == UNKNOWN)
        return any(map(self._measured.differ_in_text, unclear))

    # Types

    def _type(self, ctype: Type) -> TypeFacts:
        """Return a type to gcc, which forgets alignments of qualified types (gcc 9 to 16)."""
        facts, qualifiers = self._unqualified_type(ctype), self._qualifiers(ctype)
        if facts.atomic_align is not None and qualifiers:
            return replace(facts, align=max(facts.align, facts.atomic_align))
        if facts.is_array and facts.qualifiers and not qualifiers <= facts.qualifiers:
            return _without_typedefs(facts)
        return facts

    def _qualifiers(self, ctype: Type) -> frozenset[str]:
        lib = self.lib
        names = ("const",) if lib.clang_isConstQualifiedType(ctype) else ()
        return frozenset((*names, "volatile") if lib.clang_isVolatileQualifiedType(ctype) else names)

    def _unqualified_type(self, ctype: Type) -> TypeFacts:
        kind, lib = ctype.kind, self.lib
        if kind == type_kinds.TYPEDEF:
            return self._typedef(lib.clang_getTypeDeclaration(ctype))
        if kind in type_kinds.ARRAYS:
            return self._array(lib.clang_getElementType(ctype), type_kinds.count_elements(lib, ctype) or 0)
        inner = type_kinds.unwrap(lib, ctype)
        if inner is not None:
            return self.type_of(inner)
        if kind == type_kinds.RECORD:
            return self._record_type(ctype)
        if kind == type_kinds.ATOMIC:
            return self._atomic(self.type_of(lib.clang_Type_getValueType(ctype)))
        if kind == type_kinds.COMPLEX:
            return self._complex(lib.clang_getElementType(ctype))
        canonical = lib.clang_getCanonicalType(ctype)
        return self._scalar(ctype) if canonical.kind == kind else self._of_expression(ctype, canonical)

    def _of_expression(self, ctype: Type, canonical: Type) -> TypeFacts:
        """Return a `typeof`, whose typedefs libclang does not state; gcc keeps those of some expressions."""
        facts, lib = self.type_of(canonical), self.lib
        if lib.clang_Type_getAlignOf(ctype) == lib.clang_Type_getAlignOf(canonical):
            return facts
        return replace(facts, problem=facts.problem or "gcc may align a `typeof` in it otherwise than clang")

    def _array(self, ctype: Type, count: int) -> TypeFacts:
        """Return an array of some elements. Of qualified and atomic ones, gcc forgets alignments."""
        element = self.type_of(ctype)
        if element.qualifiers or element.atomic_align is not None:
            element = _without_typedefs(element)
        if self.blanked and element.bit_size % (element.align * 8):
            element = replace(
                element, problem="gcc rejects an array of elements that are aligned above their size"
            )
        return replace(
            element, bit_size=element.bit_size * count, is_array=True, atomic_align=None,
            element_qualifiers=element.element_qualifiers | self._qualifiers(ctype),
        )  # fmt: skip

    def _typedef(self, declaration: Cursor) -> TypeFacts:
        """Return the type of a typedef."""
        underlying = self.lib.clang_getTypedefDeclUnderlyingType(declaration)
        facts = self.type_of(underlying)
        qualifiers = facts.qualifiers | facts.element_qualifiers | self._qualifiers(underlying)
        if facts.problem is None and self._has_other_numbers(declaration):
            facts = replace(facts, problem=_MEASURED_OTHERWISE)
        return self._align_type(replace(facts, qualifiers=qualifiers), declaration)

    def _align_type(self, facts: TypeFacts, declaration: Cursor) -> TypeFacts:
        """Return a type with the last `aligned` of its declaration (common_handle_aligned_attribute)."""
        stated = [each for each in self._texts.attributes(declaration) if each.kind == libclang.ALIGNED]
        if not stated:
            return facts
        if declaration.kind == libclang.TYPEDEF:
            # Those before the name come last (c_parser_declaration_or_fndef).
            name = Spot(self.lib, self.lib.clang_getCursorLocation(declaration)).offset
            stated.sort(key=lambda attribute: attribute.offset < name)
        value = self._value(stated[-1])
        if value == UNKNOWN and len(stated) == 1:
            value = int(self.lib.clang_Type_getAlignOf(self.lib.clang_getCursorType(declaration)))
        problem = "the value of an `aligned` is not known" if value == UNKNOWN else facts.problem
        if facts.plain_align is None:
            facts = replace(facts, plain_align=facts.align, is_plain_user_aligned=facts.is_user_aligned)
        return replace(facts, align=max(1, value), is_user_aligned=True, problem=problem)

    def _value(self, attribute: Attribute) -> int:
        """Return the bytes of an `aligned`; UNKNOWN if they are not computed here."""
        argument = attribute.argument
        if argument is None:
            return UNKNOWN
        if not argument:  # ATTRIBUTE_ALIGNED_VALUE
            return 16 if self.target.name in _BARE_IS_16 else self._rules.biggest_align
        of_type = self._size(argument, is_alignment=True)
        return of_type or attributes.alignment(_SIZED.sub(self._number, argument), None) or UNKNOWN

    def _number(self, expression: re.Match[str]) -> str:
        """Return the value of a `sizeof` or `alignof` of a scalar, which costs no other parse of the unit."""
        operator, name = expression["operator"], expression["type"].strip()
        if operator != "sizeof" and name == "long double":
            return str(self._long_double_align)
        size = self._size(name, is_alignment=operator == "_Alignof")
        return expression[0] if size is None else str(size)

    @cached_property
    def _long_double_align(self) -> int:
        """The alignment of `long double` in bytes."""
        stated = [word for word in self.flags if word.startswith("-mlong-double-")]
        if not stated:
            return _LONG_DOUBLES.get(self.target.name, 16)
        is_narrow = stated[-1] == "-mlong-double-64"
        return (4 if self._rules.narrows_fields else 8) if is_narrow or self.target.name == "s390x" else 16

    def _size(self, name: str, is_alignment: bool) -> int | None:
        """Return the bytes of a scalar, or its alignment in a struct; None if its name is not known here."""
        own = self.target.pointer_size
        is_windows = any(word.startswith("--target=") and "windows" in word for word in self.flags)
        sizes = {**_SIZES, "long": 4 if is_windows else own, "unsigned long": 4 if is_windows else own}
        if is_alignment:
            sizes["long double"] = self._long_double_align
        fixed = _FIXED.fullmatch(name.strip())
        size = own if name.rstrip().endswith("*") else sizes.get(name.strip())
        size = size if fixed is None else int(fixed[1] or fixed[2]) // 8
        return 4 if size == 8 and is_alignment and self._rules.narrows_fields else size

    def _record_type(self, ctype: Type) -> TypeFacts:
        definition = self.lib.clang_getCursorDefinition(self.lib.clang_getTypeDeclaration(ctype))
        if definition.data[0] is None:
            return TypeFacts(0, 1)
        settled = self.record(definition)
        layout, problem, mode = settled.layout, settled.problem, Mode.OTHER
        if self._rules.narrows_fields and layout.bit_size == 64 and layout.align == 8:
            # Its mode decides (compute_record_mode): an integer's, if no member has none.
            mode = Mode.OTHER if settled.has_no_mode else Mode.INTEGER
            if not settled.has_scalars and not settled.is_user_aligned:
                problem = problem or "gcc may align it to 4 in a struct"
        return TypeFacts(
            layout.bit_size, layout.align, settled.is_user_aligned, mode, problem=problem, is_record=True
        )

    def _atomic(self, value: TypeFacts) -> TypeFacts:
        """Return an atomic type; i386 aligns it as a whole also in structs."""
        by_gcc = scalars.atomic(self.target, value.bit_size, value.align, 0, is_rounded=False)
        problem = value.problem
        version = self.compiler.version
        if by_gcc.possible and not (version and version[0] <= _LAST_WITHOUT_QUADWORDS):
            problem = problem or "its alignment depends on the version of gcc"
        return TypeFacts(
            value.bit_size, by_gcc.align, value.is_user_aligned, problem=problem,
            plain_align=value.align, is_plain_user_aligned=value.is_user_aligned, atomic_align=by_gcc.align,
        )  # fmt: skip

    def _complex(self, element: Type) -> TypeFacts:
        part = self.type_of(element)
        is_narrow = part.mode in gcc_records.NARROWED
        return replace(part, bit_size=part.bit_size * 2, mode=Mode.DOUBLE if is_narrow else Mode.OTHER)

    def _scalar(self, ctype: Type) -> TypeFacts:
        """Return a scalar, an enum, a pointer or a vector."""
        lib, kind = self.lib, ctype.kind
        size, align = max(0, lib.clang_Type_getSizeOf(ctype)), max(1, lib.clang_Type_getAlignOf(ctype))
        if kind == type_kinds.ENUM:  # gcc ignores its `aligned` (finish_enum)
            return self.type_of(lib.clang_getEnumDeclIntegerType(lib.clang_getTypeDeclaration(ctype)))
        if kind in (type_kinds.VECTOR, type_kinds.EXT_VECTOR):
            return self._vector(size, lib.clang_getElementType(ctype).kind in _INTEGERS)
        is_integer = kind in _INTEGERS or kind in (type_kinds.POINTER, type_kinds.BLOCK_POINTER)
        mode = Mode.INTEGER if is_integer else Mode.OTHER
        if kind == _DOUBLE:
            mode = Mode.DOUBLE
        if self.target.name == "i386" and mode is not Mode.OTHER:
            align = max(align, min(size, 8))
        if kind == _LONG_DOUBLE and (self.target.name, size) in _X87:
            align = _X87[self.target.name, size]
        if self.target.name == "s390x" and size == 16:
            align = 8
        return TypeFacts(size * 8, align, mode=mode)

    def _vector(self, size: int, is_integer: bool) -> TypeFacts:
        align, possible = scalars.vector(self.target, size)
        if not possible or possible == align:
            return TypeFacts(size * 8, align)
        if self.target.name == "s390x":
            return self._vector_of_s390x(size)
        if self.target.name != "i386":
            return TypeFacts(size * 8, align, problem="the alignment of its vectors depends on the processor")
        # Without MMX, a vector of integers has the mode of an integer, and others have none.
        has_mmx = "-mno-mmx" not in self.flags and any(map(_MMX.fullmatch, self.flags))
        has_mmx = has_mmx if self._macros is None else "__MMX__" in self._macros
        has_mode = not has_mmx and is_integer
        own = Mode.OTHER if has_mmx else Mode.NONE
        is_stated = self._macros is not None or any(map(_NO_MMX.fullmatch, self.flags))
        is_stated = is_stated or has_mmx or not has_mode
        unclear = "its vectors of 8 bytes are aligned to 4 or 8: state -mmmx or -mno-mmx"
        problem = None if is_stated else unclear
        return TypeFacts(size * 8, align, mode=Mode.INTEGER if has_mode else own, problem=problem)

    def _vector_of_s390x(self, size: int) -> TypeFacts:
        """Return a vector of 16 bytes or more, which the vector ABI aligns to 8 (s390_vector_alignment)."""
        words = [word for word in self.flags if word in ("-mvx", "-mno-vx") or word.startswith("-march=")]
        explicit = [word == "-mvx" for word in words if not word.startswith("-march=")]
        processor = words[-1] if words else ""
        has_vectors = True if _VX.fullmatch(processor) else False if _NO_VX.fullmatch(processor) else None
        has_vectors = explicit[-1] if explicit else has_vectors
        if self._macros is not None:
            has_vectors = "__VX__" in self._macros
        problem = None
        if has_vectors is None:
            problem = "the alignment of its vectors depends on the processor: state -march or -mno-vx"
        return TypeFacts(size * 8, 8 if has_vectors else size & -size, problem=problem)

    # Records

    def _settle(self, definition: Cursor) -> SettledRecord:
        cursors = libclang.fields_of(self.lib, self.lib.clang_getCursorType(definition))
        stated = self.stated_layout(definition, cursors)
        has_other_numbers = any(map(self._has_other_numbers, (definition, *cursors)))
        problem = _MEASURED_OTHERWISE if has_other_numbers else None
        is_cut = self._texts.is_cut_by_pragma(definition)
        if not is_cut and self._is_plain(definition, cursors):
            types = [self.type_of(self.lib.clang_getCursorType(cursor)) for cursor in cursors]
            problem = next((each.problem for each in types if each.problem), problem)
            is_aligned = any(each.is_user_aligned for each in types)
            has_scalars, has_no_mode = all(map(_is_scalar, types)), self._has_no_mode(cursors, types)
            return SettledRecord(stated, problem, is_aligned, has_scalars, has_no_mode)
        return self._settle_computed(definition, cursors, stated, problem, is_cut)

    def _settle_computed(
        self, definition: Cursor, cursors: list[Cursor], stated: RecordLayout, problem: str | None,
        is_cut: bool,
    ) -> SettledRecord:  # fmt: skip
        """Return a struct whose layout by gcc can differ from libclang's."""
        may_be_ms = self._is_ms_by_default or bool(self.lib.clang_Cursor_hasAttrs(definition))
        members = tuple(self._member(cursor, may_be_ms) for cursor in cursors)
        problem = next((each.type.problem for each in members if each.type.problem), problem)
        own = self._texts.attributes(definition)
        has_hidden_ms = any("ms_struct" in each.text and each.offset < 0 for each in own)
        if has_hidden_ms and self._texts.ignored_attribute(definition, "gcc_struct") is not None:
            problem = problem or "it has both ms_struct and gcc_struct"
        facts = self._facts(definition, members, own)
        pack_at_end = self._texts.stated_pack(definition, self.lib.clang_getRangeEnd) if is_cut else None
        if is_cut and pack_at_end is None:
            unclear = "a `#pragma pack` begins or ends inside its braces, where gcc and clang differ"
            return SettledRecord(stated, unclear)
        settled = self._compute(facts, stated, problem, self._texts.pragmas_of(definition), pack_at_end)
        types = [member.type for member in members]
        has_no_mode = self._has_no_mode(cursors, types)
        return replace(settled, has_scalars=all(map(_is_scalar, types)), has_no_mode=has_no_mode)

    def _has_no_mode(self, cursors: list[Cursor], types: list[TypeFacts]) -> bool:
        """Return whether a member leaves its struct without a mode: a vector without registers, and `[]`."""
        if not self._rules.narrows_fields:
            return False  # it decides nothing
        of_members = map(self.lib.clang_getCursorType, cursors)
        kinds = (self.lib.clang_getCanonicalType(ctype).kind for ctype in of_members)
        # An array or a struct of 3 bytes is no integer (compute_record_mode).
        has_none = any(each.mode is Mode.NONE or each.bit_size not in _MODES for each in types)
        return has_none or type_kinds.INCOMPLETE_ARRAY in kinds

    def stated_layout(self, definition: Cursor, cursors: list[Cursor]) -> RecordLayout:
        """Return libclang's layout."""
        ctype = self.lib.clang_getCursorType(definition)
        offsets = tuple(max(0, self.lib.clang_Cursor_getOffsetOfField(cursor)) for cursor in cursors)
        size, align = self.lib.clang_Type_getSizeOf(ctype), self.lib.clang_Type_getAlignOf(ctype)
        return RecordLayout(max(0, size) * 8, max(1, align), offsets)

    def _member(self, cursor: Cursor, may_be_ms: bool) -> MemberFacts:
        lib = self.lib
        ctype = lib.clang_getCursorType(cursor)
        is_bits = bool(lib.clang_Cursor_isBitField(cursor))
        facts = self.type_of(ctype)
        size, align = lib.clang_Type_getSizeOf(ctype), lib.clang_Type_getAlignOf(ctype)
        stated = self._texts.attributes(cursor)
        if any(each.kind == libclang.ALIGNED and each.argument is None for each in stated):
            printed = attributes.aligned_arguments(libclang.pretty_print(lib, cursor))
            stated = [replace(each, kind=-1) if each.kind == libclang.ALIGNED else each for each in stated]
            stated += [Attribute(libclang.ALIGNED, 0, argument, argument) for argument in printed]
        aligned = [self._value(each) for each in stated if each.kind == libclang.ALIGNED]
        of_clang = self._aligned_to_clang(stated, aligned)
        if UNKNOWN in aligned and len(aligned) > 1:
            facts = replace(facts, problem="the value of an `aligned` is not known")
        builtin_bits = self._builtin_bits(ctype) if may_be_ms else 0
        return MemberFacts(
            facts, max(0, size) * 8, max(1, align), builtin_bits,
            lib.clang_getFieldDeclBitWidth(cursor) if is_bits else None,
            not is_bits or bool(libclang.spelling(lib, cursor)), max(aligned, default=0), of_clang,
            any(each.kind == libclang.PACKED for each in stated),
        )  # fmt: skip

    def _aligned_to_clang(self, stated: Iterable[Attribute], values: Iterable[int]) -> int:
        """Return the largest `aligned` to clang, in bytes; `values` are those to gcc, in the same order."""
        own = [each for each in stated if each.kind == libclang.ALIGNED]
        numbers = (
            self._bare_align_of_clang if each.argument == "" else value
            for each, value in zip(own, values, strict=True)
            if not each.is_blanked
        )
        return max(numbers, default=0)

    def _builtin_bits(self, ctype: Type) -> int:
        ctype = type_kinds.innermost(self.lib, self.lib.clang_getCanonicalType(ctype))
        return int(self.lib.clang_Type_getSizeOf(ctype)) * 8 if ctype.kind in type_kinds.BASE_TYPES else 0

    def _is_plain(self, definition: Cursor, cursors: list[Cursor]) -> bool:
        """Return whether gcc's layout is certainly libclang's."""
        lib = self.lib
        is_special = self._rules.packs_all or self._default_pack or self._is_ms_by_default
        if is_special or self._texts.has_attributes(definition):
            return False
        for cursor in cursors:
            ctype = lib.clang_getCursorType(cursor)
            facts = self.type_of(ctype)
            if (
                self._texts.has_attributes(cursor)
                or facts.bit_size != max(0, lib.clang_Type_getSizeOf(ctype)) * 8
                or gcc_records.field_alignment(facts, self._rules) != lib.clang_Type_getAlignOf(ctype)
                or (facts.is_user_aligned and lib.clang_Cursor_isBitField(cursor))
            ):
                return False
        return True

    def _facts(
        self, definition: Cursor, members: tuple[MemberFacts, ...], stated: list[Attribute]
    ) -> RecordFacts:
        start = Spot(self.lib, self.lib.clang_getRangeStart(self.lib.clang_getCursorExtent(definition)))
        # gcc ignores those of an earlier declaration.
        own = [each for each in stated if each.offset >= start.offset]
        aligned = tuple(self._value(each) for each in own if each.kind == libclang.ALIGNED)
        is_inherited = any(each.kind == libclang.ALIGNED and each not in own for each in stated)
        align = self.lib.clang_Type_getAlignOf(self.lib.clang_getCursorType(definition))
        of_clang = max(align if is_inherited else 0, self._aligned_to_clang(own, aligned))
        of_ms = min((each.offset for each in own if "ms_struct" in each.text), default=None)
        of_gcc = self._texts.ignored_attribute(definition, "gcc_struct")
        # gcc ignores the second one (ix86_handle_struct_attribute).
        is_gcc_struct = of_gcc is not None and (of_ms is None or of_gcc < of_ms)
        has_ms = of_ms is not None
        is_ms = (has_ms or self._is_ms_by_default) and not is_gcc_struct
        return RecordFacts(
            members,
            definition.kind == libclang.UNION,
            any(each.kind == libclang.PACKED for each in own),
            aligned,
            any(each.kind == libclang.PACKED for each in stated),
            of_clang,
            self.target.name in _MS_TARGETS and is_ms,
            self._is_ms_by_default or has_ms,
        )

    def _compute(
        self, facts: RecordFacts, stated: RecordLayout, problem: str | None, pragmas: list[tuple[int, bool]],
        pack_at_end: int | None,
    ) -> SettledRecord:  # fmt: skip
        """Return gcc's layout for the values of pragmas under which clang's is the stated one."""
        found: dict[RecordLayout, bool] = {}
        choices = [(each, *pragma) for pragma in pragmas for each in facts.possibilities()]
        for facts, pack, is_ms in choices:
            own = replace(facts, clang_is_ms=facts.clang_is_ms or is_ms)
            of_clang = pack or (1 if self._rules.packs_all else self._default_pack)
            if clang_records.layout(own, of_clang, self._clang_rules) == stated:
                at_end = (pack if pack_at_end is None else pack_at_end) or self._default_pack
                at_end = 0 if self._rules.packs_all else at_end  # `#pragma pack` has no effect
                layout, is_aligned = gcc_records.layout(facts, at_end, self._rules)
                found[layout] = is_aligned
                if len(choices) == len(pragmas) > len(PACKS) and pack == pragmas[0][0]:
                    break
        if len(found) != 1:
            unclear = "more than one layout" if found else "another layout"
            return SettledRecord(stated, problem or f"gcc may give it {unclear} than clang")
        ((layout, is_aligned),) = found.items()
        return SettledRecord(layout, problem, is_aligned)

    @cached_property
    def _texts(self) -> StructTexts:
        blanked: dict[tuple[str, int], list[Attribute]] = {}
        for each in self.blanked:
            blanked.setdefault(each.declaration, []).append(each.attribute)
        return StructTexts(self.lib, self.unit, blanked)

    # The rules of the target and the flags

    @cached_property
    def _default_pack(self) -> int:
        """The number of the last `-fpack-struct=`; 0 for none."""
        numbers = [number(word[14:]) for word in self.flags if re.fullmatch(r"-fpack-struct=\d+", word)]
        return numbers[-1] if numbers else 0

    @cached_property
    def _is_ms_by_default(self) -> bool:
        words = [word for word in self.flags if word in ("-mms-bitfields", "-mno-ms-bitfields")]
        return bool(words) and words[-1] == "-mms-bitfields"

    @cached_property
    def _bare_align_of_clang(self) -> int:
        """The value of `aligned` without a number to clang (DefaultAlignForAttributeAligned), in bytes."""
        return 8 if self.target.name in ("arm", "armeb", "s390x") else 16

    @cached_property
    def _clang_rules(self) -> ClangRules:
        return ClangRules(aligns_unnamed=self.target.name in _AAPCS)

    @property
    def _macros(self) -> dict[str, str] | None:
        """The macros of the compiler; None if it was not asked."""
        return None if self.compiler.answer is None else self.compiler.answer.macros

    @cached_property
    def _biggest_align(self) -> int:
        stated = (self._macros or {}).get("__BIGGEST_ALIGNMENT__", "")
        return int(stated) if stated.isdecimal() else 8 if self.target.name in _WORDS else 16

    @cached_property
    def _rules(self) -> GccRules:
        name, words = self.target.name, self.flags
        is_windows = any(word.startswith("--target=") and "windows" in word for word in words)
        return GccRules(
            biggest_align=self._biggest_align,
            most_mode_bits=128 if self.target.pointer_size == 8 else 64,
            aligns_unnamed=name in _AAPCS,
            narrows_fields=name == "i386" and "-malign-double" not in words and not is_windows,
            packs_all="-fpack-struct" in words,
            initial_pack=self._default_pack,
        )


def _is_scalar(ctype: TypeFacts) -> bool:
    return not ctype.is_array and not ctype.is_record


def _without_typedefs(facts: TypeFacts) -> TypeFacts:
    """Return a type without the `aligned` of its typedefs."""
    if facts.plain_align is None:
        return facts
    is_user = facts.is_plain_user_aligned
    return replace(facts, align=facts.plain_align, is_user_aligned=is_user, plain_align=None)
