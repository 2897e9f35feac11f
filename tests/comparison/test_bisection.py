"""The search itself, on made-up histories: which commits are tried, and what is found."""

from __future__ import annotations

import pytest

from layoutlint.comparison.bisection import TooManySkipped, Trial, bisect

LETTERS = {"+": Trial.GOOD, "-": Trial.BAD, "?": Trial.SKIPPED}


def line(history: str) -> tuple[dict[str, Trial], list[str]]:
    """A history without branches: `+` is good, `-` bad, `?` cannot be judged; commits are called by their number."""
    names = [str(number) for number in range(len(history))]
    return dict(zip(names, (LETTERS[letter] for letter in history), strict=True)), names


def search(history: str):
    trials, names = line(history)

    def candidates(bad, goods):
        inside = names[max(map(int, goods)) + 1 : int(bad) + 1]
        return sorted(inside, key=lambda name: abs(2 * int(name) - int(inside[0]) - int(inside[-1])))

    return bisect(names[-1], names[0], candidates, trials.__getitem__, 30)


@pytest.mark.parametrize(("history", "first", "suspects", "most"), [
    ("+-", "1", ["1"], 0), ("++++-", "4", ["4"], 3), ("+----", "1", ["1"], 3), ("+" * 500 + "-" * 500, "500", ["500"], 10),
    ("+?-", None, ["1", "2"], 1), ("++??--", None, ["2", "3", "4"], 4), ("+?+-", "3", ["3"], 2), ("+++?-?-", None, ["3", "4"], 5),
    ("+-+-", "3", ["3"], 2), ("+---+-", "1", ["1"], 3),  # one of the changes, where there are several
])  # fmt: skip
def test_a_line(history, first, suspects, most):
    found = search(history)
    assert (found.first_bad, sorted(found.suspects, key=int), found.suspects[-1]) == (first, suspects, suspects[-1])
    assert len(found.trials) <= most


def test_many_that_cannot_be_judged_end_the_search():
    with pytest.raises(TooManySkipped):
        search("+" + "?" * 40 + "-")
