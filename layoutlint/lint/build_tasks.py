"""The builds of a matrix as tasks of an executor: on this machine with limits, or on others."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from layoutlint.errors import LayoutlintError, ReadError
from layoutlint.model.build import Build
from layoutlint.model.record import Record
from layoutlint.readers.executors.task import Executor, Limits, Task

_LIMITS = Limits(seconds=7200, memory=32 << 30)
"""Of one group of builds: a source tree takes minutes and some gigabytes."""

Work = Callable[[list[Build]], Any]


class _Assignment(Record, frozen=True):
    """The argument of a task."""

    folder: str
    """The working folder, from which inputs are named."""
    work: Work
    group: list[Build]


def judge_groups(executor: Executor, work: Work, groups: list[list[Build]]) -> list[Any]:
    """Return what `work` returns for each group of builds, in their order.

    Raises ReadError for a group whose task fails, and the errors that `work` raises.
    """
    by_name = {group[0].name: group for group in groups}
    tasks = (
        Task(f"build {name}", _judge, _Assignment(os.getcwd(), work, group), _LIMITS)
        for name, group in by_name.items()
    )
    results: dict[str, Any] = {}
    outcomes = executor.run(tasks)
    try:
        for outcome in outcomes:
            group = outcome.task.argument.group
            if outcome.failure is not None:
                reason = f"the task that judges build {group[0].name} {outcome.failure.message}"
                raise ReadError(", ".join(group[0].inputs), reason)
            if isinstance(outcome.value, LayoutlintError):
                raise outcome.value
            results[group[0].name] = outcome.value
    finally:
        outcomes.close()
    return [results[name] for name in by_name]


def _judge(assignment: _Assignment) -> Any:
    """Judge a group of builds in the process of a task; an error is a result."""
    os.chdir(assignment.folder)
    try:
        return assignment.work(assignment.group)
    except LayoutlintError as error:
        return error
