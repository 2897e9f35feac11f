"""Format `json` of `history`: the history for scripts (schema `layoutlint/history/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from layoutlint.comparison.comparison import hole_bits, line_count
from layoutlint.comparison.history import HISTORY_SCHEMA, Build, FieldRow, History, PairRow, RuleRow, Step
from layoutlint.geometry.layout import Place, cached_layout
from layoutlint.judgement.finding import Finding
from layoutlint.reports.diff import phrases as changes
from layoutlint.reports.history import phrases
from layoutlint.reports.json_values import document_text, file_and_line


def render(history: History) -> str:
    """Return the history as one JSON object, with a newline at the end."""
    document = {
        "schema": HISTORY_SCHEMA,
        "struct": history.name,
        "order": "version" if history.is_by_version else "given",
        "builds": [_build(build) for build in history.builds],
        "fields": [_field(row, history.builds) for row in history.fields],
        "pairs": [_pair(row) for row in history.pairs],
        "rules": [_rule(row) for row in history.rules],
        "steps": [_step(step) for step in history.steps],
        "unknown": [{"name": each.name, "reason": each.reason} for each in history.gaps],
        "exit": history.exit_status,
    }
    return document_text(document)


def _build(build: Build) -> dict[str, Any]:
    struct, readings = build.struct, build.side.report.readings
    return {
        "path": build.side.label,
        "version": None if build.version is None else phrases.version(build.version),
        "targets": sorted({reading.target.name for reading in readings}),
        "readers": sorted({reading.reader for reading in readings}),
        "size": None if struct is None else (struct.bit_size or 0) // 8,
        "lines": None if struct is None else line_count(struct),
        "hole_bits": None if struct is None else hole_bits(cached_layout(struct)),
        **file_and_line(None if struct is None else struct.source),
        "reason": build.reason or None,
    }


def _field(row: FieldRow, builds: Sequence[Build]) -> dict[str, Any]:
    return {
        "path": row.path,
        "moved": row.has_moved(builds),
        "offset": [None if place is None else place.offset for place in row.places],
        "size": [None if place is None else place.size for place in row.places],
        "bit": [_bit(place) for place in row.places],
    }


def _bit(place: Place | None) -> int | None:
    """Return the first bit of a bit-field in its struct; None for another field."""
    return place.bit_offset if place is not None and place.field.is_bitfield else None


def _pair(row: PairRow) -> dict[str, Any]:
    return {
        "fields": [row.first, row.second],
        "bases": [None if each is None else list(each.bases) for each in row.meetings],
        "total": [None if each is None else each.total for each in row.meetings],
    }


def _rule(row: RuleRow) -> dict[str, Any]:
    return {
        "rule": row.rule.id,
        "kind": row.rule.kind.name,
        "severity": row.rule.severity.value,
        "outcome": [None if each is None else each.verdict.outcome.value for each in row.findings],
        "violating": [None if each is None else len(each.verdict.bases) for each in row.findings],
        "total": [_total(each) for each in row.findings],
    }


def _total(finding: Finding | None) -> int | None:
    return None if finding is None else finding.verdict.total


def _step(step: Step) -> dict[str, Any]:
    layouts, rules = step.comparison.layouts.changes, step.comparison.changed_rules
    return {
        "old": step.old,
        "new": step.new,
        "edits": [changes.edit(edit) for change in layouts for edit in change.edits.edits],
        "worse": [change.rule.id for change in rules if change.status.value == "worse"],
        "better": [change.rule.id for change in rules if change.status.value == "better"],
    }
