"""The result of a survey, in numbers."""

from __future__ import annotations

from typing import Annotated

from layoutlint.errors import EXIT_FINDINGS, EXIT_KEPT, EXIT_UNKNOWN
from layoutlint.model.json_object import JsonObject, Natural, one_of
from layoutlint.model.record import Record

_FAILURES = ("timed-out", "out-of-memory", "crashed", "lost", "refused", "changed", "unread")


class Outcomes(JsonObject, frozen=True, rename="kebab"):
    """The number of inputs by outcome."""

    complete: Natural
    """Read whole."""
    incomplete: Natural
    """A part was not read."""
    without_debug_information: Natural
    """Read, and without debug information, so nothing was judged."""
    failed: Natural
    """Not read."""


class Verdicts(JsonObject, frozen=True, rename="kebab"):
    """The number of verdicts by outcome, without accepted ones and notes."""

    kept: Natural
    """Those that are kept."""
    broken: Natural
    """Those that are broken."""
    at_risk: Natural
    """Those that are at-risk."""
    unknown: Natural
    """Those that are unknown."""


class FailedInput(JsonObject, frozen=True):
    """An input."""

    input: str
    """The input, as it was named."""
    outcome: Annotated[str, one_of("failed", "incomplete")]
    """Whether nothing was kept, or not all was read."""
    failure: Annotated[str, one_of(*_FAILURES)] | None
    """The kind of failure; null if a part was read."""
    message: str
    """Why."""
    attempts: Natural
    """How often it was tried; 0 if its rows were in the store."""


class SurveyResult(Record, frozen=True):
    """The end of a survey."""

    store: str
    inputs: int
    """The number of inputs."""
    new: int
    """The number of tasks that ran."""
    present: int
    """The number of inputs whose rows were in the store."""
    outcomes: Outcomes
    verdicts: Verdicts
    structs: int
    """The number of layouts."""
    failures: tuple[FailedInput, ...]
    """The first inputs that failed or are incomplete, in the order of their names."""
    unjudged: tuple[str, ...]
    """The rules that judged no struct of any input."""
    retried: int
    """The number of tasks that were tried more than once."""
    seconds: float
    """Wall-clock time of the survey."""
    task_seconds: float
    processor_seconds: float
    memory: int
    """The most bytes that a task had."""
    cache_hits: int
    cache_misses: int
    fails_at_risk: bool = True
    allows_unknown: bool = False
    ignores_missing: bool = False

    @property
    def exit_status(self) -> int:
        """1 for findings, else 3 if something could not be judged, else 0."""
        at_risk = self.verdicts.at_risk if self.fails_at_risk else 0
        if self.verdicts.broken or at_risk:
            return EXIT_FINDINGS
        gaps = self.inputs - self.outcomes.complete + self.verdicts.unknown
        missing = 0 if self.ignores_missing else len(self.unjudged)
        return EXIT_UNKNOWN if gaps + missing and not self.allows_unknown else EXIT_KEPT
