"""The parts of the text report that a matrix of builds adds."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.judgement.build_outcomes import worst
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.build import Build, named
from layoutlint.model.reading import Reading
from layoutlint.phrases import counted
from layoutlint.reports.finding_phrases import share
from layoutlint.reports.styled import Line, line, paragraph

_MOST_MESSAGES = 5


def heading(finding: Finding) -> Line:
    """Of which build the numbers and the drawing below are."""
    name, first = finding.builds[0]
    often = share(first.verdict)
    return line("  in build ", (name, "bold"), f", {often}:" if often else ":")


def elsewhere(finding: Finding, builds: tuple[Build, ...], width: int) -> Iterator[Line]:
    """The numbers of the builds that have others and do not keep the rule, each once."""
    others = list(_messages(finding).items())[1:]
    for number, (message, names) in enumerate(others):
        label = " " * 13 if number else "  elsewhere: "
        if number == _MOST_MESSAGES:
            left = sum(len(names) for _, names in others[number:])
            yield line(f"{label}and others in {counted(left, 'build')} (`--format json` has all)")
            return
        yield from paragraph(label, f"{named(names, builds)}: {message}", width)


def _messages(finding: Finding) -> dict[str, list[str]]:
    """What is said of the builds that do not keep the rule, and of which."""
    found: dict[str, list[str]] = {}
    for name, told in worst(finding.builds).items():
        if told.verdict.outcome is not Outcome.KEPT or not found:
            found.setdefault(told.verdict.message, []).append(name)
    return found


def inputs(report: Report, width: int) -> Iterator[Line]:
    """The inputs of all builds, and notes on them: what is the same in several once, with their names."""
    read: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    for reading in report.readings:
        build = reading.build or ""
        read.setdefault(_said(reading), []).append(build)
        for note in reading.notes:
            notes.setdefault(note, []).append(build)
    for label, told in (("  ", read), ("  note: ", notes)):
        for text, names in told.items():
            yield from paragraph(label, f"{text} (in {named(names, report.builds)})", width)


def _said(reading: Reading) -> str:
    found = counted(len(reading.structs), "struct")
    found += f" in {counted(reading.files, 'file')}" if reading.files is not None else ""
    return f"{reading.path}: {found} by {reading.reader}, {reading.target.name}"
