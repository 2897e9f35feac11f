"""Reading function bodies through libclang: which fields they read, write and lock, and whom they call."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import count
from typing import Any

import msgspec

from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.reading import ReadOptions, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct, has_annotation_marks
from layoutlint.model.uses import Function, Spot, plain_name, rename
from layoutlint.model.wanted import Wanted
from layoutlint.readers.cache import answers, keys
from layoutlint.readers.cache.memory import Memory
from layoutlint.readers.clang import libclang, limits, parallel, parse
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.shared_beginnings import Rest, Shared
from layoutlint.sources.bodies import shared_parses, sources, trees, unit
from layoutlint.sources.bodies.shared_parses import Parsed, SharedParse
from layoutlint.sources.bodies.unit import UnitFunctions, UnitReader
from layoutlint.workers import sandbox
from layoutlint.workers.pool import number_for

_LARGEST = 1 << 28
"""The most bytes of a kept result, uncompressed."""
_BYTES_EACH = 1 << 23
"""How much reading a unit counts as, when the number of processes is chosen."""
_Logged = tuple[UnitFunctions, accesses.Log | None]
"""What a unit has, and what the file system answered if that is logged."""


class Bodies(Record, frozen=True):
    """The functions of all units of some inputs, each once."""

    functions: tuple[Function, ...]
    stored: tuple[tuple[str, Spot | None], ...]
    """The functions in initialisers of variables, with the fields."""
    structs: tuple[Struct, ...]
    """The structs whose fields they use, each definition once."""
    variables: frozenset[str]
    """The keys of the structs of variables outside of functions, and of static ones in them."""
    per_cpu: frozenset[str]
    """The names of the structs of which each processor or thread has its own object."""
    units: int
    """The number of units that were read."""
    recalled: int
    """The number of those that were in the cache."""
    unread: tuple[Unread, ...]
    notes: tuple[str, ...]
    is_kernel: bool
    constant_parameters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Functions with the positions of parameters that point to const, if a table says that they write."""


def read(paths: tuple[str, ...], options: ReadOptions) -> Bodies:
    """Return the functions of C sources; raises ReadError if an input has none, or without libclang.

    Units are read in processes with limits of time and memory; those that fail are in `unread`. Results of
    units are kept in the cache, so a run that was ended goes on where it was.
    """
    trees.library()
    source_units = sources.find(paths, options)
    results: dict[int, _Outcome] = {}
    recalled = 0
    done = count(1)

    def on_step() -> None:
        total = len(source_units.units)
        options.progress("reading functions", min(next(done), total), total)  # some are read once more

    for number, result, is_recalled in _read_units(source_units.units, options, on_step):
        recalled += is_recalled
        results[number] = result
    in_order = [results[number] for number in range(len(source_units.units))]
    unread = (*source_units.unread, *(failure for result in in_order for failure in _failures(result)))
    parts = [
        (source_units.units[n], each) for n, each in enumerate(in_order) if isinstance(each, UnitFunctions)
    ]
    structs = {unit.key_of(struct): struct for _, part in parts[::-1] for struct in part.structs}
    structs |= _missing_structs(parts, structs.keys(), options)
    return _merge([part for _, part in parts], structs, source_units, recalled, unread)


def _missing_structs(
    parts: list[tuple[Unit, UnitFunctions]], given: Iterable[str], options: ReadOptions
) -> dict[str, Struct]:
    """Return the layouts that no unit has given, because the unit that gave them was another run's."""
    missing = frozenset[str]().union(*(part.used_structs for _, part in parts)).difference(given)
    wanted: dict[Unit, set[str]] = {}
    for each, part in parts:
        own = missing & part.used_structs
        missing -= own
        own = own.difference(part.unreliable)
        if own:
            wanted[each] = set(own)
    names = frozenset(plain_name(key) for keys in wanted.values() for key in keys)
    outcome = parallel.run(list(wanted), Wanted(names), options) if wanted else None
    structs = outcome.structs if outcome is not None else ()
    keys = {key for own in wanted.values() for key in own}
    return {unit.key_of(struct): struct for struct in structs if unit.key_of(struct) in keys}


def _failures(result: UnitFunctions | Unread) -> Iterator[Unread]:
    """Yield why all of a unit, or a part of it, was not read."""
    if isinstance(result, Unread):
        yield result
    elif result.problem is not None:
        yield Unread(result.origin, f"not all of it was read: {result.problem}")


def _merge(
    units: list[UnitFunctions],
    structs: Mapping[str, Struct],
    source_units: sources.Units,
    recalled: int,
    unread: tuple[Unread, ...],
) -> Bodies:
    functions: dict[str, Function] = {}
    stored: dict[tuple[str, Spot | None], None] = {}
    for each in units:
        part = _with_own_keys(each, functions)
        functions |= {function.key: function for function in part.functions}
        stored |= dict.fromkeys(part.stored)
    return Bodies(
        tuple(functions.values()),
        tuple(stored),
        tuple(structs[key] for key in sorted(structs)),
        frozenset(name for each in units for name in each.shared_variables()),
        frozenset(name for each in units for name in each.per_cpu),
        len(units),
        recalled,
        unread,
        tuple(source_units.notes),
        source_units.is_kernel,
        tuple({key: some for each in units for key, some in each.constants}.items()),
    )


