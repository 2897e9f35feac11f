"""No order is called safe that changes what a random program does."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.harness.effort import draws
from tests.harness.tools import need
from tests.suggestion import programs
from tests.suggestion.random_programs import Maker

pytestmark = pytest.mark.usefixtures("reads_here")

MOST_REFUSED = 0.25
"""The largest share of programs that do the same in all orders and are refused: most of them are wrong in other ways."""


def make_runs(text: str, members: Sequence[str], folder: Path) -> programs.Runs:
    """The program by tcc, which takes a tenth of the time, or by gcc if tcc lacks something."""
    for compiler in filter(shutil.which, ("tcc", "gcc")):
        runs = programs.Runs(text, "random", members, compiler, folder)
        first = runs.output(range(len(members)))
        if not first.startswith("no program"):
            break
    assert first.startswith("0 "), (folder, first)
    return runs


def judge(seed: int, folder) -> tuple[list[tuple[int, ...]], bool, bool]:
    """The orders that are called safe and change a program; whether it depends on the order, and is refused."""
    text, members = Maker(seed).program()
    runs = make_runs(text, members, folder / str(seed))
    found = programs.search(folder / f"{seed}s", programs.program_files(text, "random", members))
    allowed = [order for order in programs.ORDERS if programs.is_allowed(found, members, order)]
    wrong = [order for order in allowed if runs.changes(order)]
    forbidden = [order for order in programs.ORDERS if order not in allowed]
    return wrong, bool(wrong) or any(map(runs.changes, forbidden)), bool(forbidden)


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(1000, 1000 + draws(100, 200)), marks=pytest.mark.exhaustive)], ids=["few", "many"])
def test_random_programs(tmp_path, seeds):
    need("gcc", "-c")
    results = {seed: judge(seed, tmp_path) for seed in seeds}
    assert {seed: wrong for seed, (wrong, *_) in results.items() if wrong} == {}
    refused = [is_refused for _, depends, is_refused in results.values() if not depends]
    assert sum(refused) <= max(1, MOST_REFUSED * len(refused))
