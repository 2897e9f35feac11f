"""How much of what could go on without an end a test does: random structs, seeds, orders, options, whole kernels.

Every run does the usual part, which is the same each time. LAYOUTLINT_EFFORT=full does all that is named here; it takes
about an hour more.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

IS_FULL = os.environ.get("LAYOUTLINT_EFFORT") == "full"


def draws(usual: int, full: int) -> int:
    """Return a number of repetitions."""
    return full if IS_FULL else usual


def row(*values: Any, marks: Sequence[pytest.MarkDecorator] = (), id: str | None = None) -> Any:
    """Return a row of a table that only a full run tries."""
    skip = pytest.mark.skipif(not IS_FULL, reason="another row is like it: LAYOUTLINT_EFFORT=full tries both")
    return pytest.param(*values, marks=(*marks, skip), id=id)
