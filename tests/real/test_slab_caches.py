"""The strides of slab caches, as the running kernel has them in /sys/kernel/slab, beside those that placements assume."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.allocators import PAGE, Storage, Wanting, blocks
from layoutlint.model import Source, target_named

CACHES = Path("/sys/kernel/slab")
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


def assumed(cache: Path, has_constructor: bool) -> int:
    """The largest power of two, up to a page, at whose multiples objects are assumed to start."""
    said = Storage("slab", Source("r.toml", 1), number(cache, "align"), has_constructor=has_constructor)
    (step,) = blocks(said, Wanting(number(cache, "object_size"), 1, target_named("x86_64"))).steps
    return step


def test_objects_start_where_the_kernel_puts_them():
    if not any(CACHES.iterdir()) or not (CACHES / "inode_cache" / "object_size").exists():
        pytest.skip("/sys/kernel/slab is empty")
    found, pointers = {}, 0
    for cache in caches():
        stride = number(cache, "slab_size")
        step = min(stride & -stride, PAGE)
        behind = bool((cache / "ctor").read_text().strip()) or number(cache, "destroy_by_rcu") == 1
        allowed = {assumed(cache, behind), assumed(cache, False)} if behind else {assumed(cache, False)}
        if step not in allowed:
            found[cache.name] = (stride, allowed)
        pointers += behind and stride > number(cache, "object_size")
    assert not found
    assert len(caches()) > 50
    assert pointers > 5  # inode_cache, anon_vma ... keep the pointer behind the object
