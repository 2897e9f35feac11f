"""Calls of functions that look like allocators and are none that is known: a rule file can declare them."""

from __future__ import annotations

import re
from collections.abc import Callable

from layoutlint import files
from layoutlint.model.record import Record
from layoutlint.model.structs import Source
from layoutlint.readers.c_tokens import blank_out
from layoutlint.sources.allocations.sources import source_files

_LARGEST = 1 << 27
_SIZE = re.compile(r"\bsizeof\s{0,9}\(\s{0,9}(?:struct\s{1,9})?(\w{1,100})\s{0,9}\)")
_CALL = re.compile(r"\b(\w{0,60}[Aa]lloc\w{0,60})\s{0,9}\([^();{}]{0,80}\Z")
_LONGEST = 220
"""The most characters of a call before the size."""


class UndeclaredCall(Record, frozen=True):
    """A call with the size of a struct."""

    function: str
    struct: str
    source: Source
    """The place of the call."""

    def __str__(self) -> str:
        return (
            f"{self.source} calls {self.function} with the size of {self.struct}: if it allocates, declare "
            f"it in layoutlint.toml by `[allocators.{self.function}]` with `placement = \"malloc\"`"
        )


def find(paths: tuple[str, ...], wanted: Callable[[str], bool]) -> UndeclaredCall | None:
    """Return the first call for a wanted struct or typedef in C sources; None if there is none.

    `paths` are files, folders and databases. Raises ReadError for a missing one.
    """
    for path in source_files(paths):
        try:
            text = files.read_all(path, _LARGEST).decode("latin-1")
        except OSError:  # the search for allocations reported it
            continue
        if not any(wanted(size[1]) for size in _SIZE.finditer(text)):
            continue
        code = blank_out(text)
        for size in (each for each in _SIZE.finditer(code) if wanted(each[1])):
            call = _CALL.search(code, max(0, size.start() - _LONGEST), size.start())
            if call is not None:
                line = 1 + text.count("\n", 0, call.start())
                return UndeclaredCall(call[1], size[1], Source(path, line))
    return None
