"""The functions of one translation unit: its own, and those of headers that they call."""

from __future__ import annotations

import os
import re
from typing import Any

from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.model.uses import Function, Spot
from layoutlint.model.wanted import Wanted
from layoutlint.readers.bodies import syntax
from layoutlint.readers.bodies.facts import Names, record_name
from layoutlint.readers.bodies.walker import Walker
from layoutlint.readers.clang import diagnostics, libclang, lookups, parse
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.missing_headers import Remedies
from layoutlint.readers.clang.parse import Unit

_OPTIONS = 0x200
"""CXTranslationUnit_KeepGoing: with function bodies."""


class UnitFunctions(Record, frozen=True):
    """What the functions of a unit do."""

    origin: str
    functions: tuple[Function, ...]
    """Its own, then those of headers."""
    stored: tuple[tuple[str, Spot | None], ...]
    """The functions in initialisers of variables, with the fields."""
    variables: tuple[str, ...]
    """The structs of its variables outside of functions, and of static ones."""
    per_cpu: tuple[str, ...]
    """The structs of which each processor or thread has its own object."""
    called: tuple[tuple[str, ...], ...]
    """For each function the names of the functions that it names."""
    problem: str | None = None
    """The first error in it: functions after it can be missing."""
    structs: tuple[Struct, ...] = ()
    """The layouts of structs that its functions use, as far as no unit before has given them."""


def read(unit: Unit, printed: Messages | None = None) -> UnitFunctions:
    """Parse a unit with the bodies of its functions; raises ReadError.

    `printed` collects what libclang prints, if answers of the file system are logged.
    """
    lib = syntax.library()
    parse.refuse_endless(unit)
    with parse.parsed(lib, unit, printed, _OPTIONS) as handle:
        if printed is not None:
            lookups.log_unit(lib, handle, unit, printed)
        reader = _Reader(lib, handle, unit)
        result = replace(reader.read(), problem=reader.first_error())
        names = {use.spot.root for function in result.functions for use in function.uses}
        wanted = frozenset(name for name in names if isinstance(name, str)) - _known_structs
        structs = parse.structs_in(lib, handle, unit, Wanted(wanted)) if wanted else ()
        return replace(result, structs=tuple(each for each in structs if each.name in wanted))


def remember(unit: Unit, read_functions: UnitFunctions) -> None:
    """Keep the functions of headers of a unit, for units that are read later in this process."""
    key = _definitions(unit)
    for function, names in zip(read_functions.functions, read_functions.called, strict=True):
        if function.file.endswith(".h"):
            _known.setdefault((function.file, function.line, key), (function, names))
    _known_structs.update(
        struct.name
        for struct in read_functions.structs
        if struct.source is not None and struct.source.file.endswith(".h")
    )


def _definitions(unit: Unit) -> int:
    """Return what is equal for units in which functions of headers mean the same."""
    return hash(tuple(flag for flag in unit.flags if flag.startswith("-D")))


_PER_CPU = re.compile(
    rb"(?:\b(?:DEFINE|DECLARE)_PER_CPU\w*\(|\balloc_percpu\w*\(|\b(?:__thread|_Thread_local|thread_local)\s)"
    rb"\s*(?:static\s+)?(?:struct|union)\s+(\w+)"
)
_MAY_BE_PER_CPU = re.compile(rb"PER_CPU|percpu|[tT]hread")
_known: dict[tuple[str, int, int], tuple[Function, tuple[str, ...]]] = {}
"""The functions of headers, with the names of what they call."""
_known_structs: set[str] = set()
"""The structs of headers whose layout another unit has given."""


