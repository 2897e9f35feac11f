"""Format `json` of `survey report` (schema `layoutlint/survey-report/1`, docs/json.md)."""

from __future__ import annotations

from layoutlint.reports.json_values import document_text
from layoutlint.surveys.report import StoreReport as Document

__all__ = ["Document", "render"]


def render(report: Document) -> str:
    """Return the report as one JSON object, with a newline at the end."""
    return document_text(report)
