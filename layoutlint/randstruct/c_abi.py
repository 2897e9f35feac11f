"""Offsets of members in some order, by the rules of C compilers.

All TARGETS place bit-fields so that none crosses more units of its declared type than it fills
(PCC_BITFIELD_TYPE_MATTERS in GCC), and packed ones without gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from layoutlint.model.declared import Member
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field
from layoutlint.model.target import Target

_UNITS = {
    "char": 1, "signed char": 1, "unsigned char": 1, "_Bool": 1, "short int": 2, "short unsigned int": 2,
    "int": 4, "unsigned int": 4, "long long int": 8, "long long unsigned int": 8,
}  # fmt: skip
PRAGMAS = (1, 2, 4, 8)
"""Arguments of `#pragma pack` in bytes; larger ones reduce no alignment."""


class CannotLayOut(Exception):
    """Raised if the input lacks a fact that a layout depends on. The text is the end of a sentence."""


class MemberLayout(Record, frozen=True):
    """The offsets and size of members in bits, in the given order, and the alignment in bytes."""

    offsets: tuple[int, ...]
    bit_size: int
    align: int


class Rules(Record, frozen=True):
    """The properties of a type that its layout depends on, except its members."""

    target: Target
    is_union: bool = False
    stated: int | None = None
    """The alignment in bytes that the type declares or already has."""
    pragma: int | None = None
    """The bytes of `#pragma pack`; None for none."""

    def lay_out(self, members: Sequence[Member]) -> MemberLayout:
        """Return the layout of members in their order. Raises CannotLayOut if too little is known of one."""
        end = reached = 0
        align = self.stated or 1
        offsets: list[int] = []
        for member in map(_require_known, members):
            start = 0 if self.is_union else self._start_of(member, end)
            offsets.append(start)
            end = start + member.bit_size
            reached = max(reached, end)
            align = max(align, self._alignment_given(member))
        return MemberLayout(tuple(offsets), round_up(reached, align * 8), align)

    def start(self, member: Member, end: int) -> int:
        """Return the offset in bits of a member after one that ends at bit `end`. Raises CannotLayOut."""
        return self._start_of(_require_known(member), end)

    def _start_of(self, member: _KnownMember, end: int) -> int:
        if member.unit and not member.bit_size:
            # Packing does not affect `int : 0`.
            return round_up(end, max(member.align, member.asked_align) * 8)
        end = (
            round_up(end, self._least_alignment(member) * 8) if member.asked_align or not member.unit else end
        )
        if not member.unit or member.is_packed or self.pragma:
            return end
        step = member.align * 8
        crosses = (end % step + member.bit_size + step - 1) // step > member.unit * 8 // step
        return round_up(end, step) if crosses else end

    def _least_alignment(self, member: _KnownMember) -> int:
        """Return the minimum alignment of a member's place.

        A member's own alignment overrides `packed`, but not the pragma.
        """
        of_type = 1 if member.is_packed or member.unit else member.align
        least = max(of_type, member.asked_align)
        return min(least, self.pragma) if self.pragma else least

    def _alignment_given(self, member: _KnownMember) -> int:
        """Return the alignment that a member gives to its struct."""
        if not member.unit:
            return self._least_alignment(member)
        if not member.is_named and self.target.name not in _ALIGNED_BY_UNNAMED:
            return 1
        if not member.bit_size:
            return member.align
        of_type = 1 if member.is_packed else min(member.align, self.pragma or member.align)
        return max(of_type, self._least_alignment(member))


_ALIGNED_BY_UNNAMED = ("aarch64", "aarch64_be", "arm", "armeb")
"""Targets whose unnamed bit-fields align their struct (AAPCS, "Bit-fields")."""


class _KnownMember(NamedTuple):
    """A Member without unknown values."""

    bit_size: int
    align: int
    asked_align: int
    unit: int
    is_packed: bool
    is_named: bool


def _require_known(member: Member) -> _KnownMember:
    if member.bit_size is None:
        raise CannotLayOut(f"the size of `{member.name}` is not known")
    if member.align is None or member.requested_align is None:
        raise CannotLayOut(f"the alignment of `{member.name}` is not known")
    named = member.name is not None
    return _KnownMember(
        member.bit_size, member.align, member.requested_align, member.unit, member.is_packed, named
    )


def relayout(members: Sequence[Member], layout: MemberLayout, target: Target) -> list[Member]:
    """Return members as GCC lays them out a second time.

    Bit-fields then have the smallest integer types that hold them (c_build_bitfield_integer_type), and those
    that filled such an integer at their first place are placed like it (layout_decl). The alignment from `int
    : 0` stays.
    """
    return [
        _relayout_member(member, offset, target)
        for member, offset in zip(members, layout.offsets, strict=True)
    ]


def _relayout_member(member: Member, offset: int, target: Target) -> Member:
    if not member.unit:
        return member
    known_member = _require_known(member)
    size = narrow(known_member.bit_size)
    align = min(size, target.max_align)
    if not known_member.bit_size:
        return replace(
            member, unit=size, align=align, requested_align=max(known_member.align, known_member.asked_align)
        )
    is_whole = known_member.bit_size == size * 8 and offset % known_member.bit_size == 0
    is_whole = is_whole and (known_member.bit_size == 8 or not known_member.is_packed)
    return replace(
        member,
        unit=size,
        align=align,
        requested_align=max(known_member.asked_align, align) if is_whole else known_member.asked_align,
    )


def member_of(field: Field, target: Target, is_packed: bool = False) -> Member:
    """Return the member for a Field, with unknown values: its own alignment is part of the field's.

    Raises CannotLayOut if the type of a bit-field is unknown.
    """
    align = field.align
    if field.is_bitfield:
        return Member(field.name, field.bit_size, align, unit=_unit_size(field, target), is_packed=is_packed)
    size = _element_size(field)
    natural = min(size & -size, target.max_align)
    is_asked = align is not None and natural and field.aggregate is None and align > natural
    return Member(field.name, field.bit_size, align, align if is_asked else 0, is_packed=is_packed)


def narrow(bits: int) -> int:
    """Return the bytes of the smallest integer that holds a number of bits."""
    size = 1
    while size * 8 < bits:
        size *= 2
    return size


def _element_size(field: Field) -> int:
    """Return the bytes of a member, for an array of one element; 0 for an array without elements."""
    count = 1
    for dimension in field.dims:
        count *= dimension or 0
    return (field.bit_size or 0) // 8 // count if count else 0


def _unit_size(field: Field, target: Target) -> int:
    """Return the bytes of the declared type of a bit-field."""
    align = field.align or 1
    if align < target.max_align or align >= 8:
        return align
    name = field.type.left.removeprefix("const ").removeprefix("volatile ")
    if name in _UNITS:
        return _UNITS[name]
    if name in ("long int", "long unsigned int"):
        return target.pointer_size
    if name.startswith("enum "):
        return 4
    raise CannotLayOut(f"the size of `{name}`, the type of bit-field `{field.name}`, is not known")


def round_up(value: int, step: int) -> int:
    """Round up to the next multiple of a step."""
    return -(-value // step) * step
