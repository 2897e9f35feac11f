"""Bytes of a struct at which an access to a field can start, as bits of one number each.

A number with a bit for each byte makes it cheap to try all placements of a struct against the offsets that a
profiler saw on a cache line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import prod

from layoutlint.geometry.layout import Layout, Place
from layoutlint.model.record import Record
from layoutlint.model.structs import Field

LARGEST = 1 << 22
"""Bytes of the largest struct whose masks are made; task_struct has 10,000."""
_MOST_STEPS = 2_000_000
_DIMENSIONS = re.compile(r"^(?:\[\d*\])+")


class Masks(Record, frozen=True):
    """Bytes of a struct, as the bits of numbers; bit 0 is its first byte."""

    starts: int
    """Bytes at which a field starts, an element of an array, or the unit of a bit-field."""
    inside: int
    """These, and the bytes inside integers and bit-fields: code can access a part of them.

    Pointers, floating-point numbers and padding are accessed whole, or never.
    """


class TooLarge(Exception):
    """Raised for a struct that is too large for masks."""


def access_masks(layout: Layout) -> Masks:
    """Return the masks of a struct; a flexible array is not part of them. Raises TooLarge."""
    if layout.size > LARGEST:
        raise TooLarge
    starts, inside = _member_masks(layout.struct.fields, [_MOST_STEPS])
    limit = (1 << layout.size) - 1
    return Masks(starts & limit, inside & limit)


Parts = Callable[[Field], tuple[Field, ...] | None]
"""Returns the wanted parts of a field: the field itself, some of its members, or None if it is not wanted."""


def parts_mask(layout: Layout, parts: Parts) -> int:
    """Return the bytes of all wanted parts of fields, at any depth. Raises TooLarge."""
    if layout.size > LARGEST:
        raise TooLarge
    return _wanted_mask(layout.struct.fields, parts, [_MOST_STEPS])


def _member_masks(members: Iterable[Field], steps: list[int]) -> tuple[int, int]:
    starts = inside = 0
    for member in members:
        steps[0] -= 1
        if steps[0] < 0:
            raise TooLarge
        if member.bit_size is None or member.is_flexible:
            continue
        if member.is_bitfield:
            own = _bit_field_mask(member)
            starts, inside = starts | own[0], inside | own[1]
            continue
        at, count = member.bit_offset // 8, prod(length or 0 for length in member.dims)
        size = member.bit_size // 8 // count if count else 0
        if size == 0:
            continue
        own = _member_masks(member.members, steps) if member.members else _scalar_masks(member, size)
        repeated = ((1 << size * count) - 1) // ((1 << size) - 1) if count > 1 else 1
        starts |= own[0] * repeated << at
        inside |= own[1] * repeated << at
    return starts, inside


def _scalar_masks(member: Field, size: int) -> tuple[int, int]:
    return 1, 1 if _is_whole(member) else (1 << size) - 1


def _is_whole(member: Field) -> bool:
    """Return whether code accesses a field as a whole only: a pointer, or a floating-point number."""
    texts = [_DIMENSIONS.sub("", str(ctype)) for ctype in (member.type, *member.underlying_types)]
    return member.is_function_pointer or any("*" in text or _FLOATING.search(text) for text in texts)


_FLOATING = re.compile(r"\b(?:float|double)\b")


def _bit_field_mask(member: Field) -> tuple[int, int]:
    """Return the masks of a bit-field: compilers access its bytes, or the unit of its declared type."""
    first, end = member.bit_offset // 8, (member.bit_offset + (member.bit_size or 0) + 7) // 8
    unit = first // member.align * member.align if member.align else first
    covered = ((1 << end - first) - 1) << first if end > first else 0
    return 1 << first | 1 << unit, covered | 1 << unit


def _wanted_mask(members: Iterable[Field], parts: Parts, steps: list[int]) -> int:
    mask = 0
    for member in members:
        steps[0] -= 1
        if steps[0] < 0:
            raise TooLarge
        if not member.bit_size or member.is_bitfield:
            continue
        at, size = member.bit_offset // 8, member.bit_size // 8
        count = prod(length or 0 for length in member.dims)
        stride = size // count if count else 0
        if not stride:
            continue
        wanted = parts(member)
        if wanted is None:
            own = _wanted_mask(member.members, parts, steps) if member.members else 0
        else:
            own = _bytes_of(wanted, stride) if wanted != (member,) else (1 << stride) - 1
        mask |= own * (((1 << size) - 1) // ((1 << stride) - 1)) << at
    return mask


def _bytes_of(members: tuple[Field, ...], stride: int) -> int:
    """Return the bytes of members of a struct."""
    mask = 0
    for member in members:
        mask |= ((1 << (member.bit_size or 0) // 8) - 1) << member.bit_offset // 8
    return mask & ((1 << stride) - 1)


def field_at(layout: Layout, byte: int) -> Place | None:
    """Return the innermost field at a byte, the first one of a union; None for padding and bytes outside."""
    places = layout.innermost_fields(byte)
    return next((place for place in places if not place.field.members), None)
