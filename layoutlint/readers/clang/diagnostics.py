"""The diagnostics of libclang, and which structs each makes unreliable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from layoutlint.model.record import Record
from layoutlint.readers.clang import cplusplus, libclang, missing_headers, standard_names
from layoutlint.readers.clang.compiler_answer import OWN_PREFIX
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.missing_headers import Remedies

_SPOILS = re.compile(
    r"unknown attribute '\w*(?:align|pack|layout)\w*' ignored"
    r"|attribute '?(?:aligned|packed|randomize_layout)'? is ignored"
    r"|'aligned' attribute ignored(?! for field)"
    r"|#pragma (?:pack|options align|ms_struct)|pragma pack|scalar_storage_order"
    r"|declaration does not declare anything"
)
"""Warnings that an attribute, a pragma or a whole member had no effect on a layout."""
_ORDER = "scalar_storage_order"
"""An attribute of gcc that libclang does not have."""
_UNKNOWN_ATTRIBUTE = re.compile(r"unknown attribute '(\w+)' ignored")
_NOT_ASKED = re.compile(rf"'{OWN_PREFIX}has_([a-z]+)_(\w+)' is not defined, evaluates to 0")
"""What is said of a name whose attribute or built-in function the compiler was not asked for."""
_OF_FUNCTIONS = re.compile(
    r"'_*malloc_*' attribute takes no arguments|definition of builtin function '\w+'"
    r"|conflicting types for '_mm_\w+'"
)
"""Errors on functions of GCC's and glibc's headers, which no layout depends on."""
_PACK_ELSEWHERE = re.compile(
    r"#pragma \w+ alignment value is modified in the included file|^unterminated '#pragma pack"
    r"|#pragma \w+ value changes the alignment of struct or union members in the included file"
)
"""Warnings that a pack reaches into another file, as GCC's does. For a struct GCC takes the pack in force at
its end, and clang that at its start."""
_UNKNOWN_TYPE = "unknown type name "
_NO_SEMICOLON = "expected ';' at end of declaration list"
_NO_TYPE = "type name requires a specifier or qualifier"
_ALIGNAS = re.compile(rb"alignas\s*+\(")
_MACRO_AT = re.compile(rb"\s*+([A-Za-z_]\w*+)\s*+(?:\(|[;,])")
"""A word behind a member that is meant as an attribute."""
_LAYOUTLINT = "LAYOUTLINT"
_LAYOUTLINT_REMEDY = ": include layoutlint.h, which `layoutlint init --header` writes"
_PREPROCESSOR = ("Lexical or Preprocessor Issue", "User-Defined Issue")
FLAGS = (
    "-Wno-everything", "-Wunknown-attributes", "-Wignored-attributes", "-Wignored-pragmas", "-Wpragma-pack",
    "-Wmissing-declarations", "-ferror-limit=0",
)  # fmt: skip
"""The warnings that can concern a lost layout, and all errors."""


class Diagnostic(Record, frozen=True):
    """One diagnostic; `file` is libclang's handle, None for the command line."""

    file: int | None
    offset: int
    line: int
    """The line in the file, from 1; 0 for the command line."""
    text: str
    """`file:line:col: error: message`."""
    is_global: bool
    """Whether it can affect all later text: a missing header, #error, a bad #if."""
    is_doubt: bool = False
    """Whether the text is correct but its meaning unknown."""
    is_cause: bool = False
    """Whether it is probably the cause of later errors: a missing header, #error, C++."""
    construct: str | None = None
    """The construct of C++ that it is about; None for another error."""
    is_warning: bool = False


class ErrorOrigin(Record, frozen=True):
    """Where an error of a unit comes from."""

    file: str
    """Its name in reports; empty for the command line."""
    line: int
    """The line in the file, from 1; 0 for the command line."""
    directive: int
    """The offset in the unit's own file of the directive that leads there; -1 for none."""
    text: str
    """`file:line:col: error: message`."""


