"""Which structs are unreliable: those with an error, or an undefined macro, that can affect their layout."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, NamedTuple

from layoutlint.model.record import Record, field
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.diagnostics import Diagnostic, ErrorOrigin
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor, Spot
from layoutlint.readers.clang.type_kinds import RECORD
from layoutlint.readers.clang.types import Types

_ATTRIBUTE_LIKE = re.compile(r"__|.*(?:aligned|packed|cache_?line|randomi[sz]e)", re.IGNORECASE)
"""Names that are meant as attributes, and declare a variable if no macro of that name is defined."""
_MARKED = re.compile(rb"\b(?:__randomize_layout|randomized_struct_fields_start)\b")
_MARK = re.compile(rb"\b(?:__)?randomize_layout(?:__)?\b")
_INNER = re.compile(rb"\brandomized_struct_fields_start\b")
ENUM_CONSTANT = 7
FIRST_EXPRESSION, LAST_EXPRESSION = 100, 199
_OPENS_OR_ENDS = re.compile(rb"[{;}]")
_TAIL = 2000
"""The bytes after a closing brace that are searched for the end of the declaration."""


class FileRange(NamedTuple):
    """A range of one file, in bytes; `end` is None for the whole file."""

    file: int | None
    start: int
    end: int | None

    def has(self, file: int | None, offset: int) -> bool:
        """Return whether it contains an offset; its last character is included."""
        return file == self.file and self.start <= offset and (self.end is None or offset <= self.end)


class Problems(Record, dict=True):
    """The diagnostics of one translation unit, attributed to its structs."""

    lib: Any
    unit: int
    places: Places
    types: Types
    diagnostics: tuple[Diagnostic, ...]
    variables: tuple[Cursor, ...] = ()
    """Variables at file scope."""
    shuffling_option: str | None = None
    """The option that shuffles fields in the build; None if there is none."""
    _local: dict[int, str | None] = field(default_factory=dict)
    _texts: dict[int, bytes] = field(default_factory=dict)
    _leading: dict[int | None, tuple[int, ...]] = field(default_factory=dict)

    def problem_of(self, record: Cursor) -> str | None:
        """Return why the layout of a struct is unreliable; None if it is reliable."""
        if not self.diagnostics and not self._would_be_attributes and self.shuffling_option is None:
            return None
        declarations = self.dependencies.all_of(record)
        for declaration in declarations:
            key = declaration.data[0]
            if key not in self._local:
                self._local[key] = self._find(declaration)
            if self._local[key] is not None:
                return self._cause(record) or self._local[key]
        for diagnostic in self.diagnostics:
            if diagnostic.is_global and not self._is_before(record, diagnostic):
                return diagnostic.text
        is_invalid = any(map(self.lib.clang_isInvalidDeclaration, declarations))
        return self.diagnostics[0].text if is_invalid and self.diagnostics else None

    def _cause(self, record: Cursor) -> str | None:
        """Return the error before a struct that probably causes those inside it; None if there is none."""
        causes = (diagnostic for diagnostic in self.diagnostics if diagnostic.is_cause)
        return next((cause.text for cause in causes if not self._is_before(record, cause)), None)

    def has_own_error(self, record: Cursor) -> bool:
        """Return whether the text of a struct has an error, not only that of structs that it depends on."""
        return any(
            not diagnostic.is_doubt and stretch.has(diagnostic.file, diagnostic.offset)
            for stretch in self._stretches(record)
            for diagnostic in self._diagnostics_by_file.get(stretch.file, ())
        )

    def is_marked(self, record: Cursor) -> bool:
        """Return whether a struct is marked for shuffling, by the attribute or a macro that may be empty."""
        extent = self._extent(record)
        if record.kind != libclang.STRUCT or extent.file is None or extent.end is None:
            return False
        text = self._text(extent.file)
        end = max(extent.end, text.find(b";", extent.end, extent.end + _TAIL))
        return bool(_MARK.search(text, extent.end, end) or _INNER.search(text, extent.start, extent.end))

    def _find(self, declaration: Cursor) -> str | None:
        """Return the problem inside one declaration; None if there is none."""
        inside = (
            diagnostic
            for stretch in self._stretches(declaration)
            for diagnostic in self._diagnostics_by_file.get(stretch.file, ())
            if stretch.has(diagnostic.file, diagnostic.offset)
        )
        first = min(inside, key=lambda diagnostic: diagnostic.is_warning, default=None)
        if first is not None:
            return first.text
        variable = self._would_be_attributes.get(self._extent(declaration)[:2])
        if variable is not None:
            return self._undefined_macro(variable, declaration)
        return self._shuffling_problem(declaration) if self.shuffling_option is not None else None

    def _shuffling_problem(self, declaration: Cursor) -> str | None:
        """Return the problem of a struct that is marked for shuffling, or has only function pointers
        (scripts/gcc-plugins).
        """
        extent = self._statement_extent(self._extent(declaration))
        if declaration.kind != libclang.STRUCT or extent.file is None:
            return None
        text = self._text(extent.file)[extent.start : extent.end]
        members = self.types.members(declaration)
        calls = len(members) > 1 and all(
            "(*" in m.type.left and m.type.right.startswith(")(") for m in members
        )
        if b"__no_randomize_layout" in text or not (calls or _MARKED.search(text)):
            return None
        return f"{self.places.source(declaration)}: its fields are shuffled by {self.shuffling_option}"

    @cached_property
    def _diagnostics_by_file(self) -> dict[int | None, list[Diagnostic]]:
        by_file: dict[int | None, list[Diagnostic]] = {}
        for diagnostic in self.diagnostics:
            by_file.setdefault(diagnostic.file, []).append(diagnostic)
        return by_file

    @cached_property
    def dependencies(self) -> _Dependencies:
        """The declarations that structs depend on."""
        return _Dependencies(self.lib)

    def _undefined_macro(self, variable: Cursor, record: Cursor) -> str:
        spot = Spot(self.lib, self.lib.clang_getCursorLocation(variable))
        name = libclang.spelling(self.lib, variable)
        type_name = libclang.text(
            self.lib, self.lib.clang_getTypeSpelling(self.lib.clang_getCursorType(record))
        )
        location = f"{self.places.reported_name(spot.file)}:{spot.line}:{spot.column}"
        reason = f"no macro `{name}` is defined here: it declares a variable of type `{type_name}`"
        return f"{location}: error: {reason}"

    @cached_property
    def _would_be_attributes(self) -> dict[tuple[int | None, int], Cursor]:
        """Variables named like an attribute, by the start of the struct that their declaration defines."""
        lib = self.lib
        variables: dict[tuple[int | None, int], Cursor] = {}
        for variable in self.variables:
            canonical = lib.clang_getCanonicalType(lib.clang_getCursorType(variable))
            if canonical.kind != RECORD or not _ATTRIBUTE_LIKE.match(libclang.spelling(lib, variable)):
                continue
            start = self._extent(variable)[:2]
            if start == self._extent(lib.clang_getTypeDeclaration(canonical))[:2]:
                variables.setdefault(start, variable)
        return variables

    def _extent(self, cursor: Cursor) -> FileRange:
        whole = self.lib.clang_getCursorExtent(cursor)
        start = Spot(self.lib, self.lib.clang_getRangeStart(whole))
        end = Spot(self.lib, self.lib.clang_getRangeEnd(whole))
        return FileRange(start.file, start.offset, end.offset if end.file == start.file else None)

    def _stretches(self, declaration: Cursor) -> list[FileRange]:
        """Return the extents of a declaration up to its semicolon, and of the files included inside it."""
        extents = [self._statement_extent(self._extent(declaration))]
        for stretch in extents:
            for file, directive in self._included_files.get(stretch.file, ()):
                if stretch.has(directive.file, directive.offset):
                    extents.append(FileRange(file, 0, None))
        return extents

    @cached_property
    def _included_files(self) -> dict[int | None, list[tuple[int, Spot]]]:
        """The files that each file is the first to include."""
        by_includer: dict[int | None, list[tuple[int, Spot]]] = {}
        included: set[int] = set()
        for file, directive in self._inclusions:
            if file not in included:
                included.add(file)
                by_includer.setdefault(directive.file, []).append((file, directive))
        return by_includer

    def _statement_extent(self, extent: FileRange) -> FileRange:
        is_needed = extent.file in self._diagnostics_by_file or self.shuffling_option is not None
        if not is_needed or extent.file is None or extent.end is None:
            return extent
        text = self._text(extent.file)
        if _is_open(text, extent.end):
            return extent._replace(end=None)
        semicolon = text.find(b";", extent.end, extent.end + _TAIL)
        return extent._replace(end=max(extent.end, semicolon))

    def _text(self, file: int) -> bytes:
        if file not in self._texts:
            self._texts[file] = libclang.contents(self.lib, self.unit, file)
        return self._texts[file]

    @cached_property
    def _inclusions(self) -> tuple[tuple[int, Spot], ...]:
        return libclang.inclusions(self.lib, self.unit)

    @cached_property
    def _includers(self) -> dict[int | None, Spot]:
        """The location of the first inclusion of each file."""
        return dict(reversed(self._inclusions))

    def _is_before(self, record: Cursor, diagnostic: Diagnostic) -> bool:
        """Return whether a struct ends before a diagnostic, in the compiler's reading order."""
        extent = self._extent(record)
        if diagnostic.file is None or extent.file is None or extent.end is None:
            return False
        return self.position(extent.file, extent.end) < self.position(diagnostic.file, diagnostic.offset)

    def position(self, file: int | None, offset: int) -> tuple[int, ...]:
        """Return the offsets of the #include directives that lead to an offset, from the unit's own file
        inwards.
        """
        if file not in self._leading:
            self._leading[file] = self._lead(file)
        return (*self._leading[file], offset)

    def _lead(self, file: int | None) -> tuple[int, ...]:
        offsets: list[int] = []
        visited = set()
        while file in self._includers and file not in visited:
            visited.add(file)
            directive = self._includers[file]
            offsets.append(directive.offset)
            file = directive.file
        # -include names headers that are read before the unit's file, from an unnamed buffer.
        return (0 if file is None else 1, *reversed(offsets))

    def error_origins(self) -> tuple[ErrorOrigin, ...]:
        """Return the origin of each diagnostic."""
        places = [(each, self.position(each.file, each.offset)) for each in self.diagnostics]
        name = self.places.reported_name
        return tuple(
            ErrorOrigin(name(each.file), each.line, at[1] if at[0] else -1, each.text) for each, at in places
        )


