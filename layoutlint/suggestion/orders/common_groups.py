"""The structs without a name that are opened in several builds: the same where their members are."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.model.record import Record
from layoutlint.suggestion.orders.arrangement import Arrangement

_Place = tuple[int, int]
"""A build, and the number of an opened struct in it."""


class CannotJoin(Exception):
    """Raised if the declarations of some builds have no common order; the text is the reason."""


class Group(Record, frozen=True):
    """An opened struct without a name: its units stay together."""

    name: str
    number: int
    """It follows those of the units."""
    units: tuple[int, ...]
    """Its units, at any depth."""
    nodes: tuple[int, ...]
    """What stands side by side in it, in its declared order: units, and opened structs by their number."""


def common_groups(
    arrangements: Sequence[Arrangement], units: Sequence[Sequence[int]], count: int
) -> tuple[tuple[Group, ...], tuple[tuple[int, ...], ...]]:
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
        result.append(Group(_name(arrangements, min(path[-1])), number_of[path], tuple(own), nodes))
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
    return arrangement.group_name(next(each for each in arrangement.groups if each.number == number))
