"""An order near the declared one that keeps more rules, for the search to start from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.reordering.rules import Ruled
from layoutlint.suggestion.arrangement import Arrangement

_MOST_JUDGED = 1_500
"""The most verdicts that are made."""
_MOST_MOVED = 4
"""The most units that are moved, one after the other."""

Order = tuple[int, ...]


def start_order(arrangement: Arrangement, ruled: Sequence[Ruled]) -> Order:
    """Return an order that keeps as many rules as a few moves can; () if all are kept.

    Fields of rules that are not kept move, or others in front of them: large structs have more orders than a
    constraint program tries in time.
    """
    failing = [one for one in ruled if one.before.outcome is not Outcome.KEPT]
    if not failing:
        return ()
    movable = _movable(arrangement, failing)
    order: Order = tuple(range(len(arrangement.units)))
    best = _faults(arrangement, ruled, order)
    left = _MOST_JUDGED // len(ruled)
    for _ in range(_MOST_MOVED):
        tried = [each for number in movable for each in _moved(arrangement, order, number)]
        tried += (each for number in movable for each in _pushed(arrangement, order, number))
        if not best[0] or left < len(tried):
            break
        left -= len(tried)
        judged = ((_faults(arrangement, ruled, each), each) for each in tried)
        value, nearest = min(judged, default=(best, order))
        if value >= best:
            break
        best, order = value, nearest
    return order


def _movable(arrangement: Arrangement, failing: Sequence[Ruled]) -> list[int]:
    """Return the units with fields of rules that are not kept."""
    paths = {place.path.split(".")[0].split("[")[0] for one in failing for place in one.before.evidence}
    fields = arrangement.struct.fields
    return [
        number
        for number, unit in enumerate(arrangement.units)
        if number != arrangement.last and any(fields[at].name in paths for at in unit.fields)
    ]


def _moved(arrangement: Arrangement, order: Order, number: int) -> Iterator[Order]:
    """Yield the orders in which a unit stands elsewhere."""
    rest = [each for each in order if each != number]
    for at in range(len(rest) + (arrangement.last is None)):
        if order[at] != number:
            yield (*rest[:at], number, *rest[at:])


def _pushed(arrangement: Arrangement, order: Order, number: int) -> Iterator[Order]:
    """Yield the orders in which another unit stands in front of a unit."""
    for other in order:
        if other not in (number, arrangement.last):
            rest = [each for each in order if each != other]
            at = rest.index(number)
            yield (*rest[:at], other, *rest[at:])


def _faults(arrangement: Arrangement, ruled: Sequence[Ruled], order: Order) -> tuple[int, int]:
    """Return how many rules an order does not keep, and at how many bases in all."""
    struct = arrangement.lay_out(order)
    failing = [verdict for one in ruled if (verdict := one.judge(struct)).outcome is not Outcome.KEPT]
    return len(failing), sum(len(verdict.bases) for verdict in failing)
