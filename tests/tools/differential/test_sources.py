"""Random structs read through a database that names gcc: each layout is that of the gcc, or unknown with a reason.

20,000 structs of each machine: `python -m tools.differential --sources --cases 20000`.
"""

from __future__ import annotations

import json

import pytest

from tests.harness.effort import draws
from tests.harness.tools import need
from tools.differential import sources
from tools.differential.sources import MACHINES, Machine, Run, Tally
from tools.differential.structs import Record, Spot, Unit
from tools.differential.truth import Compiler

ABOVE = {"s390x-linux-gnu-gcc": "without -march the alignment of vectors is not known"}
"""The machines of which more is unknown than the bound says, and why."""


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("LAYOUTLINT_NO_CACHE", "1")


def tally_of(machine: Machine, seed: int, cases: int, per_unit: int) -> Tally:
    need(machine.command[0], *machine.command[1:], "-c")
    run = Run([machine], seed, per_unit)
    for _ in run.steps(cases):
        pass
    return run.tallies[machine.name]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda one: one.name)
def test_no_layout_is_another_than_gccs(machine):
    tally = tally_of(machine, 1, 120, 60)
    assert [each.text for each in tally.wrong] == []
    assert tally.missing == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("machine", MACHINES, ids=lambda one: one.name)
def test_few_layouts_are_unknown(machine):
    tally = tally_of(machine, 2, draws(2000, 20000), 250)
    assert [each.text for each in tally.wrong] == []
    if tally.share_unknown > machine.most_unknown and machine.name in ABOVE:
        pytest.xfail(f"{tally.share_unknown:.1%} are unknown, above {machine.most_unknown:.0%}: {ABOVE[machine.name]}")
    assert tally.share_unknown <= machine.most_unknown, tally.unknown


@pytest.mark.parametrize(
    ("text", "is_found"), [("struct s { int m1; char m2 : 3; };", True), ("struct s { int m1; };", False)]
)
def test_the_comparison_sees_what_is_wrong(text, is_found, monkeypatch):
    """A layout of another struct of the same name is not gcc's."""
    need("gcc", "-c")
    read = sources._read

    def read_another(database, names, options):
        source = database.parent / json.loads(database.read_text())[0]["file"]
        source.write_text("struct s { int m1; };\n")
        return read(database, names, options)

    monkeypatch.setattr(sources, "_read", read_another)
    spots = [Spot("m1"), Spot("m2", 3)] if is_found else [Spot("m1")]
    unit = Unit([Record("s", "struct s", text, "", spots)], [])
    tally = sources.compare(Compiler("gcc", ("gcc",)), unit, 1)
    assert bool(tally.wrong) == is_found
