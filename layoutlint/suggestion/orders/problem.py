"""What is searched in the builds of a struct, and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from types import MappingProxyType
from typing import Literal

from layoutlint.geometry.allocation_room import allocation_room
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import count_lines, share_line
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Struct
from layoutlint.suggestion.orders.arrangement import Arrangement
from layoutlint.suggestion.orders.common_order import CommonOrder, order_of_one
from layoutlint.suggestion.orders.demands import Apart, Demand
from layoutlint.suggestion.orders.limits import Limit
from layoutlint.suggestion.orders.taste import Taste, lines_of_text

Aim = Literal["contention", "lines", "moves", "size", "holes"]
State = Literal["optimal", "feasible", "infeasible", "unknown"]


class SizeClass(Record, frozen=True):
    """Sizes of the struct for which the demands of all rules are the same."""

    sizes: tuple[int, ...]
    """In bytes; empty for any."""
    demands: dict[int, tuple[Demand, ...]]
    """By the number of the rule."""
    tolerated: dict[int, tuple[tuple[tuple[Demand, ...], ...], int]]
    """By the number of a rule that may fail at some bases: its demands at each, and how many may fail."""
    impossible: frozenset[int] = frozenset()
    """Rules that no order keeps at these sizes."""


class Exclusion(Record, frozen=True):
    """An order of the units of a build that is no solution, though it keeps the demands."""

    order: tuple[int, ...]
    rules: tuple[int, ...]
    """The rules that it does not keep, by their number in the build."""


class ContendedPair(Record, frozen=True):
    """Two fields that contend for a line."""

    apart: Apart
    """What parts them at all placements."""
    weight: int
    """What each placement costs in which they share a line."""

    def value(self, layout: Layout) -> int:
        """Return what the placements cost in which they share a line of a layout."""
        return self.weight * self.count_shared(layout)

    def count_shared(self, layout: Layout) -> int:
        """Return in how many placements they share a line of a layout."""
        one, other = (layout.find(place.path) or place for place in (self.apart.a, self.apart.b))
        return sum(share_line(one, other, base, self.apart.line) for base in self.apart.bases)


class BuildTask(Record, frozen=True):
    """The search in one build."""

    arrangement: Arrangement
    rules: int
    """The number of rules."""
    classes: tuple[SizeClass, ...]
    paths: tuple[tuple[Place, ...], ...] = ()
    """The fields of each declared path, whose lines count for the aim `lines`."""
    bases: tuple[int, ...] = (0,)
    line: int = 64
    limits: tuple[Limit, ...] = ()
    """What every order must meet."""
    excluded: tuple[Exclusion, ...] = ()
    weight: int = 1
    """The number of builds that are the same."""
    pairs: tuple[ContendedPair, ...] = ()
    """What counts for the aim `contention`."""
    storage: Storage | None = None
    """How objects of the struct are allocated; None if that is not known."""

    def growth(self, size: int) -> tuple[int, int, int]:
        """Return what the struct takes more than it does as it is, if it has some bytes: bytes, lines, and
        bytes of a block of kmalloc or pages of a slab.
        """
        struct = self.arrangement.declared
        before, after = (_costs(struct, own, self.storage) for own in (struct.bit_size or 0, size * 8))
        grown = [max(0, new - old) for old, new in zip(before, after, strict=True)]
        return grown[0], grown[1], grown[2]

    @property
    def least_contention(self) -> int:
        """What no order is below for the aim `contention`: what fields inside of one unit cost."""
        return sum(pair.weight * _least_shared(pair.apart, self.arrangement) for pair in self.pairs)

    def value(self, aim: Aim, units: tuple[int, ...]) -> int:
        """Return what an order of the units reaches for an aim other than `moves`."""
        if aim == "size":
            return (self.arrangement.lay_out(units).bit_size or 0) // 8
        if aim == "holes":
            return self.arrangement.count_holes(units)
        layout = Layout(self.arrangement.lay_out(units))
        if aim == "contention":
            return sum(pair.value(layout) for pair in self.pairs)
        places = [[layout.find(place.path) or place for place in path] for path in self.paths]
        return sum(max(count_lines(path, base, self.line) for base in self.bases) for path in places)


def _least_shared(apart: Apart, arrangement: Arrangement) -> int:
    """Return in how many placements two fields share a line wherever their units stand: 0 for two units."""
    places, line = (apart.a, apart.b), apart.line * 8
    units = {arrangement.unit_of(arrangement.member_of(place)[0]) for place in places}
    if len(units) > 1:
        return 0
    period = lcm(max(1, line // arrangement.grain), arrangement.units[units.pop()].period)
    counts = []
    for at in range(period):
        (_, low), (high, _) = sorted(arrangement.bits_of(place, at) for place in places)
        counts.append(sum((low + 8 * base) // line >= (high + 8 * base) // line for base in apart.bases))
    return min(counts)


def _costs(struct: Struct, bits: int, storage: Storage | None) -> tuple[int, int, int]:
    """Return the bytes of a struct of some bits, its lines, and what its allocator takes; 0 if not known."""
    layout = Layout(replace(struct, bit_size=bits))
    room = None if storage is None else allocation_room(layout, storage)
    taken = 0 if room is None else room.block or (1 << room.slabs[-1].slab.order if room.slabs else 0)
    return bits // 8, -(-bits // (8 * struct.target.line_size)), taken


class OrderTask(Record, frozen=True):
    """A search for a common order of some builds.

    Rules are numbered through all builds: those of the first build come first.
    """

    order: CommonOrder
    builds: tuple[BuildTask, ...]
    aims: tuple[Aim, ...]
    start: tuple[int, ...] = ()
    """The order from which the search starts; empty for the declared one."""
    bound: int = 0
    """No order has less for the first aim."""
    most_moves: int = 0
    """The most declarations that may move, if the size is to be least; 0 for no limit."""
    taste: Taste = MappingProxyType({})
    """What is known of the members, by which equally good orders are told apart."""

    @property
    def rules(self) -> int:
        """The number of rules of all builds."""
        return sum(build.rules for build in self.builds)

    @property
    def excluded(self) -> tuple[Exclusion, ...]:
        """The orders that are excluded in some build."""
        return tuple(each for build in self.builds for each in build.excluded)

    def value(self, aim: Aim, order: tuple[int, ...]) -> int:
        """Return what an order of the common units reaches for an aim, summed over all builds."""
        if aim == "moves":
            return self.order.count_moves(order)
        return sum(
            build.weight * build.value(aim, self.order.translate(number, order))
            for number, build in enumerate(self.builds)
        )

    def with_taste(self, taste: Taste) -> OrderTask:
        """Return the task with what is known of the members."""
        lines = tuple(lines_of_text(names, taste) for names in self.order.members)
        return replace(self, order=replace(self.order, lines=lines), taste=taste)

    def with_limits(self, limits: Sequence[tuple[Limit, ...]]) -> OrderTask:
        """Return the task with what every order must meet in each build."""
        pairs = zip(self.builds, limits, strict=True)
        return replace(self, builds=tuple(replace(build, limits=own) for build, own in pairs))

    def exclude(self, build: int, order: Sequence[int], rules: Sequence[int]) -> OrderTask:
        """Return the task without the common orders that give a build the same order as one of them.

        They are excluded if one of some rules is to be kept, which are numbered in the build.
        """
        builds = list(self.builds)
        mine = Exclusion(self.order.translate(build, order), tuple(rules))
        builds[build] = replace(builds[build], excluded=(*builds[build].excluded, mine))
        return replace(self, builds=tuple(builds))


def task_of_one(build: BuildTask, aims: tuple[Aim, ...]) -> OrderTask:
    """Return the task for a struct with one build."""
    return OrderTask(order_of_one(build.arrangement), (build,), aims)


class ReachedAim(Record, frozen=True):
    """The value reached for one aim, and the bound: no order has less."""

    aim: Aim
    value: int
    bound: int


class Step(Record, frozen=True):
    """An order on the way to the smallest one."""

    moves: int
    """The declarations that move in all."""
    size: int
    """In bytes, summed over all builds."""
    order: tuple[int, ...]
    value: int = 0
    """What it reaches for the first aim."""


class Solution(Record, frozen=True):
    """The result of a search."""

    state: State
    order: tuple[int, ...] = ()
    """Common units; empty without a solution."""
    reached: tuple[ReachedAim, ...] = ()
    kept: tuple[int, ...] = ()
    """The rules whose demands the order keeps."""
    core: tuple[int, ...] = ()
    """Rules that contradict one another."""
    is_minimal: bool = True
    """Whether without any of the core the others can be kept."""
    in_the_way: tuple[int, ...] = ()
    """The rules that the nearest order breaks, if none was found that keeps all."""
    steps: tuple[Step, ...] = ()
    """The orders on the way to the smallest one, if the size was to be least; it is the last."""
    is_interrupted: bool = False
    """Whether a person ended the search."""
    lacking: str = ""
    """What would have searched further, and is not installed."""
    effort: float = 0.0
    """What the search took of the effort that it could, where that is counted."""
