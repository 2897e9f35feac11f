"""The layouts that a struct can have where its input leaves the sizes of members open."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct

_MOST: int = 64
"""The most layouts of a struct; with more, they are not listed."""


def layouts(struct: Struct) -> tuple[Struct, ...]:
    """Return a struct with each combination of the sizes that its members can have, at any depth.

    Return none if a size is known no better than that it is unknown, if all are known, or for too many.
    """
    if _count(struct.fields) not in range(2, _MOST + 1):
        return ()
    return tuple(replace(struct, fields=fields) for fields in _combinations(struct.fields))


def _count(fields: tuple[Field, ...]) -> int:
    count = 1
    for field in fields:
        own = 1 if field.bit_size is not None else len(field.possible_bits)
        count = min(count * own * _count(field.members), _MOST + 1)
    return count


def _combinations(fields: tuple[Field, ...]) -> Iterator[tuple[Field, ...]]:
    return product(*(list(_alternatives(field)) for field in fields))


def _alternatives(field: Field) -> Iterator[Field]:
    sizes = (field.bit_size,) if field.bit_size is not None else field.possible_bits
    for members in _combinations(field.members):
        for bits in sizes:
            yield replace(field, bit_size=bits, members=members)
