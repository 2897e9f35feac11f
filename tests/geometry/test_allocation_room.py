"""What an object takes of its allocator, and how much it can grow, by SLUB's rules written out again."""

from __future__ import annotations

import pytest

from layoutlint.geometry.allocation_room import AllocationRoom, allocation_room
from layoutlint.geometry.layout import Layout
from layoutlint.model.storage import ANY, Storage
from layoutlint.model.structs import Source
from tests.commands.test_allocation_room import slab
from tests.harness.build import flexible, member, struct

HERE = Source("r.toml", 1)


def room(size: int, word: str, **more: object) -> AllocationRoom | None:
    layout = Layout(struct("s", size, member("a", 0, 8)))
    return allocation_room(layout, Storage(word, HERE, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "more", "block", "slack"), [
    (8, {}, 8, 0), (96, {}, 96, 0), (100, {}, 128, 28), (8192, {}, 8192, 0), (24, {"array": 4}, 96, 0), (24, {"array": 5}, 128, 8),
])  # fmt: skip
def test_classes_of_kmalloc(size, more, block, slack):
    assert room(size, "kmalloc", **more) == AllocationRoom("kmalloc", block, slack)


@pytest.mark.parametrize(("size", "word", "more"), [
    (8200, "kmalloc", {}), (24, "kmalloc", {"array": ANY}), (24, "static", {}), (0, "slab", {}), ((4 << 20) + 8, "slab", {}),
])  # fmt: skip
def test_none(size, word, more):
    assert room(size, word, **more) is None


def test_the_largest_slab():
    """Of 2^10 pages; of a flexible array nobody knows the size."""
    found = room(4 << 20, "slab")
    assert found is not None
    assert [row.slab.order for row in found.slabs] == [10]
    assert allocation_room(Layout(struct("s", 8, member("a", 0, 8), flexible("b", 8))), Storage("slab", HERE)) is None


def limit(size: int, cpus: int) -> int | None:
    """The bytes by which a struct can grow, by trying; None for more than 64 KiB."""
    order, objects = slab(size, cpus)
    for growth in range(8, (1 << 16) + 8, 8):
        grown = slab(size + growth, cpus)
        if grown[0] > order or grown[1] < objects:
            return growth - 8
    return None


@pytest.mark.parametrize("size", [8, 96, 160, 192, 632, 1000, 2048, 2056, 4104, 5000, 32_768, 32_776, 65_544, 65_536, 131_080])
def test_slabs(size):
    """For every number of CPUs, up to the 8192 that Linux can have."""
    found = room(size, "slab")
    assert found is not None
    assert [row.fewest_cpus for row in found.slabs] == [1, *(row.most_cpus + 1 for row in found.slabs[:-1])]
    assert found.slabs[-1].most_cpus == 8192
    for row in found.slabs:
        for cpus in (row.fewest_cpus, row.most_cpus):
            assert (row.slab.order, row.slab.objects) == slab(size, cpus)
        assert row.room == limit(size, row.fewest_cpus)


def test_a_stated_distance_leaves_no_room():
    found = room(100, "slab", stride=128)
    assert found is not None
    assert {(row.slab.stride, row.room) for row in found.slabs} == {(128, None)}
