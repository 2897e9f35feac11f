"""Format `json`: the contract that scripts rely on (schema `layoutlint/report/1`, docs/json.md)."""

from __future__ import annotations

import json
from typing import Any

from layoutlint.layout import Place
from layoutlint.model import Randomised, Reading, Struct, Unread
from layoutlint.reports.judgement import struct_name
from layoutlint.rule import REPORT_SCHEMA, Coverage, Finding, Report, Verdict


def render(report: Report) -> str:
    """The report as one JSON object, indented by two spaces, ending with a newline."""
    document = {
        "schema": REPORT_SCHEMA,
        "inputs": [_input(reading) for reading in report.readings],
        "findings": [_finding(finding) for finding in report.findings],
        "kept": [_finding(finding) for finding in report.kept],
        "unread": [_unread(unread) for unread in report.unread],
        "coverage": _coverage(report.coverage),
        "exit": report.exit_status,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _input(reading: Reading) -> dict[str, Any]:
    return {
        "path": reading.path,
        "reader": reading.reader,
        "target": reading.target.name,
        "build_id": reading.build_id,
        "structs": len(reading.structs),
        "files": reading.files,
        "notes": list(reading.notes),
    }


def _unread(unread: Unread) -> dict[str, Any]:
    return {"origin": unread.origin, "reason": unread.reason, "files": list(unread.files)}


def _finding(finding: Finding) -> dict[str, Any]:
    rule, verdict = finding.rule, finding.verdict
    return {
        "rule": rule.id,
        "kind": rule.kind.name,
        "struct": struct_name(finding),
        "definition": _definition(finding.struct),
        "outcome": verdict.outcome.value,
        "severity": rule.severity.value,
        "message": verdict.message,
        "advice": verdict.advice or None,
        "why": rule.why,
        "evidence": list(rule.evidence),
        "input": finding.input,
        "also": list(finding.also),
        "fields": [_field(place) for place in verdict.evidence],
        "placements": _placements(verdict),
        "randomised": _randomised(finding.struct.randomised if finding.struct else None),
        "fingerprint": finding.fingerprint,
        "suppressed": finding.suppressed,
    }


def _definition(struct: Struct | None) -> dict[str, Any] | None:
    if struct is None:
        return None
    source = struct.source
    return {
        "file": source.file if source else None,
        "line": source.line if source else None,
        "origin": struct.origin or None,
    }


def _field(place: Place) -> dict[str, Any]:
    source = place.field.source
    return {
        "path": place.path,
        "offset": place.offset,
        "size": place.size,
        "file": source.file if source else None,
        "line": source.line if source else None,
    }


def _placements(verdict: Verdict) -> dict[str, Any]:
    return {
        "line_size": verdict.line_size,
        "total": verdict.total,
        "violating": len(verdict.bases),
        "bases": list(verdict.bases),
        "basis": verdict.basis or None,
    }


def _randomised(how: Randomised | None) -> dict[str, Any] | None:
    """How the fields came into their order, with the keys that `show` has for it."""
    if how is None:
        return None
    return {"mode": how.mode, "seed_sha256": how.seed, "kernel": how.kernel, "own": how.is_own}


def _coverage(coverage: Coverage) -> dict[str, Any]:
    return {
        "rules": coverage.rules,
        "applied": coverage.applied,
        "structs": coverage.structs,
        "unresolved": list(coverage.unresolved),
        "skipped": list(coverage.skipped),
    }
