"""The strides of slab caches, their pages and objects, as the running kernel has them in /sys/kernel/slab, beside those that placements assume."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.geometry import slab_pages as slabs
from layoutlint.geometry.allocators import AllocationRequest, blocks
from layoutlint.model.storage import PAGE, Storage
from layoutlint.model.structs import Source
from layoutlint.model.target import target_named

CACHES = Path("/sys/kernel/slab")
CPUS = Path("/sys/devices/system/cpu")
CMDLINE = Path("/proc/cmdline")
SLABINFO = Path("/proc/slabinfo")
DEBUGGED = ("poison", "red_zone", "store_user")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not CACHES.is_dir(), reason="the running kernel has no /sys/kernel/slab"),
]


def number(cache: Path, what: str) -> int:
    return int((cache / what).read_text())


def caches() -> list[Path]:
    """Those without debugging, whose objects have nothing else behind them."""
    return [cache for cache in sorted(CACHES.iterdir()) if not any(number(cache, what) for what in DEBUGGED)]


def assumed_alignment(cache: Path, has_constructor: bool) -> int:
    """The largest power of two, up to a page, at whose multiples objects are assumed to start."""
    message = Storage("slab", Source("r.toml", 1), number(cache, "align"), has_constructor=has_constructor)
    (step,) = blocks(message, AllocationRequest(number(cache, "object_size"), 1, target_named("x86_64"))).steps
    return step


def test_objects_start_where_the_kernel_puts_them():
    if not any(CACHES.iterdir()) or not (CACHES / "inode_cache" / "object_size").exists():
        pytest.skip("/sys/kernel/slab is empty")
    found, pointers = {}, 0
    for cache in caches():
        stride = number(cache, "slab_size")
        step = min(stride & -stride, PAGE)
        behind = bool((cache / "ctor").read_text().strip()) or number(cache, "destroy_by_rcu") == 1
        allowed = {assumed_alignment(cache, behind), assumed_alignment(cache, False)} if behind else {assumed_alignment(cache, False)}
        if step not in allowed:
            found[cache.name] = (stride, allowed)
        pointers += behind and stride > number(cache, "object_size")
    assert not found
    assert len(caches()) > 50
    assert pointers > 5  # inode_cache, anon_vma ... keep the pointer behind the object


def cpus() -> int:
    """The number that the kernel counts with: those that are there, or those that could be where it is one."""
    def count(which: str) -> int:
        ranges = (CPUS / which).read_text().strip().split(",")
        return sum(int(each.partition("-")[2] or each.partition("-")[0]) - int(each.partition("-")[0]) + 1 for each in ranges)

    present = count("present")
    return present if present > 1 else count("possible")


def test_slabs_have_as_many_pages_and_objects_as_the_kernel_gives_them():
    words = (CMDLINE.read_text() if CMDLINE.exists() else "").split()
    if any(word.startswith(("slub_", "slab_")) for word in words):
        pytest.skip("the command line of this kernel says how many pages slabs have")
    if not any(CACHES.iterdir()):
        pytest.skip("/sys/kernel/slab is empty")
    judged = caches()
    found = {cache.name: slabs.compute_slab(number(cache, "slab_size"), cpus()) for cache in judged}
    output = {cache.name: (number(cache, "order"), number(cache, "objs_per_slab")) for cache in judged}
    assert {name: (slab.order, slab.objects) for name, slab in found.items()} == output
    assert len(output) > 50


def test_slabinfo_says_the_same():
    try:
        rows = [line.split() for line in SLABINFO.read_text().splitlines()[2:]]
    except OSError as error:
        pytest.skip(f"/proc/slabinfo cannot be read: {error.strerror}")
    known = {cache.name for cache in caches()}
    output = {row[0]: tuple(map(int, row[3:6])) for row in rows if row[0] in known}
    for name, (size, objects, pages) in output.items():
        slab = slabs.slab_of_order(size, pages.bit_length() - 1)
        assert slab.objects == objects, name
    assert len(output) > 50
