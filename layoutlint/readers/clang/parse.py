"""One translation unit: parsed by libclang, and the wanted structs taken from it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.declared import Declared
from layoutlint.model.structs import Aggregate, Field, Struct
from layoutlint.model.target import Target, target_named
from layoutlint.model.wanted import Wanted
from layoutlint.readers import scalars
from layoutlint.readers.clang import compiler_macros, declarations, diagnostics, flags, libclang
from layoutlint.readers.clang.annotation_tags import Annotations, mentioned
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.flags import Doubt
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.readers.clang.omissions import FUNCTION, Hidden, hidden
from layoutlint.readers.clang.trust import Problems
from layoutlint.readers.clang.types import (
    ARRAYS,
    ATOMIC,
    ATTRIBUTED,
    DEEPEST,
    ELABORATED,
    RECORD,
    TAG_ATTRIBUTED,
    TYPEDEF,
    Types,
)

_LARGEST = 1 << 27
"""Bytes of a C file; the largest of Linux, a generated header of registers, has 22 million."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is to be parsed."""

    main: str
    """Absolute path of the C file."""
    flags: tuple[str, ...]
    directory: str
    """Where the compiler would run."""
    roots: tuple[str, ...]
    """Folders that reported paths are relative to."""
    origin: str
    """What reports call it."""
    text: str | None = None
    """The content of `main` where that is not on disk."""
    problem: str | None = None
    """Why nothing that it says can be believed, known beforehand."""
    doubts: tuple[Doubt, ...] = ()
    """Macros whose definitions are not known: nothing can be believed of a text that mentions one."""
    shuffled_by: str | None = None
    """What shuffles the fields of marked structs at build time, where something does."""
    with_marks: bool = False
    """Whether attributes that decide of randomised layouts are looked for."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a unit gave."""

    unit: Unit
    target: Target
    structs: tuple[Struct, ...]
    """Wanted definitions, then wanted names that are only declared (bit_size None)."""
    errors: tuple[str, ...]
    """`file:line:col: error: text`, in order."""
    blamed: tuple[tuple[str, int], ...]
    """For each error its file, and where in `main` the directive stands that led there (-1: nowhere)."""
    declared: frozenset[Declared] | None = None
    lost: tuple[str, ...] = ()
    """Those of the errors that can hide structs with annotations, where such were asked for."""
    names: frozenset[str] = frozenset()
    """What its structs are called, and typedefs that stand for some, where that is all that is asked for."""
    hidden: tuple[Hidden, ...] = ()
    """Wanted structs that stand in its text and were not parsed, where such are looked for."""


def read(unit: Unit, wanted: Wanted, looks_for_hidden: bool = False) -> Parsed:
    """Parse a unit and take the wanted structs; raises ReadError when libclang cannot parse it at all."""
    if unit.text is None:
        _refuse_endless(unit)
    lib = libclang.library()
    with _parsed(lib, unit) as handle:
        places = Places(lib, unit.directory, unit.roots)
        complaints = (
            *diagnostics.of(lib, handle, places),
            *compiler_macros.of(lib, handle, unit.main, unit.flags, unit.doubts, places),
        )
        target = _target(lib, handle, unit)
        annotations = Annotations(lib, handle, places) if _is_annotated(lib, handle, unit, wanted) else None
        listing = _Listing(lib, wanted, annotations)
        libclang.visit(lib, lib.clang_getTranslationUnitCursor(handle), listing.take)
        types = Types(lib, handle, places, unit.with_marks)
        problems = Problems(
            lib, handle, places, types, complaints, tuple(listing.variables), unit.shuffled_by
        )
        structs = tuple(_Taker(listing, types, problems, unit, target).structs())
        blamed = problems.blamed() if complaints else ()
        declared = declarations.declared(types, listing.typedefs) if unit.with_marks else None
        lost = () if annotations is None else tuple(annotations.lost(complaints))
        names = frozenset(listing.names()) if wanted.names_only else frozenset[str]()
        main = lib.clang_getFile(handle, os.fsencode(unit.main))
        met = (*listing.records, *listing.typedefs, *listing.functions)
        hides = hidden(lib, handle, main, places, wanted, met) if looks_for_hidden else ()
        found = tuple(hides)
    known = () if unit.problem is None else (unit.problem,)
    told = (complaint.text for complaint in complaints if not complaint.is_doubt or complaint.is_global)
    lost = (*known, *lost) if wanted.annotated else lost
    return Parsed(unit, target, structs, (*known, *told), blamed, declared, lost, names, found)


