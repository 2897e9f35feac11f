"""The model of a measurement: words of a struct that cores access, at some bases, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Literal

from layoutlint.model.record import Record

Mode = Literal["contention", "sweep"]
"""Cores access one object, or one core accesses many objects that are not in its cache."""
Operation = Literal["load", "store", "add", "lock"]
"""A load, a store, an atomic addition, or an attempt to take a lock (and its release)."""

OPERATIONS: tuple[Operation, ...] = ("load", "store", "add", "lock")
INTERVALS = (0, 100, 1_000, 10_000)
"""Nanoseconds that the disturbing core waits after its accesses; 0 for back to back."""
PAGE = 4096


class Word(Record, frozen=True):
    """An access to 1, 2, 4 or 8 bytes of an object, naturally aligned."""

    operation: Operation
    width: int
    offset: int

    def line(self, base: int, line_size: int) -> int:
        """Return the line that it touches in an object at a base; it never touches two."""
        return (base + self.offset) // line_size


class FieldAccess(Record, frozen=True):
    """The accesses to one field."""

    path: str
    offset: int
    size: int
    """Bytes of the field."""
    operation: Operation
    is_assumed: bool
    """Whether nothing declares the access."""
    words: tuple[Word, ...]
    times: int = 1
    """How often a core accesses the field before it begins again."""

    def lines(self, base: int, line_size: int) -> frozenset[int]:
        """Return the lines that it touches if the object is at a base."""
        return frozenset(word.line(base, line_size) for word in self.words)


class Role(Record, frozen=True):
    """The accesses that one core repeats: in the order of the fields, and repeated ones spread evenly."""

    fields: tuple[FieldAccess, ...]
    distance: int = 0
    """Bytes from the object to the one whose fields it accesses: 0, or the step to the next in a row."""

    @property
    def words(self) -> tuple[Word, ...]:
        """The accesses of all fields, in the order in which the core does them."""
        turns = [
            ((2 * turn + 1) / each.times, each) for each in self.fields for turn in range(each.times)
        ]
        return tuple(word for _, each in sorted(turns, key=lambda turn: turn[0]) for word in each.words)

    def lines(self, base: int, line_size: int) -> frozenset[int]:
        """Return the lines that it touches if the object is at a base."""
        return frozenset(word.line(base + self.distance, line_size) for word in self.words)


class Arrangement(Record, frozen=True):
    """One layout of the struct: roles, and the bases of objects."""

    label: str
    """`before`, `after`, or empty if there is one layout."""
    origin: str
    """The input that has the layout."""
    size: int
    """Bytes of the struct."""
    roles: tuple[Role, ...]
    bases: tuple[int, ...]
    affected: tuple[int, ...]
    """The bases at which the cores share a line, or in a sweep one core touches more lines than it must."""
    violating: tuple[int, ...] | None
    """The bases at which the rule is violated; None without a rule."""
    why: str
    """The reason for the bases."""
    verdict: str
    """The verdict of the rule; empty without a rule."""

    @property
    def reach(self) -> int:
        """Bytes from the start of an object to the end of the last access."""
        return max(role.distance + word.offset + word.width for role in self.roles for word in role.words)


class Cell(Record, frozen=True):
    """One of the situations that are measured in turn: starts of objects on a line, and the interval."""

    arrangement: int
    """Index of the arrangement; CONTROL for counters that belong to no struct."""
    base: int
    interval: int
    """Nanoseconds between accesses of the first core."""
    is_reference: bool = False
    """Whether the roles are moved so that they share no line, or in a sweep are packed on few lines."""


CONTROL = -1
"""The arrangement of the control: two counters on one line, or as reference on two lines."""


class Experiment(Record, frozen=True):
    """All that is measured in one run of the program."""

    mode: Mode
    line_size: int
    arrangements: tuple[Arrangement, ...]
    intervals: tuple[int, ...]

    def cells(self) -> tuple[Cell, ...]:
        """Return the situations: the control, then each arrangement with its reference."""
        return tuple(self._cells())

    def _cells(self) -> Iterator[Cell]:
        yield Cell(CONTROL, 0, 0)
        yield Cell(CONTROL, 0, 0, True)
        for number, arrangement in enumerate(self.arrangements):
            for interval in self.intervals:
                first = (*arrangement.affected, *arrangement.bases)[0]
                yield Cell(number, first, interval, True)
                for base in arrangement.bases:
                    yield Cell(number, base, interval)

    def shared_lines(self, arrangement: Arrangement, base: int) -> int:
        """Return how many lines cores share at a base, or in a sweep how many lines the core touches."""
        if self.mode == "sweep":
            return len(arrangement.roles[0].lines(base, self.line_size))
        return len(shared_lines(arrangement.roles, base, self.line_size))


def shared_lines(roles: Sequence[Role], base: int, line_size: int) -> frozenset[int]:
    """Return the lines on which one core writes a field, and another core accesses another field."""
    return frozenset().union(
        *(
            written.lines(base + one.distance, line_size) & field.lines(base + other.distance, line_size)
            for one, other in permutations(roles, 2)
            for written, field in product(one.fields, other.fields)
            if written.operation != "load"
            and (written.path, one.distance) != (field.path, other.distance)
        )
    )
