"""The part of libclang's C interface (clang-c/Index.h) that layouts need.

clang.cindex is not used, because it wraps every cursor and type in Python objects with checks. A kernel
header has 30 thousand declarations, and the checks take longer than the parse.
"""

from __future__ import annotations

import ctypes
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_int,
    c_longlong,
    c_size_t,
    c_ubyte,
    c_uint,
    c_ulong,
    c_ulonglong,
    c_ushort,
    c_void_p,
)
from functools import cache, partial
from importlib import import_module
from stat import S_ISREG
from typing import Any, NamedTuple

from layoutlint.errors import ReadError
from layoutlint.files import accesses

try:
    native: Any = import_module("layoutlint.readers.clang.native")
except ImportError:  # it is not compiled
    native = None

# enum CXCursorKind
STRUCT, UNION, ENUM, FIELD, VARIABLE, TYPEDEF = 2, 3, 5, 6, 9, 20
EXTERN = 2
"""CX_SC_Extern."""
TYPE_REF, DECL_REF = 43, 101
STATIC_ASSERT = 602
UNEXPOSED_ATTRIBUTE, ANNOTATE, PACKED, ALIGNED = 400, 406, 408, 441
_TERSE = 24
"""CXPrintingPolicy_TerseOutput: without the bodies of structs."""
PREFERRED_OPTIONS = 0x40 | 0x200 | 0x2000
"""CXTranslationUnit_SkipFunctionBodies, KeepGoing, which reports errors after a missing header, and
VisitImplicitAttributes, which shows those of pragmas."""
PREAMBLE_OPTIONS = 0x4 | 0x100
"""CXTranslationUnit_PrecompiledPreamble, and CreatePreambleOnFirstParse."""
WARNING, ERROR, FATAL = 2, 3, 4
BREAK, CONTINUE, RECURSE = 0, 1, 2


class Cursor(Structure):
    """CXCursor; `data[0]` identifies the declaration."""

    _fields_ = (("kind", c_int), ("xdata", c_int), ("data", c_void_p * 3))


class Definition(NamedTuple):
    """A function that a unit defines, or a variable outside of functions."""

    cursor: Cursor
    name: str
    file: int | None
    """As libclang's handle."""
    line: int


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


class FileId(Structure):
    """CXFileUniqueID: device, inode, and time of change in seconds."""

    _fields_ = (("data", c_ulonglong * 3),)


class UnsavedFile(Structure):
    """CXUnsavedFile: the text of a file that is not on disk."""

    _fields_ = (("name", c_char_p), ("contents", c_char_p), ("length", c_ulong))


class IndexOptions(Structure):
    """CXIndexOptions."""

    _fields_ = (
        ("size", c_uint), ("threads", c_ubyte * 2), ("excludes_preamble", c_ushort, 1),
        ("displays_diagnostics", c_ushort, 1), ("preambles_in_memory", c_ushort, 1),
        ("preamble_path", c_char_p), ("invocation_path", c_char_p),
    )  # fmt: skip


ChildVisitor = ctypes.CFUNCTYPE(c_int, Cursor, Cursor, c_void_p)
FieldVisitor = ctypes.CFUNCTYPE(c_int, Cursor, c_void_p)
InclusionVisitor = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Location), c_uint, c_void_p)
TOO_DEEP = (RecursionError, ctypes.ArgumentError)
"""What calls raise that are nested too deeply: ctypes has an error of its own in place of Python's."""

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "clang_createIndex": (c_void_p, c_int, c_int),
    "clang_disposeIndex": (None, c_void_p),
    "clang_parseTranslationUnit2FullArgv": (
        c_int, c_void_p, c_char_p, POINTER(c_char_p), c_int, POINTER(UnsavedFile), c_uint, c_uint,
        POINTER(c_void_p),
    ),
    "clang_reparseTranslationUnit": (c_int, c_void_p, c_uint, POINTER(UnsavedFile), c_uint),
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
    "clang_isFileMultipleIncludeGuarded": (c_uint, c_void_p, c_void_p),
    "clang_getFileUniqueID": (c_int, c_void_p, POINTER(FileId)),
    "clang_getFileContents": (c_void_p, c_void_p, c_void_p, POINTER(c_size_t)),
    "clang_Cursor_isAnonymous": (c_uint, Cursor),
    "clang_Cursor_getArgument": (Cursor, Cursor, c_uint),
    "clang_Cursor_getStorageClass": (c_int, Cursor),
    "clang_Cursor_hasAttrs": (c_uint, Cursor),
    "clang_Cursor_isBitField": (c_uint, Cursor),
    "clang_getFieldDeclBitWidth": (c_int, Cursor),
    "clang_Cursor_getOffsetOfField": (c_longlong, Cursor),
    "clang_getTypedefDeclUnderlyingType": (Type, Cursor),
    "clang_getEnumDeclIntegerType": (Type, Cursor),
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


