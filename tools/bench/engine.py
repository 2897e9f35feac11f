"""What executors cost: two workers against one, processor time, overhead of a task, and memory of the client.

    python -m tools.bench.engine [--rounds N] [--inputs N] VMLINUX...

Ten tasks of a survey read the files in turn, by one worker and by two, five times; then tasks without work, by
local workers and by a cluster of Dask. Wall-clock time needs a machine that does nothing else; processor time
does not. A part that takes over 10 minutes ends the run with an error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from layoutlint.commands.packs import load_packs
from layoutlint.commands.survey.run import plan_of
from layoutlint.commands.survey.task import Assignment, Survey, survey_input
from layoutlint.intent.toml import shipped_rules
from layoutlint.model.task import Executor, Limits, Task
from layoutlint.surveys.store import create_store
from layoutlint.workers.local import LocalExecutor
from tests.harness.dask_cluster import Cluster
from tests.harness.run_options import run_options

MOST_SECONDS = 600
"""The most time of one part: all inputs by one number of workers, or tasks without work."""
LIMITS = Limits(600, 4 << 30)
SIZES = (200, 2_000, 10_000)
"""The numbers of tasks without work. In the first 2,000, libraries of a client still fill their own pools."""


class Ended(NamedTuple):
    """All tasks: wall-clock and processor seconds."""

    wall: float
    processor: float


def survey_tasks(files: list[str], inputs: int, store: str) -> Iterator[Task]:
    """Tasks of a survey, each with a key of its own: equal inputs would be one task."""
    plan = plan_of(load_packs((), ()), shipped_rules.kernel_packs_beside(()), run_options(mode=Survey(("address_space",))))
    for number in range(inputs):
        name = files[number % len(files)]
        work = Assignment(plan, f"{number:032x}", name, os.getcwd(), create_store(store), None, None, None)
        yield Task(f"{number} {name}", survey_input, work, LIMITS)


def run(executor: Executor, tasks: Iterator[Task]) -> Ended:
    """Run tasks to their end; raise RuntimeError if one fails, or if they take too long."""
    started, processor = time.monotonic(), 0.0
    for outcome in executor.run(tasks):
        if time.monotonic() - started > MOST_SECONDS:
            raise RuntimeError(f"the tasks take more than {MOST_SECONDS} s")
        if outcome.failure is not None:
            raise RuntimeError(f"{outcome.task.name} {outcome.failure.message}")
        processor += outcome.processor_seconds
    return Ended(time.monotonic() - started, processor)


def measure_efficiency(files: list[str], inputs: int, rounds: int) -> None:
    """Print how many times faster two workers are, in rounds that alternate."""
    ends: dict[int, list[Ended]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, of_workers in ends.items():
            with tempfile.TemporaryDirectory() as folder:
                executor = LocalExecutor(workers, ("layoutlint.commands.survey.preload",))
                of_workers.append(run(executor, survey_tasks(files, inputs, f"{folder}/store")))
    for workers, of_workers in ends.items():
        print(f"{workers} worker(s), {inputs} inputs: median {median(end.wall for end in of_workers):.1f} s, "
              f"processors {median(end.processor for end in of_workers):.1f} s", flush=True)  # fmt: skip
    one, two = ends[1], ends[2]
    speed = median(a.wall / b.wall for a, b in zip(one, two, strict=True))
    cost = median(b.processor / a.processor for a, b in zip(one, two, strict=True))
    print(f"two workers are {speed:.2f} times as fast (goal: 1.6), with {cost:.2f} times the processor time (goal: 1.1)")


def empty_tasks(number: int) -> Iterator[Task]:
    return (Task(str(each), abs, -each, LIMITS) for each in range(number))


def measure_overhead(name: str, words: tuple[str, ...]) -> None:
    """Print what a task without work takes, and the most memory of its client, in a process of its own."""
    peaks = []
    for number in SIZES:
        program = [sys.executable, "-m", "tools.bench.engine", "--client", str(number), *words]
        done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=True)
        seconds, processor, peak = map(float, done.stdout.split())
        peaks.append(peak)
        print(f"{name}: {number:,} tasks without work, each {1000 * seconds / number:.2f} ms of wall-clock time and "
              f"{1000 * processor / number:.2f} ms of the processors; client at most {peak:,.1f} MiB", flush=True)  # fmt: skip
    growth = (peaks[-1] - peaks[-2]) * (1 << 20) / (SIZES[-1] - SIZES[-2])
    print(f"{name}: the client grows by {growth:,.0f} bytes for a result")


def serve_as_client(number: int, address: str | None) -> None:
    """Run tasks without work; print seconds of wall and processors, and the most resident MiB of this process.

    The processor time is of this process, of the tasks, and of local workers, but not of Dask's.
    """
    import resource

    executor: Executor = LocalExecutor(1)
    if address is not None:
        from layoutlint.workers.dask_client import DaskExecutor
        from layoutlint.workers.scheduler_address import parse_address

        executor = DaskExecutor(parse_address(address, allow_insecure=False))
    run(executor, empty_tasks(100))
    before = os.times()
    ended = run(executor, empty_tasks(number))
    after = os.times()
    processor = sum(after[:4]) - sum(before[:4])  # local workers have ended, so they and their tasks are in it
    if address is not None:
        processor += ended.processor
    print(ended.wall, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def with_cluster(work: Callable[[str], None]) -> None:
    """Call a function with the address of a scheduler that has one worker."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), 1)
        try:
            work(cluster.address)
        finally:
            cluster.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--inputs", type=int, default=10)
    parser.add_argument("--client", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        serve_as_client(options.client, options.address)
        return
    if options.files:
        measure_efficiency(options.files, options.inputs, options.rounds)
    measure_overhead("local, one worker", ())
    with_cluster(lambda address: measure_overhead("Dask, one worker", ("--address", address)))


if __name__ == "__main__":
    main()
