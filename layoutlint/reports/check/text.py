"""Format `text`: a report for people, with drawings of the cache lines.

A report that is long is short by default: many findings without drawings and evidence, and long lists as
their number. Whatever decides the exit status is always printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from layoutlint.geometry.layout import Place, cached_layout
from layoutlint.judgement.build_outcomes import summarise_builds
from layoutlint.judgement.finding import BaselineUse, Finding, Report, State
from layoutlint.judgement.messages import advice_kind, finding_advice, finding_message
from layoutlint.judgement.origin import origin_sentences
from layoutlint.judgement.rule import RULE_FILE, Rule, Severity
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.build import Build
from layoutlint.model.structs import Struct
from layoutlint.reports import drawing, styled
from layoutlint.reports.check.builds import heading, other_messages
from layoutlint.reports.check.summary import SHOWN, Detail, group_findings, summarize_others, summary
from layoutlint.reports.finding_phrases import order, outcome, rank_reason, share, subject
from layoutlint.reports.layout_phrases import defining_files
from layoutlint.reports.styled import Line, line, paragraph

WIDTH = 100
_LEAST_WIDTH = 60
_MOST_IN_FULL = 3
"""The number of findings up to which each is printed with a drawing and its evidence."""
_MOST_PADDED = 40
"""The maximal width of the column of field paths."""

STYLES = {
    Outcome.BROKEN: "bold red",
    Outcome.AT_RISK: "bold yellow",
    Outcome.UNKNOWN: "bold magenta",
    Outcome.KEPT: "green",
}
_STATES = {
    State.NEW: "new",
    State.WORSE: "worse than accepted",
    State.NOT_COMPARED: "accepted as it was, and could not be judged now",
    State.KNOWN: "accepted",
}
_CHANGES = {
    State.NEW: "new",
    State.WORSE: "worse than there",
    State.NOT_COMPARED: "not kept there, and cannot be judged now",
    State.KNOWN: "was there",
}
"""The states of findings that are compared with a revision."""
SEVERITY_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}


def render(
    report: Report,
    *,
    color: bool = False,
    width: int = WIDTH,
    detail: Detail = Detail.NORMAL,
    statistics: bool = False,
) -> str:
    """Return the report as text, wrapped at `width` columns (60 or more).

    With `statistics`, the findings of each rule are only counted.
    """
    lines = _lines(report, max(_LEAST_WIDTH, width), detail, statistics)
    return styled.render_colored(lines) if color else styled.render_plain(lines)


def _statistics_table(findings: Iterable[Finding]) -> Iterator[Line]:
    """Yield a row for each rule with findings, those with the most first; nothing without findings."""
    counts: dict[Rule, Counter[str]] = {}
    for finding in findings:
        known = "known" if finding.state is State.KNOWN else outcome(finding)
        word = "suppressed" if finding.suppressed is not None else known
        counts.setdefault(finding.rule, Counter())[word] += 1
    rows = sorted(counts.items(), key=lambda row: (-row[1].total(), row[0].id, str(row[0].source)))
    if not rows:
        return
    column = max(len(rule.id) for rule in counts)
    yield line(("   count  severity  rule", "dim"))
    for rule, of_rule in rows:
        outcomes = ", ".join(f"{number:,} {word}" for word, number in of_rule.items())
        yield line(
            f"{of_rule.total():>8,}  {rule.severity.value:<8}  ",
            (f"{rule.id:<{column}}", "bold"),
            f"  {outcomes}",
        )
    yield line()


def _lines(report: Report, width: int, detail: Detail, statistics: bool) -> Iterator[Line]:
    shown = [f for f in report.findings if f.state is not State.KNOWN or detail is Detail.VERBOSE]
    groups = group_findings(shown)
    number = sum(len(group[:SHOWN]) for group in groups)
    is_short = number > _MOST_IN_FULL and detail is not Detail.VERBOSE
    if statistics:
        yield from _statistics_table(report.findings)
    else:
        shows_acceptance = detail is Detail.VERBOSE or (detail is Detail.NORMAL and number == 1)
        for group in groups:
            yield from _group(group, report, is_short, width, shows_acceptance)
    yield from summary(report, width, detail, shortened=number if is_short and not statistics else 0)


def _group(
    group: tuple[Finding, ...], report: Report, is_short: bool, width: int, shows_acceptance: bool
) -> Iterator[Line]:
    for finding in group[:SHOWN]:
        yield from _finding(finding, report, is_short, width)
        if shows_acceptance:
            from layoutlint.reports.check import acceptance  # few reports show it

            yield from acceptance.acceptance_lines(finding)
        yield line()
    if len(group) > SHOWN:
        yield from paragraph("  ", summarize_others(group, group[SHOWN:]), width)
        yield line()


def _finding(finding: Finding, report: Report, is_short: bool, width: int) -> Iterator[Line]:
    rule, builds = finding.rule, report.builds
    severity = (rule.severity.value, SEVERITY_STYLES[rule.severity])
    yield line(severity, ": ", (rule.id, "bold"), f" ({rule.kind.name})")
    yield from _location(finding, width)
    yield from _outcome(finding, builds, width)
    if finding.suppressed is not None:
        yield from paragraph("  suppressed: ", finding.suppressed, width)
    if finding.expired is not None:
        yield from paragraph("  suppression expired: ", finding.expired, width)
    if finding.state is not None:
        yield from paragraph("  ", _comparison(finding.state, report.baseline), width)
    if not is_short:
        yield line()
        yield from _geometry(finding, width)
    yield from _words(finding, builds, is_short, width)


def _comparison(state: State, base: BaselineUse | None) -> str:
    """Return how a finding compares with a baseline, or with a revision."""
    if base is not None and base.command:
        return f"compared with {base.file}: {_CHANGES[state]}"
    return f"baseline: {_STATES[state]}"


def _outcome(finding: Finding, builds: tuple[Build, ...], width: int) -> Iterator[Line]:
    verdict = finding.verdict
    style = STYLES[verdict.outcome]
    if finding.builds:
        yield from paragraph(
            f"  {subject(finding)} is ", summarise_builds(finding.builds, builds), width, style
        )
        return
    yield line("  ", subject(finding), " is ", (outcome(finding), style), _frequency(verdict))


def _location(finding: Finding, width: int) -> Iterator[Line]:
    """Yield the source, and the inputs in which it was found, in one line if they fit."""
    place, inputs = str(finding.place), f"in {defining_files(finding.files)}" if finding.input else ""
    if 7 + len(place) + len(inputs) <= width:
        yield line("  --> ", (place, "cyan"), f" {inputs}")
    else:
        yield line("  --> ", (place, "cyan"))
        yield line(f"      {inputs}")


def _frequency(verdict: Verdict) -> str:
    """Return where a rule fails: ` in 2 of 8 placements (bases 0, 56)`."""
    shares = share(verdict)
    if not shares:
        return ""
    if len(verdict.bases) == verdict.total or verdict.orders is not None:
        return f" {shares}"
    return f" {shares} (base{'s' if len(verdict.bases) > 1 else ''} {', '.join(map(str, verdict.bases))})"


def _words(finding: Finding, builds: tuple[Build, ...], is_short: bool, width: int) -> Iterator[Line]:
    rule = finding.rule
    first = finding.builds[0][1] if finding.builds else finding
    yield from paragraph("  what: ", finding_message(first), width)
    yield from other_messages(finding, builds, width)
    if not is_short:
        yield from _basis(finding, width)
    if rule.states_why:
        yield from paragraph("  why: ", rule.why, width)
    must_fix_rule = first.verdict.is_missing_field and finding.place != rule.source
    if must_fix_rule or (rule.by != RULE_FILE and not is_short):
        yield from paragraph("  stated by: ", rule.origin, width)
    if not is_short:
        yield from _evidence(rule, width)
    for text in origin_sentences(finding):
        yield from paragraph("  ", text, width)
    if advice := finding_advice(finding):
        yield from paragraph(f"  {advice_kind(finding)}: ", advice, width, "bold")


def _basis(finding: Finding, width: int) -> Iterator[Line]:
    """Yield the order of the fields, the reason for the placements, and the rank of a guess."""
    if order(finding):
        yield from paragraph("  order: ", order(finding), width)
    if finding.verdict.is_placed:
        yield from paragraph("  placed: ", finding.verdict.basis, width)
    if finding.rank is not None:
        yield from paragraph("  rank: ", rank_reason(finding.rank), width)


def _evidence(rule: Rule, width: int) -> Iterator[Line]:
    for number, evidence in enumerate(text for text in rule.evidence if text != rule.origin):
        yield from paragraph(" " * 12 if number else "  evidence: ", evidence, width)


def _geometry(finding: Finding, width: int) -> Iterator[Line]:
    """Yield the fields of a verdict, and a drawing of their lines at the witness base."""
    verdict, struct = finding.verdict, finding.struct
    if not verdict.evidence:
        return
    if verdict.orders is not None:
        struct = verdict.orders.shown
    if finding.builds:
        yield heading(finding)
    yield from _fields(verdict.evidence, width)
    yield line()
    if struct is None or struct.bit_size is None:
        return
    base = verdict.witness or 0
    line_size = verdict.line_size or struct.target.line_size
    yield from paragraph("  ", _caption(struct, verdict, base, line_size), width)
    yield from drawing.draw(cached_layout(struct), verdict.evidence, base, line_size, width)
    yield line()


def _caption(struct: Struct, verdict: Verdict, base: int, line_size: int) -> str:
    where = f"at byte {base}" if verdict.total else "at the start"
    hidden = len(verdict.evidence) - drawing.MOST_LISTED
    unlisted = f"`{drawing.UNLISTED}` one of the {hidden} more, " if hidden > 0 else ""
    if struct.address is not None:
        marks = f"{unlisted}`{drawing.OTHER}` something else"
        unit = "pairs of lines" if verdict.in_pairs else "lines"
        return f"{unit} of {line_size} bytes, from {struct.address:#x} on ({marks}):"
    marks = f"{unlisted}`{drawing.OTHER}` another field, `{drawing.HOLE}` a hole or padding"
    size = f"pair of lines of {line_size} bytes" if verdict.in_pairs else f"{line_size}-byte line"
    return f"an object {where} of a {size} ({marks}):"


def _fields(places: tuple[Place, ...], width: int) -> Iterator[Line]:
    letters = drawing.letters(places)
    column = min(max(len(place.path) for place in places[: drawing.MOST_LISTED]), _MOST_PADDED)
    yield line(("      offset    size  field", "dim"))
    for place in places[: drawing.MOST_LISTED]:
        letter = letters[place.path]
        size = "??" if place.size is None else str(place.size)
        offset = _offset(place)
        head = f" {offset:>8} {size:>7}  {place.path:<{column}}"
        source = str(place.field.source or "")
        fits = 3 + len(head) + 2 + len(source) <= width
        yield line("  ", (letter, drawing.style_of(letter)), head, ("  " + source if fits else "", "dim"))
        if source and not fits:
            yield line(" " * 22, (source, "dim"))
    if len(places) > drawing.MOST_LISTED:
        yield line(f"{'':22}and {len(places) - drawing.MOST_LISTED} more")


def _offset(place: Place) -> str:
    """Return the offset of a field in bytes, with the bit for a bit-field: `2360:3`."""
    return f"{place.offset}:{place.bit_offset % 8}" if place.field.is_bitfield else str(place.offset)
