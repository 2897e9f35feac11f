"""The uses of fields, by struct and path, for reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice

from layoutlint.model.record import Record
from layoutlint.model.uses import Effect, plain_name
from layoutlint.sources.whole_program.program import FieldUse


class FieldUses(Record, frozen=True):
    """The uses of a field, the hottest first."""

    struct: str
    """The key of the struct."""
    path: str
    uses: tuple[FieldUse, ...]

    @property
    def name(self) -> str:
        """The name of the struct."""
        return plain_name(self.struct)

    @property
    def file(self) -> str:
        """The file that defines it."""
        return self.struct.partition("@")[2]

    def count(self, *effects: Effect) -> int:
        """Return the number of functions that use the field in one of these ways."""
        return len({use.function for use in self.uses if use.effect in effects})


def fields_of(
    uses: Mapping[str, Mapping[str, Sequence[FieldUse]]], heat: Mapping[str, float], only: str | None
) -> Iterator[FieldUses]:
    """Yield the uses of the fields of structs whose name matches a pattern, sorted by struct and path."""
    for struct in sorted(uses):
        if only is None or fnmatchcase(plain_name(struct), only):
            for path in sorted(uses[struct]):
                yield FieldUses(struct, path, tuple(sorted(uses[struct][path], key=_hottest_first(heat))))


def hottest(
    uses: Iterable[FieldUse], heat: Mapping[str, float], most: int
) -> Iterator[tuple[FieldUse, ...]]:
    """Yield all uses in each of the hottest functions, the function with the hottest use first."""
    by_function: dict[str, list[FieldUse]] = {}
    for use in sorted(uses, key=_hottest_first(heat)):
        by_function.setdefault(use.function, []).append(use)
    yield from map(tuple, islice(by_function.values(), most))


def _hottest_first(heat: Mapping[str, float]) -> Callable[[FieldUse], tuple[float, str, str]]:
    return lambda use: (-heat.get(use.function, 0.0) * use.weight, use.function, use.effect.value)
