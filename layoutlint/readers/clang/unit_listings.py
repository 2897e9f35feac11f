"""The units among many that define a requested struct, as libclang sees them.

The text search can miss a definition (`struct ring /* receive */ {`), so it only says which units are certain
to be read. Of the others, libclang lists the structs. A list is kept in the cache as long as what the unit
reads is the same. Of units that begin with the same includes, libclang parses these once.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import Any

from layoutlint import files, phrases
from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.reading import Omission, ReadOptions, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct, has_annotation_marks
from layoutlint.model.task import LIMITS_OF_INPUT, Failure
from layoutlint.model.wanted import Wanted
from layoutlint.readers.cache import answers
from layoutlint.readers.cache.answers import Answers
from layoutlint.readers.clang import (
    kept_listings,
    libclang,
    parallel,
    parse,
    parsed_listings,
    shared_beginnings,
)
from layoutlint.readers.clang.kept_listings import Group, UnitListing
from layoutlint.readers.clang.limits import LIMITS, confine
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parallel import UnitResults
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.parsed_listings import Logged
from layoutlint.readers.clang.shared_beginnings import Rest, Shared
from layoutlint.readers.clang.unit_layouts import Main
from layoutlint.workers import sandbox
from layoutlint.workers.child import Child

_MOST_GROUPS = 4
"""The most groups that one process lists."""
_PATIENCE_SECONDS = 120.0
"""How long a run waits for processes with several units that fail, and for those with one.

