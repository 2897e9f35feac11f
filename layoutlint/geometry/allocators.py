"""Start addresses of memory from an allocator, a compiler or a linker (docs/rules.md)."""

from __future__ import annotations

from math import gcd

from layoutlint.model.record import Record
from layoutlint.model.storage import (
    ALIGNED,
    ANY,
    JEMALLOC,
    LINE,
    MALLOC,
    MALLOCS,
    MIMALLOC,
    MUSL_STATIC,
    PAGE,
    TCMALLOC,
    CacheSlab,
    Storage,
)
from layoutlint.model.target import Target
from layoutlint.phrases import first_few

# Blocks of at most 8 bytes: jemalloc 5.3, the first of its size classes (LG_TINY_MIN in
# include/jemalloc/internal/sc.h); gperftools 2.10, kAlignment in src/common.h, and google/tcmalloc likewise;
# mimalloc 2.0, blocks of one word (_mi_bin() in src/page-queue.c); musl 1.2.5 without `free`, `align` in
# src/malloc/lite_malloc.c. Larger ones are aligned to 16 by all, on 64-bit targets.
LARGEST_CLASS = 2 * PAGE
"""The largest kmalloc class in bytes. Larger blocks get pages of their own (KMALLOC_MAX_CACHE_SIZE in
include/linux/slab.h)."""
OBJECT = "object"
"""An object of a cache, or one that starts on a line."""
BLOCK = "block"
"""A block of a size class, for objects of any type."""
COPY = "copy"
"""One CPU's copy of a per-CPU variable. No cache line contains parts of two copies."""
# The kmalloc classes that are no power of two, each with the largest KMALLOC_MIN_SIZE that allows it:
# __kmalloc_index() in include/linux/slab.h, Linux v7.2 (the same since v3.10).
_ODD_CLASSES = ((96, 32), (192, 64))


class AllocationRequest(Record, frozen=True):
    """An allocation request: size and alignment of a struct in bytes, its target, and overrides of the
    target.
    """

    size: int
    align: int
    target: Target
    is_open: bool = False
    """Whether the struct ends with a flexible array: its objects have an unknown, larger size."""
    min_align: int | None = None
    """The minimum alignment of every allocator in bytes; None for the target's."""

    @property
    def smallest_class(self) -> int:
        """The smallest existing kmalloc class, in bytes."""
        return max(8, self.min_align or self.target.kmalloc_align)


class Blocks(Record, frozen=True):
    """Start addresses of memory blocks: multiples of any of `steps` after `first`, in bytes."""

    steps: frozenset[int]
    why: str
    distance: int | None = None
    """Bytes from one block to the next of its kind; None if unknown."""
    item: str = ""
    """What the blocks in a row are: OBJECT, BLOCK or COPY."""
    first: int = 0
    """Size in bytes of the red zone before the first block."""
    slabs: tuple[CacheSlab, ...] = ()
    """The slabs of a kernel that have the blocks: these decide, and not `steps`, `distance` and `first`."""


def blocks(storage: Storage, request: AllocationRequest) -> Blocks:
    """Return the blocks that hold an object or an array of objects. `storage` is not EMBEDDED."""
    if storage.caches:
        item = BLOCK if storage.word == "kmalloc" else OBJECT
        return Blocks(frozenset(), _why_of_caches(storage), item=item, slabs=storage.caches)
    if storage.word == "slab":
        return _slab(storage, request)
    if storage.word == "kmalloc":
        return _kmalloc(storage, request)
    if storage.word in MALLOCS:
        return _malloc(storage, request)
    if storage.word == ALIGNED:
        align = storage.align or request.align
        return Blocks(frozenset((align,)), f"allocated at multiples of {align}")
    if storage.word == LINE:
        return _line_blocks(storage, request)
    if storage.word in ("percpu", "static"):
        align = max(request.align, storage.align or 1)
        if storage.word == "static":
            return Blocks(frozenset((align,)), f"a static variable, aligned to {align}")
        # One CPU's area is a number of whole pages, with the variable at any offset of a page:
        # pcpu_embed_first_chunk() in mm/percpu.c, Linux v6.12.
        size = _known_size(storage, request)
        distance = None if size is None else _round_up(max(size, 1) + PAGE - min(align, PAGE), PAGE)
        return Blocks(frozenset((align,)), f"a per-CPU variable, aligned to {align}", distance, COPY)
    align = max(request.align, request.min_align or request.target.min_align)
    return Blocks(frozenset((align,)), f"aligned to {align}")


