"""Probabilities of the layouts of a randomised struct: counted over all orders, or sampled.

Counting adds one member at a time. It keeps the positions that matter, with the number of orders that lead
there, and treats indistinguishable members as one. The result is exact, and needs far less work than listing
all orders.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod
from random import Random

from layoutlint.model.record import Record
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.generators import Draw
from layoutlint.randstruct.order_tree import FixedOrder, Member, Part, Shuffle, Swaps, TooManyOrders
from layoutlint.randstruct.shape import Chosen, Shape, ShapeLayout
from layoutlint.randstruct.view import MemberSpot, Question, View

MOST_STEPS = 300_000
"""Maximum number of steps of counting."""
SEED = 20_190_404
"""Seed for sampled orders: the same in every run."""

_Chain = tuple["_Chain", int] | None
"""Members in their order, the last one first."""


class Chance(Record, frozen=True):
    """One view of a struct."""

    weight: int
    """The number of orders with this view."""
    view: View
    orders: Chosen
    """One order with this view."""


class _Count(Record):
    """The number of orders that lead to a state, and one of them."""

    weight: int
    chain: _Chain


_State = tuple[int | None, tuple[MemberSpot, ...]]
"""The end of the last member (None if it no longer matters), and the positions that matter."""
_States = dict[_State, _Count]


def count_views(shape: Shape, question: Question) -> list[Chance]:
    """Return every view of a struct. Raises TooManyOrders and CannotLayOut."""
    return _ViewCounter(question).views_of(shape, is_top=True)


def _add_count(states: _States, state: _State, weight: int, chain: _Chain) -> None:
    count = states.get(state)
    if count is None:
        states[state] = _Count(weight, chain)
    else:
        count.weight += weight


class _ViewCounter:
    """Counts for a shape and all shapes inside it, each computed once."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.steps = 0
        self._views: dict[Shape, list[Chance]] = {}

    def views_of(self, shape: Shape, is_top: bool = False) -> list[Chance]:
        """Return the views of a shape, each once."""
        if shape not in self._views:
            chances: dict[View, Chance] = {}
            for chance in self._walk_views(shape, is_top):
                earlier = chances.get(chance.view)
                weight = chance.weight + (earlier.weight if earlier else 0)
                chances[chance.view] = Chance(
                    weight, chance.view, earlier.orders if earlier else chance.orders
                )
            self._views[shape] = list(chances.values())
        return self._views[shape]

    def _walk_views(self, shape: Shape, is_top: bool) -> Iterator[Chance]:
        if shape.part is None:
            raise TooManyOrders
        inner = list(dict.fromkeys(shape_inside for shape_inside, _ in shape.inner.values()))
        _refuse_dependent(shape, inner)
        for chances in product(*(self.views_of(shape_inside) for shape_inside in inner)):
            views = dict(zip(inner, (chance.view for chance in chances), strict=True))
            weight = prod(chance.weight for chance in chances)
            orders = {key: order for chance in chances for key, order in chance.orders.items()}
            run = _Placing(self, shape, views, needs_size=self.question.needs_size or not is_top)
            for (end, spots), count in run.place_all(shape.part).items():
                size = 0 if end is None else shape.round_size(end)
                view = (size if run.needs_size else 0, spots)
                order = {} if shape.stream is None else {shape: _list_chain(count.chain)}
                yield Chance(weight * count.weight, view, {**orders, **order})


def _refuse_dependent(shape: Shape, inner: list[Shape]) -> None:
    """Raise TooManyOrders if types use the same random numbers: their orders are not independent."""
    several = [
        {member_shape.stream for member_shape in shape_inside.all_inside() if member_shape.stream is not None}
        for shape_inside in inner
    ]
    streams = [stream for streams_inside in several for stream in streams_inside]
    if shape.stream is not None:
        streams.append(shape.stream)
    if len(set(streams)) < len(streams):
        raise TooManyOrders


def _list_chain(chain: _Chain) -> list[int]:
    positions = []
    while chain is not None:
        chain, position = chain
        positions.append(position)
    return positions[::-1]


