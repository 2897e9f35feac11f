"""The search for the best order: one objective after the other, each with its bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import LinearExprT, LiteralT

from layoutlint.model.record import Record, replace
from layoutlint.suggestion.orders.arrangement import Arrangement, MemberUnit
from layoutlint.suggestion.orders.demands import Demand
from layoutlint.suggestion.orders.joint_program import JointProgram
from layoutlint.suggestion.orders.problem import (
    Aim,
    BuildTask,
    Exclusion,
    OrderTask,
    ReachedAim,
    SizeClass,
    Solution,
    State,
)
from layoutlint.suggestion.orders.program import Program
from layoutlint.suggestion.orders.statements import state
from layoutlint.suggestion.orders.symmetry import interchangeable_units

_MOST_MOVES = 40


class _Possible(Record, frozen=True):
    """Whether some order keeps rules."""

    state: State
    order: tuple[int, ...] = ()
    bound: int = 0
    """No order is smaller, in bytes; 0 if that was not searched."""


_FEW = 30
"""The most units of a struct that one strategy searches."""


def _second(units: int) -> float:
    """Return CP-SAT's deterministic time in about a second, which is shorter for many units."""
    return min(0.75, max(0.15, 10 / max(units, 1)))


def _small_order(arrangement: Arrangement, size: int) -> tuple[int, ...] | None:
    """Return an order of at most some bytes that few moves lead to; None if none was found."""
    units, grains = arrangement.units, size * 8 // arrangement.grain
    fixed = 1 if arrangement.last is not None else 0
    order = list(range(len(units)))
    end = _advance(units, order, 0)
    for _ in range(_MOST_MOVES):
        if end <= grains:
            return tuple(order)
        best = min(
            (move for at in range(len(order) - fixed) for move in [_best_place(units, order, at, fixed)]),
            default=(end, 0, 0),
        )
        if best[0] >= end:
            return None
        end, at, to = best
        order.insert(to, order.pop(at))
    return tuple(order) if end <= grains else None


def _best_place(units: Sequence[MemberUnit], order: list[int], at: int, fixed: int) -> tuple[int, int, int]:
    """Return where the struct ends if the unit at a position moves to its best place, and the two places."""
    rest = order[:at] + order[at + 1 :]
    period = max(unit.period for unit in units)
    # lengths[i][r]: grains from unit i of the rest to the end, if the one before ends at residue r.
    lengths = [[0] * period]
    for number in reversed(rest):
        unit, behind = units[number], lengths[-1]
        rows = [gap + length for gap, length in zip(unit.gaps, unit.lengths, strict=True)]
        spans = [rows[residue % unit.period] for residue in range(period)]
        lengths.append([span + behind[(residue + span) % period] for residue, span in enumerate(spans)])
    lengths.reverse()
    begin, best = 0, (1 << 60, at, at)
    for to in range(len(rest) + 1 - fixed):
        moved = _advance(units, (order[at],), begin)
        best = min(best, (moved + lengths[to][moved % period], at, to))
        if to < len(rest):
            begin = _advance(units, (rest[to],), begin)
    return best


def _advance(units: Sequence[MemberUnit], order: Sequence[int], end: int) -> int:
    """Return where some units end, in grains, behind one that ends at `end`."""
    for number in order:
        unit = units[number]
        row = end % unit.period
        end += unit.gaps[row] + unit.lengths[row]
    return end


