"""What each kind says of itself to other code, and which rules can be judged by pairs of lines."""

from __future__ import annotations

import pytest

from layoutlint.kinds import all_kinds, can_use_pairs, names_of_pairable_kinds
from layoutlint.kinds.group import MarkedGroup
from layoutlint.kinds.guards import Guards
from layoutlint.kinds.isolated import Isolated
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.together import Together
from tests.harness.whole import inline


def test_traits(golden):
    golden("traits.txt", "".join(f"{kind.name}: {inline(kind.traits)}\n" for kind in all_kinds()))


def test_kinds_that_can_use_pairs():
    assert names_of_pairable_kinds() == tuple(kind.name for kind in all_kinds() if "line_pairs=True" in inline(kind.traits))


@pytest.mark.parametrize(("rule", "can"), [
    (Separate((("a",), ("b",))), True), (Isolated(("a",)), True), (Together(("a", "b")), False), (MarkedGroup("g"), False),
    (Guards("lock", ("a",), contended=False), False), (Guards("lock", ("a",), contended=True), True),
])  # fmt: skip
def test_rules_that_can_use_pairs(rule, can):
    assert can_use_pairs(rule) is can
