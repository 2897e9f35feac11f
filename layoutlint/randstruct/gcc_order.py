"""The orders that GCC's plugin makes (Linux, scripts/gcc-plugins/randomize_layout_plugin.c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from layoutlint.model.structs import Field
from layoutlint.randstruct.c_abi import narrowed
from layoutlint.randstruct.generators import Draw

_GROUP = 64
"""Bytes of members after which performance mode closes a group."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """In what the plugins of Linux versions differ."""

    stays_in_group: bool = True
    """Whether performance mode keeps members in their groups ("randstruct: Fix gcc-plugin performance mode to
    stay in group", 381fdb73d1e2)."""
    keeps_flexible_only: bool = True
    """Whether of last members only true flexible arrays stay there (1ee60356c2dc)."""
    opens_structs: bool = True
    """Whether a struct of function pointers may hold others of the kind (60f2c82ed20b)."""
    opens_shuffled: bool = True
    """Whether it may hold one that is shuffled itself, which no more starts with a void (e136a4062174)."""


NEWEST = Behaviour()


def is_kept_last(member: Field, how: Behaviour) -> bool:
    """Whether a last member stays there: a flexible array, once also one of 0 or 1 elements."""
    if not member.dims:
        return False
    if member.dims[0] is None or how.keeps_flexible_only:
        return member.dims[0] is None
    return member.dims[0] == 1 or not member.bit_size


def order(fields: Sequence[Field], draw: Draw, performance: bool, how: Behaviour) -> list[int]:
    """The declared positions of the members in the order that they get."""
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
    """Bytes in the type of a member; for a bit-field GCC narrows it to the integer that holds the bits."""
    bits = member.bit_size or 0
    return narrowed(bits) if member.is_bitfield else bits // 8


def groups(fields: Sequence[Field], count: int) -> list[tuple[int, int]]:
    """Where groups of members that fill a line start, and how many members each has."""
    found: list[tuple[int, int]] = []
    start = held = 0
    for at in range(count):
        held += type_size(fields[at])
        if held >= _GROUP:
            found.append((start, at + 1 - start))
            start, held = at + 1, 0
    return found if start == count else [*found, (start, count - start)]


def _shuffle_groups(
    positions: list[int], fields: Sequence[Field], count: int, draw: Draw, stays_in_group: bool
) -> None:
    """Groups take their turns in a random order; bit-fields stay where they are.

    Without `stays_in_group` a member is swapped with any before it, in its group or not.
    """
    turns = groups(fields, count)
    for last in range(len(turns) - 1, 0, -1):
        _swap(turns, last, draw() % (last + 1))
    for start, length in turns:
        lowest = start if stays_in_group else 0
        for at in range(start + length - 1, start, -1):
            if fields[positions[at]].is_bitfield:
                continue
            other = lowest + draw() % (at - lowest + 1)
            if not fields[positions[other]].is_bitfield:
                _swap(positions, at, other)


def _swap(items: list[Any], one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]
