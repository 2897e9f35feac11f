"""A change of Linux that is about variables: what a rule says of them before and after (docs/kernel-rules.md)."""

from __future__ import annotations

import subprocess

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from tests.harness.command import ROOT
from tests.harness.tools import need

VARIABLES = ROOT / "fixtures" / "variables"
CASES = [
    ("before", (), {Outcome.BROKEN, Outcome.AT_RISK}),
    ("after", ("-DLINE=__attribute__((aligned(64)))",), {Outcome.KEPT}),
]


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
@pytest.mark.parametrize(("when", "flags", "outcomes"), CASES, ids=[case[0] for case in CASES])
def test_counters_of_memory(tmp_path, when, flags, outcomes, optimised):
    """In what order gcc puts them differs with its version; that two of three share a line of 64 does not."""
    need("gcc")
    path = tmp_path / f"{when}.o"
    subprocess.run(["gcc", "-c", optimised, *flags, str(VARIABLES / "net.c"), "-o", str(path)], check=True)
    report = check([str(path)], rule_file.load([str(VARIABLES / "net.toml")]), (), Options())
    (finding,) = (*report.findings, *report.kept_findings)
    assert finding.verdict.outcome in outcomes
