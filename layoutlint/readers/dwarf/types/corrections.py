"""Corrections of members whose positions or sizes compilers wrote wrongly or ambiguously."""

from __future__ import annotations

from typing import Final

from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Unstated
from layoutlint.readers import scalars

_GCC_ROUNDING: Final = 64
"""Bits to which gcc up to 2.96 rounded the positions of `double` and `long long`."""


def move_to_start(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the members of a union, all at its start.

    GCC does not write the byte from which it counts for a bit-field whose type is aligned to less than its
    size (DWARF 4).
    """
    if not any(field.bit_offset for field in fields if field.is_bitfield):
        return fields
    return tuple([replace(field, bit_offset=0) if field.is_bitfield else field for field in fields])


def drop_doubtful_sizes(
    fields: tuple[Field, ...], bit_size: int, is_union: bool, unstated: int, can_round: bool
) -> tuple[Field, ...]:
    """Return the members of a struct, without the sizes of those that may be larger than they seem.

    `unstated` holds `Unstated` flags; `can_round` states that they can include atomic types, rounded up.
    """
    is_whole_hidden = bool(unstated & Unstated.WHOLE)
    sizes = [_larger_sizes(member, is_whole_hidden) if can_round else () for member in fields]
    larger = scalars.may_be_larger(fields, [min(each, default=0) for each in sizes], bit_size, is_union)
    straddling = [False] * len(fields)
    if is_whole_hidden:
        straddling = scalars.may_straddle(fields, bit_size, is_union)
    if not any(larger) and not any(straddling):
        return fields
    return tuple(
        replace(member, bit_size=None, possible_bits=_possible_bits(member, own, can_straddle))
        if can_straddle or is_doubtful
        else member
        for member, own, is_doubtful, can_straddle in zip(fields, sizes, larger, straddling, strict=True)
    )


def _possible_bits(member: Field, larger: tuple[int, ...], can_straddle: bool) -> tuple[int, ...]:
    """Return the two sizes that a member can have; none if there are others."""
    return () if can_straddle or len(larger) > 1 or not member.bit_size else (member.bit_size, *larger)


def _larger_sizes(member: Field, is_old_clang: bool) -> tuple[int, ...]:
    """Return the bits that a member can have instead of its stated ones.

    Clang rounds an array up to the alignment of its elements, if a typedef aligns these to more than their
    size; since clang 16 only if the elements are arrays (ASTContext::getTypeInfoImpl()).
    """
    sizes = [_rounded_bits(member)]
    typedef_dims = len(member.dims) - member.type.right.count("[")
    is_affected = is_old_clang or (typedef_dims > 0 and len(member.dims) > 1)
    if member.dims and member.underlying_types and is_affected and (bits := member.bit_size):
        sizes.append(bits + (bits & -bits))
    return tuple(sorted({size for size in sizes if size}))


def resolve_overlaps(fields: tuple[Field, ...], end: int) -> tuple[Field, ...]:
    """Return the members without overlaps that can be resolved in only one way.

    GCC up to 2.96 rounded the positions of `double` and `long long` up to 8 bytes, on i386 as well, where
    they are aligned to 4. C keeps members in order and apart: members that fill all space between the
    previous and the next member (or the end of the struct, in bits) have only one possible position.
    """
    reached = 0
    for field in fields:
        if field.bit_offset < reached:
            break
        reached = field.bit_offset + (field.bit_size or 0)
    else:  # as nearly always
        if reached <= end:
            return fields
    corrected = list(fields)
    for index, field in enumerate(fields):
        stop = fields[index + 1].bit_offset if index + 1 < len(fields) else end
        if field.bit_offset + (field.bit_size or 0) > stop and field.bit_offset < stop:
            _fill(corrected, index, stop)
    return (
        tuple(corrected)
        if any(new is not old for new, old in zip(corrected, fields, strict=True))
        else fields
    )


def _fill(fields: list[Field], last: int, stop: int) -> None:
    """Move the members up to `last` if together they exactly fill the space before `stop`, in bits."""
    need = 0
    for first in range(last, -1, -1):
        if (
            fields[first].is_bitfield
            or fields[first].bit_offset % _GCC_ROUNDING
            or not fields[first].bit_size
        ):
            return
        need += fields[first].bit_size or 0
        previous = fields[first - 1] if first else None
        start = previous.bit_offset + (previous.bit_size or 0) if previous else 0
        if start + need == stop:
            for index in range(first, last + 1):
                fields[index] = replace(fields[index], bit_offset=start)
                start += fields[index].bit_size or 0
        if start + need <= stop:
            return


def _rounded_bits(member: Field) -> int:
    """Return the bits of a member whose struct clang rounds up if that is atomic; 0 if it does not."""
    if member.aggregate is None or member.bit_size is None or member.is_bitfield:
        return 0
    count = 1
    for dimension in member.dims:
        count *= dimension or 0
    return scalars.atomic_bits(member.bit_size // count) * count if count else 0
