"""The part of libclang's C interface (clang-c/Index.h) that layouts need.

Bound here once more, and not taken from clang.cindex, because that wraps every cursor and type in Python
objects with checks: a kernel header has 30 thousand declarations, and the checks take longer than the parse.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_longlong, c_size_t, c_uint, c_ulong, c_void_p
from functools import cache
from typing import Any

from layoutlint.errors import ReadError

# enum CXCursorKind
STRUCT, UNION, ENUM, FIELD, VARIABLE, TYPEDEF = 2, 3, 5, 6, 9, 20
TYPE_REF, DECL_REF = 43, 101
UNEXPOSED_ATTRIBUTE, ANNOTATE, PACKED, ALIGNED = 400, 406, 408, 441
_TERSE = 24
"""CXPrintingPolicy_TerseOutput: without the bodies of structs."""
PREFERRED_OPTIONS = 0x40 | 0x200
"""CXTranslationUnit_SkipFunctionBodies, and KeepGoing: errors behind a missing header are told as well."""
WARNING, ERROR, FATAL = 2, 3, 4
BREAK, CONTINUE, RECURSE = 0, 1, 2


class Cursor(Structure):
    """CXCursor; `data[0]` identifies the declaration."""

    _fields_ = (("kind", c_int), ("xdata", c_int), ("data", c_void_p * 3))


class Type(Structure):
    """CXType; `data[0]` identifies the type with its qualifiers."""

    _fields_ = (("kind", c_int), ("data", c_void_p * 2))


class Location(Structure):
    """CXSourceLocation."""

    _fields_ = (("data", c_void_p * 2), ("offset", c_uint))


class Range(Structure):
    """CXSourceRange."""

    _fields_ = (("data", c_void_p * 2), ("begin", c_uint), ("end", c_uint))


class String(Structure):
    """CXString."""

    _fields_ = (("data", c_void_p), ("flags", c_uint))


class Unsaved(Structure):
    """CXUnsavedFile: the text of a file that is not on disk."""

    _fields_ = (("name", c_char_p), ("contents", c_char_p), ("length", c_ulong))


ChildVisitor = ctypes.CFUNCTYPE(c_int, Cursor, Cursor, c_void_p)
FieldVisitor = ctypes.CFUNCTYPE(c_int, Cursor, c_void_p)
InclusionVisitor = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Location), c_uint, c_void_p)

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "clang_createIndex": (c_void_p, c_int, c_int),
    "clang_disposeIndex": (None, c_void_p),
    "clang_parseTranslationUnit2FullArgv": (
        c_int, c_void_p, c_char_p, POINTER(c_char_p), c_int, POINTER(Unsaved), c_uint, c_uint,
        POINTER(c_void_p),
    ),
    "clang_disposeTranslationUnit": (None, c_void_p),
    "clang_getTranslationUnitCursor": (Cursor, c_void_p),
    "clang_getTranslationUnitTargetInfo": (c_void_p, c_void_p),
    "clang_TargetInfo_getTriple": (String, c_void_p),
    "clang_TargetInfo_getPointerWidth": (c_int, c_void_p),
    "clang_TargetInfo_dispose": (None, c_void_p),
    "clang_getNumDiagnostics": (c_uint, c_void_p),
    "clang_getDiagnostic": (c_void_p, c_void_p, c_uint),
    "clang_disposeDiagnostic": (None, c_void_p),
    "clang_getDiagnosticSeverity": (c_int, c_void_p),
    "clang_getDiagnosticSpelling": (String, c_void_p),
    "clang_getDiagnosticLocation": (Location, c_void_p),
    "clang_getDiagnosticCategoryText": (String, c_void_p),
    "clang_getDiagnosticOption": (String, c_void_p, c_void_p),
    "clang_getCString": (c_char_p, String),
    "clang_disposeString": (None, String),
    "clang_visitChildren": (c_uint, Cursor, ChildVisitor, c_void_p),
    "clang_Type_visitFields": (c_uint, Type, FieldVisitor, c_void_p),
    "clang_getInclusions": (None, c_void_p, InclusionVisitor, c_void_p),
    "clang_getCursorSpelling": (String, Cursor),
    "clang_getCursorType": (Type, Cursor),
    "clang_getCursorPrintingPolicy": (c_void_p, Cursor),
    "clang_PrintingPolicy_setProperty": (None, c_void_p, c_int, c_uint),
    "clang_PrintingPolicy_dispose": (None, c_void_p),
    "clang_getCursorPrettyPrinted": (String, Cursor, c_void_p),
    "clang_getCursorDefinition": (Cursor, Cursor),
    "clang_getCursorReferenced": (Cursor, Cursor),
    "clang_getCursorSemanticParent": (Cursor, Cursor),
    "clang_getCursorExtent": (Range, Cursor),
    "clang_getCursorLocation": (Location, Cursor),
    "clang_getClangVersion": (String,),
    "clang_isCursorDefinition": (c_uint, Cursor),
    "clang_isInvalidDeclaration": (c_uint, Cursor),
    "clang_getRangeStart": (Location, Range),
    "clang_getRangeEnd": (Location, Range),
    "clang_getFileLocation": (
        None, Location, POINTER(c_void_p), POINTER(c_uint), POINTER(c_uint), POINTER(c_uint),
    ),
    "clang_getFile": (c_void_p, c_void_p, c_char_p),
    "clang_getFileName": (String, c_void_p),
    "clang_getFileContents": (c_void_p, c_void_p, c_void_p, POINTER(c_size_t)),
    "clang_Cursor_isAnonymous": (c_uint, Cursor),
    "clang_Cursor_hasAttrs": (c_uint, Cursor),
    "clang_Cursor_isBitField": (c_uint, Cursor),
    "clang_getFieldDeclBitWidth": (c_int, Cursor),
    "clang_Cursor_getOffsetOfField": (c_longlong, Cursor),
    "clang_getTypedefDeclUnderlyingType": (Type, Cursor),
    "clang_getTypeSpelling": (String, Type),
    "clang_getTypeDeclaration": (Cursor, Type),
    "clang_getCanonicalType": (Type, Type),
    "clang_getPointeeType": (Type, Type),
    "clang_getElementType": (Type, Type),
    "clang_getNumElements": (c_longlong, Type),
    "clang_getResultType": (Type, Type),
    "clang_getNumArgTypes": (c_int, Type),
    "clang_getArgType": (Type, Type, c_uint),
    "clang_isFunctionTypeVariadic": (c_uint, Type),
    "clang_Type_getNamedType": (Type, Type),
    "clang_Type_getModifiedType": (Type, Type),
    "clang_Type_getValueType": (Type, Type),
    "clang_isConstQualifiedType": (c_uint, Type),
    "clang_isVolatileQualifiedType": (c_uint, Type),
    "clang_isRestrictQualifiedType": (c_uint, Type),
    "clang_Type_getSizeOf": (c_longlong, Type),
    "clang_Type_getAlignOf": (c_longlong, Type),
}  # fmt: skip


@cache
def library() -> Any:
    """libclang with the types of its functions; raises ReadError when it cannot be loaded."""
    try:
        from clang.cindex import LibclangError, conf
    except ImportError as error:
        raise ReadError("libclang", "is not installed (pip install libclang)") from error
    try:
        lib = _load(conf.get_filename())
        for name, (result, *parameters) in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, parameters
    except (LibclangError, OSError, AttributeError) as error:
        raise ReadError("libclang", f"cannot be used: {error}") from error
    return lib


def _load(file: str) -> Any:
    """Load libclang, and what it needs, with a working folder that is as trusted as libclang itself.

    The RPATH of libclang's wheels ends in an empty element, which stands for the working folder (ld.so(8)): a
    `librt.so.1` there would be loaded and run. Nothing is loaded by that path afterwards: what libclang needs
    is known in whole when it is loaded, and the flags that load plugins never reach it (see flags.py).
    """
    if os.sep in file:
        file = os.path.abspath(file)
    with _working_in(os.path.dirname(file) or os.sep):
        return ctypes.CDLL(file)


@contextmanager
def _working_in(folder: str) -> Iterator[None]:
    """Change the working folder of the process for a while."""
    before = os.open(os.curdir, getattr(os, "O_PATH", os.O_RDONLY))
    try:
        os.chdir(folder)
        try:
            yield
        finally:
            os.fchdir(before)
    finally:
        os.close(before)


def driver(lib: Any) -> str:
    """The name under which libclang's driver runs: absolute, since it looks for tools and files beside it."""
    folder = os.path.dirname(os.path.abspath(lib._name)) if os.sep in lib._name else os.sep
    return os.path.join(folder, "clang")


