"""The bytes that an allocator takes for an object, before and after a change of its struct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from layoutlint.comparison.layouts import LayoutChange, Presence
from layoutlint.geometry.allocation_room import AllocationRoom, allocation_room
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.slab_pages import Slab
from layoutlint.model.record import Record
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Source


class Allocators(Record, frozen=True):
    """Where objects come from, as far as rule files and sources state it."""

    storages: Mapping[str, tuple[Storage, ...]] = {}
    """The placements of structs, by name."""
    is_kernel: bool = False
    """Whether the inputs are Linux kernels, where kmalloc is likely for structs without a statement."""
    min_align: int | None = None
    """The smallest alignment of an object in bytes; None for the target's."""


class SlabChange(Record, frozen=True):
    """The slabs of a struct on machines with some numbers of CPUs."""

    fewest_cpus: int
    most_cpus: int
    old: Slab
    new: Slab
    room: int | None
    """The bytes by which it can grow now without another order or fewer objects; None if not known."""


class RoomChange(Record, frozen=True):
    """The bytes that an allocator takes for an object, before and now."""

    is_assumed: bool
    """Whether nothing states that it comes from this allocator."""
    old: AllocationRoom
    new: AllocationRoom

    @property
    def slabs(self) -> tuple[SlabChange, ...]:
        """The slabs before and now, by the number of CPUs."""
        return tuple(
            SlabChange(
                max(a.fewest_cpus, b.fewest_cpus), min(a.most_cpus, b.most_cpus), a.slab, b.slab, b.room
            )
            for a in self.old.slabs
            for b in self.new.slabs
            if a.fewest_cpus <= b.most_cpus and b.fewest_cpus <= a.most_cpus
        )


_ASSUMED = Storage("kmalloc", Source(""))


def room_changes(change: LayoutChange, allocators: Allocators) -> Iterator[RoomChange]:
    """Yield what an object takes of each allocator that it comes from; nothing if its size is as before.

    In a kernel, kmalloc is assumed for a struct whose allocator nothing states.
    """
    if change.presence is not Presence.BOTH or change.old is None or change.new is None:
        return
    if change.old.bit_size == change.new.bit_size or change.struct.aggregate != "struct":
        return
    stated = allocators.storages.get(change.name)
    storages = stated or ((_ASSUMED,) if allocators.is_kernel and stated is None else ())
    for storage in storages:
        rooms = [
            allocation_room(Layout(struct), storage, allocators.min_align)
            for struct in (change.old, change.new)
        ]
        if rooms[0] is not None and rooms[1] is not None:
            yield RoomChange(not stated, rooms[0], rooms[1])
