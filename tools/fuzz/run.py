"""Many inputs in worker processes: each is replaced when an input breaks a promise, and the run goes on behind it."""

from __future__ import annotations

import gc
import json
import mmap
import os
import select
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tools.fuzz import command, inputs, judge, seeds, trial
from tools.fuzz.other_build import Server

_MOST_PER_WORKER: Final = 20_000
"""A worker is replaced after so many inputs, so that what one input leaves cannot pile up."""
_EACH: Final = 20
"""One input of so many is read twice, and one by the other build."""
_CURRENT, _DONE, _PEAK, _PEAK_AT, _SLOWEST, _SLOWEST_AT, _ZERO, _ONE, _THREE, _COMPARED = range(10)
_FIELDS: Final = 10
_REACHED_ITS_END, _FOUND, _WORN = 17, 18, 19
"""Exit statuses that nothing else has: a command that ends its process is seen."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run."""

    count: int
    seed: int
    format: str = "all"
    jobs: int = 1
    end: float = float("inf")
    """The time.monotonic() after which nothing new is started."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An input that breaks a promise."""

    number: int
    problems: tuple[str, ...]

    @property
    def signature(self) -> str:
        return judge.signature(self.problems[0])


@dataclass(slots=True)
class Summary:
    """How a run went."""

    done: int = 0
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    compared: int = 0
    peak: tuple[int, int] = (0, 0)
    """The most bytes that one input added to what a worker had had, and its number."""
    slowest: tuple[int, int] = (0, 0)
    """Microseconds and number of the slowest input."""
    violations: list[Violation] = field(default_factory=list)


class _Job:
    """One of the workers, with what it shares with this process."""

    def __init__(self, number: int, plan: Plan, scratch: Path, with_other: bool) -> None:
        self.number = number
        self.plan = plan
        self.folder = scratch / str(number)
        self.folder.mkdir()
        self.trace, self.output = self.folder / "trace", self.folder / "told"
        self.shared = memoryview(mmap.mmap(-1, 8 * _FIELDS)).cast("q")
        self.other = Server() if with_other else None
        self.next = number
        self.child = 0

    def start(self) -> int:
        """Forks a worker for the rest of this job's inputs; a file that can be read when it has ended."""
        self.output.unlink(missing_ok=True)
        if self.other is not None:
            self.other.start()
        self.child = os.fork()
        if self.child == 0:
            status = 3
            try:
                status = self._work()
            except BaseException as error:
                self.trace.write_text(f"{type(error).__name__}: {error}")
            finally:
                os._exit(status)
        return os.pidfd_open(self.child)

    def _work(self) -> int:
        trial.limit(self.trace)
        ready: set[str] = set()
        for count, number in enumerate(range(self.next, self.plan.count, self.plan.jobs)):
            if time.monotonic() > self.plan.end:
                break
            if count == _MOST_PER_WORKER:
                self.shared[_CURRENT] = number - self.plan.jobs
                return _WORN
            self.shared[_CURRENT] = number
            found = self._try(number, ready)
            if found:
                self.output.write_text(json.dumps(found))
                return _FOUND
        return _REACHED_ITS_END

    def _try(self, number: int, ready: set[str]) -> list[str]:
        tried = inputs.input_of(number, self.plan.seed, self.plan.format)
        folder = self.folder / tried.seed.name
        if tried.seed.name not in ready:
            folder.mkdir(exist_ok=True)
            command.put(folder, dict(tried.seed.files))
            ready.add(tried.seed.name)
        command.put(folder, {tried.damaged: tried.data})
        os.chdir(folder)
        other = self.other if number % _EACH == 1 else None
        before, begun = trial.peak(), time.monotonic_ns()
        found, status = trial.examine(tried, number % _EACH == 0, other.run if other else None)
        self._count(number, status, time.monotonic_ns() - begun, trial.peak() - before, number % _EACH == 1)
        self.shared[_COMPARED] += other is not None
        if tried.damaged != tried.seed.recipe.opened:
            command.put(folder, {tried.damaged: dict(tried.seed.files)[tried.damaged]})
        return found

    def _count(self, number: int, status: object, nanoseconds: int, grown: int, is_compared: bool) -> None:
        shared = self.shared
        shared[_DONE] += 1
        if status in (0, 1, 3):
            shared[{0: _ZERO, 1: _ONE, 3: _THREE}[status]] += 1  # type: ignore[index]
        if grown > shared[_PEAK]:
            shared[_PEAK], shared[_PEAK_AT] = grown, number
        if nanoseconds // 1000 > shared[_SLOWEST] and not is_compared:
            shared[_SLOWEST], shared[_SLOWEST_AT] = nanoseconds // 1000, number

    def end(self, status: int) -> Violation | None:
        """What the worker that ended has found; the next one starts behind it."""
        code = os.waitstatus_to_exitcode(status)
        current = self.shared[_CURRENT]
        self.next = current + self.plan.jobs
        if code in (_REACHED_ITS_END, _WORN):
            return None
        if code == _FOUND:
            return Violation(current, tuple(json.loads(self.output.read_text())))
        if self.other is not None:
            self.other.stop()
        self.shared[_DONE] += 1
        return Violation(current, tuple(trial.end_reasons(status, self.trace)))


