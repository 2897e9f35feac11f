"""Random changes that break a rule do not pass (500 cases by the command of violations.py)."""

from __future__ import annotations

import random

import pytest

from tests.harness.effort import draws
from tests.harness.tools import need
from tools.differential import violations
from tools.differential.change_kinds import VARIANTS
from tools.differential.change_projects import KINDS, Project, Seen, breaks
from tools.differential.policy_changes import POLICY_VARIANTS


def test_no_change_passes():
    need("gcc", "-c")
    result = violations.examine_all(list(violations.cases(2, 20)))
    assert [one.line for one in result.outcomes if one.is_wrong] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1, 4))
def test_many_changes_do_not_pass(seed):
    need("gcc", "-c")
    result = violations.examine_all(list(violations.cases(draws(60, 500), seed)))
    assert [one.line for one in result.outcomes if one.is_wrong] == []
    assert len(result.outcomes) > 50
    assert {one.status for one in result.outcomes} >= {1, 3}


@pytest.mark.exhaustive
def test_the_comparison_sees_a_run_that_passes(monkeypatch):
    """Each change is made, and layoutlint judges another rule."""
    need("gcc", "-c")
    monkeypatch.setattr(Project, "rules", lambda self, more="": f'[[rule]]\nid = "x"\nstruct = "{self.tag}"\nkind = "size"\nmax = 4096\nwhy = "w"\n')
    result = violations.examine_all(list(violations.cases(10, 2, "macro that is the distance")))
    assert [one.status for one in result.outcomes if one.is_wrong] == [0] * len(result.outcomes)


@pytest.mark.parametrize("kind", KINDS)
def test_rules_are_broken_by_offsets(kind):
    for seed in range(20):
        project = Project(random.Random(seed), False, (kind,))
        start, behind = 8 * len(project.lead), 8 * len(project.tail)
        found = [
            breaks(project, Seen(project.tag, start + 16 + gap + behind, 1, {project.a: start, project.b: start + 8 + gap}), (project.a, project.b))
            for gap in (project.good, project.bad)
        ]
        assert found == [False, True]


def test_every_variant_has_its_own_name():
    names = [f"{variant.kind} {variant.name}" for variant in (*VARIANTS, *POLICY_VARIANTS)]
    assert len(set(names)) == len(names)
    assert all(variant.reason for variant in VARIANTS if variant.silent or variant.unseen)
