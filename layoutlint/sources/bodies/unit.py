"""The functions of one translation unit: its own, and those of headers that they call."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
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
from layoutlint.sources.bodies.directives import IGNORED, directives
from layoutlint.sources.bodies.facts import Facts, Names
from layoutlint.sources.bodies.trees import Definition
from layoutlint.sources.bodies.walker import Walker

OPTIONS = 0x200
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
_IN_KERNEL = "-D__KERNEL__"
"""In the flags of units of Linux."""
_PREFIXES = (b"pr_fmt", b"dev_fmt")
"""Macros of Linux that many sources define before headers; they are part of messages only."""


Place = tuple[str, str, int]
"""The key of a function that a header defines, the header and the line: macros can define several on one."""


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
    leads: tuple[tuple[Place, ...], ...]
    """For each function those that headers define, and that it names."""
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
    constants: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Functions with the positions of parameters that point to const, if a table says that they write."""
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
    with parse.parse_unit(lib, unit, printed, OPTIONS) as handle:
        if printed is not None:
            lookups.log_unit(lib, handle, unit, printed)
        main = lib.clang_getFile(handle, os.fsencode(unit.main))
        included = [file for file in libclang.included_files(lib, handle) if file != main]
        text = libclang.contents(lib, handle, main)
        reader = UnitReader(lib, handle, unit, main, text, map(partial(libclang.file_name, lib), included))
        for file in included:
            reader.scan(libclang.file_name(lib, file), partial(libclang.contents, lib, handle, file))
        result = reader.read()
        wanted = result.used_structs - known_structs
        names = frozenset(map(plain_name, wanted))
        structs = parse.structs_in(lib, handle, unit, names, reader.is_annotated) if names else ()
        return with_structs(result, wanted, structs)


def with_structs(result: UnitFunctions, wanted: Iterable[str], structs: Iterable[Struct]) -> UnitFunctions:
    """Return what a unit has, with those of some structs that are wanted."""
    layouts = {key_of(struct): struct for struct in structs if key_of(struct) in wanted}
    unreliable = tuple(sorted(set(wanted) - layouts.keys()))
    return replace(result, structs=tuple(layouts.values()), unreliable=unreliable)


def remember(result: UnitFunctions) -> UnitFunctions:
    """Keep what is known of headers, for units that are read later.

    Returns the result with functions that were kept before in place of equal ones, which saves memory.
    """
    _known_scans.update(result.scanned)
    functions = []
    for function, leads in zip(result.functions, result.leads, strict=True):
        kept = function
        if not function.file.endswith(".c"):
            place = function.key, function.file, function.line
            kept, _ = _known.setdefault((place, result.macros), (function, leads))
        functions.append(kept)
    files = ((struct, struct.source.file) for struct in result.structs if struct.source is not None)
    known_structs.update(key_of(struct) for struct, file in files if not file.endswith(".c"))
    return replace(result, functions=tuple(functions), leads=(), scanned={})


_known: dict[tuple[Place, int], tuple[Function, tuple[Place, ...]]] = {}
"""The functions of headers under some macros, with those of headers that they name."""
known_structs: set[str] = set()
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


