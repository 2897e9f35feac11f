"""Format `json` of `bisect`: the search for scripts (schema `layoutlint/bisect/1`, docs/json.md)."""

from __future__ import annotations

from typing import Any

from layoutlint.comparison.search_result import BISECT_SCHEMA, SearchResult, TriedCommit, VerdictChange
from layoutlint.reports.json_values import document_text


def render(result: SearchResult) -> str:
    """Return the search as one JSON object, with a newline at the end."""
    found = result.found
    suspects = found.suspects if found is not None else ()
    commits = {
        is_worse: None if found is None or found.is_worse is not is_worse else found.commit
        for is_worse in (True, False)
    }
    document = {
        "schema": BISECT_SCHEMA,
        "rule": result.rule,
        "before": result.before,
        "after": result.after,
        "first_bad": _commit_or_null(commits[True]),
        "first_good": _commit_or_null(commits[False]),
        "suspects": [_commit(suspect) for suspect in suspects],
        "changes": [_change(change) for change in result.changes],
        "tried": [_commit(tried) for tried in result.tried],
        "not_judged": result.not_judged,
        "compile_commands": list(result.flags_from),
        "exit": result.exit_status,
    }
    return document_text(document)


def _change(change: VerdictChange) -> dict[str, Any]:
    return {
        "status": "worse" if change.is_worse else "better",
        "commit": _commit_or_null(change.commit),
        "suspects": [_commit(suspect) for suspect in change.suspects],
        "before": change.before,
        "after": change.after,
    }


def _commit_or_null(tried: TriedCommit | None) -> dict[str, Any] | None:
    return None if tried is None else _commit(tried)


def _commit(tried: TriedCommit) -> dict[str, Any]:
    return {
        "id": tried.id,
        "date": tried.date,
        "subject": tried.subject,
        "trial": tried.trial.value,
        "outcome": tried.outcome,
        "reason": tried.reason or None,
    }