def read_diagnostics(
    lib: Any, unit: int, places: Places, remedies: Remedies | None = None, is_gcc: bool = False
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a translation unit that can concern a layout, in order.

    `remedies` finds the flags that mend missing headers; None for units with flags of their own. With
    `is_gcc`, what attributes of gcc mean is known (gcc_layouts).
    """
    diagnostics = []
    for index in range(lib.clang_getNumDiagnostics(unit)):
        raw = lib.clang_getDiagnostic(unit, index)
        diagnostic = _read(lib, unit, raw, places, remedies)
        lib.clang_disposeDiagnostic(raw)
        if diagnostic is not None and not (is_gcc and diagnostic.is_warning and _ORDER in diagnostic.text):
            diagnostics.append(diagnostic)
    return tuple(diagnostics)


def ignored_attributes(lib: Any, unit: int) -> Iterator[tuple[libclang.Spot, str]]:
    """Yield the places and names of attributes that libclang does not have."""
    for index in range(lib.clang_getNumDiagnostics(unit)):
        raw = lib.clang_getDiagnostic(unit, index)
        found = _UNKNOWN_ATTRIBUTE.match(libclang.text(lib, lib.clang_getDiagnosticSpelling(raw)))
        if found is not None:
            yield libclang.Spot(lib, lib.clang_getDiagnosticLocation(raw)), found[1].strip("_")
        lib.clang_disposeDiagnostic(raw)


def first_error(
    lib: Any, found: tuple[Diagnostic, ...], is_left_out: Callable[[str], bool] | None = None
) -> str | None:
    """Return the first diagnostic that is no warning, with its place; None without one.

    `is_left_out` tells by its path whether the errors of a file do not count.
    """
    errors = (each for each in found if not each.is_warning)
    if is_left_out is not None:
        names = ((each, libclang.file_name(lib, each.file) if each.file else "") for each in errors)
        errors = (each for each, name in names if not is_left_out(name))
    return next((each.text for each in errors), None)


def _read(lib: Any, unit: int, raw: int, places: Places, remedies: Remedies | None) -> Diagnostic | None:
    severity = lib.clang_getDiagnosticSeverity(raw)
    message = libclang.text(lib, lib.clang_getDiagnosticSpelling(raw))
    unasked = _NOT_ASKED.fullmatch(message)
    is_spoiling = severity > libclang.WARNING or unasked is not None or _SPOILS.search(message) is not None
    if severity < libclang.WARNING or not is_spoiling:
        return None
    if _OF_FUNCTIONS.fullmatch(message):
        return None
    spot = libclang.Spot(lib, lib.clang_getDiagnosticLocation(raw))
    word = {libclang.WARNING: "warning", libclang.ERROR: "error"}.get(severity, "fatal error")
    location = f"{places.reported_name(spot.file)}:{spot.line}:{spot.column}: " if spot.file else ""
    category = libclang.text(lib, lib.clang_getDiagnosticCategoryText(raw))
    if unasked is not None:
        reason = f"whether the compiler has the {unasked[1]} `{unasked[2]}` is not known"
        return Diagnostic(
            spot.file, spot.offset, spot.line, f"{location}{reason}", True, True, is_warning=True
        )
    is_flag = severity == libclang.ERROR and spot.file is None and "'-" in message
    is_global = severity == libclang.FATAL or category in _PREPROCESSOR or is_flag
    is_global = is_global or ("pragma" in message and not _PACK_ELSEWHERE.search(message))
    construct = _construct(lib, unit, spot, message) if severity >= libclang.ERROR else None
    missing = missing_headers.missing_name(message)
    if is_flag:
        message = _ignored_flag(message)
    elif construct is not None:
        message = f"`{construct}` is C++; {cplusplus.REASON}"
    elif missing is not None and remedies is not None:
        message = f"{message}; {remedies.remedy(missing)}"
    elif message == _NO_SEMICOLON and (macro := _macro_at(lib, unit, spot)) is not None:
        message = f"no macro `{macro}` is defined here{_LAYOUTLINT_REMEDY if macro == _LAYOUTLINT else ''}"
    elif message.startswith(_UNKNOWN_TYPE) and remedies is not None and remedies.lacks_configuration(
        libclang.contents(lib, unit, spot.file) if spot.file else b""
    ):
        message = f"{message}; {missing_headers.CONFIGURATION_REMEDY}"
    elif message == _NO_TYPE and _is_alignas(lib, unit, spot):
        message = f"unknown specifier 'alignas'; {standard_names.OF_ALIGNAS}"
    elif (header := standard_names.remedy(message)) is not None:
        message = f"{message}; {header}"
    is_stop = category == _PREPROCESSOR[1] and severity >= libclang.ERROR
    is_cause = construct is not None or missing is not None or is_stop
    text = f"{location}{word}: {message}"
    return Diagnostic(
        spot.file, spot.offset, spot.line, text, is_global, False, is_cause, construct,
        is_warning=severity == libclang.WARNING,
    )  # fmt: skip


def _ignored_flag(message: str) -> str:
    """Return what to say about a flag that libclang ignores: it may change macros and layouts."""
    remedy = "; name the machine of the build with `-- --target=TRIPLE`" if " for target " in message else ""
    return f"libclang ignores a flag: {message}{remedy}"


def _macro_at(lib: Any, unit: int, spot: libclang.Spot) -> str | None:
    """Return the word behind a member that is no attribute, if it looks like a macro for one."""
    if spot.file is None:
        return None
    word = _MACRO_AT.match(libclang.contents(lib, unit, spot.file), spot.offset)
    return None if word is None else word[1].decode()


def _is_alignas(lib: Any, unit: int, spot: libclang.Spot) -> bool:
    """Return whether an error is at `alignas`, which older C takes for the type of a member."""
    text = b"" if spot.file is None else libclang.contents(lib, unit, spot.file)
    return _ALIGNAS.match(text, spot.offset) is not None


def _construct(lib: Any, unit: int, spot: libclang.Spot, message: str) -> str | None:
    """Return the construct of C++ that causes an error; None for another error."""
    missing = missing_headers.missing_name(message)
    if missing is not None:
        return f"#include <{missing}>" if cplusplus.is_library_header(missing) else None
    if spot.file is None or not cplusplus.is_possible(message):
        return None
    text = libclang.contents(lib, unit, spot.file)
    return cplusplus.construct(message, text[spot.offset : spot.offset + cplusplus.LONGEST])
