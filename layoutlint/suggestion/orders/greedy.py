"""Orders that are near the declared one and small, by one move after the other: a start for the search."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.suggestion.orders.arrangement import Arrangement, Unit

_MOST_MOVES = 40


def small_order(arrangement: Arrangement, size: int) -> tuple[int, ...] | None:
    """Return an order of at most some bytes that few moves lead to; None if none was found."""
    units, grains = arrangement.units, size * 8 // arrangement.grain
    fixed = 1 if arrangement.last is not None else 0
    order = list(range(len(units)))
    end = _advance(units, order, 0)
    for _ in range(_MOST_MOVES):
        if end <= grains:
            return tuple(order)
        best = min(
            (move for at in range(len(order) - fixed) for move in [_best_place(units, order, at, fixed)]),
            default=(end, 0, 0),
        )
        if best[0] >= end:
            return None
        end, at, to = best
        order.insert(to, order.pop(at))
    return tuple(order) if end <= grains else None


def _best_place(units: Sequence[Unit], order: list[int], at: int, fixed: int) -> tuple[int, int, int]:
    """Return where the struct ends if the unit at a position moves to its best place, and the two places."""
    rest = order[:at] + order[at + 1 :]
    period = max(unit.period for unit in units)
    # lengths[i][r]: grains from unit i of the rest to the end, if the one before ends at residue r.
    lengths = [[0] * period]
    for number in reversed(rest):
        unit, behind = units[number], lengths[-1]
        rows = [gap + length for gap, length in zip(unit.gaps, unit.lengths, strict=True)]
        spans = [rows[residue % unit.period] for residue in range(period)]
        lengths.append([span + behind[(residue + span) % period] for residue, span in enumerate(spans)])
    lengths.reverse()
    begin, best = 0, (1 << 60, at, at)
    for to in range(len(rest) + 1 - fixed):
        moved = _advance(units, (order[at],), begin)
        best = min(best, (moved + lengths[to][moved % period], at, to))
        if to < len(rest):
            begin = _advance(units, (rest[to],), begin)
    return best


def _advance(units: Sequence[Unit], order: Sequence[int], end: int) -> int:
    """Return where some units end, in grains, behind one that ends at `end`."""
    for number in order:
        unit = units[number]
        row = end % unit.period
        end += unit.gaps[row] + unit.lengths[row]
    return end
