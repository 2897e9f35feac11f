"""The structs that a parsed unit defines, each with a digest of its layout.

It takes a small part of the time of a parse. What the layouts mean (attributes, gcc, errors) is not read.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from operator import itemgetter
from typing import Any

from layoutlint.errors import ReadError
from layoutlint.model.record import Record
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.readers.clang.type_kinds import ARRAYS, ATOMIC, RECORD, VECTOR

_Parts = dict[int, tuple[tuple[Any, ...], list[Any], list[tuple[int, int]]]]
"""By the identity of a struct: its kind, size, alignment, file and line; the name and offset in bits of each
field; for each that is a struct, the length of that list and its identity, and 0 for each struct inside."""
_Records = list[tuple[str, int]]
_Typedefs = list[tuple[str, int, int, int, int | None]]
"""The name of each typedef, the identity of its struct, its size, its alignment, and its file."""
_Used = dict[int, Cursor]
"""By their identities, the structs of typedefs and fields that were not defined when these were visited."""
_Earlier = list[tuple[int, Cursor]]
"""The typedefs in the part that is left out, each with the identity of its struct."""
_Visited = tuple[_Parts, _Records, _Typedefs, _Used, _Earlier, bool]
"""All of these, and whether the end of what is left out was found."""
Definition = tuple[str, str, str]
"""A tag or typedef, the file that has it, and a digest: equal for equal layouts of one definition."""


class Main(Record, frozen=True):
    """The file of a unit whose text was parsed as a part of another."""

    file: int | None
    """The whole text, by libclang's handle: what is before its first `_Static_assert` is left out."""
    path: str
    """The file from which the part comes."""
    lines: int
    """How many lines later the part is in the whole text."""


def definitions(lib: Any, unit: Cursor, directory: str, main: Main | None = None) -> frozenset[Definition]:
    """Return the structs that a unit defines, and the typedefs that refer to one; raises ReadError (Main)."""
    parts, records, typedefs = _layouts(lib, unit, None if main is None else main.file)
    digests = _Digests(lib, parts, directory, main)
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

    def __init__(self, lib: Any, parts: _Parts, directory: str, main: Main | None) -> None:
        self._lib, self._parts, self._directory = lib, parts, directory
        self._main, self._lines = (None, 0) if main is None else (main.file, main.lines)
        self._files: dict[int | None, str] = {None: "", **({} if main is None else {main.file: main.path})}
        self._known: dict[int, str] = {}

    def digest(self, identity: int) -> str:
        """Return the digest of a struct; empty if it is not defined, or contains itself."""
        if identity not in self._known:
            self._known[identity] = ""
            if identity in self._parts:
                (kind, size, align, file, line), fields, inner = self._parts[identity]
                place = self.file(file), line - (self._lines if file == self._main else 0)
                # libclang lists those inside of a struct earlier if it was precompiled.
                structs = ((at, self.digest(each)) for at, each in sorted(inner, key=itemgetter(0)))
                self._known[identity] = _digest(kind, size, align, place, tuple(fields), *structs)
        return self._known[identity]

    def file_of(self, identity: int) -> str:
        """Return the file in which a struct of the unit is defined."""
        return self.file(self._parts[identity][0][3])

    def file(self, file: int | None) -> str:
        """Return the path of a file by libclang's handle."""
        if file not in self._files:
            assert file is not None
            self._files[file] = os.path.join(self._directory, libclang.file_name(self._lib, file))
        return self._files[file]


@lru_cache(maxsize=1 << 14)  # units share structs
def _digest(*layout: object) -> str:
    return hashlib.blake2b(repr(layout).encode(errors="replace"), digest_size=8).hexdigest()


def _layouts(lib: Any, unit: Cursor, boundary: int | None) -> tuple[_Parts, _Records, _Typedefs]:
    """Return what a unit declares, and the parts of the structs that it uses; `boundary` is Main.file.

    Raises ReadError if the part to leave out does not end.
    """
    visit = _visit if libclang.native is None else libclang.native.layouts
    parts, records, typedefs, used, earlier, has_end = visit(unit, boundary)
    if not has_end:
        raise ReadError("", "libclang lists no end of the first part")
    own = {identity for _, identity in records}
    later = _Visit(lib, None)
    for identity, typedef in earlier:
        if identity in own:  # its struct was only declared before
            later.take(typedef, unit)
    pending = list(used.items())
    for identity, record in pending:
        if identity not in parts and lib.clang_isCursorDefinition(record):
            inner, _, _, more, *_ = visit(record, None)
            parts |= {each: part for each, part in inner.items() if each not in parts}
            pending += more.items()
    return parts, records, [*typedefs, *later.typedefs]


