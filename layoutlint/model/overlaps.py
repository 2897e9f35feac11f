"""Detection of overlapping members, and of those that end behind their struct, in debug information.

Clang up to 15 omits the offset of a `packed` bit-field as wide as its type; pahole copies that to BTF. GCC
describes a struct before a plugin moves its members, and what contains it with the new size.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod

from layoutlint.model.structs import Field, Struct


class Overlaps:
    """Finds overlapping members in structs and in the structs they embed; checks each type once."""

    def __init__(self) -> None:
        self._cache: dict[int, tuple[tuple[Field, ...], str | None]] = {}
        """By the identity of a member tuple: the tuple itself, and its first overlap."""

    def first_overlap(
        self, fields: tuple[Field, ...], is_union: bool, bit_size: int | None = None
    ) -> str | None:
        """Return a description of the first overlap of members, at any depth; None if there is none.

        `bit_size` is the size of the struct or union, for members that end behind it.
        """
        cached = self._cache.get(id(fields))
        if cached is None:
            inner = (
                self.first_overlap(field.members, field.aggregate == "union", _element_bits(field))
                for field in fields
                if field.members
            )
            overlap = None if is_union else _overlap(fields)
            overlap = overlap or _overhang(fields, bit_size)
            cached = self._cache[id(fields)] = fields, overlap or next(filter(None, inner), None)
        return cached[1]


def is_overlapping(struct: Struct) -> bool:
    """Return whether members of a struct overlap or end behind it, and it has no other problem."""
    overlap = Overlaps().first_overlap(struct.fields, struct.aggregate == "union", struct.bit_size)
    return overlap is not None and struct.problem in (None, overlap)


def _overlap(fields: tuple[Field, ...]) -> str | None:
    end = 0
    for field in fields:
        if field.bit_offset < end:
            return _describe_overlap(fields)
        end = field.bit_offset + (field.bit_size or 0)
    return None


def _overhang(fields: tuple[Field, ...], bit_size: int | None) -> str | None:
    behind = (field for field in fields if field.bit_offset + (field.bit_size or 0) > (bit_size or 0))
    member = None if bit_size is None else next(behind, None)
    return None if member is None else f"`{member.name}` ends behind the struct in the debug information"


def _element_bits(field: Field) -> int | None:
    count = prod(length or 0 for length in field.dims)
    return field.bit_size // count if field.bit_size and count else None


def _describe_overlap(fields: tuple[Field, ...]) -> str | None:
    by_offset = sorted(fields, key=lambda f: (f.bit_offset, f.bit_size or 0))
    for low, high in pairwise(by_offset):
        if low.bit_size and high.bit_size and low.bit_offset + low.bit_size > high.bit_offset:
            return f"`{low.name}` and `{high.name}` overlap in the debug information"
    return None
