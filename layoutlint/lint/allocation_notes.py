"""Notes on allocations in C sources that would change the placements of a struct."""

from __future__ import annotations

import os
from collections.abc import Iterator

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.geometry import placement, slab_pages
from layoutlint.geometry.allocators import contradiction
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.lookup import StructMap
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.model.reading import Reading, no_progress
from layoutlint.model.record import replace
from layoutlint.model.storage import LINE, Allocator, Storage
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.sources.allocations import proposals, sources
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.proposals import Proposal, describe_call, keys


def allocation_notes(
    inputs: list[JudgedInput], options: Options, failing: frozenset[str]
) -> list[tuple[str, ...]]:
    """Return notes for each input: the allocations that change the placements of a struct.

    Allocations are searched in inputs that are C sources, and below the source directories of the options.
    Structs that only guesses judge have notes if they are among the `failing`.
    """
    unplaced = [unplaced_structs(judged, failing) for judged in inputs]
    names = frozenset(name for structs in unplaced for name in structs)
    if not names:
        return [()] * len(inputs)
    declared = [tuple(a for pack in judged.packs for a in pack.allocators) for judged in inputs]
    everywhere = tuple(dict.fromkeys(allocator for own in declared for allocator in own))
    shared = _read_allocations(options.read.sources, names, everywhere)
    return [
        tuple(_notes_on_input(judged.reading, structs, shared, everywhere, options))
        for judged, structs in zip(inputs, unplaced, strict=True)
    ]


def _notes_on_input(
    reading: Reading,
    structs: dict[str, Struct],
    shared: list[Allocation],
    declared: tuple[Allocator, ...],
    options: Options,
) -> Iterator[str]:
    """Yield the notes on one input; `shared` are the allocations in source directories."""
    own = _read_allocations(sources_of(reading), frozenset(structs), declared) if structs else []
    calls = [call for call in (*own, *(c for c in shared if c not in own)) if call.struct in structs]
    by_tag = (replace(call, struct=structs[call.struct].name) for call in calls)
    for each in proposals.list_proposals(by_tag, has_typedefs=True).structs:
        yield from _notes_on_struct(structs[each.struct], each.proposals, options.of_input(reading.path))


def _read_allocations(
    paths: tuple[str, ...], names: frozenset[str], declared: tuple[Allocator, ...]
) -> list[Allocation]:
    return sources.read(paths, Wanted(names), 0, no_progress, declared)[0] if paths else []


def sources_of(reading: Reading) -> tuple[str, ...]:
    """Return the C sources that an input is or names, or its compilation database."""
    path = reading.path
    if reading.reader != "clang":
        return ()
    if path.endswith((".c", ".h")):
        return (path,) if files.is_file(path) else ()
    from layoutlint.readers.clang import compdb

    database = os.path.join(path, compdb.NAME) if files.is_folder(path) else path
    try:
        commands = compdb.load(database)
    except ReadError:  # a folder without one; a whole kernel is too large to search
        return (path,) if files.is_folder(path) and not reading.is_kernel else ()
    if os.path.basename(database) == compdb.NAME:
        return (database,)
    units = (os.path.join(command.directory, command.file) for command in commands)
    return tuple(unit for unit in dict.fromkeys(units) if files.is_file(unit))


def unplaced_structs(judged: JudgedInput, failing: frozenset[str]) -> dict[str, Struct]:
    """Return the structs that rules judge and for which no placement is declared, by tag and typedef."""
    rules = StructMap((rule.struct, rule) for rule in judged.rules if not rule.guess)
    structs = [
        struct
        for struct in judged.reading.structs
        if struct.bit_size is not None
        and (struct.name in failing or rules.find(struct))
        and not _has_placement(struct, judged)
    ]
    return {name: struct for struct in structs for name in (*struct.aliases, struct.name)}


def _has_placement(struct: Struct, judged: JudgedInput) -> bool:
    intents = (intent for pack in judged.packs for intent in pack.intents_for(struct))
    return any(intent.placement is not None for intent in intents)


def _notes_on_struct(struct: Struct, proposals: tuple[Proposal, ...], options: Options) -> Iterator[str]:
    line_size, min_align = options.line_size, options.min_align
    layout = Layout(struct)
    assumed = len(placement.placements(layout, line_size, min_align).bases)
    for proposal in proposals:
        storage = _placement_of(proposal.storage, layout.size, struct.target.line_size)
        call, *more = proposal.places
        wanted = placement.allocation_request(layout, min_align)
        if contradiction(storage, struct.name, wanted, struct.align) is not None:
            continue
        bases = len(placement.placements(layout, line_size, min_align, storage).bases)
        if bases == assumed:
            continue
        also = f" and {len(more)} more" if more else ""
        verb = "narrow" if bases < assumed else "widen"
        yield (
            f"{call.source} allocates {struct.aggregate} {struct.name} ({describe_call(call)}){also}: "
            f"`{', '.join(keys(storage))}` would {verb} {assumed} placements to {bases}"
        )


def _placement_of(storage: Storage, size: int, line_size: int) -> Storage:
    """Return the placement with the alignment that SLAB_HWCACHE_ALIGN gives objects of up to half a line."""
    part = slab_pages.hwcache_alignment(size, line_size)
    if storage.word != LINE or part == line_size:
        return storage
    return replace(storage, word="slab", align=part)
