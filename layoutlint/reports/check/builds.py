"""The parts of the text report on a matrix of builds."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.judgement.build_outcomes import worst_by_build
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.build import Build, short_name
from layoutlint.model.reading import Reading
from layoutlint.phrases import quantity
from layoutlint.reports.finding_phrases import share
from layoutlint.reports.styled import Line, line, paragraph

_MOST_MESSAGES = 5


def heading(finding: Finding) -> Line:
    """Return the line with the build of the numbers and the drawing below it."""
    name, finding_there = finding.builds[0]
    shares = share(finding_there.verdict)
    return line("  in build ", (name, "bold"), f", {shares}:" if shares else ":")


def keeping_builds(finding: Finding, builds: tuple[Build, ...]) -> str:
    """Return the builds of a kept rule: `in 6 builds; not judged in 2`."""
    names = list(worst_by_build(finding.builds))
    unjudged = len(builds) - len(names)
    return f"in {short_name(names, builds)}" + (f"; not judged in {unjudged}" if unjudged else "")


def other_messages(finding: Finding, builds: tuple[Build, ...], width: int) -> Iterator[Line]:
    """Yield the messages of other builds that do not keep the rule, each once with its builds."""
    others = list(_messages(finding).items())[1:]
    for number, (message, names) in enumerate(others):
        label = " " * 13 if number else "  elsewhere: "
        if number == _MOST_MESSAGES:
            hidden = sum(len(names) for _, names in others[number:])
            yield line(f"{label}and others in {quantity(hidden, 'build')} (`--format json` has all)")
            return
        yield from paragraph(label, f"{short_name(names, builds)}: {message}", width)


def _messages(finding: Finding) -> dict[str, list[str]]:
    """Return the messages on the builds that do not keep the rule, each with the names of its builds."""
    builds_of: dict[str, list[str]] = {}
    for name, build_finding in worst_by_build(finding.builds).items():
        if build_finding.verdict.outcome is not Outcome.KEPT or not builds_of:
            builds_of.setdefault(finding_message(build_finding), []).append(name)
    return builds_of


def inputs(report: Report, width: int) -> Iterator[Line]:
    """Yield the inputs and notes of all builds; equal ones once, with the names of their builds."""
    read: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    for reading in report.readings:
        build = reading.build or ""
        read.setdefault(input_line(reading), []).append(build)
        for note in reading.notes:
            notes.setdefault(note, []).append(build)
    for label, texts in (("  ", read), ("  note: ", notes)):
        for text, names in texts.items():
            yield from paragraph(label, f"{text} (in {short_name(names, report.builds)})", width)


def input_line(reading: Reading) -> str:
    """Return the line on an input: its structs, its reader, the target and what states it."""
    structs = quantity(len(reading.structs), "struct")
    structs += f" in {quantity(reading.files, 'file')}" if reading.files is not None else ""
    source = f", from {reading.compiler}" if reading.compiler is not None else ""
    return f"{reading.path}: {structs} by {reading.reader}, {reading.target.name}{source}"
