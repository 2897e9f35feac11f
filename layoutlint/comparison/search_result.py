"""The result of a search for the commit behind a verdict."""

from __future__ import annotations

from layoutlint.comparison.bisection import Trial
from layoutlint.errors import EXIT_KEPT, EXIT_UNKNOWN
from layoutlint.model.record import Record

BISECT_SCHEMA = "layoutlint/bisect/1"


class TriedCommit(Record, frozen=True):
    """A commit, and the result of a rule on it."""

    id: str
    date: str
    """The day on which it was committed: `2024-05-12`."""
    subject: str
    trial: Trial
    outcome: str | None
    """The outcome of the rule; None if the commit could not be judged."""
    reason: str = ""
    """Why it could not be judged."""


class SearchResult(Record, frozen=True):
    """The result of a search over a history."""

    rule: str
    before: str
    """The verdict at the good end, as a sentence."""
    after: str
    """The verdict of the first bad commit."""
    first_bad: TriedCommit | None
    """None if commits that could not be judged are between the last good and the first bad one."""
    suspects: tuple[TriedCommit, ...]
    """The commits of which one got worse, oldest first."""
    tried: tuple[TriedCommit, ...]
    """All commits that were judged or skipped, in the order of the search."""
    flags_from: tuple[str, ...] = ()
    """The compilation databases whose flags they were read with."""

    @property
    def exit_status(self) -> int:
        """0 if the commit is known, 3 if only a range is."""
        return EXIT_KEPT if self.first_bad is not None else EXIT_UNKNOWN
