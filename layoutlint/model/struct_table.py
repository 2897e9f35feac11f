"""Values by struct."""

from __future__ import annotations

from typing import Generic, TypeVar

from layoutlint.model.structs import Source, Struct

T = TypeVar("T")
_Head = tuple[str, str, Source | None, int | None]


class StructTable(Generic[T]):
    """A table with a value for each struct; equal structs have one value.

    It compares structs instead of hashing them: a hash visits all fields, a comparison those up to the first
    difference, and none for the same object.
    """

    def __init__(self) -> None:
        self._rows: dict[_Head, list[tuple[Struct, T]]] = {}
        """By what distinguishes nearly all structs."""

    def find(self, struct: Struct) -> T | None:
        """Return the value of a struct; None if it has none."""
        for key, value in self._rows.get(_head(struct), ()):
            if key == struct:
                return value
        return None

    def add(self, struct: Struct, value: T) -> T:
        """Add and return the value of a struct that has none."""
        self._rows.setdefault(_head(struct), []).append((struct, value))
        return value

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))


def _head(struct: Struct) -> _Head:
    return struct.name, struct.origin, struct.source, struct.bit_size