def _refuse_endless(unit: Unit) -> None:
    """libclang waits for the other end of a pipe, and reads files of any size into memory."""
    try:
        files.opened(unit.main, _LARGEST).close()
    except OSError as error:
        raise ReadError(unit.origin, files.why(error)) from error


def _is_annotated(lib: Any, handle: int, unit: Unit, wanted: Wanted) -> bool:
    if not wanted.annotated:
        return False
    return mentioned(lib, handle, lib.clang_getFile(handle, os.fsencode(unit.main)))


@contextmanager
def _parsed(lib: Any, unit: Unit) -> Iterator[int]:
    index = lib.clang_createIndex(0, 0)
    handle = ctypes.c_void_p()
    text = None if unit.text is None else unit.text.encode(errors="surrogateescape")
    words = (*flags.for_driver(unit.flags), f"-working-directory={unit.directory}")
    try:
        failed = _translate(lib, index, unit.main, words, text, handle)
        if failed or handle.value is None:
            raise ReadError(unit.origin, _why(lib, index, failed, words))
        yield handle.value
    finally:
        if handle.value is not None:
            lib.clang_disposeTranslationUnit(handle)
        lib.clang_disposeIndex(index)


def _translate(
    lib: Any, index: int, main: str, words: tuple[str, ...], text: bytes | None, handle: ctypes.c_void_p
) -> int:
    """Parse a file, or a text in its stead, under some flags; one of `_FAILURES`, or 0."""
    every = (libclang.driver(lib), *diagnostics.FLAGS, *words)
    arguments = (ctypes.c_char_p * len(every))(*map(os.fsencode, every))
    unsaved = None if text is None else libclang.Unsaved(os.fsencode(main), text, len(text))
    failed: int = lib.clang_parseTranslationUnit2FullArgv(
        index, os.fsencode(main), arguments, len(every),
        None if unsaved is None else ctypes.byref(unsaved), 0 if unsaved is None else 1,
        libclang.PREFERRED_OPTIONS, ctypes.byref(handle),
    )  # fmt: skip
    return failed


_FAILURES = {1: "it failed", 2: "it crashed", 3: "invalid arguments", 4: "a broken syntax tree"}
"""enum CXErrorCode."""
_CRASHED = 2


def _why(lib: Any, index: int, failed: int, words: tuple[str, ...]) -> str:
    """What to say of a text that libclang gave nothing for: which flag it does not take, if it is that."""
    refused = None if failed == _CRASHED else flags.refused(words, lambda few: _takes(lib, index, few))
    if refused is not None:
        return f"libclang does not take `{refused}`"
    return f"libclang cannot parse it ({_FAILURES.get(failed, 'no reason given')})"


def _takes(lib: Any, index: int, words: tuple[str, ...]) -> bool:
    """Whether libclang parses an empty text under some flags."""
    handle = ctypes.c_void_p()
    failed = _translate(lib, index, "layoutlint-empty.c", words, b"", handle)
    if handle.value is not None:
        lib.clang_disposeTranslationUnit(handle)
    return not failed


def _target(lib: Any, handle: int, unit: Unit) -> Target:
    info = lib.clang_getTranslationUnitTargetInfo(handle)
    triple = libclang.text(lib, lib.clang_TargetInfo_getTriple(info))
    width = lib.clang_TargetInfo_getPointerWidth(info)
    lib.clang_TargetInfo_dispose(info)
    try:
        return target_named(flags.architecture(triple, width))
    except KeyError:
        raise ReadError(unit.origin, f"the target {triple} is not known here") from None


_Named = dict[int | None, list[Cursor]]


