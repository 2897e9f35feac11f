"""The diagnostics of libclang, and which structs each makes unreliable."""

from __future__ import annotations

import re
from typing import Any

from layoutlint.model.record import Record
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.file_names import Places

_SPOILS = re.compile(
    r"unknown attribute '\w*(?:align|pack|layout)\w*' ignored"
    r"|attribute '?(?:aligned|packed|randomize_layout)'? is ignored"
    r"|'(?:aligned|packed)' attribute ignored(?! for field)"
    r"|#pragma (?:pack|options align|ms_struct)|pragma pack|scalar_storage_order"
    r"|declaration does not declare anything"
)
"""Warnings that an attribute, a pragma or a whole member had no effect on a layout."""
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
    text: str
    """`file:line:col: error: message`."""
    is_global: bool
    """Whether it can affect all later text: a missing header, #error, a bad #if."""
    is_doubt: bool = False
    """Whether the text is correct but its meaning unknown."""


def read_diagnostics(lib: Any, unit: int, places: Places) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a translation unit that can concern a layout, in order."""
    diagnostics = []
    for index in range(lib.clang_getNumDiagnostics(unit)):
        raw = lib.clang_getDiagnostic(unit, index)
        diagnostic = _read(lib, raw, places)
        lib.clang_disposeDiagnostic(raw)
        if diagnostic is not None:
            diagnostics.append(diagnostic)
    return tuple(diagnostics)


def _read(lib: Any, raw: int, places: Places) -> Diagnostic | None:
    severity = lib.clang_getDiagnosticSeverity(raw)
    message = libclang.text(lib, lib.clang_getDiagnosticSpelling(raw))
    if severity < libclang.WARNING or (severity == libclang.WARNING and not _SPOILS.search(message)):
        return None
    spot = libclang.Spot(lib, lib.clang_getDiagnosticLocation(raw))
    word = {libclang.WARNING: "warning", libclang.ERROR: "error"}.get(severity, "fatal error")
    location = f"{places.reported_name(spot.file)}:{spot.line}:{spot.column}: " if spot.file else ""
    category = libclang.text(lib, lib.clang_getDiagnosticCategoryText(raw))
    is_global = severity == libclang.FATAL or category in _PREPROCESSOR or "pragma" in message
    return Diagnostic(spot.file, spot.offset, f"{location}{word}: {message}", is_global)
