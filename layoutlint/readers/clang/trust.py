"""Which structs cannot be believed: an error, or a macro that was not there, where a layout is decided."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.diagnostics import Diagnostic
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor, Spot
from layoutlint.readers.clang.types import RECORD, Types

_ATTRIBUTE_LIKE = re.compile(r"__|.*(?:aligned|packed|cache_?line|randomi[sz]e)", re.IGNORECASE)
"""Names that are meant as attributes, and declare a variable when no macro of that name is defined."""
_MARKED = re.compile(rb"\b(?:__randomize_layout|randomized_struct_fields_start)\b")
_MARK = re.compile(rb"\b(?:__)?randomize_layout(?:__)?\b")
_INNER = re.compile(rb"\brandomized_struct_fields_start\b")
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
    shuffled_by: str | None = None
    """What shuffles fields at build time, where something does."""
    _local: dict[int, str | None] = field(default_factory=dict)
    _texts: dict[int, bytes] = field(default_factory=dict)
    _leading: dict[int | None, tuple[int, ...]] = field(default_factory=dict)

    def of(self, record: Cursor) -> str | None:
        """Why the layout of a struct cannot be believed; None when nothing speaks against it."""
        if not self.diagnostics and not self._would_be_attributes and self.shuffled_by is None:
            return None
        declarations = self._dependencies.of(record)
        for declaration in declarations:
            key = declaration.data[0]
            if key not in self._local:
                self._local[key] = self._find(declaration)
            if self._local[key] is not None:
                return self._local[key]
        for diagnostic in self.diagnostics:
            if diagnostic.is_global and not self._is_before(record, diagnostic):
                return diagnostic.text
        is_invalid = any(map(self.lib.clang_isInvalidDeclaration, declarations))
        return self.diagnostics[0].text if is_invalid and self.diagnostics else None

    def is_marked(self, record: Cursor) -> bool:
        """Whether a struct is marked to be shuffled: by the attribute, or by a macro that may be empty."""
        extent = self._extent(record)
        if record.kind != libclang.STRUCT or extent.file is None or extent.end is None:
            return False
        text = self._text(extent.file)
        end = max(extent.end, text.find(b";", extent.end, extent.end + _TAIL))
        return bool(_MARK.search(text, extent.end, end) or _INNER.search(text, extent.start, extent.end))

    def _find(self, declaration: Cursor) -> str | None:
        """What is wrong inside one declaration."""
        for stretch in self._stretches(declaration):
            for diagnostic in self._by_file.get(stretch.file, ()):
                if stretch.has(diagnostic.file, diagnostic.offset):
                    return diagnostic.text
        variable = self._would_be_attributes.get(self._extent(declaration)[:2])
        if variable is not None:
            return self._undefined(variable, declaration)
        return self._shuffled(declaration) if self.shuffled_by is not None else None

    def _shuffled(self, declaration: Cursor) -> str | None:
        """Whether a struct is marked to be shuffled, or has function pointers only (scripts/gcc-plugins)."""
        extent = self._to_semicolon(self._extent(declaration))
        if declaration.kind != libclang.STRUCT or extent.file is None:
            return None
        text = self._text(extent.file)[extent.start : extent.end]
        members = self.types.members(declaration)
        calls = len(members) > 1 and all(
            "(*" in m.type.left and m.type.right.startswith(")(") for m in members
        )
        if b"__no_randomize_layout" in text or not (calls or _MARKED.search(text)):
            return None
        return f"{self.places.source(declaration)}: its fields are shuffled by {self.shuffled_by}"

    @cached_property
    def _by_file(self) -> dict[int | None, list[Diagnostic]]:
        found: dict[int | None, list[Diagnostic]] = {}
        for diagnostic in self.diagnostics:
            found.setdefault(diagnostic.file, []).append(diagnostic)
        return found

    @cached_property
    def _dependencies(self) -> _Dependencies:
        return _Dependencies(self.lib)

    def _undefined(self, variable: Cursor, record: Cursor) -> str:
        spot = Spot(self.lib, self.lib.clang_getCursorLocation(variable))
        name = libclang.spelling(self.lib, variable)
        what = libclang.text(self.lib, self.lib.clang_getTypeSpelling(self.lib.clang_getCursorType(record)))
        where = f"{self.places.shown(spot.file)}:{spot.line}:{spot.column}"
        return f"{where}: error: no macro `{name}` is defined here: it declares a variable of type `{what}`"

    @cached_property
    def _would_be_attributes(self) -> dict[tuple[int | None, int], Cursor]:
        """Variables named like an attribute, by the start of the struct that their declaration defines."""
        lib = self.lib
        found: dict[tuple[int | None, int], Cursor] = {}
        for variable in self.variables:
            of = lib.clang_getCanonicalType(lib.clang_getCursorType(variable))
            if of.kind != RECORD or not _ATTRIBUTE_LIKE.match(libclang.spelling(lib, variable)):
                continue
            start = self._extent(variable)[:2]
            if start == self._extent(lib.clang_getTypeDeclaration(of))[:2]:
                found.setdefault(start, variable)
        return found

    def _extent(self, cursor: Cursor) -> Extent:
        whole = self.lib.clang_getCursorExtent(cursor)
        start = Spot(self.lib, self.lib.clang_getRangeStart(whole))
        end = Spot(self.lib, self.lib.clang_getRangeEnd(whole))
        return Extent(start.file, start.offset, end.offset if end.file == start.file else None)

    def _stretches(self, declaration: Cursor) -> list[Extent]:
        """A declaration up to its semicolon, and the files that are included inside it."""
        found = [self._to_semicolon(self._extent(declaration))]
        for stretch in found:
            for file, at in self._included_by.get(stretch.file, ()):
                if stretch.has(at.file, at.offset):
                    found.append(Extent(file, 0, None))
        return found

    @cached_property
    def _included_by(self) -> dict[int | None, list[tuple[int, Spot]]]:
        """What each file includes that another has not included before."""
        found: dict[int | None, list[tuple[int, Spot]]] = {}
        seen: set[int] = set()
        for file, at in self._inclusions:
            if file not in seen:
                seen.add(file)
                found.setdefault(at.file, []).append((file, at))
        return found

    def _to_semicolon(self, extent: Extent) -> Extent:
        is_needed = extent.file in self._by_file or self.shuffled_by is not None
        if not is_needed or extent.file is None or extent.end is None:
            return extent
        semicolon = self._text(extent.file).find(b";", extent.end, extent.end + _TAIL)
        return extent._replace(end=max(extent.end, semicolon))

    def _text(self, file: int) -> bytes:
        if file not in self._texts:
            self._texts[file] = libclang.contents(self.lib, self.unit, file)
        return self._texts[file]

    @cached_property
    def _inclusions(self) -> list[tuple[int, Spot]]:
        return libclang.inclusions(self.lib, self.unit)

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
        if file not in self._leading:
            self._leading[file] = self._lead(file)
        return (*self._leading[file], offset)

    def _lead(self, file: int | None) -> tuple[int, ...]:
        offsets: list[int] = []
        seen = set()
        while file in self._includers and file not in seen:
            seen.add(file)
            at = self._includers[file]
            offsets.append(at.offset)
            file = at.file
        # What -include names is read before the unit's file, from a buffer without a name.
        return (0 if file is None else 1, *reversed(offsets))

    def blamed(self) -> tuple[tuple[str, int], ...]:
        """For each diagnostic its file, and the offset in the unit's own file that leads there (-1: none)."""
        places = [(d.file, self._position(d.file, d.offset)) for d in self.diagnostics]
        return tuple((self.places.shown(file), at[1] if at[0] else -1) for file, at in places)


