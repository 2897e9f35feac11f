"""How far a struct can grow before it takes more: another line, or a larger block of its allocator."""

from __future__ import annotations

from layoutlint.geometry.allocators import AllocationRequest, kmalloc_class
from layoutlint.model.record import Record


class Room(Record, frozen=True):
    """The unit that holds a struct, and the bytes that are left in it."""

    size: int
    """Bytes of the unit: a kmalloc class, or whole lines."""
    left: int


def kmalloc_room(request: AllocationRequest) -> Room:
    """Return the kmalloc class that holds an object, and how many bytes it leaves."""
    size = kmalloc_class(request.size, request.smallest_class)
    return Room(size, size - request.size)


def line_room(size: int, line_size: int) -> Room:
    """Return the lines that hold an object at the start of a line, and how many bytes they leave."""
    lines = -(-size // line_size) * line_size
    return Room(lines, lines - size)
