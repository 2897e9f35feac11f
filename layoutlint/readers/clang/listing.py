"""The declarations of a parsed unit, and the files among them whose structs count."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from layoutlint.errors import ReadError
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.annotation_tags import Annotations
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.readers.clang.omissions import FUNCTION
from layoutlint.readers.clang.type_kinds import ATOMIC, RECORD

if TYPE_CHECKING:
    from layoutlint.readers.clang.parse import Unit

TypedefsByStruct = dict[int | None, list[Cursor]]
"""Typedefs by the identity of the struct that they refer to."""


class Scope:
    """The files of a unit whose structs and errors count: all, or those of the header it is read for."""

    def __init__(self, lib: Any, handle: int, unit: Unit, places: Places) -> None:
        self._only, self._places = unit.only, places
        self._has: dict[int | None, bool] = {}
        self.has_all = not unit.only
        self.main: int = lib.clang_getFile(handle, os.fsencode(unit.main))
        """The file of the unit, or the header it is read for."""
        if unit.subject is not None:
            self.main = self._find(unit.subject, dict(libclang.inclusions(lib, handle)), unit)

    def _find(self, subject: str, inclusions: Iterable[int], unit: Unit) -> int:
        for file in inclusions:
            if self._places.real_path(file) == subject:
                return file
        raise ReadError(unit.origin, f"does not include {subject}")

    def has(self, file: int | None) -> bool:
        """Return whether the structs and errors of a file count."""
        if self.has_all:
            return True
        if file not in self._has:
            self._has[file] = file is not None and self._places.real_path(file) in self._only
        return self._has[file]


class Listing:
    """The declarations of a unit, sorted by kind while they are visited."""

    def __init__(self, lib: Any, wanted: Wanted, annotations: Annotations | None, scope: Scope) -> None:
        self.lib, self.wanted, self.annotations, self._scope = lib, wanted, annotations, scope
        self.records: list[Cursor] = []
        self.typedefs: list[Cursor] = []
        self.variables: list[Cursor] = []
        self.functions: list[Cursor] = []

    def visit(self, unit: Cursor) -> None:
        """Record the declarations of a unit."""
        if self.annotations is None and libclang.native is not None:
            self.records, self.typedefs, self.variables, self.functions = libclang.native.declarations(unit)
        else:
            libclang.visit(self.lib, unit, self._take)

    def visit_named(self, unit: Cursor) -> None:
        """Record no more declarations of a unit than the requested structs by their names need."""
        if self.annotations is not None or libclang.native is None:
            self.visit(unit)
            return
        names = self.wanted.names
        self.records, self.typedefs, self.variables = libclang.native.named_declarations(unit, names, ())
        identities = self.requested_typedefs().keys()
        if identities:
            self.records, _, _ = libclang.native.named_declarations(unit, names, identities)

    def visit_named_by_typedefs(self, unit: Cursor) -> None:
        """Record the definitions of the structs that the typedefs of a unit name, by a tag or a typedef."""
        self.visit(unit)
        named, self.typedefs = self.typedefs, []
        for typedef in named:
            type_ = self.lib.clang_getTypedefDeclUnderlyingType(typedef)
            declaration = self.lib.clang_getTypeDeclaration(type_)
            if declaration.kind == libclang.TYPEDEF:
                self.typedefs.append(declaration)
            record = self.lib.clang_getTypeDeclaration(self.lib.clang_getCanonicalType(type_))
            self.records.append(self.lib.clang_getCursorDefinition(record))

    def _take(self, child: Cursor, parent: Cursor) -> int:
        """Record a declaration; descend into structs and enums, since C gives tags inside file scope."""
        kind = child.kind
        if self.annotations is not None:
            self.annotations.take(child, parent)
            if parent.kind == libclang.FIELD:
                return libclang.CONTINUE  # its struct was visited before
            if kind == libclang.FIELD:
                return libclang.RECURSE
        if kind in (libclang.STRUCT, libclang.UNION):
            self.records.append(child)
            return libclang.RECURSE
        if kind == libclang.TYPEDEF:
            self.typedefs.append(child)
        elif kind == libclang.VARIABLE:
            self.variables.append(child)
        elif kind == FUNCTION:
            self.functions.append(child)
        return libclang.RECURSE if kind == libclang.ENUM else libclang.CONTINUE

    def requested_typedefs(self) -> TypedefsByStruct:
        """Return the requested typedefs of structs, by the identity of the struct, in text order."""
        lib, by_struct = self.lib, dict[int | None, list[Cursor]]()
        for typedef in self.typedefs:
            name = libclang.spelling(lib, typedef)
            is_wanted = self.wanted.matches(name)
            if not is_wanted and self.annotations is None:
                continue
            canonical = self._canonical(typedef)
            if canonical.kind == RECORD:
                record = lib.clang_getTypeDeclaration(canonical)
                if is_wanted or self.may_be_annotated(record):
                    by_struct.setdefault(record.data[0], []).append(typedef)
        return by_struct

    def _canonical(self, typedef: Cursor) -> Type:
        """Return the type that a typedef refers to; of an atomic type, the type of its value."""
        lib = self.lib
        canonical: Type = lib.clang_getCanonicalType(lib.clang_getCursorType(typedef))
        if canonical.kind == ATOMIC:
            canonical = lib.clang_getCanonicalType(lib.clang_Type_getValueType(canonical))
        return canonical

    def names(self) -> Iterator[str]:
        """Yield the tags of structs that are defined, and the typedefs that refer to a struct."""
        lib = self.lib
        for record in self.records:
            if not self.is_in_scope(record):
                continue
            if lib.clang_isCursorDefinition(record) and not lib.clang_Cursor_isAnonymous(record):
                yield libclang.spelling(lib, record)
        for typedef in self.typedefs:
            if self._canonical(typedef).kind == RECORD:
                yield libclang.spelling(lib, typedef)

    def is_in_scope(self, record: Cursor) -> bool:
        """Return whether a struct is in a file that counts."""
        return self._scope.has_all or self._scope.has(
            libclang.Spot(self.lib, self.lib.clang_getCursorLocation(record)).file
        )

    def may_be_annotated(self, record: Cursor) -> bool:
        """Return whether a struct may have annotations that are requested."""
        return self.annotations is not None and self.annotations.may_be_at(record)


def identity_of(lib: Any, record: Cursor) -> int | None:
    """Return the identity of a struct, wherever it is declared."""
    identity: int | None = lib.clang_getTypeDeclaration(lib.clang_getCursorType(record)).data[0]
    return identity
