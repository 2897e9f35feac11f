"""Which caches of a kernel have a struct, and at which places of a line its objects then start: against counting."""

from __future__ import annotations

from math import gcd

import msgspec
import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.geometry.slab_caches import SlabCaches
from layoutlint.model.slabs import Document
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source
from tests.harness.build import flexible, member, struct
from tests.harness.slab_files import cache, document

HERE = Source("r.toml", 1)


def caches_of(*caches, has_changed: bool = False, **named: tuple[str, ...]) -> SlabCaches:
    return SlabCaches("s.json", msgspec.convert(document(*caches), Document), named, has_changed)


def make(name: str, size: int, align: int = 8):
    return struct(name, size, member("a", 0, 8), align=align)


def bases_of(subject, slabs: SlabCaches, word: str | None = None, **more) -> tuple[int, ...] | None:
    """The bases of a struct, of which a rule file states `word`; None if no cache has it."""
    storage = slabs.complete(subject, None if word is None else Storage(word, HERE, **more))
    return None if storage is None or not storage.caches else placements(Layout(subject), storage=storage).bases


def count_bases(stride: int, objects: int, first: int = 0) -> tuple[int, ...]:
    """The oracle: where each object of a slab starts."""
    return tuple(sorted({(first + number * stride) % 64 for number in range(objects)}))


@pytest.mark.parametrize(("one", "subject", "bases"), [
    (cache("inode_cache", size=616, stride=624, order=1), make("inode", 616), (0, 16, 32, 48)),
    (cache("inode_cache", size=616, stride=624, objs_per_slab=2), make("inode", 616), (0, 48)),  # few objects have few bases
    (cache("node", size=616, stride=624, order=1), make("node", 616), (0, 16, 32, 48)),
    (cache("filp", size=184, stride=192, align=64), make("file", 184), (0,)),
    # red zones move the first object by a pointer, rounded up to the alignment of the cache
    (cache("anon_vma", size=96, stride=136, red_zone=True), make("anon_vma", 96), count_bases(136, 30, 8)),
    (cache("filp", size=184, stride=320, align=64, red_zone=True), make("file", 184), (0,)),
    (cache("a16", size=32, stride=64, align=16, red_zone=True), make("a16", 32), (16,)),
    # longer objects, of which the table says that they are, or that end with a flexible array
    (cache("task_struct", size=5824, stride=5824, align=64, order=3), make("task_struct", 3264), (0,)),
    (cache("tail", size=40, stride=40), struct("tail", 16, member("a", 0, 8), flexible("f", 16)), count_bases(40, 99)),
    # merged caches: less than a pointer smaller than the largest, as find_mergeable() has it
    (cache("big", "small", size=72, stride=72), make("small", 72), count_bases(72, 56)),
    (cache("big", "small", size=72, stride=72), make("small", 68, 4), count_bases(72, 56)),
    (cache("big", "small", size=72, stride=72), make("small", 64), None),
    (cache("big", "small", size=184, stride=192, align=64), make("small", 144), (0,)),
    (cache("big", "small", size=192, stride=192, align=8), make("small", 176), (0,)),  # with SLAB_HWCACHE_ALIGN
    (cache("big", "small", size=192, stride=192, align=8), make("small", 120), None),
    # objects of another size, or of another name
    (cache("inode_cache", size=608, stride=624, order=1), make("inode", 616), None),
    (cache("inode_cache", size=640, stride=640, order=1), make("inode", 616), None),
    (cache("ext4_inode_cache", size=616, stride=624, order=1), make("inode", 616), None),
    (cache("node", size=72, stride=72), make("node", 72, 16), None),  # which no kernel can have
    # /proc/slabinfo states the distance only
    (cache("inode_cache", size=None, stride=624, align=None, order=1), make("inode", 616), (0, 16, 32, 48)),
    (cache("inode_cache", size=None, stride=768, align=None, order=1), make("inode", 616), None),
])  # fmt: skip
def test_a_cache_of_the_right_name_and_size_places_a_struct(one, subject, bases):
    assert bases_of(subject, caches_of(one)) == bases


@pytest.mark.parametrize("stride", range(8, 1200, 8))
def test_bases_are_those_that_counting_finds(stride):
    one = cache("node", size=stride, stride=stride, order=3)
    assert bases_of(make("node", stride), caches_of(one)) == count_bases(stride, one["objs_per_slab"])


KMALLOC = (
    cache("kmalloc-96", size=96, stride=96, align=32), cache("kmalloc-rnd-01-96", size=96, stride=96, align=32),
    cache("kmalloc-cg-96", size=96, stride=128, align=32, red_zone=True), cache("dma-kmalloc-96", size=96, stride=96, align=32),
    cache("kmalloc-192", size=192, stride=192, align=64), cache("kmalloc-1k", size=1024, stride=1024, align=1024),
    cache("kmalloc-128", size=128, stride=128, align=128), cache("my-kmalloc-72", size=72, stride=72),
)  # fmt: skip


