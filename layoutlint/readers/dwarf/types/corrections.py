"""Places and sizes of members that compilers wrote wrongly, or in a way that leaves them open."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from layoutlint.model.structs import Field, Unstated
from layoutlint.readers import scalars

_ROUNDED: Final = 64
"""Bits to which gcc up to 2.96 rounded the places of `double` and `long long`."""


def from_start(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the members of a union, all of which start with it.

    GCC does not write the byte from which it counts to a bit-field whose type is aligned to less than
    its size (DWARF 4).
    """
    if not any(field.bit_offset for field in fields if field.is_bitfield):
        return fields
    return tuple([replace(one, bit_offset=0) if one.is_bitfield else one for one in fields])


def unsized(
    fields: tuple[Field, ...], bit_size: int, is_union: bool, unstated: int, can_round: bool
) -> tuple[Field, ...]:
    """Return the members of a struct, without the sizes of those that may be larger than they seem.

    `unstated` holds `Unstated` flags; `can_round` says that atomic types can be among them, rounded up.
    """
    is_whole_hidden = bool(unstated & Unstated.WHOLE)
    doubtful = [False] * len(fields)
    if can_round:
        larger = [_larger(one, is_whole_hidden) for one in fields]
        doubtful = scalars.may_be_larger(fields, larger, bit_size, is_union)
    if is_whole_hidden:
        straddling = scalars.may_straddle(fields, bit_size, is_union)
        doubtful = [one or other for one, other in zip(doubtful, straddling, strict=True)]
    if not any(doubtful):
        return fields
    pairs = zip(fields, doubtful, strict=True)
    return tuple([replace(one, bit_size=None) if is_doubtful else one for one, is_doubtful in pairs])


def _larger(member: Field, is_old_clang: bool) -> int:
    """The least bits that a member can have instead of those that it seems to; 0 for none.

    Clang rounds an array up to the alignment of its elements, where a typedef aligns these to more than
    their size, which it takes of arrays, and before 16 of all (ASTContext::getTypeInfoImpl()).
    """
    sizes = [_rounded(member)]
    inside = len(member.dims) - member.type.right.count("[")
    is_taken = is_old_clang or (inside > 0 and len(member.dims) > 1)
    if member.dims and member.stands_for and is_taken and (bits := member.bit_size):
        sizes.append(bits + (bits & -bits))
    return min(filter(None, sizes), default=0)


def settled(fields: tuple[Field, ...], end: int) -> tuple[Field, ...]:
    """Return members of which none overlaps the next, where only one place is left for each that does.

    GCC up to 2.96 rounded the places of `double` and `long long` up to 8 bytes, on i386 as well, where they
    are aligned to 4. C keeps members in order and apart: those that fill all that is free between the member
    before and the member behind (or the end of the struct, in bits) can stand nowhere else.
    """
    settled = list(fields)
    for index, field in enumerate(fields):
        stop = fields[index + 1].bit_offset if index + 1 < len(fields) else end
        if field.bit_offset + (field.bit_size or 0) > stop and field.bit_offset < stop:
            _fill(settled, index, stop)
    return tuple(settled) if any(new is not old for new, old in zip(settled, fields, strict=True)) else fields


def _fill(fields: list[Field], last: int, stop: int) -> None:
    """Move the members up to `last` that leave no room before a place in bits, where there are such."""
    need = 0
    for first in range(last, -1, -1):
        if fields[first].is_bitfield or fields[first].bit_offset % _ROUNDED or not fields[first].bit_size:
            return
        need += fields[first].bit_size or 0
        before = fields[first - 1] if first else None
        start = before.bit_offset + (before.bit_size or 0) if before else 0
        if start + need == stop:
            for index in range(first, last + 1):
                fields[index] = replace(fields[index], bit_offset=start)
                start += fields[index].bit_size or 0
        if start + need <= stop:
            return


def _rounded(member: Field) -> int:
    """The bits of a member whose struct clang rounds up, if that is atomic; 0 where it does not."""
    if member.aggregate is None or member.bit_size is None or member.is_bitfield:
        return 0
    count = 1
    for dimension in member.dims:
        count *= dimension or 0
    return scalars.atomic_bits(member.bit_size // count) * count if count else 0
