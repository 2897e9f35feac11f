"""Which variables of an input are those of another one, and where their order differs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from layoutlint.comparison.edits import longest_ascent
from layoutlint.model.record import Record
from layoutlint.model.variables import Variable, VariableTable

_NUMBERS = re.compile(r"(?:\.(?:\d+|lto_priv|llvm|part|constprop|isra))+$")
"""What compilers append to the names of static variables; the numbers differ between builds."""
_SHORTEST_WORD = 3
"""The characters of a word in a name, at least."""
_COUNTED = re.compile(r"^(__UNIQUE_ID_.*?)_*\d+$")
"""Names with a counter (`__UNIQUE_ID` in include/linux/compiler.h)."""


class VariableNode(Record):
    """A variable of one input or of both, or all of one name that cannot be distinguished."""

    name: str
    old: Variable | None = None
    new: Variable | None = None
    is_group: bool = False
    """Whether it is several variables that nothing tells apart."""

    @property
    def variable(self) -> Variable:
        """The variable as it is now, or as it was."""
        variable = self.new or self.old
        if variable is None:
            raise ValueError(f"{self.name!r} is no variable of its own")
        return variable


class Pairing(Record, frozen=True):
    """The variables of two inputs by their identity."""

    nodes: list[VariableNode]
    old: list[int]
    """The number of the node of each variable of the old input."""
    new: list[int]
    joined: dict[int, int]
    """For each node that was found to be another one, that node."""


_Row = list[tuple[int, Variable]]
"""Variables by address, each with the number of its node."""


class Gap(Record, frozen=True):
    """The bytes and variables between two variables that both inputs have."""

    after: int | None
    """The node before the gap; None at the start."""
    old: _Row
    new: _Row


class Region(Record, frozen=True):
    """The variables of a section, or of a linked file, by address."""

    name: str
    """The section; empty for all variables of a linked file, except per-CPU ones."""
    old: _Row
    new: _Row
    kept: list[tuple[int, int]]
    """The positions, now and before, of those that both have in the same order."""

    def gap(self, index: int) -> Gap:
        """Return the gap before one of the variables in the same order; behind them for their number."""
        new_start, old_start = self.kept[index - 1] if index else (-1, -1)
        new_end, old_end = self.kept[index] if index < len(self.kept) else (len(self.new), len(self.old))
        after = self.old[old_start][0] if index else None
        return Gap(after, self.old[old_start + 1 : old_end], self.new[new_start + 1 : new_end])

    def filled_gaps(self) -> Iterator[Gap]:
        """Yield the gaps with variables on both sides."""
        previous = (-1, -1)
        for index, place in enumerate((*self.kept, (len(self.new), len(self.old)))):
            if place[0] - previous[0] > 1 and place[1] - previous[1] > 1:
                yield self.gap(index)
            previous = place


def plain_name(name: str) -> str:
    """Return the name of a variable without the numbers of a compiler: `count` for `count.3`."""
    if name.startswith("__UNIQUE_ID_"):
        counted = _COUNTED.match(name)
        return counted[1] if counted else name
    return (_NUMBERS.sub("", name) or name) if "." in name else name


def pair_variables(old: VariableTable, new: VariableTable) -> Pairing:
    """Pair the variables of two inputs by name, those of one name by unit and section; never guess."""
    pairer = _Pairer(old, new)
    pairer.pair_groups()
    pairer.pair_single(lambda name: name)
    pairer.pair_single(lambda name: name.rpartition(".")[2])
    return pairer.pairing()


class _Pairer:
    """Pairs the variables of two tables, the most certain first."""

    def __init__(self, old: VariableTable, new: VariableTable) -> None:
        self._tables = old.variables, new.variables
        self._names = [plain_name(v.name) for v in old.variables], [plain_name(v.name) for v in new.variables]
        self._nodes: list[VariableNode] = []
        self._numbers: tuple[list[int], list[int]] = ([-1] * len(old.variables), [-1] * len(new.variables))

    def pair_groups(self) -> None:
        """Pair variables of one name and unit: the only one, an unchanged row, or by section."""
        sides = [self._group_by_name_and_unit(side) for side in (0, 1)]
        for key, olds in sides[0].items():
            if key in sides[1]:
                self._pair_group(olds, sides[1][key])

    def pair_single(self, shorten: Callable[[str], str]) -> None:
        """Pair variables whose name no other has, if they can be of one unit. `shorten` returns the name."""
        left = [{shorten(self._names[side][i]) for i in self._unpaired_rows(side)} for side in (0, 1)]
        names = left[0] & left[1]
        sides = [self._group_by_short_name(side, names, shorten) for side in (0, 1)]
        for name in sorted(names):
            olds, news = sides[0][name], sides[1][name]
            if len(olds) == len(news) == 1 and self._numbers[0][olds[0]] == self._numbers[1][news[0]] == -1:
                units = {self._tables[0][olds[0]].unit, self._tables[1][news[0]].unit}
                if len(units) == 1 or "" in units:
                    self._pair(olds[0], news[0])

    def pairing(self) -> Pairing:
        """Return all pairs, and the variables that only one input has."""
        for side in (0, 1):
            for index, number in enumerate(self._numbers[side]):
                if number == -1:
                    variable = self._tables[side][index]
                    own = (None, variable) if side else (variable, None)
                    self._numbers[side][index] = self._add(VariableNode(variable.name, *own))
        return Pairing(self._nodes, *self._numbers, {})

    def _unpaired_rows(self, side: int) -> Iterator[int]:
        return (index for index, number in enumerate(self._numbers[side]) if number == -1)

    def _group_by_name_and_unit(self, side: int) -> dict[tuple[str, bool, str], list[int]]:
        groups: dict[tuple[str, bool, str], list[int]] = {}
        is_of_one_unit = all(len({v.unit for v in table if v.unit}) < 2 for table in self._tables)
        for index, (name, variable) in enumerate(zip(self._names[side], self._tables[side], strict=True)):
            unit = "" if is_of_one_unit else variable.unit
            groups.setdefault((name, variable.is_static, unit), []).append(index)
        return groups

    def _group_by_short_name(
        self, side: int, names: set[str], shorten: Callable[[str], str]
    ) -> dict[str, list[int]]:
        groups: dict[str, list[int]] = defaultdict(list)
        if names:
            for index, name in enumerate(self._names[side]):
                if (short := shorten(name)) in names:
                    groups[short].append(index)
        return groups

    def _pair_group(self, olds: list[int], news: list[int]) -> None:
        if len(olds) == len(news) == 1:
            self._pair(olds[0], news[0])
            return
        rows = [[self._content(side, i) for i in row] for side, row in enumerate((olds, news))]
        if rows[0] == rows[1]:
            for one, other in zip(olds, news, strict=True):
                self._pair(one, other)
            return
        sections = [self._group_by_section(side, row) for side, row in enumerate((olds, news))]
        rest: tuple[list[int], list[int]] = ([], [])
        for section in sorted({*sections[0], *sections[1]}):
            of_section = [side.get(section, []) for side in sections]
            if len(of_section[0]) == len(of_section[1]) == 1:
                self._pair(of_section[0][0], of_section[1][0])
            else:
                rest[0].extend(of_section[0])
                rest[1].extend(of_section[1])
        if rest[0] and rest[1]:
            self._join(rest)

    def _content(self, side: int, index: int) -> tuple[str, str, int, str]:
        variable = self._tables[side][index]
        return variable.name, variable.section, variable.size, variable.unit

    def _group_by_section(self, side: int, row: Iterable[int]) -> dict[str, list[int]]:
        sections: dict[str, list[int]] = defaultdict(list)
        for index in row:
            sections[self._tables[side][index].section].append(index)
        return sections

    def _pair(self, old: int, new: int) -> None:
        variables = self._tables[0][old], self._tables[1][new]
        self._numbers[0][old] = self._numbers[1][new] = self._add(VariableNode(variables[1].name, *variables))

    def _join(self, rest: tuple[list[int], list[int]]) -> None:
        """Make one node of variables that nothing tells apart."""
        first = self._tables[1][rest[1][0]]
        number = self._add(VariableNode(plain_name(first.name), is_group=True))
        for side in (0, 1):
            for index in rest[side]:
                self._numbers[side][index] = number

    def _add(self, node: VariableNode) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1


def _group_by_region(table: VariableTable) -> dict[str, list[int]]:
    """Return the variables that can share lines, by address: of a section, or of a linked file.

    The keys are the names of regions.
    """
    own = {section.name for section in table.sections if section.is_per_cpu or not table.is_linked}
    regions: dict[str, list[int]] = defaultdict(list)
    for index, variable in enumerate(table.variables):
        regions[variable.section if variable.section in own else ""].append(index)
    for row in regions.values():
        row.sort(key=lambda index: table.variables[index].address)
    return regions


def find_regions(pairing: Pairing, old: VariableTable, new: VariableTable) -> Iterator[Region]:
    """Yield the regions of both inputs, with the variables that are there in the same order."""
    before, after = _group_by_region(old), _group_by_region(new)
    for name in sorted({*before, *after}):
        rows = (
            [(pairing.old[index], old.variables[index]) for index in before.get(name, [])],
            [(pairing.new[index], new.variables[index]) for index in after.get(name, [])],
        )
        yield Region(name, *rows, _common_order(pairing, *rows))


def _common_order(pairing: Pairing, old: _Row, new: _Row) -> list[tuple[int, int]]:
    """Return the positions, now and before, of the most variables that are in the same order."""
    ranks = {number: rank for rank, (number, _) in enumerate(old) if not pairing.nodes[number].is_group}
    common = [(rank, ranks[number]) for rank, (number, _) in enumerate(new) if number in ranks]
    kept = [common[index] for index in longest_ascent([rank for _, rank in common])]
    kept.reverse()
    return kept


def join_renamed(pairing: Pairing, regions: Iterable[Region]) -> None:
    """Pair a removed variable with the added one of its size at its place, if there is only one each.

    Their names must have a word in common.
    """
    places = {number: index for index, number in enumerate(pairing.old)}
    for gap in (gap for region in regions for gap in region.filled_gaps()):
        if len(gap.old) == len(gap.new) == 1:
            (old_number, old), (new_number, new) = gap.old[0], gap.new[0]
            nodes = pairing.nodes[old_number], pairing.nodes[new_number]
            is_other = nodes[0].new is None and nodes[1].old is None and not any(n.is_group for n in nodes)
            are_alike = (old.size, old.section, old.unit) == (new.size, new.section, new.unit)
            if is_other and are_alike and not _words(old.name).isdisjoint(_words(new.name)):
                nodes[1].old, nodes[0].old = old, None
                pairing.old[places[old_number]] = pairing.joined[old_number] = new_number


def _words(name: str) -> set[str]:
    return {word for word in plain_name(name).split("_") if len(word) >= _SHORTEST_WORD}
