"""Format `html`: a page with the findings, the lines of each judged struct, builds and coverage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from layoutlint.judgement.finding import Finding, Report
from layoutlint.model.structs import Struct
from layoutlint.reports.access_styles import pack_accesses
from layoutlint.reports.check import json
from layoutlint.reports.finding_phrases import exit_meaning, tally
from layoutlint.reports.page.document import page
from layoutlint.reports.page.structs import MOST_BASES, struct_data
from layoutlint.reports.show.options import ShowOptions


def render(report: Report) -> str:
    """Return the report as one page."""
    findings = (*report.findings, *report.kept_findings)
    structs = {id(struct): struct for finding in findings if (struct := drawn_struct(finding)) is not None}
    numbers = {identity: number for number, identity in enumerate(structs)}

    accesses = [pack_accesses(report.packs, struct) for struct in structs.values()]
    data = struct_data(tuple(structs.values()), ShowOptions(), accesses)
    for identity, size in _line_sizes(findings).items():
        data["structs"][numbers[identity]]["line_size"] = size
    judged = [judged_values(finding, numbers.get(id(drawn_struct(finding)))) for finding in findings]
    result = f"{tally(report)}. Exit status {report.exit_status}: {exit_meaning(report)}."
    return page(_title(report), data | {"report": json.document(report), "judged": judged, "result": result})


def _title(report: Report) -> str:
    paths = list(dict.fromkeys(reading.path for reading in report.readings))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"layoutlint check {paths[0]}{more}" if paths else "layoutlint check"


def drawn_struct(finding: Finding) -> Struct | None:
    """Return the struct that a page draws for a finding: of many possible orders, one that fails."""
    orders = finding.verdict.orders
    return finding.struct if orders is None else orders.shown


def _line_sizes(findings: Iterable[Finding]) -> dict[int, int]:
    """Return the line sizes by which structs were judged, in bytes, by the identity of the struct."""
    sizes: dict[int, int] = {}
    for finding in findings:
        struct, size = drawn_struct(finding), finding.verdict.line_size
        if struct is not None and size is not None and not finding.verdict.in_pairs:
            sizes[id(struct)] = size
    return sizes


def judged_values(finding: Finding, number: int | None) -> dict[str, Any]:
    """Return what a page needs besides the values of the JSON report."""
    verdict = finding.verdict
    return {
        "struct": number,
        "possible": list(verdict.possible[:MOST_BASES]),
        "shared": list(_shared_lines(finding)),
    }


def _shared_lines(finding: Finding) -> Iterator[dict[str, Any]]:
    for pair in finding.verdict.shared:
        yield {
            "first": pair.first,
            "second": pair.second,
            "bases": list(pair.bases),
            "distance": pair.distance,
        }
