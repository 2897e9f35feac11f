"""Rules on objects in a row and on variables, against the addresses that programs print (1,000 by their commands)."""

from __future__ import annotations

import pytest

from tests.harness.effort import draws
from tests.harness.tools import need
from tools.differential import objects, variables


@pytest.fixture(autouse=True)
def _compiler(monkeypatch):
    need("gcc")
    need("nm")
    monkeypatch.setenv("LAYOUTLINT_NO_CACHE", "1")


def test_objects_in_a_row():
    tally = objects.run(30, 3, 30)
    assert tally.wrong == []
    assert tally.outcomes.keys() >= {"kept", "broken", "at-risk"}


def test_variables():
    tally = variables.run(10, 3)
    assert tally.wrong == []
    assert tally.outcomes.keys() >= {"neighbours broken", "neighbours kept"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("generator", [objects, variables], ids=["objects", "variables"])
def test_many(generator):
    tally = generator.run(draws(200, 1000), 1)
    assert tally.wrong == []
    assert tally.unknown.total() <= tally.outcomes.total() / 20


@pytest.mark.exhaustive
def test_the_comparison_sees_what_is_wrong(monkeypatch):
    """The truth of other rules is not what is found."""
    monkeypatch.setattr(objects, "LINE", 32)
    assert objects.run(30, 3, 30).wrong
    monkeypatch.setattr(variables, "LINE", 32)
    assert variables.run(20, 3).wrong
