"""The structs of units, as the cache keeps them: several units in one entry, because they share most headers.

Which units are together depends on themselves, so a new unit moves only those near it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from layoutlint import files
from layoutlint.files import accesses
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import Record
from layoutlint.model.wanted import Wanted
from layoutlint.readers.cache import keys, memory
from layoutlint.readers.cache.answers import Answers
from layoutlint.readers.clang import parallel
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.unit_layouts import Definition

_KIND = "structs of units"
_USUAL = 16
"""The units of a group, on average; at most twice as many."""
_DAMAGE = (ValueError, TypeError, KeyError, IndexError, zlib.error)
"""What content of another form raises; checksums make it improbable."""
Group = tuple[Unit, ...]


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


def groups(units: Sequence[Unit], jobs: int) -> list[Group]:
    """Return the units in groups, in order: at least as many as jobs, if there are as many units."""
    each = min(_USUAL, -(-len(units) // max(1, jobs)))
    period = 1 << (each.bit_length() - 1) if each else 1
    found: list[Group] = []
    group: list[Unit] = []
    for unit in units:
        group.append(unit)
        sign = zlib.crc32(f"{unit.origin}\n{unit.main}\n{unit.text}".encode(errors="surrogateescape"))
        if sign % period == 0 or len(group) == 2 * period:
            found.append(tuple(group))
            group = []
    return [*found, tuple(group)] if group else found


def recall(every: Sequence[Group], options: ReadOptions) -> dict[Group, dict[Unit, UnitListing | None]]:
    """Return the groups that an earlier run kept and that still hold; None for a unit that has no listing."""
    places = {group: place for group in every if (place := _key(group, options)) is not None}
    contents = memory.recall_several(places.values())
    found = {}
    for group, place in places.items():
        if place in contents:
            with suppress(*_DAMAGE):
                found[group] = dict(_decode(group, contents[place]))
    return found


def keep(
    found: Mapping[Group, tuple[Mapping[Unit, UnitListing | None], Answers]], options: ReadOptions
) -> None:
    """Keep the listings of the units of groups, with what they depend on."""
    kept: dict[str, tuple[Answers, bytes]] = {}
    for group, (listings, settled) in found.items():
        place = _key(group, options)
        if place is not None:
            kept[place] = settled, _encode(group, listings)
    memory.keep_several(kept)


def _key(group: Group, options: ReadOptions) -> str | None:
    """Return the key of a group in the cache; None if it is not kept."""
    if not options.cache or accesses.active_log() is None:
        return None
    try:
        return keys.key_of(_KIND, *parallel.with_replaced(group, options))
    except (keys.Unknown, OSError):
        return None


def _encode(group: Group, listings: Mapping[Unit, UnitListing | None]) -> bytes:
    numbers = {unit: number for number, unit in enumerate(group)}
    plain = [(numbers[unit], None if each is None else _plain(each)) for unit, each in listings.items()]
    return zlib.compress(json.dumps(plain).encode(), 1)


def _plain(listing: UnitListing) -> tuple[object, ...]:
    return sorted(listing.definitions), sorted(listing.annotated), sorted(listing.files), listing.error


def _decode(group: Group, content: bytes) -> Iterator[tuple[Unit, UnitListing | None]]:
    """Yield the listings that were encoded. Raises one of `_DAMAGE`."""
    for number, plain in json.loads(zlib.decompress(content)):
        if plain is None:
            yield group[number], None
            continue
        defined, annotated, paths, error = plain
        listing = UnitListing(frozenset(map(tuple, defined)), frozenset(annotated), frozenset(paths), error)
        yield group[number], listing
