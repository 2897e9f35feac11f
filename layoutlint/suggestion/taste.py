"""Which of equally good orders a person would take."""

from __future__ import annotations

from layoutlint.suggestion.common_order import CommonOrder

_SHORTEST = 2
"""The fewest characters before the first underscore that make two names kin."""


def distaste(common: CommonOrder, order: tuple[int, ...]) -> tuple[int, ...]:
    """Return how little a person would like an order, most important first; lists are compared.

    The first member stays first: code can take its address for that of the struct. A member stands beside one
    whose name begins alike, is not far from where it was, and what is declared later moves.
    """
    kept = common.staying_nodes(order)
    places = {unit: place for place, unit in enumerate(order)}
    moved = [unit for unit in order if unit not in kept]
    strangers = sum(not _has_kin_beside(common, order, places[unit]) for unit in moved)
    way = sum(abs(place - unit) for unit, place in places.items())
    return int(order[0] != 0), strangers, way, -sum(moved)


def _has_kin_beside(common: CommonOrder, order: tuple[int, ...], place: int) -> bool:
    """Return whether a unit stands beside one with a name that begins with the same word."""
    own = common.members[order[place]]
    beside = (order[at] for at in (place - 1, place + 1) if 0 <= at < len(order))
    return any(_are_kin(a, b) for unit in beside for a in own[:1] for b in common.members[unit][:1])


def _are_kin(a: str, b: str) -> bool:
    words = [name.strip("{_}").partition("_") for name in (a, b)]
    return words[0][0] == words[1][0] and len(words[0][0]) >= _SHORTEST and all(each[1] for each in words)
