"""Where the objects of listed structs come from: rule files, and calls in a C source, state it."""

from __future__ import annotations

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.judgement.rule import Pack
from layoutlint.judgement.stated_storages import stated_storages
from layoutlint.lint.struct_listing import StructListing
from layoutlint.model.storage import Storage
from layoutlint.readers.allocations.storages import read_storages

_C_TEXT = (".c", ".h")


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
