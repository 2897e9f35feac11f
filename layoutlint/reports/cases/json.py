"""Format `json` of `rules test` (docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from layoutlint.judgement.case import Result, RuleWithoutCases, Trial
from layoutlint.reports.json_values import document_text


def render(trials: Sequence[Trial]) -> str:
    """Return the results as one JSON object."""
    document = {
        "schema": "layoutlint/rules-test/1",
        "packs": [_pack(trial) for trial in trials],
        "exit": 0 if all(trial.passes for trial in trials) else 1,
    }
    return document_text(document)


def _pack(trial: Trial) -> dict[str, Any]:
    return {
        "name": trial.pack.name,
        "path": trial.pack.path,
        "rules": len(trial.pack.rules),
        "cases": trial.cases,
        "passed": trial.passes,
        "results": [_result(result) for result in trial.results],
        "uncovered": [_missing_cases(lack) for lack in trial.rules_without_cases],
    }


def _result(result: Result) -> dict[str, Any]:
    expected = result.expectation
    return {
        "case": result.case.name,
        "rule": expected.rule.id,
        "file": expected.source.file,
        "line": expected.source.line,
        "expected": expected.outcome.value,
        "actual": [outcome.value for outcome in result.actual],
        "message": result.message,
        "passed": result.passes,
    }


def _missing_cases(lack: RuleWithoutCases) -> dict[str, Any]:
    source = lack.rule.source
    return {"rule": lack.rule.id, "file": source.file, "line": source.line, "lacks": list(lack.lacks)}
