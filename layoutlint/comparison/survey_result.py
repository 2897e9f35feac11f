"""The result of a survey, in numbers."""

from __future__ import annotations

from layoutlint.comparison.survey_tables import COMPLETE
from layoutlint.errors import EXIT_FINDINGS, EXIT_KEPT, EXIT_UNKNOWN
from layoutlint.model.record import Record

SURVEY_SCHEMA = "layoutlint/survey/1"


class FailedTask(Record, frozen=True):
    """An input that was not read, or not whole."""

    input: str
    outcome: str
    """`failed` or `incomplete`."""
    failure: str | None
    """The kind of failure."""
    message: str
    attempts: int


class SurveyResult(Record, frozen=True):
    """The end of a survey."""

    store: str
    inputs: int
    """The number of inputs."""
    new: int
    """The number of tasks that ran."""
    present: int
    """The number of inputs whose rows were in the store."""
    outcomes: dict[str, int]
    """The number of inputs by outcome: `complete`, `incomplete`, `without-debug-information`, `failed`."""
    verdicts: dict[str, int]
    """The number of verdicts by outcome, without accepted ones and notes."""
    structs: int
    """The number of layouts."""
    failures: tuple[FailedTask, ...]
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
        at_risk = self.verdicts["at-risk"] if self.fails_at_risk else 0
        if self.verdicts["broken"] or at_risk:
            return EXIT_FINDINGS
        gaps = sum(self.outcomes.values()) - self.outcomes[COMPLETE] + self.verdicts["unknown"]
        missing = 0 if self.ignores_missing else len(self.unjudged)
        return EXIT_UNKNOWN if gaps + missing and not self.allows_unknown else EXIT_KEPT
