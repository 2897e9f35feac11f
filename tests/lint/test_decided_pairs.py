"""Which pairs of fields a rule decides about: those of two sides if it keeps them apart, all if it keeps them together."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import pytest

from layoutlint.judgement.rule import VARIABLES, Rule, Severity
from layoutlint.kinds import find_kind
from layoutlint.lint.decided_pairs import decided_pairs
from layoutlint.model.structs import Source
from tests.harness.build import context, member, struct

PAIR = member("pair", 16, 16, member("low", 0, 8), member("high", 8, 8))
RING = struct("ring", 48, member("head", 0, 8), member("tail", 8, 8), PAIR, member("lock", 32, 8), member("last", 40, 8))
PATHS = ("head", "tail", "pair", "pair.low", "pair.high", "lock", "last")
APART = ("separate", {"fields": (("head",), ("tail", "pair.low"))})
TOGETHER = ("together", {"fields": ("head", "pair")})


def rule(kind: str, keys: dict[str, Any], name: str = "ring", **more: Any) -> Rule:
    return Rule("rule", name, find_kind(kind)(**keys), Severity.ERROR, "why", Source("rules.toml", 1), **more)


def pairs(*rules: Rule) -> str | None:
    """The pairs about which rules decide, in any order; `x` stands for a field with itself."""
    own = context(RING)
    are_decided = decided_pairs(rules)
    if are_decided is None:
        return None
    decide = are_decided(own)
    found = [(a, b) for a, b in combinations_with_replacement(PATHS, 2) if decide(own.place(a), own.place(b))]
    assert found == [(a, b) for a, b in combinations_with_replacement(PATHS, 2) if decide(own.place(b), own.place(a))]
    return " ".join(a if a == b else f"{a}-{b}" for a, b in found)


ROWS = [
    # rules, pairs
    ((rule(*APART),), "head-tail head-pair head-pair.low"),
    ((rule(*TOGETHER),), "head head-pair head-pair.low head-pair.high pair pair-pair.low pair-pair.high pair.low pair.low-pair.high pair.high"),
    ((rule("together", {"fields": ("pair.low", "lock")}),), "pair pair-pair.low pair-lock pair.low pair.low-lock lock"),
    ((rule("guards", {"lock": "lock", "data": ("last",), "contended": True}),), "lock-last"),
    ((rule("guards", {"lock": "lock", "data": ("last",), "contended": False}),), "lock lock-last last"),
    ((rule("adjacent", {"fields": ("head", "tail")}), rule(*APART)), "head head-tail head-pair head-pair.low tail"),
    ((rule("isolated", {"fields": ("lock",)}),), "head-lock tail-lock pair-lock pair.low-lock pair.high-lock lock-last"),
    ((rule(*APART, name="other"), rule(*TOGETHER, name="other")), ""),
    ((rule("separate", {"fields": (("head",), ("none",))}), rule("adjacent", {"fields": ("lock", "last")})), "lock lock-last last"),
    ((), None),
    ((rule("size", {"max": 64}),), None),
    ((rule(*APART, name=VARIABLES),), None),
    ((rule(*APART, around=True),), None),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "decided"), ROWS)
def test_pairs(rules, decided):
    assert pairs(*rules) == decided
