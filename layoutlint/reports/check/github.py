"""Format `github`: workflow commands, which GitHub shows as annotations beside the source."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.reading import Unread
from layoutlint.reports.finding_phrases import exit_meaning, order, sentence, tally
from layoutlint.reports.layout_phrases import found_in

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report) -> str:
    """One command per finding and per unread input, and a last line that sums up."""
    return "".join([f"{line}\n" for line in _lines(report)])


def _lines(report: Report) -> Iterator[str]:
    for finding in report.findings:
        if finding.suppressed is None:
            yield _finding(finding)
    for unread in report.unread:
        yield _unread(unread)
    for said in report.coverage.policy:
        yield command("notice", {"title": "policy"}, said)
    for part in report.coverage.not_covered:
        yield command("error" if part.rules else "notice", {"title": "not covered"}, str(part))
    yield escapes.line(f"layoutlint: {tally(report)}; exit {report.exit_status}: {exit_meaning(report)}")


def _finding(finding: Finding) -> str:
    rule, verdict = finding.rule, finding.verdict
    level = _LEVELS[rule.severity]
    if verdict.outcome is Outcome.UNKNOWN and level == "notice":
        level = "warning"
    place = finding.place
    properties = {"file": place.file, "line": place.line, "title": f"{rule.id} ({rule.kind.name})"}
    words = [sentence(finding), f"why: {' '.join(rule.why.split())}"]
    if finding.also:
        words.append(f"in {found_in(finding.files)}")
    if order(finding):
        words.append(f"order: {order(finding)}")
    if verdict.advice:
        words.append(f"to do: {verdict.advice}")
    return command(level, properties, *words)


def _unread(unread: Unread) -> str:
    return command("error", {"title": "not read"}, str(unread))


def command(name: str, properties: dict[str, str | int | None], *message: str) -> str:
    """One workflow command with the lines of its message; properties that are None are left out."""
    shown = {key: escapes.inline(str(value)) for key, value in properties.items() if value is not None}
    given = [f"{key}={escape_property(value)}" for key, value in shown.items()]
    text = "\n".join(map(escapes.inline, message))
    return f"::{name}{' ' if given else ''}{','.join(given)}::{escape_data(text)}"


def escape_data(text: str) -> str:
    """Text as it stands behind `::` (the runner's ActionCommand undoes %25, %0D and %0A, in that order)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Text as the value of a property, where `:` and `,` end it as well."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")
