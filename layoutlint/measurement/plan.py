"""The text of plan.h: an experiment as numbers for program.c. Of an input, only numbers get into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from layoutlint.measurement.experiment import (
    CONTROL,
    OPERATIONS,
    PAGE,
    Cell,
    Experiment,
    FieldAccess,
    Role,
    Word,
)
from layoutlint.model.record import Record

_BITS = 8
_WORD = 8
_FAR = 3
"""Lines between the objects of two cores, or more: processors fetch aligned pairs of lines together."""
_OVERHEAD = 512 << 20
"""Bytes of address space beside the arena: stacks, libraries, and what the C library reserves for threads."""
MOST_ARENA = 256 << 20
"""Bytes of memory that a measurement uses at most."""
SEED = 0x9E3779B97F4A7C15
"""The start of the random order, any number but 0."""


class Timing(Record, frozen=True):
    """How long is measured."""

    seconds: float
    rounds: int
    window: int = 1_000_000
    """Nanoseconds of one sample: less than schedulers let a thread run, so that many are undisturbed."""

    @property
    def most_seconds(self) -> int:
        """Seconds after which the program is ended."""
        return int(self.seconds * 3) + 10

    def least_seconds(self, cells: int) -> float:
        """Return the seconds in which each cell gets one sample per round, with a fourth for the rest."""
        return cells * self.rounds * self.window * 1.25 / 1e9

    def most_samples(self, cells: int) -> int:
        """Return the number of samples that fit into the time, at least one per cell and round."""
        return int(self.seconds * 1e9 / self.window) + cells * self.rounds


class Part(Record, frozen=True):
    """The accesses of a core in a cell."""

    role: int
    """Number of the role in the program."""
    start: int
    """Bytes from the arena to the object."""
    nanoseconds: int


class Plan(Record, frozen=True, dict=True):
    """An experiment, with the cores, the times and the memory of the program."""

    experiment: Experiment
    cores: tuple[int, ...]
    timing: Timing
    second_level: int = 1 << 20
    """Bytes of the second-level cache of a core."""

    @property
    def is_sweep(self) -> bool:
        """Whether one core accesses many objects."""
        return self.experiment.mode == "sweep"

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The situations, in the order of the program's numbers."""
        return self.experiment.cells()

    @cached_property
    def _line(self) -> int:
        return self.experiment.line_size

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """All roles of the program: those of the control, of the arrangements, and packed ones for sweeps."""
        line = self._line
        if not self.is_sweep:
            counters = (_counter_role(core * _WORD % line) for core in range(len(self.cores)))
            return (*counters, *(role for each in self.experiment.arrangements for role in each.roles))
        control = (_counter_role(line, 2 * line), _counter_role(line, line + _WORD))
        own = (each.roles[0] for each in self.experiment.arrangements)
        return (*control, *(role for each in own for role in (each, _pack_words(each))))

    @cached_property
    def _reach(self) -> int:
        """Bytes from a line to the end of the last access, at the last base."""
        arrangements = self.experiment.arrangements
        ends = [max(each.bases) + each.reach for each in arrangements]
        packed = [sum(word.width for word in role.words) for role in self.roles]
        return max(*ends, *packed, 2 * self._line + _WORD)

    @cached_property
    def object_distance(self) -> int:
        """Bytes between the objects of two cores in references: an odd number of lines, behind the object."""
        lines = -(-self._reach // self._line) + 2 * _FAR
        return (lines | 1) * self._line

    @cached_property
    def stride(self) -> int:
        """Bytes between the objects of a sweep."""
        return -(-self._reach // self._line) * self._line

    @cached_property
    def objects(self) -> int:
        """The number of objects: in a sweep so many that the second-level cache has none that comes next.

        Raises ValueError if they need too much memory.
        """
        if not self.is_sweep:
            return 1
        number = 1 << (2 * self.second_level // self._line - 1).bit_length()
        while number * self.stride > MOST_ARENA:
            number //= 2
        if number * self._line < self.second_level:
            raise ValueError(
                f"its fields reach over {self.stride:,} bytes; so many such objects that the cache cannot "
                f"hold them need more than {MOST_ARENA >> 20} MiB"
            )
        return number

    @cached_property
    def arena(self) -> int:
        """Bytes of memory that the program accesses. Raises ValueError if that is too much."""
        own = self.objects * self.stride if self.is_sweep else len(self.cores) * self.object_distance
        return own + self._reach + 2 * PAGE

    def parts(self, cell: Cell) -> tuple[Part, ...]:
        """Return what each core does in a cell."""
        first, number = PAGE + cell.base, cell.arrangement
        if self.is_sweep:
            return (Part(2 * (number + 1) + cell.is_reference, PAGE if cell.is_reference else first, 0),)
        moved, role = self.object_distance * cell.is_reference, len(self.cores) * (number + 1)
        return tuple(
            Part(role + core, first + moved * core, 0 if core else cell.interval)
            for core in range(len(self.cores))
        )

    def text(self) -> str:
        """Return the text of plan.h. Raises ValueError if the program needs too much memory."""
        return "\n".join((*self._macros(), *self._role_lines(), *self._part_lines(), ""))

    def _macros(self) -> Iterator[str]:
        timing, cells = self.timing, len(self.cells)
        numbers = {
            "THREADS": len(self.cores),
            "CELLS": cells,
            "ROUNDS": timing.rounds,
            "WINDOW_NS": timing.window,
            "TOTAL_NS": int(timing.seconds * 1e9),
            "MOST_SAMPLES": timing.most_samples(cells),
            "MOST_SECONDS": timing.most_seconds,
            "MOST_BYTES": self.arena + 128 * timing.most_samples(cells) + _OVERHEAD,
            "ARENA_BYTES": self.arena,
            "SEED": SEED,
        }
        for name, number in numbers.items():
            yield f"#define {name} {number}u{'ll' if number >> 31 else ''}"
        yield f"#define CORES {', '.join(map(str, self.cores))}"
        if not self.is_sweep:
            yield "#define OBJECT(start) (start)"
            return
        # A full period for a power of two (Hull and Dobell): the factor is 1 modulo 4, the addend odd.
        yield "static unsigned place;"
        step = f"place = (place * 1664525u + 1013904223u) & {self.objects - 1}u"
        yield f"#define OBJECT(start) ({step}, (start) + (unsigned long)place * {self.stride}u)"

    def _role_lines(self) -> Iterator[str]:
        for number, role in enumerate(self.roles):
            words = " \\\n\t".join(_call(word, role.distance) for word in role.words)
            yield f"#define WORDS_{number}(X) \\\n\t{words}\nROLE({number})"

    def _part_lines(self) -> Iterator[str]:
        yield "#define PARTS \\"
        rows = [", ".join(map(_initializer, self.parts(cell))) for cell in self.cells]
        yield ", \\\n".join(f"\t{{ {row} }}" for row in rows)


def _call(word: Word, distance: int) -> str:
    assert word.operation in OPERATIONS
    return f"X({word.operation.upper()}, {word.width * _BITS:d}, {word.offset + distance:d})"


def _initializer(part: Part) -> str:
    return f"{{ access_{part.role:d}, print_{part.role:d}, {part.start:d}, {part.nanoseconds:d} }}"


def _counter_role(*offsets: int) -> Role:
    """Return a role that adds to counters, for the control."""
    return Role((FieldAccess("", 0, _WORD, "add", False, tuple(Word("add", _WORD, at) for at in offsets)),))


def _pack_words(role: Role) -> Role:
    """Return a role with the same words side by side, the widest first, so that they are on few lines."""
    words: list[Word] = []
    at = 0
    for word in _sort_for_packing(role.words):
        words.append(Word(word.operation, word.width, at))
        at += word.width
    return Role((FieldAccess("", 0, at, "add", False, tuple(words)),))


def _sort_for_packing(words: Sequence[Word]) -> Iterable[Word]:
    """Return words so that each is aligned if they stand side by side; equal widths keep their order."""
    return sorted(words, key=lambda word: -word.width)


def control_cells(cells: Sequence[Cell]) -> tuple[int, int]:
    """Return the numbers of the cells of the control: on one line and apart, or in a sweep on two and one."""
    numbers = [number for number, cell in enumerate(cells) if cell.arrangement == CONTROL]
    return numbers[0], numbers[1]
