"""Probabilities of the layouts of a randomised struct: counted over all orders, or sampled.

Counting adds one member at a time. It keeps the positions that matter, with the number of orders that lead
there, and treats indistinguishable members as one. The result is exact, and needs far less work than listing
all orders.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from random import Random

from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.generators import Draw
from layoutlint.randstruct.order_tree import One, Part, Row, Shuffle, Swaps, TooManyOrders
from layoutlint.randstruct.shape import Chosen, Laid, Shape
from layoutlint.randstruct.view import Question, Spot, View

MOST_STEPS = 300_000
"""Maximum number of steps of counting."""
SEED = 20_190_404
"""Seed for sampled orders: the same in every run."""

_Chain = tuple["_Chain", int] | None
"""Members in their order, the last one first."""


@dataclass(frozen=True, slots=True)
class Chance:
    """One view of a struct."""

    weight: int
    """The number of orders with this view."""
    view: View
    orders: Chosen
    """One order with this view."""


@dataclass(slots=True)
class _Reached:
    """The number of orders that lead to a state, and one of them."""

    weight: int
    chain: _Chain


_State = tuple[int | None, tuple[Spot, ...]]
"""The end of the last member (None if it no longer matters), and the positions that matter."""
_States = dict[_State, _Reached]


def counted(shape: Shape, question: Question) -> list[Chance]:
    """Return every view of a struct. Raises TooManyOrders and CannotLayOut."""
    return _Counting(question).of(shape, is_top=True)


def _add(states: _States, state: _State, weight: int, chain: _Chain) -> None:
    known = states.get(state)
    if known is None:
        states[state] = _Reached(weight, chain)
    else:
        known.weight += weight


class _Counting:
    """Counts for a shape and all shapes inside it, each computed once."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.steps = 0
        self._known: dict[Shape, list[Chance]] = {}

    def of(self, shape: Shape, is_top: bool = False) -> list[Chance]:
        """Return the views of a shape, each once."""
        if shape not in self._known:
            found: dict[View, Chance] = {}
            for chance in self._all(shape, is_top):
                same = found.get(chance.view)
                weight = chance.weight + (same.weight if same else 0)
                found[chance.view] = Chance(weight, chance.view, same.orders if same else chance.orders)
            self._known[shape] = list(found.values())
        return self._known[shape]

    def _all(self, shape: Shape, is_top: bool) -> Iterator[Chance]:
        if shape.part is None:
            raise TooManyOrders
        inner = list(dict.fromkeys(held for held, _ in shape.inner.values()))
        _refuse_dependent(shape, inner)
        for chances in product(*(self.of(held) for held in inner)):
            views = dict(zip(inner, (chance.view for chance in chances), strict=True))
            weight = prod(chance.weight for chance in chances)
            orders = {held: order for chance in chances for held, order in chance.orders.items()}
            run = _Run(self, shape, views, needs_size=self.question.needs_size or not is_top)
            for (end, spots), reached in run.all(shape.part).items():
                size = 0 if end is None else shape.whole(end)
                view = (size if run.needs_size else 0, spots)
                order = {} if shape.stream is None else {shape: _listed(reached.chain)}
                yield Chance(weight * reached.weight, view, {**orders, **order})


def _refuse_dependent(shape: Shape, inner: list[Shape]) -> None:
    """Raise TooManyOrders if types use the same random numbers: their orders are not independent."""
    several = [{one.stream for one in held.below() if one.stream is not None} for held in inner]
    streams = [stream for some in several for stream in some]
    if shape.stream is not None:
        streams.append(shape.stream)
    if len(set(streams)) < len(streams):
        raise TooManyOrders


def _listed(chain: _Chain) -> list[int]:
    found = []
    while chain is not None:
        chain, position = chain
        found.append(position)
    return found[::-1]


