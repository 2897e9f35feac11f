"""The builds of a matrix as tasks of an executor: on this machine with limits, or on others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from layoutlint.errors import ReadError
from layoutlint.model.build import Build
from layoutlint.model.task import Executor, Failure, Limits
from layoutlint.workers import calls

_LIMITS = Limits(seconds=7200, memory=32 << 30)
"""Of one group of builds: a source tree takes minutes and some gigabytes."""

Work = Callable[[list[Build]], Any]


def judge_groups(executor: Executor, work: Work, groups: list[list[Build]]) -> list[Any]:
    """Return what `work` returns for each group of builds, in their order.

    Raises ReadError for a group whose task fails, and the errors that `work` raises.
    """
    results: dict[int, Any] = {}
    with closing(calls.run_each(executor, work, groups, _name, _LIMITS)) as ended:
        for number, result in ended:
            if isinstance(result, Failure):
                build = groups[number][0]
                reason = f"the task that judges build {build.name} {result.message}"
                raise ReadError(", ".join(build.inputs), reason)
            results[number] = result
    return [results[number] for number in range(len(groups))]


def _name(group: list[Build]) -> str:
    return f"build {group[0].name}"
