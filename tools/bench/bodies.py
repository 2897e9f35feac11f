"""Processor time of reading functions, beside libclang's own parse: `python -m tools.bench.bodies INPUT... [-- FLAGS]`.

INPUT and FLAGS are as for `accesses`. The parse has the same flags, with bodies, and nothing reads its result. Both
run in two processes without the cache, in turns, so that a busy machine slows both.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
from collections.abc import Callable

from layoutlint.model.reading import ReadOptions
from layoutlint.readers.clang import parse
from layoutlint.readers.clang.parse import Unit
from layoutlint.sources import bodies
from layoutlint.sources.bodies import sources, trees, unit

ROUNDS = 3
PROCESSES = 2


def main() -> None:
    """Print both times of each round, and the ratio."""
    gc.set_threshold(300_000, 20, 100)  # as the command line does
    paths, _, flags = " ".join(sys.argv[1:]).partition(" -- ")
    options = ReadOptions(flags=tuple(flags.split()), cache=False, jobs=PROCESSES)
    inputs = tuple(paths.split())
    units = sources.find(inputs, options).units
    ratios = []
    for _ in range(ROUNDS):
        parsing = seconds(lambda: parse_all(units))
        reading = seconds(lambda: bodies.read(inputs, options))
        ratios.append(reading / parsing)
        print(f"{len(units)} units: parse {parsing:.1f} s, functions {reading:.1f} s, ratio {ratios[-1]:.2f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.2f}")


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of a call in a process of its own, and of the processes that it waits for.

    What one call keeps for the next would make later rounds other runs.
    """
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    _, status, usage = os.wait4(child, 0)
    assert status == 0
    return usage.ru_utime + usage.ru_stime


def parse_all(units: list[Unit]) -> None:
    """Parse units in processes of their own, two at a time."""
    lib = trees.library()
    for start in range(0, len(units), PROCESSES):
        children = []
        for each in units[start : start + PROCESSES]:
            child = os.fork()
            if not child:
                with parse.parse_unit(lib, each, None, unit.OPTIONS):
                    os._exit(0)
            children.append(child)
        for child in children:
            assert os.waitpid(child, 0)[1] == 0


if __name__ == "__main__":
    main()
