"""Format `json` of `survey report` (schema `layoutlint/survey-report/1`, docs/json.md)."""

from __future__ import annotations

from typing import Any

import msgspec

from layoutlint.comparison.survey_report import SURVEY_REPORT_SCHEMA, StoreReport, StructVariants
from layoutlint.reports.json_values import document_text


def render(report: StoreReport) -> str:
    """Return the report as one JSON object, with a newline at the end."""
    return document_text(
        {
            "schema": SURVEY_REPORT_SCHEMA,
            "store": report.store,
            "inputs": report.inputs,
            "outcomes": report.outcomes,
            "targets": [{"name": name, "inputs": number} for name, number in report.targets],
            "releases": [{"name": name, "inputs": number} for name, number in report.releases],
            "rules": [{**_keys(rule), "inputs": list(rule.inputs)} for rule in report.rules],
            "structs": [_struct(struct) for struct in report.structs],
            "structs_total": report.structs_total,
            "failures": [_keys(failed) for failed in report.failures],
            "failures_total": report.failures_total,
            "without_debug_information": list(report.without_debug_information),
            "totals": _keys(report.totals),
            "costs": [_keys(cost) for cost in report.costs],
        }
    )


def _struct(struct: StructVariants) -> dict[str, Any]:
    variants = [
        {**_keys(each), "targets": list(each.targets), "releases": list(each.releases)}
        for each in struct.variants
    ]
    return {**_keys(struct), "variants": variants}


def _keys(record: msgspec.Struct) -> dict[str, Any]:
    """Return the attributes of a record; times in milliseconds are enough."""
    values = msgspec.structs.asdict(record)
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()}
