"""The pages of structs and fields, in Markdown in which names of the text mean nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements, field_lines, share_line
from layoutlint.judgement.document import JudgedStruct
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import paths_of
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.paths import overlap
from layoutlint.phrases import quantity
from layoutlint.reports.check.diagnostics import finding_diagnostic
from layoutlint.reports.escaped_markdown import code, plain, text
from layoutlint.reports.finding_phrases import outcome
from layoutlint.reports.show import text as table
from layoutlint.reports.show.options import ShowOptions

_MOST_ROWS, _MOST_HOLDERS, _MOST_BASES, _MOST_NAMES = 250, 8, 8, 12
"""The most rows of a table, containers, rows of bases, and names in a row that a page has."""
_FENCE = re.compile("`{3,}")


def struct_page(judged: JudgedStruct, is_kernel: bool, stale: str = "") -> str:
    """Return the page of a struct: its table, placements, containers and rules."""
    struct, placements = judged.struct, judged.placements
    parts = [*_stale(stale), *_rule_list(judged.findings)]
    line_size = None if placements is None or placements.in_pairs else placements.line_size
    options = ShowOptions(width=92, is_kernel=is_kernel, line_size=line_size)
    parts.append(_block("".join(table.render((struct,), options))))
    if placements is not None:
        starts = ", ".join(map(str, placements.bases[:16])) + (" ..." if len(placements.bases) > 16 else "")
        why = text(placements.basis(()))
        parts.append(f"**Placements:** starts at {starts} of a line of {placements.line_size}: {why}")
    if judged.holders:
        rows = [f"{code(each.struct)} at {each.offset} ({code(each.path)})" for each in judged.holders]
        more = len(rows) - _MOST_HOLDERS
        rest = f" and {more} more" if more > 0 else ""
        parts.append(f"**Embedded in**, in this file: {', '.join(rows[:_MOST_HOLDERS])}{rest}")
    return "\n\n".join(parts)


def field_page(judged: JudgedStruct, place: Place, stale: str = "") -> str:
    """Return the page of a field: its place, the fields on its lines, accesses and rules."""
    struct = judged.struct
    size = "??" if place.size is None else str(place.size)
    declared = code(place.field.type.declare(place.path.rpartition(".")[2]))
    parts = [*_stale(stale), f"{declared} in {struct.aggregate} {code(struct.name)}"]
    where = f"offset {place.offset}, {size} bytes ({plain(place.extent)})"
    placements = judged.placements
    if placements is not None and place.bit_size is not None:
        lines = field_lines(place, 0, placements.line_size)
        first = f"line {lines.start}" if len(lines) < 2 else f"lines {lines.start} to {lines.stop - 1}"
        parts.append(f"{where}, {first} of an object at the start of a line")
        parts.append("\n".join(_neighbours(Layout(struct), place, placements)))
    else:
        parts.append(where)
    accesses = [each for each in judged.accesses if overlap(each.path, place.path)]
    for each in accesses:
        words = [*filter(None, (each.access,)), *(["contended"] if each.contended else [])]
        side = f" by {code(each.side)}" if each.side else ""
        source = f" ({plain(str(each.source))})" if each.source is not None else ""
        parts.append(f"**Access:** {plain(', '.join(words) or 'declared')}{side}{source}")
    own = tuple(finding for finding in judged.findings if _is_about(finding, place))
    return "\n\n".join([*parts, *_rule_list(own)])


def _stale(reason: str) -> list[str]:
    return [f"*Stale:* from before the text had this error: {plain(reason)}"] if reason else []


def _block(content: str) -> str:
    """Return text as a block of code that nothing in it ends."""
    rows = content.rstrip("\n").split("\n")
    if len(rows) > _MOST_ROWS:
        rows = [*rows[:_MOST_ROWS], f"... {len(rows) - _MOST_ROWS} more rows"]
    content = "\n".join(rows)
    fence = "`" * max(3, 1 + max(map(len, _FENCE.findall(content)), default=0))
    return f"{fence}text\n{content}\n{fence}"


def _rule_list(findings: tuple[Finding, ...]) -> list[str]:
    return ["\n".join(_rule(finding) for finding in findings)] if findings else []


def _rule(finding: Finding) -> str:
    """Return one rule as a row of a list, with its reason."""
    rule = finding.rule
    why = f" Why: {text(rule.why)}" if rule.states_why else ""
    if finding.verdict.outcome is Outcome.KEPT:
        return f"- *kept* {code(rule.id)} ({plain(rule.kind.name)}).{why}"
    accepted = " (accepted)" if finding.is_accepted else ""
    message = text(finding_diagnostic(finding, ()).message)
    return f"- **{outcome(finding)}**{accepted} {code(rule.id)}: {message}.{why}"


def _is_about(finding: Finding, place: Place) -> bool:
    """Return whether a finding, or its rule, names a field."""
    named = (each.path for each in finding.verdict.evidence)
    return any(overlap(path, place.path) for path in (*named, *paths_of(finding.rule.kind)))


def _neighbours(layout: Layout, place: Place, placements: Placements) -> Iterator[str]:
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
        row = ", ".join(map(code, names[:_MOST_NAMES])) or "nothing else"
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
