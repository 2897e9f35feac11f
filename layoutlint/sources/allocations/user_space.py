"""Functions and macros that allocate in user space: those of the C library, jemalloc, GLib, DPDK and
PostgreSQL, and those that a rule file declares.
"""

from __future__ import annotations

import re
from functools import lru_cache

from layoutlint.model.storage import JEMALLOC, MALLOC, MIMALLOC, PAGE, TCMALLOC, Allocator
from layoutlint.sources.allocations.allocators import Arguments, Maker, Making, objects, sized_call
from layoutlint.sources.allocations.expressions import (
    ObjectSize,
    Tokens,
    number,
    size,
    spell,
    strip_parentheses,
)

_LINE = re.compile(r"(?>\w*?CACHE_?LINE)\w*|_SC_LEVEL1_DCACHE_LINESIZE")
"""Names of the size of a line: RTE_CACHE_LINE_SIZE, PG_CACHE_LINE_SIZE, CACHELINE_BYTES."""
_PAGE = frozenset(("PAGE_SIZE", "PAGESIZE", "_SC_PAGESIZE", "_SC_PAGE_SIZE", "getpagesize"))
_WORDS = (("sizeof", "(", "void", "*", ")"), ("sizeof", "(", "max_align_t", ")"))
_LINE_OF_RTE = 64
"""The smallest RTE_CACHE_LINE_SIZE."""


def _aligned_call(align_at: int, size_at: int, word: str = MALLOC, *, count: int | None = None) -> Maker:
    """Return the Maker of a function that takes an alignment and a size, as `aligned_alloc`."""

    def make(arguments: Arguments) -> Making | None:
        if len(arguments) <= max(align_at, size_at, count or 0):
            return None
        object_size = size(arguments[size_at], None if count is None else arguments[count])
        return None if object_size is None else aligned_objects(object_size, arguments[align_at], word)

    return make


def aligned_objects(object_size: ObjectSize, argument: Tokens, default: str = "malloc") -> Making:
    """Return objects at multiples of an alignment, or at those of `default` if it requests none."""
    argument = strip_parentheses(argument)
    value = number(argument)
    names = [word for word in argument if word[0].isalpha() or word[0] == "_"]
    if value == 0 or argument in _WORDS:
        return Making(object_size, default)
    if value is not None and value & (value - 1) == 0:
        return Making(object_size, "aligned", value)
    if any(map(_LINE.fullmatch, names)) and len([name for name in names if name != "sysconf"]) == 1:
        return Making(object_size, "line", details=("aligned to a line",))
    if _PAGE.intersection(names) and len(argument) <= 4:
        return Making(object_size, "aligned", PAGE)
    return Making(object_size, problem=f"`{spell(argument)}` is not a known alignment")


def _jemalloc(size_at: int) -> Maker:
    """Return the Maker of `mallocx(size, flags)`, whose flags can have `MALLOCX_ALIGN(n)`."""

    def make(arguments: Arguments) -> Making | None:
        object_size = size(arguments[size_at]) if len(arguments) == size_at + 2 else None
        if object_size is None:
            return None
        flags = arguments[size_at + 1]
        if "MALLOCX_ALIGN" in flags:
            start = flags.index("MALLOCX_ALIGN") + 2
            return aligned_objects(object_size, flags[start : flags.index(")", start)], JEMALLOC)
        return Making(object_size, JEMALLOC)

    return make


def _dpdk(size_at: int, length: int, count: int | None = None) -> Maker:
    """Return the Maker of `rte_malloc(type, size, align)`.

    Sizes and alignments are rounded up to lines: heap_alloc() in lib/eal/common/malloc_heap.c, DPDK 22.11.
    """

    def make(arguments: Arguments) -> Making | None:
        if len(arguments) != length:
            return None
        object_size = size(arguments[size_at], None if count is None else arguments[count])
        if object_size is None:
            return None
        making = aligned_objects(object_size, arguments[size_at + 1], "line")
        is_less = making.word == "aligned" and (making.align or 0) <= _LINE_OF_RTE
        return Making(object_size, "line") if is_less else making

    return make


def _fixed_makers(word: str, align: int | None, *names: str) -> dict[str, Maker]:
    """Return the Makers of functions whose first argument is a size."""
    return {name: sized_call(word, 0, align=align) for name in names}