class _Listing:
    """The declarations of a unit, sorted by kind while they are visited."""

    def __init__(self, lib: Any, wanted: Wanted, annotations: Annotations | None) -> None:
        self.lib, self.wanted, self.annotations = lib, wanted, annotations
        self.records: list[Cursor] = []
        self.typedefs: list[Cursor] = []
        self.variables: list[Cursor] = []
        self.functions: list[Cursor] = []

    def take(self, child: Cursor, parent: Cursor) -> int:
        """Keep a declaration that may matter; look inside structs, since C gives nested tags file scope."""
        kind = child.kind
        if self.annotations is not None:
            self.annotations.take(child, parent)
            if parent.kind == libclang.FIELD:
                return libclang.CONTINUE  # its struct was met before it
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
        return libclang.CONTINUE

    def named(self) -> _Named:
        """The wanted typedefs of structs, by the identity of the struct, in the order of the text."""
        lib, found = self.lib, dict[int | None, list[Cursor]]()
        for typedef in self.typedefs:
            name = libclang.spelling(lib, typedef)
            is_wanted = self.wanted.matches(name)
            if not is_wanted and self.annotations is None:
                continue
            canonical = lib.clang_getCanonicalType(lib.clang_getCursorType(typedef))
            if canonical.kind == ATOMIC:
                canonical = lib.clang_getCanonicalType(lib.clang_Type_getValueType(canonical))
            if canonical.kind == RECORD:
                record = lib.clang_getTypeDeclaration(canonical)
                if is_wanted or self.may_be_annotated(record):
                    found.setdefault(record.data[0], []).append(typedef)
        return found

    def names(self) -> Iterator[str]:
        """The tags of structs that are defined, and the typedefs that stand for a struct."""
        lib = self.lib
        for record in self.records:
            if lib.clang_isCursorDefinition(record) and not lib.clang_Cursor_isAnonymous(record):
                yield libclang.spelling(lib, record)
        for typedef in self.typedefs:
            if lib.clang_getCanonicalType(lib.clang_getCursorType(typedef)).kind == RECORD:
                yield libclang.spelling(lib, typedef)

    def may_be_annotated(self, record: Cursor) -> bool:
        """Whether a struct may have annotations that are looked for."""
        return self.annotations is not None and self.annotations.may_be_at(record)