def text(lib: Any, string: String) -> str:
    """The text of a CXString, which is disposed of."""
    raw: bytes | None = lib.clang_getCString(string)
    lib.clang_disposeString(string)
    return "" if raw is None else raw.decode("utf-8", "replace")


def version(lib: Any) -> int:
    """The first number of libclang's version; 0 when it gives none."""
    found = re.search(r"\d+", text(lib, lib.clang_getClangVersion()))
    return int(found[0]) if found else 0


def spelling(lib: Any, cursor: Cursor) -> str:
    """The name of what a cursor declares; empty when it has none."""
    return text(lib, lib.clang_getCursorSpelling(cursor))


def printed(lib: Any, cursor: Cursor) -> str:
    """A declaration as clang prints it: with attributes, macros replaced, and members of structs (in C)."""
    policy = lib.clang_getCursorPrintingPolicy(cursor)
    lib.clang_PrintingPolicy_setProperty(policy, _TERSE, 1)
    written = text(lib, lib.clang_getCursorPrettyPrinted(cursor, policy))
    lib.clang_PrintingPolicy_dispose(policy)
    return written


def visit(lib: Any, cursor: Cursor, take: Callable[[Cursor, Cursor], int]) -> None:
    """Call `take(child, parent)` for the children of a cursor; it returns BREAK, CONTINUE or RECURSE."""
    failed: list[BaseException] = []

    def visitor(child: Cursor, parent: Cursor, _: object) -> int:
        # An exception must not pass through C: ctypes would print it and go on.
        try:
            return take(child, parent)
        except BaseException as error:
            failed.append(error)
            return BREAK

    lib.clang_visitChildren(cursor, ChildVisitor(visitor), None)
    if failed:
        raise failed[0]


