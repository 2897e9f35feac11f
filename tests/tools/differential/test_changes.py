"""Random structs in two versions: `diff` and snapshots say of each change what gcc says (tools/differential/changes.py).

1,000 of them: `python -m tools.differential --changes --cases 1000`.
"""

from __future__ import annotations

import pytest

from tests.harness.effort import draws
from tests.harness.tools import need
from tools.differential import changes


def mistakes_of(tmp_path, cases: list[changes.Case], *inputs: str) -> list[str]:
    need("gcc", "-c")
    changes.find_truth(cases, tmp_path)
    return list(changes.mistakes(cases, tmp_path, inputs or ("s.h", "s.o")))


def test_every_change_is_what_gcc_says(tmp_path):
    assert mistakes_of(tmp_path, changes.cases(1, 10), "s.h") == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_changes_are_what_gcc_says(tmp_path, seed):
    assert mistakes_of(tmp_path, changes.cases(seed, draws(40, 250))) == []


@pytest.mark.exhaustive
def test_the_comparison_sees_what_is_wrong(tmp_path, monkeypatch):
    """Of two equal versions, each is held against the truth of a changed one."""
    cases = [case for case in changes.cases(1, 20) if case.old != case.new]
    need("gcc", "-c")
    changes.find_truth(cases, tmp_path)
    differing = {case.old.name for case in cases if case.is_moved or case.retyped}
    for case in cases:
        case.new = case.old
    wrong = list(changes.mistakes(cases, tmp_path))
    assert len(differing) > 5
    assert differing <= {name for name in differing if any(f" {name}" in each for each in wrong)}
