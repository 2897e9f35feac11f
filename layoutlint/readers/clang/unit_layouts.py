"""The structs that a parsed unit defines, each with a digest of its layout.

It takes a small part of the time of a parse. What the layouts mean (attributes, gcc, errors) is not read.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.readers.clang.type_kinds import ARRAYS, ATOMIC, RECORD, VECTOR

_Parts = dict[int, tuple[tuple[Any, ...], list[Any], list[int]]]
"""By the identity of a struct: its kind, size, alignment, file and line; the name and offset in bits of each
field; for each that is a struct, and each struct inside, the length of that list then and its identity."""
_Records = list[tuple[str, int]]
_Typedefs = list[tuple[str, int, int, int, int | None]]
"""The name of each typedef, the identity of its struct, its size, its alignment, and its file."""
Definition = tuple[str, str, str]
"""A tag or typedef, the file that has it, and a digest: equal for equal layouts of one definition."""


def definitions(lib: Any, unit: Cursor) -> frozenset[Definition]:
    """Return the structs that a unit defines, and the typedefs that refer to one."""
    parts, records, typedefs = _layouts(lib, unit)
    digests = _Digests(lib, parts)
    # A struct without a name is called `struct (unnamed at x.h:1:9)`.
    tags = (
        (name, digests.file_of(identity), digests.digest(identity))
        for name, identity in records
        if name and "(" not in name
    )
    named = (
        (name, digests.file(file), f"{digests.digest(identity)} {size} {align}")
        for name, identity, size, align, file in typedefs
        if identity in parts
    )
    return frozenset((*tags, *named))


class _Digests:
    """The digests of the structs of a unit."""

    def __init__(self, lib: Any, parts: _Parts) -> None:
        self._lib, self._parts = lib, parts
        self._files: dict[int | None, str] = {None: ""}
        self._known: dict[int, str] = {}

    def digest(self, identity: int) -> str:
        """Return the digest of a struct; empty if it is not defined, or contains itself."""
        if identity not in self._known:
            self._known[identity] = ""
            if identity in self._parts:
                (kind, size, align, file, line), fields, inner = self._parts[identity]
                structs = *inner[::2], *map(self.digest, inner[1::2])
                place = self.file(file), line
                self._known[identity] = _digest(kind, size, align, place, tuple(fields), structs)
        return self._known[identity]

    def file_of(self, identity: int) -> str:
        """Return the file in which a struct of the unit is defined."""
        return self.file(self._parts[identity][0][3])

    def file(self, file: int | None) -> str:
        """Return the name of a file by libclang's handle."""
        if file not in self._files:
            assert file is not None
            self._files[file] = libclang.file_name(self._lib, file)
        return self._files[file]


@lru_cache(maxsize=1 << 14)  # units share structs
def _digest(*layout: object) -> str:
    return hashlib.blake2b(repr(layout).encode(errors="replace"), digest_size=8).hexdigest()


def _layouts(lib: Any, unit: Cursor) -> tuple[_Parts, _Records, _Typedefs]:
    if libclang.native is not None:
        found: tuple[_Parts, _Records, _Typedefs] = libclang.native.layouts(unit)
        return found
    visit = _Visit(lib)
    libclang.visit(lib, unit, visit.take)
    return visit.parts, visit.records, visit.typedefs


class _Visit:
    """What native.pyx does in compiled code."""

    def __init__(self, lib: Any) -> None:
        self._lib = lib
        self.parts: _Parts = {}
        self.records: _Records = []
        self.typedefs: _Typedefs = []

    def take(self, child: Cursor, parent: Cursor) -> int:
        """Record a declaration; descend into structs, and enums, whose values can define some."""
        lib, kind = self._lib, child.kind
        if kind in (libclang.STRUCT, libclang.UNION):
            if lib.clang_isCursorDefinition(child):
                self._take_record(child, parent)
            return libclang.RECURSE
        if kind == libclang.FIELD and parent.data[0] in self.parts:
            _, fields, inner = self.parts[parent.data[0]]
            fields += (libclang.spelling(lib, child), lib.clang_Cursor_getOffsetOfField(child))
            if struct := self._inner(lib.clang_getCanonicalType(lib.clang_getCursorType(child))):
                inner += (len(fields), struct)
        elif kind == libclang.TYPEDEF:
            self._take_typedef(child)
        return libclang.RECURSE if kind == libclang.ENUM else libclang.CONTINUE

    def _take_record(self, child: Cursor, parent: Cursor) -> None:
        lib, ctype = self._lib, self._lib.clang_getCursorType(child)
        size, align = lib.clang_Type_getSizeOf(ctype), lib.clang_Type_getAlignOf(ctype)
        self.parts[child.data[0]] = (child.kind, size, align, *libclang.spot(lib, child)), [], []
        if parent.kind in (libclang.STRUCT, libclang.UNION):
            _, fields, inner = self.parts[parent.data[0]]
            inner += (len(fields), child.data[0])
        self.records.append((libclang.spelling(lib, child), child.data[0]))

    def _inner(self, canonical: Type) -> int:
        lib = self._lib
        while canonical.kind in (*ARRAYS, VECTOR):
            canonical = lib.clang_getCanonicalType(lib.clang_getElementType(canonical))
        is_record = canonical.kind == RECORD
        return int(lib.clang_getTypeDeclaration(canonical).data[0] or 0) if is_record else 0

    def _take_typedef(self, typedef: Cursor) -> None:
        lib, ctype = self._lib, self._lib.clang_getCursorType(typedef)
        canonical = lib.clang_getCanonicalType(ctype)
        if canonical.kind == ATOMIC:
            canonical = lib.clang_getCanonicalType(lib.clang_Type_getValueType(canonical))
        if canonical.kind == RECORD:
            identity = int(lib.clang_getTypeDeclaration(canonical).data[0] or 0)
            size, align = lib.clang_Type_getSizeOf(ctype), lib.clang_Type_getAlignOf(ctype)
            file, _ = libclang.spot(lib, typedef)
            self.typedefs.append((libclang.spelling(lib, typedef), identity, size, align, file))
