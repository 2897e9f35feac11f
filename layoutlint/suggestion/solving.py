"""The search for an order that the rules themselves keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from layoutlint.errors import missing_library
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.reading import Progress, no_progress
from layoutlint.model.record import replace
from layoutlint.suggestion.orders import few_moves
from layoutlint.suggestion.orders.common_order import CommonOrder
from layoutlint.suggestion.orders.problem import (
    Aim,
    OrderTask,
    ReachedAim,
    Solution,
    Step,
    task_of_one,
)
from layoutlint.suggestion.orders.result import Move
from layoutlint.suggestion.task import BuildCandidate

_FEW: dict[Aim, int] = {"contention": 16, "moves": 16, "size": 30}
"""The most units for which the solver looks for better orders than those that moves lead to, by the aim."""
_TRUSTED = 3
"""The most moves of an order which moves lead to that the solver rarely makes fewer."""
_MANY = 80
"""The most units for which it looks for fewer than more moves."""
_SHARE = 0.15
"""The part of the effort for orders that few moves lead to, where a solver tries many changed structs."""
_MOST_UNITS = 250
"""The most units that the solver searches: pairs of them are compared."""
_MOST_TRIES = 20
"""How many orders are tried that keep what the search knows of the rules, and not the rules."""

Judges = Sequence[Sequence[BuildCandidate]]
"""For each build of a task those that judge an order: itself, and builds that are searched alike."""


def solve(
    task: OrderTask, judges: Judges, effort: float, explains: bool = True, progress: Progress = no_progress
) -> tuple[Solution, list[list[list[Verdict]]]]:
    """Return an order that the rules themselves keep, with the verdicts of all judges on it.

    Orders that break rules which the search takes for kept are excluded, if these are to be kept.
    If no order keeps all rules, the solution has the contradiction and a compromise if it `explains`.
    """
    contradiction: Solution | None = None
    spent = 0.0
    for _ in range(_MOST_TRIES):
        solution = find_order(task, judges, effort, explains, progress)
        spent += solution.effort
        solution = replace(solution, effort=spent)
        if solution.state == "infeasible" and contradiction is None:
            contradiction = _needed_rules(task, judges, solution, effort) if task.excluded else solution
        if not solution.order:
            return _with_contradiction(solution, contradiction), []
        after = _verdicts_of_all(task, judges, solution.order)
        failing = list(_failing_builds(task, solution, judges, after))
        if not failing:
            return _with_contradiction(solution, contradiction), after
        for build, rules in failing:
            task = task.exclude(build, solution.order, rules)
    return _with_contradiction(Solution("unknown", effort=spent), contradiction), []


def polish(
    task: OrderTask,
    judges: Judges,
    solution: Solution,
    after: list[list[list[Verdict]]],
    progress: Progress = no_progress,
) -> tuple[Solution, list[list[list[Verdict]]]]:
    """Return a solution with its verdicts, or one near it that reaches as much and is better for taste.

    The search for few moves knows what people like, and the solver does not.
    """
    if solution.state not in ("optimal", "feasible"):
        return solution, after
    order = few_moves.polish(task, solution.order, progress)
    if order == solution.order:
        return solution, after
    other = replace(solution, order=order)
    verdicts = _verdicts_of_all(task, judges, order)
    is_worse = any(_failing_builds(task, other, judges, verdicts))
    return (solution, after) if is_worse else (other, verdicts)


def find_order(
    task: OrderTask, judges: Judges, effort: float, explains: bool, progress: Progress = no_progress
) -> Solution:
    """Return the best order by the demands: that few moves lead to, else that the solver finds.

    Without `explains`, few moves are tried with a part of the effort. An interrupt ends with the best so far.
    """
    few = _find_few(task, effort if explains else _SHARE * effort, explains, progress)
    if _is_settled(task, few, explains):
        return _take_step(task, few)
    try:
        return _take_step(task, _solve(task, few, judges, effort, explains))
    except ModuleNotFoundError as error:
        missing = missing_library(error)
        if missing is error:
            raise
        return _take_step(task, few) if few.order else replace(few, lacking=str(missing))
    except KeyboardInterrupt:
        if not few.order:
            raise
        return replace(_take_step(task, few), is_interrupted=True)


def _find_few(task: OrderTask, effort: float, goes_on: bool, progress: Progress) -> Solution:
    """Return what few moves lead to, by the first aim."""
    if task.aims[0] == "moves":
        return few_moves.solve(task, effort, progress)
    if task.aims[0] in ("contention", "size"):
        return few_moves.shrink(task, effort, progress, goes_on)
    return Solution("unknown")


def _is_settled(task: OrderTask, few: Solution, explains: bool) -> bool:
    """Return whether the solver cannot find better, or would need too long.

    Where many changed structs are tried, it is not to look for fewer moves to an order of the least size.
    """
    count = len(task.order.members)
    most = _FEW.get(task.aims[0], count)
    if not explains and few.reached and few.reached[0].value == few.reached[0].bound:
        most = min(most, _FEW["moves"])
    if explains and task.aims[0] == "moves" and few.reached[0].value > _TRUSTED:
        most = _MANY
    is_enough = bool(few.order) and count > most
    return few.state == "optimal" or few.is_interrupted or is_enough or count > _MOST_UNITS


def _solve(task: OrderTask, few: Solution, judges: Judges, effort: float, explains: bool) -> Solution:
    """Return what the solver finds, or what few moves lead to if that is better.

    Raises ModuleNotFoundError.
    """
    from layoutlint.suggestion.orders.search import OrderSearch  # imports the solver

    bound = next((each.bound for each in few.reached if each.aim == task.aims[0]), 0)
    task = replace(task, start=few.order, bound=bound)
    if len(task.builds) > 1 and not few.order:
        task = _start_together(task, [own[0] for own in judges], effort)
    search = OrderSearch(task, effort)
    solution = search.run() if explains else search.strict()
    spent = few.effort + search.spent
    if few.order and not _is_better(solution, few):
        return replace(few, effort=spent)
    if solution.order or solution.state == "infeasible":
        return replace(_with_steps(task, solution, few), effort=spent)
    return replace(_start_as_solution(task, judges), in_the_way=few.in_the_way, effort=spent)


def _take_step(task: OrderTask, solution: Solution) -> Solution:
    """Return a solution with the last of its steps that moves no more than is wanted."""
    within = [step for step in solution.steps if step.moves <= task.most_moves]
    if not task.most_moves or not solution.order or solution.steps[-1:] == tuple(within[-1:]):
        return solution
    order = (within or list(solution.steps[:1]))[-1].order
    bounds: dict[Aim, int] = {each.aim: each.bound for each in solution.reached[:1]}
    bounds["moves"] = 0
    step = few_moves.solution_at(task, order, bounds)
    return replace(step, steps=solution.steps, is_interrupted=solution.is_interrupted)


def _is_better(one: Solution, other: Solution) -> bool:
    """Return whether a solution is proved, or reaches more of the first aims than another."""
    values = [[each.value for each in solution.reached] for solution in (one, other)]
    return one.state in ("optimal", "infeasible") or (bool(one.order) and values[0] < values[1])


def _with_steps(task: OrderTask, solution: Solution, few: Solution) -> Solution:
    """Return a solution with the steps to it, if the size was to be least."""
    if not solution.order or not few.steps:
        return solution
    moves, size, value = (task.value(aim, solution.order) for aim in ("moves", "size", task.aims[0]))
    last = Step(moves, size, solution.order, value)
    steps = (step for step in few.steps if step.moves < last.moves and step.value > last.value)
    return replace(solution, steps=(*steps, last))


def _needed_rules(task: OrderTask, judges: Judges, contradiction: Solution, effort: float) -> Solution:
    """Return a contradiction without rules that it does not need, as the rules themselves judge orders.

    The search told by demands which rules are needed, and demands are not all that rules can ask.
    """
    from layoutlint.suggestion.orders.search import (
        OrderSearch,  # imports the solver, which found the contradiction
    )

    core, is_minimal = contradiction.core, True
    for rule in contradiction.core:
        rest = tuple(each for each in core if each != rule)
        for _ in range(_MOST_TRIES):
            solution = OrderSearch(task, effort).any_order(rest)
            if not solution.order:
                core = rest if solution.state == "infeasible" else core
                is_minimal = is_minimal and solution.state == "infeasible"
                break
            after = _verdicts_of_all(task, judges, solution.order)
            failing = list(_failing_builds(task, solution, judges, after))
            if not failing:
                break
            for build, rules in failing:
                task = task.exclude(build, solution.order, rules)
        else:
            is_minimal = False
    return replace(contradiction, core=core, is_minimal=is_minimal)


def _verdicts_of_all(task: OrderTask, judges: Judges, order: tuple[int, ...]) -> list[list[list[Verdict]]]:
    """Return the verdicts of all judges on an order."""
    return [
        [_verdicts(each, task.order.translate(build, order)) for each in own]
        for build, own in enumerate(judges)
    ]


def _with_contradiction(solution: Solution, contradiction: Solution | None) -> Solution:
    """Return a compromise with the rules that contradict one another; without them the solution itself."""
    if contradiction is None:
        return solution
    core, is_minimal = contradiction.core, contradiction.is_minimal
    return replace(solution, state="infeasible", core=core, is_minimal=is_minimal)


def _start_together(task: OrderTask, builds: Sequence[BuildCandidate], effort: float) -> OrderTask:
    """Return a task of several builds with the order to start from, and what no order can beat.

    Each build alone is searched faster than all together: no common order moves less than its best order, if
    it declares the common one, nor has less of what is added up over the builds.
    """
    alone = [
        find_order(task_of_one(build, task.aims[:1]), [[judge]], effort / len(builds), False)
        for build, judge in zip(task.builds, builds, strict=True)
    ]
    if not all(each.order for each in alone):
        return task
    bounds = [each.reached[0].bound for each in alone]
    starts = [task.order.declared_order()]
    tried = (
        task.order.side_by_side(_extend(task.order, number, each.order)) for number, each in enumerate(alone)
    )
    starts += (each for each in tried if _has_ends(task, each))
    best = min(
        starts, key=lambda each: (_count_faults(task.order, builds, each), task.value(task.aims[0], each))
    )
    if task.aims[0] != "moves":
        return replace(task, start=best, bound=sum(bounds))
    valid = (bound for number, bound in enumerate(bounds) if task.order.agrees(number))
    return replace(task, start=best, bound=max(task.bound, *valid, 0))


def _extend(common: CommonOrder, build: int, order: Sequence[int]) -> tuple[int, ...]:
    """Return an order of a build's units as a common one: what the build lacks stays behind its neighbour."""
    own = common.units[build]
    result = [own[number] for number in order]
    for number in common.declared_order():
        if number not in own:
            result.insert(result.index(number - 1) + 1 if number else 0, number)
    return tuple(result)


