"""An order near the declared one that keeps more rules, for the search to start from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.reordering.task import Candidate
from layoutlint.suggestion.common_order import CommonOrder

_MOST_JUDGED = 1_500
"""The most verdicts that are made."""
_MOST_MOVED = 4
"""The most units that are moved, one after the other."""

Order = tuple[int, ...]


def start_order(common: CommonOrder, builds: Sequence[Candidate]) -> Order:
    """Return an order that keeps as many rules as a few moves can; () if all are kept.

    Fields of rules that are not kept move, or others in front of them: large structs have more orders than a
    constraint program tries in time.
    """
    if all(one.before.outcome is Outcome.KEPT for each in builds for one in each.ruled):
        return ()
    movable = movable_units(common, builds)
    order: Order = common.declared_order()
    last = _last(common, builds)
    best = count_faults(common, builds, order)
    left = _MOST_JUDGED // sum(len(each.ruled) for each in builds)
    for _ in range(_MOST_MOVED):
        tried = [each for number in movable for each in _orders_by_moving(last, order, number)]
        tried += (each for number in movable for each in _orders_by_pushing(last, order, number))
        if not best[0] or left < len(tried):
            break
        left -= len(tried)
        judged = ((count_faults(common, builds, each), each) for each in tried)
        value, nearest = min(judged, default=(best, order))
        if value >= best:
            break
        best, order = value, nearest
    return order


def _last(common: CommonOrder, builds: Sequence[Candidate]) -> frozenset[int]:
    """Return the units that must be the last in some build."""
    return frozenset(
        units[last]
        for each, units in zip(builds, common.units, strict=True)
        if (last := each.arrangement.last) is not None
    )


def movable_units(common: CommonOrder, builds: Sequence[Candidate]) -> list[int]:
    """Return the units with fields of rules that are not kept."""
    movable = set()
    for each, units in zip(builds, common.units, strict=True):
        arrangement, fields = each.arrangement, each.arrangement.struct.fields
        failing = [one for one in each.ruled if one.before.outcome is not Outcome.KEPT]
        paths = {place.path.split(".")[0].split("[")[0] for one in failing for place in one.before.evidence}
        movable |= {
            units[number]
            for number, unit in enumerate(arrangement.units)
            if number != arrangement.last and any(fields[at].name in paths for at in unit.fields)
        }
    return sorted(movable - _last(common, builds))


def _orders_by_moving(last: frozenset[int], order: Order, number: int) -> Iterator[Order]:
    """Yield the orders in which a unit stands elsewhere."""
    rest = [each for each in order if each != number]
    for at in range(len(rest) + (not last)):
        if order[at] != number:
            yield (*rest[:at], number, *rest[at:])


def _orders_by_pushing(last: frozenset[int], order: Order, number: int) -> Iterator[Order]:
    """Yield the orders in which another unit stands in front of a unit."""
    for other in order:
        if other != number and other not in last:
            rest = [each for each in order if each != other]
            at = rest.index(number)
            yield (*rest[:at], other, *rest[at:])


def extend(common: CommonOrder, build: int, order: Sequence[int]) -> Order:
    """Return an order of a build's units as a common one: what the build lacks stays behind its neighbour."""
    own = common.units[build]
    result = [own[number] for number in order]
    for number in common.declared_order():
        if number not in own:
            result.insert(result.index(number - 1) + 1 if number else 0, number)
    return tuple(result)


def count_faults(common: CommonOrder, builds: Sequence[Candidate], order: Order) -> tuple[int, int]:
    """Return how many rules an order does not keep in some build, and at how many bases in all."""
    failing = [
        verdict
        for build, each in enumerate(builds)
        for struct in [each.arrangement.lay_out(common.translate(build, order))]
        for one in each.ruled
        if (verdict := one.judge(struct)).outcome is not Outcome.KEPT
    ]
    return len(failing), sum(len(verdict.bases) for verdict in failing)
