"""Why a moved member stands where it does, in words."""

from __future__ import annotations

from layoutlint.suggestion.orders.problem import OrderTask
from layoutlint.suggestion.orders.tables import orders_of, tokens
from layoutlint.suggestion.orders.taste import Critic

_FAR = 1 << 60
_MOST_MOVES = 20
"""The most moves that have a reason: each tries all places of its member."""


def reasons(task: OrderTask, order: tuple[int, ...]) -> dict[int, str]:
    """Return why moved units and opened structs stand where they do in an order, by their numbers.

    The order keeps the rules. Of many moves, the first have a reason.
    """
    places = _Places(task, order)
    levels = (task.order.in_order(nodes, order) for nodes in task.order.levels)
    moved = [node for nodes in levels for node in nodes if node not in places.kept]
    return {node: places.reason(node) for node in moved[:_MOST_MOVES]}


class _Places:
    """The places that each moved member of an order can have while the others stay."""

    def __init__(self, task: OrderTask, order: tuple[int, ...]) -> None:
        self._task, self._order = task, order
        self._critic = Critic(task.order, task.taste)
        self._orders = orders_of(task, lambda _: None)
        self._tokens = tokens(task.order, order)
        self._declared = tokens(task.order, task.order.declared_order())
        self.kept = self._critic.staying.nodes(order)

    def reason(self, node: int) -> str:
        """Return why a unit or an opened struct stands where it does."""
        members = self._task.order.members
        is_unit = node < len(members)
        place = self._order.index(node) if is_unit else 0
        kin = self._critic.kin_beside(self._order, place, self.kept) if is_unit else None
        if kin is not None:
            return f"beside `{members[kin[0]][0]}`: {kin[1]}"
        nearer = self._nearer(node)
        if not nearer:
            is_contended = self._task.aims[0] == "contention"
            return f"the nearest place that {'contends as little' if is_contended else 'keeps the rules'}"
        size, holes = self._size(self._tokens), self._task.value("holes", self._order)
        costs = [(self._size(each), own) for each, own in nearer]
        if all(own > size for own, _ in costs):
            return f"the nearest place with {size} bytes"
        if all(own > (size, holes) for own in costs):
            return f"the nearest place with {size} bytes and as few holes"
        pairs = zip(nearer, costs, strict=True)
        ties = [each for (each, _), own in pairs if own <= (size, holes)]
        if all(self._intrudes(node, each) for each in ties):
            return "the nearest place outside of groups with a comment"
        if all(each[0] == node or self._intrudes(node, each) for each in ties):
            return "the nearest place behind the first member"
        return "beside the other moved members" if len(self._order) - len(self.kept) > 1 else "a near place"

    def _nearer(self, node: int) -> list[tuple[tuple[int, ...], int]]:
        """Return the orders that keep the rules, in which a node is nearer to where it was declared, with
        the number of their holes.
        """
        at, declared = self._tokens.index(node), self._declared.index(node)
        is_contended = self._task.aims[0] == "contention"
        most = self._orders.value(self._tokens) if is_contended else _FAR
        self._orders.try_smaller(self._tokens, (node,), most)
        places = sorted((to, holes) for _, holes, _, to in self._orders.improved)
        nearer = [place for place in places if 0 < abs(place[0] - declared) < abs(at - declared)]
        moved = [(self._orders.move(self._tokens, node, to), holes) for to, holes in nearer]
        if is_contended:  # the second number is no number of holes
            moved = [(each, self._task.value("holes", self._units(each))) for each, _ in moved]
        return moved

    def _units(self, order: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(token for token in order if token < len(self._order))

    def _size(self, order: tuple[int, ...]) -> int:
        """Return the bytes of an order of tokens, summed over all builds."""
        sizes, builds = self._orders.sizes(order), self._task.builds
        return sum(build.weight * own for build, own in zip(builds, sizes, strict=True))

    def _intrudes(self, node: int, order: tuple[int, ...]) -> bool:
        """Return whether a unit stands in another group with a comment in an order of tokens."""
        units = self._units(order)
        return node in units and self._critic.is_in_other_group(units, units.index(node), self.kept)
