"""Places where a text depends on a macro that the build's compiler may define differently.

Only comments are blanked, not all of `c_tokens`: directives and strings count, since macros act on both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from layoutlint.readers.c_tokens import BLOCK_COMMENT, LINE_COMMENT
from layoutlint.readers.clang import builtin_headers, libclang, option_table
from layoutlint.readers.clang.diagnostics import Diagnostic
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.flags import Doubt

_WITHOUT_LAYOUTS = ("/stdc-predef.h", "/machine/ieeefp.h")
"""What glibc includes first, and newlib's macros about floating-point numbers."""
_OF_GCC = re.compile(r"/lib(?:64)?/gcc(?:-cross)?/.*/include/")
"""GCC's own headers: omp.h compares `_OPENMP` only to mark functions as deprecated."""
_MOST_TEXTS = 1024
"""The most texts whose searches are remembered."""
_FEATURE = re.compile(option_table.FEATURE_MACROS)
_COMMENT = re.compile(f"{BLOCK_COMMENT}|{LINE_COMMENT}".encode(), re.DOTALL)


def find_doubtful_mentions(
    lib: Any, unit: int, main: str, flags: Sequence[str], doubts: Sequence[Doubt], places: Places
) -> Iterator[Diagnostic]:
    """Yield the first place in each file, and in the flags, that mentions a doubtful macro."""
    if not doubts:
        return
    texts = dict(_texts(lib, unit, main))
    words = "\n".join(flags).encode(errors="surrogateescape")
    doubts_by_names: dict[str, Doubt] = {}
    for doubt in doubts:
        doubts_by_names.setdefault(doubt.names, doubt)  # thousands of flags can concern the same macros
    for doubt in doubts_by_names.values():
        names = re.compile(rf"(?<!\w)(?:{doubt.names})(?!\w)".encode())
        if mention := names.search(words):
            yield Diagnostic(None, 0, 0, _message(doubt, mention[0]), True, True)
        for file, text in texts.items():
            if _may_mention(doubt.names, text):
                yield from _mentions(doubt, names, file, text, places)


@lru_cache(maxsize=_MOST_TEXTS)
def _may_mention(names: str, text: bytes) -> bool:
    """Return whether a text may have one of some names; units share most texts."""
    # Without what must stand before a name, the search is 15 times faster.
    return re.search(rf"(?:{names})(?!\w)".encode(), text) is not None


def find_doubtful_macros(
    lib: Any, unit: int, main: str, flags: Sequence[str], doubts: Sequence[Doubt]
) -> frozenset[str]:
    """Return all doubtful macros that can affect later text, apart from those in the words of attributes."""
    texts = [*(_blank_comments(text) for _, text in _texts(lib, unit, main))]
    texts.append("\n".join(flags).encode(errors="surrogateescape"))
    patterns = {re.compile(rf"(?<!\w)(?:{doubt.names})(?!\w)".encode()) for doubt in doubts}
    mentions = {mention[0] for pattern in patterns for text in texts for mention in pattern.finditer(text)}
    return frozenset(mention.decode("ascii", "replace") for mention in mentions if not _is_local(mention))


def _texts(lib: Any, unit: int, main: str) -> Iterator[tuple[int, bytes]]:
    """Yield the files of a unit, without those of the compiler and those that define macros of the
    implementation, and no layouts.
    """
    builtin_folder = builtin_headers.include_folder()
    own = lib.clang_getFile(unit, os.fsencode(main))
    for file in dict.fromkeys((own, *libclang.included_files(lib, unit))):
        name = libclang.file_name(lib, file) if file else ""
        is_builtin = builtin_folder is not None and name.startswith(builtin_folder)
        is_builtin = is_builtin or _OF_GCC.search(name) is not None
        if file and not is_builtin and not name.endswith(_WITHOUT_LAYOUTS):
            yield file, libclang.contents(lib, unit, file)


def _mentions(
    doubt: Doubt, names: re.Pattern[bytes], file: int, text: bytes, places: Places
) -> Iterator[Diagnostic]:
    if not names.search(text):
        return
    code = _blank_comments(text)
    is_reported = False
    for mention in names.finditer(code):
        is_local = _is_local(mention[0])
        if is_reported and not is_local:
            continue
        line = text.count(b"\n", 0, mention.start()) + 1
        message = f"{places.reported_name(file)}:{line}: {_message(doubt, mention[0])}"
        yield Diagnostic(file, mention.start(), line, message, not is_local, True)
        is_reported = is_reported or not is_local


def _blank_comments(text: bytes) -> bytes:
    return _COMMENT.sub(lambda comment: b" " * len(comment[0]), text)


def _is_local(mention: bytes) -> bool:
    """Return whether a mention affects no text but that around it."""
    return not mention.decode("ascii", "replace").isidentifier() or b"aligned" in mention


def _message(doubt: Doubt, name: bytes) -> str:
    macro = name.decode("ascii", "replace")
    if doubt.reason:
        return f"{doubt.reason}; the text depends on `{macro}`"
    if "aligned" in macro:
        return (
            f"compiled with {doubt.flag}, under which `{macro}` means another alignment to GCC than to clang"
        )
    if macro.startswith(":"):
        place = "place what follows a bit-field `: 0` differently"
        return f"compiled with {doubt.flag}, under which GCC and clang {place}; check the DWARF of the build"
    is_feature = _FEATURE.fullmatch(macro) is not None
    remedy = f"add `-D{macro}` or `-U{macro}`, as it does" if is_feature else f"add `-D{macro}=VALUE`"
    return (
        f"compiled with {doubt.flag}, and whether that defines `{macro}` depends on the compiler; {remedy}"
    )