def many(plan: Plan, keep: Callable[[Violation], bool], with_other: bool = True) -> Summary:
    """Runs a plan; `keep` is told of every violation and says whether to go on."""
    begun = time.monotonic()
    undo = command.prepare()
    _warm()
    for number in range(200):  # what is made once, before the workers inherit it
        inputs.input_of(number, plan.seed, plan.format)
    gc.collect()
    gc.freeze()
    scratch = Path(tempfile.mkdtemp(prefix="fuzz-"))
    summary = Summary()
    jobs = [_Job(number, plan, scratch, with_other and Server.is_needed()) for number in range(plan.jobs)]
    try:
        _attend(jobs, summary, keep)
    finally:
        for job in jobs:
            if job.other is not None:
                job.other.stop()
        shutil.rmtree(scratch, ignore_errors=True)
        gc.unfreeze()
        undo()
    summary.seconds = time.monotonic() - begun
    for job in jobs:
        _add(summary, job.shared)
    return summary


def _warm() -> None:
    """Has the commands import what they import late, in this process, before workers are made of it."""
    here = os.getcwd()
    for name in ("gcc-object", "btf-raw"):
        seed = next(seed for seed in seeds.seeds() if seed.name == name)
        with tempfile.TemporaryDirectory() as folder:
            command.put(Path(folder), dict(seed.files))
            os.chdir(folder)
            command.run(inputs.check(seed.recipe.rules).words)
            command.run(("show", "input", "--all", "--format", "json"))
            os.chdir(here)


def _attend(jobs: list[_Job], summary: Summary, keep: Callable[[Violation], bool]) -> None:
    running = {job.start(): job for job in jobs}
    try:
        while running:
            for ended in select.select([*running], [], [])[0]:
                job = running.pop(ended)
                os.close(ended)
                _, status = os.waitpid(job.child, 0)
                violation = job.end(status)
                if violation is not None:
                    summary.violations.append(violation)
                    if not keep(violation):
                        return
                if os.waitstatus_to_exitcode(status) != _REACHED_ITS_END:
                    running[job.start()] = job
    finally:
        for file, job in running.items():
            os.kill(job.child, signal.SIGKILL)
            os.waitpid(job.child, 0)
            os.close(file)


def _add(summary: Summary, shared: memoryview) -> None:
    summary.done += shared[_DONE]
    summary.statuses.update({0: shared[_ZERO], 1: shared[_ONE], 3: shared[_THREE]})
    summary.compared += shared[_COMPARED]
    summary.peak = max(summary.peak, (shared[_PEAK], shared[_PEAK_AT]))
    summary.slowest = max(summary.slowest, (shared[_SLOWEST], shared[_SLOWEST_AT]))