Units that are read have other time (`limits.PATIENCE`)."""
_SMALLEST = 100_000
"""The fewest bytes of includes that are parsed once for several units."""
_ENTERED = "-H"
"""With this flag, libclang prints each file that it enters."""


class Defining(Record, frozen=True):
    """The outcome of the units that define a requested struct, and what the others show."""

    outcome: UnitResults
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
    listings = list_units([unit for unit in units if unit not in certain], options, units)
    failed = tuple(each for each in listings.values() if isinstance(each, Unread))
    others = {unit: each for unit, each in listings.items() if isinstance(each, UnitListing)}
    chosen = {*certain, *(unit for unit, listing in others.items() if listing.may_have(wanted))}
    to_parse = [unit for unit in units if unit in chosen]
    outcome = parallel.run(to_parse, wanted, options) if to_parse else UnitResults((), ())
    others = {unit: listing for unit, listing in others.items() if unit not in chosen}
    return Defining(outcome.plus(UnitResults((), failed)), others)


def list_units(
    units: Sequence[Unit], options: ReadOptions, among: Sequence[Unit] = ()
) -> dict[Unit, UnitListing | Unread]:
    """Return the listing of each unit: from the cache, else by libclang.

    `among` are the units of the input with those that are not listed: they decide which are kept together.
    Raises ReadError if there is no libclang.
    """
    requested = frozenset(units)
    groups = kept_listings.groups(among or units, options.jobs)
    kept = kept_listings.recall(groups, options)
    listings: dict[Unit, UnitListing | Unread] = {}
    batches: dict[Group, Group] = {}
    for group in groups:
        own, known = tuple(filter(requested.__contains__, group)), kept.get(group, {})
        if known.keys() >= set(own):
            listings |= {unit: each for unit in own if (each := known[unit]) is not None}
            # A unit that could not be listed is tried again each time.
            own = tuple(unit for unit in own if known[unit] is None)
        else:
            kept.pop(group, None)
        batches[group] = own
    new: dict[Group, tuple[dict[Unit, UnitListing | None], Answers]] = {}
    for group, (results, settled) in _list_anew(batches, options):
        listed = dict(zip(batches[group], results, strict=True))
        listings |= listed
        if settled is not None and group not in kept:
            plain = {unit: each if isinstance(each, UnitListing) else None for unit, each in listed.items()}
            new[group] = plain, settled
    kept_listings.keep(new, options)
    return listings


_Listed = tuple[list[UnitListing | Unread], Answers | None]
"""The listings of several units, and what the file system answered if that decides about them."""
_Batch = tuple[Group, ...]
"""What one process lists: several groups, since they share texts and a start takes as long as a unit."""


def _list_anew(batches: Mapping[Group, Group], options: ReadOptions) -> Iterator[tuple[Group, _Listed]]:
    """Yield each group that has units in its batch, and their listings."""
    of_groups = [group for group, units in batches.items() if units]
    if not of_groups:
        return
    libclang.library()
    parse.prepare(of_groups[0][0])
    given = [tuple(parallel.with_replaced(batches[group], options)) for group in of_groups]
    size = max(1, min(_MOST_GROUPS, len(given) // max(1, options.jobs)))
    starts = range(0, len(given), size)
    done, total = 0, sum(map(len, given))
    for number, listed in _run_batches([tuple(given[at : at + size]) for at in starts], options):
        for at, each in enumerate(listed, starts[number]):
            done += len(given[at])
            yield of_groups[at], each
        options.progress("listing structs", done, total)


def _run_batches(batches: Sequence[_Batch], options: ReadOptions) -> Iterator[tuple[int, list[_Listed]]]:
    if options.executor is None or len(batches) == 1:
        yield from _list_confined(batches, options.jobs)
        return
    from layoutlint.workers import calls

    for number, result in calls.run_each(options.executor, _list_in_task, batches, _origin, LIMITS_OF_INPUT):
        if isinstance(result, Failure):
            groups = batches[number]
            yield number, [([calls.unread(unit.origin, result) for unit in group], None) for group in groups]
        else:
            yield number, result


def _origin(batch: _Batch) -> str:
    return batch[0][0].origin


def _list_in_task(batch: _Batch) -> list[_Listed]:
    libclang.library()
    ((_, result),) = _list_confined([batch], 1)
    return result


def _list_confined(batches: Sequence[_Batch], jobs: int) -> Iterator[tuple[int, list[_Listed]]]:
    """List the units of each batch in a process within LIMITS; each alone if that fails."""
    for_batches, for_units = sandbox.Patience(_PATIENCE_SECONDS), sandbox.Patience(_PATIENCE_SECONDS)
    for number, result in sandbox.run_each(_list_batch, batches, jobs, LIMITS, for_batches):
        if isinstance(result, sandbox.WorkFailure):
            alone = [((unit,),) for group in batches[number] for unit in group]
            single = dict(sandbox.run_each(_list_batch, alone, jobs, LIMITS, for_units))
            each = (_of_one(unit, single[at]) for at, ((unit,),) in enumerate(alone))
            result = [(list(islice(each, len(group))), None) for group in batches[number]]
        yield number, result


def _of_one(unit: Unit, result: list[_Listed] | sandbox.WorkFailure) -> UnitListing | Unread:
    if isinstance(result, sandbox.WorkFailure):
        return Unread(unit.origin, f"libclang {result.how}")
    ((listing,), _) = result[0]
    return listing


class _First(Record, frozen=True):
    """What a shared beginning has."""

    listing: UnitListing
    real_paths: frozenset[str]
    """The files that it includes."""
    log: accesses.Log | None


def list_together(shared: Shared, stream: Messages, is_logged: bool) -> dict[Unit, Logged]:
    """Return the listings of those units that are certain to be the same as when they are parsed alone."""
    results: dict[Unit, Logged] = {}
    try:
        first = _begin(shared.probe, stream if is_logged else None)
        if first is not None:
            _read_rests(shared, first, stream, is_logged, results)
    except (ReadError, OSError):
        return results  # the others are parsed alone, which gives the reason
    return results


def _begin(unit: Unit, printed: Messages | None) -> _First | None:
    """Return what a beginning has; None if it is not to be shared. Raises ReadError."""
    lib = libclang.library()
    parsed = parse.parse_unit(lib, unit, printed, libclang.PREFERRED_OPTIONS)
    with parsed_listings.logging(printed) as log, parsed as handle:
        listing = parsed_listings.read(lib, handle, unit, printed)
        texts = [libclang.contents(lib, handle, file) for file in libclang.included_files(lib, handle)]
        is_broken = parsed_listings.has_errors(lib, handle, unit)
    paths = listing.files - {unit.main}
    real_paths = frozenset(map(files.real_path, paths))
    uses_main = files.real_path(unit.main) in real_paths or any(b"__BASE_FILE__" in text for text in texts)
    if is_broken or uses_main or sum(map(len, texts)) < _SMALLEST:
        return None
    return _First(replace(listing, files=paths), real_paths, log)


def _read_rests(
    shared: Shared, first: _First, stream: Messages, is_logged: bool, results: dict[Unit, Logged]
) -> None:
    """Add the listings of the units behind their beginning. Raises ReadError, OSError."""
    lib, beginning = libclang.library(), replace(shared.beginning, flags=(*shared.beginning.flags, _ENTERED))
    options = libclang.PREFERRED_OPTIONS | libclang.PREAMBLE_OPTIONS
    with parse.parse_unit(lib, beginning, stream, options, lists_preambles=True) as handle:
        for unit in shared.units:
            stream.begin_unit()
            with accesses.log_answers() if is_logged else nullcontext() as log:
                rest = shared.rest_of(unit)
                parse.reparse(lib, handle, rest.unit, stream)
                listing = _list_rest(lib, handle, rest, first, stream)
            if listing is not None:
                if log is not None and first.log is not None:
                    log.add(first.log)
                results[unit] = listing, log


def _list_rest(lib: Any, handle: int, rest: Rest, first: _First, stream: Messages) -> UnitListing | None:
    """Return the listing of a unit whose beginning is precompiled; None if it may differ."""
    unit, entered = rest.unit, stream.entered_files()
    included = [lib.clang_getFile(handle, os.fsencode(name)) for name in entered or ()]
    if entered is None or not all(included):
        return None
    libclang.set_included_files(handle, included)  # finding them takes longer: it looks at all the includes
    paths = first.real_paths.union(files.real_path(os.path.join(unit.directory, name)) for name in entered)
    has_main = not paths.isdisjoint({files.real_path(rest.path), files.real_path(unit.main)})
    if has_main or parsed_listings.has_errors(lib, handle, unit):
        return None  # what is read in place of a main file would not be its text
    main = Main(lib.clang_getFile(handle, os.fsencode(unit.main)), rest.path, rest.lines)
    listing = parsed_listings.read(lib, handle, unit, stream, main, first.listing)
    marked = {rest.path} if has_annotation_marks(rest.text) else frozenset[str]()
    return replace(listing, annotated=listing.annotated | marked)


def _list_batch(groups: _Batch) -> list[_Listed]:
    stream, is_logged = Messages(), accesses.active_log() is not None
    confine()
    units = [unit for group in groups for unit in group]
    results: dict[Unit, Logged] = {}
    if Child.is_current:
        libclang.share_contents()
        for shared in shared_beginnings.find(units) if stream.are_kept else ():
            results |= list_together(shared, stream, is_logged)
    printed = stream if is_logged else None
    results |= {unit: _list(unit, printed) for unit in units if unit not in results}
    return [_of_group([results[unit] for unit in group]) for group in groups]


def _of_group(results: Sequence[Logged]) -> _Listed:
    whole = accesses.Log()
    for _, log in results:
        if log is not None:
            whole.add(log)
    is_logged = all(log is not None for _, log in results)
    return [listing for listing, _ in results], answers.settle(whole) if is_logged else None


def _list(unit: Unit, printed: Messages | None) -> Logged:
    """Return the listing of a unit, and what it depends on."""
    try:
        with parsed_listings.logging(printed) as log:
            return _parse_names(unit, printed), log
    except ReadError as error:
        accesses.refuse(error.reason)
        return Unread.of_error(error), log


def _parse_names(unit: Unit, printed: Messages | None) -> UnitListing:
    """Return the listing of a unit, as libclang parses it; raises ReadError if it cannot."""
    if unit.text is None:
        parse.refuse_endless(unit)
    lib = libclang.library()
    with parse.parse_unit(lib, unit, printed, libclang.PREFERRED_OPTIONS) as handle:
        listing = parsed_listings.read(lib, handle, unit, printed)
        if unit.problem is None and not parsed_listings.has_errors(lib, handle, unit):
            return listing
    parsed = parse.read(unit, Wanted())
    return replace(listing, error=next(iter(parsed.without_warnings(parsed.errors)), None))
