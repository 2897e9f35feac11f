"""Format `github`: workflow commands, which GitHub shows as annotations of the source."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.messages import advice_kind, finding_advice
from layoutlint.judgement.origin import origin_sentences
from layoutlint.judgement.rule import Severity
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.build import Build
from layoutlint.model.reading import Unread
from layoutlint.model.structs import Source
from layoutlint.reports.check.diagnostics import Repository, locate
from layoutlint.reports.finding_phrases import exit_meaning, order, sentence, tally
from layoutlint.reports.layout_phrases import defining_files

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report, *, repository: Repository | None = None) -> str:
    """Return a command for each finding and each unread input, and a summary line.

    Paths are from the top of the repository, in which GitHub searches them.
    """
    return "".join([f"{line}\n" for line in _lines(report, locate(report, repository))])


def _lines(report: Report, repository: Repository) -> Iterator[str]:
    for finding in report.findings:
        if not finding.is_accepted:
            yield _finding_command(finding, report.builds, repository)
    for unread in report.unread:
        yield _unread_command(unread, repository)
    for sentence_of_policy in report.coverage.policy:
        yield command("notice", {"title": "policy"}, sentence_of_policy)
    for change in report.coverage.overridden:
        yield command("notice", {"title": "overridden rule"}, change)
    for part in report.coverage.not_covered:
        yield command("error" if part.rules else "notice", {"title": "not covered"}, str(part))
    yield escapes.line(f"layoutlint: {tally(report)}; exit {report.exit_status}: {exit_meaning(report)}")


def _finding_command(finding: Finding, builds: tuple[Build, ...], repository: Repository) -> str:
    rule, verdict = finding.rule, finding.verdict
    level = _LEVELS[rule.severity]
    if verdict.outcome is Outcome.UNKNOWN and level == "notice":
        level = "warning"
    place = finding.place
    properties = {**_properties(place, repository), "title": f"{rule.id} ({rule.kind.name})"}
    words = [sentence(finding, builds), f"why: {' '.join(rule.why.split())}"]
    if finding.also:
        words.append(f"in {defining_files(finding.files)}")
    if order(finding):
        words.append(f"order: {order(finding)}")
    words += origin_sentences(finding)
    if advice := finding_advice(finding):
        words.append(f"{advice_kind(finding)}: {advice}")
    return command(level, properties, *words)


def _unread_command(unread: Unread, repository: Repository) -> str:
    properties = {} if unread.place is None else _properties(unread.place, repository)
    return command("error", {**properties, "title": "not read"}, str(unread))


def _properties(place: Source, repository: Repository) -> dict[str, str | int | None]:
    return {"file": repository.path(place.file), "line": place.line}


def command(name: str, properties: dict[str, str | int | None], *message: str) -> str:
    """Return a workflow command with the lines of its message; properties that are None are omitted."""
    values = {key: escapes.inline(str(value)) for key, value in properties.items() if value is not None}
    pairs = [f"{key}={escape_property(value)}" for key, value in values.items()]
    text = "\n".join(map(escapes.inline, message))
    return f"::{name}{' ' if pairs else ''}{','.join(pairs)}::{escape_data(text)}"


def escape_data(text: str) -> str:
    """Escape text after `::` (the runner's ActionCommand decodes %25, %0D and %0A, in that order)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Escape the value of a property, which `:` and `,` would end."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")
