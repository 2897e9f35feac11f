"""All orders that a compiler can give to a struct's members, as trees of the parts that are shuffled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from math import factorial, prod

from layoutlint.model.record import Record
from layoutlint.model.structs import Field
from layoutlint.randstruct import clang_order, gcc_order
from layoutlint.randstruct.scheme import Scheme


class Member(Record, frozen=True):
    """A member, by its declared position."""

    position: int


class FixedOrder(Record, frozen=True):
    """Parts in a fixed order."""

    parts: tuple[Part, ...]


class Shuffle(Record, frozen=True):
    """Parts in any order, all equally likely."""

    parts: tuple[Part, ...]


class Swaps(Record, frozen=True):
    """Members that are swapped in steps, without their bit-fields: the orders have different probabilities.

    Each step swaps the member at an index with one from the lowest index up to it, all equally likely.
    """

    positions: tuple[int, ...]
    ways: tuple[tuple[tuple[int, int], ...], ...]
    """The steps (index, lowest) of each equally likely sequence."""


Part = Member | FixedOrder | Shuffle | Swaps

MOST_GROUPS = 6
"""Maximum number of groups for which all sequences of the older performance mode are listed."""


class TooManyOrders(Exception):
    """Raised if there are more orders than can be listed."""


def build_tree(scheme: Scheme, fields: Sequence[Field]) -> Part:
    """Return the orders of some members. Raises TooManyOrders if they are no tree."""
    if not scheme.is_gcc:
        return _clang_tree(fields)
    behaviour = scheme.behaviour
    count = len(fields) - bool(fields and gcc_order.is_kept_last(fields[-1], behaviour))
    tail = tuple(map(Member, range(count, len(fields))))
    if scheme.mode == "gcc-full":
        return FixedOrder((Shuffle(tuple(map(Member, range(count)))), *tail))
    groups = gcc_order.groups(fields, count)
    if not behaviour.stays_in_group:
        return FixedOrder((_swap_across_groups(groups, count), *tail))
    return FixedOrder((*(_shuffle_in_group(fields, start, length) for start, length in groups), *tail))


def _shuffle_in_group(fields: Sequence[Field], start: int, length: int) -> Part:
    positions = tuple(range(start, start + length))
    if any(fields[position].is_bitfield for position in positions):
        return Swaps(positions, (tuple((at, 0) for at in range(length - 1, 0, -1)),))
    return Shuffle(tuple(map(Member, positions)))


def _swap_across_groups(groups: list[tuple[int, int]], count: int) -> Part:
    if len(groups) > MOST_GROUPS:
        raise TooManyOrders
    turns = permutations(groups)
    ways = (
        tuple((at, 0) for start, length in turn for at in range(start + length - 1, start, -1))
        for turn in turns
    )
    return Swaps(tuple(range(count)), tuple(ways))


def _clang_tree(fields: Sequence[Field]) -> Part:
    buckets, tail = clang_order.buckets(fields)
    parts = [
        (FixedOrder if bucket.is_run else Shuffle)(tuple(map(Member, bucket.members))) for bucket in buckets
    ]
    return FixedOrder((Shuffle(tuple(parts)), *map(Member, tail)))


def count_orders(part: Part) -> int:
    """Return the number of orders; equal ones count as often as they occur."""
    if isinstance(part, Swaps):
        return len(part.ways) * prod(at - lowest + 1 for at, lowest in part.ways[0])
    if isinstance(part, Member):
        return 1
    inner = prod(map(count_orders, part.parts))
    return inner * factorial(len(part.parts)) if isinstance(part, Shuffle) else inner


def sort_by(part: Part, key: Callable[[int], float]) -> list[int] | None:
    """Return the order nearest to that of a key, comparing the beginnings of parts; None for Swaps."""
    if isinstance(part, Member):
        return [part.position]
    if isinstance(part, Swaps):
        return None
    inner = [sort_by(child, key) for child in part.parts]
    rows = [row for row in inner if row is not None]
    if len(rows) < len(inner):
        return None
    if isinstance(part, Shuffle):
        rows.sort(key=lambda row: min(map(key, row), default=0.0))
    return [position for row in rows for position in row]
