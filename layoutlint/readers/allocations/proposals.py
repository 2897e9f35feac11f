"""What the allocations in some sources say of each struct, as a rule file would say it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from layoutlint.model.reading import Unread
from layoutlint.model.storage import ANY, Storage
from layoutlint.model.structs import Source
from layoutlint.readers.allocations.allocation import Allocation

_NOWHERE = Source("")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a rule file could say of a struct, and the calls that say so."""

    storage: Storage
    """Without its source: it has several."""
    places: tuple[Allocation, ...]


@dataclass(frozen=True, slots=True)
class Proposed:
    """A struct with what calls say of it; several proposals contradict one another."""

    struct: str
    proposals: tuple[Proposal, ...]
    untold: tuple[Allocation, ...]
    """Calls that make objects of it in a way that cannot be told."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All that was found, by struct."""

    structs: tuple[Proposed, ...]
    untold: tuple[Allocation, ...]
    """Calls of which not even the struct can be told."""
    typedefs: int
    """Calls that name a type by one word, which need not be a struct; they are left out."""
    unread: tuple[Unread, ...] = ()


def of(found: Iterable[Allocation], unread: Iterable[Unread] = (), *, has_typedefs: bool = False) -> Listing:
    """The proposals for each struct, by name; with typedefs only where they were asked for by name."""
    known: dict[str, list[Allocation]] = {}
    nameless: list[Allocation] = []
    typedefs = 0
    for each in found:
        if not each.struct:
            nameless.append(each)
        elif each.is_typedef and not has_typedefs:
            typedefs += 1
        else:
            known.setdefault(each.struct, []).append(each)
    structs = tuple(_proposed(struct, known[struct]) for struct in sorted(known))
    return Listing(structs, tuple(nameless), typedefs, tuple(unread))


def _proposed(struct: str, calls: list[Allocation]) -> Proposed:
    same: dict[Storage, list[Allocation]] = {}
    for call in calls:
        if call.storage is not None:
            same.setdefault(replace(call.storage, source=_NOWHERE), []).append(call)
    proposals = (Proposal(storage, tuple(places)) for storage, places in same.items())
    untold = tuple(call for call in calls if call.storage is None)
    return Proposed(struct, tuple(proposals), untold)


def keys(storage: Storage) -> list[str]:
    """The keys of a rule file that say so, as TOML: `placement = "slab:64"`."""
    said = [f'placement = "{storage.spelling}"']
    if storage.has_constructor:
        said.append("constructor = true")
    if storage.array is not None:
        said.append(f"array = {'true' if storage.array == ANY else storage.array}")
    return said


def described(call: Allocation) -> str:
    """A call and what about it decided: `KMEM_CACHE, SLAB_HWCACHE_ALIGN`."""
    return ", ".join((call.call, *call.details))
