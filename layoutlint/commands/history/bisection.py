"""The search for the commits that changed the verdict of a rule, over any history."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from layoutlint.model.record import Record, field


class Trial(Enum):
    """The result of a rule on a commit."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"
    """It could not be judged."""


class TooManySkipped(Exception):
    """Raised if more commits than the limit could not be judged."""


class Bisection(Record, frozen=True):
    """The result of a search."""

    first_bad: str | None
    """The first commit that is bad, if its parents are good; None if skipped commits are between."""
    suspects: tuple[str, ...]
    """The commits of which one is the first bad one: the last is bad; the others, in no order, could not be
    judged."""
    trials: dict[str, Trial] = field(default_factory=dict)
    """What was found, by commit, in the order of the search."""


class Change(Record, frozen=True):
    """A change of the verdict."""

    suspects: tuple[str, ...]
    """The commits of which one changed it: the last has the new verdict, the others could not be judged."""
    before: str
    """A commit with the earlier verdict."""


History = Mapping[str, Sequence[str]]
"""The parents of each commit, which come before it unless they are not part of the history."""
Candidates = Callable[[str, Sequence[str]], Sequence[str]]
"""Returns the commits that a bad commit contains and no good one, those that halve them best first."""


def bisect(
    bad: str, good: str, candidates: Candidates, judge: Callable[[str], Trial], most_skipped: int
) -> Bisection:
    """Search for the first commit after `good` that is bad; `bad` is known to be.

    Each step judges the commit that halves the rest best, and passes over those that cannot be judged, as git
    bisect does. If a verdict changed more than once, one of the changes to bad is found. Raises
    TooManySkipped.
    """
    goods, trials = [good], dict[str, Trial]()
    while True:
        left = [commit for commit in candidates(bad, goods) if commit != bad]
        untried = next((commit for commit in left if commit not in trials), None)
        if untried is None:
            suspects = (*(commit for commit in left if trials[commit] is Trial.SKIPPED), bad)
            return Bisection(bad if len(suspects) == 1 else None, suspects, trials)
        trials[untried] = judge(untried)
        if list(trials.values()).count(Trial.SKIPPED) > most_skipped:
            raise TooManySkipped
        if trials[untried] is Trial.BAD:
            bad = untried
        elif trials[untried] is Trial.GOOD:
            goods.append(untried)


def relevant_history(history: History, touched: Container[str]) -> dict[str, tuple[str, ...]]:
    """Return the part of a history that can differ from what was before it.

    `touched` are the commits that differ from all their parents. Also left is a merge of commits that can
    differ from one another. The parents of a commit are then the last commits before it that are left.
    """
    origins: dict[str, str] = {}
    left: dict[str, tuple[str, ...]] = {}
    for commit, parents in history.items():
        before = tuple(dict.fromkeys(origins.get(parent, parent) for parent in parents))
        if commit in touched or len(before) != 1:
            left[commit] = before
        origins[commit] = commit if commit in left else before[0]
    return left


def find_changes(history: History, state: Callable[[str], Hashable]) -> Iterator[Change]:
    """Yield the commits whose state differs from that of all commits before them, oldest first.

    A commit whose state is None could not be judged: the change after it can be its own.
    """
    for commit, parents in history.items():
        now = state(commit)
        if now is None:
            continue
        known, skipped = _nearest_known(parents, history, state)
        if known and all(state(each) != now for each in known):
            yield Change((*(each for each in history if each in skipped), commit), known[0])


def _nearest_known(
    commits: Iterable[str], history: History, state: Callable[[str], Hashable]
) -> tuple[list[str], set[str]]:
    """Return the last commits with a known state, and those behind them that have none."""
    known, skipped, queue = list[str](), set[str](), list(commits)
    while queue:
        commit = queue.pop(0)
        if state(commit) is not None:
            known.append(commit)
        elif commit not in skipped:
            skipped.add(commit)
            queue += history.get(commit, ())
    return known, skipped
