"""Search of the units of compilation databases for functions that return the memory of an allocator."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.storage import Allocator
from layoutlint.readers.c_tokens import blank_comments, blank_out
from layoutlint.readers.clang import compdb, libclang, limits, parse
from layoutlint.readers.clang.c_units import NotC
from layoutlint.readers.clang.parse import Unit
from layoutlint.sources.allocations.returned_memory import KNOWN, Bodies, Wrapper
from layoutlint.sources.bodies import trees
from layoutlint.sources.bodies.unit import OPTIONS
from layoutlint.workers import sandbox

_MOST_UNITS = 16
"""The most units with a call of an allocator: more are not parsed."""
_LARGEST = 1 << 27
_CALL = re.compile(rf"\b(?:{'|'.join(KNOWN)})\s*+\(")
_MACRO_OF_FLAG = re.compile(r"^-[DU]|[(=].*", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*+")
_MACRO = re.compile(
    r"(?:(?:#|%:)[\s\\]*+(?:define|undef)|\b(?:weak|redefine_extname))[\s\\]++(\w++)([^\n]*)"
)
_FUNCTION = re.compile(
    r"\b(\w++)\s*+\((?:[^(){};]|\([^(){};]*+\))*+\)\s*+(?:[A-Za-z_][\w\s]*+)?\{"
)
_VARIABLES = (
    re.compile(r"(?:\w(?<!\breturn)\s|\*)\s*+(\w++)\s*+[;=,)\[]"),
    re.compile(r",\s*+(\w++)\s*+(?:;|\[|=(?!=))"),
)
_OF_GCC = re.compile(r"'_*malloc_*' attribute takes no arguments")
"""An error that headers of the C library cause, written for gcc."""


def find(databases: Iterable[str], sources: Iterable[str]) -> tuple[Allocator, ...]:
    """Return the functions of some compilation databases that are allocators for other sources.

    `sources` are all files in which they can be called: one that defines a function or macro of the same name
    makes the name unclear. Raises ReadError for a damaged database.
    """
    units = [each for path in databases for each in _units(path)]
    if not 0 < len(units) <= _MOST_UNITS:
        return ()
    found: dict[str, set[Wrapper]] = {}
    headers: dict[str, None] = {}
    for _, result in sandbox.run_each(_read, units, 1, limits.LIMITS):
        own, included = ((), ()) if isinstance(result, sandbox.WorkFailure) else result
        headers.update(dict.fromkeys(included))
        for wrapper in own:
            found.setdefault(wrapper.name, set()).add(wrapper)
    single = {name: own.pop() for name, own in found.items() if len(own) == 1}
    words = (word for path in databases for command in compdb.load(path) for word in command.words)
    unclear = {_MACRO_OF_FLAG.sub("", word) for word in words}
    unclear |= {*_other_definitions(single, (*sources, *headers))}
    return tuple(single[name].allocator for name in sorted(single) if name not in unclear)


def _units(path: str) -> Iterator[Unit]:
    """Yield the units of a database that call an allocator, and that are compiled in one way."""
    ways: dict[str, set[Unit | None]] = {}
    roots = (os.path.dirname(os.path.abspath(path)), os.getcwd())
    for command in compdb.load(path):
        file = os.path.abspath(os.path.join(command.directory, command.file))
        if file not in ways and not _CALL.search(_text(file)):
            continue
        own = ways.setdefault(file, set())
        try:
            own.add(compdb.unit_of(path, compdb.expand(command), ReadOptions(), roots))
        except (ReadError, NotC):
            own.add(None)
    yield from (each for own in ways.values() if len(own) == 1 for each in own if each is not None)


def _text(path: str) -> str:
    try:
        return files.read_all(path, _LARGEST).decode("latin-1")
    except OSError:  # the search for allocations reports it
        return ""


def _other_definitions(wrappers: dict[str, Wrapper], sources: Iterable[str]) -> Iterator[str]:
    """Yield the names that a text defines as something else, or that are names of variables."""
    for path in sources:
        text = _text(path)
        if wrappers.keys().isdisjoint(_NAME.findall(text)):
            continue
        code = blank_out(text)
        for name, rest in _MACRO.findall(blank_comments(text)):
            if name in wrappers and rest.strip() != wrappers[name].symbol:
                yield name
        for name in _FUNCTION.findall(code):
            if name in wrappers and os.path.abspath(path) != wrappers[name].file:
                yield name
        for pattern in _VARIABLES:
            yield from (name for name in pattern.findall(code) if name in wrappers)


def _read(of: Unit) -> tuple[tuple[Wrapper, ...], tuple[str, ...]]:
    """Return the wrappers of a unit, and the headers that it includes."""
    limits.confine()
    try:
        lib = trees.library()
        parse.refuse_endless(of)
        with parse.parse_unit(lib, of, None, OPTIONS) as handle:
            if not all(map(_OF_GCC.fullmatch, libclang.error_messages(lib, handle))):
                return (), ()  # what is wrong can be missing in a body
            names = (libclang.file_name(lib, file) for file in libclang.included_files(lib, handle))
            headers = tuple(os.path.join(of.directory, name) for name in names)
            return tuple(Bodies(lib, handle, of).wrappers()), headers
    except ReadError:
        return (), ()
