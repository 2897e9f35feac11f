"""Tasks: calls of functions in processes of their own, how they end, and what runs them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, Literal, Protocol

from layoutlint.model.record import Record


class Limits(Record, frozen=True):
    """The limits of one attempt at a task, with all processes that it starts."""

    seconds: float
    """Wall-clock time."""
    memory: int
    """Bytes of memory that the processes fill, without the pages of files."""


LIMITS_OF_INPUT = Limits(seconds=600.0, memory=4 << 30)
"""For one input, unless the user states others; a kernel takes 10 s and up to 1.2 GB."""


class Task(Record, frozen=True):
    """A call of a function in a process of its own.

    A task may run more than once, even at the same time: an attempt that failed is repeated, and a worker
    that cannot be reached may still work. So what it writes must be the same each time, and written whole.
    """

    name: str
    """What messages call it."""
    function: Callable[[Any], Any]
    """A function of a module: it is pickled by name."""
    argument: Any
    """A value that can be pickled; the result must be one as well, of at most MOST_BYTES."""
    limits: Limits


MOST_BYTES = 64 << 20
"""The most bytes of a pickled result. Larger ones belong into files, which the task writes itself."""

FailureKind = Literal["timed-out", "out-of-memory", "crashed", "lost", "refused"]


class Failure(Record, frozen=True):
    """Why a task has no result, after its last attempt.

    `timed-out` and `out-of-memory`: a limit; `crashed`: a signal, an exit or an exception; `lost`: its worker
    ended; `refused`: it could not be begun, or its result could not be sent, and it is not repeated.
    """

    kind: FailureKind
    message: str
    """Continues the name of the task: `does not end within 120 s`."""


class Outcome(Record, frozen=True):
    """The end of a task."""

    task: Task
    value: Any
    """What the function returned; None after a failure."""
    failure: Failure | None
    seconds: float
    """Wall-clock time of all attempts, without waiting for a worker."""
    processor_seconds: float
    """Processor time of all attempts, with processes that the task started; 0 if it is lost."""
    memory: int
    """The most bytes that were resident, also of files; 0 if it is lost.

    If the task starts processes, pages that they share count for each.
    """
    attempts: int


class Executor(Protocol):
    """Runs tasks."""

    def run(self, tasks: Iterable[Task]) -> Generator[Outcome]:
        """Yield the outcome of each task as it ends; close the generator to kill what runs.

        Tasks are taken from the iterable when a worker is free for them. Raises ReadError if no worker can
        be had.
        """
        ...
