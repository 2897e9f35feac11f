"""The exit status of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutlint.judgement.finding import Finding, NotCovered
from layoutlint.judgement.rule import Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.options import Options
from layoutlint.model.reading import Unread


def exit_status(
    findings: Iterable[Finding],
    unread: Sequence[Unread],
    options: Options,
    omitted: Iterable[NotCovered] = (),
) -> int:
    """1 for findings, else 3 for what could not be told, else 0 (design of the command line)."""
    counted = [f for f in findings if f.suppressed is None and f.rule.severity is not Severity.NOTE]
    outcomes = {finding.verdict.outcome for finding in counted}
    if Outcome.BROKEN in outcomes or (Outcome.AT_RISK in outcomes and options.fail_on is Outcome.AT_RISK):
        return 1
    is_unknown = Outcome.UNKNOWN in outcomes or unread or any(each.rules for each in omitted)
    if is_unknown and not options.allow_unknown:
        return 3
    return 0
