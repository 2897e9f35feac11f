"""Detection of overlapping members: their offsets are missing in the debug information.

Clang up to 15 omits the offset of a `packed` bit-field as wide as its type; pahole copies that to BTF.
"""

from __future__ import annotations

from itertools import pairwise

from layoutlint.model.structs import Field


class Overlaps:
    """Finds overlapping members in structs and in the structs they embed; checks each type once."""

    def __init__(self) -> None:
        self._cache: dict[int, tuple[tuple[Field, ...], str | None]] = {}
        """By the identity of a member tuple: the tuple itself, and its first overlap."""

    def first_overlap(self, fields: tuple[Field, ...], is_union: bool) -> str | None:
        """Return a description of the first overlap of members, at any depth; None if there is none."""
        cached = self._cache.get(id(fields))
        if cached is None:
            inner = (
                self.first_overlap(field.members, field.aggregate == "union")
                for field in fields
                if field.members
            )
            overlap = None if is_union else _overlap(fields)
            cached = self._cache[id(fields)] = fields, overlap or next(filter(None, inner), None)
        return cached[1]


def _overlap(fields: tuple[Field, ...]) -> str | None:
    end = 0
    for field in fields:
        if field.bit_offset < end:
            return _describe_overlap(fields)
        end = field.bit_offset + (field.bit_size or 0)
    return None


def _describe_overlap(fields: tuple[Field, ...]) -> str | None:
    by_offset = sorted(fields, key=lambda f: (f.bit_offset, f.bit_size or 0))
    for low, high in pairwise(by_offset):
        if low.bit_size and high.bit_size and low.bit_offset + low.bit_size > high.bit_offset:
            return f"`{low.name}` and `{high.name}` overlap in the debug information"
    return None
