"""Which structs cannot be believed: an error, or a macro that was not there, where a layout is decided."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from layoutlint.readers.clang import native
from layoutlint.readers.clang.diagnostics import Diagnostic
from layoutlint.readers.clang.native import Cursor, Spot
from layoutlint.readers.clang.places import Places
from layoutlint.readers.clang.types import RECORD, Types

_ATTRIBUTE_LIKE = re.compile(r"__|.*(?:aligned|packed|cache_?line|randomi[sz]e)", re.IGNORECASE)
"""Names that are meant as attributes, and declare a variable when no macro of that name is defined."""
ENUM_CONSTANT = 7
FIRST_EXPRESSION, LAST_EXPRESSION = 100, 199
_TAIL = 2000
"""Bytes searched behind a closing brace for the end of the declaration."""


class Extent(NamedTuple):
    """A stretch of one file, in bytes; `end` is None for the whole file."""

    file: int | None
    start: int
    end: int | None

    def has(self, file: int | None, offset: int) -> bool:
        """Whether a place lies in it, its last character included."""
        return file == self.file and self.start <= offset and (self.end is None or offset <= self.end)


@dataclass
class Problems:
    """The complaints of one translation unit, held against its structs."""

    lib: Any
    unit: int
    places: Places
    types: Types
    diagnostics: tuple[Diagnostic, ...]
    variables: tuple[Cursor, ...] = ()
    """Variables at file scope."""
    _spoilt: dict[int, str | None] = field(default_factory=dict)

    def of(self, record: Cursor) -> str | None:
        """Why the layout of a struct cannot be believed; None when nothing speaks against it."""
        if not self.diagnostics and not self._would_be_attributes:
            return None
        key = record.data[0]
        if key not in self._spoilt:
            self._spoilt[key] = self._find(record)
        return self._spoilt[key]

    def _find(self, record: Cursor) -> str | None:
        declarations = _Dependencies(self.lib).of(record)
        stretches = [s for d in declarations for s in self._stretches(d)]
        for diagnostic in self.diagnostics:
            if any(s.has(diagnostic.file, diagnostic.offset) for s in stretches):
                return diagnostic.text
        for declaration in declarations:
            variable = self._would_be_attributes.get(self._extent(declaration)[:2])
            if variable is not None:
                return self._undefined(variable, declaration)
        for diagnostic in self.diagnostics:
            if diagnostic.is_global and not self._is_before(record, diagnostic):
                return diagnostic.text
        if any(self.lib.clang_isInvalidDeclaration(d) for d in declarations) and self.diagnostics:
            return self.diagnostics[0].text
        return None

    def _undefined(self, variable: Cursor, record: Cursor) -> str:
        spot = Spot(self.lib, self.lib.clang_getCursorLocation(variable))
        name = native.spelling(self.lib, variable)
        what = native.text(self.lib, self.lib.clang_getTypeSpelling(self.lib.clang_getCursorType(record)))
        where = f"{self.places.shown(spot.file)}:{spot.line}:{spot.column}"
        return f"{where}: error: no macro `{name}` is defined here: it declares a variable of type `{what}`"

    @cached_property
    def _would_be_attributes(self) -> dict[tuple[int | None, int], Cursor]:
        """Variables named like an attribute, by where their declaration starts."""
        named = [v for v in self.variables if _ATTRIBUTE_LIKE.match(native.spelling(self.lib, v))]
        return {self._extent(variable)[:2]: variable for variable in reversed(named)}

    def _extent(self, cursor: Cursor) -> Extent:
        whole = self.lib.clang_getCursorExtent(cursor)
        start = Spot(self.lib, self.lib.clang_getRangeStart(whole))
        end = Spot(self.lib, self.lib.clang_getRangeEnd(whole))
        return Extent(start.file, start.offset, end.offset if end.file == start.file else None)

    def _stretches(self, declaration: Cursor) -> list[Extent]:
        """A declaration up to its semicolon, and the files that are included inside it."""
        found = [self._to_semicolon(self._extent(declaration))]
        for file, at in self._inclusions:
            if any(stretch.has(at.file, at.offset) for stretch in found):
                found.append(Extent(file, 0, None))
        return found

    def _to_semicolon(self, extent: Extent) -> Extent:
        if extent.file is None or extent.end is None:
            return extent
        behind = native.contents(self.lib, self.unit, extent.file, extent.end, _TAIL)
        return extent._replace(end=extent.end + max(0, behind.find(b";")))

    @cached_property
    def _inclusions(self) -> list[tuple[int, Spot]]:
        return native.inclusions(self.lib, self.unit)

    @cached_property
    def _includers(self) -> dict[int | None, Spot]:
        """Where each file is included first."""
        return dict(reversed(self._inclusions))

    def _is_before(self, record: Cursor, diagnostic: Diagnostic) -> bool:
        """Whether a struct ends before a place, in the order in which the compiler reads files."""
        extent = self._extent(record)
        if diagnostic.file is None or extent.file is None or extent.end is None:
            return False
        return self._position(extent.file, extent.end) < self._position(diagnostic.file, diagnostic.offset)

    def _position(self, file: int | None, offset: int) -> tuple[int, ...]:
        """Offsets of the #include directives that lead to a place, from the unit's own file inwards."""
        position: tuple[int, ...] = (offset,)
        seen = set()
        while file in self._includers and file not in seen:
            seen.add(file)
            at = self._includers[file]
            position = (at.offset, *position)
            file = at.file
        # What -include names is read before the unit's file, from a buffer without a name.
        return (0 if file is None else 1, *position)


@dataclass(slots=True)
class _Dependencies:
    """The declarations that decide a struct's layout: itself, and what it takes by value or counts with."""

    lib: Any
    _found: dict[int, Cursor] = field(default_factory=dict)

    def of(self, record: Cursor) -> list[Cursor]:
        """The definition of a struct, first, and all that it depends on."""
        self._follow(record)
        return list(self._found.values())

    def _follow(self, declaration: Cursor) -> None:
        key = declaration.data[0]
        if key is None or key in self._found:
            return
        self._found[key] = declaration
        native.visit(self.lib, declaration, self._take)

    def _take(self, child: Cursor, parent: Cursor) -> int:
        lib = self.lib
        if child.kind == native.FIELD:
            self._follow_record(lib.clang_getCursorType(child))
        elif child.kind == native.TYPE_REF:
            self._take_type(child, parent)
        elif child.kind == native.DECL_REF:
            meant = lib.clang_getCursorReferenced(child)
            is_constant = meant.kind == ENUM_CONSTANT
            self._follow(lib.clang_getCursorSemanticParent(meant) if is_constant else meant)
        return native.RECURSE

    def _take_type(self, child: Cursor, parent: Cursor) -> None:
        lib = self.lib
        meant = lib.clang_getCursorReferenced(child)
        if meant.kind in (native.TYPEDEF, native.ENUM):
            self._follow(meant)
            self._follow_record(lib.clang_getCursorType(meant))
        elif FIRST_EXPRESSION <= parent.kind <= LAST_EXPRESSION:
            self._follow(lib.clang_getCursorDefinition(meant))

    def _follow_record(self, of: native.Type) -> None:
        """The struct that a type is, or is an array of; not what it points to."""
        lib = self.lib
        element, _ = Types.element(lib, of)
        if element.kind == RECORD:
            self._follow(lib.clang_getCursorDefinition(lib.clang_getTypeDeclaration(element)))
