"""Format `text`: a report for people, with drawings of the cache lines.

By default, a finding is what is wrong, why it matters, a drawing if there are few findings, and what to do;
notes are named beside findings that fail the run, and long lists counted. Whatever decides the exit status is
always printed, and `-v` prints the rest.
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
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct
from layoutlint.phrases import quantity
from layoutlint.reports import container_table, drawing, styled
from layoutlint.reports.check.builds import heading, other_messages
from layoutlint.reports.check.headline import headline, other_clauses, outcome_line
from layoutlint.reports.check.summary import SHOWN, Detail, group_findings, summarize_others, summary
from layoutlint.reports.finding_phrases import order, outcome, rank_reason
from layoutlint.reports.layout_phrases import defining_files
from layoutlint.reports.styled import Line, line, paragraph

WIDTH = 100
_LEAST_WIDTH = 60
_MOST_DRAWN = 3
"""The number of findings up to which each is printed with a drawing by default."""
_MOST_LINES = 2
"""The lines of a drawing that are printed by default."""
_MOST_NOTES = 5
_MOST_WORDS_OF_WHY = 30
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
    is_full = detail is Detail.VERBOSE
    shown = [finding for finding in report.findings if is_full or not finding.is_accepted]
    others = [finding for finding in shown if finding.rule.severity is not Severity.NOTE]
    folds_notes = bool(others) and not is_full
    groups = group_findings(others if folds_notes else shown)
    number = sum(len(group[:SHOWN]) for group in groups)
    if statistics:
        yield from _statistics_table(report.findings)
    else:
        show = _Shown(report, width, is_full, number <= _MOST_DRAWN, is_full or number == 1)
        for group in groups:
            yield from _group(group, show, detail)
        if folds_notes:
            yield from _notes([each for each in shown if each.rule.severity is Severity.NOTE], width)
    yield from summary(report, width, detail, shortened=0 if is_full or statistics else number)


def _notes(notes: list[Finding], width: int) -> Iterator[Line]:
    """Yield the rules of notes beside findings that decide the exit status, in a line; nothing for none."""
    ids = list(dict.fromkeys(finding.rule.id for finding in notes))
    if not ids:
        return
    more = f" and {len(ids) - _MOST_NOTES} more" if len(ids) > _MOST_NOTES else ""
    label = f"{quantity(len(notes), 'note')} (-v): "
    yield from paragraph(label, f"{', '.join(ids[:_MOST_NOTES])}{more}", width)


class _Shown(Record, frozen=True):
    """How findings are printed."""

    report: Report
    width: int
    is_full: bool
    """Whether all that is known of a finding is printed."""
    draws: bool
    """Whether lines are drawn."""
    shows_acceptance: bool

    @property
    def builds(self) -> tuple[Build, ...]:
        """The builds of the report."""
        return self.report.builds


def _group(group: tuple[Finding, ...], show: _Shown, detail: Detail) -> Iterator[Line]:
    for finding in group[:SHOWN]:
        yield from _finding(finding, show)
        if show.shows_acceptance and detail is not Detail.QUIET:
            from layoutlint.reports.check import acceptance  # few reports show it

            yield from acceptance.acceptance_lines(finding)
        yield line()
    if len(group) > SHOWN:
        yield from paragraph("  ", summarize_others(group, group[SHOWN:]), show.width)
        yield line()


def _finding(finding: Finding, show: _Shown) -> Iterator[Line]:
    width = show.width
    yield _headline(finding)
    yield from _outcome(finding, show)
    if finding.suppressed is not None:
        yield from paragraph("  suppressed: ", finding.suppressed, width)
    if finding.expired is not None:
        yield from paragraph("  suppression expired: ", finding.expired, width)
    if finding.state is not None:
        yield from paragraph("  ", _comparison(finding.state, show.report.baseline), width)
    if show.is_full:
        yield line()
        yield from _geometry(finding, width)
    yield from _words(finding, show)


def _headline(finding: Finding) -> Line:
    """Return `FILE:LINE: SEVERITY: what is wrong [RULE]`, in one line for editors and grep."""
    severity = finding.rule.severity
    return line(
        (str(finding.place), "cyan"),
        ": ",
        (severity.value, SEVERITY_STYLES[severity]),
        ": ",
        (headline(finding), "bold"),
        (f" [{finding.rule.id}]", "dim"),
    )


def _comparison(state: State, base: BaselineUse | None) -> str:
    """Return how a finding compares with a baseline, or with a revision."""
    if base is not None and base.command:
        return f"compared with {base.file}: {_CHANGES[state]}"
    return f"baseline: {_STATES[state]}"


def _outcome(finding: Finding, show: _Shown) -> Iterator[Line]:
    """Yield the outcome over placements or builds, and the inputs with the struct if they are several."""
    verdict = finding.verdict
    if finding.builds:
        words = summarise_builds(finding.builds, show.builds)
        yield from paragraph("  ", words, show.width, STYLES[verdict.outcome])
    if words := outcome_line(finding, with_pairs=not show.is_full):
        yield from paragraph("  ", words, show.width, STYLES[verdict.outcome])
    inputs = {reading.path for reading in show.report.readings}
    if finding.input and (show.is_full or len(inputs) > 1 or inputs != set(finding.files)):
        yield from paragraph("  in: ", defining_files(finding.files), show.width)


def _words(finding: Finding, show: _Shown) -> Iterator[Line]:
    rule, width = finding.rule, show.width
    first = finding.builds[0][1] if finding.builds else finding
    if show.is_full:
        yield from paragraph("  rule: ", f"{rule.id} ({rule.kind.name})", width)
        yield from paragraph("  what: ", finding_message(first), width)
    elif more := other_clauses(finding):
        yield from paragraph("  also: ", more, width)
    yield from other_messages(finding, show.builds, width)
    if show.is_full or show.draws:
        yield from _basis(finding, width)
    if rule.states_why:
        why = rule.why if show.is_full else _shorten(rule.why, _MOST_WORDS_OF_WHY)
        yield from paragraph("  why: ", why, width)
    must_fix_rule = first.verdict.is_missing_field and finding.place != rule.source
    if must_fix_rule or (rule.by != RULE_FILE and (show.is_full or show.draws)):
        yield from paragraph("  stated by: ", rule.origin, width)
    if show.is_full:
        yield from _evidence(rule, width)
    elif show.draws:
        yield from _drawing(finding)
    for text in origin_sentences(finding):
        yield from paragraph("  ", text, width)
    if advice := finding_advice(finding):
        yield from paragraph(f"  {advice_kind(finding)}: ", advice, width, "bold")


def _shorten(text: str, most: int) -> str:
    """Return a text cut to a number of words."""
    words = text.split(" ")
    return text if len(words) <= most else f"{' '.join(words[:most])} ... (-v)"


def _drawing(finding: Finding) -> Iterator[Line]:
    """Yield the lines of the fields of a verdict at the witness base, with their names."""
    drawn = _picture(finding)
    if drawn is not None and finding.verdict.evidence:
        struct, base, line_size = drawn
        layout = cached_layout(struct)
        yield from drawing.draw_names(layout, finding.verdict.evidence, base, line_size, _MOST_LINES)


def _picture(finding: Finding) -> tuple[Struct, int, int] | None:
    """Return the struct of a drawing, its base and the line size; None if it has no layout."""
    verdict, struct = finding.verdict, finding.struct
    if verdict.orders is not None:
        struct = verdict.orders.shown
    if struct is None or struct.bit_size is None:
        return None
    return struct, verdict.witness or 0, verdict.line_size or struct.target.line_size


def _basis(finding: Finding, width: int) -> Iterator[Line]:
    """Yield the order of the fields, the reason for the placements, and the rank of a guess."""
    if order(finding):
        yield from paragraph("  order: ", order(finding), width)
    if finding.verdict.is_placed:
        yield from paragraph("  placed: ", finding.verdict.basis, width)
        yield from container_table.render(finding.verdict.containers)
    if finding.rank is not None:
        yield from paragraph("  rank: ", rank_reason(finding.rank), width)


def _evidence(rule: Rule, width: int) -> Iterator[Line]:
    for number, evidence in enumerate(text for text in rule.evidence if text != rule.origin):
        yield from paragraph(" " * 12 if number else "  evidence: ", evidence, width)


def _geometry(finding: Finding, width: int) -> Iterator[Line]:
    """Yield the fields of a verdict, and a drawing of their lines at the witness base."""
    verdict, drawn = finding.verdict, _picture(finding)
    if not verdict.evidence:
        return
    if finding.builds:
        yield heading(finding)
    yield from _fields(verdict.evidence, width)
    yield line()
    if drawn is None:
        return
    struct, base, line_size = drawn
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
