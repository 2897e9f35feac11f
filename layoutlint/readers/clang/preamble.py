"""The text before the first declaration of a unit's own text: the same whenever that text is parsed again.

For a unit with a precompiled preamble, libclang lists all declarations once, and later only those behind it.
"""

from __future__ import annotations

from typing import Any

from layoutlint.errors import ReadError
from layoutlint.model.record import Record
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.definitions import Collected, StructReader
from layoutlint.readers.clang.libclang import Cursor, Spot
from layoutlint.readers.clang.listing import Listing, identity_of

Place = tuple[str, str | None, int]
"""The name of a declaration, its file, and its offset there."""


class Preamble(Record, frozen=True):
    """The requested structs before the first declaration."""

    collected: Collected
    names: frozenset[str]
    """The names of all structs and typedefs."""
    requested: frozenset[str]
    """Those of them that were requested."""
    first: tuple[Place | None, Place | None]
    """The first struct and the first typedef that libclang listed."""
    is_annotated: bool
    """Whether a file mentions annotations."""

    def serves(self, wanted: Wanted) -> bool:
        """Return whether it has the structs of a request that is otherwise the same."""
        return wanted.everything or self.names & wanted.names == self.requested

    def structs_before(self, listing: Listing) -> Collected | None:
        """Return the structs before the declarations of a listing; None if it has all declarations.

        Raises ReadError if they depend on the listing.
        """
        if _first(listing) == self.first:
            return None
        own = {identity_of(listing.lib, record) for record in listing.records}
        if not own.issuperset(listing.requested_typedefs()):
            raise ReadError("", "a typedef names a struct of a header")
        return self.collected


def read(definitions: StructReader, wanted: Wanted, size: int, is_annotated: bool) -> Preamble | None:
    """Return the preamble of a unit, which has `size` bytes; None if later text decides about its structs.

    `definitions` has all declarations of the unit, and then only those of the preamble.
    """
    listing, lib = definitions.listing, definitions.listing.lib
    first = _first(listing)

    def is_earlier(cursor: Cursor) -> bool:
        spot = Spot(lib, lib.clang_getCursorLocation(cursor))
        return definitions.problems.position(spot.file, spot.offset) < (1, size)

    listing.records = list(filter(is_earlier, listing.records))
    listing.typedefs = list(filter(is_earlier, listing.typedefs))
    named = listing.requested_typedefs()
    if not _defined_records(lib, listing.records).issuperset(named):
        return None
    names = frozenset(libclang.spelling(lib, each) for each in (*listing.records, *listing.typedefs))
    return Preamble(definitions.collect(), names, names & wanted.names, first, is_annotated)


def _defined_records(lib: Any, records: list[Cursor]) -> set[int | None]:
    return {identity_of(lib, record) for record in records if lib.clang_isCursorDefinition(record)}


def _first(listing: Listing) -> tuple[Place | None, Place | None]:
    places = [
        _place(listing.lib, cursors[0]) if cursors else None
        for cursors in (listing.records, listing.typedefs)
    ]
    return places[0], places[1]


def _place(lib: Any, cursor: Cursor) -> Place:
    spot = Spot(lib, lib.clang_getCursorLocation(cursor))
    name = None if spot.file is None else libclang.file_name(lib, spot.file)
    return libclang.spelling(lib, cursor), name, spot.offset
