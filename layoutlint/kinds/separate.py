"""Kind `separate`: groups of fields share no cache line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import ClassVar

from layoutlint.layout import Place
from layoutlint.placement import Placements, share
from layoutlint.rule import Context, Key, Verdict, judge

_Pair = tuple[Place, Place]


@dataclass(frozen=True, slots=True)
class Separate:
    """No field of one group shares a line with a field of another."""

    name: ClassVar[str] = "separate"
    summary: ClassVar[str] = "no field of one group shares a cache line with a field of another group"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "groups", "two or more lists of fields that are kept apart", required=True),
    )

    fields: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len(self.fields) < 2:
            raise ValueError("`fields` needs at least two groups to keep apart")

    def check(self, context: Context) -> Verdict:
        """Broken where any two fields of different groups touch a common line."""
        groups = [context.places(group) for group in self.fields]
        pairs = [pair for a, b in combinations(groups, 2) for pair in product(a, b)]
        placements = context.placements
        shared = {pair: _sharing(pair, placements) for pair in pairs}
        bases = placements.violating(lambda base: any(base in found for found in shared.values()))
        worst = sorted((pair for pair in pairs if shared[pair]), key=lambda pair: -len(shared[pair]))
        if not worst:
            evidence = tuple(dict.fromkeys(place for group in groups for place in group))
            return judge(placements, (), _kept(groups), evidence, "")
        evidence = tuple(dict.fromkeys(place for pair in worst for place in pair))
        message = "; ".join(_shares(pair, len(shared[pair]), len(placements.bases)) for pair in worst)
        return judge(placements, bases, message, evidence, _advice(worst, placements))


def _sharing(pair: _Pair, placements: Placements) -> frozenset[int]:
    return frozenset(placements.violating(lambda base: share(*pair, base, placements.line_size)))


def _shares(pair: _Pair, failing: int, total: int) -> str:
    a, b = pair
    return (
        f"`{a.path}` at {a.extent} shares a line with `{b.path}` at {b.extent} in {failing} of {total} placements"
    )


def _kept(groups: list[tuple[Place, ...]]) -> str:
    sides = [", ".join(f"`{p.path}` at {p.extent}" for p in group) for group in groups]
    return f"{' and '.join(sides)} share no line in any placement"


def _advice(pairs: list[_Pair], placements: Placements) -> str:
    """How much further apart the nearest pair must be moved so that no placement joins them."""
    step = placements.bases[1] - placements.bases[0] if len(placements.bases) > 1 else 1
    low, high = min((tuple(sorted(pair, key=lambda p: p.offset)) for pair in pairs), key=lambda pair: _gap(*pair))
    more = 0
    while _sharing((low, _moved(high, more)), placements):
        more += step
    return (
        f"move `{high.path}` at least {more} bytes further from `{low.path}`, "
        f"or start it on a line of its own (`____cacheline_aligned`)"
    )


def _gap(low: Place, high: Place) -> int:
    return high.offset - low.end


def _moved(place: Place, more: int) -> Place:
    return replace(place, bit_offset=place.bit_offset + more * 8)
