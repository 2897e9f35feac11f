"""The structs of units that begin with the same includes, of which libclang parses these once."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import has_annotation_marks
from layoutlint.readers.clang import libclang, parse, parsed_listings
from layoutlint.readers.clang.kept_listings import UnitListing
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.parsed_listings import Logged
from layoutlint.readers.clang.shared_beginnings import Rest, Shared
from layoutlint.readers.clang.unit_layouts import Main

_SMALLEST = 100_000
"""The fewest bytes of includes that are parsed once for several units."""
_ENTERED = "-H"
"""With this flag, libclang prints each file that it enters."""


class _First(Record, frozen=True):
    """What a shared beginning has."""

    listing: UnitListing
    real_paths: frozenset[str]
    """The files that it includes."""
    log: accesses.Log | None


def read(shared: Shared, stream: Messages, is_logged: bool) -> dict[Unit, Logged]:
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
    uses_main = files.real_path(unit.main) in real_paths or any(b"__BASE_FILE__" in each for each in texts)
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
