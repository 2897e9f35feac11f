"""The orders that all builds of a struct share, as one constraint program.

Each build has a `Program` of its own. A pair of units has one literal in all of them. The units also have
ranks among those beside them, so that there is one order of which each build has its part. A single build
needs no ranks: its blocks are an order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import IntVar, LinearExprT, LiteralT

from layoutlint.suggestion.orders.arrangement import Arrangement
from layoutlint.suggestion.orders.common_order import CommonOrder
from layoutlint.suggestion.orders.program import Program

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
        """For two common units or opened structs whether the first stands before the second."""
        self._ranks: dict[int, IntVar] = {}
        if len(arrangements) > 1:
            for nodes in order.levels:
                ranks = {node: self.model.new_int_var(0, len(nodes) - 1, f"rank{node}") for node in nodes}
                self.model.add_all_different(ranks.values())
                self._ranks |= ranks
        self.programs = [
            Program(each, self.model, partial(self._literal, order.nodes_of(build)))
            for build, each in enumerate(arrangements)
        ]
        self._nodes = [node for nodes in order.levels for node in nodes]
        self.is_kept = {node: self.model.new_bool_var(f"kept{node}") for node in self._nodes}
        """For each unit and opened struct whether it stays among those beside it."""
        self._reached: dict[int, IntVar] = {}
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

    def _literal(self, nodes: Sequence[int], a: int, b: int) -> LiteralT:
        """Return the literal for which `a` of a build stands before `b`, which is declared behind it."""
        key = nodes[a], nodes[b]
        if self.order.first_unit(key[0]) > self.order.first_unit(key[1]):
            return self._literal(nodes, b, a).negated()  # the first build declares them in another order
        if key not in self._literals:
            self._literals[key] = literal = self.model.new_bool_var(f"before{key[0]}_{key[1]}")
            if self._ranks:
                first, second = (self._ranks[node] for node in key)
                self.model.add(first < second).only_enforce_if(literal)
                self.model.add(second < first).only_enforce_if(literal.negated())
        return self._literals[key]

    def _relate_kept(self) -> None:
        """Relate units that stay: each begins behind the end of those declared before it that stay."""
        model, program = self.model, self.programs[0]
        for nodes in self.order.levels:
            horizon = len(nodes) if self._ranks else program.horizon
            reached: LinearExprT = 0
            for node in nodes:
                if self._ranks:
                    begin, end = self._ranks[node], self._ranks[node] + 1
                else:
                    begin, end = program.block(node).begin, program.block(node).end
                next_reached = model.new_int_var(0, horizon, f"reached{node}")
                model.add(next_reached >= reached)
                model.add(begin >= reached).only_enforce_if(self.is_kept[node])
                model.add(next_reached >= end).only_enforce_if(self.is_kept[node])
                self._reached[node] = reached = next_reached

    @property
    def moves(self) -> LinearExprT:
        """The number of declarations that move."""
        return sum(self.order.weight(node) * kept.negated() for node, kept in self.is_kept.items())

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
            every = (enumerate(self.order.in_order(nodes, order)) for nodes in self.order.levels)
            ends = {node: at + 1 for nodes in every for at, node in nodes}
        for node, rank in self._ranks.items():
            model.add_hint(rank, ends[node] - 1)
        for key, literal in self._literals.items():
            a, b = (place[self.order.first_unit(node)] for node in key)
            model.add_hint(literal, a < b)
        kept = self.order.staying_nodes(order)
        for nodes in self.order.levels:
            reached = 0
            for node in nodes:
                model.add_hint(self.is_kept[node], node in kept)
                reached = max(reached, ends[node]) if node in kept else reached
                model.add_hint(self._reached[node], reached)

    def solution_order(self, solver: cp_model.CpSolver) -> tuple[int, ...]:
        """Return the order of the common units in the solution that a solver found."""
        return tuple(self._units_in_order(self.order.top, solver))

    def _units_in_order(self, nodes: Sequence[int], solver: cp_model.CpSolver) -> Iterator[int]:
        """Yield the units of some nodes in the order of a solution."""
        for node in sorted(nodes, key=lambda node: self._place(node, solver)):
            group = self.order.group(node)
            if group is None:
                yield node
            else:
                yield from self._units_in_order(group.nodes, solver)

    def _place(self, node: int, solver: cp_model.CpSolver) -> tuple[int, ...]:
        """Return where a node stands: an empty one before the one that begins there."""
        if self._ranks:
            return (solver.value(self._ranks[node]),)
        block = self.programs[0].block(node)
        return solver.value(block.begin), solver.value(block.end), node
