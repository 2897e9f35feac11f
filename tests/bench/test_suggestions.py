"""`tests.bench.suggestions`: what `suggest` finds for the structs that break shipped rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.judgement.verdict import Outcome
from tests.bench import suggestions
from tests.harness.tools import NEEDS_SOLVER
from tests.real import kernels

pytestmark = NEEDS_SOLVER
CASES = [
    # struct, what keeps its rules, moves, size after; upstream's moves, what it aligned, its size
    ("rw_semaphore", "order", 1, 40, 3, (), 40),
    ("optimistic_spin_node", "alignment", 0, 128, 0, ("cpu",), 128),
]


@pytest.mark.parametrize(("name", "state", "moves", "size", "moved", "aligned", "upstream"), CASES)
def test_a_case_beside_the_change_of_upstream(tmp_path, name, state, moves, size, moved, aligned, upstream):
    (row,) = suggestions.rows(tmp_path, [name])
    best = min(row.found.alternatives, key=lambda each: len(each.moves), default=None)
    after = row.found.new.bit_size // 8 if best is None else best.size
    assert (row.state, row.moves if best is None else len(best.moves), after) == (state, moves, size)
    assert (row.upstream.moved, row.upstream.aligned, row.upstream.after) == (moved, aligned, upstream)


SEEDS = [
    # struct, what keeps its rules, size after
    ("address_space", "order", 192),
    ("pcpu_chunk", "order", 128),
    ("optimistic_spin_node", "alignment", 128),
]


@pytest.mark.real
@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "state", "size"), SEEDS)
def test_a_real_struct_needs_no_more_than_the_patch_of_upstream(name, state, size):
    seed = next(seed for seed in suggestions.SEEDS if seed.name == name)
    if kernels.find_kernel(seed.kernel) is None:
        pytest.skip(f"python -m tests.real.kernels fetch {seed.kernel}")
    row = next(row for row in suggestions.seed_rows() if row.name == name)
    best = min(row.found.alternatives, key=lambda each: len(each.moves), default=None)
    after = row.found.new.bit_size // 8 if best is None else best.size
    assert (row.state, after) == (state, size)
    assert (row.moves if best is None else len(best.moves)) <= seed.upstream.moved
    assert after <= seed.upstream.after


@pytest.mark.exhaustive
def test_every_breaking_case_has_an_order_or_a_proof(tmp_path: Path):
    for row in suggestions.rows(tmp_path):
        if row.state == "order":
            assert all(each.after.outcome is Outcome.KEPT for each in row.found.rules), row
        elif row.found.status == "infeasible":
            assert row.found.core, row
        else:
            assert row.state in ("only judged", "unknown", "feasible"), row
