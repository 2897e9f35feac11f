"""Where the objects of structs come from: rule files, and calls in C sources, state it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutlint import files
from layoutlint.errors import ReadError, RuleFileError
from layoutlint.geometry.allocators import contradiction
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import allocation_request
from layoutlint.judgement.rule import Pack
from layoutlint.lint.struct_listing import StructListing
from layoutlint.model.reading import Reading
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Struct
from layoutlint.sources.allocations.proposals import read_storages

_C_TEXT = (".c", ".h")


def stated_storages(
    structs: Iterable[Struct], packs: Sequence[Pack], readings: Iterable[Reading]
) -> dict[str, tuple[Storage, ...]]:
    """Return the placements of structs by name, as far as all inputs have the same.

    Of alternatives the first that applies to an input counts.

    Raises RuleFileError if two statements contradict each other.
    """
    kinds = {
        (each.is_kernel, each.kernel, each.config, each.target, tuple(each.options)): each
        for each in readings
    }
    active = [[pack.select_for(reading) for pack in packs] for reading in kinds.values()]
    storages: dict[str, tuple[Storage, ...]] = {}
    for struct in structs:
        stated = {_stated_placement(struct, some) for some in active}
        if len(stated) == 1 and (storage := stated.pop()) is not None:
            storages[struct.name] = (storage,)
    return storages


def _stated_placement(struct: Struct, packs: Iterable[Pack]) -> Storage | None:
    storages = (storage for pack in packs if (storage := pack.storage(struct)) is not None)
    return next(storages, None)


def fitting_storages(listing: StructListing, packs: Sequence[Pack]) -> dict[str, Storage]:
    """Return the placements of structs by name, as rule files state them.

    Raises RuleFileError for contradictory statements, and if a struct cannot have its placement.
    """
    stated = stated_storages(listing.structs, packs, listing.inputs)
    for struct in listing.structs:
        if struct.name in stated and struct.bit_size is not None and struct.problem is None:
            ((storage,), layout) = stated[struct.name], Layout(struct)
            least = None if struct.align is None else layout.alignments[0]
            name = f"{struct.aggregate} {struct.name}"
            mistake = contradiction(storage, name, allocation_request(layout), least)
            if mistake is not None:
                raise RuleFileError((f"{storage.source}: {mistake}",))
    return {name: storage for name, (storage,) in stated.items()}


def add_calls(
    storages: dict[str, tuple[Storage, ...]], path: str, listing: StructListing, packs: tuple[Pack, ...]
) -> dict[str, tuple[Storage, ...]]:
    """Return the stated placements of structs by name, and those of other structs by calls.

    Calls are searched in the input if it is a C source.
    """
    left = frozenset(struct.name for struct in listing.structs) - storages.keys()
    is_text = any(reading.reader == "clang" for reading in listing.inputs) and path.endswith(_C_TEXT)
    if not left or not is_text or not files.is_file(path):
        return storages
    declared = tuple(allocator for pack in packs for allocator in pack.allocators)
    try:
        return {**read_storages((path,), left, declared), **storages}
    except ReadError:  # the file is gone since it was read
        return storages
