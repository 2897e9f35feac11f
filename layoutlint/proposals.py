"""What C sources that are judged say of where their objects come from, where the rule file does not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from layoutlint import allocators, placement, slabs
from layoutlint.allocations import listing, sources
from layoutlint.allocations.listing import Proposal, described, keys
from layoutlint.allocators import LINE, Storage
from layoutlint.layout import Layout
from layoutlint.model import Reading, Struct, Wanted, no_progress
from layoutlint.rule import Pack


def noted(reading: Reading, packs: tuple[Pack, ...], line_size: int | None, min_align: int | None) -> Reading:
    """A reading of a C source, with a note for each struct whose allocation there changes its placements."""
    if not reading.path.endswith((".c", ".h")) or not os.path.isfile(reading.path):
        return reading
    structs = {s.name: s for s in reading.structs if s.bit_size is not None and _is_open(s, packs)}
    wanted = Wanted(frozenset((*structs, *(alias for s in structs.values() for alias in s.aliases))))
    if not structs:
        return reading
    found, _ = sources.read((reading.path,), wanted, 1, no_progress)
    named = {alias: s.name for s in structs.values() for alias in s.aliases}
    renamed = (replace(call, struct=named.get(call.struct, call.struct)) for call in found)
    told = listing.of(renamed, has_typedefs=True).structs
    notes = [
        note for each in told for note in _notes(structs[each.struct], each.proposals, line_size, min_align)
    ]
    return replace(reading, notes=(*reading.notes, *notes))


def _is_open(struct: Struct, packs: tuple[Pack, ...]) -> bool:
    """Whether rules are about a struct, and nothing is said of where it is."""
    ruled = any(struct.answers_to(rule.struct) for pack in packs for rule in pack.rules)
    return ruled and all(pack.storage(struct) is None for pack in packs)


def _notes(
    struct: Struct, proposals: tuple[Proposal, ...], line_size: int | None, min_align: int | None
) -> Iterator[str]:
    layout = Layout(struct)
    assumed = len(placement.of(layout, line_size, min_align).bases)
    for proposal in proposals:
        storage = _fitting(proposal.storage, layout.size, struct.target.line_size)
        call, *more = proposal.places
        wanted = placement.wanting(layout, min_align)
        if allocators.contradiction(storage, struct.name, wanted, struct.align) is not None:
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
    part = slabs.line_part(size, line_size)
    if storage.word != LINE or part == line_size:
        return storage
    return replace(storage, word="slab", align=part)
