"""The texts of a unit without what its conditions leave out."""

from __future__ import annotations

import os

from layoutlint.readers.clang import include_order, libclang, parse, shared_headers
from layoutlint.readers.clang.parse import Unit

_OPTIONS = libclang.PREFERRED_OPTIONS | shared_headers.RECORD_OPTION


def active_texts(unit: Unit, paths: frozenset[str]) -> dict[str, str]:
    """Return those of some absolute paths that a unit reads, with spaces for what `#if` leaves out of them.

    Raises ReadError.
    """
    lib = libclang.library()
    parse.refuse_endless(unit)
    with parse.parse_unit(lib, unit, None, _OPTIONS) as handle:
        main = lib.clang_getFile(handle, os.fsencode(unit.main))
        ranges: dict[int, list[tuple[int, int]]] = {}
        for file, start, end in libclang.skipped_ranges(lib, handle):
            ranges.setdefault(file, []).append((start, end))
        found: dict[str, str] = {}
        for file in (main, *libclang.included_files(lib, handle)):
            path = os.path.abspath(os.path.join(unit.directory, libclang.file_name(lib, file)))
            if path in paths:
                text = libclang.contents(lib, handle, file)
                guard = include_order.guard_of(text)  # it leaves out what was read before
                own = [(start, end) for start, end in ranges.get(file, ()) if start != guard]
                found[path] = include_order.left_out(text, own).decode("latin-1")
        return found
