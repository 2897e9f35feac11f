"""Where the objects of structs come from: rule files, and calls in C sources, state it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.judgement.rule import Pack
from layoutlint.lint.struct_listing import StructListing
from layoutlint.model.reading import Reading
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Struct
from layoutlint.readers.allocations.proposals import read_storages

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


def list_allocators(
    path: str, listing: StructListing, packs: tuple[Pack, ...]
) -> dict[str, tuple[Storage, ...]]:
    """Return the placements of structs by name. Those in rule files decide.

    Calls are searched in the input if it is a C source. Raises RuleFileError for contradictory statements.
    """
    storages = stated_storages(listing.structs, packs, listing.inputs)
    left = frozenset(struct.name for struct in listing.structs) - storages.keys()
    is_text = any(reading.reader == "clang" for reading in listing.inputs) and path.endswith(_C_TEXT)
    if not left or not is_text or not files.is_file(path):
        return storages
    declared = tuple(allocator for pack in packs for allocator in pack.allocators)
    try:
        return {**read_storages((path,), left, declared), **storages}
    except ReadError:  # the file is gone since it was read
        return storages
