"""Where memory that an allocator, a compiler or a linker gives can start (docs/placements.md)."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from layoutlint.model.storage import ALIGNED, ANY, LINE, PAGE, Storage
from layoutlint.model.target import Target

LARGEST_CLASS = 2 * PAGE
"""Of kmalloc: what is larger gets pages of its own (KMALLOC_MAX_CACHE_SIZE in include/linux/slab.h)."""
COPY = "copy"
"""One CPU's of a per-CPU variable: no cache line has parts of two."""
# Classes of kmalloc that are no power of two, and the largest smallest class with which each is there:
# __kmalloc_index() in include/linux/slab.h, Linux v7.2 (the same since v3.10).
_ODD_CLASSES = ((96, 32), (192, 64))


@dataclass(frozen=True, slots=True)
class Wanting:
    """What is asked of an allocator: a struct, its target, and what overrides the target; in bytes."""

    size: int
    align: int
    target: Target
    is_open: bool = False
    """Whether it ends with a flexible array: objects are larger than its size, nobody knows by how much."""
    min_align: int | None = None
    """The alignment that every allocator gives, whatever the target's gives."""

    @property
    def smallest_class(self) -> int:
        """The smallest class of kmalloc that there is, in bytes."""
        return max(8, self.min_align or self.target.kmalloc_align)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Where memory starts: at multiples of any of the steps behind `first`, in bytes, and why."""

    steps: frozenset[int]
    why: str
    distance: int | None = None
    """From one to the next, where each has another of its kind behind it; None where that is not known."""
    row: str = ""
    """What stands in that row: an `object` of a cache, a `block` of a size, a COPY of a variable."""
    first: int = 0
    """Bytes of a red zone before the first of them."""


def blocks(storage: Storage, wanted: Wanting) -> Blocks:
    """Where the memory starts that holds an object, or an array of them. Not for EMBEDDED."""
    if storage.word == "slab":
        return _slab(storage, wanted)
    if storage.word == "kmalloc":
        return _kmalloc(storage, wanted)
    if storage.word == "malloc":
        align = wanted.min_align or wanted.target.malloc_align
        return Blocks(frozenset((align,)), f"allocated by malloc, which aligns to {align}")
    if storage.word == ALIGNED:
        align = storage.align or wanted.align
        return Blocks(frozenset((align,)), f"allocated at multiples of {align}")
    if storage.word == LINE:
        return _on_lines(storage, wanted)
    if storage.word in ("percpu", "static"):
        align = max(wanted.align, storage.align or 1)
        if storage.word == "static":
            return Blocks(frozenset((align,)), f"a static variable, aligned to {align}")
        # What belongs to one CPU is whole pages, and holds the variable wherever in a page it starts:
        # pcpu_embed_first_chunk() in mm/percpu.c, Linux v6.12.
        size = _known_size(storage, wanted)
        distance = None if size is None else _up(max(size, 1) + PAGE - min(align, PAGE), PAGE)
        return Blocks(frozenset((align,)), f"a per-CPU variable, aligned to {align}", distance, COPY)
    align = max(wanted.align, wanted.min_align or wanted.target.min_align)
    return Blocks(frozenset((align,)), f"aligned to {align}")


def contradiction(storage: Storage, called: str, wanted: Wanting, stated: int | None) -> str | None:
    """What a struct makes of a placement that it cannot have; None when nothing is wrong.

    `stated` is its alignment where the input states it: what follows from members may be a packed struct's.
    """
    said = f"`placement` `{storage.spelling}`"
    if storage.align is not None and stated is not None and storage.align < stated:
        return f"{said} contradicts {called}, which is aligned to {stated}"
    if storage.array is not None and wanted.is_open:
        return f"`array`: {called} ends with a flexible array, and is no element of an array"
    least = wanted.size * (storage.array or 1)
    if storage.stride is not None and storage.has_red_zone:
        least += _red_zone(storage, wanted)
    if storage.stride is not None and storage.stride < least:
        return f"`stride` {storage.stride} contradicts {called}: objects of {least} bytes do not fit"
    if storage.stride is not None and stated is not None and storage.stride % stated:
        return f"`stride` {storage.stride} contradicts {called}, which is aligned to {stated}"
    return None


def kmalloc_class(size: int, smallest: int) -> int:
    """The class of kmalloc that holds a size, in bytes; beyond the classes, whole pages in powers of two.

    `smallest` is KMALLOC_MIN_SIZE: 8, or ARCH_KMALLOC_MINALIGN where that is larger.
    """
    power = max(smallest, 1 << (max(size, 1) - 1).bit_length())
    odd = (class_ for class_, most in _ODD_CLASSES if smallest <= most)
    return next((class_ for class_ in odd if power // 2 < size <= class_ < power), power)


def _on_lines(storage: Storage, wanted: Wanting) -> Blocks:
    align = max(wanted.align, wanted.min_align or wanted.target.min_align, wanted.target.line_size)
    why = "the rule file says that objects start on a line"
    size = _known_size(storage, wanted)
    return Blocks(frozenset((align,)), why, None if size is None else _up(size, align), "object")


def _known_size(storage: Storage, wanted: Wanting) -> int | None:
    """The bytes of an object, or of an array of them; None for what ends with a flexible array or is one."""
    return None if wanted.is_open or storage.array == ANY else wanted.size * (storage.array or 1)


def _slab(storage: Storage, wanted: Wanting) -> Blocks:
    """Objects one behind the other from the start of a page: calculate_sizes() in mm/slub.c, Linux v6.12."""
    target = wanted.target
    align = _slab_align(storage, wanted)
    known = _known_size(storage, wanted)
    if storage.stride is None and known is None:
        why = f"in a slab cache, aligned to {align}: how large its objects are is not known"
        return Blocks(frozenset((align,)), why)
    size = known or 0
    if storage.has_constructor:  # the pointer to the next free object stands behind the object, not in it
        size = _up(size, target.pointer_size) + target.pointer_size
    stride = storage.stride or _up(size, align)
    why = f"in a slab cache, {stride} bytes from one to the next"
    first = _red_zone(storage, wanted) if storage.has_red_zone else 0
    if first:
        why += f", the first behind a red zone of {first}"
    return Blocks(frozenset((gcd(stride or align, PAGE),)), why, stride, "object", first)


def _slab_align(storage: Storage, wanted: Wanting) -> int:
    target = wanted.target
    return max(wanted.align, storage.align or 1, wanted.min_align or target.slab_align, target.pointer_size)


def _red_zone(storage: Storage, wanted: Wanting) -> int:
    """Bytes before each object of a slab: `red_left_pad` of calculate_sizes() in mm/slub.c, Linux v6.12."""
    return _up(wanted.target.pointer_size, _slab_align(storage, wanted))


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _kmalloc(storage: Storage, wanted: Wanting) -> Blocks:
    """In its class a block is aligned to the largest power of two that divides the class.

    Linux v5.4, "mm, sl[aou]b: guarantee natural alignment for kmalloc(power-of-two)", says so for powers of
    two; those of 96 and 192 bytes stand one behind the other from the start of a page.
    """
    smallest = wanted.smallest_class
    size = kmalloc_class(wanted.size * (storage.array or 1), smallest)
    if _known_size(storage, wanted) is not None:
        why = f"allocated by kmalloc in the class of {size} bytes"
        if size > LARGEST_CLASS:
            why = "allocated by kmalloc, in pages of its own"
        return Blocks(frozenset((size & -size,)), why, size, "block")
    larger = {class_ for class_, most in _ODD_CLASSES if size < class_ and smallest <= most}
    steps = frozenset(class_ & -class_ for class_ in (size, *larger))
    return Blocks(steps, f"allocated by kmalloc in the class of {size} bytes or a larger one")
