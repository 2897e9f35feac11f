"""Format `json` of `survey run` (schema `layoutlint/survey/1`, docs/json.md)."""

from __future__ import annotations

from layoutlint.comparison.survey_result import SURVEY_SCHEMA, SurveyResult
from layoutlint.reports.json_values import document_text


def render(result: SurveyResult) -> str:
    """Return the result as one JSON object, with a newline at the end."""
    return document_text(
        {
            "schema": SURVEY_SCHEMA,
            "store": result.store,
            "inputs": result.inputs,
            "new": result.new,
            "present": result.present,
            "outcomes": result.outcomes,
            "verdicts": result.verdicts,
            "structs": result.structs,
            "failures": [
                {
                    "input": each.input,
                    "outcome": each.outcome,
                    "failure": each.failure,
                    "message": each.message,
                    "attempts": each.attempts,
                }
                for each in result.failures
            ],
            "unjudged": list(result.unjudged),
            "cost": {
                "seconds": round(result.seconds, 3),
                "task_seconds": round(result.task_seconds, 3),
                "processor_seconds": round(result.processor_seconds, 3),
                "memory": result.memory,
                "retried": result.retried,
                "cache_hits": result.cache_hits,
                "cache_misses": result.cache_misses,
            },
            "exit": result.exit_status,
        }
    )
