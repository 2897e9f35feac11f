"""Format `sarif` of `diff`: the findings of the new input, each with how it compares with the old one."""

from __future__ import annotations

from layoutlint.comparison.comparison import Comparison
from layoutlint.comparison.standings import Status
from layoutlint.comparison.verdicts import RuleChange
from layoutlint.judgement.finding import Finding, State
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.record import replace
from layoutlint.reports.check import sarif

_STATES = {
    Status.WORSE: State.WORSE,
    Status.SAME: State.KNOWN,
    Status.BETTER: State.KNOWN,
    Status.NOT_COMPARED: State.NOT_COMPARED,
}


def render(comparison: Comparison) -> str:
    """Return a SARIF log with one run, whose results are new, updated, unchanged or absent."""
    failing = [change for change in comparison.rules if _fails(change.new)]
    findings = tuple(
        replace(change.new, state=_state(change)) for change in failing if change.new is not None
    )
    absent = tuple(
        change.old for change in comparison.rules if change.old is not None and _fails(change.old)
        and change.new is not None and not _fails(change.new)
    )  # fmt: skip
    report = replace(comparison.new.report, findings=findings, exit_status=comparison.exit_status)
    return sarif.render(report, absent=absent)


def _fails(finding: Finding | None) -> bool:
    return finding is not None and finding.verdict.outcome is not Outcome.KEPT


def _state(change: RuleChange) -> State:
    is_new = change.status is Status.WORSE and not _fails(change.old)
    return State.NEW if is_new else _STATES[change.status]
