"""The search itself, on made-up histories: which commits are tried, and what is found."""

from __future__ import annotations

import pytest

from layoutlint.commands.history.bisection import (
    TooManySkipped,
    Trial,
    bisect,
    find_changes,
    relevant_history,
)

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


def changes(parents: dict[str, str], states: str) -> list[str]:
    """The suspects of each change, behind the commit before; `?` has no state."""
    found = find_changes({name: tuple(above) for name, above in parents.items()},
                         lambda name: None if states["rabcdef".index(name)] == "?" else states["rabcdef".index(name)])  # fmt: skip
    return [f"{change.before} {''.join(change.suspects)}" for change in found]


LINE = {"a": "r", "b": "a", "c": "b", "d": "c", "e": "d", "f": "e"}
FORK = {"a": "r", "b": "r", "c": "ab", "d": "c"}


@pytest.mark.parametrize(("history", "states", "expected"), [
    # states are those of r, a, b, ...; r is not part of the history
    (LINE, "+++++++", []), (LINE, "+++----", ["b c"]), (LINE, "+-+-+-+", ["r a", "a b", "b c", "c d", "d e", "e f"]),
    (LINE, "+-?-+++", ["r a", "c d"]), (LINE, "+?-++?-", ["r ab", "b c", "d ef"]), (LINE, "+??++++", []),
    (LINE, "+?????-", ["r abcdef"]), (LINE, "?-+++++", ["a b"]), (LINE, "++++++?", []), (LINE, "-+++++o", ["r a", "e f"]),
    (FORK, "++---", ["r b"]), (FORK, "+++--", ["a c"]), (FORK, "+-+++", ["r a"]), (FORK, "+--++", ["r a", "r b", "a c"]),
    (FORK, "++?--", ["a bc"]), (FORK, "+-o--", ["r a", "r b"]), (FORK, "+??--", ["r abc"]),
])  # fmt: skip
def test_all_changes_of_a_history(history, states, expected):
    assert changes(history, states) == expected


@pytest.mark.parametrize(("history", "touched", "expected"), [
    (LINE, "", {}), (LINE, "bd", {"b": ("r",), "d": ("b",)}), (FORK, "", {}), (FORK, "a", {"a": ("r",), "c": ("a", "r")}),
    (FORK, "d", {"d": ("r",)}), (FORK, "c", {"c": ("r",)}), ({"a": "", "b": "a"}, "", {"a": ()}),
])  # fmt: skip
def test_the_commits_that_can_differ_from_those_before(history, touched, expected):
    assert relevant_history({name: tuple(above) for name, above in history.items()}, touched) == expected
