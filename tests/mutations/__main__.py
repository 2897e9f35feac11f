"""Change the code at random places, one at a time, and print which tests notice it.

    python -m tests.mutations --seed 1 --count 30

Each change is tried by the tests of its module and package, then by the quick suite, then, with --exhaustive, by the exhaustive one.
Run it in a checkout with nothing to commit. It takes minutes to hours, on all cores.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.harness.command import ROOT
from tests.mutations import PACKAGES
from tests.mutations.blocks import Reach
from tests.mutations.sites import Mutation, mutations
from tests.mutations.trials import Copy


def draw(seed: int, packages: Sequence[str] = PACKAGES) -> Iterator[tuple[str, Mutation]]:
    """Yield modules with mutations: from each package in turn, every place of it as likely as any other."""
    chance = random.Random(seed)
    places = {
        package: [
            (str(path.relative_to(ROOT)), change)
            for path in sorted((ROOT / "layoutlint" / package).rglob("*.py"))
            for change in mutations(path.read_text())
        ]
        for package in packages
    }
    while True:
        for package in packages:
            yield chance.choice(places[package])


def main(words: Sequence[str] | None = None) -> int:
    """Print a line for each mutation; return 1 if any survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--count", type=int, default=30, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first mutation to try")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, metavar="NAME", help="change these packages only")
    parser.add_argument("--list", action="store_true", help="print the mutations without trying them")
    parser.add_argument("--nearest", action="store_true", help="try the tests of the package only")
    parser.add_argument(
        "--reach", type=Path, metavar="FILE", help="of the quick tests, try those that reach the change (see tests.mutations.reach)"
    )
    parser.add_argument("--most", type=int, metavar="N", help="at most so many files of these, those nearest to the change first")
    parser.add_argument("--exhaustive", action="store_true", help="try survivors with the exhaustive tests as well")
    given = parser.parse_args(words)
    chosen = [each for each, _ in zip(draw(given.seed, given.packages), range(given.count), strict=False)]
    suites = ["nearest", *([] if given.nearest else ["quick"]), *(["exhaustive"] if given.exhaustive else [])]
    fates: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        place = None if given.list else Copy(Path(folder), given.reach and Reach.read(given.reach), given.most)
        for number, (module, mutation) in list(enumerate(chosen))[given.first :]:
            if place is None:
                print(f"{number:3} {module}:{mutation.line}: {mutation.before} -> {mutation.after}")
                continue
            trial = place.run(module, mutation, suites)
            fates[trial.suite or "survived"] += 1
            print(f"{number:3} {trial}", flush=True)
    print(", ".join(f"{count} {fate}" for fate, count in fates.items()))
    return 1 if fates["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
