"""Where a text depends on a macro of which it is not known whether the compiler that was used has it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from layoutlint.readers.clang import builtin_headers, libclang
from layoutlint.readers.clang.diagnostics import Diagnostic
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.flags import Doubt

_NO_CODE = re.compile(rb"/\*.*?\*/|//[^\n]*", re.DOTALL)


def of(
    lib: Any, unit: int, main: str, flags: Sequence[str], doubts: Sequence[Doubt], places: Places
) -> Iterator[Diagnostic]:
    """The first place in each file, and in the flags, that mentions what a doubt is about."""
    if not doubts:
        return
    texts = dict(_texts(lib, unit, main))
    words = "\n".join(flags).encode(errors="surrogateescape")
    firsts: dict[str, Doubt] = {}
    for doubt in doubts:
        firsts.setdefault(doubt.names, doubt)  # thousands of flags can be about the same macros
    for doubt in firsts.values():
        names = re.compile(rf"(?<!\w)(?:{doubt.names})(?!\w)".encode())
        if found := names.search(words):
            yield Diagnostic(None, 0, _said(doubt, found[0]), True, True)
        for file, text in texts.items():
            yield from _mentions(doubt, names, file, text, places)


def _texts(lib: Any, unit: int, main: str) -> Iterator[tuple[int, bytes]]:
    """The files of a unit, without those of the compiler, which define no layouts."""
    own = builtin_headers.include_folder()
    files = dict.fromkeys(file for file, _ in libclang.inclusions(lib, unit))
    for file in (lib.clang_getFile(unit, os.fsencode(main)), *files):
        name = libclang.text(lib, lib.clang_getFileName(file)) if file else ""
        if file and (own is None or not name.startswith(own)):
            yield file, libclang.contents(lib, unit, file)


def _mentions(
    doubt: Doubt, names: re.Pattern[bytes], file: int, text: bytes, places: Places
) -> Iterator[Diagnostic]:
    if not names.search(text):
        return
    code = _NO_CODE.sub(lambda comment: b" " * len(comment[0]), text)
    is_told = False
    for found in names.finditer(code):
        is_local = not found[0].decode("ascii", "replace").isidentifier() or b"aligned" in found[0]
        if is_told and not is_local:
            continue
        line = text.count(b"\n", 0, found.start()) + 1
        said = f"{places.shown(file)}:{line}: {_said(doubt, found[0])}"
        yield Diagnostic(file, found.start(), said, not is_local, True)
        is_told = is_told or not is_local


def _said(doubt: Doubt, name: bytes) -> str:
    shown = name.decode("ascii", "replace")
    if "aligned" in shown:
        return (
            f"compiled with {doubt.flag}, under which `{shown}` means another alignment to GCC than to clang"
        )
    return f"compiled with {doubt.flag}, and whether that defines `{shown}` depends on the compiler"
