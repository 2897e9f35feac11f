"""The search for an order that the rules themselves keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.lint.reordering.start import start_order
from layoutlint.lint.reordering.task import Candidate
from layoutlint.model.record import replace
from layoutlint.suggestion.common_order import CommonOrder
from layoutlint.suggestion.program import unmoved
from layoutlint.suggestion.result import Move
from layoutlint.suggestion.search import Search, Solution, Task

_MOST_TRIES = 20
"""How many orders are tried that keep what the search knows of the rules, and not the rules."""


Judges = Sequence[Sequence[Candidate]]
"""For each build of a task those that judge an order: itself, and builds that are searched alike."""


def solve(task: Task, judges: Judges, effort: float) -> tuple[Solution, list[list[list[Verdict]]]]:
    """Return an order that the rules themselves keep, with the verdicts of all judges on it.

    Orders that break rules which the search cannot state are excluded. If none is left, nothing is known.
    """
    task = replace(task, start=start_order(task.order, [own[0] for own in judges]))
    contradiction: Solution | None = None
    for _ in range(_MOST_TRIES):
        solution = Search(task, effort).run()
        if solution.state == "infeasible":
            if not task.has_excluded:
                contradiction = solution
            elif contradiction is None:
                break
        if not solution.order:
            return solution, []
        after = [
            [_verdicts(each, task.order.in_build(build, solution.order)) for each in own]
            for build, own in enumerate(judges)
        ]
        failing = list(_failing(task, solution, judges, after))
        if not failing:
            return solution, after
        for build in failing:
            task = task.without(build, solution.order)
    if contradiction is not None:
        return Solution("infeasible", core=contradiction.core, is_minimal=contradiction.is_minimal), []
    return Solution("unknown"), []


def _verdicts(candidate: Candidate, order: Sequence[int]) -> list[Verdict]:
    struct = candidate.arrangement.lay_out(order)
    return [one.judge(struct) for one in candidate.ruled]


def _failing(
    task: Task, solution: Solution, judges: Judges, after: Sequence[Sequence[Sequence[Verdict]]]
) -> Iterator[int]:
    """Yield the builds in which a rule fails that the search takes for kept, or that was kept before."""
    first = 0
    for build, (own, verdicts) in enumerate(zip(judges, after, strict=True)):
        kept = {number - first for number in solution.kept}
        if any(_is_worse(*each, kept) for each in zip(own, verdicts, strict=True)):
            yield build
        first += task.builds[build].rules


def _is_worse(candidate: Candidate, verdicts: Sequence[Verdict], kept: set[int]) -> bool:
    return any(
        not _is_kept(verdict)
        and (number in kept if number not in candidate.reasons else _is_kept(candidate.ruled[number].before))
        for number, verdict in enumerate(verdicts)
    )


def _is_kept(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.KEPT


def moves_of(order: CommonOrder, units: Sequence[int]) -> Iterator[Move]:
    """Yield the members that move if the units stand in an order, in that order."""
    kept = unmoved(units, order.weights)
    previous = None
    for number in units:
        for name in order.members[number]:
            if number not in kept:
                yield Move(name, previous)
            previous = name