def contradiction(
    storage: Storage, struct_name: str, request: AllocationRequest, stated_align: int | None
) -> str | None:
    """Return why a struct cannot have a placement, or None if it can.

    `stated_align` is the alignment in the input. An alignment that only follows from the members can be
    wrong: the struct may be packed.
    """
    placement = f"`placement` `{storage.spelling}`"
    if storage.align is not None and stated_align is not None and storage.align < stated_align:
        return f"{placement} contradicts {struct_name}, which is aligned to {stated_align}"
    if storage.array is not None and request.is_open:
        return f"`array`: {struct_name} ends with a flexible array, so it cannot be an array element"
    least = request.size * (storage.array or 1)
    if storage.stride is not None and storage.has_red_zone:
        least += _red_zone(storage, request)
    if storage.stride is not None and storage.stride < least:
        return f"`stride` {storage.stride} contradicts {struct_name}: objects of {least} bytes do not fit"
    if storage.stride is not None and stated_align is not None and storage.stride % stated_align:
        return f"`stride` {storage.stride} contradicts {struct_name}, which is aligned to {stated_align}"
    return None


def kmalloc_class(size: int, smallest: int) -> int:
    """Return the kmalloc class of a size, in bytes; above the classes, whole pages in powers of two.

    `smallest` is KMALLOC_MIN_SIZE: 8, or ARCH_KMALLOC_MINALIGN if that is larger.
    """
    power = max(smallest, 1 << (max(size, 1) - 1).bit_length())
    odd = (class_ for class_, most in _ODD_CLASSES if smallest <= most)
    return next((class_ for class_ in odd if power // 2 < size <= class_ < power), power)


def malloc_chunk(size: int, target: Target) -> int:
    """Return the bytes that `malloc` of glibc takes for a block of some bytes, with its own head.

    Sources: request2size() and MINSIZE in malloc/malloc.c, glibc 2.36. Larger blocks get pages of their own.
    """
    align, word = target.malloc_align, target.pointer_size
    return max(_round_up(4 * word, align), _round_up(size + word, align))


def class_ends(most: int) -> list[int]:
    """Return the bytes at which a kmalloc class of any machine ends, ascending, at least up to `most`."""
    odd = {class_ for class_, _ in _ODD_CLASSES}
    last = max(most, *odd)
    return sorted(odd.union(1 << bit for bit in range(3, (last - 1).bit_length() + 1)))


def class_name(size: int) -> str:
    """Return the name of a kmalloc class of some bytes in /proc/slabinfo; larger blocks are pages."""
    if size > LARGEST_CLASS:
        return f"{size} bytes of pages"
    return f"kmalloc-{size // 1024}k" if size >= 1024 else f"kmalloc-{size}"


def _malloc(storage: Storage, request: AllocationRequest) -> Blocks:
    """Return the blocks of `malloc`: aligned to MALLOC_ALIGNMENT, or small ones to less.

    A small block is aligned to the power of two that holds it, and at least to the smallest block.
    """
    full, target = request.min_align or request.target.malloc_align, request.target
    smallest = {JEMALLOC: 8, TCMALLOC: 8, MIMALLOC: target.pointer_size, MUSL_STATIC: 1}
    least = full if request.min_align else smallest.get(storage.word or MALLOC, full)
    block = max(1, request.size * (storage.array or 1))
    align = min(full, max(least, 1 << (block - 1).bit_length()))
    steps = {align}
    if _known_size(storage, request) is None:
        steps |= {1 << bit for bit in range(align.bit_length(), full.bit_length())}
    size = "" if align == full else f" {block} bytes"
    return Blocks(frozenset(steps), f"allocated by {storage.word}, which aligns{size} to {align}")


def _line_blocks(storage: Storage, request: AllocationRequest) -> Blocks:
    align = max(request.align, request.min_align or request.target.min_align, request.target.line_size)
    why = "the rule file says that objects start on a line"
    size = _known_size(storage, request)
    return Blocks(frozenset((align,)), why, None if size is None else _round_up(size, align), OBJECT)


def _known_size(storage: Storage, request: AllocationRequest) -> int | None:
    """Return the bytes of an object or of an array of objects; None if the array is flexible or of any
    length.
    """
    return None if request.is_open or storage.array == ANY else request.size * (storage.array or 1)


def _slab(storage: Storage, request: AllocationRequest) -> Blocks:
    """Return the blocks of a slab: objects in a row from the start of a page.

    Source: calculate_sizes() in mm/slub.c, Linux v6.12.
    """
    target = request.target
    align = _slab_align(storage, request)
    known_size = _known_size(storage, request)
    if storage.stride is None and known_size is None:
        why = f"in a slab cache, aligned to {align}: how large its objects are is not known"
        return Blocks(frozenset((align,)), why)
    size = known_size or 0
    if storage.has_constructor:  # the free-list pointer is after the object, not in it
        size = _round_up(size, target.pointer_size) + target.pointer_size
    stride = storage.stride or _round_up(size, align)
    why = f"in a slab cache, {stride} bytes from one to the next"
    first = _red_zone(storage, request) if storage.has_red_zone else 0
    if first:
        why += f", the first behind a red zone of {first}"
    return Blocks(frozenset((gcd(stride or align, PAGE),)), why, stride, OBJECT, first)


def _slab_align(storage: Storage, request: AllocationRequest) -> int:
    target = request.target
    return max(request.align, storage.align or 1, request.min_align or target.slab_align, target.pointer_size)


def _why_of_caches(storage: Storage) -> str:
    """Return the caches of a kernel with their numbers, equal ones together."""
    same: dict[str, list[str]] = {}
    for cache in storage.caches:
        numbers = f"{cache.stride} bytes from one object to the next, {cache.objects} in a slab"
        if cache.first:
            numbers += f", the first behind a red zone of {cache.first}"
        same.setdefault(numbers, []).append(cache.name)
    named = (f"{first_few(tuple(names))} ({numbers})" for numbers, names in same.items())
    noun = "cache" if len(storage.caches) == 1 else "caches"
    return f"in the kernel's slab {noun} {'; '.join(named)}"


def _red_zone(storage: Storage, request: AllocationRequest) -> int:
    """Return the bytes before each object of a slab: `red_left_pad` of calculate_sizes() in mm/slub.c, Linux
    v6.12.
    """
    return _round_up(request.target.pointer_size, _slab_align(storage, request))


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _kmalloc(storage: Storage, request: AllocationRequest) -> Blocks:
    """Return the blocks of a kmalloc class, aligned to the largest power of two that divides the class.

    Linux v5.4, "mm, sl[aou]b: guarantee natural alignment for kmalloc(power-of-two)", states this for powers
    of two. Blocks of 96 and 192 bytes are in a row from the start of a page.
    """
    smallest = request.smallest_class
    size = kmalloc_class(request.size * (storage.array or 1), smallest)
    if _known_size(storage, request) is not None:
        why = f"allocated by kmalloc in the class of {size} bytes"
        if size > LARGEST_CLASS:
            why = "allocated by kmalloc, in whole pages"
        return Blocks(frozenset((size & -size,)), why, size, BLOCK)
    larger = {class_ for class_, most in _ODD_CLASSES if size < class_ and smallest <= most}
    steps = frozenset(class_ & -class_ for class_ in (size, *larger))
    return Blocks(steps, f"allocated by kmalloc in the class of {size} bytes or a larger one")
