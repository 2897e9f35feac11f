"""The task of a search: what the rules demand, for each size that the struct can have."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.judgement.context import CannotTell
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.placing import placements_key
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.randstruct.c_abi import round_up
from layoutlint.suggestion.orders.arrangement import Arrangement
from layoutlint.suggestion.orders.demands import CannotState, Demand
from layoutlint.suggestion.orders.problem import BuildTask, SizeClass
from layoutlint.suggestion.rules import Ruled, storage_of

_MOST_SIZES = 4_000
"""The most sizes of a struct whose placements are told apart."""


class BuildCandidate(Record, frozen=True):
    """A struct in one build, whose orders the rules judge."""

    arrangement: Arrangement
    ruled: tuple[Ruled, ...]
    reasons: dict[int, str]
    """Why a rule cannot be stated to the search, by its number."""


def task_of(arrangement: Arrangement, ruled: Sequence[Ruled]) -> tuple[BuildTask, BuildCandidate]:
    """Return what to search in a build, and who judges it."""
    struct = arrangement.declared
    sizes = _sizes(arrangement, any(one.is_embedded for one in ruled))
    by_key: dict[tuple[object, ...], list[int]] = {}
    for size in sizes:
        by_key.setdefault(_key(ruled, replace(struct, bit_size=size * 8)), []).append(size)
    reasons: dict[int, str] = {}
    classes = [
        _size_class(ruled, replace(struct, bit_size=members[0] * 8), tuple(members), reasons)
        for members in by_key.values()
    ]
    if len(classes) == 1 and len(sizes) > 1:
        classes = [replace(classes[0], sizes=())]
    task = BuildTask(arrangement, len(ruled), tuple(classes), storage=storage_of(ruled, struct))
    return task, BuildCandidate(arrangement, tuple(ruled), reasons)


def _sizes(arrangement: Arrangement, is_fixed: bool) -> list[int]:
    """Return the sizes in bytes that the struct can have."""
    size, align = (arrangement.struct.bit_size or 0) // 8, arrangement.align
    if is_fixed:
        return [size]
    grains = [(min(unit.lengths), max(unit.lengths) + max(unit.gaps)) for unit in arrangement.units]
    bits = [sum(ends) * arrangement.grain for ends in zip(*grains, strict=True)]
    bits[1] += sum(2 * (group.align - 1) * 8 for group in arrangement.groups)
    low, high = (round_up(each, align * 8) // 8 for each in bits)
    every = list(range(low, high + 1, align))[:_MOST_SIZES]
    return every if size in every else [*every, size]


def _key(ruled: Sequence[Ruled], struct: Struct) -> tuple[object, ...]:
    """Return what the size of the struct decides for its rules."""
    key: list[object] = []
    for one in ruled:
        try:
            cases = one.cases_at(struct)
        except CannotTell as error:
            key.append(str(error))
            continue
        key.append(tuple(placements_key(case.placements) for case in cases))
        if one.rule.kind.traits.size_only:
            key.append(one.judge(struct).outcome)
    return tuple(key)


def _size_class(
    ruled: Sequence[Ruled], struct: Struct, sizes: tuple[int, ...], reasons: dict[int, str]
) -> SizeClass:
    """Return the demands at a size. Adds a reason for each rule that cannot be stated."""
    stated: dict[int, tuple[Demand, ...]] = {}
    tolerated: dict[int, tuple[tuple[tuple[Demand, ...], ...], int]] = {}
    impossible = set()
    for number, one in enumerate(ruled):
        if one.rule.kind.traits.size_only:
            if one.judge(struct).outcome is not Outcome.KEPT:
                impossible.add(number)
            continue
        try:
            each = [one.demands(struct, case) for case in one.cases_at(struct)]
        except (CannotState, CannotTell) as error:
            reasons[number] = str(error)
            continue
        if one.rule.tolerate:
            by_base = each[0]
            tolerated[number] = by_base, int(one.rule.tolerate * len(by_base))
        else:
            stated[number] = tuple(dict.fromkeys(demand for (case,) in each for demand in case))
    return SizeClass(sizes, stated, tolerated, frozenset(impossible))
