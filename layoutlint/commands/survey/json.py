"""Format `json` of `survey run` (schema `layoutlint/survey/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from layoutlint.model.json_object import Amount, JsonObject, Natural, one_of
from layoutlint.reports.json_values import document_text
from layoutlint.surveys.result import FailedInput, Outcomes, SurveyResult, Verdicts


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/survey/1"):
    """What a survey did."""

    store: str
    """The folder with the results."""
    inputs: Natural
    """The number of inputs."""
    new: Natural
    """The number of those that were read."""
    present: Natural
    """The number of those whose rows were in the store."""
    outcomes: Outcomes
    """The number of inputs by outcome."""
    verdicts: Verdicts
    """The number of verdicts by outcome, without accepted ones and notes."""
    structs: Natural
    """The number of layouts."""
    failures: Sequence[FailedInput]
    """The first 1,000 inputs that failed or are incomplete, by name."""
    unjudged: Sequence[str]
    """The rules that judged no struct of any input; shipped ones are left out."""
    cost: CostJson
    """What the survey took."""
    exit: Annotated[int, one_of(0, 1, 3)]
    """The exit status."""


class CostJson(JsonObject, frozen=True):
    """What the survey took."""

    seconds: Amount
    """Wall-clock time."""
    task_seconds: Amount
    """Wall-clock time of all tasks, added up."""
    processor_seconds: Amount
    """Processor time of all tasks."""
    memory: Natural
    """The most bytes that a task had."""
    retried: Natural
    """The number of tasks that were tried again."""
    cache_hits: Natural
    """The readings that the cache had."""
    cache_misses: Natural
    """The readings that it had not."""


def render(result: SurveyResult) -> str:
    """Return the result as one JSON object, with a newline at the end."""
    document = Document(
        store=result.store,
        inputs=result.inputs,
        new=result.new,
        present=result.present,
        outcomes=result.outcomes,
        verdicts=result.verdicts,
        structs=result.structs,
        failures=result.failures,
        unjudged=result.unjudged,
        cost=CostJson(
            seconds=round(result.seconds, 3),
            task_seconds=round(result.task_seconds, 3),
            processor_seconds=round(result.processor_seconds, 3),
            memory=result.memory,
            retried=result.retried,
            cache_hits=result.cache_hits,
            cache_misses=result.cache_misses,
        ),
        exit=result.exit_status,
    )
    return document_text(document)