class _Placing:
    """Places the members of one shape in every order, given the views of the shapes inside it."""

    def __init__(
        self, counting: _ViewCounter, shape: Shape, views: Mapping[Shape, View], needs_size: bool
    ) -> None:
        self.shape = shape
        self.needs_size = needs_size
        self._counting = counting
        self._sight = counting.question.sights[shape]
        self._inner = {position: views[inner_shape] for position, (inner_shape, _) in shape.inner.items()}
        self._sizes = shape.sizes({inner_shape: view[0] for inner_shape, view in views.items()})

    def place_all(self, part: Part) -> _States:
        """Return the positions for every order."""
        return self._place_part(part, {(0, ()): _Count(1, None)})

    def _place_part(self, part: Part, states: _States) -> _States:
        if isinstance(part, Member):
            return self._place_member(part.position, states)
        if isinstance(part, Shuffle):
            return self._place_shuffled(part.parts, states)
        if isinstance(part, Swaps):
            return self._place_swapped(part, states)
        for child in part.parts:
            states = self._place_part(child, states)
        return states

    def _place_member(self, position: int, states: _States) -> _States:
        self._counting.steps += len(states)
        if self._counting.steps > MOST_STEPS:
            raise TooManyOrders
        shape, sight, after = self.shape, self._sight, _States()
        is_union = shape.aggregate == "union"
        for (end, spots), count in states.items():
            next_end = end
            if end is not None:
                start = shape.start(position, end)
                next_end = start + self._sizes[position]
                next_end = max(end, next_end) if is_union else next_end
                if position in sight.relevant:
                    spot = MemberSpot(sight.first_alike[position], start, self._inner.get(position))
                    spots = (*spots, spot)
                if not self.needs_size and sight.is_complete(len(spots)):
                    next_end = None
            _add_count(after, (next_end, spots), count.weight, (count.chain, position))
        return after

    def _kind(self, part: Part) -> object:
        """Return a key that is equal for two parts with indistinguishable members."""
        if isinstance(part, Member):
            return self._sight.first_alike[part.position]
        if isinstance(part, Swaps):
            return part
        inner = list(map(self._kind, part.parts))
        return isinstance(part, FixedOrder), tuple(
            inner if isinstance(part, FixedOrder) else sorted(inner, key=repr)
        )

    def _place_shuffled(self, parts: Sequence[Part], states: _States) -> _States:
        kinds: dict[object, list[Part]] = {}
        for part in parts:
            kinds.setdefault(self._kind(part), []).append(part)
        alternatives = list(kinds.values())
        if prod(len(some) + 1 for some in alternatives) > MOST_STEPS:
            raise TooManyOrders
        layers = {(0,) * len(alternatives): states}
        for _ in parts:
            after: dict[tuple[int, ...], _States] = {}
            for used, layer in layers.items():
                for kind, some in enumerate(alternatives):
                    if used[kind] < len(some):
                        key = (*used[:kind], used[kind] + 1, *used[kind + 1 :])
                        target = after.setdefault(key, {})
                        for state, count in self._place_part(some[used[kind]], layer).items():
                            _add_count(target, state, count.weight * (len(some) - used[kind]), count.chain)
            layers = after
        return next(iter(layers.values()))

    def _place_swapped(self, part: Swaps, states: _States) -> _States:
        after: _States = {}
        for order, weight in self._swap_outcomes(part).values():
            row = FixedOrder(tuple(map(Member, order)))
            for state, count in self._place_part(row, states).items():
                _add_count(after, state, count.weight * weight, count.chain)
        return after

    def _swap_outcomes(self, part: Swaps) -> dict[tuple[int, ...], tuple[tuple[int, ...], int]]:
        """Return the distinguishable orders after swaps: one example of each, and its weight."""
        outcomes: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}
        for way in part.ways:
            current = {tuple(self._sight.first_alike[p] for p in part.positions): (part.positions, 1)}
            for at, lowest in way:
                current = self._swap_once(current, at, lowest)
            for key, (order, weight) in current.items():
                outcomes[key] = (order, weight + (outcomes[key][1] if key in outcomes else 0))
        return outcomes

    def _swap_once(
        self, current: dict[tuple[int, ...], tuple[tuple[int, ...], int]], at: int, lowest: int
    ) -> dict[tuple[int, ...], tuple[tuple[int, ...], int]]:
        fields, after = self.shape.fields, dict[tuple[int, ...], tuple[tuple[int, ...], int]]()
        self._counting.steps += len(current) * (at - lowest + 1)
        if self._counting.steps > MOST_STEPS:
            raise TooManyOrders
        for order, weight in current.values():
            for other in range(lowest, at + 1):
                new = list(order)
                if not fields[order[at]].is_bitfield and not fields[order[other]].is_bitfield:
                    new[at], new[other] = new[other], new[at]
                key = tuple(self._sight.first_alike[position] for position in new)
                after[key] = (tuple(new), weight + (after[key][1] if key in after else 0))
        return after


