"""Which variables share a cache line with others than before, and what moved them.

Addresses differ between any two builds. So two inputs are compared by which variables share a line, and in
how many placements: one in a linked file, in an object file one for each base of its section.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from math import gcd

from layoutlint.comparison.layouts import NotCompared, Presence
from layoutlint.comparison.variable_causes import Cause, find_causes
from layoutlint.comparison.variable_pairs import (
    Pairing,
    Region,
    VariableNode,
    find_regions,
    join_renamed,
    pair_variables,
    plain_name,
)
from layoutlint.model.json_object import JsonObject, Natural
from layoutlint.model.record import Record, replace
from layoutlint.model.variables import Variable, VariableTable
from layoutlint.phrases import first_few, quantity

_FEW = 40
"""The number of variables up to which all that only moved are described."""
_Tables = tuple[VariableTable, VariableTable]
_MOST_PAIRS = 4_000_000
"""The most pairs of variables on one line, of one input."""


class VariableQuery(Record, frozen=True):
    """The variables that are compared, and the line size."""

    is_named: Callable[[str], bool]
    """Returns whether a variable is described even if it only moved, by its name."""
    is_selected: Callable[[str], bool]
    """Returns whether a variable is compared at all."""
    line_size: int | None = None
    """In bytes; None for the target's."""
    patterns: tuple[str, ...] = ()
    """The names and patterns that select variables; empty for all."""


class Neighbour(Record, frozen=True, order=True):
    """Another variable, and the numbers of placements in which both are on one line."""

    name: str
    old: int
    new: int


class VariableChange(Record, frozen=True):
    """A variable that changed, or that is on a line with others than before."""

    presence: Presence
    old: Variable | None
    new: Variable | None
    gained: tuple[Neighbour, ...] = ()
    """The variables with which it shares a line in more placements."""
    ceased: tuple[Neighbour, ...] = ()
    """Those with which it does in fewer."""
    straddles: tuple[int, int] = (0, 0)
    """The numbers of placements in which it is on two lines although one could hold it."""
    totals: tuple[int, int] = (0, 0)
    """The numbers of placements; 0 where the variable is missing."""
    was_alone: bool = False
    """Whether no variable was on its lines in any placement."""
    is_alone: bool = False
    is_named: bool = False
    """Whether a rule or the command line names it."""
    constant_section: str = ""
    """The section in which nothing writes it, in the input that lacks it otherwise; empty without one."""
    fits_line: bool = True
    """Whether a line can hold it before and now."""

    @property
    def variable(self) -> Variable:
        """The variable as it is now, or as it was."""
        variable = self.new or self.old
        if variable is None:
            raise ValueError("a change is about a variable")
        return variable

    @property
    def sections(self) -> tuple[str, str]:
        """The sections before and now; empty where the variable is missing."""
        old, new = ("" if each is None else each.section for each in (self.old, self.new))
        return old or self.constant_section, new or self.constant_section

    @property
    def has_lost_its_line(self) -> bool:
        """Whether the variable was alone on its lines, and no longer is."""
        return self.old is not None and self.new is not None and self.was_alone and not self.is_alone


class SectionChange(JsonObject, frozen=True):
    """A section."""

    name: str
    """The name."""
    variables: tuple[Natural, Natural]
    """The number of variables in it."""
    regrouped: Natural
    """Those that share lines with others than before."""


class TableComparison(Record, frozen=True):
    """How the variables of two files compare."""

    label: str
    """The name of the module or file; empty for the only ones."""
    line_size: int
    is_linked: bool
    changes: tuple[VariableChange, ...]
    """By name. A variable that only moved is among them if something names it, or if few are."""
    causes: tuple[Cause, ...]
    """Those that moved most variables to lines with others first."""
    sections: tuple[SectionChange, ...]
    compared: int
    """The number of variables that both have."""
    regrouped: int
    """Those of them that share lines with others than before."""
    ambiguous: tuple[tuple[str, int], ...]
    """The names whose variables nothing tells apart, with their number, the most frequent first."""

    @property
    def is_same(self) -> bool:
        """Whether nothing differs but addresses."""
        return not (self.changes or self.regrouped)