_INDEX_WITH_OPTIONS = "clang_createIndexWithOptions"


@cache
def library() -> Any:
    """Return libclang with the types of its functions; raises ReadError if it cannot be loaded."""
    try:
        from clang.cindex import LibclangError, conf
    except ImportError as error:
        accesses.refuse("no libclang")
        raise ReadError("libclang", "is not installed (pip install libclang)") from error
    try:
        lib = _load(conf.get_filename())
        for name, (result, *parameters) in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, parameters
        if hasattr(lib, _INDEX_WITH_OPTIONS):  # from libclang 17 on
            function = getattr(lib, _INDEX_WITH_OPTIONS)
            function.restype, function.argtypes = c_void_p, (POINTER(IndexOptions),)
        if native is not None:
            native.bind(lib, Cursor, Definition)
    except (LibclangError, OSError, AttributeError) as error:
        accesses.refuse("no libclang")
        raise ReadError("libclang", f"cannot be used: {error}") from error
    return lib


def _load(file: str) -> Any:
    """Load libclang and its libraries from a working folder that is as trusted as libclang itself.

    The RPATH of libclang's wheels ends in an empty element, which means the working folder (ld.so(8)): a
    `librt.so.1` there would be loaded and run. Nothing is loaded by that path later: all libraries are known
    when libclang is loaded, and flags that load plugins never reach it (see flags.py).
    """
    if os.sep in file:
        file = os.path.abspath(file)
    with _change_folder(os.path.dirname(file) or os.sep):
        return ctypes.CDLL(file)


@contextmanager
def _change_folder(folder: str) -> Iterator[None]:
    """Change the working folder of the process temporarily."""
    previous = os.open(os.curdir, getattr(os, "O_PATH", os.O_RDONLY))
    try:
        os.chdir(folder)
        try:
            yield
        finally:
            os.fchdir(previous)
    finally:
        os.close(previous)


def driver(lib: Any) -> str:
    """Return the absolute name of libclang's driver, which looks for tools and files next to it."""
    folder = os.path.dirname(os.path.abspath(lib._name)) if os.sep in lib._name else os.sep
    return os.path.join(folder, "clang")


def keeps_preambles(lib: Any) -> bool:
    """Return whether libclang can keep a precompiled preamble in memory, not in a file."""
    return hasattr(lib, _INDEX_WITH_OPTIONS)


def create_index(lib: Any, parse_options: int, lists_preambles: bool = False) -> int:
    """Return a handle under which units are parsed with some options.

    Unless it `lists_preambles`, libclang lists the declarations of a preamble only once, and later only those
    that a declarator or `;` ends, not those in the argument of an attribute.
    """
    if not parse_options & PREAMBLE_OPTIONS:
        return int(lib.clang_createIndex(0, 0))
    size = ctypes.sizeof(IndexOptions)
    options = IndexOptions(size=size, excludes_preamble=not lists_preambles, preambles_in_memory=1)
    return int(lib.clang_createIndexWithOptions(byref(options)))


def text(lib: Any, string: String) -> str:
    """Return the text of a CXString, and dispose of it."""
    raw: bytes | None = lib.clang_getCString(string)
    lib.clang_disposeString(string)
    return "" if raw is None else raw.decode("utf-8", "replace")


def error_messages(lib: Any, unit: int) -> list[str]:
    """Return the texts of the errors of a unit."""
    messages = []
    for index in range(lib.clang_getNumDiagnostics(unit)):
        diagnostic = lib.clang_getDiagnostic(unit, index)
        if lib.clang_getDiagnosticSeverity(diagnostic) >= ERROR:
            messages.append(text(lib, lib.clang_getDiagnosticSpelling(diagnostic)))
        lib.clang_disposeDiagnostic(diagnostic)
    return messages


def version(lib: Any) -> int:
    """Return the first number of libclang's version; 0 if it states none."""
    number = re.search(r"\d+", text(lib, lib.clang_getClangVersion()))
    return int(number[0]) if number else 0


def spelling(lib: Any, cursor: Cursor) -> str:
    """Return the declared name of a cursor; empty if it has none."""
    if native is not None:
        name: str = native.spelling(cursor)
        return name
    return text(lib, lib.clang_getCursorSpelling(cursor))


