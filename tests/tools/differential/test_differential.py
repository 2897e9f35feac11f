"""Random structs: no verdict contradicts what the compiled code says (tools/differential; 50,000 of them by its command)."""

from __future__ import annotations

import pytest

from tests.harness.effort import draws
from tools.differential import configurations
from tools.differential.run import Run


def contradictions(tmp_path, cases: int, per_unit: int, *, everywhere: bool) -> list[str]:
    """What contradicts in a run over some structs; skips where no compiler works."""
    found, missing = configurations.available()
    if not everywhere:
        families = {one.is_clang: one for one in reversed(found) if "-m64" in one.name}
        found = list(families.values())
    if not found:
        pytest.skip(f"no compiler: {'; '.join(missing)}")
    run = Run(found, 1, per_unit, tmp_path / "kept")
    for _ in run.steps(cases):
        pass
    return [f"{name} {reader}: {why}" for (name, reader), tally in run.tallies.items() for why in tally.wrong]


def test_no_verdict_contradicts_the_compiled_code(tmp_path):
    assert contradictions(tmp_path, 12, 12, everywhere=False) == []


@pytest.mark.exhaustive
def test_no_verdict_contradicts_any_compiler(tmp_path):
    assert contradictions(tmp_path, draws(500, 2000), 60, everywhere=True) == []
