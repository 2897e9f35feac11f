"""What C sources that are judged say of where their objects come from, where the rule file does not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from layoutlint.errors import ReadError
from layoutlint.geometry import placement, slab
from layoutlint.geometry.allocators import contradiction
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.lookup import About
from layoutlint.judgement.rule import Pack
from layoutlint.model.reading import Reading, no_progress
from layoutlint.model.storage import LINE, Storage
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.allocations import proposals, sources
from layoutlint.readers.allocations.allocation import Allocation
from layoutlint.readers.allocations.proposals import Proposal, described, keys


def noted(
    readings: list[Reading],
    packs: Mapping[int, tuple[Pack, ...]],
    folders: tuple[str, ...],
    line_size: int | None,
    min_align: int | None,
) -> list[Reading]:
    """Readings, with a note for each struct of which an allocation in the sources changes the placements.

    The sources are those that were read, and all in some folders; `packs` are those of each reading, by its
    identity.
    """
    unsaid = {id(reading): _unsaid(reading, packs[id(reading)]) for reading in readings}
    names = frozenset(name for structs in unsaid.values() for name in structs)
    if not names:
        return readings
    everywhere = _found(folders, names)
    return [_noted(r, unsaid[id(r)], everywhere, line_size, min_align) for r in readings]


def _noted(
    reading: Reading,
    structs: dict[str, Struct],
    everywhere: list[Allocation],
    line_size: int | None,
    min_align: int | None,
) -> Reading:
    own = _found(_sources(reading), frozenset(structs)) if structs else []
    found = own + [call for call in everywhere if call.struct in structs and call not in own]
    renamed = (replace(call, struct=structs[call.struct].name) for call in found)
    notes = [
        note
        for each in proposals.of(renamed, has_typedefs=True).structs
        for note in _notes(structs[each.struct], each.proposals, line_size, min_align)
    ]
    return replace(reading, notes=(*reading.notes, *notes)) if notes else reading


def _found(paths: tuple[str, ...], names: frozenset[str]) -> list[Allocation]:
    return sources.read(paths, Wanted(names), 0, no_progress)[0] if paths else []


def _sources(reading: Reading) -> tuple[str, ...]:
    """The C sources that an input is or names."""
    path = reading.path
    if reading.reader != "clang":
        return ()
    if path.endswith((".c", ".h")):
        return (path,) if os.path.isfile(path) else ()
    from layoutlint.readers.clang import compdb

    database = os.path.join(path, compdb.NAME) if os.path.isdir(path) else path
    try:
        commands = compdb.load(database)
    except ReadError:  # a folder without one, which for a kernel is too much to look through unasked
        return (path,) if os.path.isdir(path) and not reading.is_kernel else ()
    units = (os.path.join(command.directory, command.file) for command in commands)
    return tuple(unit for unit in dict.fromkeys(units) if os.path.isfile(unit))


def _unsaid(reading: Reading, packs: tuple[Pack, ...]) -> dict[str, Struct]:
    """The structs with rules of whose placement nothing is said, by tag and by typedef."""
    rules = About((rule.struct, rule) for pack in packs for rule in pack.rules)
    structs = [s for s in reading.structs if s.bit_size is not None and rules.of(s) and _is_open(s, packs)]
    return {name: struct for struct in structs for name in (*struct.aliases, struct.name)}


def _is_open(struct: Struct, packs: tuple[Pack, ...]) -> bool:
    """Whether nothing is said of where a struct is."""
    return all(intent.placement is None for pack in packs for intent in pack.about(struct))


def _notes(
    struct: Struct, proposals: tuple[Proposal, ...], line_size: int | None, min_align: int | None
) -> Iterator[str]:
    layout = Layout(struct)
    assumed = len(placement.of(layout, line_size, min_align).bases)
    for proposal in proposals:
        storage = _fitting(proposal.storage, layout.size, struct.target.line_size)
        call, *more = proposal.places
        wanted = placement.wanting(layout, min_align)
        if contradiction(storage, struct.name, wanted, struct.align) is not None:
            continue
        bases = len(placement.of(layout, line_size, min_align, storage).bases)
        if bases == assumed:
            continue
        also = f" and {len(more)} more" if more else ""
        verb = "narrow" if bases < assumed else "widen"
        yield (
            f"{call.source} allocates {struct.aggregate} {struct.name} ({described(call)}){also}: "
            f"`{', '.join(keys(storage))}` would {verb} {assumed} bases to {bases}"
        )


def _fitting(storage: Storage, size: int, line_size: int) -> Storage:
    """What SLAB_HWCACHE_ALIGN does with objects of half a line and less: parts of a line."""
    part = slab.line_part(size, line_size)
    if storage.word != LINE or part == line_size:
        return storage
    return replace(storage, word="slab", align=part)
