"""Format `json`: the report for scripts (schema `layoutlint/report/1`, docs/json.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from layoutlint.geometry.layout import Place
from layoutlint.judgement.build_outcomes import worst_by_build
from layoutlint.judgement.finding import (
    REPORT_SCHEMA,
    BaselineUse,
    Coverage,
    CoverageGap,
    EmbeddedPlace,
    Finding,
    Rank,
    Report,
    UseRank,
)
from layoutlint.judgement.messages import finding_advice, finding_message
from layoutlint.judgement.origin import EvidenceUse, basis, origins
from layoutlint.judgement.verdict import Verdict
from layoutlint.model.build import Build
from layoutlint.model.randomised import Randomisation
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.structs import Struct
from layoutlint.reports.finding_phrases import (
    coverage_part,
    fingerprint,
    fingerprint_state,
    orders_fields,
    origin_keys,
    struct_name,
)
from layoutlint.reports.json_values import document_text, file_and_line


def render(report: Report) -> str:
    """Return the report as one JSON object, indented by two spaces, with a newline at the end."""
    return document_text(document(report))


def document(report: Report) -> dict[str, Any]:
    """Return the report as values for JSON."""
    return {
        "schema": REPORT_SCHEMA,
        "builds": [_build(build, report) for build in report.builds],
        "inputs": [_input(reading) for reading in report.readings],
        "findings": [_finding(finding, report.builds) for finding in report.findings],
        "kept": [_finding(finding, report.builds) for finding in report.kept_findings],
        "unread": [_unread_input(unread) for unread in report.unread],
        "coverage": _coverage(report.coverage, report.builds),
        "baseline": _baseline(report.baseline),
        "saved_evidence": [_evidence_use(used) for used in report.evidence],
        "exit": report.exit_status,
    }


def _baseline(used: BaselineUse | None) -> dict[str, Any] | None:
    if used is None:
        return None
    return {"file": used.file, "unneeded": list(used.unneeded), "not_judged": used.not_judged}


def _evidence_use(used: EvidenceUse) -> dict[str, Any]:
    return {"file": used.file, "supported": used.supported, "not_counted": used.uncounted}


def _state(finding: Finding) -> str | None:
    return None if finding.state is None else finding.state.value


def _build(build: Build, report: Report) -> dict[str, Any]:
    read = [reading for reading in report.readings if reading.build == build.name]
    targets = dict.fromkeys(reading.target.name for reading in read)
    return {
        "name": build.name,
        "inputs": list(build.inputs),
        "target": ", ".join(targets) or build.target,
        "flags": list(build.flags),
        "config": None if build.config is None else list(build.config),
        "line_size": build.line_size,
        "min_align": build.min_align,
        "randstruct": build.randomised.mode,
        "read": len(read),
    }


def _input(reading: Reading) -> dict[str, Any]:
    return {
        "path": reading.path,
        "build": reading.build,
        "reader": reading.reader,
        "target": reading.target.name,
        "build_id": reading.build_id,
        "structs": len(reading.structs),
        "files": reading.files,
        "compile_commands": reading.compile_commands,
        "notes": list(reading.notes),
    }


def _unread_input(unread: Unread) -> dict[str, Any]:
    return {
        "origin": unread.origin,
        "reason": unread.reason,
        "files": list(unread.files),
        "builds": list(unread.builds),
        **file_and_line(unread.place),
    }


def _finding(finding: Finding, builds: tuple[Build, ...]) -> dict[str, Any]:
    rule, verdict = finding.rule, finding.verdict
    return {
        "rule": rule.id,
        "kind": rule.kind.name,
        "struct": struct_name(finding),
        "definition": _definition(finding.struct),
        "outcome": verdict.outcome.value,
        "severity": rule.severity.value,
        "message": finding_message(finding, builds),
        "advice": finding_advice(finding) or None,
        "why": rule.why,
        "intent": {"by": rule.by, "file": rule.source.file, "line": rule.source.line},
        "evidence": list(rule.evidence),
        "origin": basis(finding),
        "origins": [origin_keys(origin) for origin in origins(finding)],
        "input": finding.input,
        "also": list(finding.also),
        "fields": [_field(place) for place in verdict.evidence],
        "placements": _placements(verdict),
        "randomised": _randomisation(finding.struct.randomised if finding.struct else None),
        "randomisable": finding.struct is not None and finding.struct.is_randomisable,
        "around": _surroundings(finding.around),
        "rank": _rank(finding.rank),
        "fingerprint": fingerprint(finding),
        "fingerprint_state": fingerprint_state(finding),
        "suppressed": finding.suppressed,
        "expired": finding.expired,
        "state": _state(finding),
        "builds": _outcomes(finding),
    }


def _outcomes(finding: Finding) -> dict[str, Any]:
    """Return the outcome in each build, that of the worst definition."""
    worst_findings = worst_by_build(finding.builds)
    definitions = Counter(name for name, _ in finding.builds)
    return {name: _outcome(worst_findings[name], definitions[name]) for name in dict.fromkeys(definitions)}


def _outcome(finding: Finding, definitions: int) -> dict[str, Any]:
    return {
        "outcome": finding.verdict.outcome.value,
        "message": finding_message(finding),
        "input": finding.input,
        "placements": _placements(finding.verdict),
        "definitions": definitions,
        "state": _state(finding),
    }


def _definition(struct: Struct | None) -> dict[str, Any] | None:
    if struct is None:
        return None
    return {
        **file_and_line(struct.source),
        "origin": struct.origin or None,
    }


def _surroundings(around: EmbeddedPlace | None) -> dict[str, Any] | None:
    if around is None:
        return None
    return {
        "struct": around.struct,
        "path": around.path,
        "offset": around.offset,
        **file_and_line(around.source),
        "places": around.places,
        "judged": around.judged,
    }


def _rank(rank: Rank | None) -> dict[str, Any] | None:
    if rank is None:
        return None
    return {
        "place": rank.place,
        "of": rank.total,
        "score": round(rank.score, 3),
        "holders": rank.holders,
        "elements": rank.elements,
        "uses": None if rank.uses is None else _uses(rank.uses),
    }


def _uses(uses: UseRank) -> dict[str, Any]:
    return {"score": round(uses.score, 4), "reasons": list(uses.reasons), "origin": "inferred"}


def _field(place: Place) -> dict[str, Any]:
    return {
        "path": place.path,
        "offset": place.offset,
        "size": place.size,
        **file_and_line(place.field.source),
    }


def _placements(verdict: Verdict) -> dict[str, Any]:
    return {
        "line_size": verdict.line_size,
        "line_pairs": verdict.in_pairs,
        "total": verdict.total,
        "violating": len(verdict.bases),
        "bases": list(verdict.bases),
        "basis": verdict.basis or None,
        "orders": None if verdict.orders is None else orders_fields(verdict.orders),
    }


def _randomisation(how: Randomisation | None) -> dict[str, Any] | None:
    """Return how the field order was randomised, with the keys of `show`."""
    if how is None:
        return None
    return {"mode": how.mode, "seed_sha256": how.seed, "kernel": how.kernel, "own": how.is_own}


def _coverage(coverage: Coverage, builds: tuple[Build, ...]) -> dict[str, Any]:
    return {
        "rules": coverage.rules,
        "applied": coverage.applied,
        "structs": coverage.structs,
        "unresolved": [coverage_part(part, builds) for part in coverage.unresolved],
        "skipped": [coverage_part(part, builds) for part in coverage.skipped],
        "guessed": list(coverage.guessed),
        "policy": list(coverage.policy),
        "today": coverage.today,
        "overridden": list(coverage.overridden),
        "not_covered": [_coverage_gap(part) for part in (*coverage.not_covered, *_gap_of_change(coverage))],
    }


def _gap_of_change(coverage: Coverage) -> Iterator[CoverageGap]:
    """Yield why a change left nothing to judge, as a part to which no rule applies."""
    if coverage.unreached:
        yield CoverageGap("change", coverage.unreached, ())


def _coverage_gap(part: CoverageGap) -> dict[str, Any]:
    return {
        "origin": part.origin,
        "reason": part.reason,
        "structs": None if part.structs is None else list(part.structs),
        "rules": part.rules,
        "builds": list(part.builds),
    }