def _count_faults(
    common: CommonOrder, builds: Sequence[BuildCandidate], order: tuple[int, ...]
) -> tuple[int, int]:
    """Return how many rules an order does not keep in some build, and at how many bases in all."""
    failing = [
        verdict
        for build, each in enumerate(builds)
        for struct in [each.arrangement.lay_out(common.translate(build, order))]
        for one in each.ruled
        if (verdict := one.judge(struct)).outcome is not Outcome.KEPT
    ]
    return len(failing), sum(len(verdict.bases) for verdict in failing)


def _has_ends(task: OrderTask, order: Sequence[int]) -> bool:
    """Return whether a flexible array is last in each build, and no array without a length becomes one."""
    for number, build in enumerate(task.builds):
        arrangement = build.arrangement
        with_fields = [unit for unit in task.order.translate(number, order) if arrangement.units[unit].fields]
        if arrangement.last not in (None, with_fields[-1]) or with_fields[-1] in arrangement.markers:
            return False
    return True


def _start_as_solution(task: OrderTask, judges: Judges) -> Solution:
    """Return the order from which the search starts as its result, if the rules keep it in all builds.

    For large structs in many builds the search can end before it finds any.
    """
    is_kept = task.start and all(
        verdict.outcome is Outcome.KEPT
        for build, own in enumerate(judges)
        for candidate in own
        for verdict in _verdicts(candidate, task.order.translate(build, task.start))
    )
    if not is_kept:
        return Solution("unknown")
    bounds = (task.bound, *(0 for _ in task.aims[1:]))
    reached = tuple(
        ReachedAim(aim, task.value(aim, task.start), bound)
        for aim, bound in zip(task.aims, bounds, strict=True)
    )
    return Solution("feasible", task.start, reached, tuple(range(task.rules)))


