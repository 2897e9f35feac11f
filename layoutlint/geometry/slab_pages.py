"""Pages and objects of a slab, computed from the size of an object as SLUB does."""

from __future__ import annotations

from layoutlint.geometry.allocators import AllocationRequest, blocks
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import LINE, PAGE, Storage
from layoutlint.model.structs import Source

MOST_CPUS = 1 << 13
"""Maximum NR_CPUS of x86-64 (arch/x86/Kconfig, Linux v6.12); other architectures have fewer."""
LARGEST_ORDER = 10
"""Largest order of a block of pages (MAX_PAGE_ORDER in include/linux/mmzone.h, Linux v6.12)."""
_MOST_ORDER = 3
"""PAGE_ALLOC_COSTLY_ORDER (include/linux/mmzone.h): up to this order, SLUB puts more objects into a slab."""


class Slab(Record, frozen=True):
    """One slab of a cache."""

    stride: int
    """Bytes from one object to the next."""
    order: int
    """The number of pages is two to the power of this."""
    objects: int


def compute_slab(stride: int, cpus: int, page: int = PAGE) -> Slab:
    """Return the slab of objects `stride` bytes apart, on a machine with `cpus` CPUs.

    Source: calculate_order() in mm/slub.c, Linux v6.12, without kernel parameters.
    """
    fits = max((page << _MOST_ORDER) // stride, 1)
    least = _get_order(min(4 * (cpus.bit_length() + 1), fits) * stride, page)
    for fraction in (16, 8, 4, 2):
        for order in range(least, _MOST_ORDER + 1):
            pages = page << order
            if pages % stride <= pages // fraction:
                return slab_of_order(stride, order, page)
    return slab_of_order(stride, _get_order(stride, page), page)


def slab_of_order(stride: int, order: int, page: int = PAGE) -> Slab:
    """Return the slab of a known order; with 0 objects if none fits."""
    return Slab(stride, order, (page << order) // stride)


def _get_order(size: int, page: int) -> int:
    """Return the order of the fewest pages that hold a size, as get_order() does."""
    return (-(-size // page) - 1).bit_length()


def object_stride(storage: Storage | None, request: AllocationRequest) -> int | None:
    """Return the bytes from one object to the next in the slabs of a struct with some storage.

    None if its size is unknown. Without a word, the storage is a slab cache without special alignment. The
    caches of a kernel do not count: the size may be one that they do not have.
    """
    if storage is None or storage.word is None:
        storage = replace(storage, word="slab") if storage else Storage("slab", Source(""))
    if storage.word == LINE:
        size = request.size * (storage.array or 1)
        storage = replace(storage, word="slab", align=hwcache_alignment(size, request.target.line_size))
    return blocks(replace(storage, caches=()), request).distance


def hwcache_alignment(size: int, line_size: int) -> int:
    """Return the alignment that SLAB_HWCACHE_ALIGN gives to a size: calculate_alignment() in
    mm/slab_common.c, Linux v6.12.
    """
    align = line_size
    while align > 1 and size <= align // 2:
        align //= 2
    return align
