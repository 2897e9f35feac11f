"""The pages of structs and fields."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.commands.language_server.markup import Markup
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements, field_lines, share_line
from layoutlint.judgement.document import JudgedStruct
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import paths_of
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.paths import overlap
from layoutlint.phrases import quantity
from layoutlint.reports.check.diagnostics import finding_diagnostic
from layoutlint.reports.finding_phrases import outcome
from layoutlint.reports.show import text as table
from layoutlint.reports.show.options import ShowOptions

_MOST_HOLDERS, _MOST_BASES, _MOST_NAMES = 8, 8, 12
"""The most containers, rows of bases, and names in a row that a page has."""


def struct_page(judged: JudgedStruct, is_kernel: bool, markup: Markup, stale: str = "") -> str:
    """Return the page of a struct: its table, placements, containers and rules."""
    struct, placements = judged.struct, judged.placements
    parts = [*_stale(stale, markup), *_rule_list(judged.findings, markup)]
    line_size = None if placements is None or placements.in_pairs else placements.line_size
    options = ShowOptions(width=92, is_kernel=is_kernel, line_size=line_size)
    parts.append(markup.block("".join(table.render((struct,), options))))
    if placements is not None:
        starts = ", ".join(map(str, placements.bases[:16])) + (" ..." if len(placements.bases) > 16 else "")
        why = markup.text(placements.basis(()))
        head = markup.strong("Placements:")
        parts.append(f"{head} starts at {starts} of a line of {placements.line_size}: {why}")
    if judged.holders:
        code = markup.code
        rows = [f"{code(each.struct)} at {each.offset} ({code(each.path)})" for each in judged.holders]
        more = len(rows) - _MOST_HOLDERS
        rest = f" and {more} more" if more > 0 else ""
        head = markup.strong("Embedded in")
        parts.append(f"{head}, in this file: {', '.join(rows[:_MOST_HOLDERS])}{rest}")
    return "\n\n".join(parts)


def field_page(judged: JudgedStruct, place: Place, markup: Markup, stale: str = "") -> str:
    """Return the page of a field: its place, the fields on its lines, accesses and rules."""
    struct = judged.struct
    size = "??" if place.size is None else str(place.size)
    declared = markup.code(place.field.type.declare(place.path.rpartition(".")[2]))
    parts = [*_stale(stale, markup), f"{declared} in {struct.aggregate} {markup.code(struct.name)}"]
    where = f"offset {place.offset}, {size} bytes ({place.extent})"
    placements = judged.placements
    if placements is not None and place.bit_size is not None:
        lines = field_lines(place, 0, placements.line_size)
        first = f"line {lines.start}" if len(lines) < 2 else f"lines {lines.start} to {lines.stop - 1}"
        parts.append(f"{where}, {first} of an object at the start of a line")
        parts.append("\n".join(_neighbours(Layout(struct), place, placements, markup)))
    else:
        parts.append(where)
    accesses = [each for each in judged.accesses if overlap(each.path, place.path)]
    for each in accesses:
        words = [*filter(None, (each.access,)), *(["contended"] if each.contended else [])]
        side = f" by {markup.code(each.side)}" if each.side else ""
        source = f" ({markup.plain(str(each.source))})" if each.source is not None else ""
        parts.append(f"{markup.strong('Access:')} {', '.join(words) or 'declared'}{side}{source}")
    own = tuple(finding for finding in judged.findings if _is_about(finding, place))
    return "\n\n".join([*parts, *_rule_list(own, markup)])


def _stale(reason: str, markup: Markup) -> list[str]:
    head = markup.emphasis("Stale:")
    return [f"{head} from before the text had this error: {markup.plain(reason)}"] if reason else []


def _rule_list(findings: tuple[Finding, ...], markup: Markup) -> list[str]:
    return ["\n".join(_rule(finding, markup) for finding in findings)] if findings else []


def _rule(finding: Finding, markup: Markup) -> str:
    """Return one rule as a row of a list, with its reason."""
    rule = finding.rule
    why = f" Why: {markup.text(rule.why)}" if rule.states_why else ""
    if finding.verdict.outcome is Outcome.KEPT:
        return f"- {markup.emphasis('kept')} {markup.code(rule.id)} ({rule.kind.name}).{why}"
    accepted = " (accepted)" if finding.is_accepted else ""
    message = markup.text(finding_diagnostic(finding, ()).message)
    return f"- {markup.strong(outcome(finding))}{accepted} {markup.code(rule.id)}: {message}.{why}"


def _is_about(finding: Finding, place: Place) -> bool:
    """Return whether a finding, or its rule, names a field."""
    named = (each.path for each in finding.verdict.evidence)
    return any(overlap(path, place.path) for path in (*named, *paths_of(finding.rule.kind)))


def _neighbours(layout: Layout, place: Place, placements: Placements, markup: Markup) -> Iterator[str]:
    """Yield which fields share a line with a field, for the bases at which they are the same."""
    groups: dict[tuple[str, ...], list[int]] = {}
    others = [each for each in layout.walk_fields(1) if _is_apart(each, place)]
    for base in placements.bases:
        line_size = placements.line_size
        names = tuple(each.path for each in others if share_line(each, place, base, line_size))
        groups.setdefault(names, []).append(base)
    yield f"| base | on its {placements.unit} |"
    yield "|---|---|"
    for names, bases in list(groups.items())[:_MOST_BASES]:
        more = len(names) - _MOST_NAMES
        rest = f" and {more} more" if more > 0 else ""
        row = ", ".join(map(markup.cell, names[:_MOST_NAMES])) or "nothing else"
        yield f"| {', '.join(map(str, bases))} | {row}{rest} |"
    if len(groups) > _MOST_BASES:
        yield f"| ... | {len(groups) - _MOST_BASES} more |"


def _is_apart(other: Place, place: Place) -> bool:
    """Return whether a field is an outermost one, or beside another in its struct, and no part of it."""
    outer = other.path.rpartition(".")[0]
    is_beside = outer in ("", place.path.rpartition(".")[0])
    is_sized = other.bit_size is not None and bool(other.path)
    return is_beside and is_sized and not overlap(other.path, place.path)


def lens(judged: JudgedStruct, stale: bool = False) -> str:
    """Return the label above a struct: `3 lines, 24 bytes free, 2 rules (1 broken)`."""
    layout = Layout(judged.struct)
    line_size = judged.placements.line_size if judged.placements else judged.struct.target.line_size
    words = [
        quantity(-(-layout.size // line_size), "line"),
        f"{quantity(-layout.size % line_size, 'byte')} free",
        quantity(len({finding.rule.id for finding in judged.findings}), "rule"),
    ]
    failing: dict[str, int] = {}
    for finding in judged.findings:
        if finding.verdict.outcome is not Outcome.KEPT and not finding.is_accepted:
            failing[outcome(finding)] = failing.get(outcome(finding), 0) + 1
    counts = ", ".join(f"{number} {word}" for word, number in failing.items())
    return ", ".join(words) + (f" ({counts})" if counts else "") + (", stale" if stale else "")


def hints(
    places: Iterator[tuple[Place, int]], line_size: int, all_offsets: bool
) -> Iterator[tuple[Place, int, str]]:
    """Yield labels behind fields: the place, the line of its text, and the label.

    A field that begins a later cache line than all before has that line; with `all_offsets`, every field has
    its offset.
    """
    reached = 0
    for place, row in places:
        line = place.offset // line_size
        is_first = line > reached
        reached = max(reached, line)
        offset = f"{place.offset}:{place.bit_offset % 8}" if place.field.is_bitfield else str(place.offset)
        if is_first:
            yield place, row, f"{offset} · line {line}"
        elif all_offsets:
            yield place, row, offset
