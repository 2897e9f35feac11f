"""What the tables of programs share."""

from __future__ import annotations

import pytest

from tests.harness.same_process import run_each_here


@pytest.fixture
def reads_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets tests read C in their own process, exhaustive ones, too: a fork for each unit takes twice as long as the search."""
    monkeypatch.setattr("layoutlint.readers.processes.sandbox.run_each", run_each_here)
