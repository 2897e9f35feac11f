"""The limits on orders by the text and the uses of a struct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from layoutlint.model.record import Record
from layoutlint.readers.clang.members import Restriction
from layoutlint.sources.order_uses import OrderUse, member_names
from layoutlint.suggestion.orders.arrangement import Arrangement


class Limit(Record, frozen=True):
    """A condition on the order of units."""

    kind: Literal["before", "together", "order", "first", "offset", "distance", "size"]
    """All `units` stand before all of `after`; nothing else stands between them; they stand in the given
    order; one of them is the first; each keeps its offset, or its distance from the first of them; the struct
    keeps its size."""
    units: tuple[int, ...]
    after: tuple[int, ...] = ()


def paddings(arrangement: Arrangement, line: int) -> tuple[int, ...]:
    """Return the units without bytes that only start a line, as `CACHELINE_PADDING` of Linux.

    People put them between fields to keep these apart.
    """
    fields = arrangement.struct.fields
    each_own = ([fields[at] for at in unit.fields] for unit in arrangement.units)
    return tuple(
        number
        for number, own in enumerate(each_own)
        if own and all(f.bit_size == 0 and (f.align or 1) >= line and not f.is_flexible for f in own)
    )


def padding_limits(arrangement: Arrangement, units: Iterable[int]) -> Iterator[Limit]:
    """Yield that nothing moves past some units."""
    every = tuple(range(len(arrangement.units)))
    for number in units:
        if number:
            yield Limit("before", every[:number], (number,))
        if every[number + 1 :]:
            yield Limit("before", (number,), every[number + 1 :])


def text_limits(arrangement: Arrangement, restrictions: Iterable[Restriction]) -> Iterator[Limit]:
    """Yield what the text of a struct asks of the order of its units."""
    for restriction in restrictions:
        units = _units(arrangement, restriction.fields)
        if restriction.kind == "before":
            yield Limit("before", units, _units(arrangement, restriction.after))
            continue
        yield Limit("together", units)
        if restriction.kind == "unit":
            yield Limit("order", units)


def use_limits(arrangement: Arrangement, uses: Iterable[OrderUse]) -> Iterator[Limit]:
    """Yield what the uses of a struct ask of the order of its units, as far as a limit can state it."""
    names = member_names(arrangement.struct)
    for use in uses:
        if use.is_note or use.scope == "all" or not set(use.members) <= set(names):
            continue
        units = _units(arrangement, [names.index(name) for name in use.members or names])
        if use.scope == "first":
            free = [names.index(name) for name in (names[0], *use.may_be_first) if name in names]
            yield Limit("first", _units(arrangement, free))
        elif use.scope in ("offset", "size"):
            yield Limit(use.scope, units if use.scope == "offset" else ())
        elif use.scope == "order":
            yield Limit("order", units)
            if use.place == "start":
                yield from _prefix(arrangement, units)
        else:
            yield from _range(arrangement, use, units)


def _units(arrangement: Arrangement, positions: Sequence[int]) -> tuple[int, ...]:
    """Return the units of some fields, each once."""
    return tuple(dict.fromkeys(arrangement.unit_of(position) for position in positions))


def _other_units(arrangement: Arrangement, units: Sequence[int]) -> tuple[int, ...]:
    return tuple(number for number in range(len(arrangement.units)) if number not in units)


def _prefix(arrangement: Arrangement, units: tuple[int, ...]) -> Iterator[Limit]:
    others = _other_units(arrangement, units)
    if others:
        yield Limit("before", units, others)


def _range(arrangement: Arrangement, use: OrderUse, units: tuple[int, ...]) -> Iterator[Limit]:
    """Yield that some units stay side by side, as the use needs them."""
    yield Limit("together", units)
    others = _other_units(arrangement, units)
    if use.place == "start":
        yield from _prefix(arrangement, units)
    elif use.place == "end" and others:
        yield Limit("before", others, units)
    if not use.any_order:
        yield Limit("order", units)
        yield Limit("distance", units)
        return
    if use.place != "start" and len(units) > 1:
        yield Limit("before", units[:1], units[1:])
    if use.place != "end" and len(units) > 1:
        yield Limit("before", units[:-1], units[-1:])
