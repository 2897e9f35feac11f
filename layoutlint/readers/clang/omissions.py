"""Structs in the text of a unit that its parse does not give: local to functions, or left out by `#if`.

Function bodies are not parsed. So the text is searched for definitions, and each is held against the
declarations that libclang met.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from layoutlint.model.reading import Omission
from layoutlint.model.wanted import Wanted
from layoutlint.readers.allocations.c_text import blanked
from layoutlint.readers.clang import libclang, text_search
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor, Spot

FUNCTION: Final = 8
"""CXCursor_FunctionDecl."""
_MOST: Final = 3
_BRACE: Final = re.compile(r"[{}]")
_ENDS: Final = re.compile(r"\)\s*;")
"""The end of a declaration; the parameters of old functions end in semicolons as well, behind names."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """One definition in the text of a unit that its parse does not give."""

    name: str
    place: str
    is_local: bool
    """Whether it stands in a function; else `#if` leaves it out."""


def hidden(
    lib: Any, unit: int, main: int, places: Places, wanted: Wanted, met: Iterable[Cursor]
) -> Iterator[Hidden]:
    """Yield the wanted structs that a unit hides.

    `main` is the handle of its file, and `met` are the structs, typedefs and functions at file scope. In
    included files only structs that are asked for by name are looked for in functions.
    """
    named = Wanted(wanted.names | wanted.held, tuple(p for p in wanted.patterns if p.strip("*")))
    texts = {main: _defined(libclang.contents(lib, unit, main), wanted)}
    for file in dict.fromkeys(file for file, _ in libclang.inclusions(lib, unit)):
        texts[file] = _defined(libclang.contents(lib, unit, file), named)
    found = {file: definitions for file, definitions in texts.items() if definitions}
    if not found:
        return
    scope = _Scope(lib, set(found), met)
    for file in found:
        text = blanked(libclang.contents(lib, unit, file).decode("latin-1"))
        for name, offset in _defined(text.encode("latin-1"), wanted):
            if (file, offset) in scope.starts:
                continue
            is_local = any(start <= offset < _end(text, start) for start in scope.functions.get(file, ()))
            if is_local or (file == main and name not in scope.names):
                line = text.count("\n", 0, offset) + 1
                yield Hidden(name, f"{places.shown(file)}:{line}", is_local)


class _Scope:
    """Where the declarations at file scope start in some files."""

    def __init__(self, lib: Any, files: set[int], met: Iterable[Cursor]) -> None:
        self.starts: set[tuple[int | None, int]] = set()
        self.functions: dict[int | None, list[int]] = {}
        self.names: set[str] = set()
        """Those of all structs and typedefs."""
        for cursor in met:
            if cursor.kind != FUNCTION:
                if not lib.clang_isCursorDefinition(cursor):
                    continue
                self.names.add(libclang.spelling(lib, cursor))
            spot = Spot(lib, lib.clang_getRangeStart(lib.clang_getCursorExtent(cursor)))
            if spot.file not in files:
                continue
            if cursor.kind == FUNCTION:
                self.functions.setdefault(spot.file, []).append(spot.offset)
            else:
                self.starts.add((spot.file, spot.offset))


def _end(text: str, start: int) -> int:
    """Return where the body of a function ends that is declared at `start`, which is `start` without one.

    The text has no comments and strings.
    """
    opening = text.find("{", start)
    if opening < 0 or _ENDS.search(text, start, opening):
        return start
    depth = 0
    for brace in _BRACE.finditer(text, opening):
        depth += 1 if brace[0] == "{" else -1
        if depth <= 0:
            return brace.end()
    return len(text)


def _defined(text: bytes, wanted: Wanted) -> list[tuple[str, int]]:
    """Return the wanted structs that a text defines, and where each definition starts."""
    return [(name, offset) for name, offset in text_search.definitions_in(text) if wanted.matches(name)]


def omissions(found: Iterable[Hidden], is_configured: bool) -> Iterator[Omission]:
    """Yield what units hide; what `#if` leaves out is not hidden where the configuration is known."""
    each = sorted(set(found), key=lambda one: (one.name, one.place))
    local = [one for one in each if one.is_local]
    if local:
        what = "struct" if len(local) == 1 else "structs"
        reason = f"{len(local):,} {what} local to functions, which layoutlint does not judge"
        yield Omission(f"{reason}: {_listed(local)}", frozenset(one.name for one in local), is_shared=False)
    left_out = [] if is_configured else [one for one in each if not one.is_local]
    if left_out:
        what = "struct that `#if` leaves" if len(left_out) == 1 else "structs that `#if` leaves"
        remedy = "pass the flags of the build, such as `-- -DNAME`"
        reason = f"{len(left_out):,} {what} out: {_listed(left_out)}; {remedy}"
        yield Omission(reason, frozenset(one.name for one in left_out))


def _listed(several: list[Hidden]) -> str:
    more = f" and {len(several) - _MOST:,} more" if len(several) > _MOST else ""
    return ", ".join(f"{one.name} at {one.place}" for one in several[:_MOST]) + more
