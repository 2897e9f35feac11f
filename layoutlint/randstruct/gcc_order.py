"""The orders that GCC's plugin generates (Linux, scripts/gcc-plugins/randomize_layout_plugin.c)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from layoutlint.model.record import Record
from layoutlint.model.structs import Field
from layoutlint.randstruct.c_abi import narrow
from layoutlint.randstruct.generators import Draw

_GROUP = 64
"""Bytes of members after which performance mode closes a group."""


class Behaviour(Record, frozen=True):
    """The differences between the plugins of Linux versions."""

    stays_in_group: bool = True
    """Whether performance mode keeps members in their groups ("randstruct: Fix gcc-plugin performance mode to
    stay in group", 381fdb73d1e2)."""
    keeps_flexible_only: bool = True
    """Whether only true flexible arrays stay last (1ee60356c2dc)."""
    opens_structs: bool = True
    """Whether a struct of function pointers may contain others of the kind (60f2c82ed20b)."""
    opens_shuffled: bool = True
    """Whether it may contain one that is itself shuffled, and no longer starts with a void (e136a4062174)."""


NEWEST = Behaviour()


def is_kept_last(member: Field, how: Behaviour) -> bool:
    """Return whether a last member stays last: a flexible array; in older plugins also an array of 0 or 1
    elements.
    """
    if not member.dims:
        return False
    if member.dims[0] is None or how.keeps_flexible_only:
        return member.dims[0] is None
    return member.dims[0] == 1 or not member.bit_size


def order(fields: Sequence[Field], draw: Draw, performance: bool, how: Behaviour) -> list[int]:
    """Return the declared positions of the members in their new order."""
    positions = list(range(len(fields)))
    count = len(fields)
    if fields and is_kept_last(fields[-1], how):
        count -= 1
    if performance:
        _shuffle_groups(positions, fields, count, draw, how.stays_in_group)
    else:
        for at in range(count - 1, 0, -1):
            _swap(positions, at, draw() % (at + 1))
    return positions


def type_size(member: Field) -> int:
    """Return the bytes of a member's type; for a bit-field, of the integer to which GCC narrows it."""
    bits = member.bit_size or 0
    return narrow(bits) if member.is_bitfield else bits // 8


def groups(fields: Sequence[Field], count: int) -> list[tuple[int, int]]:
    """Return the start and length of each group of members that fills a line."""
    groups: list[tuple[int, int]] = []
    start = size = 0
    for at in range(count):
        size += type_size(fields[at])
        if size >= _GROUP:
            groups.append((start, at + 1 - start))
            start, size = at + 1, 0
    return groups if start == count else [*groups, (start, count - start)]


def _shuffle_groups(
    positions: list[int], fields: Sequence[Field], count: int, draw: Draw, stays_in_group: bool
) -> None:
    """Shuffle groups, and the members in each; bit-fields keep their places.

    Without `stays_in_group`, a member is swapped with any before it, also of other groups.
    """
    shuffled = groups(fields, count)
    for last in range(len(shuffled) - 1, 0, -1):
        _swap(shuffled, last, draw() % (last + 1))
    for start, length in shuffled:
        lowest = start if stays_in_group else 0
        for at in range(start + length - 1, start, -1):
            if fields[positions[at]].is_bitfield:
                continue
            other = lowest + draw() % (at - lowest + 1)
            if not fields[positions[other]].is_bitfield:
                _swap(positions, at, other)


def _swap(items: list[Any], one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]
