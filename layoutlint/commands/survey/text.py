"""Format `text` of `survey run`: what was done, what failed, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import to_builtins

from layoutlint import escapes
from layoutlint.phrases import quantity
from layoutlint.reports.styled import wrap
from layoutlint.surveys.result import Outcomes, SurveyResult

_LISTED = 20
"""The failures that are printed."""


def render(result: SurveyResult, width: int = 100) -> str:
    """Return the text in some columns, with a newline at the end."""
    return escapes.lines(wrap(_lines(result), width))


def _lines(result: SurveyResult) -> Iterator[str]:
    listed = result.failures[:_LISTED]
    for failed in listed:
        kind = failed.outcome if failed.failure is None else f"{failed.outcome} ({failed.failure})"
        tried = f", tried {failed.attempts} times" if failed.attempts > 1 else ""
        yield f"{escapes.inline(failed.input)}: {kind}: {escapes.inline(failed.message)}{tried}"
    outcomes = result.outcomes
    gaps = outcomes.failed + outcomes.incomplete
    if gaps > len(listed):
        yield f"... {gaps - len(listed):,} more: `layoutlint survey report {result.store}`"
    for rule in result.unjudged:
        yield f"{rule}: judged nothing: no input defines its struct"
    yield f"{quantity(result.inputs, 'input')}: {result.new:,} new, {result.present:,} already there"
    yield f"outcomes: {outcome_counts(outcomes)}"
    verdicts = ", ".join(f"{count:,} {name}" for name, count in to_builtins(result.verdicts).items())
    yield f"verdicts: {verdicts}; layouts: {result.structs:,}"
    if result.new:
        yield from _cost(result)
    yield f"exit {result.exit_status}: {_meaning(result)}"


def outcome_counts(outcomes: Outcomes) -> str:
    """Return the number of inputs by outcome, in words."""
    return ", ".join(f"{count:,} {name.replace('-', ' ')}" for name, count in to_builtins(outcomes).items())


def _cost(result: SurveyResult) -> Iterator[str]:
    retried = f", {result.retried:,} tried again" if result.retried else ""
    processors = f"{result.processor_seconds:,.1f} s of processors"
    memory = f"at most {result.memory / (1 << 20):,.0f} MiB"
    tasks = f"{result.task_seconds:,.1f} s, {processors}, {memory}{retried}"
    yield f"cost: {result.seconds:,.1f} s; tasks: {tasks}"
    read = result.cache_hits + result.cache_misses
    if read:
        yield f"cache: {result.cache_hits:,} of {quantity(read, 'reading')} found"


def _meaning(result: SurveyResult) -> str:
    words = {
        0: "nothing broken that counts",
        1: "rules are broken or at risk",
        3: "something could not be read or judged",
    }
    return words[result.exit_status]
