"""The units among many that define a requested struct, as libclang sees them.

The text search can miss a definition (`struct ring /* receive */ {`), so it only says which units are certain
to be read. Of the others, libclang lists the structs. A list is kept in the cache as long as what the unit
reads is the same.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from layoutlint import files, phrases
from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.reading import Omission, ReadOptions, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct, has_annotation_marks
from layoutlint.model.task import LIMITS_OF_INPUT, Failure
from layoutlint.model.wanted import Wanted
from layoutlint.readers.cache import answers, keys, memory
from layoutlint.readers.cache.answers import Answers
from layoutlint.readers.clang import (
    compiler_macros,
    diagnostics,
    libclang,
    lookups,
    parallel,
    parse,
    unit_layouts,
)
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.limits import LIMITS, confine
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parallel import Outcome
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.unit_layouts import Definition
from layoutlint.readers.processes import sandbox
from layoutlint.readers.processes.child import Child

_KIND = "structs of a unit"
_BATCH = 24
"""The most units that one process parses."""
_PATIENCE_SECONDS = 120.0
"""How long a run waits for processes with several units that fail, and for those with one.

Units that are read have other time (`limits.PATIENCE`)."""
_DAMAGE = (ValueError, TypeError, KeyError, zlib.error)
"""What content of another form raises; checksums make it improbable."""


class UnitListing(Record, frozen=True):
    """The structs that a unit defines."""

    definitions: frozenset[Definition]
    """The tags and typedefs of the structs that it defines, each with a digest of its layout."""
    annotated: frozenset[str]
    """The paths of the files of it that can have annotations."""
    files: frozenset[str]
    """The paths of its file and of the files that it includes."""
    error: str | None = None
    """The first error in its text that stops a compiler: behind it, structs may be missing."""

    def may_have(self, wanted: Wanted) -> bool:
        """Return whether the unit may define a requested struct."""
        is_annotated = wanted.annotated and bool(self.annotated)
        return is_annotated or any(wanted.matches(name) for name, _, _ in self.definitions)

    def requests(self, wanted: Wanted) -> Iterator[object]:
        """Yield the requested definitions, and the files that can have annotations if these are requested."""
        yield from (each for each in self.definitions if wanted.matches(each[0]))
        yield from map(files.real_path, self.annotated if wanted.annotated else ())

    def requested_definitions(self, wanted: Wanted) -> list[Definition]:
        """Return the requested definitions, with real paths, sorted."""
        found = (each for each in self.definitions if wanted.matches(each[0]))
        return sorted((name, files.real_path(at), layout) for name, at, layout in found)


class Defining(Record, frozen=True):
    """The outcome of the units that define a requested struct, and what the others show."""

    outcome: Outcome
    """The results of the units that were certain to be read, and of those that define a requested struct."""
    others: dict[Unit, UnitListing]
    """The listings of the units that define none."""


def hidden_by_errors(
    listings: Iterable[tuple[str, UnitListing]], wanted: Wanted, structs: tuple[Struct, ...]
) -> Iterator[Omission]:
    """Yield the units, by their origins, in which errors may hide a requested struct: one without a
    definition among `structs`, or one that matches a pattern.
    """
    failed = {origin: each.error for origin, each in listings if each.error is not None}
    missing = parallel.missing_names(structs, wanted)
    if failed and (wanted.patterns or missing or wanted.everything):
        first = next(iter(failed.values()))
        what = "1 file has errors" if len(failed) == 1 else f"{len(failed):,} files have errors"
        reason = f"{what} that may hide structs: {phrases.first_few(list(failed))} ({first})"
        yield Omission(reason, frozenset(missing) if missing and not wanted.patterns else None)


def read(units: Sequence[Unit], certain: Collection[Unit], wanted: Wanted, options: ReadOptions) -> Defining:
    """Parse the `certain` units, and those of the others that define a requested struct.

    Raises ReadError if there is no libclang.
    """
    listings = list_units([unit for unit in units if unit not in certain], options)
    failed = tuple(each for each in listings.values() if isinstance(each, Unread))
    others = {unit: each for unit, each in listings.items() if isinstance(each, UnitListing)}
    chosen = {*certain, *(unit for unit, listing in others.items() if listing.may_have(wanted))}
    to_parse = [unit for unit in units if unit in chosen]
    outcome = parallel.run(to_parse, wanted, options) if to_parse else Outcome((), ())
    others = {unit: listing for unit, listing in others.items() if unit not in chosen}
    return Defining(outcome.plus(Outcome((), failed)), others)


def list_units(units: Sequence[Unit], options: ReadOptions) -> dict[Unit, UnitListing | Unread]:
    """Return the listing of each unit: from the cache, else by libclang.

    Raises ReadError if there is no libclang.
    """
    listings: dict[Unit, UnitListing | Unread] = dict(_recall(units, options))
    new = [unit for unit in units if unit not in listings]
    lists = _list_anew(new, options)
    _keep(zip(new, lists, strict=True), options)
    return listings | {unit: listing for unit, (listing, _) in zip(new, lists, strict=True)}


_Listed = tuple[UnitListing | Unread, Answers | None]
"""A listing, and what the file system answered if that decides about it."""


def _list_anew(units: Sequence[Unit], options: ReadOptions) -> list[_Listed]:
    """Return the listing of each unit; a process parses several, because its start takes as long as that."""
    if not units:
        return []
    libclang.library()
    parse.prepare(units[0])
    given = parallel.with_replaced(units, options)
    size = min(_BATCH, -(-len(given) // max(1, options.jobs)))
    batches = [tuple(given[start : start + size]) for start in range(0, len(given), size)]
    results: dict[int, list[_Listed]] = {}
    for number, result in _run_batches(batches, options):
        results[number] = result
        options.progress("listing structs", sum(map(len, results.values())), len(units))
    return [listed for number in range(len(batches)) for listed in results[number]]


def _run_batches(
    batches: Sequence[tuple[Unit, ...]], options: ReadOptions
) -> Iterator[tuple[int, list[_Listed]]]:
    if options.executor is None or len(batches) == 1:
        yield from _list_confined(batches, options.jobs)
        return
    from layoutlint.readers.executors import calls

    for number, result in calls.run_each(options.executor, _list_in_task, batches, _origin, LIMITS_OF_INPUT):
        if isinstance(result, Failure):
            yield number, [(calls.unread(unit.origin, result), None) for unit in batches[number]]
        else:
            yield number, result


def _origin(batch: tuple[Unit, ...]) -> str:
    return batch[0].origin


def _list_in_task(batch: tuple[Unit, ...]) -> list[_Listed]:
    libclang.library()
    ((_, result),) = _list_confined([batch], 1)
    return result


def _list_confined(batches: Sequence[tuple[Unit, ...]], jobs: int) -> Iterator[tuple[int, list[_Listed]]]:
    """List the units of each batch in a process within LIMITS; each alone if that fails."""
    for_batches, for_units = sandbox.Patience(_PATIENCE_SECONDS), sandbox.Patience(_PATIENCE_SECONDS)
    for number, result in sandbox.run_each(_list_batch, batches, jobs, LIMITS, for_batches):
        if isinstance(result, sandbox.Failure):
            alone = [(unit,) for unit in batches[number]]
            single = dict(sandbox.run_each(_list_batch, alone, jobs, LIMITS, for_units))
            result = [listed for at, (unit,) in enumerate(alone) for listed in _of_one(unit, single[at])]
        yield number, result


def _of_one(unit: Unit, result: list[_Listed] | sandbox.Failure) -> list[_Listed]:
    if isinstance(result, sandbox.Failure):
        return [(Unread(unit.origin, f"libclang {result.how}"), None)]
    return result


def _list_batch(units: tuple[Unit, ...]) -> list[_Listed]:
    is_logged = accesses.active_log() is not None
    printed = [Messages() if is_logged else None for _ in units]
    confine()
    if Child.is_current:
        libclang.share_contents()
    return [_list(unit, messages) for unit, messages in zip(units, printed, strict=True)]


def _list(unit: Unit, printed: Messages | None) -> _Listed:
    try:
        if printed is None:
            return _parse_names(unit, printed), None
        with accesses.log_answers() as log:
            listing = _parse_names(unit, printed)
        return listing, answers.settle(log)
    except ReadError as error:
        accesses.refuse(error.reason)
        return Unread.of_error(error), None


def _parse_names(unit: Unit, printed: Messages | None) -> UnitListing:
    """Return the listing of a unit, as libclang parses it; raises ReadError if it cannot."""
    if unit.text is None:
        parse.refuse_endless(unit)
    lib = libclang.library()
    with parse.parse_unit(lib, unit, printed, libclang.PREFERRED_OPTIONS) as handle:
        if printed is not None:
            lookups.log_unit(lib, handle, unit, printed)
        defined = unit_layouts.definitions(lib, lib.clang_getTranslationUnitCursor(handle))
        included = dict.fromkeys(file for file, _ in libclang.inclusions(lib, handle))
        paths = {lib.clang_getFile(handle, os.fsencode(unit.main)): unit.main}
        paths |= {file: os.path.join(unit.directory, libclang.file_name(lib, file)) for file in included}
        marked = (path for file, path in paths.items() if _is_marked(lib, handle, file))
        listing = UnitListing(defined, frozenset(marked), frozenset(map(os.path.normpath, paths.values())))
        if unit.problem is None and not _has_errors(lib, handle, unit):
            return listing
    parsed = parse.read(unit, Wanted())
    return replace(listing, error=next(iter(parsed.without_warnings(parsed.errors)), None))


def _is_marked(lib: Any, handle: int, file: int) -> bool:
    return has_annotation_marks(libclang.contents(lib, handle, file))


def _has_errors(lib: Any, handle: int, unit: Unit) -> bool:
    """Return whether anything in a parsed unit may hide structs."""
    places = Places(lib, unit.directory, unit.roots, {})
    if any(
        not each.is_warning for each in diagnostics.read_diagnostics(lib, handle, places, None, unit.is_gcc)
    ):
        return True
    doubts = compiler_macros.find_doubtful_mentions(lib, handle, unit.main, unit.flags, unit.doubts, places)
    return bool(unit.doubts) and any(each.is_global for each in doubts)


def _recall(units: Sequence[Unit], options: ReadOptions) -> Iterator[tuple[Unit, UnitListing]]:
    """Yield the units with a listing that an earlier run kept and that still holds."""
    places = {unit: place for unit in units if (place := _key(unit, options)) is not None}
    contents = memory.recall_several(places.values())
    for unit, place in places.items():
        if place in contents:
            with suppress(*_DAMAGE):
                yield unit, _decode(contents[place])


def _keep(listed: Iterable[tuple[Unit, _Listed]], options: ReadOptions) -> None:
    """Keep the listings of units, with what they depend on."""
    kept: dict[str, tuple[Answers, bytes]] = {}
    for unit, (listing, settled) in listed:
        place = _key(unit, options) if settled is not None else None
        if place is not None and settled is not None and isinstance(listing, UnitListing):
            kept[place] = settled, _encode(listing)
    memory.keep_several(kept)


def _key(unit: Unit, options: ReadOptions) -> str | None:
    """Return the key of a unit's listing in the cache; None if it is not kept."""
    if not options.cache or accesses.active_log() is None:
        return None
    try:
        return keys.key_of(_KIND, parallel.with_replaced([unit], options)[0])
    except (keys.Unknown, OSError):
        return None


def _encode(listing: UnitListing) -> bytes:
    defined, paths = sorted(listing.definitions), sorted(listing.files)
    return zlib.compress(json.dumps([defined, sorted(listing.annotated), paths, listing.error]).encode(), 1)


def _decode(content: bytes) -> UnitListing:
    """Return the listing that was encoded. Raises one of `_DAMAGE`."""
    defined, annotated, paths, error = json.loads(zlib.decompress(content))
    return UnitListing(frozenset(map(tuple, defined)), frozenset(annotated), frozenset(paths), error)