class _Reader:
    def __init__(self, lib: Any, handle: int, unit: Unit) -> None:
        self._lib, self._handle, self._unit = lib, handle, unit
        self._places = Places(lib, unit.directory, unit.roots, {})
        self._main = lib.clang_getFile(handle, os.fsencode(unit.main))
        self._names = Names({}, {}, self._place)
        self._definitions: dict[str, Cursor] = {}
        self._files: dict[int | None, str] = {}
        self._key = _definitions(unit)

    def read(self) -> UnitFunctions:
        variables: list[Cursor] = []
        headers: list[Cursor] = []

        def take(child: Cursor, _: Cursor) -> int:
            kind = child.kind
            if kind == syntax.FUNCTION:
                if self._lib.clang_isCursorDefinition(child):
                    headers.append(child)
            elif kind == syntax.VARIABLE:
                variables.append(child)
            return libclang.CONTINUE

        libclang.visit(self._lib, self._lib.clang_getTranslationUnitCursor(self._handle), take)
        result: dict[str, Function] = {}
        waiting: list[Cursor] = []
        inline: dict[str, Cursor] = {}
        for cursor in headers:
            spot = libclang.Spot(self._lib, self._lib.clang_getCursorLocation(cursor))
            if spot.file == self._main:
                waiting.append(cursor)
            else:
                inline[libclang.spelling(self._lib, cursor)] = cursor
        stored: dict[tuple[str, Spot | None], None] = {}
        globals_: list[Cursor] = []
        for cursor in variables:
            spot = libclang.Spot(self._lib, self._lib.clang_getCursorLocation(cursor))
            if spot.file == self._main:
                globals_.append(cursor)
                walker = Walker(self._lib, self._names)
                stored |= walker.initializer(cursor)
                waiting += self._inline(walker, inline)
        called: list[tuple[str, ...]] = []
        while waiting:
            cursor = waiting.pop()
            file, line = self._place(cursor)
            name = libclang.spelling(self._lib, cursor)
            is_static = self._lib.clang_Cursor_getStorageClass(cursor) == syntax.STATIC
            key = f"{name}@{file}" if is_static else name
            if key in result:
                continue
            where = file, line, self._key
            if where in _known:
                result[key], names = _known[where]
            else:
                walker = Walker(self._lib, self._names)
                result[key] = walker.function(cursor, key, file, line)
                names = tuple({libclang.spelling(self._lib, each): None for each in walker.callees.values()})
            called.append(names)
            waiting += [inline[name] for name in names if name in inline]
        per_cpu = self._per_cpu()
        types = (record_name(self._lib, self._lib.clang_getCursorType(each)) for each in globals_)
        return UnitFunctions(
            self._unit.origin, tuple(result.values()), tuple(stored),
            tuple(dict.fromkeys(name for name in types if name and name not in per_cpu)),
            tuple(per_cpu), tuple(called),
        )  # fmt: skip

    def first_error(self) -> str | None:
        """Return the first error in the unit, with its place; None without one."""
        remedies = Remedies(self._unit.main, self._unit.flags) if self._unit.has_given_flags else None
        found = diagnostics.read_diagnostics(self._lib, self._handle, self._places, remedies)
        return next((each.text for each in found if ": warning: " not in each.text), None)

    def _per_cpu(self) -> dict[str, None]:
        """Return the structs of which the text says that each processor or thread has its own."""
        included = (file for file, _ in libclang.inclusions(self._lib, self._handle))
        files = dict.fromkeys((self._main, *included))
        texts = (libclang.contents(self._lib, self._handle, file) for file in files)
        found = (match for text in texts if _MAY_BE_PER_CPU.search(text) for match in _PER_CPU.finditer(text))
        return {match[1].decode(errors="replace"): None for match in found}

    def _inline(self, walker: Walker, inline: dict[str, Cursor]) -> list[Cursor]:
        names = {libclang.spelling(self._lib, cursor) for cursor in walker.callees.values()}
        return [inline[name] for name in names if name in inline]

    def _place(self, cursor: Cursor) -> tuple[str, int]:
        spot = libclang.Spot(self._lib, self._lib.clang_getCursorLocation(cursor))
        if spot.file not in self._files:
            self._files[spot.file] = self._places.reported_name(spot.file)
        return self._files[spot.file], spot.line
