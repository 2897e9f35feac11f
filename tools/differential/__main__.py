"""Hold verdicts on random structs against what compilers made of them.

    python -m tools.differential --cases 50000 --seed 1
    python -m tools.differential --sources --cases 2000 --seed 1 --only arm
    python -m tools.differential --changes --cases 1000 --seed 1

A case is one struct, compiled by one compiler with one set of flags, and read by every reader that its object has.
With `--sources`, a database names the gcc of a machine, and layouts are held against that gcc (sources.py); a case is
then one struct of each machine. With `--changes`, a case is one struct in two versions: `diff` and snapshots are held
against what gcc says of every path (changes.py).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tools.differential import changes, configurations, sources
from tools.differential.run import Run


def main(words: Sequence[str] | None = None) -> int:
    """Prints a table; 1 where something contradicts the truth, 3 where nothing could be compiled."""
    parser = argparse.ArgumentParser(prog="python -m tools.differential", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--per-unit", type=int, metavar="N", help="structs in one file")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="units at a time")
    parser.add_argument("--only", default="", metavar="TEXT", help="configurations whose name has it")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where what contradicts is kept")
    parser.add_argument("--sources", action="store_true", help="read C through databases that name a gcc")
    parser.add_argument("--changes", action="store_true", help="compare two versions of each struct")
    parser.add_argument("--ask", action="store_true", help="ask these gccs (--query-driver)")
    parser.add_argument(
        "--measured",
        type=float,
        default=sources.MACHINES[0].measured,
        metavar="SHARE",
        help="members with `sizeof` and the like of other structs",
    )
    parser.add_argument(
        "--reduce",
        type=int,
        default=0,
        metavar="N",
        help="of the wrong structs of each gcc, N are made small",
    )
    given = parser.parse_args(words)
    os.environ["LAYOUTLINT_NO_CACHE"] = (
        "1"  # no verdict is of an earlier run, and the user's cache stays as it is
    )
    given.per_unit = given.per_unit or (25 if given.changes else 250)
    keep = given.keep or Path(tempfile.mkdtemp(prefix="differential-"))
    run = _changes if given.changes else _sources if given.sources else _verdicts
    return run(given, keep)


def _changes(given: argparse.Namespace, keep: Path) -> int:
    """Each unit that contradicts is kept with its sources."""
    begun, wrong, number = time.monotonic(), 0, 0
    kinds: Counter[str] = Counter()
    while (done := kinds.total()) < given.cases:
        folder = keep / f"{number:03}"
        folder.mkdir(parents=True)
        made = changes.cases(given.seed * 1_000_003 + number, min(given.per_unit, given.cases - done))
        changes.find_truth(made, folder)
        kinds.update(case.kind for case in made)
        found = list(changes.mistakes(made, folder))
        for text in found:
            print(f"{folder}: {text}")
        if not found:
            shutil.rmtree(folder)
        wrong, number = wrong + len(found), number + 1
        print(f"{kinds.total():,} cases, {wrong:,} contradictions", file=sys.stderr, flush=True)
    print("\n".join(f"{count:6,} {kind}" for kind, count in sorted(kinds.items())))
    print(f"{kinds.total():,} cases, {wrong:,} contradictions, {time.monotonic() - begun:.0f} s, seed {given.seed}")
    return 1 if wrong else 0


def _sources(given: argparse.Namespace, keep: Path) -> int:
    machines, missing = sources.available()
    for reason in missing:
        print(f"without {reason}", file=sys.stderr)
    names = [word for word in given.only.split(",") if word]
    machines = [
        one for one in machines if not names or any(word in one.name.replace(" ", "") for word in names)
    ]
    if not machines:
        return 3
    begun = time.monotonic()
    machines = [replace(one, is_asked=given.ask, measured=given.measured) for one in machines]
    run = sources.Run(machines, given.seed, given.per_unit, given.jobs)
    for _ in run.steps(given.cases):
        print(run.line(), file=sys.stderr, flush=True)
    run.keep(keep, given.reduce)
    print(run.table())
    print(f"{time.monotonic() - begun:.0f} s, seed {given.seed}, kept in {keep}")
    return 1 if any(one.wrong for one in run.tallies.values()) else 0


def _verdicts(given: argparse.Namespace, keep: Path) -> int:
    found, missing = configurations.available()
    found = [one for one in found if given.only in one.name]
    for reason in missing:
        print(f"without {reason}", file=sys.stderr)
    if not found:
        print("no compiler", file=sys.stderr)
        return 3
    begun = time.monotonic()
    run = Run(found, given.seed, given.per_unit, keep, given.jobs)
    for _ in run.steps(given.cases):
        print(run.line(), file=sys.stderr, flush=True)
    print(run.table())
    print(f"{time.monotonic() - begun:.0f} s, seed {given.seed}")
    if run.contradictions:
        print(f"kept in {keep}")
    return 1 if run.contradictions else 0


if __name__ == "__main__":
    sys.exit(main())
