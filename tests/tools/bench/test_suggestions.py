"""`tools.bench.suggestions`: what `suggest` finds for the structs that break shipped rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.judgement.verdict import Outcome
from tests.harness.effort import draws
from tests.harness.tools import NEEDS_SOLVER
from tests.real import kernels
from tools.bench import suggestions

pytestmark = NEEDS_SOLVER
CASES = [
    # struct, what keeps its rules, moves, size after; upstream's moves, what it aligned, its size
    ("rw_semaphore", "order", 1, 40, 3, (), 40),
    pytest.param("optimistic_spin_node", "addition", 0, 128, 0, ("cpu",), 128, marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("name", "state", "moves", "size", "moved", "aligned", "upstream"), CASES)
def test_a_case_beside_the_change_of_upstream(tmp_path, name, state, moves, size, moved, aligned, upstream):
    (row,) = suggestions.rows(tmp_path, [name])
    assert (row.state, row.moves, row.size) == (state, moves, size)
    assert (row.upstream.moved, row.upstream.aligned, row.upstream.after) == (moved, aligned, upstream)
    assert f"{row}\n" in suggestions.PAGE.read_text()


@pytest.mark.exhaustive
def test_the_first_rules_need_no_more_moves_than_upstream():
    """Upstream's order of the new fields of `futex_state` breaks the rule: there, keeping it at no more bytes counts."""
    page = suggestions.PAGE.read_text()
    broken = {}
    for row in suggestions.mail_rows():
        assert row.state in ("order", "addition"), row
        assert row.size <= max(row.upstream.after, row.upstream.before), row
        kept = {each.rule.id for each in (row.addition or row.found).rules if each.after.outcome is Outcome.KEPT}
        failing = {each.rule.id for each in row.found.rules if each.before.outcome is not Outcome.KEPT}
        assert failing, row
        assert failing <= kept, row
        if row.upstream.broken:
            broken[row.name] = set(row.upstream.broken) - kept
        else:
            assert row.moves <= row.upstream.moved, row
        assert f"{row}\n" in page
    assert broken == {"futex_state": set()}


@pytest.mark.real
@pytest.mark.exhaustive
def test_real_structs_need_no_more_moves_than_upstream():
    lacking = [name for _, name in suggestions.KERNELS if kernels.find_kernel(name) is None]
    if lacking:
        pytest.skip(f"python -m tests.real.kernels fetch {lacking[0]}")
    mails = {row.name: row for row in suggestions.mail_rows()}
    for row in suggestions.kernel_rows():
        upstream = mails[row.name].upstream
        assert row.moves <= upstream.moved
        assert row.size <= upstream.after
        assert f"{row}\n" in suggestions.PAGE.read_text()


@pytest.mark.exhaustive
def test_every_breaking_case_has_an_order_or_a_proof(tmp_path: Path):
    page = suggestions.PAGE.read_text()
    for row in suggestions.rows(tmp_path, step=draws(3, 1)):
        if row.state == "order":
            assert all(each.after.outcome is Outcome.KEPT for each in row.found.rules), row
        elif row.state == "addition":
            best = row.addition
            assert all(each.after.outcome is Outcome.KEPT for each in best.rules), row
        elif row.state == "impossible":
            assert row.found.core, row
        else:
            assert row.state == "only judged", row
        assert (f"{row}\n" in page) == (row.upstream is not None), row
