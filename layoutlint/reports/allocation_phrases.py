"""Phrases on slabs, shared by `show` and `diff`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.geometry.allocation_room import SlabRow, allocation_room
from layoutlint.geometry.allocators import class_name
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.slab_pages import MOST_CPUS, Slab
from layoutlint.model.storage import PAGE, Storage
from layoutlint.phrases import quantity


def cpus(fewest: int, most: int) -> str:
    """Return a range of numbers of CPUs: `with up to 31 CPUs`."""
    if most == MOST_CPUS:
        return "with any number of CPUs" if fewest == 1 else f"with {fewest:,} CPUs or more"
    return (
        f"with up to {most:,} CPU{'s' if most > 1 else ''}"
        if fewest == 1
        else f"with {fewest:,} to {most:,} CPUs"
    )


def slab_size(slab: Slab) -> str:
    """Return the size of a slab: `4 KiB slab`."""
    return f"{(PAGE << slab.order) // 1024} KiB slab"


def rooms(layout: Layout, storages: Iterable[Storage], min_align: int | None) -> Iterator[str]:
    """Yield what an object takes of each allocator that it comes from, and by how much it can grow."""
    for storage in storages:
        room = allocation_room(layout, storage, min_align)
        if room is not None and room.block is not None:
            yield f"allocated by kmalloc: {class_name(room.block)}, {quantity(room.slack or 0, 'byte')} left"
        elif room is not None:
            yield f"in slabs: {'; '.join(map(_slab_row, room.slabs))}"


def _slab_row(row: SlabRow) -> str:
    room = "" if row.room is None else f", {quantity(row.room, 'byte')} left"
    objects = f"{quantity(row.slab.objects, 'object')} per {slab_size(row.slab)}"
    return f"{cpus(row.fewest_cpus, row.most_cpus)} {objects} (order {row.slab.order}){room}"
