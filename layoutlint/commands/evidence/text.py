"""Format `text` of `evidence`: structs with their lines and fields, then rules and declared accesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from layoutlint.commands.evidence.drafts import draft_rules
from layoutlint.judgement.evidence import (
    EventSummary,
    EvidenceReport,
    FieldTouch,
    PlacedLine,
    ReportSummary,
    RuleEvidence,
    SampleSummary,
    SeenPair,
    StructEvidence,
    TypedCount,
    UnplacedLine,
)
from layoutlint.phrases import quantity
from layoutlint.reports import styled
from layoutlint.reports.styled import Line, line, paragraph

_FEW_THREADS = 4
_SHARING = {
    "true": "true sharing: several CPUs use one field, which no order of fields avoids",
    "false": "false sharing: a CPU writes one field, and others use other fields",
    "both": "false sharing, and true sharing of a field that several CPUs use",
}
_FEW = 10
"""Rows of a list that are printed without --verbose."""
_WHOLE = 99.0
"""Percent of the counts that rows have at least: perf rounds the share of each."""
_IDENTITY = {
    "code": "by code that accesses the types of these fields",
    "struct": "if the line is one of this struct: no code shows it",
}
_STATES = {
    "measured": "measured: on a contended line, one of the fields is written and the other is read",
    "possible": "possible: as measured, if the line is one of this struct",
    "profiled": "profiled: one field is written and the other is read; the lines are not known",
    "apart": "apart: the fields share none of the lines in the profile",
}
_STYLES = {"measured": "bold red", "possible": "yellow", "profiled": "yellow"}


def render(report: EvidenceReport, color: bool = False, width: int = 100, verbose: bool = False) -> str:
    """Return the evidence as text for people."""
    lines = list(_lines(report, width, verbose))
    while lines and not lines[-1]:
        lines.pop()
    return styled.render_colored(lines) if color else styled.render_plain(lines)


def _lines(report: EvidenceReport, width: int, verbose: bool) -> Iterator[Line]:
    yield from _drafts(report, width)
    reports = {each.path: each for each in report.reports}
    for each in report.structs:
        yield from _struct(each, report.events, reports, width, verbose)
    yield from _rules(report.rules, width)
    if report.contradictions:
        yield line(("declared accesses that the profile contradicts", "bold"))
        for against in report.contradictions:
            declared = f"declared {against.access.access}"
            if against.access.source is not None:
                declared += f" at {against.access.source}"
            text = f"{against.struct.name}.{against.path}: {declared}; {against.observation}"
            yield line("  ", text, (f"  {against.report}:{against.line}", "cyan"))
        yield line()
    yield from _unplaced_lines(report.unplaced, report.further, verbose)
    yield from _reports(report.reports, report.events, width)
    for note in report.notes:
        yield from paragraph("note: ", note, width)
    for failure in report.failures:
        yield from paragraph("failure: ", str(failure), width, "bold magenta")


def _drafts(report: EvidenceReport, width: int) -> Iterator[Line]:
    """Yield in a sentence each what the profile asks for; nothing without contended fields."""
    drafts = [draft for draft in draft_rules(report) if draft.written]
    for draft in drafts[:_FEW]:
        yield from paragraph("", f"struct {draft.struct}: {draft.reason}", width, "bold")
    if len(drafts) > _FEW:
        yield line(f"and {len(drafts) - _FEW:,} more")
    if drafts:
        yield from paragraph("", "`--format toml` drafts rules for them", width)
        yield line()


def _struct(
    each: StructEvidence,
    events: Sequence[EventSummary],
    reports: Mapping[str, ReportSummary],
    width: int,
    verbose: bool,
) -> Iterator[Line]:
    struct = each.struct
    source = f"  {struct.source}" if struct.source else ""
    what = struct.aggregate if struct.address is None else "variables in"
    yield line((f"{what} {struct.name}", "bold"), (source, "cyan"))
    shown = each.lines if verbose else each.lines[:_FEW]
    for placed in shown:
        yield line()
        yield from _line_rows(placed, reports[placed.report], width, verbose)
    if len(each.lines) > len(shown):
        yield line(f"  {len(each.lines) - len(shown):,} more lines (--verbose)")
    numbers = sorted({count.event for count in each.counts} | {event for event, _ in each.refused})
    for number in numbers:
        yield line()
        counts = [count for count in each.counts if count.event == number]
        yield from _event_table(events[number], counts, verbose)
        for event, refused in each.refused:
            if event == number:
                share = "" if refused.share is None else f", {refused.share:.2f} %"
                text = f"    refused: offset {refused.offset}{share}: {refused.reason}"
                yield line((text, "yellow"), (f"  {events[number].report}:{refused.line}", "cyan"))
    yield line()


def _line_rows(placed: PlacedLine, report: ReportSummary, width: int, verbose: bool) -> Iterator[Line]:
    counts = placed.counts
    snoops = "peer snoop" if report.is_peer else "HITM"
    what = f"{counts.remote:,} remote and {counts.local:,} local {snoops}s"
    what += f", {quantity(counts.stores, 'store')}"
    if not _has_sources(report):
        what = quantity(sum(each.touch.records or 0 for each in placed.fields), "sample")
    yield line(f"  line {placed.address:#x}: {what}", (f"  {placed.report}:{placed.line}", "cyan"))
    last = placed.shift + placed.line_size - 1
    place = f"bytes {placed.shift}..{last} of an object at base {placed.base}: {_certainty(placed)}"
    identity = "" if placed.certainty == "given" else f"; {_identity(placed)}"
    yield from paragraph("  ", place + identity, width)
    if placed.sharing is not None and placed.sharing != "none":
        yield from paragraph("  ", _SHARING[placed.sharing], width, "yellow")
    names = f"    {'offset':>6}  {'size':>4}  {snoops + 's':>11}  {'stores':>7}  {'records':>7}  CPUs  field"
    yield line((names, "dim"))
    for field in placed.fields:
        yield _touch_row(field, placed.report, _has_sources(report))
        users = _users(field, verbose)
        if users:
            yield from paragraph(" " * 49, users, max(width, 100), "dim")
    if placed.covered < _WHOLE:
        yield line(
            (f"    the report has rows for {placed.covered:.2f} % of the samples: it is an excerpt", "yellow")
        )
    if placed.unmet:
        names = ", ".join(dict.fromkeys(code.symbol for code in placed.unmet))
        text = f"would not access these fields: {names}; this is another build, or not the address"
        yield from paragraph("    code that ", text, width, "yellow")
    for refused in placed.refused:
        yield line(
            (f"    {refused.offset:>6}  refused: {refused.reason}", "yellow"),
            (f"  {placed.report}:{refused.line}", "cyan"),
        )


def _has_sources(report: ReportSummary) -> bool:
    """Return whether a report tells loads and stores."""
    return report.samples is None or "data_src" in report.samples.columns


def _users(field: FieldTouch, verbose: bool) -> str:
    """Return who used a field, as far as samples tell."""
    uses = field.touch.uses
    parts = []
    if uses.written_on or uses.read_on:
        parts += [f"written on {_cpus(uses.written_on)}"] if uses.written_on else []
        parts += [f"read on {_cpus(uses.read_on)}"] if uses.read_on else []
    elif uses.cpus:
        parts.append(f"on {_cpus(uses.cpus)}")
    if uses.threads:
        shown = uses.threads if verbose else uses.threads[:_FEW_THREADS]
        names = ", ".join(f"{each.name}/{each.number}" if each.name else str(each.number) for each in shown)
        hidden = len(uses.threads) - len(shown)
        parts.append(f"by {names}" + (f" and {quantity(hidden, 'more thread')}" if hidden else ""))
    if field.touch.locked:
        parts.append(f"{field.touch.locked:,} locked")
    if field.touch.weight is not None:
        parts.append(f"mean weight {field.touch.weight:,.0f}")
    return "; ".join(parts)


def _cpus(numbers: Sequence[int] | None) -> str:
    """Return CPUs as ranges, as Linux prints them."""
    ranges: list[list[int]] = []
    for number in numbers or ():
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f"CPU{'s' if len(numbers or ()) > 1 else ''} {text}"


def _certainty(placed: PlacedLine) -> str:
    if placed.variable:
        return f"the variable `{placed.variable}`"
    if placed.certainty == "given":
        return "the address is given"
    offsets = quantity(placed.offsets, "offset")
    if placed.certainty == "unique":
        return f"the only place that explains {'the ' if placed.offsets == 1 else 'all '}{offsets}"
    if placed.others == 0:
        return f"likely: the only place that explains all {offsets}, if the struct is not packed"
    others = quantity(placed.others, "other place")
    return (
        f"likely: {others} would put the {offsets} inside fields, or at types that the code does not access"
    )


def _identity(placed: PlacedLine) -> str:
    text = _IDENTITY[placed.identity]
    names = list(dict.fromkeys(code.symbol for code in placed.met))
    return f"{text} ({', '.join(names[:3])})" if placed.identity == "code" else text


def _touch_row(field: FieldTouch, report: str, has_sources: bool) -> Line:
    touch = field.touch
    records = "??" if touch.records is None else f"{touch.records:,}"
    names = list(dict.fromkeys(code.symbol for code in touch.codes))
    codes = f"  {', '.join(names[:2])}" + (", ..." if len(names) > 2 else "")
    at = "" if field.at == field.offset else f" (byte {field.at})"
    size = "??" if field.size is None else str(field.size)
    places = f"{report}:{touch.lines[0]}" + (f"..{touch.lines[-1]}" if touch.lines[1:] else "")
    loads = _rounded_count(touch.counts.contended_loads, touch.has_snoops) if has_sources else "??"
    is_rounded = touch.has_stores and not touch.locked
    stores = _rounded_count(touch.counts.stores, is_rounded) if has_sources else "??"
    return line(
        f"    {field.offset:>6}  {size:>4}  {loads:>11}  "
        f"{stores:>7}  {records:>7}  {touch.cpus:>4}  "
        f"{field.path}{at}",
        (codes, "dim"),
        (f"  {places}", "cyan"),
    )


def _rounded_count(number: int, is_some: bool) -> str:
    """Return a count; perf prints shares, so that a small count can round to 0."""
    return "<1" if is_some and number == 0 else f"{number:,}"


def _event_table(event: EventSummary, counts: list[TypedCount], verbose: bool) -> Iterator[Line]:
    role = {"load": "loads", "store": "stores", "any": "loads and stores"}[event.role]
    name = event.name or "an event that the report does not name"
    yield line(f"  {name} ({role})", (f"  {event.report}:{event.line}", "cyan"))
    share = "share" if event.scope == "event" else "of type"
    yield line((f"    {'offset':>6}  {'size':>4}  {'samples':>9}  {share:>8}  field", "dim"))
    ordered = sorted(counts, key=lambda count: (count.at, count.path))
    shown = ordered if verbose else sorted(ordered, key=_weight, reverse=True)[: 3 * _FEW]
    for count in sorted(shown, key=lambda count: (count.at, count.path)):
        samples = "??" if count.samples is None else f"{count.samples:,}"
        percent = "??" if count.share is None else f"{count.share:.2f} %"
        size = "??" if count.size is None else str(count.size)
        at = "" if count.at == count.offset else f" (byte {count.at})"
        yield line(
            f"    {count.offset:>6}  {size:>4}  {samples:>9}  {percent:>8}  {count.path}{at}",
            (f"  {event.report}:{count.lines[0]}", "cyan"),
        )
    if len(shown) < len(ordered):
        yield line(f"    {quantity(len(ordered) - len(shown), 'more field')} (--verbose)")


def _weight(count: TypedCount) -> tuple[float, int]:
    return count.share or 0.0, count.samples or 0


def _rules(rules: Sequence[RuleEvidence], width: int) -> Iterator[Line]:
    if not rules:
        return
    yield line(("rules that fail", "bold"))
    for each in rules:
        yield line(f"  {each.rule.id}  {each.struct.aggregate} {each.struct.name}, {each.outcome}")
        style = _STYLES.get(each.state, "")
        yield from paragraph("    ", _STATES.get(each.state, f"{each.state}: {each.doubt}"), width, style)
        for pair in each.pairs:
            yield line(f"      {_pair(pair)}", (f"  {pair.report}:{pair.line}", "cyan"))
    yield line()


def _pair(pair: SeenPair) -> str:
    stores = "written" if pair.stores is None else f"{quantity(pair.stores, 'store')}"
    loads = "read" if pair.loads is None else f"{quantity(pair.loads, 'load')}"
    what = " that took the line" if pair.base is not None else ""
    base = f", at base {pair.base}" if pair.base is not None else ""
    return f"`{pair.written}`: {stores}; `{pair.read}`: {loads}{what}{base}"


def _unplaced_lines(lines: Sequence[UnplacedLine], further: int, verbose: bool) -> Iterator[Line]:
    if not lines:
        return
    yield line(("lines that are not placed", "bold"))
    shown = lines if verbose else lines[:_FEW]
    for each in shown:
        counts = f"{each.counts.contended_loads:,} contended loads, {quantity(each.counts.stores, 'store')}"
        yield line(f"  {each.address:#x}: {counts}", (f"  {each.report}:{each.line}", "cyan"))
        if each.sharing is not None and each.sharing != "none":
            yield line((f"    {_SHARING[each.sharing]}", "yellow"))
        yield line(f"    {each.reason}")
        for option in each.options[: None if verbose else 4]:
            yield line(f"      {option.struct} at base {option.base}, from byte {option.shift}")
        hidden = each.total - min(len(each.options), each.total if verbose else 4)
        if hidden > 0:
            yield line(f"      and {hidden:,} more")
    hidden = len(lines) - len(shown) + further
    if hidden:
        yield line(f"  {hidden:,} more" + ("" if verbose else " (--verbose)"))
    yield line()


def _reports(reports: Sequence[ReportSummary], events: Sequence[EventSummary], width: int) -> Iterator[Line]:
    if not reports:
        return
    yield line(("reports", "bold"))
    for each in reports:
        captured = f", recorded {each.header.captured}" if each.header.captured else ""
        lines = f", {quantity(each.lines, 'cache line')}" if "perf c2c" in each.formats else ""
        lines += _sample_counts(each.samples) if each.samples is not None else ""
        yield line(f"  {each.path}: {', '.join(each.formats)}{lines}{captured}")
        note = f"build: {each.build}" + (f" ({each.build_note})" if each.build_note else "")
        yield from paragraph("    ", note, width)
        for event in events:
            if event.report == each.path:
                yield from paragraph("    ", _summary(event), width)
    yield line()


def _sample_counts(samples: SampleSummary) -> str:
    numbers = {
        "without an address": samples.without_address,
        "neither load nor store": samples.undecoded or 0,
        "dropped": samples.dropped,
        "lost": samples.lost,
    }
    parts = [f"{number:,} {what}" for what, number in numbers.items() if number]
    text = f", {quantity(samples.total, 'sample')} of {','.join(samples.columns)}"
    return text + (f" ({', '.join(parts)})" if parts else "")


def _summary(event: EventSummary) -> str:
    name = f"`{event.name}`" if event.name else "the event"
    unknown = "a share that the report does not state" if event.unknown is None else f"{event.unknown:.2f} %"
    text = f"{name}: of unknown type {unknown}"
    if event.scope == "event":
        text += (
            f", without members {event.scalars:.2f} %, of other types {event.elsewhere:.2f} %, "
            f"refused {event.refused:.2f} %, placed {event.placed:.2f} %"
        )
    return f"{text}; {quantity(event.rows, 'row')} placed"
