"""The rows of a history's table, shared by its formats: a name, and a cell for each build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from layoutlint.commands.history import phrases
from layoutlint.commands.history.builds import Build, FieldRow, History, Step
from layoutlint.comparison.comparison import hole_bits, line_count
from layoutlint.geometry.layout import cached_layout
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct


class Row(Record, frozen=True):
    """A row of a table: a name, and a cell for each build."""

    name: str
    cells: tuple[str, ...]


def figures(builds: Sequence[Build]) -> Iterator[Row]:
    """Yield rows for the size, the lines and the holes; `??` where the struct is not known."""
    measures: tuple[tuple[str, Callable[[Struct], str]], ...] = (
        ("size", lambda struct: str((struct.bit_size or 0) // 8)),
        ("lines", lambda struct: str(line_count(struct))),
        ("holes", lambda struct: _bytes(hole_bits(cached_layout(struct)))),
    )
    for name, measure in measures:
        yield Row(name, tuple("??" if b.struct is None else measure(b.struct) for b in builds))


def _bytes(bits: int) -> str:
    return f"{bits} bits" if bits % 8 else str(bits // 8)


def field_rows(fields: Iterable[FieldRow], builds: Sequence[Build]) -> Iterator[Row]:
    """Yield the offsets of fields in each build."""
    for field in fields:
        yield Row(f"`{field.path}`", tuple(map(phrases.offset, field.places, builds)))


def pair_rows(history: History) -> Iterator[Row]:
    """Yield the number of placements in which the fields of each pair share a line."""
    for pair in history.pairs:
        yield Row(f"`{pair.first}` and `{pair.second}` share", tuple(map(phrases.meeting, pair.meetings)))


def rule_rows(history: History) -> Iterator[Row]:
    """Yield the outcome of each rule."""
    for row in history.rules:
        yield Row(row.rule.id, tuple(map(phrases.outcome, row.findings)))


def step_groups(history: History) -> Iterator[tuple[Step, ...]]:
    """Yield the steps in their order, each alone; those in a row that change nothing are one group."""
    for is_same, group in groupby(history.steps, key=lambda step: step.is_same):
        steps = tuple(group)
        yield from [steps] if is_same else ((step,) for step in steps)
