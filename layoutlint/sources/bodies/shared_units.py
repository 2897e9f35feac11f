"""The functions of units that include the same headers, which libclang parses once for all of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct, has_annotation_marks
from layoutlint.model.uses import plain_name
from layoutlint.readers.clang import libclang, parse
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.shared_beginnings import Rest, Shared
from layoutlint.sources.bodies import shared_parses, unit
from layoutlint.sources.bodies.shared_parses import Parsed, SharedParse
from layoutlint.sources.bodies.unit import UnitFunctions, UnitReader
from layoutlint.workers import sandbox

Logged = tuple[UnitFunctions, accesses.Log | None]
"""What a unit has, and what the file system answered if that is logged."""


class _Rest(Record, frozen=True):
    """A unit without the layouts of the structs that shared headers define."""

    functions: UnitFunctions
    """Without layouts, but with those of its own that are unreliable."""
    structs: tuple[Struct, ...]
    """Of its own texts."""
    wanted: frozenset[str]
    """The keys of all structs whose layouts are wanted."""
    log: accesses.Log | None


def read(shared: Shared, stream: Messages, is_logged: bool) -> dict[Unit, Logged]:
    """Return what those units have that are certain to be the same as when they are parsed alone."""
    parts: dict[Unit, _Rest] = {}
    try:
        with shared_parses.parse_headers(shared, stream, is_logged) as parses:
            reader = _SharedReader(parses)
            for parsed in parses.units():
                part = reader.read(parsed)
                if part is not None:
                    parts[parsed.own] = part
                    sandbox.tell_step()
            layouts = reader.layouts() if parts else ()
    except (ReadError, OSError):
        return {}  # they are parsed alone, which gives the reason
    return {each: (_with_layouts(part, layouts), part.log) for each, part in parts.items()}


def _with_layouts(part: _Rest, layouts: Iterable[Struct]) -> UnitFunctions:
    """Return a unit with layouts; those that are still missing are read from a unit alone."""
    own = (replace(struct, origin=part.functions.origin) for struct in layouts)
    given = {unit.key_of(struct): struct for struct in (*part.structs, *own)}
    structs = tuple(struct for key, struct in given.items() if key in part.wanted)
    return replace(part.functions, structs=structs)


class _SharedReader:
    """Reads units behind the headers that they share."""

    def __init__(self, parses: SharedParse) -> None:
        self._lib, self._handle, self._shared = parses.lib, parses.handle, parses.shared
        self._headers, self._stream = parses.headers, parses.stream
        self._requested: dict[str, str] = {}
        """The structs of shared headers whose layouts are wanted, as a declaration begins that names them."""

    def read(self, parsed: Parsed) -> _Rest | None:
        """Return what a unit has; None if it may differ."""
        lib, handle, main = self._lib, self._handle, parsed.main
        rest, shared, moved = parsed.rest, parsed.shared, parsed.unit
        if has_annotation_marks(rest.text):
            return None
        others = {libclang.file_name(lib, file): file for file in parsed.entered}
        reader = UnitReader(lib, handle, moved, main, rest.text, {*shared, *others})
        for name in shared:
            reader.scan(name, partial(self._headers.texts.__getitem__, name))
        for name in others.keys() - shared:
            reader.scan(name, partial(libclang.contents, lib, handle, others[name]))
        if reader.is_annotated:
            return None
        result = reader.read()
        if _has_counted_name(result, rest):
            return None
        wanted = result.used_structs - unit.known_structs
        here = set[str]()
        for key, record in reader.names.records.items():  # others are of functions that were read before
            name = libclang.file_name(lib, libclang.spot(lib, record)[0] or main)
            if name in self._headers.texts and name not in shared:
                return None  # alone, the unit does not have it
            if key in wanted and name in self._headers.texts:
                self._requested.setdefault(key, _naming(lib, record))
            elif key in wanted:
                here.add(key)
        unit.remember(result)
        names = frozenset(map(plain_name, here))
        structs = parse.structs_in(lib, handle, moved, names, False) if here else ()
        with_own = unit.with_structs(result, here, structs)
        return _Rest(replace(with_own, structs=()), with_own.structs, wanted, parsed.log)

    def layouts(self) -> tuple[Struct, ...]:
        """Return the layouts of the structs of shared headers that the units use. Raises ReadError."""
        wanted = frozenset(map(plain_name, self._requested))
        undefined = (f"#undef {name}\n" for name in wanted)  # macros can have the names of structs
        lines = (f"typedef {each} layoutlint_{at};\n" for at, each in enumerate(self._requested.values()))
        names = self._shared.with_names("".join((*undefined, *lines)))
        parse.reparse(self._lib, self._handle, names, self._stream)
        return parse.structs_named(self._lib, self._handle, names, wanted)


def _has_counted_name(result: UnitFunctions, rest: Rest) -> bool:
    """Return whether `__COUNTER__` may name a function of a unit: it begins anew behind a preamble."""
    own = (function for function in result.functions if function.file.endswith(".c"))
    names = (function.key.partition("@")[0] for function in own)
    counted = (name for name in names if name[-1:].isdigit())
    return any(name.encode() not in rest.text for name in counted)


def _naming(lib: Any, record: Cursor) -> str:
    """Return how a declaration begins that names a struct: by its tag, or by the typedef of one without."""
    return libclang.text(lib, lib.clang_getTypeSpelling(lib.clang_getCursorType(record)))
