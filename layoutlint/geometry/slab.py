"""How many pages a slab has, and how many objects: what SLUB makes of the size of an object."""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutlint.geometry.allocators import Wanting, blocks
from layoutlint.model.storage import LINE, PAGE, Storage
from layoutlint.model.structs import Source

MOST_CPUS = 1 << 13
"""NR_CPUS of x86-64 at most (arch/x86/Kconfig, Linux v6.12); other architectures have fewer."""
LARGEST_ORDER = 10
"""Of a block of pages (MAX_PAGE_ORDER in include/linux/mmzone.h, Linux v6.12)."""
_MOST_ORDER = 3
"""PAGE_ALLOC_COSTLY_ORDER (include/linux/mmzone.h), up to which SLUB tries to have more objects in a slab."""


@dataclass(frozen=True, slots=True)
class Slab:
    """One slab of a cache."""

    stride: int
    """Bytes from one object to the next."""
    order: int
    """It has two to the power of this many pages."""
    objects: int


def slab(stride: int, cpus: int, page: int = PAGE) -> Slab:
    """The slabs of objects that stand so many bytes apart, on a machine with so many CPUs.

    calculate_order() in mm/slub.c, Linux v6.12, where the command line of the kernel says nothing else.
    """
    fits = max((page << _MOST_ORDER) // stride, 1)
    least = _order(min(4 * (cpus.bit_length() + 1), fits) * stride, page)
    for fraction in (16, 8, 4, 2):
        for order in range(least, _MOST_ORDER + 1):
            pages = page << order
            if pages % stride <= pages // fraction:
                return of_order(stride, order, page)
    return of_order(stride, _order(stride, page), page)


def of_order(stride: int, order: int, page: int = PAGE) -> Slab:
    """The slabs of a cache whose order is known; without objects where none fits."""
    return Slab(stride, order, (page << order) // stride)


def _order(size: int, page: int) -> int:
    """get_order(): the fewest pages that hold a size, as a power of two."""
    return (-(-size // page) - 1).bit_length()


def stride(storage: Storage | None, wanted: Wanting) -> int | None:
    """Bytes from one object to the next in the slabs that hold a struct, by what is said of its storage.

    None where its size is not known. Without a word it is in a cache of its own, which asks for nothing.
    """
    if storage is None or storage.word is None:
        storage = replace(storage, word="slab") if storage else Storage("slab", Source(""))
    if storage.word == LINE:
        size = wanted.size * (storage.array or 1)
        storage = replace(storage, word="slab", align=line_part(size, wanted.target.line_size))
    return blocks(storage, wanted).distance


def line_part(size: int, line_size: int) -> int:
    """What SLAB_HWCACHE_ALIGN aligns a size to: calculate_alignment() in mm/slab_common.c, Linux v6.12."""
    align = line_size
    while align > 1 and size <= align // 2:
        align //= 2
    return align
