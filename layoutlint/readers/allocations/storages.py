"""The placements of structs, by the calls in C sources that allocate them."""

from __future__ import annotations

from layoutlint.model.reading import no_progress
from layoutlint.model.storage import Allocator, Storage
from layoutlint.model.wanted import Wanted
from layoutlint.readers.allocations import proposals, sources


def read_storages(
    paths: tuple[str, ...], names: frozenset[str], declared: tuple[Allocator, ...] = ()
) -> dict[str, tuple[Storage, ...]]:
    """Return where calls in C files, and in those below folders, place structs.

    Different calls can place a struct differently. `declared` are functions of the project that allocate.
    Raises ReadError for a missing path.
    """
    if not paths or not names:
        return {}
    found = sources.read(paths, Wanted(names), 0, no_progress, declared)[0]
    return {
        each.struct: tuple(proposal.storage for proposal in each.proposals)
        for each in proposals.list_proposals(found, has_typedefs=True).structs
    }
