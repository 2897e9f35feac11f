"""Format `text` of `rules test`: a line for each expectation, details of failures, and totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint import escapes
from layoutlint.judgement.case import Result, Trial
from layoutlint.phrases import counted


def render(trials: Sequence[Trial]) -> str:
    """Return the results of all packs, and totals."""
    lines = [line for trial in trials for line in (*_pack(trial), "")]
    results = [result for trial in trials for result in trial.results]
    failed = sum(not result.passed for result in results)
    lacking = sum(len(trial.uncovered) for trial in trials if trial.is_strict)
    totals = f"{counted(len(results), 'verdict')}: {len(results) - failed:,} as expected, {failed:,} not"
    totals += f"; {counted(lacking, 'rule')} without a breaking or a keeping case" if lacking else ""
    return escapes.lines((*lines, totals))


def _pack(trial: Trial) -> Iterator[str]:
    pack = trial.pack
    sums = f"{counted(len(pack.rules), 'rule')}, {counted(trial.cases, 'case')}"
    yield f"{pack.name} ({pack.path}): {sums}"
    for result in trial.results:
        yield from _result(result)
    word = "FAIL" if trial.is_strict else "note"
    for lack in trial.uncovered:
        yield f"  {word}  {lack.rule.source}: {lack.rule.id} has no {' and no '.join(lack.lacks)} case"


def _result(result: Result) -> Iterator[str]:
    expected = result.expected
    word = "ok  " if result.passed else "FAIL"
    yield f"  {word}  {expected.source}: {result.case.name}: {expected.rule.id} is {_outcomes(result)}"
    if not result.passed:
        yield f"        expected {expected.outcome.value}: {result.message}"


def _outcomes(result: Result) -> str:
    return " and ".join(dict.fromkeys(outcome.value for outcome in result.actual)) or "not judged"
