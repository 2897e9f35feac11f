"""Placements of structs, from the allocations in some sources: proposals for a rule file."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.model.reading import Unread, no_progress
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import ANY, Allocator, Storage
from layoutlint.model.structs import Source
from layoutlint.model.wanted import Wanted
from layoutlint.sources.allocations import sources
from layoutlint.sources.allocations.allocation import Allocation

_NOWHERE = Source("")


class Proposal(Record, frozen=True):
    """One placement for a struct in a rule file, and the calls that imply it."""

    storage: Storage
    """Without its source: there are several."""
    places: tuple[Allocation, ...]


class StructProposals(Record, frozen=True):
    """The proposals for a struct; several contradict one another."""

    struct: str
    proposals: tuple[Proposal, ...]
    unresolved: tuple[Allocation, ...]
    """Calls that make objects of it with an underivable placement."""


class Listing(Record, frozen=True):
    """All allocations found, by struct."""

    structs: tuple[StructProposals, ...]
    unresolved: tuple[Allocation, ...]
    """Calls whose struct cannot be derived."""
    typedefs: int
    """The number of calls that name a type by one word, which need not be a struct; they are left out."""
    unread: tuple[Unread, ...] = ()


def list_proposals(
    allocations: Iterable[Allocation], unread: Iterable[Unread] = (), *, has_typedefs: bool = False
) -> Listing:
    """Return the proposals for each struct, by name; for typedefs only if `has_typedefs`."""
    by_struct: dict[str, list[Allocation]] = {}
    nameless: list[Allocation] = []
    typedefs = 0
    for allocation in allocations:
        if not allocation.struct:
            nameless.append(allocation)
        elif allocation.is_typedef and not has_typedefs:
            typedefs += 1
        else:
            by_struct.setdefault(allocation.struct, []).append(allocation)
    structs = tuple(_proposals_for(struct, by_struct[struct]) for struct in sorted(by_struct))
    return Listing(structs, tuple(nameless), typedefs, tuple(unread))


def _proposals_for(struct: str, calls: list[Allocation]) -> StructProposals:
    same: dict[Storage, list[Allocation]] = {}
    for call in calls:
        if call.storage is not None:
            same.setdefault(replace(call.storage, source=_NOWHERE), []).append(call)
    proposals = (Proposal(storage, tuple(places)) for storage, places in same.items())
    untold = tuple(call for call in calls if call.storage is None)
    return StructProposals(struct, tuple(proposals), untold)


def keys(storage: Storage) -> list[str]:
    """Return the keys of a rule file for a storage, as TOML: `placement = "slab:64"`."""
    lines = [f'placement = "{storage.spelling}"']
    if storage.has_constructor:
        lines.append("constructor = true")
    if storage.array is not None:
        lines.append(f"array = {'true' if storage.array == ANY else storage.array}")
    return lines


def describe_call(call: Allocation) -> str:
    """Return a call with the parts of it that decided: `KMEM_CACHE, SLAB_HWCACHE_ALIGN`."""
    return ", ".join((call.call, *call.details))


def read_storages(
    paths: tuple[str, ...], names: frozenset[str], declared: tuple[Allocator, ...] = ()
) -> dict[str, tuple[Storage, ...]]:
    """Return where calls in C files, and in those below folders, place structs.

    Different calls can place a struct differently. `declared` are functions of the project that allocate.
    Raises ReadError for a missing path.
    """
    if not paths or not names:
        return {}
    calls = sources.read(paths, Wanted(names), 0, no_progress, declared)[0]
    return {
        each.struct: tuple(proposal.storage for proposal in each.proposals)
        for each in list_proposals(calls, has_typedefs=True).structs
    }