def _with_own_keys(part: UnitFunctions, others: Mapping[str, Function]) -> UnitFunctions:
    """Return a unit whose functions have keys of their own where other units have others of the name.

    These are `main` of another program, and functions of headers that macros of the source change.
    """
    keys = {
        function.key: f"{function.key}@{part.origin}"
        for function in part.functions
        if (other := others.get(function.key, function)) is not function and other != function
    }
    if not keys:
        return part
    functions = tuple(rename(function, keys) for function in part.functions)
    stored = tuple((keys.get(key, key), spot) for key, spot in part.stored)
    return replace(part, functions=functions, stored=stored)


_Outcome = UnitFunctions | Unread


class _Read(Record, frozen=True):
    """A result of a process, with the answers of the file system that it depends on."""

    outcome: _Outcome
    answers: dict[str, Any] | None


def _read_units(
    units: list[Unit], options: ReadOptions, on_step: Callable[[], None]
) -> Iterator[tuple[int, _Outcome, bool]]:
    """Yield the results of units, and whether the cache had them; these come first.

    `on_step` is called when a unit has been read.
    """
    memories = {number: _memory(each) for number, each in enumerate(units)} if options.cache else {}
    missing: list[int] = []
    for number in range(len(units)):
        kept = _recall(memories.get(number))
        if kept is None:
            missing.append(number)
        else:
            on_step()
            yield number, unit.remember(kept), True
    numbers = {units[number]: number for number in missing}
    jobs = options.jobs or number_for(len(numbers) * _BYTES_EACH, 0)
    alone, behind = partial(_read_unit, keeps=options.cache), partial(_read_batch, keeps=options.cache)
    for each, result in shared_parses.run_each(alone, behind, list(numbers), jobs, on_step):
        number = numbers[each]
        if isinstance(result, sandbox.WorkFailure):
            yield number, Unread(each.origin, f"libclang {result.how}"), False
            continue
        outcome = result.outcome
        if isinstance(outcome, UnitFunctions):
            memory = memories.get(number)
            if memory is not None and result.answers is not None:
                memory.keep_settled(result.answers, _encode(replace(outcome, scanned={})))
            outcome = unit.remember(outcome)
        yield number, outcome, False


def _memory(each: Unit) -> Memory | None:
    try:
        return Memory(keys.key_of("bodies", each))
    except (keys.Unknown, OSError):
        return None


def _recall(memory: Memory | None) -> UnitFunctions | None:
    kept = None if memory is None else memory.recall()
    if kept is None:
        return None
    try:
        stream = zlib.decompressobj()
        return msgspec.msgpack.decode(stream.decompress(kept, _LARGEST), type=UnitFunctions)
    except (msgspec.MsgspecError, ValueError, zlib.error):
        return None


def _encode(result: UnitFunctions) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(result), 1)


class _PartialUnit(Record, frozen=True):
    """A unit without the layouts of the structs that shared headers define."""

    functions: UnitFunctions
    """Without layouts, but with those of its own that are unreliable."""
    structs: tuple[Struct, ...]
    """Of its own texts."""
    wanted: frozenset[str]
    """The keys of all structs whose layouts are wanted."""
    log: accesses.Log | None


def read_together(shared: Shared, stream: Messages, is_logged: bool) -> dict[Unit, _Logged]:
    """Return what those units have that are certain to be the same as when they are parsed alone."""
    parts: dict[Unit, _PartialUnit] = {}
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


def _with_layouts(part: _PartialUnit, layouts: Iterable[Struct]) -> UnitFunctions:
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

    def read(self, parsed: Parsed) -> _PartialUnit | None:
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
        return _PartialUnit(replace(with_own, structs=()), with_own.structs, wanted, parsed.log)

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


def _read_batch(shared: Shared, keeps: bool) -> list[tuple[Unit, _Read]]:
    """Return what those units have that are the same behind the headers that they share."""
    stream = shared_parses.begin_process()
    if stream is None:
        return []
    try:
        found = read_together(shared, stream, keeps)
    except libclang.TOO_DEEP:
        return []
    return [
        (each, _Read(result, None if log is None else answers.settle(log)))
        for each, (result, log) in found.items()
    ]


def _read_unit(each: Unit, keeps: bool) -> _Read:
    printed = Messages() if keeps else None
    limits.confine()
    try:
        if printed is None:
            return _Read(unit.read(each), None)
        with accesses.log_answers() as log:
            outcome = unit.read(each, printed)
        return _Read(outcome, answers.settle(log))
    except ReadError as error:
        return _Read(Unread.of_error(error), None)
    except libclang.TOO_DEEP:
        return _Read(Unread(each.origin, "is nested too deeply"), None)
