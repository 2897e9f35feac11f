"""Structs by name, and values by the name or pattern of the structs that they are about."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Generic, TypeVar

from layoutlint.model.paths import is_pattern
from layoutlint.model.structs import Struct

T = TypeVar("T")


class StructMap(Generic[T]):
    """Values that are each about the structs with a name (a tag or typedef) or pattern."""

    def __init__(self, things: Iterable[tuple[str, T]]) -> None:
        self._named: dict[str, list[tuple[int, T]]] = {}
        self._patterns: list[tuple[str, int, T]] = []
        for number, (name, thing) in enumerate(things):
            if is_pattern(name):
                self._patterns.append((name, number, thing))
            else:
                self._named.setdefault(name, []).append((number, thing))

    def find(self, struct: Struct) -> list[T]:
        """Return the values about a struct, in the given order."""
        names = dict.fromkeys((struct.name, *struct.aliases))
        things = {number: thing for name in names for number, thing in self._named.get(name, ())}
        matches = (
            pattern
            for pattern in self._patterns
            if pattern[0] in names or fnmatchcase(struct.name, pattern[0])
        )
        things |= {number: thing for _, number, thing in matches}
        return [things[number] for number in sorted(things)]


class Structs:
    """Structs by tag and typedef."""

    def __init__(self, structs: Iterable[Struct]) -> None:
        self._all = tuple(structs)
        self._named: dict[str, list[Struct]] = {}
        for struct in self._all:
            for name in dict.fromkeys((struct.name, *struct.aliases)):
                self._named.setdefault(name, []).append(struct)

    def find(self, name: str) -> list[Struct]:
        """Return the structs that match a name or pattern."""
        if is_pattern(name):
            return [struct for struct in self._all if struct.matches(name)]
        return list(self._named.get(name, ()))
