"""The table of measured structs: the ratios of the core that never pauses, or why there are none."""

from __future__ import annotations

import pytest

from tools.bench.layout_costs import rows


def ratio(core: int, median: float, clear: bool) -> dict[str, object]:
    spread = {"median": median, "least": median - 0.01, "most": median + 0.02, "rounds": []}
    return {"layout": "before", "of": "affected", "to": "unaffected", "interval": 100, "core": core, "ratio": spread, "clear": clear}


@pytest.mark.parametrize(("document", "expected"), [
    ({"refusal": None, "ratios": [ratio(0, 0.9, True), ratio(1, 0.2, True), ratio(1, 1.0, False)]}, [
        "| `s` | before: affected to unaffected | 100 | 0.20 (0.19..0.22) | clear |",
        "| `s` | before: affected to unaffected | 100 | 1.00 (0.99..1.02) | unclear |",
    ]),
    ({"refusal": "too noisy", "ratios": []}, ["| `s` | refused: too noisy | | | |"]),
    ({"refusal": None, "ratios": []}, []),
])  # fmt: skip
def test_rows(document, expected):
    assert rows("s", document) == expected
