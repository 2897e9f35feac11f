"""The search for the commits that changed a verdict, on made-up histories: what is found, tried, refused and left open."""

from __future__ import annotations

from fractions import Fraction

import pytest

from layoutlint.commands.history.commit_verdicts import Verdict
from layoutlint.commands.history.history_search import HistorySearch
from layoutlint.comparison.standings import NO_FAILURE, Standing
from layoutlint.errors import LayoutlintError
from layoutlint.judgement.verdict import Outcome
from layoutlint.revisions import git
from layoutlint.revisions.git import Commit


class Verdicts:
    """The verdicts of commits that are called by their number in a text: `0` is kept, `1` to `8` the eighths of placements in
    which the rule fails, `?` cannot be judged, and `=` is as the commit before, and edits another file.
    """

    rule, databases = "apart", {"compile_commands.json": None}

    def __init__(self, states: str) -> None:
        self.states, self.verdicts = states, dict[str, Verdict]()

    def judge(self, commit: Commit) -> Verdict:
        return self.verdicts.setdefault(commit.id, self._verdict(self.states[: int(commit.id) + 1].rstrip("=")[-1]))

    def _verdict(self, state: str) -> Verdict:
        if state == "?":
            return Verdict(NO_FAILURE, None, "no header")
        outcome = Outcome.AT_RISK if state != "0" else Outcome.KEPT
        return Verdict(Standing(outcome, Fraction(int(state), 8)), outcome.value, f"{outcome.value}: {state} of 8")

    def is_read(self, path: str, letters: str) -> bool:
        return (path, letters) == ("s.h", "M")


@pytest.fixture
def find(monkeypatch):
    def search(states: str, judges_all: bool = False, parents: dict[str, tuple[str, ...]] | None = None, ends: tuple[str, str] = ("", "")):
        """The search in a line of commits, or between the ends of another history."""
        names = [str(number) for number in range(len(states))]
        history = dict(zip(names[1:], ((name,) for name in names), strict=False)) if parents is None else parents
        old, new = ends if parents is not None else (names[0], names[-1])

        def reachable(commit: str) -> set[str]:
            return {commit}.union(*map(reachable, history.get(commit, ())))

        def halving(top, bad, goods):
            inside = sorted(reachable(bad).difference(*map(reachable, goods)) & history.keys(), key=int)
            return sorted(inside, key=lambda name: abs(2 * inside.index(name) - len(inside) + 1))

        monkeypatch.setattr(git, "parents_between", lambda good, bad: history)
        monkeypatch.setattr(git, "edited_paths", lambda top, commits: ((n, "M", "other.h" if states[int(n)] == "=" else "s.h") for n in commits))
        monkeypatch.setattr(git, "halving_commits", halving)
        monkeypatch.setattr(git, "describe", lambda commit: ("May", f"s{commit.id}"))
        verdicts = Verdicts(states)
        return HistorySearch(verdicts, Commit(f"v{old}", old, "."), Commit(f"v{new}", new, "."), judges_all)  # type: ignore[arg-type]

    return search


def describe(search: HistorySearch) -> str:
    """All of the result."""
    try:
        found = search.result()
    except LayoutlintError as error:
        return f"{type(error).__name__}: {error}"
    changes = [f"{change.before} -> {change.after}, {'worse' if change.is_worse else 'better'}: "
               + " ".join(each.id for each in change.suspects) for change in (*filter(None, [found.found]), *found.changes)]  # fmt: skip
    tried = [f"{each.id} {each.trial.value} {each.outcome} {each.date} {each.subject} {each.reason}".rstrip() for each in found.tried]
    return "\n".join([f"{found.rule}: {found.before} -> {found.after}, {found.not_judged} not judged, {', '.join(found.flags_from)}", *changes, ", ".join(tried)])


LINES = [
    "08", "80", "00", "088", "020", "0280", "0028", "8200", "03?8", "0?0", "0?8?", "?8", "8?", "0==8==", "0=8=0=8", "0??0??8", "0123", "3210",
    "0" * 21 + "8", "0" * 22 + "8", "0" * 12 + "8" * 3 + "0" * 12, "0" * 8 + "4" * 10 + "8" * 10, "0" * 20 + "1" * 4 + "8" * 20 + "3",
    "0" + "=" * 30 + "8" + "=" * 30 + "0" * 30, "0" * 10 + "?" * 20 + "8" * 3, "0" * 10 + "?" * 20 + "0" * 3, "0" + "?" * 100 + "8", "0" + "?" * 101 + "8",
]  # fmt: skip


@pytest.mark.parametrize("states", LINES, ids=lambda states: states if len(states) < 20 else f"{len(states)} {states[0]}{states[-1]}")
def test_a_line(states, find, golden_row):
    golden_row(describe(find(states)))


@pytest.mark.parametrize("states", [each for each in LINES if len(set(each) - {"?", "="}) > 1 and "?" not in each[0] + each[-1]])
def test_all_changes_of_a_line(states, find):
    """Each commit differs from the last one that could be judged, and from no other."""
    if states.count("?") > 100:
        return
    now, skipped, expected = states[0], [], []
    for number, state in enumerate(states):
        if state == "?" and states[number] != "=":
            skipped.append(str(number))
        elif state not in ("=", now):
            expected.append((*skipped, str(number)))
            now = state
        if state not in "?=":
            skipped = []
    result = find(states, judges_all=True).result()
    assert [tuple(each.id for each in change.suspects) for change in result.changes] == expected
    assert result.not_judged == 0


SIDES = {"1": ("0",), "2": ("0",), "3": ("1", "2"), "4": ("3",)}
GRAPHS = [
    # states of the commits, their parents, the ends
    ("00888", SIDES, ("0", "4")),
    ("08000", SIDES, ("0", "4")),
    ("08888", SIDES, ("0", "4")),
    ("00088", SIDES, ("0", "4")),
    ("0==8=", SIDES, ("0", "4")),
    ("080==", SIDES, ("0", "4")),
    ("0?8?8", SIDES, ("0", "4")),
    ("08", {}, ("1", "0")),
    ("00", {}, ("1", "0")),
    ("08", {}, ("1", "1")),
]


@pytest.mark.parametrize(("states", "parents", "ends"), GRAPHS)
def test_another_history(states, parents, ends, find, golden_row):
    golden_row(describe(find(states, False, parents, ends)))
