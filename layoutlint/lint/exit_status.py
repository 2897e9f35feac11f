"""The exit status of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutlint.errors import EXIT_FINDINGS, EXIT_KEPT, EXIT_UNKNOWN
from layoutlint.judgement.finding import CoverageGap, Finding
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.options import Options
from layoutlint.model.reading import Unread


def exit_status(
    findings: Iterable[Finding],
    unread: Sequence[Unread],
    options: Options,
    omitted: Iterable[CoverageGap] = (),
) -> int:
    """Return 1 for findings, else 3 if something could not be judged, else 0.

    `Finding.counts` says which findings count.
    """
    outcomes = {finding.verdict.outcome for finding in findings if finding.counts}
    is_risk_enough = options.strictness.fail_on is Outcome.AT_RISK
    if Outcome.BROKEN in outcomes or (is_risk_enough and Outcome.AT_RISK in outcomes):
        return EXIT_FINDINGS
    is_unknown = Outcome.UNKNOWN in outcomes or unread or any(part.rules for part in omitted)
    return EXIT_UNKNOWN if is_unknown and not options.strictness.allow_unknown else EXIT_KEPT
