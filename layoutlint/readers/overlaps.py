"""Members of structs that overlap, as no compiler places them: their places are not in the debug information.

Clang up to 15 leaves out the place of a bit-field as wide as its type (`packed`); pahole hands that on.
"""

from __future__ import annotations

from itertools import pairwise

from layoutlint.model.structs import Field


class Overlaps:
    """Finds members that overlap in structs, and in what these embed; looks at each type once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[tuple[Field, ...], str | None]] = {}
        """By the identity of members, themselves and what overlaps in them."""

    def within(self, fields: tuple[Field, ...], is_union: bool) -> str | None:
        """What overlaps among the members of a struct or union, at any depth; None where nothing does."""
        known = self._known.get(id(fields))
        if known is None:
            inner = (self.within(one.members, one.aggregate == "union") for one in fields if one.members)
            found = None if is_union else _overlap(fields)
            known = self._known[id(fields)] = fields, found or next(filter(None, inner), None)
        return known[1]


def _overlap(fields: tuple[Field, ...]) -> str | None:
    end = 0
    for field in fields:
        if field.bit_offset < end:
            return _named(fields)
        end = field.bit_offset + (field.bit_size or 0)
    return None


def _named(fields: tuple[Field, ...]) -> str | None:
    ordered = sorted(fields, key=lambda f: (f.bit_offset, f.bit_size or 0))
    for low, high in pairwise(ordered):
        if low.bit_size and high.bit_size and low.bit_offset + low.bit_size > high.bit_offset:
            return f"`{low.name}` and `{high.name}` overlap in the debug information"
    return None
