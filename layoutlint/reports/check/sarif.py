"""Format `sarif`: SARIF 2.1.0, for code scanning and editors; section numbers refer to its specification."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from layoutlint import __version__
from layoutlint.geometry.layout import Place
from layoutlint.judgement.build_outcomes import worst_by_build
from layoutlint.judgement.finding import BaselineUse, Finding, Fix, Report, State
from layoutlint.judgement.messages import advice_line
from layoutlint.judgement.origin import basis, origin_lines, origins
from layoutlint.judgement.rule import Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.build import Build
from layoutlint.model.reading import Unread
from layoutlint.model.structs import Source
from layoutlint.reports.check.diagnostics import Repository, locate
from layoutlint.reports.finding_phrases import (
    coverage_part,
    exit_meaning,
    fingerprint,
    fingerprint_state,
    order,
    orders_json,
    sentence,
    share,
)
from layoutlint.reports.json_values import document_text
from layoutlint.reports.layout_phrases import defining_files

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_LINE_HASH = "primaryLocationLineHash"
"""The fingerprint by which GitHub's code scanning tells alerts apart."""
_BASELINE_STATES = {
    State.NEW: "new",
    State.WORSE: "updated",
    State.NOT_COMPARED: "updated",
    State.KNOWN: "unchanged",
}
"""States of section 3.27.24."""
HOME = "https://git.example.org/layoutlint"
"""The page of the project, as its metadata names it."""
_ROOT_MEANING = "The top of the repository, or the folder in which layoutlint ran if it is in none."
_RELATED = 20
"""The maximum of related locations of a result; the message names all fields."""


def render(report: Report, *, repository: Repository | None = None, absent: tuple[Finding, ...] = ()) -> str:
    """Return the report as a SARIF log with one run, with a newline at the end.

    Kept rules are among the tool's rules, without a result. Paths are from the top of the repository.
    `absent` are findings of the baseline that are no longer there.
    """
    run = _SarifRun(locate(report, repository)).run(report, absent)
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return document_text(log)


