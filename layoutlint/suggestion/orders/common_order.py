"""The order that several builds of a struct share: members are the same where their names are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct, fields_in_braces
from layoutlint.sources.order_uses import member_names
from layoutlint.suggestion.orders.arrangement import Arrangement, join_units

_Place = tuple[int, int]
"""A build, and the number of an opened struct in it."""


class CannotJoin(Exception):
    """Raised if the declarations of some builds have no common order; the text is the reason."""


class _Group(Record, frozen=True):
    """An opened struct without a name: its units stay together."""

    name: str
    number: int
    """It follows those of the units."""
    units: tuple[int, ...]
    """Its units, at any depth."""
    nodes: tuple[int, ...]
    """What stands side by side in it, in its declared order: units, and opened structs by their number."""


def _common_groups(
    arrangements: Sequence[Arrangement], units: Sequence[Sequence[int]], count: int
) -> tuple[tuple[_Group, ...], tuple[tuple[int, ...], ...]]:
    """Return the opened structs of all builds, and for each build those it has, by their numbers.

    `units` are those of each build, as numbers of the common ones, of which there are `count`. Raises
    CannotJoin if builds open different structs.
    """
    paths = _common_paths(arrangements, units)
    groups: dict[tuple[frozenset[_Place], ...], list[int]] = {}
    for unit, path in sorted(paths.items()):
        for depth in range(len(path)):
            groups.setdefault(path[: depth + 1], []).append(unit)
    ordered = sorted(groups, key=lambda path: (groups[path][0], len(path)))
    number_of = {path: count + at for at, path in enumerate(ordered)}
    place_of = {place: number for path, number in number_of.items() for place in path[-1]}
    result = []
    for path in ordered:
        own = groups[path]
        if own != list(range(own[0], own[-1] + 1)) or len({build for build, _ in path[-1]}) < len(path[-1]):
            raise CannotJoin("its builds declare the members of a struct without a name differently")
        first = {unit: unit for unit in own if paths[unit] == path}
        first |= {number_of[each]: groups[each][0] for each in ordered if each[:-1] == path}
        nodes = tuple(sorted(first, key=first.__getitem__))
        result.append(_Group(_name(arrangements, min(path[-1])), number_of[path], tuple(own), nodes))
    return tuple(result), tuple(
        tuple(place_of[build, level.number] for level in each.groups)
        for build, each in enumerate(arrangements)
    )


def _common_paths(
    arrangements: Sequence[Arrangement], units: Sequence[Sequence[int]]
) -> dict[int, tuple[frozenset[_Place], ...]]:
    """Return the opened structs around each common unit, the outermost first, as it is in all builds."""
    around: dict[int, list[tuple[_Place, ...]]] = {}
    for build, (each, own) in enumerate(zip(arrangements, units, strict=True)):
        for unit, path in each.top.groups_around.items():
            around.setdefault(own[unit], []).append(tuple((build, number) for number in path))
    if any(len({len(path) for path in paths}) > 1 for paths in around.values()):
        raise CannotJoin("its builds declare different structs without a name")
    same: dict[_Place, frozenset[_Place]] = {}
    for paths in around.values():
        for places in zip(*paths, strict=True):
            whole = frozenset().union(*(same.get(place, {place}) for place in places))
            same |= dict.fromkeys(whole, whole)
    return {unit: tuple(same[place] for place in paths[0]) for unit, paths in around.items()}


def _name(arrangements: Sequence[Arrangement], place: _Place) -> str:
    build, number = place
    arrangement = arrangements[build]
    return arrangement.group_name(next(group for group in arrangement.groups if group.number == number))


class CommonOrder(Record, frozen=True):
    """The units of a struct in all of its builds, in their declared order."""

    members: tuple[tuple[str, ...], ...]
    """The names of each unit's members."""
    weights: tuple[int, ...]
    """The number of declarations of each unit."""
    units: tuple[tuple[int, ...], ...]
    """For each build its units, as numbers of the common ones; it lacks the others."""
    names: tuple[tuple[str, ...], ...]
    """For each build the names of its fields."""
    contradiction: tuple[str, ...] = ()
    """Members that builds declare in different orders: the first build decides; empty for none."""
    groups: tuple[_Group, ...] = ()
    """The opened structs, those around others first."""
    own_groups: tuple[tuple[int, ...], ...] = ()
    """For each build its opened structs, by their numbers in `groups`."""
    lines: tuple[int, ...] = ()
    """The lines of text that declare each unit; empty if they are not known."""

    @property
    def top(self) -> tuple[int, ...]:
        """What stands side by side in the struct, as in `Group.nodes`."""
        every = (*self.declared_order(), *(group.number for group in self.groups))
        inside = {node for group in self.groups for node in group.nodes}
        return tuple(sorted((node for node in every if node not in inside), key=self.first_unit))

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """What stands side by side: in the struct first, then in each group."""
        return (self.top, *(group.nodes for group in self.groups))

    def group(self, node: int) -> _Group | None:
        """Return an opened struct by its number; None for a unit."""
        return self.groups[node - len(self.members)] if node >= len(self.members) else None

    def first_unit(self, node: int) -> int:
        """Return the first unit of an opened struct, or a unit itself."""
        group = self.group(node)
        return node if group is None else group.units[0]

    def weight(self, node: int) -> int:
        """Return the number of declarations of a unit; an opened struct is one."""
        return self.weights[node] if self.group(node) is None else 1

    def count_lines(self, node: int) -> int:
        """Return the lines of text that declare a unit, or the members of an opened struct."""
        group = self.group(node)
        units = (node,) if group is None else group.units
        return sum(self.lines[unit] for unit in units) if self.lines else 0

    def in_order(self, nodes: Sequence[int], order: Sequence[int]) -> list[int]:
        """Return what stands side by side as in an order of all units."""
        places = {number: at for at, number in enumerate(order)}
        return sorted(nodes, key=lambda node: places[self.first_unit(node)])

    def staying_nodes(self, order: Sequence[int]) -> frozenset[int]:
        """Return the units and opened structs that stay where they are among those beside them.

        As few declarations as possible move, and of those as few lines of text.
        """
        return Staying(self).nodes(order)

    def count_moves(self, order: Sequence[int]) -> int:
        """Return the number of declarations that move."""
        return Staying(self).count_moves(order)

    def nodes_of(self, build: int) -> tuple[int, ...]:
        """Return the units and opened structs of a build, by their numbers in it."""
        return (*self.units[build], *self.own_groups[build])

    def select(self, builds: Sequence[int]) -> CommonOrder:
        """Return the order of some of the builds."""
        parts = (
            tuple(each[build] for build in builds) for each in (self.units, self.names, self.own_groups)
        )
        units, names, own_groups = parts
        return replace(self, units=units, names=names, own_groups=own_groups)

    def side_by_side(self, order: Sequence[int]) -> tuple[int, ...]:
        """Return an order of the units in which those of each opened struct stand side by side."""
        return tuple(self._units_of(self.top, order))

    def _units_of(self, nodes: Sequence[int], order: Sequence[int]) -> Iterator[int]:
        for node in self.in_order(nodes, order):
            group = self.group(node)
            yield from (node,) if group is None else self._units_of(group.nodes, order)

    def agrees(self, build: int) -> bool:
        """Return whether a build declares its members in this order."""
        return list(self.units[build]) == sorted(self.units[build])

    def translate(self, build: int, order: Sequence[int]) -> tuple[int, ...]:
        """Return an order of the common units as an order of the units of a build."""
        own = {common: number for number, common in enumerate(self.units[build])}
        return tuple(own[common] for common in order if common in own)

    def declared_order(self) -> tuple[int, ...]:
        """Return the declared order."""
        return tuple(range(len(self.members)))


