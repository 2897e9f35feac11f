"""Change the code at random places, one at a time, and print which tests notice it.

    python -m tools.mutations --seed 1 --count 30

Each change is tried by the quick tests that reach it, those of its module and the fastest first, until one fails that passes without it. It
is tried in copies of the tracked files.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from tests.harness.command import ROOT
from tools.mutations import PACKAGES
from tools.mutations.blocks import Reach
from tools.mutations.reach import record
from tools.mutations.sites import Mutation, mutations
from tools.mutations.trials import Copy, Trial


def draw(seed: int, packages: Sequence[str] = PACKAGES, modules: str = "") -> Iterator[tuple[str, Mutation]]:
    """Yield modules with mutations: from each package in turn, every place of it as likely as any other."""
    chance = random.Random(seed)
    places = {
        package: [
            (str(path.relative_to(ROOT)), change)
            for path in sorted((ROOT / "layoutlint" / package).rglob("*.py"))
            if re.search(modules, str(path.relative_to(ROOT)))
            for change in mutations(path.read_text())
        ]
        for package in packages
    }
    while any(places.values()):
        for package in filter(places.get, packages):
            yield chance.choice(places[package])


def main(words: Sequence[str] | None = None) -> int:
    """Print a line for each mutation; return 1 if any survived."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutations", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--count", type=int, default=30, metavar="N")
    parser.add_argument("--numbers", nargs="+", type=int, metavar="N", help="try these of the mutations only")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, metavar="NAME", help="change these packages only")
    parser.add_argument("--modules", default="", metavar="PATTERN", help="change modules whose path has this regular expression only")
    parser.add_argument("--list", action="store_true", help="print the mutations without trying them")
    parser.add_argument("--reach", type=Path, metavar="FILE", help="what tools.mutations.reach has written; without, it is found first")
    parser.add_argument("--seconds", type=float, default=60, metavar="N", help="how long the tests of one mutation may take")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    given = parser.parse_args(words)
    drawn = draw(given.seed, given.packages, given.modules)
    chosen = {n: each for n, each in zip(range(given.count), drawn, strict=False) if not given.numbers or n in given.numbers}
    if given.list:
        for number, (module, mutation) in chosen.items():
            print(f"{number:3} {module}:{mutation.line}: {mutation.before} -> {mutation.after}")
        return 0
    reach = Reach.read(given.reach) if given.reach else record([])
    fates: Counter[str] = Counter()
    for number, trial in zip(chosen, _trials(list(chosen.values()), reach, given.seconds, given.jobs), strict=True):
        fates["killed" if trial.test else "survived"] += 1
        print(f"{number:3} {trial}", flush=True)
    print(", ".join(f"{count} {fate}" for fate, count in fates.items()))
    return 1 if fates["survived"] else 0


def _trials(chosen: Sequence[tuple[str, Mutation]], reach: Reach, seconds: float, jobs: int) -> Iterator[Trial]:
    """Yield a trial of each mutation, tried in several copies side by side."""
    copies: SimpleQueue[Copy] = SimpleQueue()

    def run(place: tuple[str, Mutation]) -> Trial:
        copy = copies.get()
        try:
            return copy.run(*place)
        finally:
            copies.put(copy)

    with ExitStack() as stack:
        for _ in range(jobs):
            copy = Copy(Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))), reach, seconds)
            stack.callback(copy.close)
            copies.put(copy)
        yield from stack.enter_context(ThreadPoolExecutor(jobs)).map(run, chosen)


if __name__ == "__main__":
    sys.exit(main())
