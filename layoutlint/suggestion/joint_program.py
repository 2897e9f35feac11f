"""The orders that all builds of a struct share, as one constraint program.

Each build has a `Program` of its own. A pair of units has one literal in all of them. The units also have
ranks, so that there is one order of which each build has its part. A single build needs no ranks: its blocks
are an order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import combinations

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import IntVar, LinearExprT, LiteralT

from layoutlint.suggestion.arrangement import Arrangement
from layoutlint.suggestion.common_order import CommonOrder
from layoutlint.suggestion.program import Program, order_at, unmoved_units

Order = Sequence[int]


class JointProgram:
    """A constraint program whose solutions are the common orders of some builds."""

    def __init__(
        self, order: CommonOrder, arrangements: Sequence[Arrangement], weights: Sequence[int] = ()
    ) -> None:
        """`weights` are how often the size and the holes of each build count; once without them."""
        self.model = cp_model.CpModel()
        self.order = order
        self._weights = weights or [1] * len(arrangements)
        self._literals: dict[tuple[int, int], LiteralT] = {}
        """For two common units whether the first stands before the second."""
        self._ranks: list[IntVar] = []
        if len(arrangements) > 1:
            last = len(order.members) - 1
            self._ranks = [self.model.new_int_var(0, last, f"rank{at}") for at in order.declared_order()]
            self.model.add_all_different(self._ranks)
        self.programs = [
            Program(each, self.model, partial(self._literal, units))
            for each, units in zip(arrangements, order.units, strict=True)
        ]
        self.is_kept = [self.model.new_bool_var(f"kept{at}") for at in order.declared_order()]
        self._reached: list[IntVar] = []
        """Where the last of the units that stay ends, of those declared up to each."""
        self._relate_kept()
        for program in self.programs:
            program.state_ends()
        if self._ranks:
            self._order_all_pairs()

    def _order_all_pairs(self) -> None:
        """State the order of each pair in all builds that have it; two units that stay keep theirs."""
        for program in self.programs:
            for a, b in combinations(range(len(program.blocks)), 2):
                program.precedes(a, b)
        for (a, b), literal in self._literals.items():
            self.model.add_bool_or(self.is_kept[a].negated(), self.is_kept[b].negated(), literal)

    def _literal(self, units: Sequence[int], a: int, b: int) -> LiteralT:
        """Return the literal for which unit `a` of a build stands before `b`, which is declared behind it."""
        key = units[a], units[b]
        if key[0] > key[1]:  # the build declares them in another order than the first one
            return self._literal(units, b, a).negated()
        if key not in self._literals:
            self._literals[key] = literal = self.model.new_bool_var(f"before{key[0]}_{key[1]}")
            if self._ranks:
                first, second = (self._ranks[number] for number in key)
                self.model.add(first < second).only_enforce_if(literal)
                self.model.add(second < first).only_enforce_if(literal.negated())
        return self._literals[key]

    def _relate_kept(self) -> None:
        """Relate units that stay: each begins behind the end of those declared before it that stay."""
        model = self.model
        horizon = len(self._ranks) or self.programs[0].horizon
        blocks = self.programs[0].blocks
        ends = [(rank, rank + 1) for rank in self._ranks] or [(each.begin, each.end) for each in blocks]
        reached: LinearExprT = 0
        for number, ((begin, end), is_kept) in enumerate(zip(ends, self.is_kept, strict=True)):
            next_reached = model.new_int_var(0, horizon, f"reached{number}")
            model.add(next_reached >= reached)
            model.add(begin >= reached).only_enforce_if(is_kept)
            model.add(next_reached >= end).only_enforce_if(is_kept)
            self._reached.append(next_reached)
            reached = next_reached

    @property
    def moves(self) -> LinearExprT:
        """The number of declarations that move."""
        pairs = zip(self.order.weights, self.is_kept, strict=True)
        return sum(weight * kept.negated() for weight, kept in pairs)

    def total(self, values: Iterable[LinearExprT]) -> LinearExprT:
        """Return the sum of a value of each build."""
        pairs = zip(values, self._weights, strict=True)
        return sum(value if weight == 1 else weight * value for value, weight in pairs)

    def hint(self, order: Order) -> None:
        """Let the search start with an order of the common units."""
        model, place = self.model, {number: at for at, number in enumerate(order)}
        model.clear_hints()
        ends = {}
        for build, program in enumerate(self.programs):
            ends = program.hint(self.order.translate(build, order))
        if self._ranks:
            ends = {number: place[number] + 1 for number in order}
        for number, rank in enumerate(self._ranks):
            model.add_hint(rank, place[number])
        for (a, b), literal in self._literals.items():
            model.add_hint(literal, place[a] < place[b])
        kept, reached = unmoved_units(order, self.order.weights), 0
        for number, is_kept in enumerate(self.is_kept):
            model.add_hint(is_kept, number in kept)
            reached = max(reached, ends[number]) if number in kept else reached
            model.add_hint(self._reached[number], reached)

    def solution_order(self, solver: cp_model.CpSolver) -> tuple[int, ...]:
        """Return the order of the common units in the solution that a solver found."""
        if self._ranks:
            return tuple(
                sorted(self.order.declared_order(), key=lambda number: solver.value(self._ranks[number]))
            )
        blocks = self.programs[0].blocks
        begins = [solver.value(block.begin) for block in blocks]
        return order_at(begins, [solver.value(block.end) for block in blocks])
