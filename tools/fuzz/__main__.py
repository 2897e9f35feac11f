"""`python -m tools.fuzz`: damaged inputs through the real command, as many or as long as one likes (docs/contributing/fuzzing.md)."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tools.fuzz import cases, inputs, trial
from tools.fuzz.run import Plan, Summary, Violation, many

_KEPT_PER_SIGNATURE = 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, metavar="N", help="how many inputs (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=None, metavar="M", help="stop after so long, however many are done")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="another seed, other inputs (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="processes (default: %(default)s)")
    parser.add_argument("--format", choices=["all", *inputs.FORMATS], default="all", help="what is damaged")
    parser.add_argument("--keep", type=Path, default=None, metavar="FOLDER", help="where inputs that break a promise are kept")
    parser.add_argument("--number", type=int, default=None, metavar="N", help="only this input, and say all of it")
    return parser.parse_args()


class _Keeper:
    """Tells of each kind of violation once, and keeps its input."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._asked = asked
        self.seen: Counter[str] = Counter()

    def __call__(self, violation: Violation) -> bool:
        self.seen[violation.signature] += 1
        if self.seen[violation.signature] > _KEPT_PER_SIGNATURE:
            return True
        tried = inputs.input_of(violation.number, self._asked.seed, self._asked.format)
        print(f"input {violation.number}, from {tried.seed.name}: {'; '.join(violation.problems)}")
        print(f"    in a process of its own: {trial.as_users_do(tried)}", flush=True)
        if self._asked.keep is not None:
            name = f"{self._asked.format}-{self._asked.seed}-{violation.number}"
            cases.save(self._asked.keep / name, tried, violation.problems[0])
        return True


def _say(summary: Summary, seen: Counter[str]) -> None:
    rate = summary.done / summary.seconds
    output = ", ".join(f"{count} x {status}" for status, count in sorted(summary.statuses.items()))
    print(f"{summary.done} inputs in {summary.seconds:.0f} s ({rate:.0f}/s); exit status: {output}; "
          f"{summary.compared} compared with the interpreted modules")  # fmt: skip
    print(f"slowest: {summary.slowest[0] / 1e6:.2f} s (input {summary.slowest[1]}); "
          f"most memory added: {summary.peak[0] / 2**20:.0f} MiB (input {summary.peak[1]})")  # fmt: skip
    print(f"violations: {len(summary.violations)} of {len(seen)} kinds")
    for kind, count in seen.most_common():
        print(f"  {count:6} {kind}")


def _one(number: int, asked: argparse.Namespace) -> list[str]:
    tried = inputs.input_of(number, asked.seed, asked.format)
    print(f"seed {tried.seed.name}, {tried.damaged} is damaged: {'; '.join(tried.log)}\nlayoutlint {' '.join(tried.words)}")
    found = trial.run_alone(tried)
    print("\n".join(found) or "nothing is wrong")
    if asked.keep is not None:
        cases.save(asked.keep, tried, found[0] if found else "nothing is wrong")
    return found


def main() -> int:
    asked = _arguments()
    if asked.number is not None:
        return bool(_one(asked.number, asked))
    keeper = _Keeper(asked)
    end = time.monotonic() + asked.minutes * 60 if asked.minutes is not None else float("inf")
    count = asked.inputs if asked.minutes is None or "--inputs" in sys.argv else sys.maxsize
    summary = many(Plan(count, asked.seed, asked.format, asked.jobs, end), keeper)
    _say(summary, keeper.seen)
    return bool(summary.violations)


if __name__ == "__main__":
    sys.exit(main())
