"""Format `html` of `diff`: a page with the changed structs before and after, and the rules that changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from layoutlint.comparison.comparison import Comparison, Side
from layoutlint.comparison.layouts import LayoutChange, Presence
from layoutlint.comparison.standings import Status
from layoutlint.model.structs import Struct
from layoutlint.reports import change_phrases as phrases
from layoutlint.reports.access_styles import pack_accesses
from layoutlint.reports.check.html import drawn_struct, judged_values
from layoutlint.reports.check.json import document
from layoutlint.reports.page.document import page
from layoutlint.reports.page.structs import struct_data
from layoutlint.reports.show.options import ShowOptions

_Key = tuple[str, int | None, object]


def render(comparison: Comparison) -> str:
    """Return the comparison as one page."""
    changes = (*comparison.layouts.changes, *comparison.layouts.retyped)
    sides = (comparison.old, comparison.new)
    shown = [[change.old for change in changes], [change.new for change in changes]]
    structs = [(side, s) for side, column in enumerate(shown) for s in column if s is not None]
    numbers = {(side, _key(struct)): number for number, (side, struct) in enumerate(structs)}
    accesses = [pack_accesses(sides[side].report.packs, struct) for side, struct in structs]
    line_size = next(_line_sizes(sides), None)
    drawn = tuple(struct for _, struct in structs)
    data = struct_data(drawn, ShowOptions(line_size=line_size), accesses)
    judged = [each for number, side in enumerate(sides) for each in _findings_of_side(side, number, numbers)]
    meaning = f"Exit status {comparison.exit_status}: {phrases.exit_meaning(comparison)}"
    result = f"{phrases.tally(comparison)}. {meaning}."
    title = f"layoutlint diff {comparison.old.label} {comparison.new.label}"
    own = {
        "rules": list(_rules(comparison)),
        "changes": [_change(change, numbers, comparison) for change in changes],
        "not_compared": [f"{each.name}: {each.reason}" for each in comparison.not_compared],
        "notes": [*comparison.notes, *phrases.idle_rules(comparison.idle_rules)],
    }
    return page(title, data | {"result": result, "report": None, "judged": judged, "diff": own})


def _key(struct: Struct) -> _Key:
    return struct.name, struct.bit_size, struct.source


def _line_sizes(sides: tuple[Side, Side]) -> Iterator[int]:
    """Yield the line sizes by which structs were judged, in bytes."""
    for side in sides:
        for finding in (*side.report.findings, *side.report.kept_findings):
            if finding.verdict.line_size is not None and not finding.verdict.in_pairs:
                yield finding.verdict.line_size


def _findings_of_side(
    side: Side, number: int, numbers: dict[tuple[int, _Key], int]
) -> Iterator[dict[str, Any]]:
    """Yield the findings of one side on the structs of the page."""
    report = side.report
    values = document(report)
    findings = (*report.findings, *report.kept_findings)
    for finding, stated in zip(findings, (*values.findings, *values.kept), strict=True):
        struct = drawn_struct(finding)
        at = None if struct is None else numbers.get((number, _key(struct)))
        if at is not None:
            yield judged_values(finding, at) | {"finding": stated}


def _rules(comparison: Comparison) -> Iterator[list[str]]:
    """Yield status and sentence of each rule that changed, the worse ones first."""
    for change in comparison.rules:
        if change.status is not Status.SAME or change.is_eased:
            reason = f": {change.reason}" if change.reason else ""
            yield [change.status.value, phrases.rule_states(change) + reason]


def _change(
    change: LayoutChange, numbers: dict[tuple[int, _Key], int], comparison: Comparison
) -> dict[str, Any]:
    line = change.struct.target.line_size
    sentences = [phrases.edit(edit) for edit in change.edits.edits]
    sentences += phrases.retypings(change)
    sentences += [phrases.move(move, line) for move in change.edits.moves]
    sentences += phrases.straddles(change)
    sentences += phrases.allocations(change, comparison.allocators)
    if change.root:
        sentences.append(f"because struct {change.root} changed")
    sentences += filter(None, [phrases.containers(change.containers)])
    paths = [place.path for move in change.edits.moves for place in (move.old, move.new)]
    for edit in change.edits.edits:
        paths += [change.edits.former_path(edit.path), edit.path]
    paths += [each.path for each in change.retyped]
    return {
        "status": "changed" if change.presence is Presence.BOTH else change.presence.value,
        "heading": phrases.heading(change),
        "sentences": sentences,
        "paths": [*dict.fromkeys(paths)],
        "old": None if change.old is None else numbers[0, _key(change.old)],
        "new": None if change.new is None else numbers[1, _key(change.new)],
    }
