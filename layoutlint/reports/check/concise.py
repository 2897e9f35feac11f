"""Format `concise`: a line for each finding, as compilers print them, for editors and grep."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.judgement.finding import Report
from layoutlint.reports.check.diagnostics import diagnostics
from layoutlint.reports.finding_phrases import exit_meaning, tally


def render(report: Report, *, summary: bool = True) -> str:
    """Return `FILE:LINE: SEVERITY: MESSAGE [RULE]` for each finding, and a summary line.

    Findings that are suppressed, or that the baseline accepts, are only counted. A message never contains the
    end of a line.
    """
    return escapes.lines(_lines(report, summary))


def _lines(report: Report, summary: bool) -> Iterator[str]:
    for each in diagnostics(report):
        basis = f" ({each.basis})" if each.basis else ""
        yield f"{each.place}: {each.severity}: {each.message}{basis} [{each.rule}]"
    if summary:
        yield f"layoutlint: {tally(report)}; exit {report.exit_status}: {exit_meaning(report)}"
