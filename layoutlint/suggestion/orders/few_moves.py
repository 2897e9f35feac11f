"""Orders that few moves lead to: all with one move, those with two that can mend a rule, then from the best.

Each order is judged by all demands at all placements. At most two moves are proved to be the fewest, because
all orders with fewer moves were tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from layoutlint.model.reading import Progress, no_progress
from layoutlint.model.record import Record, replace
from layoutlint.phrases import quantity
from layoutlint.suggestion.orders.problem import Aim, OrderTask, ReachedAim, Solution, State, Step
from layoutlint.suggestion.orders.tables import orders_of, tokens
from layoutlint.suggestion.orders.taste import Critic

_WORK = 200_000_000
"""Tokens that are laid out in about a second of compiled code."""
_MOST_KEPT = 60
"""The most orders from which the search goes on after each move."""
_MOST_PLACES = 4
"""The most places of one token among them."""
_DEEPEST = 40
"""The most moves that are tried one after another."""
_MOST_SIDEWAYS = 2
"""The most of them that break no less than the one before."""
_MOST_IDLE = 3
"""The most moves, one after another, that make nothing smaller."""
_MOST_WAITING = 20
"""The most orders of which all members are moved after each move; fewer of many members."""
_MOST_PAIRS = 40_000
"""The most moves that are tried of each of these, about."""
_MOST_TASTED = 60
"""The most orders of one size among which taste decides: moves, the first member and holes come before."""
_MOST_PASSES = 2
"""How often members of an order by alignments are put back behind the one before them."""
_MOST_POLISHED = 8
"""How often an order is changed for a better one of as many moves near it."""
_WIDE = 20
"""The most tokens between two fields that are to be apart among which others are put."""

_COUNTED: tuple[Aim, ...] = ("moves", "size", "holes")
"""The aims that are counted for each order that is tried."""

_Weighed = tuple[tuple[int, ...], int]
"""An order of tokens, and the weight of the moves that lead to it."""


class FewMoves(Record, frozen=True):
    """What the search found."""

    order: tuple[int, ...]
    """Common units; empty for none."""
    bound: int
    """No order has fewer moves."""
    is_best: bool
    """Whether all orders with as many moves were tried."""
    in_the_way: tuple[int, ...] = ()
    """The rules that the nearest order breaks, if there is none that keeps all."""
    is_interrupted: bool = False


def solve(task: OrderTask, effort: float, progress: Progress = no_progress) -> Solution:
    """Return an order with few moves that keeps all rules, and the bounds that the search proves.

    The state is unknown if none was found; then the moves have a bound. `effort` is about the seconds of a
    processor for each step. An interrupt ends the search with the best order so far, if there is one.
    """
    search = _MoveSearch(task, effort, progress)
    found = search.run()
    return replace(_solution_of(task, found), effort=search.spent)


def _solution_of(task: OrderTask, found: FewMoves) -> Solution:
    """Return what was found as a solution."""
    if not found.order:
        return Solution("unknown", (), (ReachedAim("moves", 0, found.bound),), in_the_way=found.in_the_way)
    moves = task.order.count_moves(found.order)
    if found.is_best and moves <= found.bound and task.aims[0] == "moves":
        solution = solution_at(task, found.order, {aim: task.value(aim, found.order) for aim in task.aims})
    else:
        solution = solution_at(task, found.order, {"moves": min(found.bound, moves)})
    return replace(solution, is_interrupted=found.is_interrupted)


def solution_at(task: OrderTask, order: tuple[int, ...], bounds: Mapping[Aim, int]) -> Solution:
    """Return an order that keeps all rules as a solution; `bounds` are what no order is below, by the aim."""
    reached = []
    for aim in task.aims:
        value = task.value(aim, order)
        bound = bounds.get(aim, _least(task, aim))
        reached.append(ReachedAim(aim, value, min(bound, value)))
    is_proved = all(one.value == one.bound for one in reached)
    state: State = "optimal" if is_proved else "feasible"
    return Solution(state, order, tuple(reached), tuple(range(task.rules)))


def shrink(
    task: OrderTask, effort: float, progress: Progress = no_progress, goes_on: bool = True
) -> Solution:
    """Return the smallest order that was found by one move after the other, and those on the way.

    If the first aim is `contention`, the one whose pairs cost the least. All of them keep the rules. The
    state is `optimal` if no order is smaller, and none as small moves less; then the first member stays
    first. It is unknown if no order keeps the rules. Behind the limit of effort, the search `goes_on` from
    the best order until none is smaller; else it ends there.
    """
    search = _Shrinking(task, effort, progress)
    few = search.run()
    if not few.order or few.is_interrupted:
        return replace(_solution_of(task, few), effort=search.spent)
    steps = search.steps(few.order, goes_on)
    last = steps[-1]
    bounds: dict[Aim, int] = {"moves": min(last.moves, search.fewest_moves)}
    is_declared = few.order == task.order.declared_order()
    if task.aims[0] == "contention" and is_declared and last.moves == bounds["moves"] <= 1:
        bounds["size"] = last.size  # all orders with one move were tried
    solution = solution_at(task, last.order, bounds)
    if task.aims[0] == "size" and last.order[0]:  # with the first member first is better, and has more holes
        solution = replace(solution, state="feasible")
    return replace(solution, steps=steps, is_interrupted=search.is_interrupted, effort=search.spent)


def polish(task: OrderTask, order: tuple[int, ...], progress: Progress = no_progress) -> tuple[int, ...]:
    """Return the order that a person likes best of those near one that keep all rules and reach as much.

    Of the members that move, one after the other moves elsewhere; those that stay do not change.
    """
    return _MoveSearch(task, 1.0, progress).polish(order)


def _least(task: OrderTask, aim: str) -> int:
    """Return what no order is below for an aim."""
    if aim == "contention":
        return sum(build.weight * build.least_contention for build in task.builds)
    if aim != "size":
        return 0
    total = 0
    for build in task.builds:
        bits = sum(min(unit.lengths) for unit in build.arrangement.units) * build.arrangement.grain
        align = build.arrangement.align * 8
        total += build.weight * (-(-bits // align) * align // 8)
    return total


class _MoveSearch:
    """One search."""

    def __init__(self, task: OrderTask, effort: float, progress: Progress) -> None:
        order = task.order
        self._task = task
        self._progress = progress
        self._orders = orders_of(task, self._show)
        self._declared = tokens(order, order.declared_order())
        nodes = [node for level in order.levels for node in level]
        self._nodes = sorted(nodes, key=self._declared.index)
        self._weights = [0] * len(self._declared)
        for node in nodes:
            self._weights[node] = order.weight(node)
        self._limit = int(effort * _WORK)
        self._critic = Critic(order, task.taste)
        self._seen: set[tuple[int, ...]] = set()
        self._nearest = self._declared
        self._most_waiting = min(max(_MOST_PAIRS // len(self._declared) ** 2, 2), _MOST_WAITING)
        self._is_exact = all(map(order.weight, nodes))
        """Whether each order but the declared one counts as moved: a new member moves for nothing."""
        self.has_tried_one = False
        """Whether all orders with one move were tried."""
        self.is_interrupted = False

    @property
    def spent(self) -> float:
        """The effort that the search took so far."""
        return self._orders.work / _WORK

    @property
    def fewest_moves(self) -> int:
        """The moves that any order has which is better than those tried so far."""
        return 1 + self.has_tried_one if self._is_exact else 0

    def _show(self, work: int) -> None:
        """Show how far the search is."""
        best = self._orders.best[0]
        found = f", best so far {quantity(best, 'move')}" if self._orders.found else ""
        self._progress(f"trying orders{found}", min(work, 2 * self._limit - 1), 2 * self._limit)

    def run(self) -> FewMoves:
        """Return the order with the fewest moves. Raises KeyboardInterrupt if none was found before it."""
        try:
            return self._run()
        except KeyboardInterrupt:
            if not self._orders.found:
                raise
            self.is_interrupted = True
            return self._result(False, self.fewest_moves)

    def _run(self) -> FewMoves:
        declared, end = self._declared, self._limit
        if not self._orders.faults(declared)[0]:
            return FewMoves(self._task.order.declared_order(), 0, True)
        is_done = self._orders.try_one(declared, self._nodes, self._weights, (), 0, end)
        if self._orders.best[0] <= 1 or not is_done:
            return self._result(is_done, 1)
        self.has_tried_one = True
        is_complete = self._try_pairs()
        if self._orders.best[0] <= 2:
            return self._result(is_complete, 2)
        moves = _fewest(self._orders.improved)
        waiting = [self._move(declared, token, to, 0) for _, _, token, to in moves] or [(declared, 0)]
        self._nearest = waiting[0][0]
        self._go_on(waiting)
        return self._result(False, 2 + is_complete)

    def _move(self, order: Sequence[int], token: int, to: int, weight: int) -> _Weighed:
        """Return an order in which a token moves, after moves of some weight."""
        return self._orders.move(order, token, to), weight + self._weights[token]

    def _result(self, is_best: bool, bound: int) -> FewMoves:
        allowed = [each for each in map(self._units, self._orders.found) if not self._is_excluded(each)]
        best = min(allowed, key=self._distaste, default=())
        broken = () if best else tuple(self._orders.broken_rules(self._nearest))
        is_best = is_best and bool(allowed) and self._is_exact
        return FewMoves(best, bound * self._is_exact, is_best, broken, self.is_interrupted)

    def polish(self, order: tuple[int, ...]) -> tuple[int, ...]:
        """Return the best order for taste that places of moved members lead to, one after the other."""
        for _ in range(_MOST_POLISHED):
            best = min((order, *self._ties(order)), key=self._distaste)
            if best == order:
                break
            order = best
        return order

    def _ties(self, order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield the orders that reach as much as one, in which one of its moved members is elsewhere."""
        task, orders, kept = self._task, self._orders, self._critic.staying.nodes(order)
        first = task.aims[0]
        value = task.value(first, order)
        moves, size, holes = (task.value(aim, order) for aim in _COUNTED)
        for node in (node for node in self._nodes if node not in kept):
            orders.best, orders.found = (moves, size, holes), []
            weight, end = moves - self._weights[node], orders.work + self._limit
            orders.try_one(tokens(task.order, order), (node,), self._weights, (), weight, end)
            for each in map(self._units, orders.found if orders.best == (moves, size, holes) else ()):
                is_tie = self._critic.staying.count_moves(each) == moves and not self._is_excluded(each)
                if is_tie and task.value(first, each) == value:
                    yield each

    def _distaste(self, order: tuple[int, ...]) -> tuple[int, ...]:
        """Return how little a person would like an order, most important first.

        Orders of one size cost as much in a build, but several builds can share a sum of sizes differently.
        Of the smallest orders, those are better in which the first member stays first.
        """
        builds, growth = self._task.builds, Counter[int]()
        if len(builds) > 1:
            sizes = self._orders.sizes(tokens(self._task.order, order))
            for build, size in zip(builds, sizes, strict=True):
                growth.update({at: build.weight * own for at, own in enumerate(build.growth(size))})
        is_other_first = int(self._task.aims[0] == "size" and order[0] != 0)
        return (is_other_first, *(growth[at] for at in sorted(growth)), *self._critic.distaste(order))

    def _units(self, order: Sequence[int]) -> tuple[int, ...]:
        count = len(self._task.order.members)
        return tuple(token for token in order if token < count)

    def _is_excluded(self, order: tuple[int, ...]) -> bool:
        """Return whether a build has an order that is no solution, though it keeps the demands."""
        return any(
            self._task.order.translate(number, order) == each.order
            for number, build in enumerate(self._task.builds)
            for each in build.excluded
        )

    def _try_pairs(self) -> bool:
        """Try orders in which two units move; return whether all were tried.

        If these are too many, units move that broken rules name, or whose demands are not met.
        """
        movers, count = self._nodes, len(self._declared)
        is_complete = count**5 <= self._limit // 4
        if not is_complete:
            movers = self._movers(self._orders.failing(self._declared, True))
            if (len(movers) * count) ** 2 * count > 4 * self._limit:
                movers = self._movers(self._orders.failing(self._declared, False))
        most, end = self._orders.best[0], self._orders.work + self._limit
        is_done = self._orders.try_two(self._declared, movers, self._weights, most, end)
        return is_complete and is_done

    def _go_on(self, waiting: list[_Weighed]) -> None:
        """Move one unit after the other, from the orders that break the least; a few times sideways."""
        end, sideways = self._orders.work + self._limit, 0
        for _ in range(_DEEPEST):
            improved = self._step(waiting, end, False)
            if not improved and not self._orders.found and sideways < _MOST_SIDEWAYS:
                sideways += 1
                improved = self._step(waiting, end, True)
            if self._orders.found or not improved:
                return
            improved.sort()
            moved = (
                (self._orders.move(order, token, to), weight) for _, _, weight, order, token, to in improved
            )
            waiting = list(self._fresh(moved))
            self._nearest = waiting[0][0] if waiting else self._nearest

    def _step(
        self, waiting: list[_Weighed], end: int, is_sideways: bool
    ) -> list[tuple[int, int, int, tuple[int, ...], int, int]]:
        """Return the moves from some orders after which less is broken, up to a limit of work.

        If it `is_sideways`, as many rules may be broken by more; then others do not move between fields.
        """
        improved: list[tuple[int, int, int, tuple[int, ...], int, int]] = []
        for number, (order, weight) in enumerate(waiting):
            failing = self._orders.failing(order, False)
            is_about_all = not all(failing)  # as sizes and holes
            is_late = self._orders.work > end or (is_about_all and number >= self._most_waiting)
            if weight >= self._orders.best[0] or is_late:
                continue
            self._orders.improved = []
            movers = self._nodes if is_about_all else self._movers(failing)
            windows = [] if is_sideways else _windows(order, failing)
            self._orders.try_one(order, movers, self._weights, windows, weight, end, is_sideways)
            improved += (
                (broken, missed, weight + self._weights[token], order, token, to)
                for broken, missed, token, to in _fewest(self._orders.improved)
            )
        return improved

    def _fresh(self, improved: Iterable[_Weighed]) -> Iterator[_Weighed]:
        """Yield the first orders that were not gone on from."""
        count = 0
        for order, weight in improved:
            if order not in self._seen:
                self._seen.add(order)
                count += 1
                yield order, weight
            if count == _MOST_KEPT:
                return

    def _movers(self, failing: Iterable[Sequence[int]]) -> list[int]:
        """Return what can move of the fields of some demands."""
        wanted = {token for own in failing for token in own}
        groups = self._task.order.groups
        wanted |= {group.number for group in groups if not wanted.isdisjoint(group.units)}
        return [node for node in self._nodes if node in wanted]


