"""Which variables share cache lines in two inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import gcd

from layoutlint.comparison.variable_pairs import Pairing, Region, VariableNode
from layoutlint.model.variables import Variable, VariableTable

_MOST_PAIRS = 4_000_000
"""The most pairs of variables on one line, of one input."""


class TooClose(Exception):
    """Too many variables share lines: the symbol table is damaged, or the lines are very long."""


class Sharing:
    """The pairs of variables on one line before and now, with the bytes of a line at which they are."""

    def __init__(
        self,
        pairing: Pairing,
        regions: Sequence[Region],
        tables: tuple[VariableTable, VariableTable],
        line: int,
    ) -> None:
        self.line = line
        self._count = len(pairing.nodes)
        self.steps: tuple[dict[str, int], dict[str, int]] = (_steps(tables[0], line), _steps(tables[1], line))
        self._companions = bytearray(self._count), bytearray(self._count)
        groups = {number for number, node in enumerate(pairing.nodes) if node.is_group}
        before = self._find_pairs(regions, 0, groups, pairing.joined)
        after = self._find_pairs(regions, 1, groups, {})
        # Lists of numbers that exist: millions of pairs can differ.
        self._changed = [key for key, shared in before.items() if after.get(key) != shared]
        self._changed += [key for key in after if key not in before]
        self._pairs = before, after
        self._touched = {key // self._count for key in self._changed}
        self._touched.update(key % self._count for key in self._changed)
        self.regrouped = {n for n in self._touched if pairing.nodes[n].old and pairing.nodes[n].new}

    def neighbours(self, nodes: set[int]) -> dict[int, list[tuple[int, int, int]]]:
        """Return for each of some nodes the others with which it shares other placements than before.

        Each has the bytes of a line at which they shared one, and at which they do now.
        """
        pairs: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        before, after = self._pairs
        for key in self._changed if nodes else ():
            first, second = divmod(key, self._count)
            if first in nodes:
                pairs[first].append((second, before.get(key, 0), after.get(key, 0)))
            if second in nodes:
                pairs[second].append((first, before.get(key, 0), after.get(key, 0)))
        return pairs

    def is_alone(self, node: int, side: int) -> bool:
        """Return whether no other variable is on the lines of one."""
        return not self._companions[side][node]

    def is_unchanged(self, number: int, node: VariableNode) -> bool:
        """Return whether a variable is as before, among the same ones."""
        if node.old is None or node.new is None or number in self._touched:
            return False
        if (node.old.size, node.old.section) != (node.new.size, node.new.section):
            return False
        is_moved = (node.old.address - node.new.address) % self.line != 0
        return not is_moved and node.old.name == node.new.name

    def is_placed_otherwise(self, number: int, node: VariableNode) -> bool:
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

    def _find_pairs(
        self, regions: Sequence[Region], side: int, groups: set[int], joined: dict[int, int]
    ) -> dict[int, int]:
        """Return the pairs that share a line, by their nodes, with the bytes of a line at which they do.

        Two variables, of which the first ends at byte e and the other starts at s, share a line unless one
        starts in e + 1 ... s. Raises TooClose.
        """
        pairs: dict[int, int] = {}
        count, companions, comparisons = self._count, self._companions[side], 0
        for region in regions:
            row = (region.old, region.new)[side]
            step = self.steps[side].get(region.name, self.line)
            total = self.line // step
            nodes = [joined.get(number, number) for number, _ in row]
            starts = [variable.address // step for _, variable in row]
            for index, (_, variable) in enumerate(row):
                node, end = nodes[index], variable.last // step
                reach = end + total
                for other in range(index + 1, len(row)):
                    if starts[other] >= reach:
                        break
                    comparisons += 1
                    second = nodes[other]
                    if node == second or (node in groups and second in groups):
                        continue
                    companions[node] = companions[second] = 1
                    key = node * count + second if node < second else second * count + node
                    shared = total * step if starts[other] <= end else (reach - starts[other]) * step
                    if key not in pairs or pairs[key] < shared:
                        pairs[key] = shared
                if comparisons > _MOST_PAIRS:
                    raise TooClose(f"more than {_MOST_PAIRS:,} pairs of variables can share a line")
        return pairs


def _steps(table: VariableTable, line: int) -> dict[str, int]:
    """Return the distance of bases of each region: the line for addresses that are known."""
    if table.is_linked:
        return {"": line, **{section.name: line for section in table.sections}}
    return {section.name: gcd(section.align, line) for section in table.sections}