PREFIXES = (("", MALLOC), ("je_", JEMALLOC), ("tc_", TCMALLOC), ("mi_", MIMALLOC))
"""The prefixes with which jemalloc, tcmalloc and mimalloc can be built."""
_C_LIBRARY: dict[str, Maker] = {
    name: maker
    for prefix, word in PREFIXES
    for name, maker in {
        f"{prefix}malloc": sized_call(word, 0),
        f"{prefix}calloc": sized_call(word, 1, count=0),
        f"{prefix}realloc": sized_call(word, 1),
        f"{prefix}reallocarray": sized_call(word, 2, count=1),
        f"{prefix}valloc": sized_call("aligned", 0, align=PAGE),
        f"{prefix}pvalloc": sized_call("aligned", 0, align=PAGE),
        f"{prefix}aligned_alloc": _aligned_call(0, 1, word),
        f"{prefix}memalign": _aligned_call(0, 1, word),
        f"{prefix}posix_memalign": _aligned_call(1, 2, word),
        f"{prefix}mallocx": _jemalloc(0),
        f"{prefix}rallocx": _jemalloc(1),
    }.items()
}
_GLIB: dict[str, Maker] = {
    **_fixed_makers("malloc", None, "g_malloc", "g_malloc0", "g_try_malloc", "g_try_malloc0", "g_slice_alloc",
             "g_slice_alloc0"),
    **{name: sized_call("malloc", 1, count=0)
       for name in ("g_malloc_n", "g_malloc0_n", "g_try_malloc_n", "g_try_malloc0_n")},
    **{name: objects("malloc", count=1) for name in ("g_new", "g_new0", "g_try_new", "g_try_new0")},
    **{name: objects("malloc") for name in ("g_slice_new", "g_slice_new0")},
    "g_realloc": sized_call("malloc", 1), "g_renew": objects("malloc", count=2),
    "g_aligned_alloc": _aligned_call(2, 1, count=0), "g_aligned_alloc0": _aligned_call(2, 1, count=0),
}  # fmt: skip
_DPDK: dict[str, Maker] = {
    **{name: _dpdk(1, 3) for name in ("rte_malloc", "rte_zmalloc", "rte_realloc")},
    **{name: _dpdk(1, 4) for name in ("rte_malloc_socket", "rte_zmalloc_socket", "rte_realloc_socket")},
    "rte_calloc": _dpdk(2, 4, 1), "rte_calloc_socket": _dpdk(2, 5, 1),
}  # fmt: skip
# Chunks of memory contexts are multiples of MAXIMUM_ALIGNOF, 8 (src/backend/utils/mmgr/aset.c); shared memory
# starts on lines (ShmemAllocRaw() in src/backend/storage/ipc/shmem.c, PostgreSQL 15).
_PALLOC: dict[str, Maker] = {
    **_fixed_makers("aligned", 8, "palloc", "palloc0", "palloc_extended"),
    **{name: sized_call("aligned", 1, align=8)
       for name in ("MemoryContextAlloc", "MemoryContextAllocZero", "MemoryContextAllocExtended",
                    "repalloc")},
    **{name: objects("aligned", align=8) for name in ("palloc_object", "palloc0_object")},
    **{name: objects("aligned", align=8, count=1)
       for name in ("palloc_array", "palloc0_array")},
    "palloc_aligned": _aligned_call(1, 0),
}  # fmt: skip
_SHARED: dict[str, Maker] = {
    **_fixed_makers("line", None, "ShmemAlloc", "ShmemAllocNoError"),
    "ShmemInitStruct": sized_call("line", 1, length=3),
}  # fmt: skip
PRIVATE = frozenset(_PALLOC)
"""Functions whose memory belongs to one thread or process."""
MAKERS: dict[str, Maker] = {**_C_LIBRARY, **_GLIB, **_DPDK, **_PALLOC, **_SHARED}
"""By the name of a function or macro: what a call of it makes."""


@lru_cache(maxsize=8)
def makers_of(allocators: tuple[Allocator, ...]) -> dict[str, Maker]:
    """Return the Makers of the functions that rule files declare."""
    return {allocator.name: _declared_maker(allocator) for allocator in allocators}


def _declared_maker(allocator: Allocator) -> Maker:
    word, align = allocator.word, allocator.align
    if allocator.type_at is not None:
        return objects(word, allocator.type_at, align=align, count=allocator.count_at)
    if allocator.align_at is not None:
        return _aligned_call(allocator.align_at, allocator.size_at, count=allocator.count_at)
    return sized_call(word, allocator.size_at, align=align, count=allocator.count_at)
