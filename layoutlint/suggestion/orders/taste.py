"""Which of equally good orders a person would take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from layoutlint.model.record import Record
from layoutlint.suggestion.orders.common_order import CommonOrder, Staying

_SHORTEST = 2
"""The fewest characters before the first underscore that make two names kin."""


class KnownMember(Record, frozen=True):
    """What is known of a member, besides its name."""

    accesses: tuple[str, ...] = ()
    """Its declared accesses, in words; code that is on one side alone is a part of them."""
    place: tuple[int, int] = (0, 0)
    """The line of the text where its declaration begins, and the number of its lines."""
    group: int | None = None
    """The line of the comment that is the heading of its group; None for none."""


Taste = Mapping[str, KnownMember]
"""What is known of the members, by their names."""


def lines_of_text(members: Iterable[str], taste: Taste) -> int:
    """Return the lines of text that declare some members, which can share them."""
    return sum(dict(taste[name].place for name in members if name in taste).values())


class Critic:
    """Judges the orders of a struct."""

    def __init__(self, common: CommonOrder, taste: Taste) -> None:
        self.staying = Staying(common)
        self._lines = {node: common.count_lines(node) for nodes in common.levels for node in nodes}
        self._kin = [dict(_kinship(names, taste)) for names in common.members]
        known = ([taste[name].group for name in names if name in taste] for names in common.members)
        self._groups = [own[0] if own else None for own in known]

    def distaste(self, order: tuple[int, ...]) -> tuple[int, ...]:
        """Return how little a person would like an order, most important first; lists are compared.

        Few lines of the text change. A moved member stands beside kin, not in a group with a comment of its
        own, and not before the first member: code can take its address for that of the struct. It is not far
        from where it was, and what is declared later moves.
        """
        kept = self.staying.nodes(order)
        places = {unit: place for place, unit in enumerate(order)}
        moved = [unit for unit in order if unit not in kept]
        strangers = sum(self.kin_beside(order, places[unit], kept) is None for unit in moved)
        intruders = sum(self.is_in_other_group(order, places[unit], kept) for unit in moved)
        way = sum(abs(place - unit) for unit, place in places.items())
        lines = sum(count for node, count in self._lines.items() if node not in kept)
        return lines, strangers, intruders, int(order[0] != 0), way, -sum(moved)

    def kin_beside(
        self, order: Sequence[int], place: int, kept: frozenset[int]
    ) -> tuple[int, str] | None:
        """Return the kin of a moved unit that stays next to it, and why it is one; None without any."""
        own = self._kin[order[place]]
        if not own:
            return None
        before = next((unit for unit in reversed(order[:place]) if unit in kept), None)
        behind = next((unit for unit in order[place + 1 :] if unit in kept), None)
        for reason, words in own.items():
            for unit in (before, behind):
                if unit is not None and reason in self._kin[unit]:
                    return unit, words
        return None

    def is_in_other_group(self, order: Sequence[int], place: int, kept: frozenset[int]) -> bool:
        """Return whether a moved unit stands behind one that stays in another group with a heading."""
        before = next((unit for unit in reversed(order[:place]) if unit in kept), None)
        group = None if before is None else self._groups[before]
        return group is not None and group != self._groups[order[place]]


def _kinship(names: Sequence[str], taste: Taste) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield what makes a unit kin to others, in words, accesses first; the first member has the prefix."""
    for name in names:
        for access in taste[name].accesses if name in taste else ():
            yield ("access", access), f"the same access, {access}"
    for name in names[:1]:
        prefix, underscore, _ = name.strip("{_}").partition("_")
        if underscore and len(prefix) >= _SHORTEST:
            yield ("prefix", prefix), f"the same prefix, {prefix}_"