@pytest.mark.parametrize(("size", "names", "bases"), [
    (72, ["kmalloc-96", "kmalloc-rnd-01-96", "kmalloc-cg-96", "dma-kmalloc-96"], (0, 32)),
    (96, ["kmalloc-96", "kmalloc-rnd-01-96", "kmalloc-cg-96", "dma-kmalloc-96"], (0, 32)),
    (104, ["kmalloc-128"], (0,)), (136, ["kmalloc-192"], (0,)), (600, ["kmalloc-1k"], (0,)),
    (200, [], None),  # kmalloc-256 is not in the file
    (5000, [], None),
])  # fmt: skip
def test_classes_of_kmalloc_place_what_comes_from_it(size, names, bases):
    slabs, subject = caches_of(*KMALLOC), make("node", size)
    storage = slabs.complete(subject, Storage("kmalloc", HERE))
    assert [each.name for each in storage.caches] == names
    assert bases_of(subject, slabs, "kmalloc") == bases
    assert bases_of(subject, slabs) is None  # nothing says that it comes from kmalloc


@pytest.mark.parametrize(("word", "more", "is_completed"), [
    ("slab", {}, True), ("slab", {"has_constructor": True}, True), ("slab", {"stride": 640}, False), ("slab", {"align": 64}, False),
    ("line", {}, False), ("percpu", {}, False), ("static", {}, False), ("malloc", {}, False), ("embedded", {}, False),
])  # fmt: skip
def test_what_a_rule_file_states_counts(word, more, is_completed):
    """`slab` says that there is a cache, and the kernel, which one it is; other statements are not about it."""
    stated = Storage(word, HERE, **more)
    storage = caches_of(cache("inode_cache", size=616, stride=624, order=1)).complete(make("inode", 616), stated)
    assert (storage != stated) == is_completed
    assert storage.source == HERE


def test_arrays_in_a_cache_start_at_each_element():
    slabs = caches_of(cache("pairs", size=80, stride=80))
    assert bases_of(make("pairs", 40), slabs, "slab", array=2) == tuple(range(0, 64, 8))


def test_sources_name_caches():
    slabs = caches_of(cache("my_nodes", size=40, stride=48, align=16), node=("my_nodes",))
    assert bases_of(make("node", 40), slabs) == (0, 16, 32, 48)


@pytest.mark.parametrize(("size", "stride", "align", "new", "strides"), [
    # a pointer behind the object stays there
    (616, 624, 8, 640, {648}), (192, 192, 8, 200, {200}), (96, 104, 8, 90, {104}),
    # where rounding hides whether there is one, both may be
    (184, 192, 64, 192, {192, 256}), (184, 192, 64, 176, {192}), (2304, 2368, 64, 2304, {2368}),
])  # fmt: skip
def test_a_changed_struct_is_in_the_cache_as_it_would_be(size, stride, align, new, strides):
    slabs = caches_of(cache("node", size=size, stride=stride, align=align, order=3), has_changed=True)
    storage = slabs.complete(make("node", new, 2), None)
    assert {each.stride for each in storage.caches} == strides
    assert set(bases_of(make("node", new, 2), slabs)) == {base for each in strides for base in range(0, 64, gcd(each, 64))}


def round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def kernel_slab(size: int, is_hwcache: bool, has_red_zone: bool, has_constructor: bool) -> tuple[int, int, int]:
    """Stride, alignment and first object by calculate_alignment() and calculate_sizes() of Linux v6.12."""
    align = 8
    if is_hwcache:
        line = 64
        while size <= line // 2:
            line //= 2
        align = max(align, line)
    held = round_up(size, 8)
    held += 8 * (has_red_zone and held == size) + 8 * has_constructor
    first = round_up(8, align) if has_red_zone else 0
    return round_up(held + 8 * has_red_zone + first, align), align, first


@pytest.mark.parametrize("is_hwcache", [False, True])
@pytest.mark.parametrize(("has_red_zone", "has_constructor"), [(False, False), (False, True), (True, False)])
def test_another_size_has_the_slab_that_the_kernel_would_make(is_hwcache, has_red_zone, has_constructor):
    flags = {"hwcache_align": is_hwcache, "red_zone": has_red_zone, "ctor": "make" if has_constructor else None}
    for old in (16, 24, 32, 40, 56, 64, 96, 128, 184, 200):
        stride, align, _ = kernel_slab(old, is_hwcache, has_red_zone, has_constructor)
        slabs = caches_of(cache("node", size=old, stride=stride, align=align, order=3, **flags), has_changed=True)
        for new in (8, 16, 24, 32, 48, 64, 72, 96, 136, 192, 256):
            stride, _, first = kernel_slab(new, is_hwcache, has_red_zone, has_constructor)
            own = struct("node", new, member("a", 0, 8), align=8)
            found = set(placements(Layout(own), storage=slabs.complete(own, None)).bases)
            assert {(first + number * stride) % 64 for number in range(64)} <= found, (old, new)