class Staying:
    """Tells what stays in orders of the units."""

    def __init__(self, common: CommonOrder) -> None:
        self._weights = {node: common.weight(node) for nodes in common.levels for node in nodes}
        unit = sum(common.lines) + 1
        self._levels = [
            (
                nodes,
                [common.first_unit(node) for node in nodes],
                [common.weight(node) * unit + common.count_lines(node) for node in nodes],
            )
            for nodes in common.levels
        ]

    def nodes(self, order: Sequence[int]) -> frozenset[int]:
        """Return the units and opened structs that stay where they are among those beside them."""
        places = {number: at for at, number in enumerate(order)}
        kept: set[int] = set()
        for nodes, firsts, weights in self._levels:
            ranks = sorted(range(len(nodes)), key=[places[first] for first in firsts].__getitem__)
            kept.update(nodes[rank] for rank in unmoved_units(ranks, weights))
        return frozenset(kept)

    def count_moves(self, order: Sequence[int]) -> int:
        """Return the number of declarations that move."""
        kept = self.nodes(order)
        return sum(weight for node, weight in self._weights.items() if node not in kept)


def order_of_one(arrangement: Arrangement) -> CommonOrder:
    """Return the order of a struct with one build."""
    return join(((arrangement,),))[0]


def join(
    builds: Sequence[Sequence[Arrangement]],
) -> tuple[CommonOrder, tuple[tuple[Arrangement, ...], ...]]:
    """Return the common order of a struct's builds, and the builds with its units.

    Each build has an arrangement for each declaration that it can have. What is one unit in some build is one
    in all, with what other builds declare inside of it. Raises CannotJoin and CannotLayOut.
    """
    arrangements = [own[0] for own in builds]
    names = common_names([each.struct for each in arrangements])
    labels = [_labels(each, own) for each, own in zip(arrangements, names, strict=True)]
    _refuse_other_unnamed(labels)
    _refuse_half_opened(arrangements)
    sequences = [[label for unit in units for label in unit] for units in labels]
    merged, contradiction = _merge(sequences, _lines(arrangements, names))
    groups = _groups(merged, labels)
    if contradiction:
        _refuse_torn_units(groups, sequences)
    group_of = {label: number for number, group in enumerate(groups) for label in group}
    numbers = [[group_of[unit[0]] for unit in units] for units in labels]
    joined = tuple(
        tuple(_join_units(each, own) for each in every)
        for every, own in zip(builds, numbers, strict=True)
    )
    firsts = [own[0] for own in joined]
    units = tuple(tuple(dict.fromkeys(own)) for own in numbers)
    order = CommonOrder(
        tuple(tuple(label for label in group if not label.startswith(":")) for group in groups),
        tuple(_weights(groups, firsts, numbers, names)), units, names, contradiction,
        *_common_groups(firsts, units, len(groups)),
    )  # fmt: skip
    return order, joined


