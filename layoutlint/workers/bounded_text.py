"""Work on texts by patterns, whose time can grow by the cube of a length: each text has a time by its size.

Python cannot stop a pattern, so the work is done in processes that the system ends.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from layoutlint import files
from layoutlint.workers import sandbox
from layoutlint.workers.child import HAS_PROCESSES
from layoutlint.workers.sandbox import Patience, WorkFailure, WorkLimits

_R = TypeVar("_R")
_PIECE = 1 << 16
_SECONDS = 2.0
"""Processor time for each piece of that many bytes, or the rest: ten times what files of Linux take."""
_LIMITS = WorkLimits(seconds=1200, memory=2 << 30)
"""For some files in one process, which waits for nothing but the disk and the processor."""
_PATIENCE_SECONDS = 120.0


def patience() -> Patience:
    """Return how long a run waits for texts that take too long, in all."""
    return Patience(_PATIENCE_SECONDS)


def map_ordered(
    work: Callable[[str], _R], groups: Sequence[Sequence[str]], jobs: int, patience: Patience
) -> Iterator[list[_R | WorkFailure]]:
    """Yield for each group of paths the results of `work`, or why a file has none, in order.

    `jobs` groups are worked on at once. Results are pickled; an exception in `work` is raised here.
    """
    done: dict[int, list[_R | WorkFailure]] = {}
    at = 0
    for number, result in sandbox.run_each(partial(_work_on_group, work), groups, jobs, _LIMITS):
        if not isinstance(result, WorkFailure):
            done[number] = [*result]
        elif len(groups[number]) == 1:
            done[number] = [result]
        else:
            done[number] = list(_one_by_one(work, groups[number], patience))
        while at in done:
            yield done.pop(at)
            at += 1


def _work_on_group(work: Callable[[str], _R], paths: Sequence[str]) -> list[_R]:
    return [_limit_time(work, path) for path in paths]


def _one_by_one(
    work: Callable[[str], _R], paths: Sequence[str], patience: Patience
) -> Iterator[_R | WorkFailure]:
    """Yield the result for each path of a group that one of them ended."""
    for _, result in sandbox.run_each(partial(_limit_time, work), paths, 1, _LIMITS, patience):
        yield result


def _limit_time(work: Callable[[str], _R], path: str) -> _R:
    """Return the result of the work; the system ends this process after the time for the file."""
    if not HAS_PROCESSES:
        return work(path)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS * (1 + _size(path) // _PIECE))
    try:
        return work(path)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _size(path: str) -> int:
    try:
        return files.status_of(path).st_size
    except (OSError, ValueError):  # the work says why
        return 0