def _verdicts(candidate: BuildCandidate, order: Sequence[int]) -> list[Verdict]:
    struct = candidate.arrangement.lay_out(order)
    return [one.judge(struct) for one in candidate.ruled]


def _failing_builds(
    task: OrderTask, solution: Solution, judges: Judges, after: Sequence[Sequence[Sequence[Verdict]]]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the builds in which rules fail that the search takes for kept, with the rules.

    Of those that it cannot state, only rules that were kept before count.
    """
    first = 0
    for build, (own, verdicts) in enumerate(zip(judges, after, strict=True)):
        kept = {number - first for number in solution.kept}
        failing = {rule for each in zip(own, verdicts, strict=True) for rule in _worse_rules(*each, kept)}
        if failing:
            yield build, tuple(sorted(failing))
        first += task.builds[build].rules


def _worse_rules(candidate: BuildCandidate, verdicts: Sequence[Verdict], kept: set[int]) -> Iterator[int]:
    for number, verdict in enumerate(verdicts):
        was_kept = number not in candidate.reasons or _is_kept(candidate.ruled[number].before)
        if number in kept and was_kept and not _is_kept(verdict):
            yield number


def _is_kept(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.KEPT


def moves_of(order: CommonOrder, units: Sequence[int], reasons: Mapping[int, str]) -> Iterator[Move]:
    """Yield the members that move if the units stand in an order, in that order.

    `reasons` are those for the places of units and opened structs.
    """
    kept = order.staying_nodes(units)
    return _moves_among(order, units, kept, order.top, None, reasons)


def _moves_among(
    order: CommonOrder,
    units: Sequence[int],
    kept: frozenset[int],
    nodes: Sequence[int],
    inside: str | None,
    reasons: Mapping[int, str],
) -> Iterator[Move]:
    """Yield the moves of what stands side by side, and those inside of it."""
    previous = None
    for node in order.in_order(nodes, units):
        group = order.group(node)
        for name in order.members[node] if group is None else (group.name,):
            if node not in kept:
                yield Move(name, previous, inside, reasons.get(node, ""))
            previous = name
        if group is not None:
            yield from _moves_among(order, units, kept, group.nodes, group.name, reasons)
