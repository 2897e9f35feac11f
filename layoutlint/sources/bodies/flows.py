"""Reading where the addresses of a struct go, in the function bodies of C sources."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.flows import Flows, Slot
from layoutlint.model.reading import ReadOptions
from layoutlint.phrases import first_few, quantity
from layoutlint.readers.clang import diagnostics, libclang, limits, parse
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.shared_beginnings import Shared
from layoutlint.sources.bodies import shared_parses, sources, syntax, trees
from layoutlint.sources.bodies.facts import Names
from layoutlint.sources.bodies.flow_calls import KNOWN_FUNCTIONS
from layoutlint.sources.bodies.flow_parts import (
    NOTHING,
    Known,
    Parts,
    Passed,
    known_of,
    leads_to,
    relevant,
)
from layoutlint.sources.bodies.flow_walker import FlowWalker
from layoutlint.sources.bodies.library_calls import makes_memory
from layoutlint.workers import sandbox
from layoutlint.workers.pool import number_for

_OPTIONS = 0x200
"""CXTranslationUnit_KeepGoing: with function bodies."""
_MOST_UNITS = 300
_MOST_WALKS = 3
"""The most further walks of a unit, each with more that is known to have offsets of members."""
_MANY = 4
"""The least number of units of which one is read first, to show what their headers do."""
_MOST_ROUNDS = 4
"""The most searches for sources to which calls lead."""
_LARGEST = 1 << 25
"""The most bytes of a source that is searched for definitions."""
_FACTS = (
    "moves", "stores", "copies", "conversions", "accesses", "passes", "comparisons", "fills", "texts",
    "placed", "values", "symbols", "calls", "assembly", "steps", "numbers", "counts", "given", "made",
    "unions", "layouts", "definitions", "defined", "walked", "formats",
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
    run = _FlowRun(tuple(names), options)
    waiting, left = list(paths), list(others)
    known, asked = NOTHING, KNOWN_FUNCTIONS
    for _ in range(_MOST_ROUNDS):
        run.read_new(run.units_of(waiting), known)
        known = run.sought(asked)
        asked |= known.functions
        waiting = list(_defining(left, run.flows(), known.functions, names))
        left = [path for path in left if path not in waiting]
        if not waiting and known == NOTHING:
            break
    return run.flows()


class _FlowRun:
    """One run over units, each of which is read once."""

    def __init__(self, names: tuple[str, ...], options: ReadOptions) -> None:
        self._names, self._options = names, options
        self._left = _MOST_UNITS
        self._passed: list[Passed] = []
        """What was passed over so far."""
        self._found: dict[str, dict[Any, None]] = {name: {} for name in _FACTS}
        """Each fact once: several units have those of a header."""
        self._unread: dict[str, dict[str, None]] = {}
        """Why files were not read, or only a part of them, and the files."""

    def flows(self) -> Flows:
        """Return what was found so far."""
        flows = Flows(**{name: list(rows) for name, rows in self._found.items()})
        for reason, unread in self._unread.items():
            flows.notes.append(f"{quantity(len(unread), 'file')} {reason}: {first_few(list(unread))}")
        return flows

    def _note(self, reason: str, *unread: str) -> None:
        self._unread.setdefault(reason, {}).update(dict.fromkeys(unread))

    def units_of(self, paths: Sequence[str]) -> list[Unit]:
        """Return the units of some sources, as many as are read; what is not is noted."""
        units: dict[str, Unit] = {}
        try:
            paths, unbuilt = sources.split_built(paths, self._options)
        except ReadError as error:
            self._note(f"that cannot be parsed ({error.path} {error.reason})", *paths)
            return []
        if unbuilt:
            self._note("that the configuration does not build", *unbuilt)
        for path in paths:
            try:
                for unit in sources.find((path,), self._options).units:
                    units.setdefault(unit.main, unit)
            except ReadError as error:
                self._note("that cannot be parsed", f"{error.path} {error.reason}")
        some = [unit for unit in units.values() if unit.main.endswith((".c", ".h"))]
        if len(some) > self._left:
            more = (unit.origin for unit in some[self._left :])
            self._note(f"beyond the {_MOST_UNITS} that are parsed", *more)
            del some[self._left :]
        self._left -= len(some)
        return some

    def sought(self, asked: frozenset[str]) -> Known:
        """Return the functions elsewhere that addresses of the struct go to or come from; adds what was
        passed over and is reached.

        Functions that were not asked for, except for those that print an address.
        """
        while True:
            flows = self.flows()
            forward, backward = relevant(flows, self._names[0])
            reached, passed = list[Passed](), list[Passed]()
            for each in self._passed:
                is_reached = each.key not in KNOWN_FUNCTIONS and leads_to(each, forward, backward)
                (reached if is_reached else passed).append(each)
            self._passed = passed
            if not reached:
                break
            for each in reached:
                self._add(each.flows)
                self._found["walked"].update({each.key: None} if each.key else {})
        done, prints = {*flows.walked, *asked}, set(flows.formats)
        places = []
        for found, kind in ((forward, "parameter"), (backward, "result")):
            own = (each for each in found if isinstance(each, Slot) and each.kind == kind)
            own = (each for each in own if each.name not in done and not each.is_masked)
            own = (each for each in own if each.number >= 0 or each.name not in prints)
            places.append(frozenset(each for each in own if not makes_memory(each.name)))
        functions = frozenset(each.name for some in places for each in some)
        return Known(functions, forward=places[0], backward=places[1])

    def _add(self, flows: Flows) -> None:
        for name, rows in self._found.items():
            rows.update(dict.fromkeys(getattr(flows, name)))

    def read_new(self, units: Sequence[Unit], known: Known) -> None:
        """Add the flows of some units; those of functions in headers that they share only once."""
        if len(units) >= _MANY:
            units = sorted(units, key=_size)
            first = self.read(units[:1], known)
            known, units = known_of(first, self._names[0], known), units[1:]
        self.read(units, known)

    def read(self, units: Sequence[Unit], known: Known) -> Flows:
        """Add the flows of some units; return those of the last one."""
        jobs = self._options.jobs or number_for(len(units) * _BYTES_EACH, 0)
        alone = partial(_read_unit, names=self._names, known=known)
        behind = partial(_read_batch, names=self._names, known=known)
        done, last = count(1), Flows()

        def on_step() -> None:
            self._options.progress("reading functions", min(next(done), len(units)), len(units))

        for unit, result in shared_parses.run_each(alone, behind, units, jobs, on_step):
            if isinstance(result, sandbox.WorkFailure):
                self._note("that libclang does not parse", f"{unit.origin} (it {result.how})")
                continue
            flows, passed = result
            if flows.notes:
                self._note("that libclang does not parse whole", f"{unit.origin} ({flows.notes[0]})")
            self._add(flows)
            self._passed += passed
            last = flows
        return last


def _size(unit: Unit) -> int:
    with suppress(OSError):
        return files.status_of(unit.main).st_size
    return 0


def _defining(
    paths: Iterable[str], flows: Flows, sought: Iterable[str], names: Sequence[str]
) -> Iterator[str]:
    """Yield the sources that seem to define functions that are sought, or declare objects anew.

    Also those with initial values for structs that embed the searched one.
    """
    defined = {each.function for each in flows.defined}
    functions = {name for name in sought if name.isidentifier()} - defined
    symbols = (symbol for symbol in flows.symbols if symbol.struct.removesuffix(" *") in names)
    objects = {symbol.name for symbol in symbols if " " not in symbol.name}
    words = "|".join(map(re.escape, sorted(functions))) or "(?!)"
    variables = "|".join(map(re.escape, sorted(objects))) or "(?!)"
    containers = {layout.struct for layout in flows.layouts if layout.places and layout.struct.isidentifier()}
    structs = "|".join(map(re.escape, sorted(containers))) or "(?!)"
    pattern = re.compile(
        rf"^(?:[A-Za-z_][\w \t*]*[ \t*])?(?:{words})[ \t]*+\([^;{{}}]{{0,1000}}+\{{"
        rf"|^[ \t]*extern\b[^=]{{0,400}}?\b(?:{variables})\b"
        rf"|\b(?:{structs})\b[^;{{}}()=]{{0,400}}+[=)]\s*+\{{".encode(),
        re.MULTILINE,
    )
    for path in paths if functions or objects or containers else ():
        with suppress(OSError):
            if pattern.search(files.read_all(path, _LARGEST)):
                yield path


Result = tuple[Flows, list[Passed]]
"""The flows in what was walked, and what was passed over."""


def read_alone(unit: Unit, names: tuple[str, ...], known: Known = NOTHING) -> Result:
    """Parse a unit and return its flows, in the order of the text and with repetitions. Raises ReadError."""
    if unit.text is None:
        parse.refuse_endless(unit)
    with parse.parse_unit(trees.library(), unit, None, _OPTIONS) as handle:
        return _FlowReader(handle, unit, names, known).read()


def _read_unit(unit: Unit, names: tuple[str, ...], known: Known) -> Result:
    limits.confine()
    try:
        return read_alone(unit, names, known)
    except ReadError as error:
        return Flows(notes=[f"{error.path} {error.reason}"]), []
    except libclang.TOO_DEEP:
        return Flows(notes=["it is nested too deeply"]), []


def _read_batch(shared: Shared, names: tuple[str, ...], known: Known) -> list[tuple[Unit, Result]]:
    """Return what the units have that are the same behind the headers that they share, and the headers."""
    stream = shared_parses.begin_process()
    if stream is None:
        return []
    results: list[tuple[Unit, Result]] = []
    try:
        with shared_parses.parse_headers(shared, stream) as parses:
            included = set[str]()
            # Those that were passed over before are looked at again, for what they call.
            own = known._replace(defined=frozenset(key for key, _ in known.walked))
            headers = _FlowReader(parses.handle, shared.beginning, names, own)
            results.append((shared.beginning, headers.read()))
            for parsed in parses.units():
                reader = _FlowReader(parses.handle, parsed.unit, names, known, headers)
                if not reader.defines(headers.lacking):
                    results.append((parsed.own, reader.read()))
                    included |= parsed.shared
                    sandbox.tell_step()
    except (ReadError, OSError, *libclang.TOO_DEEP):
        return []  # they are parsed alone, which gives the reason
    return results if headers.files <= included else []


class _FlowReader:
    """Reads the flows of one parsed unit."""

    def __init__(
        self,
        handle: int,
        unit: Unit,
        names: tuple[str, ...],
        known: Known,
        headers: _FlowReader | None = None,
    ) -> None:
        """`headers` has read those in front of the unit, whose functions are not read again."""
        self._handle, self._unit, self._names, self._known = handle, unit, names, known
        self._lib = trees.library()
        self._places = Places(self._lib, unit.directory, (os.getcwd(),), {})
        self._main = self._lib.clang_getFile(handle, os.fsencode(unit.main))
        self._owns: dict[int | None, bool] = {}
        self._named: dict[int, tuple[str, bool]] = {}
        self._files_before = frozenset[str]() if headers is None else headers.files
        self.files: frozenset[str] = frozenset()
        """The headers with functions or variables that were read."""
        self.lacking: frozenset[str] = frozenset()
        """The functions without a body that are named here: of calls of those with a body, more is known."""
        self._offset_slots: frozenset[Slot] = frozenset() if headers is None else headers._offset_slots
        """Those that are known to have offsets of members."""

    def read(self) -> Result:
        """Return the flows in the functions of the file and of headers that name the struct, and what was
        passed over.
        """
        lib, handle = self._lib, self._handle
        walker, passed = self._walk(handle, set(self._offset_slots))
        for _ in range(_MOST_WALKS):
            if not walker.offset_slots - walker.first_offset_slots:
                break
            walker, passed = self._walk(handle, walker.offset_slots)
        own = (file for file, is_own in self._owns.items() if is_own and file not in (None, self._main))
        self.files = frozenset(libclang.file_name(lib, file) for file in own if file is not None)
        self._offset_slots = frozenset(walker.offset_slots)
        defined = {each.function for each in walker.flows.defined}
        self.lacking = frozenset(key for key, _ in self._named.values()) - defined - self._known.defined
        problems = diagnostics.read_diagnostics(lib, handle, self._places, None)
        answer = None if self._unit.compiler is None else self._unit.compiler.answer
        error = diagnostics.first_error(lib, problems, None if answer is None else answer.is_own_header)
        if walker.is_cut:
            walker.flows.notes.append("a part is nested too deeply")
        if error is not None:
            walker.flows.notes.append(error)
        return walker.flows, passed

    def defines(self, functions: frozenset[str]) -> bool:
        """Return whether the unit has the body of one of some functions."""
        every = trees.definitions(self._lib.clang_getTranslationUnitCursor(self._handle), self._is_own)
        return any(each.name in functions for each in every if each.cursor.kind == syntax.FUNCTION)

    def _walk(self, handle: int, offset_slots: set[Slot]) -> tuple[FlowWalker, list[Passed]]:
        """Walk the functions and variables; some slots are known to have offsets of members."""
        lib = self._lib
        names = Names.of_unit(self._places.place)
        self._named = names.functions
        walker = FlowWalker(lib, names, self._names[0], self._word(handle))
        walker.offset_slots |= offset_slots
        walker.first_offset_slots = frozenset(offset_slots)
        every = trees.definitions(lib.clang_getTranslationUnitCursor(handle), self._is_own)
        own = (each.cursor for each in every if self._is_own(each.file))
        parts = Parts(walker, self._is_left_out, self._known)
        parts.walk(own)
        return walker, parts.passed

    def _is_left_out(self, function: Cursor) -> bool:
        """Return whether a function is one of the system's headers, or was read with another unit."""
        location = self._lib.clang_getCursorLocation(function)
        if self._lib.clang_Location_isInSystemHeader(location):
            return True
        file, _ = libclang.spot(self._lib, function)
        return file is not None and libclang.file_name(self._lib, file) in self._files_before

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