class OrderSearch:
    """A search with a limit of work."""

    def __init__(self, task: OrderTask, effort: float) -> None:
        """`effort` is the most work of each step, about seconds of a processor; a quarter for `holes`."""
        self.task = task
        self._units = sum(len(build.arrangement.units) for build in task.builds)
        self._effort = effort * _second(self._units)
        self.spent = 0.0
        """The effort that all steps so far took."""
        self._classes = _symmetry(task)

    def strict(self) -> Solution:
        """Return the best order that keeps all rules."""
        return self._best(range(self.task.rules))

    def run(self) -> Solution:
        """Return the best order that keeps all rules; else the contradicting rules and a compromise."""
        every = tuple(range(self.task.rules))
        solution = self._best(every)
        if solution.state != "infeasible":
            return solution
        core, is_minimal = self._core(every)
        compromise = self._most_rules()
        return Solution("infeasible", compromise.order, compromise.reached, compromise.kept, core, is_minimal)

    def any_order(self, rules: Sequence[int]) -> Solution:
        """Return some order that keeps some rules, whatever it moves."""
        possible = self._possible_order(rules)
        return Solution(possible.state, possible.order, (), tuple(rules))

    def _best(self, rules: Sequence[int]) -> Solution:
        """Return the best order that keeps some rules."""
        aim, possible = self.task.aims[0], _Possible("unknown")
        is_size = aim == "size"
        if self._classes and (rules or is_size):
            possible = self._possible_order(rules, is_size)
            if possible.state == "infeasible":
                return Solution("infeasible")
        bound = max(self.task.bound, possible.bound)
        first = possible.order if is_size else ()
        solution = self._descend(*self._program_for(rules, bound), first or self.task.start)
        if solution.state == "unknown" and possible.order and not first:
            solution = self._descend(*self._program_for(rules, bound), possible.order)
        return _with_bound(solution, bound)

    def _program_for(self, rules: Sequence[int], bound: int) -> tuple[JointProgram, list[LiteralT]]:
        """Return the program in which some rules are kept, with what no order is below for the first aim."""
        program, literals = self._program()
        for rule in rules:
            program.model.add(literals[rule] == 1)
        if bound:
            program.model.add(self._expression(program, self.task.aims[0]) >= bound)
        return program, literals

    def _descend(
        self, program: JointProgram, literals: Sequence[LiteralT], start: tuple[int, ...]
    ) -> Solution:
        """Return the best solution of a program, with the rules whose literals hold in it."""
        order: tuple[int, ...] = ()
        kept: tuple[int, ...] = ()
        reached: list[ReachedAim] = []
        is_proved = True
        program.hint(start or self.task.order.declared_order())
        for aim in self._steps():
            expression = self._expression(program, aim)
            if aim == "first" and self._keeps_first(order):
                program.model.add(expression <= 0)
                continue
            program.model.minimize(expression)
            solver = self._solver(0.25 if aim in ("holes", "first") else 1.0)
            status = self._run(solver, program)
            if status == cp_model.INFEASIBLE:
                return Solution("infeasible")
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                if not order:
                    return Solution("unknown")
                is_proved = False
                break
            value = round(solver.objective_value)
            bound = value if status == cp_model.OPTIMAL else int(-(-solver.best_objective_bound // 1))
            if aim != "first":  # which is no aim that reports state
                is_proved = is_proved and status == cp_model.OPTIMAL
                reached.append(ReachedAim(aim, value, bound))
            order = program.solution_order(solver)
            kept = tuple(rule for rule, literal in enumerate(literals) if solver.boolean_value(literal))
            program.model.clear_objective()
            program.model.add(expression <= value)
            program.hint(self._start(order, aim, value))
        return Solution("optimal" if is_proved else "feasible", order, tuple(reached), kept)

    def _steps(self) -> Iterator[Aim | Literal["first"]]:
        """Yield the aims; for the smallest order, between moves and holes, that the first member stays first.

        Code can take the address of a struct for that of its first member.
        """
        for aim in self.task.aims:
            yield aim
            if aim == "moves" and self.task.aims[0] == "size":
                yield "first"

    def _keeps_first(self, order: tuple[int, ...]) -> bool:
        """Return whether the member that is declared first is first in all builds."""
        common = self.task.order
        return all(common.translate(number, order)[0] == 0 for number in range(len(self.task.builds)))

    def _start(self, order: tuple[int, ...], aim: str, value: int) -> tuple[int, ...]:
        """Return the order with which the search for the next aim starts.

        The smallest order that was found can move nearly all units, where few moves do.
        """
        build, *others = self.task.builds
        if others or aim != "size" or self.task.aims[-1] == aim:
            return order
        if build.rules or build.limits or build.excluded or build.arrangement.groups:
            return order
        return _small_order(build.arrangement, value) or order

    def _expression(self, program: JointProgram, aim: str) -> LinearExprT:
        if aim == "moves":
            return program.moves
        if aim == "first":
            return program.total(one.first_moves for one in program.programs)
        if aim == "size":
            return program.total(one.size for one in program.programs)
        if aim == "holes":
            return program.total(one.count_holes() for one in program.programs)
        if aim == "contention":
            return program.total(map(_contention, program.programs, self.task.builds))
        return program.total(map(_lines, program.programs, self.task.builds))

    def _program(self) -> tuple[JointProgram, list[LiteralT]]:
        """Return the program with a literal for each rule, which implies its demands."""
        task = self.task
        joint = JointProgram(
            task.order, [build.arrangement for build in task.builds], [build.weight for build in task.builds]
        )
        literals: list[LiteralT] = [joint.model.new_bool_var(f"rule{number}") for number in range(task.rules)]
        first = 0
        for program, build in zip(joint.programs, task.builds, strict=True):
            _state_build(program, build, literals[first : first + build.rules])
            first += build.rules
        return joint, literals

    def _core(self, rules: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
        """Return rules that contradict one another, and whether that needs each of them."""
        core = list(self._assumptions(rules) or rules)
        is_minimal = True
        for rule in tuple(core):
            rest = [each for each in core if each != rule]
            answer = self._possible_order(rest).state
            if answer == "infeasible":
                core = rest
            elif answer == "unknown":
                is_minimal = False
        return tuple(core), is_minimal

    def _assumptions(self, rules: Sequence[int]) -> list[int]:
        program, literals = self._program()
        self._break_symmetry(program)
        program.model.add_assumptions([literals[rule] for rule in rules])
        solver = self._solver()
        if self._run(solver, program) != cp_model.INFEASIBLE:
            return []
        numbers = {literal.index: rule for rule, literal in enumerate(literals)}
        return sorted(numbers[index] for index in solver.sufficient_assumptions_for_infeasibility())

    def _possible_order(self, rules: Sequence[int], is_small: bool = False) -> _Possible:
        """Return whether some order keeps some rules, and one that does; a small one if it `is_small`."""
        program, literals = self._program()
        self._break_symmetry(program)
        for rule in rules:
            program.model.add(literals[rule] == 1)
        if is_small:
            program.model.minimize(self._expression(program, "size"))
        solver = self._solver()
        status = self._run(solver, program)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            bound = round(solver.best_objective_bound) if is_small else 0
            return _Possible("feasible", program.solution_order(solver), bound)
        return _Possible("infeasible" if status == cp_model.INFEASIBLE else "unknown")

    def _break_symmetry(self, program: JointProgram) -> None:
        """State that units which can take each other's places stand as declared; moves must not count."""
        for units in self._classes:
            for a, b in pairwise(units):
                program.model.add_bool_or(program.programs[0].precedes(a, b))

    def _most_rules(self) -> Solution:
        """Return the best order among those that keep the most rules, if none keeps all."""
        program, _, kept = self._program_with_least(0)
        self._break_symmetry(program)
        program.model.maximize(kept)
        solver = self._solver()
        if self._run(solver, program) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Solution("unknown")
        program, literals, _ = self._program_with_least(round(solver.objective_value))
        return self._descend(program, literals, self.task.start)

    def _program_with_least(self, least: int) -> tuple[JointProgram, list[LiteralT], LinearExprT]:
        """Return the program in which at least some rules are kept, and not all; and how many are kept."""
        program, literals = self._program()
        weights = [build.weight for build in self.task.builds for _ in range(build.rules)]
        kept = sum(weight * literal for weight, literal in zip(weights, literals, strict=True))
        program.model.add(kept >= least)
        program.model.add(kept <= sum(weights) - min(weights))
        return program, literals, kept

    def _run(self, solver: cp_model.CpSolver, program: JointProgram) -> cp_model.CpSolverStatus:
        """Return the result of a step, whose effort is counted."""
        status = solver.solve(program.model)
        self.spent += solver.response_proto.deterministic_time / _second(self._units)
        return status

    def _solver(self, share: float = 1.0) -> cp_model.CpSolver:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.catch_sigint_signal = False  # it would end this step alone, and the next begins
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = self._effort * share
        # Several strategies in turns find better orders of many units, and need longer for few.
        solver.parameters.interleave_search = self._units > _FEW
        solver.parameters.cp_model_probing_level = 0
        solver.parameters.max_presolve_iterations = 1
        return solver


def _with_bound(solution: Solution, bound: int) -> Solution:
    """Return a solution that states what no order is below for the first aim: the solver can forget it."""
    if not solution.reached:
        return solution
    first, *others = solution.reached
    least = max(first.bound, min(bound, first.value))
    return replace(solution, reached=(replace(first, bound=least), *others))


def _symmetry(task: OrderTask) -> tuple[tuple[int, ...], ...]:
    """Return the units that can take each other's places; none for several builds or excluded orders."""
    if len(task.builds) > 1 or task.excluded:
        return ()
    (build,) = task.builds
    fixed = {unit for limit in build.limits for unit in (*limit.units, *limit.after)}
    return interchangeable_units(build.arrangement, _marked_demands(build.classes), fixed)


def _marked_demands(classes: Sequence[SizeClass]) -> Iterator[tuple[object, Demand]]:
    """Yield the demands with what they belong to: a rule at some sizes, or one base of it."""
    for number, each in enumerate(classes):
        for rule, demands in each.demands.items():
            yield from (((number, rule), demand) for demand in demands)
        for rule, (by_base, _) in each.tolerated.items():
            for base, demands in enumerate(by_base):
                yield from (((number, rule, base), demand) for demand in demands)


def _lines(program: Program, build: BuildTask) -> LinearExprT:
    """Return the number of lines that the declared paths of a build touch, or more."""
    return sum(program.most_lines(path, build.bases, build.line) for path in build.paths)


def _contention(program: Program, build: BuildTask) -> LinearExprT:
    """Return what the pairs cost that share a line, at all bases, or more."""
    costs: list[LinearExprT] = []
    for pair in build.pairs:
        for base in pair.apart.bases:
            is_shared = program.model.new_bool_var("")
            state(program, replace(pair.apart, bases=(base,)), (is_shared.negated(),))
            costs.append(pair.weight * is_shared)
    return sum(costs)


def _state_build(program: Program, build: BuildTask, literals: Sequence[LiteralT]) -> None:
    """State what a build demands; each rule if its literal holds."""
    chosen = [program.model.new_bool_var(f"class{number}") for number in range(len(build.classes))]
    if build.classes:
        program.model.add_exactly_one(chosen)
    for size_class, is_chosen in zip(build.classes, chosen, strict=True):
        if size_class.sizes:
            domain = cp_model.Domain.from_values(list(size_class.sizes))
            program.model.add_linear_expression_in_domain(program.size, domain).only_enforce_if(is_chosen)
        _state_rules(program, size_class, literals, is_chosen)
    for limit in build.limits:
        program.limit(limit)
    for exclusion in build.excluded:
        _exclude(program, exclusion, literals)


def _state_rules(
    program: Program, size_class: SizeClass, literals: Sequence[LiteralT], is_chosen: LiteralT
) -> None:
    for rule, demands in size_class.demands.items():
        for demand in demands:
            state(program, demand, (literals[rule], is_chosen))
    for rule, (by_base, most) in size_class.tolerated.items():
        failing = [program.model.new_bool_var("") for _ in by_base]
        for fails, demands in zip(failing, by_base, strict=True):
            for demand in demands:
                state(program, demand, (literals[rule], is_chosen, fails.negated()))
        program.model.add(sum(failing) <= most).only_enforce_if(literals[rule], is_chosen)
    for rule in size_class.impossible:
        program.model.add_implication(is_chosen, literals[rule].negated())


def _exclude(program: Program, exclusion: Exclusion, literals: Sequence[LiteralT]) -> None:
    """Exclude one order, for each of its rules."""
    is_other = [program.precedes(b, a) for a, b in pairwise(exclusion.order)]
    for rule in exclusion.rules:
        program.model.add_bool_or(is_other).only_enforce_if(literals[rule])
