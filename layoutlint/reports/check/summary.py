"""The end of the text report: kept rules, inputs, coverage, and the exit status; and groups of findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import TypeVar

from layoutlint.judgement.build_outcomes import summarise_builds
from layoutlint.judgement.finding import BaselineUse, Finding, Report, State, Unresolved
from layoutlint.judgement.messages import describe_definition, finding_message
from layoutlint.judgement.origin import EvidenceUse
from layoutlint.judgement.verdict import WORST_FIRST, Outcome
from layoutlint.phrases import first_few, quantity
from layoutlint.reports.check import builds
from layoutlint.reports.finding_phrases import (
    baseline_tally,
    coverage_part,
    exit_meaning,
    outcome,
    share,
    subject,
    tally,
)
from layoutlint.reports.help_entries import help_line
from layoutlint.reports.styled import Line, line, paragraph

T = TypeVar("T")
_INDEX_FROM = 6
"""The number of findings from which the summary starts with an index of them."""
_MOST_LISTED = 5
"""The length up to which lists are printed by default."""
SHOWN = 3
"""The number of findings of a group that are shown in full."""
_NAMED = 8


class Detail(Enum):
    """How much of a report is printed."""

    QUIET = "quiet"
    """Only findings, and the reasons for which something could not be judged."""
    NORMAL = "normal"
    """Long reports are short: without the drawings and evidence of findings, and without long lists."""
    VERBOSE = "verbose"


def group_findings(findings: Iterable[Finding]) -> list[tuple[Finding, ...]]:
    """Group the findings of each rule on surroundings, in their order; other findings stay alone."""
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = number if finding.around is None else (finding.rule, finding.around.struct)
        groups.setdefault(key, []).append(finding)
    return list(map(tuple, groups.values()))


def summarize_others(group: tuple[Finding, ...], others: tuple[Finding, ...]) -> str:
    """Return a summary of the findings of a group that are not shown in full."""
    words = [f"{subject(finding)} {finding.verdict.outcome.value}" for finding in others[:_NAMED]]
    hidden = len(others) - _NAMED
    names = "; ".join(words) + (f"; and {hidden:,} more, which `--format json` has" if hidden > 0 else "")
    return f"{quantity(len(others), 'more place')} of {_subject(group)}: {names}"


def _summarize_group(group: tuple[Finding, ...]) -> str:
    """Return a summary of a group: `struct rw_semaphore in 12 of its 57 places: 2 broken, 10 at-risk`."""
    counts = Counter(finding.verdict.outcome for finding in group)
    outcomes = ", ".join(
        f"{counts[outcome]:,} {outcome.value}" for outcome in WORST_FIRST if counts[outcome]
    )
    around = group[0].around
    places = f"{around.places:,} place{'' if around.places == 1 else 's'}" if around else ""
    return f"{_subject(group)} in {len(group):,} of its {places}: {outcomes}"


def _undeclared_places(findings: Iterable[Finding]) -> list[str]:
    """Return, for each rule on surroundings, in how many places no declared field matches it."""
    around_of = {finding.rule.id: finding.around for finding in findings if finding.around is not None}
    return [
        f"{id_}: judged at {around.judged:,} of the {around.places:,} places of struct {around.struct} in "
        f"other structs; beside the others, no declared field matches the rule"
        for id_, around in sorted(around_of.items())
        if around.judged < around.places
    ]


def _subject(group: tuple[Finding, ...]) -> str:
    around = group[0].around
    return f"struct {around.struct}" if around is not None else ""


def summary(report: Report, width: int, detail: Detail, shortened: int) -> Iterator[Line]:
    """Yield a line for each kept rule, the inputs, coverage, failures, and the result.

    `shortened` is the number of findings that were printed without offsets and evidence.
    """
    hidden = ["offsets", "evidence"] if shortened else []
    if detail is Detail.VERBOSE and len(report.findings) >= _INDEX_FROM:
        yield from _section(
            "findings", (_index_line(group, report) for group in group_findings(report.findings))
        )
    if detail is not Detail.VERBOSE:
        hidden += _accepted_findings(report)
    if detail is not Detail.QUIET:
        yield from _lists(report, width, detail, hidden)
    yield from _failures(report, width, detail, hidden)
    if detail is Detail.QUIET:
        return
    yield from _baseline(report, width, detail)
    for used in report.evidence:
        yield from paragraph(f"evidence {used.file}: ", _evidence_use(used), width)
    if helps := help_line(_puzzling_messages(report)):
        yield from paragraph("", helps, width, "dim")
    words, more = tally(report), f"; -v shows {_join_texts(hidden)}" if hidden else ""
    if len(words) + len(more) > width:
        yield from paragraph("-v shows ", _join_texts(hidden), width, "dim")
        more = ""
    style = "bold green" if report.exit_status == 0 and not report.findings else "bold red"
    yield line((words, "bold"), (more, "dim"))
    yield line((f"exit {report.exit_status}: {exit_meaning(report)}", style))


def _puzzling_messages(report: Report) -> Iterator[str]:
    """Yield the messages on what could not be judged, and on what the status means."""
    for finding in report.findings:
        if finding.verdict.outcome is Outcome.UNKNOWN and not finding.is_accepted:
            yield finding_message(finding)
    yield from (unread.reason for unread in report.unread)
    yield from (str(part) for part in report.coverage.not_covered if part.rules)
    yield exit_meaning(report)


def _accepted_findings(report: Report) -> Iterator[str]:
    """Yield the numbers of findings that people accept, unless a line on a revision has them."""
    suppressed = sum(finding.suppressed is not None for finding in report.findings)
    known = sum(finding.state is State.KNOWN for finding in report.findings)
    if suppressed:
        yield quantity(suppressed, "suppressed finding")
    if known and not (report.baseline is not None and report.baseline.command):
        yield quantity(known, "known finding")


def _evidence_use(used: EvidenceUse) -> str:
    """Return what a file with saved evidence was good for."""
    text = f"supports {quantity(used.supported, 'finding') if used.supported else 'no finding'}"
    others = f"is not counted for {quantity(used.uncounted, 'finding')}"
    return f"{text}, {others}" if used.uncounted else text


def _baseline(report: Report, width: int, detail: Detail) -> Iterator[Line]:
    """Yield how the findings compare with the baseline, and the entries that are not needed."""
    if report.baseline is None:
        return
    if report.baseline.command:
        yield from _revision(report.baseline, report, width, detail)
        return
    yield from paragraph(f"baseline {report.baseline.file}: ", baseline_tally(report), width, "bold")
    unneeded = report.baseline.unneeded if detail is Detail.VERBOSE else ()
    yield from _wrap_texts("  no longer needed: ", unneeded, width)
    if report.baseline.unneeded and not unneeded:
        advice = f"`layoutlint baseline prune {report.baseline.file} INPUT...` removes them"
        yield from _wrap_texts("  no longer needed: ", [advice], width)


def _revision(base: BaselineUse, report: Report, width: int, detail: Detail) -> Iterator[Line]:
    """Yield how the findings compare with a revision."""
    yield from paragraph(f"compared with {base.file}: ", baseline_tally(report), width, "bold")
    known = sum(finding.state is State.KNOWN for finding in report.findings)
    if known and detail is not Detail.VERBOSE:
        were = "finding was" if known == 1 else "findings were"
        yield from paragraph("", f"{known:,} {were} there before: `{base.command}` lists them", width)


def _lists(report: Report, width: int, detail: Detail, hidden: list[str]) -> Iterator[Line]:
    """Yield kept rules, inputs and coverage; add the lists that are too long to `hidden`."""
    is_full = detail is Detail.VERBOSE
    section = _section if is_full else _dense_section
    yield from section("kept", _kept_rules(report, width, detail, hidden))
    yield from section("inputs", _inputs(report, width, detail, hidden))
    if is_full or report.readings or not report.unread:
        yield from section("coverage", _coverage(report, width, detail, hidden))


def _short(rows: Sequence[T], noun: str, detail: Detail, hidden: list[str]) -> Sequence[T]:
    """Return a list, or () if it is long; then add its length to `hidden`."""
    if len(rows) <= _MOST_LISTED or detail is Detail.VERBOSE:
        return rows
    hidden.append(quantity(len(rows), noun))
    return ()


def _beginning(rows: Sequence[T], noun: str, detail: Detail, hidden: list[str]) -> Sequence[T]:
    """Return a list that decides the exit status, or its start if it is long; add the rest to `hidden`."""
    if len(rows) <= _MOST_LISTED or detail is Detail.VERBOSE:
        return rows
    hidden.append(quantity(len(rows) - _MOST_LISTED, noun))
    return rows[:_MOST_LISTED]


def _join_texts(texts: Sequence[str]) -> str:
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else "".join(texts)


def _failures(report: Report, width: int, detail: Detail, hidden: list[str]) -> Iterator[Line]:
    """Yield the inputs that could not be read, and for QUIET also the parts that were not judged."""
    if detail is Detail.QUIET:
        gaps = [part for part in report.coverage.not_covered if part.rules]
        yield from _section("not covered", _wrap_texts("  ", gaps, width, "magenta"))
    unread = _beginning(report.unread, "more unread input", detail, hidden)
    section = _section if detail is Detail.VERBOSE else _dense_section
    yield from section("not read", _wrap_texts("  ", unread, width, "magenta"))


def _wrap_texts(label: str, texts: Iterable[object], width: int, style: str = "") -> Iterator[Line]:
    for text in texts:
        yield from paragraph(label, str(text), width, style)


def _section(title: str, rows: Iterable[Line]) -> Iterator[Line]:
    """Yield a heading with rows below it; nothing if there are no rows."""
    content = tuple(rows)
    if content:
        yield line((title, "bold"))
        yield from content
        yield line()


def _dense_section(title: str, rows: Iterable[Line]) -> Iterator[Line]:
    """Yield rows with a heading in front of the first one; nothing if there are no rows."""
    for number, row in enumerate(rows):
        yield row if number else line((f"{title}:", "bold"), *((row[0][0][1:], row[0][1]), *row[1:]))


def _index_line(group: tuple[Finding, ...], report: Report) -> Line:
    finding, verdict = group[0], group[0].verdict
    if len(group) > 1:
        return line(f"  {finding.rule.severity.value:<8}{finding.rule.id}  {_summarize_group(group)}")
    result = " ".join(filter(None, (outcome(finding), share(verdict))))
    if finding.builds:
        result = summarise_builds(finding.builds, report.builds)
    suppressed = " (suppressed)" if finding.suppressed is not None else ""
    suppressed += f" ({finding.state.value})" if finding.state is not None else ""
    files = f" in {quantity(len(finding.files), 'file')}" if finding.also else ""
    row = f"{finding.rule.severity.value:<8}{finding.rule.id}  {subject(finding)}: {result}"
    return line(f"  {row}{files}{suppressed}")


def _kept_rules(report: Report, width: int, detail: Detail, hidden: list[str]) -> Iterator[Line]:
    """Yield a line for each kept rule, with what it tolerates; of a long list only the tolerant rules."""
    groups = group_findings(report.kept_findings)
    tolerant = [group for group in groups if any(map(_is_tolerant, group))]
    shown = _short(groups, "kept rule", detail, hidden)
    if tolerant and not shown:
        names = dict.fromkeys(group[0].rule.id for group in tolerant)
        text = f"although they fail in some placements, which they tolerate: {first_few(list(names))}"
        yield from paragraph("  ", text, width)
    for group in shown:
        yield _kept_line(group, report)
        tolerated = list(filter(_is_tolerant, group))
        for one in tolerated[:1]:
            more = f"; likewise in {quantity(len(tolerated) - 1, 'other place')}" if tolerated[1:] else ""
            message = finding_message(one, report.builds) + more
            label = "accepted" if one.verdict.has_accepted_edits else "tolerated"
            yield from paragraph(f"    {label}: ", message, width)


def _is_tolerant(finding: Finding) -> bool:
    return finding.verdict.tolerance is not None or finding.verdict.has_accepted_edits


def _kept_line(group: tuple[Finding, ...], report: Report) -> Line:
    finding = group[0]
    if len(group) > 1:
        shown = _summarize_group(group)
        return line("  ", (finding.rule.id, "green"), f" ({finding.rule.kind.name}) {shown}")
    places = f" in {quantity(len(finding.files), 'file')}" if finding.also else ""
    if finding.builds:
        places = f" {builds.keeping_builds(finding, report.builds)}"
    places += _with_layouts(finding)
    return line("  ", (finding.rule.id, "green"), f" ({finding.rule.kind.name}) {subject(finding)}{places}")


def _with_layouts(finding: Finding) -> str:
    """Return where a definition is that has several layouts, in parentheses; empty for others."""
    where = finding.definition
    return f" ({describe_definition(where)})" if where is not None and where.others else ""


def _inputs(report: Report, width: int, detail: Detail, hidden: list[str]) -> Iterator[Line]:
    if report.builds:
        yield from builds.inputs(report, width)
        return
    for reading in _beginning(report.readings, "more input", detail, hidden):
        yield from paragraph("  ", builds.input_line(reading), width)
        yield from _wrap_texts("    note: ", reading.notes, width)


def _coverage(report: Report, width: int, detail: Detail, hidden: list[str]) -> Iterator[Line]:
    coverage = report.coverage
    judged = quantity(coverage.structs, "struct")
    within = f" in {quantity(len(report.builds), 'build')}" if report.builds else ""
    yield line(
        f"  {quantity(coverage.rules, 'rule')}, {coverage.applied} of them applied, on {judged}{within}"
    )
    named = coverage.unresolved if detail is Detail.VERBOSE else _unprinted_reasons(report)
    unresolved = [coverage_part(part, report.builds) for part in named]
    skipped = [coverage_part(part, report.builds) for part in coverage.skipped]
    gaps = [part for part in coverage.not_covered if part.rules]
    harmless = [part for part in coverage.not_covered if not part.rules]
    undeclared = _undeclared_places((*report.findings, *report.kept_findings))
    for label, texts, style in (
        ("unresolved", _short(unresolved, "unresolved name", detail, hidden), "magenta"),
        ("skipped", _short(skipped, "skipped rule", detail, hidden), ""),
        ("settings", coverage.settings, ""),
        ("policy", coverage.policy, ""),
        ("suppressions", [f"judged on {coverage.today}"] if coverage.today else [], ""),
        ("overridden", _beginning(coverage.overridden, "more overridden rule", detail, hidden), ""),
        ("not covered", _beginning(gaps, "more uncovered part", detail, hidden), "magenta"),
        ("not covered", _short(harmless, "harmless uncovered part", detail, hidden), ""),
        ("guessed", coverage.guessed, ""),
        ("not judged", _short(undeclared, "partly judged rule", detail, hidden), ""),
    ):
        yield from _wrap_texts(f"  {label}: ", texts, width, style)


def _unprinted_reasons(report: Report) -> tuple[Unresolved, ...]:
    """Return the parts of the coverage that no finding states as well."""
    stated = {
        (origin, finding_message(finding, report.builds))
        for finding in report.findings
        for origin in (finding.rule.id, str(finding.rule.source))
    }
    return tuple(part for part in report.coverage.unresolved if (part.by, part.reason) not in stated)
