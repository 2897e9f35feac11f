"""The functions of one translation unit: its own, and those of headers that they call."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Struct, has_annotation_marks
from layoutlint.model.uses import Function, Spot, plain_name, struct_key
from layoutlint.readers.clang import diagnostics, libclang, lookups, parse
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.missing_headers import Remedies
from layoutlint.readers.clang.parse import Unit
from layoutlint.sources.bodies import syntax, trees
from layoutlint.sources.bodies.facts import Facts, Names
from layoutlint.sources.bodies.trees import Definition
from layoutlint.sources.bodies.walker import Walker

_OPTIONS = 0x200
"""CXTranslationUnit_KeepGoing: with function bodies."""
_PER_CPU = re.compile(
    rb"(?:\b(?:DEFINE|DECLARE)_PER_CPU\w*\(|\b_*alloc_percpu\w*\(\s*+(?:sizeof\s*+\()?|"
    rb"\b(?:__thread|_Thread_local|thread_local)\s)\s*+(?:static\s++)?(?:struct|union)\s++(\w++)(?!\s*+\*)|"
    rb"\b(?:struct|union)\s+(\w+)\s+__percpu\s*\*"
)
"""An object for each processor, not a pointer: a variable, an allocation, or what `__percpu *` points to."""
_PER_CPU_WORDS = (b"PER_CPU", b"percpu", b"__thread", b"hread_local")
"""One of them is in each match; to search bytes is faster than to match an expression."""
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include\b", re.MULTILINE)
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+).*", re.MULTILINE)
_PREFIXES = (b"pr_fmt", b"dev_fmt")
"""Macros of Linux that many sources define before headers; they are part of messages only."""


class Scan(Record, frozen=True):
    """What a file has in its text."""

    per_cpu: tuple[str, ...]
    """The names of structs of which each processor or thread has its own object."""
    has_annotations: bool


class UnitFunctions(Record, frozen=True):
    """The functions of a unit."""

    origin: str
    functions: tuple[Function, ...]
    """Its own, then those of headers."""
    called: tuple[tuple[str, ...], ...]
    """For each function the names of the functions that it names."""
    stored: tuple[tuple[str, Spot | None], ...]
    """The functions in initialisers of variables, with the fields."""
    variables: tuple[str, ...]
    """The keys of the structs of its variables outside of functions."""
    per_cpu: tuple[str, ...]
    """The names of the structs of which each processor or thread has its own object."""
    macros: int
    """What is equal for units in which functions of headers mean the same."""
    problem: str | None
    """The first error in it: functions after it can be missing."""
    structs: tuple[Struct, ...] = ()
    """The layouts of structs that its functions use, except those that another unit has given before."""
    unreliable: tuple[str, ...] = ()
    """The keys of such structs of which it has no reliable layout."""
    scanned: dict[str, Scan] = field(default_factory=dict)
    """What was searched in each file that no other unit has included before."""

    def shared_variables(self) -> Iterator[str]:
        """Yield the keys of the structs of variables that exist once: outside of functions, or static."""
        yield from self.variables
        for function in self.functions:
            yield from function.static_structs

    @property
    def used_structs(self) -> frozenset[str]:
        """The keys of the structs that its functions use."""
        roots = (use.spot.root for function in self.functions for use in function.uses)
        return frozenset(root for root in roots if isinstance(root, str))


def key_of(struct: Struct) -> str:
    """Return the key of a struct: that of the uses of its fields."""
    return struct_key(struct.name, "" if struct.source is None else struct.source.file)


def read(unit: Unit, printed: Messages | None = None) -> UnitFunctions:
    """Parse a unit with the bodies of its functions; raises ReadError.

    `printed` collects what libclang prints, if answers of the file system are logged.
    """
    lib = trees.library()
    parse.refuse_endless(unit)
    with parse.parse_unit(lib, unit, printed, _OPTIONS) as handle:
        if printed is not None:
            lookups.log_unit(lib, handle, unit, printed)
        reader = _Reader(lib, handle, unit)
        result = reader.read()
        wanted = result.used_structs - _known_structs
        names = frozenset(map(plain_name, wanted))
        is_annotated = reader.is_annotated
        structs = parse.structs_in(lib, handle, unit, names, is_annotated) if names else ()
        layouts = {key_of(struct): struct for struct in structs if key_of(struct) in wanted}
        unreliable = tuple(sorted(wanted - layouts.keys()))
        return replace(result, structs=tuple(layouts.values()), unreliable=unreliable)


def remember(result: UnitFunctions) -> UnitFunctions:
    """Keep what is known of headers, for units that are read later.

    Returns the result with functions that were kept before in place of equal ones, which saves memory.
    """
    _known_scans.update(result.scanned)
    functions = []
    for function, names in zip(result.functions, result.called, strict=True):
        kept = function
        if function.file.endswith(".h"):
            where = function.key, function.file, function.line, result.macros
            kept, _ = _known.setdefault(where, (function, names))
        functions.append(kept)
    files = ((struct, struct.source.file) for struct in result.structs if struct.source is not None)
    _known_structs.update(key_of(struct) for struct, file in files if file.endswith(".h"))
    return replace(result, functions=tuple(functions), called=(), scanned={})


_known: dict[tuple[str, str, int, int], tuple[Function, tuple[str, ...]]] = {}
"""The functions of headers, with the names of what they call; a macro can define several on one line."""
_known_structs: set[str] = set()
"""The keys of structs of headers whose layout another unit has given."""
_known_scans: dict[str, Scan] = {}
"""What is known of the texts of headers, by their paths."""


def _scan(text: bytes) -> Scan:
    return Scan(_per_cpu_in(text), has_annotation_marks(text))


def _per_cpu_in(text: bytes) -> tuple[str, ...]:
    """Return the structs of which a text says that each processor or thread has its own."""
    if not any(word in text for word in _PER_CPU_WORDS):
        return ()
    names = (match[1] or match[2] for match in _PER_CPU.finditer(text))
    return tuple(dict.fromkeys(name.decode(errors="replace") for name in names))


class _Reader:
    """Reads the functions of a parsed unit."""

    def __init__(self, lib: Any, handle: int, unit: Unit) -> None:
        self._lib, self._handle, self._unit = lib, handle, unit
        self._places = Places(lib, unit.directory, unit.roots, {})
        self._main = lib.clang_getFile(handle, os.fsencode(unit.main))
        self._names = Names.of_unit(self._places.place)
        self._macros = self._read_macros()
        self._functions: dict[str, Function] = {}
        self._called: list[tuple[str, ...]] = []
        self._inline: dict[str, Definition] = {}
        """Functions that headers define, by name."""
        self._stored: dict[tuple[str, Spot | None], None] = {}
        self._scanned: dict[str, Scan] = {}
        self._own_files: dict[int | None, bool] = {}
        self.is_annotated = False
        """Whether a file of the unit has annotations; known after it was read."""

    def read(self) -> UnitFunctions:
        """Return what the functions of the unit do, and those of headers that they lead to."""
        waiting, variables = self._sort_definitions()
        for variable in variables:
            walker = Walker(self._lib, self._names)
            self._stored |= walker.initializer(variable.cursor)
            waiting += self._header_functions(self._callee_names(walker))
        while waiting:
            waiting += self._header_functions(self._read_function(waiting.pop()))
        shared, own_per_cpu = self._variable_structs(each.cursor for each in variables)
        per_cpu = self._per_cpu_names() | dict.fromkeys(map(plain_name, own_per_cpu))
        return UnitFunctions(
            self._unit.origin, tuple(self._functions.values()), tuple(self._called), tuple(self._stored),
            tuple(shared), tuple(per_cpu), self._macros, self._first_error(), scanned=self._scanned,
        )  # fmt: skip

    def _variable_structs(self, variables: Iterable[Cursor]) -> tuple[dict[str, None], dict[str, None]]:
        """Return the keys of the structs of shared variables, and of those for each processor or thread.

        A struct can have variables of both.
        """
        facts = Facts(self._lib, self._names)
        shared, per_cpu = dict[str, None](), dict[str, None]()
        for variable in variables:
            key = facts.struct(self._lib.clang_getCursorType(variable))
            if key:
                (per_cpu if facts.is_per_cpu(variable) else shared)[key] = None
        return shared, per_cpu

    def _sort_definitions(self) -> tuple[list[Definition], list[Definition]]:
        """Return the definitions of functions, and the variables, that the unit has of its own."""
        functions: list[Definition] = []
        variables: list[Definition] = []
        for each in trees.definitions(self._lib.clang_getTranslationUnitCursor(self._handle), self._is_own):
            if each.cursor.kind == syntax.VARIABLE:
                variables.append(each)
            elif self._is_own(each.file):
                functions.append(each)
            else:
                self._inline[each.name] = each
        return functions, variables

    def _is_own(self, file: int | None) -> bool:
        """Return whether a file is the main one, or a source that it includes: no other unit has those."""
        if file not in self._own_files:
            is_source = file == self._main or self._places.reported_name(file).endswith(".c")
            self._own_files[file] = is_source
        return self._own_files[file]

    def _read_function(self, definition: Definition) -> tuple[str, ...]:
        """Read a function, unless that was done; return the names of functions that it names."""
        file, line = self._places.reported_name(definition.file), definition.line
        is_static = self._lib.clang_Cursor_getStorageClass(definition.cursor) == syntax.STATIC
        key = f"{definition.name}@{file}" if is_static else definition.name
        if key in self._functions:
            return ()
        known = _known.get((key, file, line, self._macros))
        if known is None:
            walker = Walker(self._lib, self._names)
            function = walker.function(definition.cursor, key, file, line)
            known = function, self._callee_names(walker)
        self._functions[key] = known[0]
        self._called.append(known[1])
        return known[1]

    def _callee_names(self, walker: Walker) -> tuple[str, ...]:
        """Return the names of the functions that a body names."""
        names = (libclang.spelling(self._lib, each) for each in walker.callees.values())
        return tuple(dict.fromkeys(names))

    def _header_functions(self, names: Iterable[str]) -> Iterator[Definition]:
        return (self._inline[name] for name in names if name in self._inline)

    def _first_error(self) -> str | None:
        """Return the first error in the unit, with its place; None without one."""
        own = self._unit
        remedies = Remedies(own.main, own.flags, own.compiler) if own.has_given_flags else None
        messages = diagnostics.read_diagnostics(self._lib, self._handle, self._places, remedies)
        answer = None if own.compiler is None else own.compiler.answer
        left_out = None if answer is None else answer.is_own_header
        return diagnostics.first_error(self._lib, messages, left_out)

    def _per_cpu_names(self) -> dict[str, None]:
        """Return the structs of which the text says that each processor or thread has its own."""
        scans = [_scan(self._text(self._main))]
        for file in libclang.included_files(self._lib, self._handle):
            if file == self._main:
                continue
            path = libclang.file_name(self._lib, file)
            known = _known_scans.get(path)
            if known is None:
                known = self._scanned[path] = _scan(self._text(file))
            scans.append(known)
        self.is_annotated = any(scan.has_annotations for scan in scans)
        return dict.fromkeys(name for scan in scans for name in scan.per_cpu)

    def _read_macros(self) -> int:
        """Return a number for the macros that flags, and lines before the last `#include`, define."""
        text = self._text(self._main)
        end = max((match.start() for match in _INCLUDE.finditer(text)), default=0)
        lines = (match[0] for match in _DEFINE.finditer(text, 0, end) if match[1] not in _PREFIXES)
        flags = (
            flag.encode(errors="surrogateescape") for flag in self._unit.flags if flag[:2] in ("-D", "-U")
        )
        return zlib.crc32(b"\n".join((*flags, *lines)))

    def _text(self, file: int) -> bytes:
        return libclang.contents(self._lib, self._handle, file)
