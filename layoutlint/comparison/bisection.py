"""The search for the commit that changed the verdict of a rule, over any history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
