"""Options of listings of structs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from layoutlint.model.record import Record
from layoutlint.model.storage import Storage

if TYPE_CHECKING:  # the command line needs the names of the formats, and no struct, for `--help`
    from layoutlint.geometry.slab_caches import SlabCaches
    from layoutlint.judgement.context import Access
    from layoutlint.model.structs import Struct


class ShowOptions(Record, frozen=True):
    """Options of `layoutlint show` and `containers`; sizes in bytes, None for the target's."""

    expand: bool = False
    """Show the members of embedded structs as well."""
    line_size: int | None = None
    min_align: int | None = None
    color: bool = False
    width: int = 100
    is_kernel: bool = False
    """Whether objects can come from Linux's kmalloc."""
    storages: Mapping[str, tuple[Storage, ...]] = {}
    """Where rule files and calls say that objects come from, by the names of structs."""
    stated: Mapping[str, Storage] = {}
    """Where rule files say that objects come from, by the names of structs: this decides where they start."""
    slabs: SlabCaches | None = None
    """The slab caches of a kernel that have the containers; None if they are not known."""
    bases: tuple[int, ...] | None = None
    """The bases of objects to draw, in bytes; () for all bases of a struct, None for no drawing."""
    accesses: Mapping[str, tuple[Access, ...]] = {}
    """The declared accesses of fields, by the names of structs."""


ShowFormat: TypeAlias = "Callable[[tuple[Struct, ...], ShowOptions], Iterator[str]]"
"""A listing in pieces of text, so that a whole kernel need not be in memory."""
