"""Format `rdjson`: Reviewdog Diagnostic Format, for review comments on many hosts.

Source: reviewdog's proto/rdf/reviewdog.proto, message DiagnosticResult.
"""

from __future__ import annotations

from typing import Any

from layoutlint.judgement.finding import Fix, Report
from layoutlint.reports.check.diagnostics import Diagnostic, Repository, diagnostics, locate
from layoutlint.reports.json_values import document_text

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def render(report: Report, *, repository: Repository | None = None) -> str:
    """Return one JSON object; paths are from the top of the repository."""
    located = locate(report, repository)
    document = {
        "source": {"name": "layoutlint"},
        "diagnostics": [_row(each, located) for each in diagnostics(report)],
    }
    return document_text(document)


def _row(diagnostic: Diagnostic, repository: Repository) -> dict[str, Any]:
    location: dict[str, Any] = {"path": repository.path(diagnostic.file)}
    if diagnostic.line is not None:
        location["range"] = {"start": {"line": diagnostic.line}}
    advice = f"\n{diagnostic.advice}" if diagnostic.advice else ""
    origins = "".join(f"\n{text}" for text in diagnostic.origins)
    suggestions = {} if diagnostic.fix is None else {"suggestions": [_suggestion(diagnostic.fix)]}
    return {
        "message": f"{diagnostic.message}{origins}{advice}",
        "location": location,
        "severity": _SEVERITIES[diagnostic.severity],
        "code": {"value": diagnostic.rule},
        **suggestions,
    }


def _suggestion(fix: Fix) -> dict[str, Any]:
    """Return a fix as a suggestion: of whole lines, with the text without the last line's end."""
    lines = {"start": {"line": fix.first_line}, "end": {"line": fix.last_line}}
    return {"range": lines, "text": fix.text.removesuffix("\n")}
