"""The result of a search for the commit behind a verdict."""

from __future__ import annotations

from layoutlint.commands.history.bisection import Trial
from layoutlint.errors import EXIT_KEPT, EXIT_UNKNOWN
from layoutlint.model.record import Record


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


class VerdictChange(Record, frozen=True):
    """A change of the verdict in the history."""

    suspects: tuple[TriedCommit, ...]
    """The commits of which one changed it, oldest first: the last has the new verdict, the others could not
    be judged."""
    is_worse: bool
    """Whether the rule got worse, or else better."""
    before: str
    """The verdict before, as a sentence."""
    after: str

    @property
    def commit(self) -> TriedCommit | None:
        """The commit, if it is known."""
        return self.suspects[0] if len(self.suspects) == 1 else None


class SearchResult(Record, frozen=True):
    """The result of a search over a history."""

    rule: str
    before: str
    """The verdict at the old end, as a sentence."""
    after: str
    """The verdict after the change that the search is for; that of the new end if the ends are equal."""
    found: VerdictChange | None
    """The first change from the old end's verdict towards that of the new one; None if they are equal."""
    changes: tuple[VerdictChange, ...]
    """All changes that are known, oldest first."""
    tried: tuple[TriedCommit, ...]
    """All commits that were judged or skipped, in the order of the search."""
    not_judged: int = 0
    """The number of commits that were not judged although they change a file that was read."""
    flags_from: tuple[str, ...] = ()
    """The compilation databases whose flags they were read with."""

    @property
    def exit_status(self) -> int:
        """0 if the commits are known, 3 if only a range is."""
        changes = (*self.changes, *([self.found] if self.found is not None else ()))
        return EXIT_KEPT if all(change.commit is not None for change in changes) else EXIT_UNKNOWN