def pretty_print(lib: Any, cursor: Cursor, is_terse: bool = True) -> str:
    """Return a declaration as clang prints it: with attributes, expanded macros, and members of structs (in
    C). A function has its body unless `is_terse`.
    """
    policy = lib.clang_getCursorPrintingPolicy(cursor)
    lib.clang_PrintingPolicy_setProperty(policy, _TERSE, is_terse)
    written = text(lib, lib.clang_getCursorPrettyPrinted(cursor, policy))
    lib.clang_PrintingPolicy_dispose(policy)
    return written


def visit(lib: Any, cursor: Cursor, take: Callable[[Cursor, Cursor], int]) -> None:
    """Call `take(child, parent)` for the children of a cursor; it returns BREAK, CONTINUE or RECURSE."""
    exceptions: list[BaseException] = []

    def visitor(child: Cursor, parent: Cursor, _: object) -> int:
        # An exception must not pass through C: ctypes would print it and go on.
        try:
            return take(child, parent)
        except BaseException as error:
            exceptions.append(error)
            return BREAK

    lib.clang_visitChildren(cursor, ChildVisitor(visitor), None)
    if exceptions:
        raise exceptions[0]


def fields_of(lib: Any, record: Type) -> list[Cursor]:
    """Return the field declarations of a struct or union, also anonymous members and unnamed bit-fields.

    Of one that libclang has marked as invalid, because of an error in it, they are what is declared.
    """
    fields: list[Cursor] = []

    def visitor(field: Cursor, _: object) -> int:
        fields.append(field)
        return CONTINUE

    lib.clang_Type_visitFields(record, FieldVisitor(visitor), None)
    if not fields:  # clang_Type_visitFields skips invalid records
        visit(lib, lib.clang_getTypeDeclaration(record), partial(_keep_field, fields))
    return fields


def _keep_field(fields: list[Cursor], child: Cursor, _: Cursor) -> int:
    if child.kind == FIELD:
        fields.append(child)
    return CONTINUE


class Spot:
    """A location in a file: the libclang handle of the file, line, column and byte offset."""

    __slots__ = ("column", "file", "line", "offset")

    def __init__(self, lib: Any, location: Location) -> None:
        file, line, column, offset = c_void_p(), c_uint(), c_uint(), c_uint()
        lib.clang_getFileLocation(location, byref(file), byref(line), byref(column), byref(offset))
        self.file, self.line, self.column, self.offset = file.value, line.value, column.value, offset.value
        if _moved is not None and self.file == _moved[0]:
            self.line -= _moved[2]


def spot(lib: Any, cursor: Cursor) -> tuple[int | None, int]:
    """Return the file of a cursor, as libclang's handle, and the line."""
    if native is not None:
        place: tuple[int | None, int] = native.spot(cursor)
        return place
    at = Spot(lib, lib.clang_getCursorLocation(cursor))
    return at.file, at.line


_contents: dict[tuple[int, int], bytes] = {}
"""Files by unit and handle."""
_lasting: dict[tuple[int, str], bytes] = {}
"""Files by unit and name that stay as they are while the unit is parsed again."""
_shared: dict[tuple[int, ...], tuple[accesses.State, bytes]] | None = None
"""The state and content of files that several units read, by device, inode and time in seconds."""
_LOADED = time.time_ns()
_YOUNG = 2_000_000_000
"""The nanoseconds in which a second change may get the time of the first: FAT counts in 2 seconds."""


def contents(lib: Any, unit: int, file: int) -> bytes:
    """Return a file as libclang read it."""
    if (unit, file) not in _contents:
        content = _lasting.get((unit, file_name(lib, file))) if _lasting else None
        if content is None:
            content = _unchanged_file(lib, file)
        _contents[unit, file] = _read_contents(lib, unit, file) if content is None else content
    return _contents[unit, file]


