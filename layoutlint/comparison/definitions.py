"""Which definitions of one name in two inputs belong together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TypeVar

from layoutlint.comparison.edits import outline
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct


class Definition(Record, frozen=True, dict=True):
    """A definition of a struct, with what tells it from others of its name."""

    struct: Struct
    content: int | None
    """The number of what it holds at every depth (`Contents`); None where that is not compared."""

    @cached_property
    def outline(self) -> tuple[object, ...]:
        """The names, offsets and sizes of its own fields."""
        return outline(self.struct)

    @property
    def file(self) -> str:
        """The name of its file without the folders, which differ between trees."""
        return "" if self.struct.source is None else self.struct.source.file.rpartition("/")[2]


_T = TypeVar("_T", bound=Definition)
_IDENTITIES: tuple[Callable[[Definition], object], ...] = (
    lambda definition: (definition.file, definition.outline, definition.content),
    lambda definition: (definition.outline, definition.content),
    lambda definition: (definition.file, definition.outline),
    lambda definition: definition.outline,
    lambda definition: definition.file,
)
"""What tells definitions of one name apart, the most certain first."""


def match(old: list[_T], new: list[_T]) -> tuple[list[tuple[_T | None, _T | None]], str]:
    """Return which definitions of one name belong together, and why the others do not; never guess.

    If all of one side belong to others, the rest of the other side was added or removed.
    """
    has_several = len(old) > 1 or len(new) > 1
    if has_several and not all(definition.file for definition in (*old, *new)):
        old, new = _distinct(old), _distinct(new)
    if len(old) < 2 and len(new) < 2:
        return [(old[0] if old else None, new[0] if new else None)] if old or new else [], ""
    matched: dict[int, tuple[_T | None, _T | None]] = {}
    left = [dict(enumerate(side)) for side in (old, new)]
    for identity in _IDENTITIES:
        groups = [group(side, identity) for side in left]
        for value in groups[0].keys() & groups[1].keys():
            olds, news = groups[0][value], groups[1][value]
            if len(olds) == len(news) == 1:
                matched[olds[0]] = left[0].pop(olds[0]), left[1].pop(news[0])
    pairs = [pair for _, pair in sorted(matched.items())]
    rest = [list(side.values()) for side in left]
    if not rest[0] or not rest[1]:
        return [*pairs, *((one, None) for one in rest[0]), *((None, one) for one in rest[1])], ""
    if len(rest[0]) == len(rest[1]) == 1:
        return [*pairs, (rest[0][0], rest[1][0])], ""
    return pairs, f"{len(old)} definitions before and {len(new)} now, which cannot be matched"


def _distinct(definitions: Iterable[_T]) -> list[_T]:
    """Return one definition of each layout: all that is told apart where no file is stated (BTF)."""
    return list({(each.outline, each.content): each for each in definitions}.values())


def group(definitions: Mapping[int, _T], identity: Callable[[_T], object]) -> dict[object, list[int]]:
    """Return the numbers of definitions by what tells them apart."""
    groups: dict[object, list[int]] = defaultdict(list)
    for number, definition in definitions.items():
        groups[identity(definition)].append(number)
    return groups
