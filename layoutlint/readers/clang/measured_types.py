"""Numbers in declarations that measure types which gcc lays out otherwise: `sizeof`, `_Alignof`, `offsetof`.

libclang computes them from its own layouts.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from layoutlint.model.record import Record, field
from layoutlint.readers.clang import libclang, type_kinds
from layoutlint.readers.clang.libclang import Cursor, Type

if TYPE_CHECKING:
    from layoutlint.readers.clang.gcc_layouts import GccLayouts

_ENUMERATOR = 7
_EXPRESSIONS = range(100, 200)
"""enum CXCursorKind, from FirstExpr to LastExpr."""
_TAGS = (libclang.STRUCT, libclang.UNION, libclang.ENUM)
_NAMED = (libclang.STRUCT, libclang.UNION, libclang.TYPEDEF)
_OTHER_ALIGNMENTS = (type_kinds.VECTOR, type_kinds.EXT_VECTOR, type_kinds.ATOMIC)
"""Types of base types whose alignment differs between compilers."""
_MEASURES = re.compile(r"sizeof|[aA]lign(?:of|as)|offsetof")
_WORD = re.compile(r"[A-Za-z_]\w*")
_SCALARS = re.compile(
    r"\b(?:(?:un)?signed|char|short|int|long|float|double|void|const|volatile|struct|union|sizeof"
    r"|(?:__builtin_)?offsetof|_{0,2}[aA]lign(?:as|of|ed)(?:__)?)\b"
)
"""Words that name no type of the unit."""


class MeasuredTypes(Record, dict=True):
    """The types that are measured in one unit."""

    lib: Any
    unit: int
    layouts: GccLayouts
    _enums: dict[int, bool] = field(default_factory=dict)
    """By enum, whether its values are the same for both."""
    _records: dict[int, bool] = field(default_factory=dict)
    """By definition, whether both lay it out alike."""

    def differ_in(self, declaration: Cursor) -> bool:
        """Return whether an expression in a declaration measures a type that gcc lays out otherwise."""
        found: list[Cursor] = []

        def take(child: Cursor, parent: Cursor) -> int:
            if child.kind in _TAGS:
                return libclang.CONTINUE
            is_inside = parent.kind in _EXPRESSIONS
            if (is_inside and child.kind == libclang.TYPE_REF) or child.kind in _EXPRESSIONS:
                found.append(child)
            return libclang.RECURSE

        libclang.visit(self.lib, declaration, take)
        return not all(map(self._is_alike, found))

    def differ_in_text(self, text: str) -> bool:
        """Return whether an attribute measures such a type; all of the unit count if a macro may name one."""
        if not _MEASURES.search(text):
            return False
        words = set(_WORD.findall(_SCALARS.sub("", text)))
        types = self._types
        named = [ctype for word in words & types.keys() for ctype in types[word]]
        every = (ctype for same in types.values() for ctype in same)
        return not all(map(self._agrees, named if words <= types.keys() else every))

    def _is_alike(self, part: Cursor) -> bool:
        """Return whether gcc and clang agree on a type in an expression, or on an enumerator's value."""
        if part.kind != libclang.DECL_REF:
            return self._agrees(self._pointee(self.lib.clang_getCursorType(part)))
        referenced = self.lib.clang_getCursorReferenced(part)
        if referenced.kind != _ENUMERATOR:
            return self._agrees(self._pointee(self.lib.clang_getCursorType(referenced)))
        enum = self.lib.clang_getCursorSemanticParent(referenced)
        if enum.data[0] not in self._enums:
            self._enums[enum.data[0]] = True
            # A value counts on from the one before it.
            self._enums[enum.data[0]] = not any(map(self.differ_in, _children(self.lib, enum)))
        return self._enums[enum.data[0]]

    def _pointee(self, ctype: Type) -> Type:
        """Return what a pointer, or a pointer to pointers, refers to."""
        canonical = self.lib.clang_getCanonicalType(ctype)
        while canonical.kind == type_kinds.POINTER:
            ctype = self.lib.clang_getPointeeType(canonical)
            canonical = self.lib.clang_getCanonicalType(ctype)
        return ctype

    def _agrees(self, ctype: Type) -> bool:
        """Return whether gcc and clang agree on the size and alignment of a type, and on its members."""
        lib = self.lib
        base = type_kinds.innermost(lib, lib.clang_getCanonicalType(ctype))
        definition = lib.clang_getCursorDefinition(lib.clang_getTypeDeclaration(base))
        is_record = base.kind == type_kinds.RECORD and definition.data[0] is not None
        if is_record and self.layouts.record(definition).is_open:
            return True  # only a pointer to it is measured
        facts = self.layouts.type_of(ctype)
        if base.kind == type_kinds.RECORD:
            if definition.data[0] is not None and not self._record_agrees(definition):
                return False
        elif not facts.is_user_aligned and base.kind not in _OTHER_ALIGNMENTS:
            return facts.problem is None
        size, align = lib.clang_Type_getSizeOf(ctype), lib.clang_Type_getAlignOf(ctype)
        aligns = {facts.align, self.layouts.alignment_of(ctype), max(1, align)}
        return facts.bit_size == max(0, size) * 8 and len(aligns) == 1 and facts.problem is None

    def _record_agrees(self, definition: Cursor) -> bool:
        key = definition.data[0]
        if key not in self._records:
            self._records[key] = True  # one that embeds itself, which is an error
            settled = self.layouts.record(definition)
            cursors = libclang.fields_of(self.lib, self.lib.clang_getCursorType(definition))
            self._records[key] = (
                settled.problem is None
                and settled.layout == self.layouts.stated_layout(definition, cursors)
                and all(self._agrees(self.lib.clang_getCursorType(cursor)) for cursor in cursors)
            )
        return self._records[key]

    @cached_property
    def _types(self) -> dict[str, list[Type]]:
        """The structs, unions and typedefs of the unit by name; empty for those without one."""
        found: dict[str, list[Type]] = {}

        def take(child: Cursor, _: Cursor) -> int:
            if child.kind in _NAMED:
                name = libclang.spelling(self.lib, child)
                found.setdefault(name, []).append(self.lib.clang_getCursorType(child))
            return libclang.RECURSE

        libclang.visit(self.lib, self.lib.clang_getTranslationUnitCursor(self.unit), take)
        return found


def _children(lib: Any, cursor: Cursor) -> list[Cursor]:
    found: list[Cursor] = []

    def take(child: Cursor, _: Cursor) -> int:
        found.append(child)
        return libclang.CONTINUE

    libclang.visit(lib, cursor, take)
    return found