class _SarifRun:
    """One run, with paths from the top of a repository."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def run(self, report: Report, absent: tuple[Finding, ...]) -> dict[str, Any]:
        """Return the run of a report."""
        findings = (*report.findings, *absent)
        rules = tuple(dict.fromkeys((*report.rules, *(finding.rule for finding in findings))))
        index = {rule: number for number, rule in enumerate(rules)}
        driver = {
            "name": "layoutlint",
            "version": __version__,
            "informationUri": HOME,
            "rules": [_descriptor(rule) for rule in rules],
        }
        return {
            "tool": {"driver": driver},
            "invocations": [self._invocation(report)],
            "originalUriBaseIds": {_ROOT: {"description": {"text": _ROOT_MEANING}}},
            "results": list(self._results(report, absent, index)),
        }

    def _results(
        self, report: Report, absent: tuple[Finding, ...], index: dict[Rule, int]
    ) -> Iterator[dict[str, Any]]:
        """Yield the results; equal fingerprints are numbered, since code scanning merges those."""
        numbers: Counter[str] = Counter()
        for number, finding in enumerate((*report.findings, *absent)):
            state = fingerprint_state(finding)
            numbers[state] += 1
            result = self._result(finding, index[finding.rule], report)
            result["partialFingerprints"][_LINE_HASH] = f"{state}:{numbers[state]}"
            if number >= len(report.findings):
                result["baselineState"] = "absent"
            elif finding.state is not None:
                result["baselineState"] = _BASELINE_STATES[finding.state]
            yield result

    def _result(self, finding: Finding, index: int, report: Report) -> dict[str, Any]:
        is_unknown = finding.verdict.outcome is Outcome.UNKNOWN
        related = [place for place in finding.verdict.evidence if place.field.source is not None][1:]
        fixes = {} if finding.fix is None else {"fixes": [self._fix(finding.fix)]}
        return {
            "ruleId": finding.rule.id,
            "ruleIndex": index,
            # 3.27.10: a result of any kind but `fail` has the level `none`.
            "kind": "open" if is_unknown else "fail",
            "level": "none" if is_unknown else finding.rule.severity.value,
            "message": {"text": _message(finding, report.builds)},
            "locations": [self._location(finding)],
            "relatedLocations": [
                self._related_location(place, n) for n, place in enumerate(related[:_RELATED], 1)
            ],
            "partialFingerprints": {"layoutlint/v1": fingerprint(finding)},
            # 3.27.23: present in all results of a run, or in none.
            "suppressions": _suppressions(finding, report.baseline),
            "properties": _properties(finding),
            **fixes,
        }

    def _fix(self, fix: Fix) -> dict[str, Any]:
        """Return a fix of whole lines.

        The deleted region ends before the first column of the next line, or at the end of a last line that
        nothing ends.
        """
        region = {"startLine": fix.first_line, "startColumn": 1, "endLine": fix.last_line}
        if fix.text.endswith("\n"):
            region |= {"endLine": fix.last_line + 1, "endColumn": 1}
        change = {
            "artifactLocation": artifact(self._repository.path(fix.file)),
            "replacements": [{"deletedRegion": region, "insertedContent": {"text": fix.text}}],
        }
        return {"description": {"text": fix.description}, "artifactChanges": [change]}

    def _location(self, finding: Finding) -> dict[str, Any]:
        primary = next((f".{place.path}" for place in finding.verdict.evidence), "")
        name = finding.rule.struct if finding.struct is None else finding.struct.name
        return {
            "physicalLocation": self._physical(finding.place),
            "logicalLocations": [
                {"fullyQualifiedName": f"{name}{primary}", "kind": "member" if primary else "type"}
            ],
        }

    def _related_location(self, place: Place, number: int) -> dict[str, Any]:
        source = place.field.source or Source("")
        text = f"`{place.path}` at {place.extent}"
        return {"id": number, "physicalLocation": self._physical(source), "message": {"text": text}}

    def _invocation(self, report: Report) -> dict[str, Any]:
        """Return the invocation; missing structs and fields concern the configuration (3.20.20)."""
        gaps = report.coverage.not_covered
        return {
            "executionSuccessful": not (report.unread or any(part.rules for part in gaps)),
            "exitCode": report.exit_status,
            "exitCodeDescription": exit_meaning(report),
            "toolExecutionNotifications": [
                *map(self._failure, report.unread),
                *(_notification("error" if part.rules else "note", str(part)) for part in gaps),
                *(_notification("note", f"policy {text}") for text in report.coverage.policy),
                *(_notification("note", f"overridden {text}") for text in report.coverage.overridden),
            ],
            "toolConfigurationNotifications": [
                _notification("warning", coverage_part(part, report.builds))
                for part in report.coverage.unresolved
            ],
        }

    def _failure(self, unread: Unread) -> dict[str, Any]:
        """Return the notification on an unread input, with the place of the error that is the cause."""
        notification = _notification("error", str(unread))
        if unread.place is not None:
            notification["locations"] = [{"physicalLocation": self._physical(unread.place)}]
        return notification

    def _physical(self, source: Source) -> dict[str, Any]:
        physical: dict[str, Any] = {"artifactLocation": artifact(self._repository.path(source.file))}
        if source.line:
            physical["region"] = {"startLine": source.line}
        return physical


def _descriptor(rule: Rule) -> dict[str, Any]:
    kind = rule.kind
    text = [
        f"{kind.name}: {kind.summary}",
        f"Why: {rule.why}",
        *(f"Evidence: {evidence}" for evidence in rule.evidence),
    ]
    markdown = [f"**`{kind.name}`**: {kind.summary}.", f"**Why:** {rule.why}"]
    markdown += (
        ["**Evidence:**\n" + "\n".join(f"- {evidence}" for evidence in rule.evidence)]
        if rule.evidence
        else []
    )
    return {
        "id": rule.id,
        "shortDescription": {"text": f"{rule.struct}: {kind.summary}"},
        "fullDescription": {"text": rule.why},
        "help": {"text": "\n".join(text), "markdown": "\n\n".join(markdown)},
        "helpUri": f"{HOME}/docs/kinds.md#{kind.name}",
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {"kind": kind.name, "struct": rule.struct, "tags": ["struct-layout", kind.name]},
    }


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}}


def _message(finding: Finding, builds: tuple[Build, ...]) -> str:
    lines = [sentence(finding, builds)]
    lines += [f"In {defining_files(finding.files)}"] if finding.also else []
    lines += [f"Suppression expired: {finding.expired}"] if finding.expired is not None else []
    lines += [f"Order: {order(finding)}"] if order(finding) else []
    lines += origin_lines(finding)
    lines += filter(None, [advice_line(finding)])
    return "\n".join(lines)


def artifact(file: str) -> dict[str, str]:
    """Return the artifactLocation of a file: a file URI, or relative to the source root (3.4.4)."""
    path = posixpath.normpath(file)
    if path.startswith("/"):
        return {"uri": f"file://{quote(path)}"}
    return {"uri": quote(path), "uriBaseId": _ROOT}


def _suppressions(finding: Finding, baseline: BaselineUse | None) -> list[dict[str, str]]:
    """Return the suppressions of a result. A baseline file accepts findings; a revision only had them too."""
    if finding.suppressed is not None:
        return [{"kind": "inSource", "justification": finding.suppressed}]
    if finding.state is State.KNOWN and baseline is not None and not baseline.command:
        return [{"kind": "external", "justification": f"accepted in {baseline.file}"}]
    return []


def _properties(finding: Finding) -> dict[str, Any]:
    verdict = finding.verdict
    properties: dict[str, Any] = {
        "outcome": verdict.outcome.value,
        "input": finding.input,
        "origin": basis(finding),
        "origins": origins(finding),
    }
    if finding.also:
        properties["also"] = list(finding.also)
    if finding.builds:
        properties["builds"] = {
            name: worst_one.verdict.outcome.value
            for name, worst_one in worst_by_build(finding.builds).items()
        }
    if verdict.total:
        properties["placements"] = share(verdict)
        properties["bases"] = list(verdict.bases)
        properties["lineSize"] = verdict.line_size
        if verdict.in_pairs:
            properties["linePairs"] = True
        properties["basis"] = verdict.basis
    if verdict.orders is not None:
        properties["orders"] = orders_json(verdict.orders)
    return properties
