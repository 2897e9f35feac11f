"""Gaps before members prove no alignment that a compiler did not choose (1,000 cases by the command of gaps.py)."""

from __future__ import annotations

import pytest

from tests.harness.effort import draws
from tests.harness.tools import need
from tools.differential import gaps


def test_no_gap_proves_a_wrong_alignment():
    need("gcc-12", "-c")
    result = gaps.examine(12, 7)
    assert result.wrong == []
    assert sum(result.counts.values()) == 12


@pytest.mark.exhaustive
def test_no_gap_of_many_proves_a_wrong_alignment():
    need("gcc-12", "-c")
    assert gaps.examine(draws(150, 1000), 1).wrong == []


@pytest.mark.parametrize(("align", "outcomes"), [(1, ("at-risk",) * 3), (8, ("kept", "at-risk", "at-risk")), (64, ("kept", "broken", "kept"))])
def test_what_a_program_prints_decides_the_outcome(align, outcomes):
    truth = gaps.Truth(align, (0, 4), (8, 8))
    assert tuple(map(truth.outcome, range(3))) == outcomes