class _Shrinking(_MoveSearch):
    """A search for smaller orders, or those with less contention, by one move after the other."""

    def steps(self, start: tuple[int, ...], goes_on: bool) -> tuple[Step, ...]:
        """Return smaller and smaller orders, beginning with one that keeps the rules."""
        task, first = self._task, tokens(self._task.order, start)
        found = [self._step_to(start)]
        least, waiting, idle = _least(task, task.aims[0]), [(first, 0)], 0
        end, limit = self._orders.value(first), self._orders.work + self._limit
        try:
            while waiting and idle < _MOST_IDLE and found[-1].value > least:
                if self._orders.work > limit and not goes_on:
                    break
                smaller = self._shrink_all(waiting, end, limit)
                self.has_tried_one |= first == self._declared
                waiting = list(self._fresh(moved for _, moved in smaller))
                idle = 0 if smaller and smaller[0][0][0] < end else idle + 1
                end = smaller[0][0][0] if smaller else end
                found += self._next_step(smaller, found[-1].value)
            if task.aims[0] == "contention":
                found[-1] = self._step_to(self._put_back(found[-1].order))
            elif found[-1].value > least:
                found += self._packed_step(found[-1].value)
        except KeyboardInterrupt:
            self.is_interrupted = True
        return tuple(found)

    def _step_to(self, order: tuple[int, ...]) -> Step:
        """Return an order as a step."""
        task = self._task
        moves, size = task.order.count_moves(order), task.value("size", order)
        return Step(moves, size, order, task.value(task.aims[0], order))

    def _packed_step(self, size: int) -> Iterator[Step]:
        """Yield the order by falling alignments, with what can be where it was declared, if it is smaller."""
        task = self._task
        aligns: dict[int, int] = {}
        for build, units in zip(task.builds, task.order.units, strict=True):
            for common, own in zip(units, build.arrangement.units, strict=True):
                aligns[common] = max(aligns.get(common, 0), own.period * build.arrangement.grain)
        order = task.order.side_by_side(sorted(aligns, key=lambda unit: (-aligns[unit], unit)))
        if self._fits(order) and task.value("size", order) < size:
            yield self._step_to(self._put_back(order))

    def _put_back(self, start: tuple[int, ...]) -> tuple[int, ...]:
        """Return an order with what can be where it was declared, if that makes it no larger."""
        task, order = self._task, list(start)
        end, moves = self._orders.value(tokens(task.order, order)), task.order.count_moves(order)
        kept = task.order.staying_nodes(order)
        for unit in _MOST_PASSES * task.order.declared_order()[1:]:
            if unit in kept:
                continue
            rest = [each for each in order if each != unit]
            rest.insert(rest.index(unit - 1) + 1, unit)
            fewer = task.order.count_moves(rest)
            if fewer <= moves and self._fits(rest) and self._orders.value(tokens(task.order, rest)) <= end:
                order, moves, kept = rest, fewer, task.order.staying_nodes(rest)
        return tuple(order)

    def _fits(self, order: Sequence[int]) -> bool:
        """Return whether an order keeps all rules, and what it must meet."""
        is_whole = tuple(order) == self._task.order.side_by_side(order)
        return is_whole and not self._orders.faults(tokens(self._task.order, order))[0]

    def _next_step(self, smaller: list[tuple[tuple[int, int, int], _Weighed]], value: int) -> Iterator[Step]:
        """Yield the best of some orders that a person would take, if its first aim is below a value."""
        task, sizes = self._task, dict[int, int]()
        for (end, _, _), (order, _) in smaller:
            if end not in sizes:
                sizes[end] = task.value(task.aims[0], self._units(order))
        least = min(sizes.values(), default=value)
        if least < value:
            each = ((key, self._units(moved[0])) for key, moved in smaller if sizes[key[0]] == least)
            best = sorted((*self._badness(key, order), order) for key, order in each)
            equal = [one[3] for one in best if one[:3] == best[0][:3]]
            order = min(equal[:_MOST_TASTED], key=self._distaste)
            yield self._step_to(order)

    def _badness(self, key: tuple[int, int, int], order: tuple[int, ...]) -> tuple[int, int, int]:
        """Return how good an order is among those with the best value; `key` has holes or bits, and moves."""
        if self._task.aims[0] == "contention":
            return key[2], self._task.value("size", order), order[0] != 0
        return key[2], order[0] != 0, key[1]

    def _shrink_all(
        self, waiting: list[_Weighed], end: int, limit: int
    ) -> list[tuple[tuple[int, int, int], _Weighed]]:
        """Return orders that one move leads to and whose value is at most `end`, the smallest first.

        Behind a limit of work only the first of those waiting is gone on from.
        """
        found: list[tuple[tuple[int, int, int], _Weighed]] = []
        for number, (order, weight) in enumerate(waiting[: self._most_waiting]):
            if number and self._orders.work > limit:
                break
            self._orders.try_smaller(order, self._nodes, end)
            for value, second, token, to in _fewest(self._orders.improved):
                moved = self._move(order, token, to, weight)
                found.append(((value, second, moved[1]), moved))
        return sorted(found)


def _windows(order: Sequence[int], failing: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """Return the places between fields that are near one another, and whose demands are not met."""
    places = {token: at for at, token in enumerate(order)}
    windows = []
    for own in failing:
        low, high = (end((places[token] for token in own), default=0) for end in (min, max))
        if low < high <= low + _WIDE:
            windows.append((low, high))
    return list(dict.fromkeys(windows))


def _fewest(improved: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Return the moves after which the least is broken, a few of each token."""
    count: Counter[int] = Counter()
    kept = []
    for each in sorted(improved):
        count[each[2]] += 1
        if count[each[2]] <= _MOST_PLACES:
            kept.append(each)
    return kept[:_MOST_KEPT]