def _visit(root: Cursor, boundary: int | None) -> _Visited:
    """Return what native.pyx returns."""
    lib = libclang.library()
    visit = _Visit(lib, boundary)
    if root.kind in (libclang.STRUCT, libclang.UNION):
        visit.take(root, Cursor())
    libclang.visit(lib, root, visit.take)
    return visit.parts, visit.records, visit.typedefs, visit.used, visit.earlier, not visit.is_waiting


class _Visit:
    """What native.pyx does in compiled code."""

    def __init__(self, lib: Any, boundary: int | None) -> None:
        self._lib, self._boundary = lib, boundary
        self.earlier: _Earlier = []
        self.parts: _Parts = {}
        self.records: _Records = []
        self.typedefs: _Typedefs = []
        self.used: _Used = {}

    @property
    def is_waiting(self) -> bool:
        """Whether what is left out has not ended."""
        return self._boundary is not None

    def take(self, child: Cursor, parent: Cursor) -> int:
        """Record a declaration; descend into structs, and enums, whose values can define some."""
        lib, kind = self._lib, child.kind
        if self._boundary is not None:
            if kind == libclang.TYPEDEF:
                self._take_earlier(child)
            elif kind == libclang.STATIC_ASSERT and libclang.spot(lib, child)[0] == self._boundary:
                self._boundary = None
            return libclang.CONTINUE
        if kind in (libclang.STRUCT, libclang.UNION):
            if lib.clang_isCursorDefinition(child):
                self._take_record(child, parent)
            return libclang.RECURSE
        if kind == libclang.FIELD and parent.data[0] in self.parts:
            _, fields, inner = self.parts[parent.data[0]]
            fields += (libclang.spelling(lib, child), lib.clang_Cursor_getOffsetOfField(child))
            record = self._inner(lib.clang_getCanonicalType(lib.clang_getCursorType(child)))
            inner += () if record is None else ((len(fields), self._use(record)),)
        elif kind == libclang.TYPEDEF:
            self._take_typedef(child)
        return libclang.RECURSE if kind == libclang.ENUM else libclang.CONTINUE

    def _take_record(self, child: Cursor, parent: Cursor) -> None:
        lib, ctype = self._lib, self._lib.clang_getCursorType(child)
        size, align = lib.clang_Type_getSizeOf(ctype), lib.clang_Type_getAlignOf(ctype)
        self.parts[child.data[0]] = (child.kind, size, align, *libclang.spot(lib, child)), [], []
        if parent.kind in (libclang.STRUCT, libclang.UNION):
            _, _, inner = self.parts[parent.data[0]]
            inner.append((0, child.data[0]))
        self.records.append((libclang.spelling(lib, child), child.data[0]))

    def _inner(self, canonical: Type) -> Cursor | None:
        lib = self._lib
        while canonical.kind in (*ARRAYS, VECTOR):
            canonical = lib.clang_getCanonicalType(lib.clang_getElementType(canonical))
        record: Cursor | None = lib.clang_getTypeDeclaration(canonical) if canonical.kind == RECORD else None
        return record

    def _take_earlier(self, typedef: Cursor) -> None:
        record = self._record(self._lib.clang_getCursorType(typedef))
        if record is not None:
            self.earlier.append((int(record.data[0] or 0), typedef))

    def _take_typedef(self, typedef: Cursor) -> None:
        lib, ctype = self._lib, self._lib.clang_getCursorType(typedef)
        record = self._record(ctype)
        if record is not None:
            size, align = lib.clang_Type_getSizeOf(ctype), lib.clang_Type_getAlignOf(ctype)
            file, _ = libclang.spot(lib, typedef)
            self.typedefs.append((libclang.spelling(lib, typedef), self._use(record), size, align, file))

    def _record(self, ctype: Type) -> Cursor | None:
        lib = self._lib
        canonical = lib.clang_getCanonicalType(ctype)
        if canonical.kind == ATOMIC:
            canonical = lib.clang_getCanonicalType(lib.clang_Type_getValueType(canonical))
        record: Cursor | None = lib.clang_getTypeDeclaration(canonical) if canonical.kind == RECORD else None
        return record

    def _use(self, record: Cursor) -> int:
        identity = int(record.data[0] or 0)
        if identity not in self.parts:
            self.used.setdefault(identity, record)
        return identity
