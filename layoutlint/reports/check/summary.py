"""The end of the text report: kept rules, inputs, coverage, and the exit status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.judgement.build_outcomes import summarise_builds
from layoutlint.judgement.finding import Finding, Report
from layoutlint.phrases import quantity
from layoutlint.reports.check import builds
from layoutlint.reports.finding_phrases import exit_meaning, outcome, share, subject, tally
from layoutlint.reports.grouping import group_findings, summarize_group, undeclared_places
from layoutlint.reports.styled import Line, line, paragraph

_INDEX_FROM = 6
"""The number of findings from which the summary starts with an index of them."""


def summary(report: Report, width: int) -> Iterator[Line]:
    """Yield a line for each kept rule, the inputs, coverage, failures, and the result."""
    if len(report.findings) >= _INDEX_FROM:
        yield from _section(
            "findings", (_index_line(group, report) for group in group_findings(report.findings))
        )
    yield from _section("kept", (_kept_line(group, report) for group in group_findings(report.kept_findings)))
    yield from _section("inputs", _inputs(report, width))
    yield from _section("coverage", _coverage(report, width))
    yield from _section(
        "not read",
        (row for unread in report.unread for row in paragraph("  ", str(unread), width, "magenta")),
    )
    style = "bold green" if report.exit_status == 0 and not report.findings else "bold red"
    yield line((tally(report), "bold"))
    yield line((f"exit {report.exit_status}: {exit_meaning(report)}", style))


def _section(title: str, rows: Iterable[Line]) -> Iterator[Line]:
    """Yield a heading with rows below it; nothing if there are no rows."""
    content = tuple(rows)
    if content:
        yield line((title, "bold"))
        yield from content
        yield line()


def _index_line(group: tuple[Finding, ...], report: Report) -> Line:
    finding, verdict = group[0], group[0].verdict
    if len(group) > 1:
        return line(f"  {finding.rule.severity.value:<8}{finding.rule.id}  {summarize_group(group)}")
    result = " ".join(filter(None, (outcome(finding), share(verdict))))
    if finding.builds:
        result = summarise_builds(finding.builds, report.builds)
    suppressed = " (suppressed)" if finding.suppressed is not None else ""
    files = f" in {quantity(len(finding.files), 'file')}" if finding.also else ""
    row = f"{finding.rule.severity.value:<8}{finding.rule.id}  {subject(finding)}: {result}"
    return line(f"  {row}{files}{suppressed}")


def _kept_line(group: tuple[Finding, ...], report: Report) -> Line:
    finding = group[0]
    if len(group) > 1:
        return line("  ", (finding.rule.id, "green"), f" ({finding.rule.kind.name}) {summarize_group(group)}")
    places = f" in {quantity(len(finding.files), 'file')}" if finding.also else ""
    if finding.builds:
        places = f" {builds.kept_in(finding, report.builds)}"
    return line("  ", (finding.rule.id, "green"), f" ({finding.rule.kind.name}) {subject(finding)}{places}")


def _inputs(report: Report, width: int) -> Iterator[Line]:
    if report.builds:
        yield from builds.inputs(report, width)
        return
    for reading in report.readings:
        structs = quantity(len(reading.structs), "struct")
        structs += f" in {quantity(reading.files, 'file')}" if reading.files is not None else ""
        yield from paragraph(
            "  ", f"{reading.path}: {structs} by {reading.reader}, {reading.target.name}", width
        )
        for note in reading.notes:
            yield from paragraph("    note: ", note, width)


def _coverage(report: Report, width: int) -> Iterator[Line]:
    coverage = report.coverage
    judged = quantity(coverage.structs, "struct")
    within = f" in {quantity(len(report.builds), 'build')}" if report.builds else ""
    yield line(
        f"  {quantity(coverage.rules, 'rule')}, {coverage.applied} of them applied, on {judged}{within}"
    )
    for reason in coverage.unresolved:
        yield from paragraph("  unresolved: ", reason, width, "magenta")
    for skipped in coverage.skipped:
        yield from paragraph("  skipped: ", str(skipped), width)
    for reason in coverage.policy:
        yield from paragraph("  policy: ", reason, width)
    for part in coverage.not_covered:
        yield from paragraph("  not covered: ", str(part), width, "magenta" if part.rules else "")
    for reason in coverage.guessed:
        yield from paragraph("  guessed: ", reason, width)
    for reason in undeclared_places((*report.findings, *report.kept_findings)):
        yield from paragraph("  not judged: ", reason, width)