@dataclass(slots=True)
class _Dependencies:
    """Which declarations decide a struct's layout: itself, and what it takes by value or counts with."""

    lib: Any
    _direct: dict[int, list[Cursor]] = field(default_factory=dict)

    def of(self, record: Cursor) -> list[Cursor]:
        """The definition of a struct, first, and all that it depends on."""
        found = {record.data[0]: record}
        todo = [record]
        while todo:
            for dependency in self._of_one(todo.pop()):
                if dependency.data[0] not in found:
                    found[dependency.data[0]] = dependency
                    todo.append(dependency)
        return list(found.values())

    def _of_one(self, declaration: Cursor) -> list[Cursor]:
        key = declaration.data[0]
        if key not in self._direct:
            found: list[Cursor] = []

            def take(child: Cursor, parent: Cursor) -> int:
                found.extend(self._meant(child, parent))
                return libclang.RECURSE

            libclang.visit(self.lib, declaration, take)
            self._direct[key] = [cursor for cursor in found if cursor.data[0] is not None]
        return self._direct[key]

    def _meant(self, child: Cursor, parent: Cursor) -> list[Cursor]:
        """The declarations that one part of a declaration depends on."""
        lib = self.lib
        if child.kind == libclang.FIELD:
            return self._record(lib.clang_getCursorType(child))
        if child.kind == libclang.TYPE_REF:
            meant = lib.clang_getCursorReferenced(child)
            if meant.kind in (libclang.TYPEDEF, libclang.ENUM):
                return [meant, *self._record(lib.clang_getCursorType(meant))]
            if FIRST_EXPRESSION <= parent.kind <= LAST_EXPRESSION:
                return [lib.clang_getCursorDefinition(meant)]
        if child.kind == libclang.DECL_REF:
            meant = lib.clang_getCursorReferenced(child)
            is_constant = meant.kind == ENUM_CONSTANT
            return [lib.clang_getCursorSemanticParent(meant) if is_constant else meant]
        return []

    def _record(self, of: libclang.Type) -> list[Cursor]:
        """The struct that a type is, or is an array of; not what it points to."""
        element, _ = Types.element(self.lib, of)
        if element.kind != RECORD:
            return []
        return [self.lib.clang_getCursorDefinition(self.lib.clang_getTypeDeclaration(element))]
