"""Members of a struct in pahole's model: storage units of bit-fields, and holes after members."""

from __future__ import annotations

from layoutlint.model.record import Record
from layoutlint.model.structs import Field
from layoutlint.reports.show.c_types import unit_size


class Member(Record):
    """A member, and the offset of its first byte (for a bit-field, of its storage unit) in its struct."""

    field: Field
    start: int
    size: int | None
    """Bytes in the member or its storage unit; None if unknown."""
    bit: int | None = None
    """Bits from the start of the storage unit; None if it is no bit-field."""
    hole: int = 0
    """Bytes after it that no member covers."""
    bit_hole: int = 0
    """Bits of its storage unit after it that no member covers."""
    padding: int = 0
    """Bytes of padding at the end of its struct type."""
    unit_end: int = 0
    """End (exclusive) of the storage unit that is open after it, in bytes; 0 if it is no bit-field."""
    forced: int | None = None
    """Its alignment in bytes if larger than that of its type; else None."""

    @property
    def bits(self) -> int | None:
        """The width of a bit-field in bits; None for other members."""
        return None if self.bit is None else self.field.bit_size


class Block(Record, frozen=True):
    """The members between the braces of a struct or union, and its padding."""

    members: tuple[Member, ...]
    padding: int = 0
    bit_padding: int = 0


def block(fields: tuple[Field, ...], bit_size: int | None, pointer_size: int) -> Block:
    """Return the members of a struct of `bit_size` bits, with the holes between them."""
    members = tuple(_member(field, pointer_size) for field in fields)
    if bit_size is None:
        return Block(members)
    walk = _Walk()
    last: Member | None = None
    for member in members:
        hole, bit_hole = walk.step(member)
        if last is not None:
            last.hole, last.bit_hole = hole, bit_hole
        last = member
    bit_padding = walk.finish(bit_size)
    return Block(members, bit_size // 8 - walk.covered // 8, bit_padding)


def union_block(fields: tuple[Field, ...], pointer_size: int) -> Block:
    """Return the members of a union."""
    return Block(tuple(_member(field, pointer_size) for field in fields))


def natural(field: Field) -> int:
    """Return the natural alignment of a member's type in bytes, without `aligned` attributes."""
    if field.is_bitfield:
        return 1
    if field.aggregate is not None:
        return max((natural(inner) for inner in field.members), default=1)
    size = _element_size(field)
    if not size or field.align is None:
        return field.align or 1
    return min(field.align, size & -size)


def _element_size(field: Field) -> int:
    """Return the bytes in a member, or in one element of an array; 0 if unknown."""
    size = (field.bit_size or 0) // 8
    for count in field.dims:
        if not count:
            return 0
        size //= count
    return size


def _member(field: Field, pointer_size: int) -> Member:
    if field.is_bitfield:
        size = unit_size(field, pointer_size)
        start = field.bit_offset // (size * 8) * size
        return Member(field, start, size, field.bit_offset - start * 8)
    size_known = None if field.bit_size is None else field.bit_size // 8
    member = Member(field, field.bit_offset // 8, size_known)
    if field.aggregate == "struct" and not field.dims and field.bit_size:
        member.padding = block(field.members, field.bit_size, pointer_size).padding
    if field.align is not None and field.align > natural(field):
        member.forced = field.align
    return member


class _Walk(Record):
    """A pass over the members in declared order; `covered` is the end (exclusive) of the bits so far."""

    covered: int = 0
    unit_end: int | None = None
    """End (exclusive) of the open storage unit of bit-fields, in bits; None if none is open."""
    unit_bits: int = 0

    def step(self, member: Member) -> tuple[int, int]:
        """Return the whole bytes and the bits between the covered bits and a member."""
        start = member.field.bit_offset
        bits = self._leave_unit(start)
        if member.bit is None:
            hole = start // 8 - self.covered // 8
            self.covered = start + (member.field.bit_size or 0)
            self.unit_end, self.unit_bits = None, 0
            return hole, bits
        hole, unit_start = 0, member.start * 8
        if self.covered < unit_start <= start:
            hole = member.start - self.covered // 8
            self.covered = unit_start
        bits += start - self.covered
        self.covered = start + (member.field.bit_size or 0)
        self._enter_unit(member)
        return hole, bits

    def _leave_unit(self, start: int) -> int:
        """Close the storage unit at `start`; return its unused bits, which count as covered now."""
        if self.unit_end is None:
            return 0
        end = min(self.unit_end, start)
        rest, self.covered = end - self.covered, end
        return rest

    def _enter_unit(self, member: Member) -> None:
        """Open a storage unit for a bit-field, or widen the open one."""
        bits = (member.size or 0) * 8
        if self.unit_end is None or self.covered > self.unit_end or bits > self.unit_bits:
            self.unit_bits, self.unit_end = bits, member.start * 8 + bits
            if self.covered > self.unit_end:
                self.unit_end += bits
        member.unit_end = self.unit_end // 8

    def finish(self, bit_size: int) -> int:
        """Return the unused bits of the last storage unit at the end of the struct."""
        return self._leave_unit(bit_size)
