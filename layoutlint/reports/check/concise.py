"""Format `concise`: a line for each finding, as compilers print them, for editors and grep."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.judgement.finding import Finding, Report
from layoutlint.model.build import Build
from layoutlint.reports.finding_phrases import exit_meaning, sentence, tally


def render(report: Report, *, summary: bool = True) -> str:
    """Return `FILE:LINE: SEVERITY: MESSAGE [RULE]` for each finding, and a summary line.

    Suppressed findings are only counted. A message never contains the end of a line.
    """
    return escapes.lines(_lines(report, summary))


def _lines(report: Report, summary: bool) -> Iterator[str]:
    for finding in report.findings:
        if finding.suppressed is None:
            yield _finding_line(finding, report.builds)
    for unread in report.unread:
        yield f"{unread.origin}: error: {unread.sentence} [not-read]"
    for part in report.coverage.not_covered:
        if part.rules:
            yield f"{part.origin}: error: {part.sentence} [not-covered]"
    if summary:
        yield f"layoutlint: {tally(report)}; exit {report.exit_status}: {exit_meaning(report)}"


def _finding_line(finding: Finding, builds: tuple[Build, ...]) -> str:
    message = " ".join(sentence(finding, builds).split())
    return f"{finding.place}: {finding.rule.severity.value}: {message} [{finding.rule.id}]"