@dataclass(slots=True)
class _Taker:
    """Makes Structs of the records that are wanted."""

    listing: _Listing
    types: Types
    problems: Problems
    unit: Unit
    target: Target

    def structs(self) -> Iterator[Struct]:
        """Definitions in the order of the text, then names that are asked for and only declared."""
        named = self.listing.named()
        declared: dict[str, Struct] = {}
        defined: set[str] = set()
        for record in self.listing.records:
            found = self._name(record, named)
            if found is None:
                continue
            name, aliases = found
            if self.listing.lib.clang_isCursorDefinition(record):
                defined.add(name)
                yield from self._realigned(self._defined(record, name, aliases), record, named)
            elif name in self.listing.wanted.names or aliases:
                declared.setdefault(name, self._declared(record, name, aliases))
        yield from (struct for name, struct in declared.items() if name not in defined)

    def _name(self, record: Cursor, named: _Named) -> tuple[str, tuple[str, ...]] | None:
        """The name of a wanted struct and the typedef names asked for; None for others."""
        lib, wanted = self.listing.lib, self.listing.wanted
        typedefs = named.get(_identity(lib, record), ()) if named else ()
        names = tuple(dict.fromkeys(libclang.spelling(lib, one) for one in typedefs))
        is_wanted = wanted.matches(libclang.spelling(lib, record)) or self.listing.may_be_annotated(record)
        if not names and not is_wanted:
            return None
        tag = self.types.tag(record)
        if not tag and not names:
            return None
        name = tag or names[0]
        return name, tuple(n for n in names if n in wanted.names and n != name)

    def _defined(self, record: Cursor, name: str, aliases: tuple[str, ...]) -> Struct:
        shape = self.types.shape(self.types.lib.clang_getCursorType(record))
        declared = self._declared(record, name, aliases)
        annotations, fields = self.listing.annotations, self.types.members(record)
        return replace(
            declared,
            is_tagged=bool(self.types.tag(record)),
            bit_size=shape.bit_size,
            align=shape.align,
            fields=fields,
            annotations=() if annotations is None else tuple(annotations.of(declared.source, fields)),
            problem=self.unit.problem or self.problems.of(record) or self._disputed(record, fields),
            is_randomisable=not self.unit.with_marks and self.problems.is_marked(record),
        )

    def _disputed(self, record: Cursor, fields: tuple[Field, ...]) -> str | None:
        """What gcc and clang lay out differently of the same text under the same flags; None for nothing."""
        if self.target.name == "i386" and "-malign-double" in self.unit.flags:
            found = _long_double(fields)
            if found is not None:
                return f"under -malign-double gcc aligns `{found}`, a long double, to 4 and clang to 8"
        found = self._atomic(record, 0) if self.types.has_atomics else None
        return None if found is None else f"gcc and clang lay out `{found}`, an atomic type, differently"

    def _atomic(self, record: Cursor, depth: int) -> str | None:
        """A member of an atomic type that has another size or alignment for gcc; None for none."""
        lib = self.types.lib
        for cursor in libclang.fields_of(lib, lib.clang_getCursorType(record)) if depth < DEEPEST else ():
            name, of = libclang.spelling(lib, cursor), _element(lib, lib.clang_getCursorType(cursor))
            if of.kind == ATOMIC and self._is_disputed(of):
                return name
            inner = _element(lib, lib.clang_Type_getValueType(of)) if of.kind == ATOMIC else of
            if inner.kind == RECORD:
                below = self._atomic(lib.clang_getTypeDeclaration(inner), depth + 1)
                if below is not None:
                    return f"{name}.{below}" if name else below
        return None

    def _is_disputed(self, atomic: Type) -> bool:
        lib = self.types.lib
        of = lib.clang_Type_getValueType(atomic)
        ours, inner = (
            (lib.clang_Type_getSizeOf(one) * 8, lib.clang_Type_getAlignOf(one)) for one in (atomic, of)
        )
        theirs = scalars.atomic(self.target, *inner, 0, is_rounded=False)
        return bool(theirs.possible) or ours != theirs[:2]

    def _realigned(self, struct: Struct, record: Cursor, named: _Named) -> Iterator[Struct]:
        """A definition, and what typedefs make of it that give it an alignment, or a size, of their own."""
        lib = self.types.lib
        typedefs = {libclang.spelling(lib, one): one for one in named.get(_identity(lib, record), ())}
        shapes = {name: self.types.shape(lib.clang_getCursorType(one)) for name, one in typedefs.items()}
        own = shapes.get(struct.name) if not struct.is_tagged else None
        align, size = (own.align, own.bit_size) if own is not None else (struct.align, struct.bit_size)
        others = {
            name: (shapes[name].align, shapes[name].bit_size)
            for name in struct.aliases
            if (shapes[name].align, shapes[name].bit_size) != (align, size)
        }
        alike = tuple(name for name in struct.aliases if name not in others)
        if alike or not others or self.listing.wanted.matches(struct.name):
            yield replace(struct, align=align, bit_size=size, aliases=alike)
        for key in dict.fromkeys(others.values()):
            first, *more = (name for name, other in others.items() if other == key)
            yield replace(
                struct, name=first, align=key[0], bit_size=key[1], aliases=tuple(more), is_tagged=False,
                realigned=struct.name,
            )  # fmt: skip

    def _declared(self, record: Cursor, name: str, aliases: tuple[str, ...]) -> Struct:
        aggregate: Aggregate = "union" if record.kind == libclang.UNION else "struct"
        source = self.types.places.source(record)
        return Struct(name, aggregate, None, None, (), self.target, source, self.unit.origin, aliases)


def _long_double(fields: tuple[Field, ...]) -> str | None:
    """The first field at any depth that is a `long double`, or an array or complex number of them."""
    for field in fields:
        written = (field.stands_for or (field.type,))[-1]
        if "long double" in written.left and "*" not in written.left:
            return field.name or ""
        below = _long_double(field.members)
        if below is not None:
            return f"{field.name}.{below}" if field.name else below
    return None


def _element(lib: Any, of: Type) -> Type:
    """What typedefs stand for, of arrays their elements; typedefs inside of an atomic type stay."""
    while True:
        if of.kind in ARRAYS:
            of = lib.clang_getElementType(of)
        elif of.kind == ELABORATED:
            of = lib.clang_Type_getNamedType(of)
        elif of.kind in (ATTRIBUTED, TAG_ATTRIBUTED):
            of = lib.clang_Type_getModifiedType(of)
        elif of.kind == TYPEDEF:
            of = lib.clang_getTypedefDeclUnderlyingType(lib.clang_getTypeDeclaration(of))
        elif of.kind in (RECORD, ATOMIC):
            return of
        else:
            canonical = lib.clang_getCanonicalType(of)
            if canonical.kind == of.kind:
                return of
            of = canonical  # `typeof` and the like


def _identity(lib: Any, record: Cursor) -> int | None:
    """What tells a struct from others, wherever it is declared."""
    found: int | None = lib.clang_getTypeDeclaration(lib.clang_getCursorType(record)).data[0]
    return found