def fields_of(lib: Any, record: Type) -> list[Cursor]:
    """The field declarations of a struct or union, anonymous members and unnamed bit-fields among them."""
    found: list[Cursor] = []

    def visitor(field: Cursor, _: object) -> int:
        found.append(field)
        return CONTINUE

    lib.clang_Type_visitFields(record, FieldVisitor(visitor), None)
    return found


class Spot:
    """Where a location stands in its file: the libclang handle of the file, line, column and byte offset."""

    __slots__ = ("column", "file", "line", "offset")

    def __init__(self, lib: Any, location: Location) -> None:
        file, line, column, offset = c_void_p(), c_uint(), c_uint(), c_uint()
        lib.clang_getFileLocation(location, byref(file), byref(line), byref(column), byref(offset))
        self.file, self.line, self.column, self.offset = file.value, line.value, column.value, offset.value


def contents(lib: Any, unit: int, file: int) -> bytes:
    """A file as libclang read it."""
    size = c_size_t()
    at = lib.clang_getFileContents(unit, file, byref(size))
    return ctypes.string_at(at, size.value) if at else b""


def inclusions(lib: Any, unit: int) -> list[tuple[int, Spot]]:
    """Each file that a unit includes, as often as it does, with where the directive stands."""
    found: list[tuple[int, Spot]] = []

    def visitor(file: int, stack: Any, depth: int, _: object) -> None:
        if depth:
            found.append((file, Spot(lib, stack[0])))

    lib.clang_getInclusions(unit, InclusionVisitor(visitor), None)
    return found
