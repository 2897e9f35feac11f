"""Pairs of fields that must not share a line: what `separate`, `isolated` and `access` have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

from layoutlint.kinds.wording import first_few, move_apart
from layoutlint.layout import Place
from layoutlint.placement import Placements, shared
from layoutlint.rule import Verdict, judge, spell

Pair = tuple[Place, Place]


def pairs_between(some: Iterable[Place], others: Iterable[Place]) -> list[Pair]:
    """Every field of one side with every one of the other, each pair once; none with itself or its parts."""
    pairs: dict[frozenset[str], Pair] = {}
    for a, b in product(some, others):
        if not is_part(a, b):
            pairs.setdefault(frozenset((a.path, b.path)), (a, b))
    return list(pairs.values())


def judge_apart(
    pairs: Iterable[Pair],
    placements: Placements,
    kept: Verdict,
    say: Callable[[Place], str] = spell,
    *,
    before: str = "",
    behind: str = "",
) -> Verdict:
    """Violated where any pair shares a line; `kept` is the verdict when none ever does.

    `before` and `behind` stand around what the message says of the pairs.
    """
    found = {pair: bases for pair in pairs if (bases := shared(*pair, placements))}
    if not found:
        return kept
    worst = sorted(found, key=lambda pair: -len(found[pair]))
    total = len(placements.bases)
    says = [
        f"{say(a)} shares a line with {say(b)} in {len(found[a, b])} of {total} placements" for a, b in worst
    ]
    bases = placements.in_any(found.values())
    evidence = tuple(dict.fromkeys(place for pair in worst for place in pair))
    message = before + first_few(says, "pairs") + behind
    return judge(placements, bases, message, evidence, move_apart(*_nearest(worst), placements))


def is_part(a: Place, b: Place) -> bool:
    """Whether one field is the other, or a part of it: no order of fields can part those."""
    return path_is_part(a.path, b.path)


def path_is_part(a: str, b: str) -> bool:
    """Whether one path is the other, or leads to a part of it."""
    inner, outer = (a, b) if len(a) > len(b) else (b, a)
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


def _nearest(pairs: list[Pair]) -> Pair:
    """The pair that has the fewest bytes between its fields."""
    return min(pairs, key=lambda pair: max(pair[0].offset, pair[1].offset) - min(pair[0].end, pair[1].end))
