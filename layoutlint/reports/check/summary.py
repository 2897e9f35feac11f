"""The end of the text report: what was kept, what was looked at, what was not, and the exit status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.judgement.build_outcomes import spread
from layoutlint.judgement.finding import Finding, Report
from layoutlint.phrases import counted
from layoutlint.reports.check import builds
from layoutlint.reports.finding_phrases import described, exit_meaning, outcome, share, tally
from layoutlint.reports.grouping import gathered, in_places, silent
from layoutlint.reports.styled import Line, line, paragraph

_INDEX_FROM = 6
"""From this many findings on, an index of them stands at the end, where the eye falls first."""


def summary(report: Report, width: int) -> Iterator[Line]:
    """One line per kept rule, coverage, what could not be read, and the result."""
    if len(report.findings) >= _INDEX_FROM:
        yield from _section("findings", (_index(group, report) for group in gathered(report.findings)))
    yield from _section("kept", (_kept(group, report) for group in gathered(report.kept)))
    yield from _section("inputs", _inputs(report, width))
    yield from _section("coverage", _coverage(report, width))
    yield from _section(
        "not read", (row for u in report.unread for row in paragraph("  ", str(u), width, "magenta"))
    )
    style = "bold green" if report.exit_status == 0 and not report.findings else "bold red"
    yield line((tally(report), "bold"))
    yield line((f"exit {report.exit_status}: {exit_meaning(report)}", style))


def _section(title: str, rows: Iterable[Line]) -> Iterator[Line]:
    """A heading with rows below it; nothing when there are none."""
    found = tuple(rows)
    if found:
        yield line((title, "bold"))
        yield from found
        yield line()


def _index(group: tuple[Finding, ...], report: Report) -> Line:
    finding, verdict = group[0], group[0].verdict
    if len(group) > 1:
        return line(f"  {finding.rule.severity.value:<8}{finding.rule.id}  {in_places(group)}")
    said = " ".join(filter(None, (outcome(finding), share(verdict))))
    if finding.builds:
        said = spread(finding.builds, report.builds)
    mark = " (suppressed)" if finding.suppressed is not None else ""
    many = f" in {counted(len(finding.files), 'file')}" if finding.also else ""
    return line(
        f"  {finding.rule.severity.value:<8}{finding.rule.id}  {described(finding)}: {said}{many}{mark}"
    )


def _kept(group: tuple[Finding, ...], report: Report) -> Line:
    finding = group[0]
    if len(group) > 1:
        return line("  ", (finding.rule.id, "green"), f" ({finding.rule.kind.name}) {in_places(group)}")
    if finding.builds:
        said = spread(finding.builds, report.builds).removeprefix("kept ")
        return line(
            "  ", (finding.rule.id, "green"), f" ({finding.rule.kind.name}) {described(finding)} {said}"
        )
    many = f" in {counted(len(finding.files), 'file')}" if finding.also else ""
    return line("  ", (finding.rule.id, "green"), f" ({finding.rule.kind.name}) {described(finding)}{many}")


def _inputs(report: Report, width: int) -> Iterator[Line]:
    if report.builds:
        yield from builds.inputs(report, width)
        return
    for reading in report.readings:
        found = counted(len(reading.structs), "struct")
        found += f" in {counted(reading.files, 'file')}" if reading.files is not None else ""
        yield from paragraph(
            "  ", f"{reading.path}: {found} by {reading.reader}, {reading.target.name}", width
        )
        for note in reading.notes:
            yield from paragraph("    note: ", note, width)


def _coverage(report: Report, width: int) -> Iterator[Line]:
    coverage = report.coverage
    judged = counted(coverage.structs, "struct")
    within = f" in {counted(len(report.builds), 'build')}" if report.builds else ""
    yield line(
        f"  {counted(coverage.rules, 'rule')}, {coverage.applied} of them applied, on {judged}{within}"
    )
    for reason in coverage.unresolved:
        yield from paragraph("  unresolved: ", reason, width, "magenta")
    for reason in coverage.skipped:
        yield from paragraph("  skipped: ", reason, width)
    for reason in coverage.policy:
        yield from paragraph("  policy: ", reason, width)
    for part in coverage.not_covered:
        yield from paragraph("  not covered: ", str(part), width, "magenta" if part.rules else "")
    for reason in coverage.guessed:
        yield from paragraph("  guessed: ", reason, width)
    for reason in silent((*report.findings, *report.kept)):
        yield from paragraph("  passed over: ", reason, width)
