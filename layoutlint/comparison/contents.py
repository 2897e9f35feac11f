"""What members hold at every depth: equal contents have equal numbers.

A struct is embedded in many others, and its members are looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from operator import itemgetter
from typing import NamedTuple

from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field, Struct


class _Entry(NamedTuple):
    """A member that C addresses by its name, members of unnamed structs included."""

    bit_offset: int
    name: str
    bit_size: int | None
    element_bits: int | None
    """Of an array of structs the bits of an element; None if unknown, 0 for other members."""
    inner: int
    """The number of what its type holds."""


_PLACE = itemgetter(0, 1)


class _Numbers(NamedTuple):
    members: tuple[Field, ...]
    """Kept, because their identity is the key."""
    layout: int
    types: int


_Row = tuple[
    int, str, int | None, int | None, _Numbers, CType, tuple[CType, ...], tuple[int | None, ...], bool
]  # fmt: skip
"""An entry with the numbers of what it holds, and what spells its type."""


class Contents:
    """Numbers for members, alike where names, offsets and sizes (`layout`), or types (`types`), are equal.

    The order of declarations does not count: it decides offsets, which count. Types that are the same can be
    spelled in other ways.
    """

    def __init__(self) -> None:
        self._by_content: dict[object, int] = {(): 0}
        self._entries: dict[int, tuple[_Entry, ...]] = {0: ()}
        """The layouts by their numbers."""
        self._known: dict[int, _Numbers] = {id(()): _Numbers((), 0, 0)}
        self._alike: dict[tuple[int, int], bool] = {}

    def layout(self, fields: tuple[Field, ...]) -> int:
        """Return the number of the layout of members."""
        return self._numbers(fields).layout

    def types(self, fields: tuple[Field, ...]) -> int:
        """Return the number of the names and types of members."""
        return self._numbers(fields).types

    def _numbers(self, fields: tuple[Field, ...]) -> _Numbers:
        numbers = self._known.get(id(fields))
        if numbers is None:
            rows = sorted(self._rows(fields, 0), key=_PLACE)
            entries = tuple([_Entry(*row[:4], row[4].layout) for row in rows])
            types = tuple([(row[1], row[4].types, *row[5:]) for row in rows])
            layout = self._by_content.setdefault(entries, len(self._by_content))
            self._entries.setdefault(layout, entries)
            number = self._by_content.setdefault(types, len(self._by_content))
            numbers = self._known[id(fields)] = _Numbers(fields, layout, number)
        return numbers

    def _rows(self, fields: tuple[Field, ...], start: int) -> Iterator[_Row]:
        for member in fields:
            offset = start + member.bit_offset
            if member.name is None:
                yield from self._rows(member.members, offset)
            else:
                yield (
                    offset, member.name, member.bit_size, element_bits(member), self._numbers(member.members),
                    member.type, member.underlying_types, member.dims, member.is_bitfield,
                )  # fmt: skip

    def are_alike(self, old: int, new: int) -> bool:
        """Return whether two layouts can be the same: a size that an input does not state is like any."""
        if old == new:
            return True
        known = self._alike.get((old, new))
        if known is None:
            entries = self._entries[old], self._entries[new]
            known = len(entries[0]) == len(entries[1]) and all(map(self._is_alike, *entries))
            self._alike[old, new] = known
        return known

    def is_same_layout(self, old: Struct, new: Struct) -> bool:
        """Return whether two structs can have the same layout, as deep as others are embedded in them."""
        if (old.aggregate, old.bit_size) != (new.aggregate, new.bit_size):
            return False
        return self.are_alike(self.layout(old.fields), self.layout(new.fields))

    def holds_same(self, old: Field, new: Field) -> bool:
        """Return whether the types of two members hold the same, of arrays their elements."""
        if not _can_equal(element_bits(old), element_bits(new)):
            return False
        return self.are_alike(self.layout(old.members), self.layout(new.members))

    def _is_alike(self, old: _Entry, new: _Entry) -> bool:
        if old[:2] != new[:2] or not _can_equal(old.bit_size, new.bit_size):
            return False
        return _can_equal(old.element_bits, new.element_bits) and self.are_alike(old.inner, new.inner)


def element_bits(member: Field) -> int | None:
    """Return the bits of an element of an array of structs; None if unknown, 0 for other members."""
    if not (member.dims and member.members):
        return 0
    count = prod(length or 0 for length in member.dims)
    if not count:
        return member.flexible_bits
    return None if member.bit_size is None else member.bit_size // count


def _can_equal(old: int | None, new: int | None) -> bool:
    return old == new or None in (old, new)
