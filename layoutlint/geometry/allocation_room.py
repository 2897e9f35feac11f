"""How much of its allocator an object takes, and by how much it can grow before that changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from layoutlint.geometry import slab_pages
from layoutlint.geometry.allocators import LARGEST_CLASS, AllocationRequest, kmalloc_class
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import allocation_request
from layoutlint.geometry.slab_pages import LARGEST_ORDER, MOST_CPUS, Slab
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import ANY, Storage

_MOST_GROWTH = 1 << 16
"""The most bytes by which a struct grows in the search for the next change: two of the largest slabs."""


class SlabRow(Record, frozen=True):
    """The slab of a cache on machines with some numbers of CPUs."""

    fewest_cpus: int
    most_cpus: int
    slab: Slab
    room: int | None
    """The bytes by which the struct can grow without another order or fewer objects; None if not known."""


class AllocationRoom(Record, frozen=True):
    """The bytes that an allocator takes for an object."""

    word: str
    """`kmalloc` or `slab`."""
    block: int | None = None
    """The class of kmalloc."""
    slack: int | None = None
    """The bytes of the block that are left."""
    slabs: tuple[SlabRow, ...] = ()
    """By the number of CPUs, up to the most that Linux has; equal slabs once."""


def allocation_room(layout: Layout, storage: Storage, min_align: int | None = None) -> AllocationRoom | None:
    """Return what an object takes of kmalloc or a slab cache.

    None for another allocator, a struct without bytes or too large for a slab, and arrays of any length.
    Kernel parameters and debugging options are not considered.
    """
    if layout.open_end is not None or not layout.size or storage.array == ANY:
        return None
    request = allocation_request(layout, min_align)
    if storage.word == "kmalloc":
        size = request.size * (storage.array or 1)
        if size > LARGEST_CLASS:
            return None
        block = kmalloc_class(size, request.smallest_class)
        return AllocationRoom("kmalloc", block, block - size)
    if storage.word == "slab":
        rows = tuple(_slab_rows(storage, request))
        return AllocationRoom("slab", slabs=rows) if rows else None
    return None


def _slab_rows(storage: Storage, request: AllocationRequest) -> Iterator[SlabRow]:
    """Yield the slabs of an object for every number of CPUs, equal ones once."""
    stride = slab_pages.object_stride(storage, request)
    if stride is None:
        return
    groups: list[list[int]] = []
    slabs: list[Slab] = []
    # Only the number of binary digits of the number of CPUs matters.
    for digits in range(1, MOST_CPUS.bit_length() + 1):
        fewest, most = 1 << (digits - 1), min((1 << digits) - 1, MOST_CPUS)
        slab = slab_pages.compute_slab(stride, fewest)
        if slabs and slabs[-1] == slab:
            groups[-1][1] = most
        else:
            slabs.append(slab)
            groups.append([fewest, most])
    for slab, (fewest, most) in zip(slabs, groups, strict=True):
        if slab.objects and slab.order <= LARGEST_ORDER:
            yield SlabRow(fewest, most, slab, _room(storage, request, slab, fewest))


def _room(storage: Storage, request: AllocationRequest, slab: Slab, cpus: int) -> int | None:
    """Return the bytes by which a struct can grow before a slab holds fewer objects, or has more pages."""
    if storage.stride is not None:
        return None
    is_kept = _keeps(slab, cpus)
    step = max(request.align, 1)
    for growth in range(step, _MOST_GROWTH + 1, step):
        stride = slab_pages.object_stride(storage, replace(request, size=request.size + growth))
        if stride is None or not is_kept(stride):
            return growth - step
    return None


def _keeps(slab: Slab, cpus: int) -> Callable[[int], bool]:
    """Return whether objects of another stride have the same slabs, as a function; it remembers results."""
    known: dict[int, bool] = {slab.stride: True}

    def is_kept(stride: int) -> bool:
        if stride not in known:
            other = slab_pages.compute_slab(stride, cpus)
            known[stride] = other.objects >= slab.objects and other.order <= slab.order
        return known[stride]

    return is_kept
