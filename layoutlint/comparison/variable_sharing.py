"""Which variables share cache lines in two inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import gcd

from layoutlint.comparison.variable_pairs import Node, Pairing, regions
from layoutlint.model.variables import Variable, VariableTable

_MOST_PAIRS = 4_000_000
"""The most pairs of variables on one line, of one input."""


class TooClose(Exception):
    """Too many variables share lines: the symbol table is damaged, or the lines are very long."""


class Sharing:
    """The pairs of variables on one line before and now, with the bytes of a line at which they are."""

    def __init__(self, pairing: Pairing, tables: tuple[VariableTable, VariableTable], line: int) -> None:
        self.line = line
        self._count = len(pairing.nodes)
        self.steps: tuple[dict[str, int], dict[str, int]] = (_steps(tables[0], line), _steps(tables[1], line))
        numbers = pairing.old, pairing.new
        before, after = (
            self._pairs(tables[side], numbers[side], self.steps[side], pairing.nodes) for side in (0, 1)
        )
        self._companions = self._nodes_in_pairs(before), self._nodes_in_pairs(after)
        self.neighbours: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        """For each node the others with which it shares other placements: node, bytes before and now."""
        for key in {key for key, _ in before.items() ^ after.items()}:
            first, second = divmod(key, self._count)
            shares = before.get(key, 0), after.get(key, 0)
            self.neighbours[first].append((second, *shares))
            self.neighbours[second].append((first, *shares))
        self.regrouped = {n for n in self.neighbours if pairing.nodes[n].old and pairing.nodes[n].new}

    def is_alone(self, node: int, side: int) -> bool:
        """Return whether no other variable is on the lines of one."""
        return node not in self._companions[side]

    def is_unchanged(self, number: int, node: Node) -> bool:
        """Return whether a variable is as before, among the same ones."""
        if node.old is None or node.new is None or number in self.neighbours:
            return False
        if (node.old.size, node.old.section) != (node.new.size, node.new.section):
            return False
        is_moved = (node.old.address - node.new.address) % self.line != 0
        return not is_moved and node.old.name == node.new.name

    def is_placed_otherwise(self, number: int, node: Node) -> bool:
        """Return whether a variable straddles lines, or is alone on them, in other placements."""
        if self.is_alone(number, 0) != self.is_alone(number, 1):
            return True
        return self.crossings(node.old, 0) != self.crossings(node.new, 1)

    def step(self, variable: Variable | None, side: int) -> int:
        """Return the distance of bases of the region with a variable."""
        steps = self.steps[side]
        return self.line if variable is None else steps.get(variable.section) or steps[""]

    def crossings(self, variable: Variable | None, side: int) -> int:
        """Return the bytes of a line at which a variable is on two lines although one could hold it."""
        if variable is None or variable.size > self.line:
            return 0
        step = self.step(variable, side)
        return (variable.last // step - variable.address // step) * step

    def _nodes_in_pairs(self, pairs: Iterable[int]) -> set[int]:
        return {node for key in pairs for node in divmod(key, self._count)}

    def _pairs(
        self, table: VariableTable, numbers: list[int], steps: dict[str, int], nodes: list[Node]
    ) -> dict[int, int]:
        """Return the pairs that share a line, by their nodes, with the bytes of a line at which they do.

        Two variables, of which the first ends at byte e and the other starts at s, share a line unless one
        starts in e + 1 ... s. Raises TooClose.
        """
        pairs: dict[int, int] = {}
        for region, row in regions(table).items():
            step = steps[region]
            total = self.line // step
            places = [
                (v.address // step, v.last // step, numbers[i])
                for i, v in ((i, table.variables[i]) for i in row)
            ]
            for index, (_, end, node) in enumerate(places):
                for other in range(index + 1, len(places)):
                    start, _, second = places[other]
                    if start - end >= total:
                        break
                    if node == second or (nodes[node].is_group and nodes[second].is_group):
                        continue
                    key = node * self._count + second if node < second else second * self._count + node
                    shared = (total - max(start - end, 0)) * step
                    if pairs.get(key, 0) < shared:
                        pairs[key] = shared
                        if len(pairs) > _MOST_PAIRS:
                            raise TooClose(f"more than {_MOST_PAIRS:,} pairs of variables share a line")
        return pairs


def _steps(table: VariableTable, line: int) -> dict[str, int]:
    """Return the distance of bases of each region: the line for addresses that are known."""
    if table.is_linked:
        return {"": line, **{section.name: line for section in table.sections}}
    return {section.name: gcd(section.align, line) for section in table.sections}
