"""The structs of units that begin with the same includes, of which libclang parses these once.

Of such a unit, libclang lists the declarations behind the includes, but no struct that the argument of an
attribute defines, say. So it also prints each struct whose definition ends: a unit with one that was not
listed is parsed alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.record import Record, replace
from layoutlint.readers.clang import libclang, parse, unit_structs
from layoutlint.readers.clang.kept_listings import UnitListing
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.shared_beginnings import Rest, Shared
from layoutlint.readers.clang.unit_layouts import Main, Undefined
from layoutlint.readers.clang.unit_structs import Logged

_SMALLEST = 100_000
"""The fewest bytes of includes that are parsed once for several units."""
_FLAGS = ("-H", "-Xclang", "-fdump-record-layouts-simple", "-Xclang", "-fdump-record-layouts-complete")
"""With these, libclang prints each file that it enters, and each struct whose definition ends."""
_PRINTED = re.compile(rb"^Type: (?:struct|union) (\w+)$", re.MULTILINE)
_MARK = "layoutlint_end_%d"
_EMPTY = "\nstruct %s { char c; };\n"
_FLUSHED = f"struct layoutlint_end {{ {' '.join(f'int m{number};' for number in range(2000))} }};"
"""Its layout fills what libclang keeps before it writes (twice a block)."""


class Dump:
    """The standard output of a process, in memory: libclang prints the structs of one unit after another."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.count = 0

    @classmethod
    def begin(cls) -> Dump | None:
        """Redirect the output of this process; None if the system cannot."""
        if not hasattr(os, "memfd_create"):
            return None
        file = os.memfd_create("libclang")
        os.dup2(file, 1)
        return cls(file)

    def next_mark(self) -> str:
        """Return the tag of a struct that ends the next part of what is printed."""
        self.count += 1
        return _MARK % self.count

    def names(self, first: int) -> list[frozenset[bytes]]:
        """Return the tags in each part from a marked one on; nothing if a mark is not there, or twice."""
        size = os.lseek(self._file, 0, os.SEEK_END)
        printed = _PRINTED.findall(os.pread(self._file, size, 0))
        places: dict[bytes, list[int]] = {}
        for place, name in enumerate(printed):
            places.setdefault(name, []).append(place)
        ends = [places.get((_MARK % number).encode(), []) for number in range(first, self.count + 1)]
        if any(len(end) != 1 for end in ends):
            return []
        start = places.get((_MARK % (first - 1)).encode(), [-1])[-1]
        bounds = [start, *(end[0] for end in ends)]
        return [frozenset(printed[start + 1 : end]) for start, end in pairwise(bounds)]


class _First(Record, frozen=True):
    """What a shared beginning has."""

    listing: UnitListing
    undefined: Undefined
    real_paths: frozenset[str]
    """The files that it includes."""
    log: accesses.Log | None


class _Listed(Record, frozen=True):
    """What was listed of a unit, which is not certain to be all."""

    unit: Unit
    listing: UnitListing
    log: accesses.Log | None
    part: int
    """The number of its part of what libclang printed."""


def read(shared: Shared, dump: Dump, stream: Messages, is_logged: bool) -> dict[Unit, Logged]:
    """Return the listings of those units that are certain to be the same as when they are parsed alone."""
    printed, before = stream if is_logged else None, dump.count
    try:
        first = _begin(shared.test, printed)
        listed = [] if first is None else list(_list_rests(shared, first, dump, stream, is_logged))
    except (ReadError, OSError):
        return {}  # the units are parsed alone, which gives the reason
    parts = dump.names(before + 1)
    results: dict[Unit, Logged] = {}
    for each in listed if parts else ():
        known = parts[0].union(name.encode() for name, _, _ in each.listing.definitions)
        if parts[each.part - before - 1] <= known:
            if each.log is not None and first is not None and first.log is not None:
                each.log.add(first.log)
            results[each.unit] = each.listing, each.log
    return results


def _begin(unit: Unit, printed: Messages | None) -> _First | None:
    """Return what a beginning has; None if it is not to be shared. Raises ReadError."""
    lib = libclang.library()
    parsed = parse.parse_unit(lib, unit, printed, libclang.PREFERRED_OPTIONS)
    with unit_structs.logging(printed) as log, parsed as handle:
        listing, undefined = unit_structs.read(lib, handle, unit, printed)
        texts = [libclang.contents(lib, handle, file) for file in libclang.included_files(lib, handle)]
        is_broken = unit_structs.has_errors(lib, handle, unit)
    paths = listing.files - {os.path.normpath(unit.main)}
    real_paths = frozenset(map(files.real_path, paths))
    has_attributes = any(each[2] for typedefs in undefined.values() for each in typedefs)
    uses_main = files.real_path(unit.main) in real_paths or any(b"__BASE_FILE__" in each for each in texts)
    if is_broken or has_attributes or uses_main or sum(map(len, texts)) < _SMALLEST:
        return None
    return _First(replace(listing, files=paths), undefined, real_paths, log)


def _list_rests(
    shared: Shared, first: _First, dump: Dump, stream: Messages, is_logged: bool
) -> Iterator[_Listed]:
    """Yield what is listed of the units behind their beginning. Raises ReadError, OSError."""
    lib, beginning = libclang.library(), replace(shared.beginning, flags=(*shared.beginning.flags, *_FLAGS))
    options = libclang.PREFERRED_OPTIONS | libclang.PREAMBLE_OPTIONS
    with parse.parse_unit(lib, beginning, stream, options) as handle:
        parse.reparse(lib, handle, _followed_by(beginning, _EMPTY % dump.next_mark()), stream)
        for unit in shared.units:
            stream.begin_unit()
            with accesses.log_answers() if is_logged else nullcontext() as log:
                rest, mark = shared.rest_of(unit), dump.next_mark()
                parse.reparse(lib, handle, _followed_by(rest.unit, _EMPTY % mark), stream)
                listing = _list_rest(lib, handle, rest, first, stream)
            if listing is not None:
                own = frozenset(each for each in listing.definitions if each[0] != mark)
                yield _Listed(unit, replace(listing, definitions=own), log, dump.count)
        parse.reparse(lib, handle, _followed_by(beginning, _FLUSHED), stream)


def _followed_by(unit: Unit, text: str) -> Unit:
    return replace(unit, text=f"{unit.text}{text}")


def _list_rest(lib: Any, handle: int, rest: Rest, first: _First, stream: Messages) -> UnitListing | None:
    """Return the listing of a unit whose beginning is precompiled; None if it may differ."""
    unit, entered = rest.unit, stream.entered_files()
    included = [lib.clang_getFile(handle, os.fsencode(name)) for name in entered or ()]
    if entered is None or not all(included):
        return None
    libclang.set_included_files(handle, included)  # finding them takes longer: it looks at all the includes
    paths = first.real_paths.union(files.real_path(os.path.join(unit.directory, name)) for name in entered)
    has_main = not paths.isdisjoint({files.real_path(rest.path), files.real_path(unit.main)})
    if has_main or unit_structs.has_errors(lib, handle, unit):
        return None  # what is read in place of a main file would not be its text
    main = Main(lib.clang_getFile(handle, os.fsencode(unit.main)), rest.path, rest.lines)
    listing, _ = unit_structs.read(lib, handle, unit, stream, main, first.listing, first.undefined)
    return listing
