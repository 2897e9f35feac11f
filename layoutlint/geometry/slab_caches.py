"""Which slab caches of a kernel have the objects of a struct: by the names of the caches, if sizes agree."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache

from layoutlint.geometry.allocators import kmalloc_class
from layoutlint.geometry.layout import cached_layout
from layoutlint.geometry.slab_pages import hwcache_alignment
from layoutlint.model.record import Record, field, replace
from layoutlint.model.slabs import CacheJson, Document
from layoutlint.model.storage import ANY, PAGE, CacheSlab, Storage
from layoutlint.model.structs import Source, Struct

_TABLE = "slab_caches.txt"
_POINTER = 8
"""The most bytes by which merged caches differ: find_mergeable() in mm/slab_common.c, Linux v6.12."""
# create_kmalloc_caches() in mm/slab_common.c: kmalloc-96, kmalloc-rnd-07-1k, kmalloc-cg-2M, dma-kmalloc-64.
_KMALLOC = re.compile(r"(?:dma-)?kmalloc-(?:[a-z]+-(?:\d+-)?)?(\d{1,7})([kM]?)")
_UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20}


class NamedCache(Record, frozen=True):
    """A cache that a source or a table names for a struct."""

    name: str
    is_longer: bool = False
    """Whether its objects may be longer than the struct."""


class Held(Record, frozen=True):
    """The caches of a kernel that have the objects of a struct."""

    slabs: tuple[CacheSlab, ...]
    """Their slabs, by the names of the struct's caches: the kernel may have merged others into them."""
    refused: tuple[tuple[str, str], ...] = ()
    """The names of caches that are not used, with the reason."""


class SlabCaches(Record, frozen=True, eq=False):
    """The slab caches of a kernel, for the placements of the structs in an input."""

    label: str
    """The file or folder that has them."""
    slabs: Document
    named: Mapping[str, tuple[str, ...]] = {}
    """The names of caches that sources make for structs, by struct."""
    has_changed: bool = False
    """Whether structs may have changed since that kernel: caches are then as they would be for each size."""
    _by_name: dict[str, CacheJson] = field(default_factory=dict)
    _by_class: dict[int, dict[str, CacheJson]] = field(default_factory=dict)
    """The caches of kmalloc by the sizes of their classes, and by their names."""
    _held: dict[tuple[object, ...], Held] = field(default_factory=dict)

    def complete(self, struct: Struct, stated: Storage | None) -> Storage | None:
        """Return where the objects of a struct start, given what a rule file states of it.

        The kernel has the numbers of a cache, of which a rule file states that it is one: `slab` without
        numbers, or `kmalloc`. Other statements remain as they are. Without one, caches of the right name and
        size count.
        """
        if stated is not None and not _is_open(stated):
            return stated
        held = self.search(struct, stated)
        usual = stated or Storage("slab", Source(self.label))
        return replace(usual, caches=held.slabs) if held.slabs else stated

    def search(self, struct: Struct, stated: Storage | None = None) -> Held:
        """Return the caches that have the objects of a struct, or arrays of them, if `stated` says so."""
        if struct.bit_size is None or struct.problem is not None:
            return Held(())
        layout = cached_layout(struct)
        array = None if stated is None else stated.array
        has_tail = layout.open_end is not None or array == ANY
        is_kmalloc = stated is not None and stated.word == "kmalloc"
        key = struct.name, struct.aliases, struct.align, layout.size, has_tail, is_kmalloc, array
        if key not in self._held:
            size = layout.size * (array or 1)
            if is_kmalloc:
                self._held[key] = Held(() if has_tail else self._classes(size, struct))
            else:
                self._held[key] = self._fitting(struct, size, has_tail)
        return self._held[key]

    def _classes(self, size: int, struct: Struct) -> tuple[CacheSlab, ...]:
        """Return the slabs of kmalloc for a size: those of its class, for all kinds of memory."""
        self._fill()
        least = min((own for own in self._by_class if own >= size), default=None)
        if least is None or least > kmalloc_class(size, struct.target.kmalloc_align):
            return ()
        pointer = struct.target.pointer_size
        return tuple(_slab_of(name, each, pointer) for name, each in self._by_class[least].items())

    def _fitting(self, struct: Struct, size: int, has_tail: bool) -> Held:
        self._fill()
        fitting, refused = dict[str, tuple[CacheSlab, ...]](), dict[str, str]()
        pointer = struct.target.pointer_size
        for named in self._names(struct):
            each = self._by_name.get(named.name)
            if each is None:
                continue
            usual = _slab_of(named.name, each, pointer)
            reason = _misfit(each, size, struct, has_tail or named.is_longer)
            if not reason:
                fitting.setdefault(each.names[0], (usual,))
            elif self.has_changed and each.object_size is not None:
                fitting.setdefault(each.names[0], tuple(_slabs_of_size(usual, each, struct, size)))
            else:
                refused[named.name] = reason
        return Held(tuple(slab for slabs in fitting.values() for slab in slabs), tuple(refused.items()))

    def _names(self, struct: Struct) -> Iterator[NamedCache]:
        """Yield the names that caches of a struct can have: in the table, in sources, and its own."""
        for name in (struct.name, *struct.aliases):
            named = (*_table().get(name, ()), *map(NamedCache, (*self.named.get(name, ()), name)))
            yield from {each.name: each for each in reversed(named)}.values()

    def _fill(self) -> None:
        """Fill the tables, on the first request."""
        if self._by_name:
            return
        for each in self.slabs.caches:
            for name in each.names:
                self._by_name[name] = each
                found = _KMALLOC.fullmatch(name)
                if found is not None:
                    own = self._by_class.setdefault(int(found[1]) * _UNITS[found[2]], {})
                    own[name] = each


