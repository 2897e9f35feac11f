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
_MEMBERS = (47, 102)
"""Members in an `offsetof`, and behind a dot or an arrow (CXCursor_MemberRef and MemberRefExpr)."""
_NAMES = (libclang.TYPE_REF, *_MEMBERS)
_REFERENCES = (libclang.DECL_REF, *_MEMBERS)
_OTHER_ALIGNMENTS = (type_kinds.RECORD, type_kinds.VECTOR, type_kinds.EXT_VECTOR, type_kinds.ATOMIC)
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
    _is_all_alike: bool | None = None

    def differ_in(self, declaration: Cursor) -> bool:
        """Return whether an expression in a declaration measures a type that gcc lays out otherwise."""
        found: list[Cursor] = []

        def take(child: Cursor, parent: Cursor) -> int:
            if child.kind in _TAGS:
                return libclang.CONTINUE
            is_inside = parent.kind in _EXPRESSIONS
            if (is_inside and child.kind in _NAMES) or child.kind in _EXPRESSIONS:
                found.append(child)
            return libclang.RECURSE

        libclang.visit(self.lib, declaration, take)
        return not all(map(self._is_alike, found))

    def differ_in_text(self, text: str) -> bool:
        """Return whether an attribute measures such a type; all of the unit count if a macro may name one."""
        if not _MEASURES.search(text):
            return False
        words = set(_WORD.findall(_SCALARS.sub("", text)))
        if not words:
            return False
        types = self._types
        if not words <= types.keys():
            return not self._agree_on_all()
        return not all(self._agrees(ctype) for word in words for ctype in types[word])

    def _agree_on_all(self) -> bool:
        """Return whether gcc and clang agree on all named types of the unit."""
        if self._is_all_alike is None:
            self._is_all_alike = True  # to a type whose own text asks
            self._is_all_alike = all(self._agrees(each) for same in self._types.values() for each in same)
        return self._is_all_alike

    def _is_alike(self, part: Cursor) -> bool:
        """Return whether gcc and clang agree on a part of an expression: a type, an offset, an enumerator."""
        referenced = self.lib.clang_getCursorReferenced(part) if part.kind in _REFERENCES else part
        owner = self.lib.clang_getCursorSemanticParent(referenced)
        if part.kind in _MEMBERS and owner.kind in _TAGS:
            return self._record_agrees(owner) and self._agrees(self.lib.clang_getCursorType(referenced))
        if referenced.kind != _ENUMERATOR:
            return self._agrees(self.lib.clang_getCursorType(referenced))
        if owner.data[0] not in self._enums:
            self._enums[owner.data[0]] = True
            # A value counts on from the one before it.
            self._enums[owner.data[0]] = not any(map(self.differ_in, _children(self.lib, owner)))
        return self._enums[owner.data[0]]

    def _agrees(self, ctype: Type) -> bool:
        """Return whether gcc and clang agree on the size and alignment of a type."""
        lib = self.lib
        base = type_kinds.innermost(lib, lib.clang_getCanonicalType(ctype))
        if base.kind == type_kinds.RECORD:
            definition = lib.clang_getCursorDefinition(lib.clang_getTypeDeclaration(base))
            if definition.data[0] is None or self.layouts.record(definition).is_open:
                return True  # only a pointer to it is measured
            if not self._record_agrees(definition):
                return False
        facts = self.layouts.type_of(ctype)
        if base.kind not in _OTHER_ALIGNMENTS and not facts.is_user_aligned:
            return facts.problem is None
        size, align = lib.clang_Type_getSizeOf(ctype), lib.clang_Type_getAlignOf(ctype)
        aligns = {facts.align, self.layouts.alignment_of(ctype), max(1, align)}
        return facts.bit_size == max(0, size) * 8 and len(aligns) == 1 and facts.problem is None

    def _record_agrees(self, definition: Cursor) -> bool:
        """Return whether gcc and clang lay out a struct or union alike."""
        key = definition.data[0]
        if key not in self._records:
            settled = self.layouts.record(definition)
            if settled.is_open:
                return True  # it measures itself, or a pointer to it does
            cursors = libclang.fields_of(self.lib, self.lib.clang_getCursorType(definition))
            is_same = settled.layout == self.layouts.stated_layout(definition, cursors)
            self._records[key] = settled.problem is None and is_same
        return self._records[key]

    @cached_property
    def _types(self) -> dict[str, list[Type]]:
        """The structs, unions and typedefs of the unit by name; empty for those without one."""
        found: dict[str, list[Type]] = {}

        def take(child: Cursor, _: Cursor) -> int:
            if child.kind in _NAMED:
                name = libclang.spelling(self.lib, child)
                found.setdefault(name, []).append(self.lib.clang_getCursorType(child))
            return libclang.RECURSE if child.kind in _TAGS else libclang.CONTINUE

        libclang.visit(self.lib, self.lib.clang_getTranslationUnitCursor(self.unit), take)
        return found


def _children(lib: Any, cursor: Cursor) -> list[Cursor]:
    found: list[Cursor] = []

    def take(child: Cursor, _: Cursor) -> int:
        found.append(child)
        return libclang.CONTINUE

    libclang.visit(lib, cursor, take)
    return found
