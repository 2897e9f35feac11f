"""Which types of a blob hold a struct by value: told from their ids, before any of them is decoded."""

from __future__ import annotations

from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob, Record
from layoutlint.readers.btf.types import AGGREGATES, DEEPEST, TRANSPARENT

_NAMED = frozenset((*AGGREGATES, blob.TYPEDEF))


class Holders:
    """Finds the structs of some names, and the types that hold them by value, at any depth."""

    def __init__(self, source: Blob, names: frozenset[str]) -> None:
        """Raises Damaged."""
        self._source = source
        self._told: dict[int, bool] = {0: True}
        """`void` is what pahole makes of a type that it cannot write: a member of it can hold anything."""
        while source.base is not None:
            self._mark(source, names)
            source = source.base
        self._mark(source, names)

    def _mark(self, source: Blob, names: frozenset[str]) -> None:
        """Takes down the structs of the names, and those that typedefs of the names stand for."""
        for record in source.named(_NAMED, names):
            meant: Record | None = record
            for _ in range(DEEPEST):
                if meant is None or (meant.kind != blob.TYPEDEF and meant.kind not in TRANSPARENT):
                    break
                meant = source.record(meant.value) if meant.value else None
            if meant is not None and meant.kind in AGGREGATES:
                self._told[meant.id] = True

    def ids(self) -> frozenset[int]:
        """Those of the types that hold such a struct, and of all types that these hold. Raises Damaged.

        What they hold tells which struct the typedef of a field means, where several have the same members.
        """
        found: set[int] = set()
        waiting = [type_id for type_id, _ in self._source.own(_NAMED) if self._holds(type_id)]
        while waiting:
            type_id = waiting.pop()
            if type_id not in found:
                found.add(type_id)
                waiting += self._source.parts(type_id)
        return frozenset(found)

    def _holds(self, type_id: int, depth: int = 0) -> bool:
        told = self._told.get(type_id)
        if told is None:
            self._told[type_id] = True  # for one that contains itself, which is told when it is decoded
            parts = self._source.parts(type_id)
            told = depth > DEEPEST or any(self._holds(part, depth + 1) for part in parts)
            self._told[type_id] = told
        return told