_Sample = tuple[Chosen, Mapping[Shape, ShapeLayout]]
_MOST_CACHED_PLACES = 4_000_000
"""Maximum number of member places in all cached layouts, of 12 bytes each."""
_OVERHEAD = 60
"""Additional memory of a shape in a layout, in places."""


def sample_layouts(shape: Shape, number: int) -> Iterator[_Sample]:
    """Yield layouts by random numbers as the compiler draws them: the same in every run.

    As far as memory allows, they are cached for the next rule on the same struct. Raises CannotLayOut.
    """
    cache = _caches.pop(shape, None) or _SampleCache(shape)
    places = cache.places(number)
    while _caches and places + sum(other.places() for other in _caches.values()) > _MOST_CACHED_PLACES:
        del _caches[next(iter(_caches))]
    if places > _MOST_CACHED_PLACES:
        return islice(_sample_endlessly(shape), number)
    _caches[shape] = cache
    return cache.first_samples(number)


class _SampleCache:
    """Sampled layouts of one shape, each computed once."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._samples: list[_Sample] = []
        self._endless = _sample_endlessly(shape)
        self._members = sum(len(one.fields) + _OVERHEAD for one in shape.all_inside())

    def places(self, number: int = 0) -> int:
        """Return the number of member places in these layouts once there are `number` of them."""
        return max(number, len(self._samples)) * self._members

    def first_samples(self, number: int) -> Iterator[_Sample]:
        """Yield the first layouts. Raises CannotLayOut."""
        for at in range(number):
            if at == len(self._samples):
                try:
                    self._samples.append(_compact(*next(self._endless)))
                except CannotLayOut:
                    _caches.pop(self._shape, None)  # the next rule raises it again
                    raise
            yield self._samples[at]


_caches: dict[Shape, _SampleCache] = {}
"""Caches by shape, the most recent one last."""


def _compact(chosen: Chosen, layouts: Mapping[Shape, ShapeLayout]) -> _Sample:
    """Return the layout in a third of the memory."""
    small = {shape: array("I", order) for shape, order in chosen.items()}
    return small, {
        shape: ShapeLayout(laid.bit_size, array("q", laid.offsets), small.get(shape, laid.order))
        for shape, laid in layouts.items()
    }


def _sample_endlessly(shape: Shape) -> Iterator[_Sample]:
    """Yield layouts without end. Raises CannotLayOut."""
    random = Random(SEED)
    shapes = [inner_shape for inner_shape in shape.all_inside() if inner_shape.order_by_draws is not None]
    streams = [one.stream for one in shapes]
    shared = {stream for stream in streams if streams.count(stream) > 1}
    while True:
        tapes: dict[str | None, list[int]] = {stream: [] for stream in shared}
        orders = {
            one: one.order_by_draws(_make_draw(random, one.draw_bits, tapes.get(one.stream)))
            for one in shapes
            if one.order_by_draws is not None
        }
        yield orders, shape.lay_out_all(orders)


def _make_draw(random: Random, bits: int, tape: list[int] | None) -> Draw:
    """Return new numbers, or those on a tape, which new ones extend."""
    if tape is None:
        return lambda: random.getrandbits(bits)
    at = 0

    def draw_from_tape() -> int:
        nonlocal at
        if at == len(tape):
            tape.append(random.getrandbits(bits))
        at += 1
        return tape[at - 1]

    return draw_from_tape
