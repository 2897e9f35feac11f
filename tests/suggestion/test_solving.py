"""The loop around a search: orders that rules do not keep are excluded, and contradictions lose what they do not need.

The searches are scripts here: tests/suggestion holds real ones against brute force.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.record import Record, replace
from layoutlint.suggestion import solving
from layoutlint.suggestion.orders.problem import ReachedAim, Solution
from layoutlint.suggestion.solving import _failing_builds, _has_ends, _start_as_solution, solve

KEPT, BROKEN, UNKNOWN = (Verdict(outcome, outcome.value) for outcome in (Outcome.KEPT, Outcome.BROKEN, Outcome.UNKNOWN))


class ScriptedTask(Record, frozen=True):
    """A task whose orders are numbers, with what was excluded from it."""

    builds: tuple[SimpleNamespace, ...]
    excluded: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...] = ()
    start: tuple[int, ...] = ()
    aims: tuple[str, ...] = ("moves", "size")
    bound: int = 0

    @property
    def order(self) -> SimpleNamespace:
        return SimpleNamespace(members=((),) * 3, translate=lambda build, order: (build, *order))

    @property
    def rules(self) -> int:
        return sum(build.rules for build in self.builds)

    def exclude(self, build: int, order: tuple[int, ...], rules: tuple[int, ...]) -> ScriptedTask:
        return replace(self, excluded=(*self.excluded, (build, order, rules)))

    def value(self, aim: str, order: tuple[int, ...]) -> int:
        return len(aim) * order[0]


def judge(verdicts: dict[int, str], before: str = "k", reasons: tuple[int, ...] = ()) -> SimpleNamespace:
    """A build whose rules have a letter for each order: kept, broken or unknown; `before` are those as it is."""
    letters = {"k": KEPT, "b": BROKEN, "u": UNKNOWN}
    rules = [
        SimpleNamespace(before=letters[before[min(number, len(before) - 1)]], judge=lambda order, number=number: letters[verdicts[order[1]][number]])
        for number in range(len(next(iter(verdicts.values()))))
    ]  # fmt: skip
    return SimpleNamespace(ruled=rules, reasons=dict.fromkeys(reasons, "why"), arrangement=SimpleNamespace(lay_out=lambda order: order))


def task_for(judges: list[list[SimpleNamespace]], **more: object) -> ScriptedTask:
    return ScriptedTask(tuple(SimpleNamespace(rules=len(own[0].ruled)) for own in judges), **more)  # type: ignore[arg-type]


def solution(order: int | None, kept: tuple[int, ...] = (), state: str = "optimal", core: tuple[int, ...] = (), is_minimal: bool = True) -> Solution:
    return Solution(state, () if order is None else (order,), (), kept, core, is_minimal)  # type: ignore[arg-type]


class Script:
    """Answers for searches one after another, and what was asked for."""

    def __init__(self, *answers: Solution) -> None:
        self.answers, self.asked = list(answers), list[tuple[object, ...]]()

    def __call__(self, task: ScriptedTask, effort: float) -> SimpleNamespace:
        def answer(how: str, *more: object) -> Solution:
            self.asked.append((how, *more, task.excluded, effort))
            return self.answers.pop(0)

        return SimpleNamespace(run=lambda: answer("run"), strict=lambda: answer("strict"), any_order=lambda rest: answer("any", rest))


@pytest.fixture
def play(monkeypatch):
    def solve_with(script: Script, judges: list[list[SimpleNamespace]], explains: bool = True, **more: object):
        def search(task: ScriptedTask, judges: object, effort: float, explains: bool, progress: object) -> Solution:
            return script(task, effort).run() if explains else script(task, effort).strict()

        monkeypatch.setattr("layoutlint.suggestion.orders.search.OrderSearch", script)
        monkeypatch.setattr(solving, "find_order", search)
        found, after = solve(task_for(judges, **more), judges, 2.0, explains)  # type: ignore[arg-type]
        return found, [["".join(verdict.outcome.value[0] for verdict in each) for each in own] for own in after]

    return solve_with


NONE = solution(None, state="infeasible", core=(0, 1))


def test_an_order_that_rules_keep(play):
    script = Script(solution(1, (0, 1)))
    assert play(script, [[judge({1: "kk"})]]) == (solution(1, (0, 1)), [["kk"]])
    assert script.asked == [("run", (), 2.0)]
    script = Script(solution(1, (0, 1)))
    assert play(script, [[judge({1: "kk"})]], explains=False)[0] == solution(1, (0, 1))
    assert script.asked == [("strict", (), 2.0)]


def test_orders_that_rules_do_not_keep_are_excluded(play):
    script = Script(solution(1, (0, 1)), solution(2, (0, 1)), solution(3, (0, 1)))
    found = play(script, [[judge({1: "bk", 2: "bu", 3: "kk"})]])
    assert found == (solution(3, (0, 1)), [["kk"]])
    first, second = (0, (1,), (0,)), (0, (2,), (0, 1))
    assert [asked[1] for asked in script.asked] == [(), (first,), (first, second)]


def test_rules_that_the_search_gives_up_may_break(play):
    assert play(Script(solution(1, (0,))), [[judge({1: "kb"})]]) == (solution(1, (0,)), [["kb"]])


@pytest.mark.parametrize(("before", "reasons", "excluded"), [
    ("b", (), True), ("k", (0,), True), ("b", (0,), False), ("u", (0,), False), ("b", (1,), True),
])  # fmt: skip
def test_rules_that_cannot_be_stated_count_if_they_were_kept(before, reasons, excluded, play):
    script = Script(solution(1, (0, 1)), solution(2, (0, 1)))
    play(script, [[judge({1: "bk", 2: "kk"}, before, reasons)]])
    assert len(script.asked) == 1 + excluded


def test_after_twenty_orders_nothing_is_known(play):
    judges = [[judge(dict.fromkeys(range(30), "b"))]]
    script = Script(*(solution(number, (0,)) for number in range(30)))
    assert play(script, judges) == (Solution("unknown"), [])
    assert len(script.asked) == 20
    script = Script(*(solution(number, (0,)) for number in range(19)), solution(40, (0,)))
    assert play(script, [[judge({**dict.fromkeys(range(30), "b"), 40: "k"})]]) == (solution(40, (0,)), [["k"]])


def test_a_contradiction_has_a_compromise(play):
    compromise = solution(1, (1,), "infeasible", (0, 1))
    assert play(Script(compromise), [[judge({1: "bk"})]]) == (compromise, [["bk"]])
    assert play(Script(NONE), [[judge({1: "bk"})]], explains=False) == (NONE, [])


def test_a_later_contradiction_loses_rules_that_it_does_not_need(play):
    judges = [[judge({1: "bkk", 2: "kkk", 3: "kbk"})]]
    late = solution(None, state="infeasible", core=(0, 1, 2))
    cases = [
        # what searches without a rule of the core find, the core, and whether it is minimal
        ((NONE, NONE, NONE), (), True),
        ((solution(2, ()), NONE, NONE), (0,), True),
        ((solution(2, ()), solution(2, ()), solution(2, ())), (0, 1, 2), True),
        ((solution(None, state="unknown"), NONE, NONE), (0,), False),
        ((NONE, NONE, solution(None, state="unknown")), (2,), False),
        ((solution(3, (1,)), NONE, NONE, NONE), (), True),
        ((solution(3, (1,)), solution(2, (1,)), NONE, NONE), (0,), True),
        (((*(solution(3, (1,)),) * 20, NONE, NONE)), (0,), False),
    ]
    for answers, core, is_minimal in cases:
        script = Script(solution(1, (0, 1, 2)), late, *answers)
        assert play(script, judges) == (solution(None, state="infeasible", core=core, is_minimal=is_minimal), [])
        assert not script.answers
    script = Script(solution(1, (0, 1, 2)), late, solution(3, (1,)), solution(2, ()), NONE, NONE)
    play(script, judges)
    first, more = (0, (1,), (0,)), (0, (3,), (1,))
    assert [asked[:-1] for asked in script.asked] == [
        ("run", ()), ("run", (first,)), ("any", (1, 2), (first,)), ("any", (1, 2), (first, more)), ("any", (0, 2), (first, more)), ("any", (0,), (first, more)),
    ]  # fmt: skip


def test_the_first_contradiction_stays(play):
    found = Solution("infeasible", (1,), (), (1,), (0,), True)
    script = Script(found, Solution("infeasible", (2,), (), (1,), (1,), False))
    assert play(script, [[judge({1: "bb", 2: "bk"})]]) == (Solution("infeasible", (2,), (), (1,), (0,), True), [["bk"]])


UNKNOWN_STATE = solution(None, state="unknown")
STARTS = [
    # the judges of each build, the order to start from, and whether it is the result of a search that found none
    ([[judge({5: "kk"})]], (5,), True),
    ([[judge({5: "kb"})]], (5,), False),
    ([[judge({5: "ku"})]], (5,), False),
    ([[judge({5: "k"})], [judge({5: "k"}), judge({5: "k"})]], (5,), True),
    ([[judge({5: "k"})], [judge({5: "k"}), judge({5: "b"})]], (5,), False),
    ([[judge({5: "b"})], [judge({5: "k"})]], (5,), False),
    ([[judge({5: "k"})]], (), False),
]


@pytest.mark.parametrize(("judges", "start", "is_result"), STARTS)
def test_the_start_is_the_result_of_a_search_that_finds_none(judges, start, is_result):
    task = task_for(judges, start=start, bound=3)
    expected = Solution("unknown")
    if is_result:
        expected = Solution("feasible", start, (ReachedAim("moves", 25, 3), ReachedAim("size", 20, 0)), tuple(range(task.rules)))
    assert _start_as_solution(task, judges) == expected  # type: ignore[arg-type]


def test_a_search_that_finds_none_gives_none(play):
    assert play(Script(UNKNOWN_STATE), [[judge({9: "k"})]]) == (Solution("unknown"), [])


def test_rules_of_builds_are_counted_one_behind_the_other():
    judges = [[judge({1: "bb"})], [judge({1: "k"}), judge({1: "b"})], [judge({1: "kb"})], [judge({1: "k"})]]
    task = task_for(judges)
    after = [[[rule.judge((0, 1)) for rule in each.ruled] for each in own] for own in judges]
    cases = [((0, 1, 2, 3, 4, 5), [(0, (0, 1)), (1, (0,)), (2, (1,))]), ((1, 3), [(0, (1,))]), ((2, 3), [(1, (0,))]), ((4,), [(2, (1,))]), ((5,), []), ((), [])]
    for kept, expected in cases:
        assert list(_failing_builds(task, solution(1, kept), judges, after)) == expected  # type: ignore[arg-type]


ENDS = [
    # the number of the last unit, units without a length, units without fields, the order, and whether it can be
    (None, (), (), (0, 1, 2), True),
    (2, (), (), (0, 1, 2), True),
    (2, (), (), (0, 2, 1), False),
    (2, (), (1,), (0, 2, 1), True),
    (None, (2,), (), (0, 1, 2), False),
    (None, (2,), (), (0, 2, 1), True),
    (None, (2,), (1,), (0, 2, 1), False),
    (0, (), (), (1, 2, 0), True),
    (0, (), (), (0, 1, 2), False),
]


@pytest.mark.parametrize(("last", "markers", "empty", "order", "expected"), ENDS)
def test_arrays_without_a_length_are_where_they_can_be(last, markers, empty, order, expected):
    arrangement = SimpleNamespace(last=last, markers=markers, units=[SimpleNamespace(fields=() if at in empty else (at,)) for at in range(3)])
    build, other = SimpleNamespace(arrangement=arrangement), SimpleNamespace(arrangement=SimpleNamespace(last=None, markers=(), units=arrangement.units))
    for builds in ((build,), (other, build), (build, other)):
        task = SimpleNamespace(builds=builds, order=SimpleNamespace(translate=lambda number, order: order))
        assert _has_ends(task, order) is expected  # type: ignore[arg-type]