class _Run:
    """Places the members of one shape in every order, given the views of the shapes inside it."""

    def __init__(
        self, counting: _Counting, shape: Shape, views: Mapping[Shape, View], needs_size: bool
    ) -> None:
        self.shape = shape
        self.needs_size = needs_size
        self._counting = counting
        self._sight = counting.question.sights[shape]
        self._inner = {position: views[held] for position, (held, _) in shape.inner.items()}
        self._sizes = shape.sizes({held: view[0] for held, view in views.items()})

    def all(self, part: Part) -> _States:
        """Return the positions for every order."""
        return self._put(part, {(0, ()): _Reached(1, None)})

    def _put(self, part: Part, states: _States) -> _States:
        if isinstance(part, One):
            return self._one(part.position, states)
        if isinstance(part, Shuffle):
            return self._shuffled(part.parts, states)
        if isinstance(part, Swaps):
            return self._swapped(part, states)
        for one in part.parts:
            states = self._put(one, states)
        return states

    def _one(self, position: int, states: _States) -> _States:
        self._counting.steps += len(states)
        if self._counting.steps > MOST_STEPS:
            raise TooManyOrders
        shape, sight, found = self.shape, self._sight, _States()
        is_union = shape.aggregate == "union"
        for (end, spots), reached in states.items():
            next_end = end
            if end is not None:
                start = shape.start(position, end)
                next_end = start + self._sizes[position]
                next_end = max(end, next_end) if is_union else next_end
                if position in sight.seen:
                    spot = Spot(sight.alike[position], start, self._inner.get(position))
                    spots = (*spots, spot)
                if not self.needs_size and sight.is_complete(len(spots)):
                    next_end = None
            _add(found, (next_end, spots), reached.weight, (reached.chain, position))
        return found

    def _kind(self, part: Part) -> object:
        """Return a key that is equal for two parts with indistinguishable members."""
        if isinstance(part, One):
            return self._sight.alike[part.position]
        if isinstance(part, Swaps):
            return part
        inner = list(map(self._kind, part.parts))
        return isinstance(part, Row), tuple(inner if isinstance(part, Row) else sorted(inner, key=repr))

    def _shuffled(self, parts: Sequence[Part], states: _States) -> _States:
        kinds: dict[object, list[Part]] = {}
        for part in parts:
            kinds.setdefault(self._kind(part), []).append(part)
        several = list(kinds.values())
        if prod(len(some) + 1 for some in several) > MOST_STEPS:
            raise TooManyOrders
        layers = {(0,) * len(several): states}
        for _ in parts:
            after: dict[tuple[int, ...], _States] = {}
            for used, known in layers.items():
                for kind, some in enumerate(several):
                    if used[kind] < len(some):
                        key = (*used[:kind], used[kind] + 1, *used[kind + 1 :])
                        into = after.setdefault(key, {})
                        for state, reached in self._put(some[used[kind]], known).items():
                            _add(into, state, reached.weight * (len(some) - used[kind]), reached.chain)
            layers = after
        return next(iter(layers.values()))

    def _swapped(self, part: Swaps, states: _States) -> _States:
        found: _States = {}
        for order, weight in self._outcomes(part).values():
            row = Row(tuple(map(One, order)))
            for state, reached in self._put(row, states).items():
                _add(found, state, reached.weight * weight, reached.chain)
        return found

    def _outcomes(self, part: Swaps) -> dict[tuple[int, ...], tuple[tuple[int, ...], int]]:
        """Return the distinguishable orders after swaps: one example of each, and its weight."""
        found: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}
        for way in part.ways:
            known = {tuple(self._sight.alike[p] for p in part.positions): (part.positions, 1)}
            for at, lowest in way:
                known = self._swapped_once(known, at, lowest)
            for key, (order, weight) in known.items():
                found[key] = (order, weight + (found[key][1] if key in found else 0))
        return found

    def _swapped_once(
        self, known: dict[tuple[int, ...], tuple[tuple[int, ...], int]], at: int, lowest: int
    ) -> dict[tuple[int, ...], tuple[tuple[int, ...], int]]:
        fields, after = self.shape.fields, dict[tuple[int, ...], tuple[tuple[int, ...], int]]()
        self._counting.steps += len(known) * (at - lowest + 1)
        if self._counting.steps > MOST_STEPS:
            raise TooManyOrders
        for order, weight in known.values():
            for other in range(lowest, at + 1):
                new = list(order)
                if not fields[order[at]].is_bitfield and not fields[order[other]].is_bitfield:
                    new[at], new[other] = new[other], new[at]
                key = tuple(self._sight.alike[position] for position in new)
                after[key] = (tuple(new), weight + (after[key][1] if key in after else 0))
        return after


_Drawn = tuple[Chosen, Mapping[Shape, Laid]]
_KEPT = 4_000_000
"""Maximum number of member places in all cached layouts, of 12 bytes each."""
_OVERHEAD = 60
"""Additional memory of a shape in a layout, in places."""


def drawn(shape: Shape, number: int) -> Iterator[_Drawn]:
    """Yield layouts by random numbers as the compiler draws them: the same in every run.

    As far as memory allows, they are cached for the next rule on the same struct. Raises CannotLayOut.
    """
    known = _known.pop(shape, None) or _Known(shape)
    places = known.places(number)
    while _known and places + sum(other.places() for other in _known.values()) > _KEPT:
        del _known[next(iter(_known))]
    if places > _KEPT:
        return islice(_all(shape), number)
    _known[shape] = known
    return known.first(number)


class _Known:
    """Sampled layouts of one shape, each computed once."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._drawn: list[_Drawn] = []
        self._more = _all(shape)
        self._members = sum(len(one.fields) + _OVERHEAD for one in shape.below())

    def places(self, number: int = 0) -> int:
        """Return the number of member places in these layouts once there are `number` of them."""
        return max(number, len(self._drawn)) * self._members

    def first(self, number: int) -> Iterator[_Drawn]:
        """Yield the first layouts. Raises CannotLayOut."""
        for at in range(number):
            if at == len(self._drawn):
                try:
                    self._drawn.append(_packed(*next(self._more)))
                except CannotLayOut:
                    _known.pop(self._shape, None)  # the next rule raises it again
                    raise
            yield self._drawn[at]


_known: dict[Shape, _Known] = {}
"""Caches by shape, the most recent one last."""


def _packed(chosen: Chosen, known: Mapping[Shape, Laid]) -> _Drawn:
    """Return the layout in a third of the memory."""
    small = {shape: array("I", order) for shape, order in chosen.items()}
    return small, {
        shape: Laid(laid.bit_size, array("q", laid.offsets), small.get(shape, laid.order))
        for shape, laid in known.items()
    }


def _all(shape: Shape) -> Iterator[_Drawn]:
    """Yield layouts without end. Raises CannotLayOut."""
    random = Random(SEED)
    shapes = [one for one in shape.below() if one.drawn is not None]
    streams = [one.stream for one in shapes]
    shared = {stream for stream in streams if streams.count(stream) > 1}
    while True:
        tapes: dict[str | None, list[int]] = {stream: [] for stream in shared}
        orders = {
            one: one.drawn(_draw(random, one.draw_bits, tapes.get(one.stream)))
            for one in shapes
            if one.drawn is not None
        }
        yield orders, shape.all_laid(orders)


def _draw(random: Random, bits: int, tape: list[int] | None) -> Draw:
    """Return new numbers, or those on a tape, which new ones extend."""
    if tape is None:
        return lambda: random.getrandbits(bits)
    at = 0

    def replayed() -> int:
        nonlocal at
        if at == len(tape):
            tape.append(random.getrandbits(bits))
        at += 1
        return tape[at - 1]

    return replayed
