"""Format `html` of `history`: a page with a column for each build, what changed, and all layouts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from layoutlint.commands.history import phrases, rows
from layoutlint.commands.history.builds import Build, History, Step
from layoutlint.phrases import quantity
from layoutlint.reports import change_phrases as changes
from layoutlint.reports.access_styles import pack_accesses
from layoutlint.reports.check import json as check_json
from layoutlint.reports.check.html import judged_values
from layoutlint.reports.page.document import page
from layoutlint.reports.page.structs import struct_data
from layoutlint.reports.show.options import ShowOptions


def render(history: History) -> str:
    """Return the history as one page. It draws the builds whose layout is known."""
    known = [build for build in history.builds if build.struct is not None]
    structs = tuple(build.struct for build in known if build.struct is not None)
    packs = [build.side.report.packs for build in known]
    data = struct_data(structs, ShowOptions(), list(map(pack_accesses, packs, structs)))
    judged = list(_judged_findings(history))
    for each in judged:
        placements = each["finding"].placements
        if placements.line_size is not None and not placements.line_pairs:
            data["structs"][each["struct"]]["line_size"] = placements.line_size
    order = "by version" if history.is_by_version else "in the given order"
    unknown = f"; {quantity(len(history.gaps), 'result')} not known" if history.gaps else ""
    result = f"{quantity(len(history.builds), 'build')}, {order}{unknown}."
    own = {
        "builds": list(_builds(history, known)),
        "moved": [field.path for field in history.fields if field.has_moved(history.builds)],
        "rows": list(_rows(history)),
        "steps": list(_steps(history)),
        "unknown": [f"{each.name}: {each.reason}" for each in history.gaps],
    }
    title = f"layoutlint history of {history.name}"
    return page(title, data | {"result": result, "report": None, "judged": judged, "history": own})


def _judged_findings(history: History) -> Iterator[dict[str, Any]]:
    """Yield the findings in the rows of the history, with the number of the struct that each judges."""
    shown = {id(finding) for row in history.rules for finding in row.findings}
    known = [build for build in history.builds if build.struct is not None]
    for number, build in enumerate(known):
        report = build.side.report
        values = check_json.document(report)
        findings = (*report.findings, *report.kept_findings)
        for finding, stated in zip(findings, (*values.findings, *values.kept), strict=True):
            if id(finding) in shown:
                yield judged_values(finding, number) | {"finding": stated}


def _builds(history: History, known: Sequence[Build]) -> Iterator[dict[str, Any]]:
    """Yield the heads of the columns, with the number of the struct of each build."""
    numbers = {id(build): number for number, build in enumerate(known)}
    for label, build in zip(phrases.labels(history), history.builds, strict=True):
        yield {
            "label": label,
            "path": build.side.label,
            "version": phrases.version(build.version),
            "target": phrases.target(build),
            "struct": numbers.get(id(build)),
            "reason": build.reason,
        }


def _rows(history: History) -> Iterator[list[Any]]:
    """Yield the kind of each row, its name and its cells; `still` are fields that never moved."""
    moved = [field for field in history.fields if field.has_moved(history.builds)]
    still = [field for field in history.fields if not field.has_moved(history.builds)]
    parts: tuple[tuple[str, Iterable[rows.Row]], ...] = (
        ("figure", rows.figures(history.builds)),
        ("rule", rows.rule_rows(history)),
        ("pair", rows.pair_rows(history)),
        ("moved", rows.field_rows(moved, history.builds)),
        ("still", rows.field_rows(still, history.builds)),
    )
    for kind, part in parts:
        for row in part:
            yield [kind, row.name, list(row.cells)]


def _steps(history: History) -> Iterator[dict[str, Any]]:
    names = phrases.labels(history)
    for steps in rows.step_groups(history):
        title = f"{names[steps[0].old]} \N{RIGHTWARDS ARROW} {names[steps[-1].new]}"
        yield {"title": title, "same": len(steps) if steps[0].is_same else 0, **_changes(steps[0])}


def _changes(step: Step) -> dict[str, Any]:
    layouts, rules = step.comparison.layouts.changes, step.comparison.changed_rules
    return {
        "headings": [changes.heading(change) for change in layouts],
        "edits": [changes.edit(edit) for change in layouts for edit in change.edits.edits],
        "rules": [
            [
                rule.status.value,
                changes.rule_states(rule),
                *map(changes.pair_change, rule.pairs),
            ]
            for rule in rules
        ],
    }
