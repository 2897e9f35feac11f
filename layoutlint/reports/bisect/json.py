"""Format `json` of `bisect`: the search for scripts (schema `layoutlint/bisect/1`, docs/json.md)."""

from __future__ import annotations

from typing import Any

from layoutlint.comparison.search_result import BISECT_SCHEMA, SearchResult, TriedCommit
from layoutlint.reports.json_values import document_text


def render(result: SearchResult) -> str:
    """Return the search as one JSON object, with a newline at the end."""
    document = {
        "schema": BISECT_SCHEMA,
        "rule": result.rule,
        "before": result.before,
        "after": result.after,
        "first_bad": None if result.first_bad is None else _commit(result.first_bad),
        "suspects": [_commit(suspect) for suspect in result.suspects],
        "tried": [_commit(tried) for tried in result.tried],
        "compile_commands": list(result.flags_from),
        "exit": result.exit_status,
    }
    return document_text(document)


def _commit(tried: TriedCommit) -> dict[str, Any]:
    return {
        "id": tried.id,
        "date": tried.date,
        "subject": tried.subject,
        "trial": tried.trial.value,
        "outcome": tried.outcome,
        "reason": tried.reason or None,
    }