class UnitReader:
    """Reads the functions of a parsed unit."""

    def __init__(
        self, lib: Any, handle: int, unit: Unit, main: int, text: bytes, included: Iterable[str]
    ) -> None:
        """`text` is that of the file `main`; `included` are the files that the unit includes."""
        self._lib, self._handle, self._unit = lib, handle, unit
        self._places = Places(lib, unit.directory, unit.roots, {})
        self._main, self._text = main, text
        self._included = {self._places.relative(name) for name in included}
        is_directed = IGNORED[0] in unit.flags
        own = tuple(directives(text)) if is_directed else ()
        self.names = Names.of_unit(self._places.place, own, _IN_KERNEL not in unit.flags)
        self._macros = self._read_macros()
        self._functions: dict[str, Function] = {}
        self._leads: list[tuple[Place, ...]] = []
        self._stored: dict[tuple[str, Spot | None], None] = {}
        self._scans = [_scan(text)]
        self._scanned: dict[str, Scan] = {}
        self._own_files: dict[int | None, bool] = {}

    @property
    def is_annotated(self) -> bool:
        """Whether a file of the unit has annotations; known after its files were searched."""
        return any(scan.has_annotations for scan in self._scans)

    def scan(self, path: str, read_text: Callable[[], bytes]) -> None:
        """Search a file that the unit includes."""
        known = _known_scans.get(path)
        if known is None:
            known = self._scanned[path] = _scan(read_text())
        self._scans.append(known)

    def read(self) -> UnitFunctions:
        """Return what the functions of the unit do, and those of headers that they lead to."""
        waiting, variables = self._sort_definitions()
        for variable in variables:
            walker = Walker(self._lib, self.names)
            self._stored |= walker.initializer(variable.cursor)
            waiting += self._header_functions(walker).items()
        while waiting:
            waiting += self._read_function(*waiting.pop()).items()
        shared, own_per_cpu = self._variable_structs(each.cursor for each in variables)
        per_cpu = self._per_cpu_names() | dict.fromkeys(map(plain_name, own_per_cpu))
        return UnitFunctions(
            self._unit.origin, tuple(self._functions.values()), tuple(self._leads), tuple(self._stored),
            tuple(shared), tuple(per_cpu), self._macros, self._first_error(),
            constants=tuple((key, some) for key, some in self.names.constants.items() if some),
            scanned=self._scanned,
        )  # fmt: skip

    def _variable_structs(self, variables: Iterable[Cursor]) -> tuple[dict[str, None], dict[str, None]]:
        """Return the keys of the structs of shared variables, and of those for each processor or thread.

        A struct can have variables of both.
        """
        facts = Facts(self._lib, self.names)
        shared, per_cpu = dict[str, None](), dict[str, None]()
        for variable in variables:
            key = facts.struct(self._lib.clang_getCursorType(variable))
            if key:
                (per_cpu if facts.is_per_cpu(variable) else shared)[key] = None
        return shared, per_cpu

    def _sort_definitions(self) -> tuple[list[tuple[Place, Cursor | None]], list[Definition]]:
        """Return the functions, and the variables, that the unit defines in files of its own."""
        functions: list[tuple[Place, Cursor | None]] = []
        variables: list[Definition] = []
        for each in trees.definitions(self._lib.clang_getTranslationUnitCursor(self._handle), self._is_own):
            if each.cursor.kind == syntax.VARIABLE:
                variables.append(each)
            else:
                functions.append((self._place_of(each.cursor), each.cursor))
        return functions, variables

    def _is_own(self, file: int | None) -> bool:
        """Return whether a file is the main one, or a source that it includes: no other unit has those."""
        if file not in self._own_files:
            is_source = file == self._main or self._places.reported_name(file).endswith(".c")
            self._own_files[file] = is_source
        return self._own_files[file]

    def _place_of(self, definition: Cursor) -> Place:
        file, line = self._places.place(definition)
        name = libclang.spelling(self._lib, definition)
        is_static = self._lib.clang_Cursor_getStorageClass(definition) == syntax.STATIC
        return f"{name}@{file}" if is_static else name, file, line

    def _read_function(self, place: Place, definition: Cursor | None) -> dict[Place, Cursor | None]:
        """Read a function, unless that was done; return those of headers that it names.

        Where another unit has read one, its definition is not known here.
        """
        if place[0] in self._functions:
            return {}
        known, walker = _known.get((place, self._macros)), None
        found: dict[Place, Cursor | None]
        if known is None and definition is not None:
            walker = Walker(self._lib, self.names)
            function = walker.function(definition, *place)
            found = self._header_functions(walker)
            known = function, tuple(found)
        elif known is not None:
            found = {each: None for each in known[1] if each[1] in self._included}
        else:
            return {}
        self._functions[place[0]] = known[0]
        self._leads.append(known[1])
        for inner in walker.inner if walker is not None else ():
            self._functions[inner.key] = inner
            self._leads.append(())
        return found

    def _header_functions(self, walker: Walker) -> dict[Place, Cursor | None]:
        """Return the functions that headers define, and that a body names."""
        found: dict[Place, Cursor | None] = {}
        for callee in walker.callees.values():
            definition = self._lib.clang_getCursorDefinition(callee)
            if definition.kind == syntax.FUNCTION:
                file, _ = libclang.spot(self._lib, definition)
                if not self._is_own(file):
                    found[self._place_of(definition)] = definition
        return found

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
        return dict.fromkeys(name for scan in self._scans for name in scan.per_cpu)

    def _read_macros(self) -> int:
        """Return a number for the macros that flags, and lines before the last `#include`, define."""
        text = self._text
        end = max((match.start() for match in _INCLUDE.finditer(text)), default=0)
        lines = (match[0] for match in _DEFINE.finditer(text, 0, end) if match[1] not in _PREFIXES)
        flags = (
            flag.encode(errors="surrogateescape") for flag in self._unit.flags if flag[:2] in ("-D", "-U")
        )
        return zlib.crc32(b"\n".join((*flags, *lines)))
