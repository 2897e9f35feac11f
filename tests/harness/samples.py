"""Rows of tables of which the quick tests try some, and `pytest --exhaustive` the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def one_in(step: int, rows: Iterable[Any]) -> list[ParameterSet]:
    """Return the rows for `parametrize`, all but the first and each `step`-th after it as exhaustive."""
    return [
        pytest.param(
            *(row if isinstance(row, tuple) else (row,)), marks=() if number % step == 0 else pytest.mark.exhaustive
        )
        for number, row in enumerate(rows)
    ]
