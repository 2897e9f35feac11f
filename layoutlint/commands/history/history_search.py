"""The search for the commits that changed the verdict of a rule."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

from layoutlint.commands.history.bisection import (
    Change,
    TooManySkipped,
    Trial,
    bisect,
    find_changes,
    relevant_history,
)
from layoutlint.commands.history.commit_verdicts import CommitVerdicts, Verdict
from layoutlint.commands.history.search_result import SearchResult, TriedCommit, VerdictChange
from layoutlint.comparison.standings import Standing, Status, compare_standings
from layoutlint.errors import ReadError, UsageError
from layoutlint.model.record import Record
from layoutlint.phrases import quantity
from layoutlint.revisions import git
from layoutlint.revisions.git import Commit

_MOST_SKIPPED = 100
"""The most commits that are passed over; each is read in full, to no avail."""
_MOST_JUDGED = 20
"""The most commits that are judged although the search does not need them."""


class HistorySearch(Record, dict=True):
    """Searches the commits that `new` contains and `old` does not."""

    verdicts: CommitVerdicts
    old: Commit
    new: Commit
    judges_all: bool = False
    """Whether each commit is judged that can change the verdict, however many they are."""

    def result(self) -> SearchResult:
        """Return the changes of the verdict.

        Raises UsageError if nothing changed, and ReadError if that is not known.
        """
        self._refuse_order()
        before, after = self._judge_end(self.old), self._judge_end(self.new)
        try:
            first = self._first_change(self.old.id, self.new.id)
            changes, not_judged = self._all_changes()
        except TooManySkipped:
            last = list(self.verdicts.verdicts.values())[-1]
            raise ReadError(
                f"{self.old.name}..{self.new.name}",
                f"more than {_MOST_SKIPPED} commits could not be judged, the last because {last.sentence}; "
                "search a smaller range",
            ) from None
        if not changes:
            self._refuse_equal(before, after, not_judged)
        found = None if first is None else self._describe_change(first)
        return SearchResult(
            self.verdicts.rule,
            before.sentence,
            after.sentence if found is None else found.after,
            found,
            tuple(map(self._describe_change, changes)),
            tuple(map(self._describe, self._tried)),
            not_judged,
            tuple(self.verdicts.databases),
        )

    @cached_property
    def history(self) -> dict[str, tuple[str, ...]]:
        """The commits of the range with their parents, oldest first."""
        return git.parents_between(self.old, self.new)

    @cached_property
    def _edits(self) -> list[tuple[str, str, str]]:
        return list(git.edited_paths(self.new.top, list(self.history)))

    @property
    def _tried(self) -> list[str]:
        """The commits that were judged or skipped, without the ends, in the order of the search."""
        return [commit for commit in self.verdicts.verdicts if commit not in (self.old.id, self.new.id)]

    def _judge(self, commit_id: str) -> Verdict:
        return self.verdicts.judge(Commit(commit_id, commit_id, self.new.top))

    def _state(self, commit_id: str) -> Standing | None:
        verdict = self._judge(commit_id)
        return None if verdict.outcome is None else verdict.standing

    def _judge_end(self, commit: Commit) -> Verdict:
        verdict = self.verdicts.judge(commit)
        if verdict.outcome is None:
            raise ReadError(commit.name, f"{self.verdicts.rule} cannot be judged: {verdict.sentence}")
        return verdict

    def _refuse_order(self) -> None:
        """Raise UsageError for a range without commits although its ends differ: the older is first."""
        if not self.history and self.old.id != self.new.id:
            raise UsageError(
                f"{self.old.name} contains {self.new.name}: write the older revision first "
                f"(`{self.new.name}..{self.old.name}`)"
            )

    def _refuse_equal(self, before: Verdict, after: Verdict, not_judged: int) -> None:
        """Raise UsageError for a verdict that did not change, and ReadError if that is not known."""
        both = ((after, self.new), (before, self.old))
        ends = " and ".join(f"{verdict.outcome} at {commit.name}" for verdict, commit in both)
        ends = f"{self.verdicts.rule} is {ends}"
        reasons = []
        if skipped := sum(self._state(commit) is None for commit in self._tried):
            reasons.append(f"{quantity(skipped, 'commit')} between could not be judged")
        if not_judged:
            reasons.append(
                f"{quantity(not_judged, 'commit')} between can have changed it there and back; "
                "`--all` judges all"
            )
        if reasons:
            raise ReadError(f"{self.old.name}..{self.new.name}", f"{ends}, and {'; '.join(reasons)}")
        raise UsageError(
            f"{ends}: nothing changed, nor in any commit between that changes a file it depends on"
        )

    def _first_change(self, old: str, new: str) -> Change | None:
        """Return the first change from the verdict of one commit towards that of another.

        None if their verdicts are equal. Raises TooManySkipped.
        """
        before, after = self._judge(old).standing, self._judge(new).standing
        status = compare_standings(before, after)
        if status is Status.SAME:
            return None
        found = bisect(
            new,
            old,
            lambda last, firsts: git.halving_commits(self.new.top, last, firsts),
            lambda commit: self._trial(commit, before, status),
            _MOST_SKIPPED,
        )
        order = list(self.history)
        suspects = sorted(found.suspects, key=order.index) if len(found.suspects) > 1 else found.suspects
        parent = next(iter(self.history[suspects[0]]), old)
        return Change(tuple(suspects), old if self._state(parent) is None else parent)

    def _trial(self, commit: str, before: Standing, change: Status) -> Trial:
        """Return bad for a commit that has changed in the same way: it is worse than before, or better."""
        state = self._state(commit)
        if state is None:
            return Trial.SKIPPED
        return Trial.BAD if compare_standings(before, state) is change else Trial.GOOD

    def _changes_between(self, old: str, new: str) -> Iterator[Change]:
        """Yield the changes that verdicts of known commits require, oldest first. Raises TooManySkipped."""
        change = self._first_change(old, new)
        if change is None:
            return
        if change.before in self.history:
            yield from self._changes_between(old, change.before)
        yield change
        yield from self._changes_between(change.suspects[-1], new)

    def _all_changes(self) -> tuple[list[Change], int]:
        """Return the changes that are known, and the number of commits that can have made others.

        Judges all that can, unless they are many. Raises TooManySkipped.
        """
        left = _MOST_JUDGED
        while untried := self._untried_commits():
            left -= len(untried)
            if left < 0 and not self.judges_all:
                changes = list(self._changes_between(self.old.id, self.new.id)) or list(
                    self._sampled_changes()
                )
                return changes, len(self._untried_commits())
            for commit in untried:
                self._judge(commit)
        found = find_changes(self._relevant_history(), self._state)
        return [change for change in found if not self._is_same(change)], 0

    def _relevant_history(self) -> dict[str, tuple[str, ...]]:
        """Return the part of the history that can differ from what was before it in what was read."""
        touched = {
            commit
            for commit, letters, path in self._edits
            if letters == git.UNKNOWN_EDITS or self.verdicts.is_read(path, letters)
        }
        return relevant_history(self.history, touched)

    def _untried_commits(self) -> list[str]:
        relevant = self._relevant_history()
        both = dict.fromkeys(each for commit, parents in relevant.items() for each in (*parents, commit))
        return [commit for commit in both if commit not in self.verdicts.verdicts]

    def _sampled_changes(self) -> Iterator[Change]:
        """Yield the changes between some commits of the main line, evenly spread. Raises TooManySkipped."""
        relevant, line = self._relevant_history(), list[str]()
        commit = self.new.id
        while commit in self.history:
            if commit in relevant:
                line.append(commit)
            commit = next(iter(self.history[commit]), "")
        step = -(-len(line) // _MOST_JUDGED) or 1
        sample = (commit for commit in reversed(line[::step]) if self._state(commit) is not None)
        for old, new in pairwise((self.old.id, *sample, self.new.id)):
            yield from self._changes_between(old, new)

    def _is_same(self, change: Change) -> bool:
        """Return whether a change is within the error of a sampled verdict."""
        before, after = self._judge(change.before).standing, self._judge(change.suspects[-1]).standing
        return compare_standings(before, after) is Status.SAME

    def _describe_change(self, change: Change) -> VerdictChange:
        before, after = self._judge(change.before), self._judge(change.suspects[-1])
        suspects = tuple(map(self._describe, change.suspects))
        is_worse = compare_standings(before.standing, after.standing) is Status.WORSE
        return VerdictChange(suspects, is_worse, before.sentence, after.sentence)

    def _describe(self, commit_id: str) -> TriedCommit:
        date, subject = git.describe(Commit(commit_id, commit_id, self.new.top))
        verdict = self._judge(commit_id)
        reason = "" if verdict.outcome is not None else verdict.sentence
        before, after = (self.verdicts.verdicts[end.id].standing for end in (self.old, self.new))
        is_repair = compare_standings(before, after) is Status.BETTER
        trial = self._trial(commit_id, before, Status.BETTER if is_repair else Status.WORSE)
        if is_repair and trial is not Trial.SKIPPED:  # what is as before is bad
            trial = Trial.GOOD if trial is Trial.BAD else Trial.BAD
        return TriedCommit(commit_id, date, subject, trial, verdict.outcome, reason)