class VariableComparison(Record, frozen=True):
    """How the variables of two inputs compare."""

    tables: tuple[TableComparison, ...]
    """One for each file; several for folders of modules."""
    not_compared: tuple[NotCompared, ...]
    notes: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs but addresses, as far as it was compared."""
        return all(table.is_same for table in self.tables)

    @property
    def pair_count(self) -> int:
        """The number of variables that both inputs have."""
        return sum(table.compared for table in self.tables)


def compare_variables(
    old: Iterable[VariableTable], new: Iterable[VariableTable], query: VariableQuery
) -> VariableComparison:
    """Compare the variables of two inputs, files of folders by their names."""
    befores, afters = tuple(old), tuple(new)
    tables: list[TableComparison] = []
    not_compared: list[NotCompared] = []
    notes: list[str] = []
    for label, pair in _paired_tables(befores, afters, not_compared, notes):
        result = _compare_tables(pair, query, label)
        if isinstance(result, str):
            not_compared.append(NotCompared(label or pair[1].path, result))
        else:
            tables.append(result)
    if tables and query.patterns:
        names = {plain_name(variable.name) for table in (*befores, *afters) for variable in table.variables}
        unmatched = (p for p in query.patterns if not any(fnmatchcase(name, p) for name in names))
        not_compared += (NotCompared(p, "no variable of this name in either input") for p in unmatched)
    for table in tables:
        not_compared += _refusals(table, query)
    return VariableComparison(tuple(tables), tuple(not_compared), (*notes, *_ambiguity_notes(tables, query)))


def _paired_tables(
    old: tuple[VariableTable, ...],
    new: tuple[VariableTable, ...],
    not_compared: list[NotCompared],
    notes: list[str],
) -> Iterator[tuple[str, _Tables]]:
    """Yield the files to compare, with their names; single files whatever their names."""
    if len(old) == len(new) == 1:
        yield "", (old[0], new[0])
        return
    sides = [_group_by_label(side) for side in (old, new)]
    for label in sorted(sides[0].keys() & sides[1].keys()):
        olds, news = sides[0][label], sides[1][label]
        if len(olds) == len(news) == 1:
            yield label, (olds[0], news[0])
        else:
            reason = f"{len(olds)} files of this name before and {len(news)} now, which cannot be matched"
            not_compared.append(NotCompared(label, reason))
    for side, other, word in ((0, 1, "before"), (1, 0, "now")):
        lacking = sorted(sides[side].keys() - sides[other].keys())
        if lacking and sides[other]:
            notes.append(f"variables not compared: {first_few(lacking)} only {word}")


def _group_by_label(tables: Iterable[VariableTable]) -> dict[str, list[VariableTable]]:
    groups: dict[str, list[VariableTable]] = defaultdict(list)
    for table in tables:
        groups[table.label].append(table)
    return groups


def _refusals(table: TableComparison, query: VariableQuery) -> Iterator[NotCompared]:
    """Yield the named variables that nothing tells apart."""
    for name, number in table.ambiguous:
        if query.is_named(name):
            where = f" of {table.label}" if table.label else ""
            yield NotCompared(
                f"variable {name}{where}", f"{number} variables of this name, which cannot be matched"
            )


def _ambiguity_notes(tables: Iterable[TableComparison], query: VariableQuery) -> Iterator[str]:
    """Yield how many variables nothing tells apart, if nobody named them."""
    total: Counter[str] = Counter()
    for table in tables:
        total.update({name: number for name, number in table.ambiguous if not query.is_named(name)})
    if total:
        number = sum(total.values())
        names = first_few([name for name, _ in total.most_common()])
        yield f"{quantity(number, 'static variable')} of one name and unit, not matched: {names}"


class _TooClose(Exception):
    """Too many variables share lines: the symbol table is damaged, or the lines are very long."""


class _Sharing:
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
                    raise _TooClose(f"more than {_MOST_PAIRS:,} pairs of variables can share a line")
        return pairs


def _steps(table: VariableTable, line: int) -> dict[str, int]:
    """Return the distance of bases of each region: the line for addresses that are known."""
    if table.is_linked:
        return {"": line, **{section.name: line for section in table.sections}}
    return {section.name: gcd(section.align, line) for section in table.sections}


def _compare_tables(tables: _Tables, query: VariableQuery, label: str) -> TableComparison | str:
    """Compare the variables of two files; return the reason if they cannot be compared."""
    old, new = tables
    reason = _difference(old, new, query.line_size)
    if reason:
        return reason
    line = query.line_size or new.target.line_size
    pairing = pair_variables(old, new)
    regions = list(find_regions(pairing, old, new))
    join_renamed(pairing, regions)
    try:
        sharing = _Sharing(pairing, regions, tables, line)
    except _TooClose as error:
        return str(error)
    selected = {n for n, node in enumerate(pairing.nodes) if query.is_selected(plain_name(node.name))}
    regrouped = sharing.regrouped & selected
    nodes = pairing.nodes
    causes = [cause for region in regions for cause in find_causes(pairing, region, regrouped)]
    return TableComparison(
        label,
        line,
        new.is_linked,
        tuple(_changes(pairing, sharing, tables, query, selected)),
        tuple(sorted(causes, key=lambda cause: (-cause.regrouped, -cause.moved, cause.name))),
        tuple(_sections(pairing, tables, selected, regrouped)),
        sum(nodes[n].old is not None and nodes[n].new is not None for n in selected),
        len(regrouped),
        _ambiguous_names(pairing, selected),
    )


def _difference(old: VariableTable, new: VariableTable, line_size: int | None) -> str:
    """Return why the variables of two files cannot be compared; empty if they can."""
    if old.is_linked != new.is_linked:
        linked, other = ("before", "now") if old.is_linked else ("now", "before")
        return f"variables have addresses {linked}, and {other} only offsets in sections of an object file"
    sizes = old.target.line_size, new.target.line_size
    if line_size is None and sizes[0] != sizes[1]:
        return f"lines have {sizes[0]} bytes before and {sizes[1]} now; `--line-size` states one for both"
    return ""


def _ambiguous_names(pairing: Pairing, selected: set[int]) -> tuple[tuple[str, int], ...]:
    counts = Counter(
        pairing.nodes[number].name
        for number in (*pairing.old, *pairing.new)
        if pairing.nodes[number].is_group and number in selected
    )
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _changes(
    pairing: Pairing, sharing: _Sharing, tables: _Tables, query: VariableQuery, selected: set[int]
) -> Iterator[VariableChange]:
    """Yield the variables to describe, by name."""
    are_few = len(sharing.regrouped & selected) <= _FEW
    described: dict[int, bool] = {}
    for number in selected:
        node = pairing.nodes[number]
        if node.is_group or node.old is node.new is None or sharing.is_unchanged(number, node):
            continue
        is_named = query.is_named(plain_name(node.name))
        is_regrouped = number in sharing.regrouped and (is_named or are_few)
        if is_regrouped or _is_edited(node) or sharing.is_placed_otherwise(number, node):
            described[number] = is_named
    neighbours = sharing.neighbours(set(described))
    for number in sorted(described, key=lambda number: (pairing.nodes[number].name, number)):
        node, is_named = pairing.nodes[number], described[number]
        change = _change(number, pairing, sharing, neighbours.get(number, []))
        yield replace(change, is_named=is_named, constant_section=_constant_section(node, tables))


def _constant_section(node: VariableNode, tables: _Tables) -> str:
    """Return where a variable is, or was, if nothing writes it there; empty if it is nowhere."""
    if (node.old is None) == (node.new is None):
        return ""
    other = tables[1 if node.new is None else 0]
    return other.constants.get((node.variable.name, node.variable.unit), "")


def _is_edited(node: VariableNode) -> bool:
    """Return whether a variable changed itself, and not only its neighbours."""
    if node.old is None or node.new is None or _presence(node) is Presence.RENAMED:
        return True
    return (node.old.size, node.old.section) != (node.new.size, node.new.section)


def _change(
    number: int, pairing: Pairing, sharing: _Sharing, neighbours: list[tuple[int, int, int]]
) -> VariableChange:
    node = pairing.nodes[number]
    steps = sharing.step(node.old, 0), sharing.step(node.new, 1)
    gained: list[Neighbour] = []
    ceased: list[Neighbour] = []
    for other, before, after in neighbours:
        neighbour = Neighbour(pairing.nodes[other].name, before // steps[0], after // steps[1])
        (gained if before < after else ceased).append(neighbour)
    crossings = sharing.crossings(node.old, 0), sharing.crossings(node.new, 1)
    is_there = node.old is not None, node.new is not None
    return VariableChange(
        _presence(node),
        node.old,
        node.new,
        tuple(sorted(gained)),
        tuple(sorted(ceased)),
        (crossings[0] // steps[0], crossings[1] // steps[1]),
        (sharing.line // steps[0] * is_there[0], sharing.line // steps[1] * is_there[1]),
        is_there[0] and sharing.is_alone(number, 0),
        is_there[1] and sharing.is_alone(number, 1),
        fits_line=all(each is None or each.size <= sharing.line for each in (node.old, node.new)),
    )


def _presence(node: VariableNode) -> Presence:
    if node.old is None or node.new is None:
        return Presence.ADDED if node.old is None else Presence.REMOVED
    if node.old.name == node.new.name:
        return Presence.BOTH
    old, new = plain_name(node.old.name), plain_name(node.new.name)
    is_renamed = old != new and old.rpartition(".")[2] != new.rpartition(".")[2]
    return Presence.RENAMED if is_renamed else Presence.BOTH


def _sections(
    pairing: Pairing, tables: _Tables, selected: set[int], regrouped: set[int]
) -> Iterator[SectionChange]:
    """Yield the sections of both inputs, those of the new one first."""
    counts: dict[str, list[int]] = {section.name: [0, 0] for section in tables[1].sections}
    for side, (table, numbers) in enumerate(zip(tables, (pairing.old, pairing.new), strict=True)):
        for variable, number in zip(table.variables, numbers, strict=True):
            if number in selected:
                counts.setdefault(variable.section, [0, 0])[side] += 1
    moved = Counter(pairing.nodes[number].variable.section for number in regrouped)
    for name, (old, new) in counts.items():
        if old or new:
            yield SectionChange(name, (old, new), moved[name])
