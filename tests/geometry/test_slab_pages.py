"""Slabs as SLUB's rules, written out again, give them, for many sizes; and what SLAB_HWCACHE_ALIGN aligns to."""

from __future__ import annotations

import pytest

from layoutlint.geometry.allocators import AllocationRequest
from layoutlint.geometry.slab_pages import compute_slab, hwcache_alignment, object_stride, slab_of_order
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source
from layoutlint.model.target import target_named
from tests.commands.test_allocation_room import slab

SIZES = sorted({*range(8, 512, 8), *range(512, 40_000, 248), *(4096 * n + d for n in range(1, 9) for d in (-8, 0, 8))})


@pytest.mark.parametrize("cpus", [1, 2, 3, 4, 16, 64, 1023, 8192])
def test_orders_and_objects(cpus):
    found = {size: compute_slab(size, cpus) for size in SIZES}
    assert {size: (each.order, each.objects) for size, each in found.items()} == {size: slab(size, cpus) for size in SIZES}


@pytest.mark.parametrize(("stride", "order", "page", "objects"), [
    (64, 0, 4096, 64), (64, 1, 4096, 128), (4096, 0, 4096, 1), (4104, 0, 4096, 0), (4104, 1, 4096, 1), (64, 0, 16384, 256),
])  # fmt: skip
def test_a_slab_of_a_known_order(stride, order, page, objects):
    assert slab_of_order(stride, order, page).objects == objects


@pytest.mark.parametrize(("size", "line", "align"), [
    # half of the alignment, until the object fills more than half of it: calculate_alignment()
    (65, 64, 64), (64, 64, 64), (33, 64, 64), (32, 64, 32), (17, 64, 32), (16, 64, 16), (8, 64, 8), (2, 64, 2), (1, 64, 1),
    (64, 128, 64), (65, 128, 128),
])  # fmt: skip
def test_alignment_to_the_line(size, line, align):
    assert hwcache_alignment(size, line) == align


HERE = Source("r.toml", 1)


@pytest.mark.parametrize(("storage", "size", "stride"), [
    (None, 24, 24), (None, 20, 24), (Storage("slab", HERE), 40, 40), (Storage("slab", HERE, align=64), 40, 64),
    (Storage("line", HERE), 40, 64), (Storage("line", HERE), 24, 32), (Storage("line", HERE, array=3), 24, 128),
    (Storage(None, HERE, align=16), 40, 48),
])  # fmt: skip
def test_the_distance_of_objects(storage, size, stride):
    assert object_stride(storage, AllocationRequest(size, 4, target_named("x86_64"))) == stride
