"""Reading where the addresses of a struct go, in the function bodies of C sources."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.flows import Flows, Slot
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.bodies import sources, syntax, trees
from layoutlint.readers.bodies.facts import Names
from layoutlint.readers.bodies.flow_walker import FlowWalker
from layoutlint.readers.clang import diagnostics, libclang, limits, parse
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.processes import sandbox
from layoutlint.readers.processes.pool import number_for

_OPTIONS = 0x200
"""CXTranslationUnit_KeepGoing: with function bodies."""
_MOST_UNITS = 300
_MOST_WALKS = 3
"""The most further walks of a unit, each with more that is known to have offsets of members."""
_MOST_ROUNDS = 4
"""The most searches for sources to which calls lead."""
_LARGEST = 1 << 25
"""The most bytes of a source that is searched for definitions."""
_FACTS = (
    "moves", "stores", "copies", "conversions", "accesses", "passes", "comparisons", "fills", "texts",
    "placed", "values", "symbols", "calls", "assembly", "steps", "numbers", "counts", "given", "made",
    "unions", "layouts", "defined",
)  # fmt: skip
"""The lists of `Flows` that units fill."""
_BYTES_EACH = 1 << 23
"""How much reading a unit counts as, when the number of processes is chosen."""


def read(
    paths: Sequence[str], names: Sequence[str], options: ReadOptions, others: Sequence[str] = ()
) -> Flows:
    """Return the flows of addresses in the C sources that name a struct by one of its names.

    Of the other sources, those are read too that define functions which get addresses, or that declare
    objects of the struct under another type. What could not be read is in the notes.
    """
    flows = Flows()
    waiting, left, rest = list(paths), list(others), _MOST_UNITS
    for _ in range(_MOST_ROUNDS):
        rest -= _read_units(waiting, names, options, flows, rest)
        waiting = list(_defining(left, flows, names))
        left = [path for path in left if path not in waiting]
        if not waiting:
            break
    return _without_repetitions(flows)


def _read_units(
    paths: Sequence[str], names: Sequence[str], options: ReadOptions, flows: Flows, most: int
) -> int:
    """Add the flows of some sources; return how many units were read, at most a number of them."""
    units: dict[str, Unit] = {}
    for path in paths:
        try:
            for unit in sources.find((path,), options).units:
                units.setdefault(unit.main, unit)
        except ReadError as error:
            flows.notes.append(f"{error.path} {error.reason}")
    some = [unit for unit in units.values() if unit.main.endswith(".c")]
    if len(some) > most:
        flows.notes.append(f"{len(some) - most:,} of {len(some):,} sources")
        del some[most:]
    jobs = options.jobs or number_for(len(some) * _BYTES_EACH, 0)
    work = partial(_read_unit, names=tuple(names))
    results = sandbox.run_each(work, some, jobs, limits.LIMITS, sandbox.Patience(600))
    for done, (number, result) in enumerate(results, 1):
        options.progress("reading functions", done, len(some))
        if isinstance(result, sandbox.Failure):
            flows.notes.append(f"{some[number].origin}, which libclang does not parse: it {result.how}")
            continue
        for name in _FACTS:
            getattr(flows, name).extend(getattr(result, name))
        flows.notes += result.notes
    return len(some)


def _defining(paths: Iterable[str], flows: Flows, names: Sequence[str]) -> Iterator[str]:
    """Yield the sources that seem to define functions without a body so far, or declare objects anew.

    Also those with initial values for structs that embed the searched one.
    """
    defined = {each.function for each in flows.defined}
    functions = {each.function for each in flows.calls if "@" not in each.function} - defined
    symbols = (each for each in flows.symbols if each.struct.removesuffix(" *") in names)
    objects = {each.name for each in symbols if " " not in each.name}
    words = "|".join(map(re.escape, sorted(functions))) or "(?!)"
    variables = "|".join(map(re.escape, sorted(objects))) or "(?!)"
    containers = {each.struct for each in flows.layouts if each.places and each.struct.isidentifier()}
    structs = "|".join(map(re.escape, sorted(containers))) or "(?!)"
    pattern = re.compile(
        rf"^(?:[A-Za-z_][\w \t*]*[ \t*])?(?:{words})[ \t]*\([^;{{}}]*\{{"
        rf"|^[ \t]*extern\b[^=]{{0,400}}?\b(?:{variables})\b"
        rf"|\b(?:{structs})\b(?:[^;{{}}()=]*=|[^;{{}}()=]*\))\s*\{{".encode(),
        re.MULTILINE,
    )
    for path in paths if functions or objects or containers else ():
        with suppress(OSError):
            if pattern.search(files.read_all(path, _LARGEST)):
                yield path


def _without_repetitions(flows: Flows) -> Flows:
    """Return flows without what several units have from the same header."""
    once = {name: list(dict.fromkeys(getattr(flows, name))) for name in _FACTS}
    return Flows(**once, notes=flows.notes)


def _read_unit(unit: Unit, names: tuple[str, ...]) -> Flows:
    limits.confine()
    try:
        return _Reader(unit, names).read()
    except ReadError as error:
        return Flows(notes=[f"{error.path} {error.reason}"])
    except libclang.TOO_DEEP:
        return Flows(notes=[f"{unit.origin}, which is nested too deeply"])


class _Reader:
    """Reads the flows of one unit."""

    def __init__(self, unit: Unit, names: tuple[str, ...]) -> None:
        self._unit, self._names = unit, names
        self._lib = trees.library()
        self._owns: dict[int | None, bool] = {}

    def read(self) -> Flows:
        """Return the flows in the functions of the file, and of headers that name the struct.

        Raises ReadError.
        """
        lib, unit = self._lib, self._unit
        parse.refuse_endless(unit)
        with parse.parse_unit(lib, unit, None, _OPTIONS) as handle:
            self._places = Places(lib, unit.directory, unit.roots, {})
            self._handle, self._main = handle, lib.clang_getFile(handle, os.fsencode(unit.main))
            walker = self._walk(handle, set())
            for _ in range(_MOST_WALKS):
                if not walker.offset_slots - walker.first_offset_slots:
                    break
                walker = self._walk(handle, walker.offset_slots)
            problems = diagnostics.read_diagnostics(lib, handle, self._places, None)
            answer = None if unit.compiler is None else unit.compiler.answer
            error = diagnostics.first_error(lib, problems, None if answer is None else answer.is_own_header)
            if walker.is_cut:
                walker.flows.notes.append(f"a part of {unit.origin}, which is nested too deeply")
            if error is not None:
                walker.flows.notes.append(f"a part of {unit.origin}: {error}")
            return walker.flows

    def _walk(self, handle: int, offset_slots: set[Slot]) -> FlowWalker:
        """Walk the functions and variables; some slots are known to have offsets of members."""
        lib = self._lib
        names = Names.of_unit(self._places.place)
        walker = FlowWalker(lib, names, self._names[0], self._word(handle))
        walker.offset_slots |= offset_slots
        walker.first_offset_slots = frozenset(offset_slots)
        for each in trees.definitions(lib.clang_getTranslationUnitCursor(handle), self._is_own):
            if self._is_own(each.file):
                is_function = each.cursor.kind == syntax.FUNCTION
                (walker.function if is_function else walker.variable)(each.cursor)
        walked: set[int] = set()
        while waiting := walker.reached.keys() - walked:
            for identity in sorted(waiting):
                walked.add(identity)
                self._walk_other(walker, walker.reached[identity])
        return walker

    def _walk_other(self, walker: FlowWalker, function: Cursor) -> None:
        """Walk a function of a header that does not name the struct, and is none of the system's."""
        location = self._lib.clang_getCursorLocation(function)
        is_own = self._is_own(libclang.Spot(self._lib, location).file)
        if not is_own and not self._lib.clang_Location_isInSystemHeader(location):
            walker.function(function)

    def _word(self, handle: int) -> int:
        info = self._lib.clang_getTranslationUnitTargetInfo(handle)
        width = int(self._lib.clang_TargetInfo_getPointerWidth(info))
        self._lib.clang_TargetInfo_dispose(info)
        return width // 8

    def _is_own(self, file: int | None) -> bool:
        """Return whether the main file, a file that it includes, or a header that names the struct."""
        if file not in self._owns:
            is_source = file == self._main or self._places.reported_name(file).endswith(".c")
            self._owns[file] = is_source or self._names_struct(file)
        return self._owns[file]

    def _names_struct(self, file: int | None) -> bool:
        content = b"" if file is None else libclang.contents(self._lib, self._handle, file)
        return any(name.encode() in content for name in self._names)