def _is_open(text: bytes, end: int) -> bool:
    """Return whether a definition has no closing brace: to libclang, it ends before the opening one."""
    follows = _OPENS_OR_ENDS.search(text, end, end + _TAIL)
    return not text.endswith(b"}", 0, end) and follows is not None and follows[0] == b"{"


class _Dependencies(Record):
    """The declarations that decide a struct's layout: itself, and those that it embeds or computes with."""

    lib: Any
    _direct: dict[int, list[Cursor]] = field(default_factory=dict)

    def all_of(self, record: Cursor) -> list[Cursor]:
        """Return the definition of a struct, and then all declarations that it depends on."""
        dependencies = {record.data[0]: record}
        pending = [record]
        while pending:
            for dependency in self._direct_dependencies(pending.pop()):
                if dependency.data[0] not in dependencies:
                    dependencies[dependency.data[0]] = dependency
                    pending.append(dependency)
        return list(dependencies.values())

    def _direct_dependencies(self, declaration: Cursor) -> list[Cursor]:
        key = declaration.data[0]
        if key not in self._direct:
            cursors: list[Cursor] = []

            def take(child: Cursor, parent: Cursor) -> int:
                cursors.extend(self._references(child, parent))
                return libclang.RECURSE

            libclang.visit(self.lib, declaration, take)
            self._direct[key] = [cursor for cursor in cursors if cursor.data[0] is not None]
        return self._direct[key]

    def _references(self, child: Cursor, parent: Cursor) -> list[Cursor]:
        """Return the declarations that one part of a declaration depends on."""
        lib = self.lib
        if child.kind == libclang.FIELD:
            return self._record(lib.clang_getCursorType(child))
        if child.kind == libclang.TYPE_REF:
            target = lib.clang_getCursorReferenced(child)
            if target.kind in (libclang.TYPEDEF, libclang.ENUM):
                return [target, *self._record(lib.clang_getCursorType(target))]
            if FIRST_EXPRESSION <= parent.kind <= LAST_EXPRESSION:
                return [lib.clang_getCursorDefinition(target)]
        if child.kind == libclang.DECL_REF:
            target = lib.clang_getCursorReferenced(child)
            is_constant = target.kind == ENUM_CONSTANT
            return [lib.clang_getCursorSemanticParent(target) if is_constant else target]
        return []

    def _record(self, ctype: libclang.Type) -> list[Cursor]:
        """Return the struct that a type is, or is an array of; nothing for a pointer."""
        element, _ = Types.element(self.lib, ctype)
        if element.kind != RECORD:
            return []
        return [self.lib.clang_getCursorDefinition(self.lib.clang_getTypeDeclaration(element))]
