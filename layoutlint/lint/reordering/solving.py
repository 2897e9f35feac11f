"""The search for an order that the rules themselves keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.lint.reordering.rules import Ruled
from layoutlint.lint.reordering.start import start_order
from layoutlint.model.record import replace
from layoutlint.suggestion.arrangement import Arrangement
from layoutlint.suggestion.program import unmoved
from layoutlint.suggestion.result import Move
from layoutlint.suggestion.search import Search, Solution, Task

_MOST_TRIES = 20
"""How many orders are tried that keep what the search knows of the rules, and not the rules."""


def solve(
    task: Task, ruled: Sequence[Ruled], reasons: dict[int, str], effort: float
) -> tuple[Solution, list[Verdict]]:
    """Return an order that the rules themselves keep, with their verdicts on it.

    Orders that break rules which the search cannot state are excluded. If none is left, nothing is known.
    """
    task = replace(task, start=start_order(task.arrangement, ruled))
    contradiction: Solution | None = None
    for _ in range(_MOST_TRIES):
        solution = Search(task, effort).run()
        if solution.state == "infeasible":
            if not task.excluded:
                contradiction = solution
            elif contradiction is None:
                break
        if not solution.order:
            return solution, []
        after = [one.judge(task.arrangement.lay_out(solution.order)) for one in ruled]
        failing = [
            number
            for number, verdict in enumerate(after)
            if not _is_kept(verdict)
            and (number in solution.kept if number not in reasons else _is_kept(ruled[number].before))
        ]
        if not failing:
            return solution, after
        task = replace(task, excluded=(*task.excluded, solution.order))
    if contradiction is not None:
        return Solution("infeasible", core=contradiction.core, is_minimal=contradiction.is_minimal), []
    return Solution("unknown"), []


def _is_kept(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.KEPT


def moves_of(arrangement: Arrangement, order: Sequence[int], names: Sequence[str]) -> Iterator[Move]:
    """Yield the members that move, in their new order."""
    positions = arrangement.field_order(order)
    kept = unmoved(order, [len(unit.members) for unit in arrangement.units])
    moved = {at for number, unit in enumerate(arrangement.units) if number not in kept for at in unit.fields}
    for index, at in enumerate(positions):
        if at in moved:
            yield Move(names[at], names[positions[index - 1]] if index else None)