def _refuse_half_opened(arrangements: Sequence[Arrangement]) -> None:
    """Raise CannotJoin if a struct without a name is opened in some builds, and not in others."""
    names = [{field.name for field in each.struct.fields} for each in arrangements]
    for each in arrangements:
        kept = (field for field in each.struct.fields if field.name is None)
        inside = {path.split(".")[0] for field in kept for path, _ in fields_in_braces(field.members)}
        if any(inside & own for own in names):
            raise CannotJoin("its builds declare different structs without a name")


def _join_units(arrangement: Arrangement, numbers: Sequence[int]) -> Arrangement:
    joined = join_units(arrangement, numbers)
    if joined is None:
        raise CannotJoin("a struct without a name stands between bit-fields of another build")
    return joined


def common_names(structs: Sequence[Struct]) -> tuple[tuple[str, ...], ...]:
    """Return a name for each field of each build, the same for what is the same member.

    Anonymous members are the same if a name inside of them is.
    """
    known: dict[str, str] = {}
    names = []
    for struct in structs:
        own = member_names(struct)
        for at, field in enumerate(struct.fields):
            inner = [path for path, _ in fields_in_braces(field.members)] if field.name is None else []
            name = next((known[path] for path in inner if path in known), own[at])
            if name not in own:
                own = (*own[:at], name, *own[at + 1 :])
            known |= {path: own[at] for path in inner if path not in known}
        names.append(own)
    return tuple(names)


