"""Pairs of fields that a change puts on a line: of fields that one side lacks, there is nothing to compare."""

from __future__ import annotations

import pytest

from layoutlint.lint.likely_sharing import _Side
from layoutlint.lint.options import Options
from tests.harness.build import flexible, member, struct

SIDE = _Side(struct("s", 72, member("a", 0, 8), member("n", 8, 8), member("b", 64, 8), flexible("c", 72)), None, Options())


@pytest.mark.parametrize(("first", "second", "count"), [
    ("a", "a", 0), ("a", "n", 7), ("a", "b", 0), ("gone", "a", 0), ("a", "gone", 0), ("gone", "gone", 0), ("c", "a", 0), ("b", "c", 0),
])  # fmt: skip
def test_bases(first, second, count):
    assert len(SIDE.bases(first, second)) == count
    assert SIDE.total == 8
