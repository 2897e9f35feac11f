"""Units that can take each other's places: what is demanded of an order does not tell them apart.

An order that keeps the demands can be found among those in which such units stand as declared, or there is
none. How many units move is not the same for all orders with the same units in other places.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from layoutlint.geometry.layout import Place
from layoutlint.suggestion.orders.arrangement import Arrangement
from layoutlint.suggestion.orders.demands import Demand


class _At(NamedTuple):
    """A field, by its unit and by what else decides on demands."""

    unit: int
    rest: tuple[object, ...]


def interchangeable_units(
    arrangement: Arrangement, demands: Iterable[tuple[object, Demand]], fixed: Collection[int]
) -> tuple[tuple[int, ...], ...]:
    """Return the classes of units that can take each other's places, in their declared order.

    Demands have a mark of what they belong to: a rule, or one base of it. Units that are `fixed` are in none.
    """
    by_unit: dict[int, set[object]] = {number: set() for number in range(len(arrangement.units))}
    for mark, demand in demands:
        key = mark, _key(arrangement, demand)
        for unit in set(_units_in(key)):
            by_unit[unit].add(key)
    shapes: dict[object, list[list[int]]] = {}
    for number in sorted(by_unit.keys() - set(fixed)):
        classes = shapes.setdefault(_shape(arrangement, number), [])
        for each in classes:
            if _is_alike(by_unit, each[0], number):
                each.append(number)
                break
        else:
            classes.append([number])
    return tuple(tuple(each) for classes in shapes.values() for each in classes if len(each) > 1)


def _shape(arrangement: Arrangement, number: int) -> object:
    """Return what of a unit itself decides on layouts and holes; its number if it ends open."""
    unit, fields = arrangement.units[number], arrangement.struct.fields
    if number == arrangement.last or number in arrangement.markers or not unit.fields:
        return number
    sizes = tuple(arrangement.covered_bits(fields[at]) for at in unit.fields)
    around = arrangement.top.groups_around[number]
    return around, unit.gaps, unit.lengths, unit.starts, sizes, arrangement.bytes_touched(unit)


def _is_alike(by_unit: dict[int, set[object]], a: int, b: int) -> bool:
    """Return whether the demands on two units are the same if these are exchanged."""
    both = by_unit[a] | by_unit[b]
    return {_exchange(key, a, b) for key in both} == both


def _exchange(key: object, a: int, b: int) -> object:
    if isinstance(key, _At):
        return _At(b if key.unit == a else a if key.unit == b else key.unit, key.rest)
    if isinstance(key, tuple):
        return tuple(_exchange(each, a, b) for each in key)
    if isinstance(key, frozenset):
        return frozenset(_exchange(each, a, b) for each in key)
    return key


def _units_in(key: object) -> Iterator[int]:
    if isinstance(key, _At):
        yield key.unit
    elif isinstance(key, tuple | frozenset):
        for each in key:
            yield from _units_in(each)


def _key(arrangement: Arrangement, value: object) -> object:
    """Return a demand, or a part of one, with its fields by their units; sets where their order is none."""
    if isinstance(value, Place):
        position, inner = arrangement.member_of(value)
        unit = arrangement.unit_of(position)
        at = arrangement.units[unit].fields.index(position)
        return _At(unit, (at, inner, value.bit_size, value.is_flexible, value.field.align))
    if isinstance(value, tuple):
        keys = [_key(arrangement, each) for each in value]
        return frozenset(keys) if any(isinstance(each, _At) for each in keys) else tuple(keys)
    if isinstance(value, Demand):
        parts = (_key(arrangement, getattr(value, name)) for name in value.__struct_fields__)
        return (type(value), *parts)
    return value
