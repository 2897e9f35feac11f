"""Format `text` of `rules test`: a line for each expectation, details of failures, and totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint import escapes
from layoutlint.judgement.case import Result, Trial
from layoutlint.phrases import quantity


def render(trials: Sequence[Trial]) -> str:
    """Return the results of all packs, and totals."""
    lines = [line for trial in trials for line in (*_pack(trial), "")]
    results = [result for trial in trials for result in trial.results]
    failed = sum(not result.passes for result in results)
    lacking = sum(len(trial.rules_without_cases) for trial in trials if trial.is_strict)
    totals = f"{quantity(len(results), 'verdict')}: {len(results) - failed:,} as expected, {failed:,} not"
    totals += f"; {quantity(lacking, 'rule')} without a breaking or a keeping case" if lacking else ""
    return escapes.lines((*lines, totals))


def _pack(trial: Trial) -> Iterator[str]:
    pack = trial.pack
    sums = f"{quantity(len(pack.rules), 'rule')}, {quantity(trial.cases, 'case')}"
    yield f"{pack.name} ({pack.path}): {sums}"
    for result in trial.results:
        yield from _result(result)
    word = "FAIL" if trial.is_strict else "note"
    for lack in trial.rules_without_cases:
        yield f"  {word}  {lack.rule.source}: {lack.rule.id} has no {' and no '.join(lack.lacks)} case"


def _result(result: Result) -> Iterator[str]:
    expected = result.expectation
    word = "ok  " if result.passes else "FAIL"
    yield f"  {word}  {expected.source}: {result.case.name}: {expected.rule.id} is {_outcomes(result)}"
    if not result.passes:
        yield f"        expected {expected.outcome.value}: {result.message}"


def _outcomes(result: Result) -> str:
    return " and ".join(dict.fromkeys(outcome.value for outcome in result.actual)) or "not judged"