def _labels(arrangement: Arrangement, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the names in each unit; `:0`, `:1` for those with nothing but unnamed bit-fields."""
    labels = []
    unnamed = 0
    for unit in arrangement.units:
        labels.append(tuple(names[at] for at in unit.fields) or (f":{unnamed}",))
        unnamed += not unit.fields
    return labels


def _refuse_other_unnamed(labels: Sequence[Sequence[tuple[str, ...]]]) -> None:
    """Raise CannotJoin if the builds have different numbers of unnamed bit-fields by themselves."""
    if len({sum(unit[0].startswith(":") for unit in units) for units in labels}) > 1:
        raise CannotJoin("unnamed bit-fields are in some of its builds only")


def _lines(arrangements: Sequence[Arrangement], names: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the line of each member; empty if the builds are not of the same text."""
    sources = {
        (name, field.source.file, field.source.line)
        for each, own in zip(arrangements, names, strict=True)
        for name, field in zip(own, each.struct.fields, strict=True)
        if field.source is not None and field.source.line is not None
    }
    lines = {name: line for name, _, line in sources if line is not None}
    is_one_text = len(lines) == len(sources) and len({file for _, file, _ in sources}) == 1
    return lines if is_one_text else {}


def _merge(sequences: Sequence[Sequence[str]], lines: dict[str, int]) -> tuple[list[str], tuple[str, ...]]:
    """Return all names in an order that agrees with each sequence, or else with those that come first.

    Also returns names that sequences have in different orders.
    """
    behind: dict[str, set[str]] = {name: set() for sequence in sequences for name in sequence}
    for sequence in sequences:
        for before, after in pairwise(sequence):
            behind[after].add(before)
    merged: dict[str, None] = {}
    contradiction: tuple[str, ...] = ()
    while len(merged) < len(behind):
        ready = [name for name, before in behind.items() if name not in merged and before <= merged.keys()]
        if not ready:
            left = [name for sequence in sequences for name in sequence if name not in merged]
            contradiction = contradiction or _contradictory_names(sequences, list(dict.fromkeys(left)))
            ready = left[:1]
        merged[min(ready, key=lambda name: lines.get(name, 0))] = None
    return list(merged), contradiction


def _contradictory_names(sequences: Sequence[Sequence[str]], left: Sequence[str]) -> tuple[str, ...]:
    """Return two of some names that two sequences have in different orders; all if it takes more."""
    places = [{name: at for at, name in enumerate(sequence)} for sequence in sequences]
    for number, a in enumerate(left):
        for b in left[number + 1 :]:
            if len({own[a] < own[b] for own in places if a in own and b in own}) > 1:
                return a, b
    return tuple(left)


def _refuse_torn_units(groups: Sequence[Sequence[str]], sequences: Sequence[Sequence[str]]) -> None:
    """Raise CannotJoin if a build declares what must stay together in another order, or apart."""
    for group in groups:
        for sequence in sequences:
            own = [name for name in group if name in sequence]
            at = sequence.index(own[0]) if own else 0
            if list(sequence[at : at + len(own)]) != own:
                names = " and ".join(f"`{name}`" for name in own[:2])
                reason = f"its builds declare {names} in different orders, and bit-fields are in between"
                raise CannotJoin(reason)


def _groups(merged: Sequence[str], labels: Sequence[Sequence[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """Return the names that are one unit in some build, with those between them."""
    place = {name: at for at, name in enumerate(merged)}
    reach = list(range(len(merged)))
    for unit in (unit for units in labels for unit in units):
        places = [place[name] for name in unit]
        first = min(places)
        reach[first] = max(reach[first], *places)
    groups: list[list[str]] = []
    end = -1
    for at, name in enumerate(merged):
        if at > end:
            groups.append([])
        groups[-1].append(name)
        end = max(end, reach[at])
    return [tuple(group) for group in groups]


def _weights(
    groups: Sequence[tuple[str, ...]],
    joined: Sequence[Arrangement],
    numbers: Sequence[Sequence[int]],
    names: Sequence[Sequence[str]],
) -> Iterator[int]:
    """Yield the number of declarations of each group: names, and the most unnamed bit-fields of a build."""
    for number, group in enumerate(groups):
        unnamed = [
            len(unit.members) - len(unit.fields)
            for each, own in zip(joined, numbers, strict=True)
            for unit, common in zip(each.units, dict.fromkeys(own), strict=True)
            if common == number
        ]
        more = [
            sum(len(fields) - 1 for fields in each.together if own[fields[0]] in group)
            for each, own in zip(joined, names, strict=True)
        ]
        named = sum(not label.startswith(":") for label in group)
        yield named + max(unnamed, default=0) - max(more, default=0)


def unmoved_units(order: Sequence[int], weights: Sequence[int]) -> frozenset[int]:
    """Return the units that stay: the heaviest increasing subsequence of an order.

    A tree has the heaviest one that ends before each number (Fenwick, 1994, with maxima for sums). What is
    in place at both ends stays.
    """
    ends = [at for at, number in enumerate(order) if at != number]
    if not ends:
        return frozenset(order)
    first, stop = ends[0], ends[-1] + 1
    span = stop + 1  # a number in the tree is a weight times this, and the last unit plus 1
    tree = [0] * (stop - first + 1)
    before: dict[int, int] = {}
    for number in order[first:stop]:
        best = 0
        at = number - first
        while at:
            if tree[at] > best:
                best = tree[at]
            at &= at - 1
        before[number] = best % span - 1
        own = (best // span + weights[number]) * span + number + 1
        at = number - first + 1
        while at < len(tree):
            if tree[at] < own:
                tree[at] = own
            at += at & -at
    last = max(tree) % span - 1
    kept = {*range(first), *range(stop, len(order))}
    while last >= 0:
        kept.add(last)
        last = before[last]
    return frozenset(kept)
