"""The members of one struct as pahole sees them: units of bit-fields, and the holes behind members."""

from __future__ import annotations

from dataclasses import dataclass

from layoutlint.model.structs import Field
from layoutlint.reports.show.c_types import unit_size


@dataclass(slots=True)
class Member:
    """A member with its first byte (of the storage unit, for a bit-field) from the start of its struct."""

    field: Field
    start: int
    size: int | None
    """Bytes in the member or its storage unit; None when not known."""
    bit: int | None = None
    """Bits from the start of the storage unit; None when it is no bit-field."""
    hole: int = 0
    """Bytes behind it that no member covers."""
    bit_hole: int = 0
    """Bits of its unit behind it that no member covers."""
    padding: int = 0
    """Bytes of padding at the end of its struct type."""
    unit_end: int = 0
    """One past the last byte of the storage unit that is open behind it; 0 when it is no bit-field."""
    forced: int | None = None
    """Its alignment in bytes, when that is more than its type asks for."""

    @property
    def bits(self) -> int | None:
        """Its length in bits when it is a bit-field."""
        return None if self.bit is None else self.field.bit_size


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between the braces of one struct or union."""

    members: tuple[Member, ...]
    padding: int = 0
    bit_padding: int = 0


def block(fields: tuple[Field, ...], bit_size: int | None, pointer_size: int) -> Block:
    """The members of a struct of `bit_size` bits, with the holes between them."""
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
    return Block(members, bit_size // 8 - walk.seen // 8, bit_padding)


def unholed(fields: tuple[Field, ...], pointer_size: int) -> Block:
    """The members of a union."""
    return Block(tuple(_member(field, pointer_size) for field in fields))


def natural(field: Field) -> int:
    """The alignment that a member's type asks for by itself, in bytes, without `aligned` inside it."""
    if field.is_bitfield:
        return 1
    if field.aggregate is not None:
        return max((natural(inner) for inner in field.members), default=1)
    size = _element_size(field)
    if not size or field.align is None:
        return field.align or 1
    return min(field.align, size & -size)


def _element_size(field: Field) -> int:
    """Bytes in a member, or in one element of an array; 0 when not known."""
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


@dataclass(slots=True)
class _Walk:
    """Goes over the members in declared order; `seen` is one past the last bit covered so far."""

    seen: int = 0
    unit_end: int | None = None
    """One past the last bit of the storage unit that bit-fields are being put into."""
    unit_bits: int = 0

    def step(self, member: Member) -> tuple[int, int]:
        """The whole bytes, and the bits, that lie between what was seen and this member."""
        start = member.field.bit_offset
        bits = self._leave_unit(start)
        if member.bit is None:
            hole = start // 8 - self.seen // 8
            self.seen = start + (member.field.bit_size or 0)
            self.unit_end, self.unit_bits = None, 0
            return hole, bits
        hole, unit_start = 0, member.start * 8
        if self.seen < unit_start <= start:
            hole = member.start - self.seen // 8
            self.seen = unit_start
        bits += start - self.seen
        self.seen = start + (member.field.bit_size or 0)
        self._enter_unit(member)
        return hole, bits

    def _leave_unit(self, start: int) -> int:
        """The bits that the unit has left before `start`; they count as seen from then on."""
        if self.unit_end is None:
            return 0
        end = min(self.unit_end, start)
        left, self.seen = end - self.seen, end
        return left

    def _enter_unit(self, member: Member) -> None:
        """A bit-field opens a unit, or widens the one that it stands in."""
        bits = (member.size or 0) * 8
        if self.unit_end is None or self.seen > self.unit_end or bits > self.unit_bits:
            self.unit_bits, self.unit_end = bits, member.start * 8 + bits
            if self.seen > self.unit_end:
                self.unit_end += bits
        member.unit_end = self.unit_end // 8

    def finish(self, bit_size: int) -> int:
        """The bits that the last unit has left at the end of the struct."""
        return self._leave_unit(bit_size)
