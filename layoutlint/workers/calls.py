"""Calls of one function for many items, as tasks of an executor."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from layoutlint.errors import LayoutlintError
from layoutlint.files import accesses
from layoutlint.model.reading import Unread
from layoutlint.model.record import Record
from layoutlint.model.task import Executor, Failure, Limits, Task

_T = TypeVar("_T")
_R = TypeVar("_R")


class _Call(Record, frozen=True):
    """The argument of a task."""

    number: int
    folder: str
    """The working folder, from which inputs are named."""
    logs_answers: bool
    work: Callable[[Any], Any]
    item: Any


class _Return(Record, frozen=True):
    """The result of a task."""

    value: Any
    """What the work returned, or a LayoutlintError that it raised."""
    answers: tuple[Any, ...] | None
    """What the file system answered to the task (`accesses.drain`)."""


def run_each(
    executor: Executor,
    work: Callable[[_T], _R],
    items: Sequence[_T],
    name_of: Callable[[_T], str],
    limits: Limits,
) -> Generator[tuple[int, _R | Failure]]:
    """Yield for each item its number and the result of `work`, or why its task has none, as they end.

    Work, items and results are pickled. An error that `work` raises is raised here, and so is ReadError if no
    worker can be had. To be closed.
    """
    if not items:
        return
    is_logged = accesses.active_log() is not None
    tasks = (
        Task(name_of(item), _run, _Call(number, os.getcwd(), is_logged, work, item), limits)
        for number, item in enumerate(items)
    )
    outcomes = executor.run(tasks)
    try:
        for outcome in outcomes:
            number = outcome.task.argument.number
            if outcome.failure is not None:
                accesses.refuse(outcome.failure.message)
                yield number, outcome.failure
                continue
            accesses.merge(outcome.value.answers)
            if isinstance(outcome.value.value, LayoutlintError):
                raise outcome.value.value
            yield number, outcome.value.value
    finally:
        outcomes.close()


def unread(path: str, failure: Failure) -> Unread:
    """Return the failure of the task that read a file."""
    return Unread(path, f"the task that read it {failure.message}")


def in_order(results: Generator[tuple[int, _R]]) -> Generator[_R]:
    """Yield numbered results by their numbers, from 0; those that are early wait. Closes the generator."""
    early: dict[int, _R] = {}
    expected = 0
    try:
        for number, result in results:
            early[number] = result
            while expected in early:
                yield early.pop(expected)
                expected += 1
    finally:
        results.close()


def _run(call: _Call) -> _Return:
    """Do the work in the process of a task."""
    os.chdir(call.folder)
    if not call.logs_answers:
        return _Return(_value(call), None)
    with accesses.log_answers():
        return _Return(_value(call), accesses.drain())


def _value(call: _Call) -> Any:
    try:
        return call.work(call.item)
    except LayoutlintError as error:
        return error