def _is_open(stated: Storage) -> bool:
    """Return whether a rule file states a cache of the kernel without numbers of its own."""
    if stated.seen:
        return False
    is_slab = stated.word == "slab" and stated.align is None and stated.stride is None
    return stated.word == "kmalloc" or (is_slab and not stated.has_red_zone)


def _misfit(each: CacheJson, size: int, struct: Struct, may_be_longer: bool) -> str:
    """Return why objects of a size cannot be those of a cache; empty if they can."""
    own = each.object_size
    align = struct.align or 1
    if each.slab_size % align:
        return f"objects are {each.slab_size:,} bytes apart, and the struct is aligned to {align}"
    if own is None:  # only the distance is known
        most = _round_up(size + _POINTER, struct.target.line_size)
        fits = size <= each.slab_size <= most or (may_be_longer and size <= each.slab_size)
        return "" if fits else f"objects are {each.slab_size:,} bytes apart, and the struct has {size:,}"
    if len(each.names) > 1:  # the kernel merged caches of up to this size, of which each has its alignment
        aligns = (1 << bit for bit in range(struct.target.line_size.bit_length()))
        rounded = (_round_up(size, align) for align in aligns if not each.slab_size % align)
        fits = size <= own and any(0 <= each.slab_size - whole < _POINTER for whole in rounded)
    else:
        fits = size == own
    if fits or (may_be_longer and size <= own):
        return ""
    return f"its objects have {own:,} bytes, and the struct {size:,}"


def _slab_of(name: str, each: CacheJson, pointer: int) -> CacheSlab:
    """Return the objects of a slab. Source: calculate_sizes() in mm/slub.c, Linux v6.12."""
    first = _round_up(pointer, each.align or 1) if each.red_zone else 0
    return CacheSlab(name, each.slab_size, first, each.objs_per_slab, each.objects)


def _slabs_of_size(usual: CacheSlab, each: CacheJson, struct: Struct, size: int) -> Iterator[CacheSlab]:
    """Yield the slab of a cache, if its objects had another size; two if it is not known what is behind them.

    The kernel adds words to an object, and then rounds the sum up to the alignment, which depends on the size
    with SLAB_HWCACHE_ALIGN.
    """
    pointer, line_size, struct_align = struct.target.pointer_size, struct.target.line_size, struct.align or 1
    align, held = each.align or 1, _round_up(each.object_size or 0, pointer)
    new_align, first = align, usual.first
    if each.hwcache_align and align <= hwcache_alignment(each.object_size or 0, line_size):
        new_align = max(struct_align, pointer, hwcache_alignment(size, line_size))
        first = _round_up(pointer, new_align) if each.red_zone else 0
    most = usual.stride - held
    least = _round_up(max(0, most - align + 1), pointer)
    sums = (_round_up(size, pointer) + added for added in range(least, most + 1, pointer))
    sums = (each_sum - usual.first + first for each_sum in sums)
    for stride in dict.fromkeys(_round_up(each_sum, new_align) for each_sum in sums):
        yield replace(usual, stride=stride, first=first, objects=PAGE // pointer)


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


@cache
def _table() -> dict[str, tuple[NamedCache, ...]]:
    """Return the caches that Linux has for structs, by struct."""
    caches: dict[str, tuple[NamedCache, ...]] = {}
    with open(os.path.join(os.path.dirname(__file__), _TABLE), encoding="ascii") as file:
        for line in file:
            if not line.startswith("#"):
                struct, name, _ = line.split()
                key = struct.removesuffix("+")
                caches[key] = (*caches.get(key, ()), NamedCache(name, key != struct))
    return caches
