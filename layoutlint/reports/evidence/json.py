"""Format `json` of `evidence`: accesses for scripts (schema `layoutlint/evidence/1`, docs/json.md)."""

from __future__ import annotations

from typing import Any

from layoutlint.judgement.evidence import (
    EVIDENCE_SCHEMA,
    Contradiction,
    EventSummary,
    EvidenceReport,
    FieldTouch,
    PlacedLine,
    RefusedTouch,
    ReportSummary,
    RuleEvidence,
    SeenPair,
    StructEvidence,
    TypedCount,
    UnplacedLine,
)
from layoutlint.readers.profiles.records import COLUMNS, Counts
from layoutlint.reports.json_values import document_text, file_and_line


def render(report: EvidenceReport) -> str:
    """Return the evidence as one JSON object, with a newline at the end."""
    document = {
        "schema": EVIDENCE_SCHEMA,
        "inputs": [
            {"path": r.path, "reader": r.reader, "target": r.target.name, "build_id": r.build_id}
            for r in report.readings
        ],
        "reports": [_report(each) for each in report.reports],
        "events": [_event(each) for each in report.events],
        "structs": [_struct(each) for each in report.structs],
        "unplaced": [_unplaced_line(each) for each in report.unplaced],
        "further_unplaced": report.further,
        "rules": [_rule(each) for each in report.rules],
        "contradictions": [_contradiction(each) for each in report.contradictions],
        "failures": [str(each) for each in report.failures],
        "notes": list(report.notes),
        "exit": report.exit_status,
    }
    return document_text(document)


def _report(report: ReportSummary) -> dict[str, Any]:
    return {
        "path": report.path,
        "formats": list(report.formats),
        "captured": report.header.captured,
        "release": report.header.release,
        "perf": report.header.tool,
        "build": report.build,
        "build_note": report.build_note or None,
        "snoops": "peer" if report.is_peer else "hitm",
        "lines": report.lines,
        "omitted_lines": report.omitted,
    }


def _event(event: EventSummary) -> dict[str, Any]:
    return {
        "report": event.report,
        "line": event.line,
        "name": event.name,
        "counts": {"load": "loads", "store": "stores", "any": "both"}[event.role],
        "share_of": event.scope,
        "unknown": _share(event.unknown),
        "without_members": _share(event.scalars),
        "elsewhere": _share(event.elsewhere),
        "refused": _share(event.refused),
        "placed": _share(event.placed),
        "rows": event.rows,
    }


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _struct(each: StructEvidence) -> dict[str, Any]:
    struct = each.struct
    return {
        "name": struct.name,
        "aggregate": struct.aggregate,
        "size": None if struct.bit_size is None else struct.bit_size // 8,
        **file_and_line(struct.source),
        "lines": [_line(line) for line in each.lines],
        "samples": [_samples(count) for count in each.counts],
        "refused": [_refused_samples(event, refused) for event, refused in each.refused],
    }


def _line(line: PlacedLine) -> dict[str, Any]:
    return {
        "report": line.report,
        "line": line.line,
        "address": f"{line.address:#x}",
        "line_size": line.line_size,
        "covered": _share(min(100.0, line.covered)),
        "counts": _counts(line.counts),
        "first_byte": line.shift,
        "base": line.base,
        "object": f"{line.object_address:#x}",
        "certainty": line.certainty,
        "identified_by": line.identity,
        "other_places": line.others,
        "code": [code.symbol for code in line.met],
        "contradicting_code": [code.symbol for code in line.unmet],
        "fields": [_touch(field) for field in line.fields],
        "refused": [_refused_touch(each) for each in line.refused],
    }


def _counts(counts: Counts) -> dict[str, int]:
    names = dict(zip(COLUMNS, ("remote", "local", "peer", "l1_hit", "l1_miss", "other"), strict=True))
    return {names[column]: getattr(counts, column) for column in COLUMNS}


def _touch(field: FieldTouch) -> dict[str, Any]:
    touch = field.touch
    return {
        "path": field.path,
        "offset": field.offset,
        "size": field.size,
        "at": field.at,
        "counts": _counts(touch.counts),
        "records": touch.records,
        "written": touch.has_stores,
        "read_modified": touch.has_snoops,
        "cpus": touch.cpus,
        "code": [{"symbol": code.symbol, "source": code.source or None} for code in touch.codes],
        "report_lines": list(touch.lines),
    }


def _refused_touch(refused: RefusedTouch) -> dict[str, Any]:
    return {
        "offset": refused.offset,
        "reason": refused.reason,
        "records": refused.records,
        "report_line": refused.line,
    }


def _refused_samples(event: int, refused: RefusedTouch) -> dict[str, Any]:
    return {
        "event": event,
        "offset": refused.offset,
        "reason": refused.reason,
        "samples": refused.records,
        "share": _share(refused.share),
        "report_line": refused.line,
    }


def _samples(count: TypedCount) -> dict[str, Any]:
    return {
        "event": count.event,
        "path": count.path,
        "offset": count.offset,
        "size": count.size,
        "at": count.at,
        "share": _share(count.share),
        "samples": count.samples,
        "report_lines": list(count.lines),
    }


def _unplaced_line(line: UnplacedLine) -> dict[str, Any]:
    return {
        "report": line.report,
        "line": line.line,
        "address": f"{line.address:#x}",
        "counts": _counts(line.counts),
        "reason": line.reason,
        "places": [{"struct": o.struct, "base": o.base, "first_byte": o.shift} for o in line.options],
        "total": line.total,
    }


def _rule(evidence: RuleEvidence) -> dict[str, Any]:
    return {
        "rule": evidence.rule.id,
        "struct": evidence.struct.name,
        "outcome": evidence.outcome,
        "state": evidence.state,
        "pairs": [_pair(pair) for pair in evidence.pairs],
    }


def _pair(pair: SeenPair) -> dict[str, Any]:
    return {
        "written": pair.written,
        "read": pair.read,
        "stores": pair.stores,
        "loads": pair.loads,
        "report": pair.report,
        "report_line": pair.line,
        "base": pair.base,
    }


def _contradiction(each: Contradiction) -> dict[str, Any]:
    return {
        "struct": each.struct.name,
        "path": each.path,
        "declared": each.access.access,
        "declared_at": str(each.access.source) if each.access.source else None,
        "found": each.observation,
        "report": each.report,
        "report_line": each.line,
    }
