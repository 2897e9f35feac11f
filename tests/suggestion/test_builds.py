"""Orders for several builds are the best of all orders, as a compiler lays them out for each build."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.harness.tools import NEEDS_SOLVER, need
from tests.suggestion.brute_force import compile_orders
from tests.suggestion.builds_agreement import Variants, compare, variants

pytestmark = NEEDS_SOLVER


def faults(some: list[Variants], folder: Path) -> list[str]:
    """What contradicts, with the structs; skips where gcc does not compile for both sizes of words."""
    for bits in (64, 32):
        need("gcc", f"-m{bits}", "-c")
    layouts = {
        name: compile_orders([each.builds[name] for each in some if name in each.builds], folder)
        for name in ("wide", "narrow", "third")
    }
    results = [(each, compare(each, layouts, folder)) for each in some]
    assert sum(found is not None for _, found in results) > len(some) * 0.8
    return [f"{fault}\n{each.text}\n{each.base.rules}" for each, found in results for fault in found or ()]


def test_common_orders_are_the_best_of_all_orders(tmp_path):
    made = (variants(seed, 3, 4) for seed in itertools.count(300))
    assert faults(list(itertools.islice(filter(None, made), 6)), tmp_path) == []


@pytest.mark.exhaustive
def test_common_orders_are_the_best_of_all_orders_of_more_structs(tmp_path):
    made = (variants(seed, 3, 6) for seed in itertools.count(7000))
    assert faults(list(itertools.islice(filter(None, made), 100)), tmp_path) == []