def _unchanged_file(lib: Any, file: int) -> bytes | None:
    """Return a file from disk if it has not changed since before libclang read it; None if in doubt.

    A text that libclang read in place of a file has the time 0.
    """
    identity = FileId()
    if lib.clang_getFileUniqueID(file, byref(identity)):
        return None
    key = tuple(identity.data)
    try:
        name = file_name(lib, file)
        known = _shared.get(key) if _shared is not None else None
        if known is not None and known[0] == accesses.state_of(os.stat(name)):
            return known[1]
        with open(os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            status = os.fstat(opened.fileno())
            is_same = (status.st_dev, status.st_ino, status.st_mtime_ns // 10**9) == key
            content = opened.read() if is_same and is_settled(status) else None
        if _shared is not None and content is not None:
            _shared[key] = accesses.state_of(status), content
        return content
    except (OSError, ValueError):
        return None


def share_contents() -> None:
    """Keep the files that have not changed since libclang was loaded, for all units of this process."""
    global _shared
    _shared = {}


def shares_contents() -> bool:
    """Return whether this process reads several units of one input, one after another."""
    return _shared is not None


def is_settled(status: os.stat_result) -> bool:
    """Return whether a regular file has not changed since libclang was loaded."""
    is_old = status.st_mtime_ns > 0 and max(status.st_mtime_ns, status.st_ctime_ns) < _LOADED - _YOUNG
    return is_old and S_ISREG(status.st_mode)


def _read_contents(lib: Any, unit: int, file: int) -> bytes:
    # libclang searches for the file among all macro expansions of the unit: milliseconds for each.
    size = c_size_t()
    at = lib.clang_getFileContents(unit, file, byref(size))
    return ctypes.string_at(at, size.value) if at else b""


def keep_contents(lib: Any, unit: int, main: str) -> list[bytes]:
    """Keep the included files of a unit for when it is parsed again; return them."""
    names = {file: file_name(lib, file) for file in included_files(lib, unit)}
    kept = {(unit, name): contents(lib, unit, file) for file, name in names.items() if name != main}
    _lasting.update(kept)
    return list(kept.values())


_moved: tuple[int, str, int] | None = None
"""The file that stands for another one, the name of that, and how many lines it has in front."""


def move(file: int, name: str, lines: int) -> None:
    """Report a file by another name, and its lines as if some in front of them were not there; 0 for none."""
    global _moved
    _moved = (file, name, lines) if file else None
    if native is not None:
        native.move(file, name, lines)


def file_name(lib: Any, file: int) -> str:
    """Return the name of a file as libclang has it, or of the one for which it stands."""
    if _moved is not None and file == _moved[0]:
        return _moved[1]
    if native is not None:
        name: str = native.file_name(file)
        return name
    return text(lib, lib.clang_getFileName(file))


def dispose(lib: Any, unit: int) -> None:
    """Free a unit and its files."""
    lib.clang_disposeTranslationUnit(unit)
    forget(unit)
    for key in [key for key in _lasting if key[0] == unit]:
        del _lasting[key]


def forget(unit: int) -> None:
    """Forget the files of a unit by their handles, which mean others when it was parsed again."""
    _inclusions.pop(unit, None)
    _included.pop(unit, None)
    for key in [key for key in _contents if key[0] == unit]:
        del _contents[key]


def included_files(lib: Any, unit: int) -> tuple[int, ...]:
    """Return the files that a unit includes, each once, in the order of their first inclusion."""
    if unit not in _included:
        found = native.included_files(unit) if native is not None else _visit_inclusions(lib, unit)
        # libclang lists those of a precompiled preamble backwards, and before the file of the unit.
        own = len(found) - 1 - found[::-1].index(0) if 0 in found else 0
        _included[unit] = tuple(dict.fromkeys(filter(None, (*found[:own][::-1], *found[own:]))))
    return _included[unit]


def set_included_files(unit: int, included: Iterable[int]) -> None:
    """Set what `included_files` returns for a unit until it is parsed again."""
    _included[unit] = tuple(dict.fromkeys(included))


def _visit_inclusions(lib: Any, unit: int) -> list[int]:
    """Return what native.pyx returns."""
    found: list[int] = []

    def visitor(file: int, stack: Any, depth: int, _: object) -> None:
        found.append(file if depth else 0)

    lib.clang_getInclusions(unit, InclusionVisitor(visitor), None)
    return found


_included: dict[int, tuple[int, ...]] = {}
"""By unit."""
_inclusions: dict[int, tuple[tuple[int, Spot], ...]] = {}
"""By unit."""


def inclusions(lib: Any, unit: int) -> tuple[tuple[int, Spot], ...]:
    """Return each inclusion of a unit in the order of the text: the file, and where the directive is."""
    if unit not in _inclusions:
        _inclusions[unit] = _find_inclusions(lib, unit)
    return _inclusions[unit]


def _find_inclusions(lib: Any, unit: int) -> tuple[tuple[int, Spot], ...]:
    result: list[tuple[int, Spot]] = []
    in_preamble = 0

    def visitor(file: int, stack: Any, depth: int, _: object) -> None:
        nonlocal in_preamble
        if depth:
            result.append((file, Spot(lib, stack[0])))
        else:
            in_preamble = len(result)

    lib.clang_getInclusions(unit, InclusionVisitor(visitor), None)
    return (*result[:in_preamble][::-1], *result[in_preamble:])
