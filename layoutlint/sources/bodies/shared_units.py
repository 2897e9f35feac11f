"""The functions of units that include the same headers, which libclang parses once for all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from time import monotonic
from typing import Any

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Struct, has_annotation_marks
from layoutlint.model.uses import plain_name
from layoutlint.readers.clang import libclang, limits, lookups, parse, parsed_listings, shared_headers
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.shared_beginnings import Rest, Shared
from layoutlint.readers.clang.shared_headers import Headers
from layoutlint.readers.processes import sandbox
from layoutlint.sources.bodies import trees, unit
from layoutlint.sources.bodies.unit import UnitFunctions, UnitReader

_ENTERED = "-H"
"""With this flag, libclang prints each file that it enters."""
_OPTIONS = unit.OPTIONS | libclang.PREAMBLE_OPTIONS | shared_headers.RECORD_OPTION
_SECONDS = limits.LIMITS.seconds / 2
_TRIED = 6
_TRIED_ALIKE = 2
"""If so many units are not the same behind the headers, and none is, no more are tried: of all, and of those
that include the same first."""
Logged = tuple[UnitFunctions, accesses.Log | None]
"""What a unit has, and what the file system answered if that is logged."""


class _Part(Record, frozen=True):
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
    lib = trees.library()
    parts: dict[Unit, _Part] = {}
    beginning = replace(shared.beginning, flags=(*shared.beginning.flags, _ENTERED))
    stream.begin_unit()
    try:
        with parse.parse_unit(lib, beginning, stream, _OPTIONS) as handle:
            headers = shared_headers.read_headers(lib, handle, shared)
            if headers is None:
                return {}
            with accesses.log_answers() if is_logged else nullcontext() as log:
                lookups.log_unit(lib, handle, beginning, stream)
            reader = _Reader(lib, handle, shared, headers, stream)
            end = monotonic() + _SECONDS
            attempts = Attempts()
            for each in shared.units:
                if monotonic() > end:
                    break  # the others are parsed alone: the whole process has no more time than one of them
                first = shared_headers.first_include(each)
                if not attempts.are_worth_it(first):
                    continue
                part = reader.read(each, log)
                attempts.note(first, part is not None)
                if part is not None:
                    parts[each] = part
                    sandbox.tell_step()
            layouts = reader.layouts()
    except (ReadError, OSError):
        return {}  # they are parsed alone, which gives the reason
    return {each: (_with_layouts(part, layouts), part.log) for each, part in parts.items()}


class Attempts(Record):
    """Which units are worth to be tried behind headers: those that others like them were the same behind."""

    _results: dict[bytes | None, list[bool]] = field(default_factory=dict)

    def are_worth_it(self, first: bytes | None) -> bool:
        """Return whether a unit is worth it that includes `first` first."""
        alike = self._results.get(first, [])
        every = [each for results in self._results.values() for each in results]
        return (any(alike) or len(alike) < _TRIED_ALIKE) and (any(every) or len(every) < _TRIED)

    def note(self, first: bytes | None, is_same: bool) -> None:
        """Note the result of such a unit."""
        self._results.setdefault(first, []).append(is_same)


def _with_layouts(part: _Part, layouts: Iterable[Struct]) -> UnitFunctions:
    """Return a unit with layouts; those that are still missing are read from a unit alone."""
    own = (replace(struct, origin=part.functions.origin) for struct in layouts)
    given = {unit.key_of(struct): struct for struct in (*part.structs, *own)}
    structs = tuple(struct for key, struct in given.items() if key in part.wanted)
    return replace(part.functions, structs=structs)


class _Reader:
    """Reads units behind the headers that they share."""

    def __init__(self, lib: Any, handle: int, shared: Shared, headers: Headers, stream: Messages) -> None:
        self._lib, self._handle, self._shared = lib, handle, shared
        self._headers, self._stream = headers, stream
        self._requested: dict[str, str] = {}
        """The structs of shared headers whose layouts are wanted, as a declaration begins that names them."""

    def read(self, own: Unit, before: accesses.Log | None) -> _Part | None:
        """Return what a unit has; None if it may differ. Raises ReadError, OSError."""
        lib, handle = self._lib, self._handle
        self._stream.begin_unit()
        with parsed_listings.logging(None if before is None else self._stream) as log:
            try:
                rest = self._shared.rest_of(own)
            except OSError:
                return None
            if has_annotation_marks(rest.text):
                return None
            parse.reparse(lib, handle, rest.unit, self._stream)
            entered = self._entered_files(rest)
            if entered is None or shared_headers.has_errors(lib, handle, rest.unit):
                return None
            libclang.set_included_files(handle, entered)
            shared = shared_headers.means_the_same(lib, handle, self._headers, rest, entered)
            if shared is None:
                return None
            lookups.log_unit(lib, handle, rest.unit, self._stream)
            if log is not None and before is not None:
                log.add(before)
            main = lib.clang_getFile(handle, os.fsencode(rest.unit.main))
            libclang.move(main, rest.path, rest.lines)
            try:
                return self._read(own, rest, main, shared, entered, log)
            finally:
                libclang.move(0, "", 0)

    def _entered_files(self, rest: Rest) -> list[int] | None:
        """Return the files that were read behind the headers; None if it is not certain which."""
        names = self._stream.entered_files()
        found = [self._lib.clang_getFile(self._handle, os.fsencode(name)) for name in names or ()]
        if names is None or not all(found):
            return None
        paths = {files.real_path(os.path.join(rest.unit.directory, name)) for name in names}
        mains = {files.real_path(rest.path), files.real_path(rest.unit.main)}
        return found if paths.isdisjoint(mains) else None

    def _read(
        self, own: Unit, rest: Rest, main: int, shared: frozenset[str], entered: Sequence[int],
        log: accesses.Log | None,
    ) -> _Part | None:  # fmt: skip
        lib, handle = self._lib, self._handle
        others = {libclang.file_name(lib, file): file for file in entered}
        moved = replace(own, main=rest.unit.main)
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
        return _Part(replace(with_own, structs=()), with_own.structs, wanted, log)

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
