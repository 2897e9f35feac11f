"""Pairs of fields that must not share a line: what `separate`, `isolated` and `access` have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from layoutlint.kinds.wording import first_few, move_apart, part_elements
from layoutlint.layout import Place
from layoutlint.placement import ASSUMED, ELEMENT, Placements, Row, next_shared, shared
from layoutlint.rule import CannotTell, Context, Key, Verdict, judge, spell

Pair = tuple[Place, Place]
NEIGHBOURS = Key(
    "neighbours",
    "boolean",
    "whether fields of the objects before and behind count; by default those of elements of an `array`",
)
NOBODY_KNOWN = (
    "what stands behind an object is not known: say so in the rule file, "
    "by `array` or by a `placement` whose objects stand in a row (`slab`, `kmalloc`)"
)


def pairs_between(some: Iterable[Place], others: Iterable[Place]) -> list[Pair]:
    """Every field of one side with every one of the other, each pair once; none with itself or its parts."""
    pairs: dict[frozenset[str], Pair] = {}
    for a, b in product(some, others):
        if not is_part(a, b):
            pairs.setdefault(frozenset((a.path, b.path)), (a, b))
    return list(pairs.values())


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands before and behind the object, and what of it must not come onto the object's lines."""

    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]
    """Of a field of the object and one of a neighbour."""


def beside(context: Context, asked: bool | None, pairs: Iterable[Pair]) -> Beside:
    """The neighbours of an object: those in arrays, unless the rule asks for all of them or none.

    Raises CannotTell when it asks for neighbours and nothing tells of any.
    """
    known = tuple(row for row in context.placements.rows if row.what != ASSUMED)
    if asked and not known:
        raise CannotTell(NOBODY_KNOWN)
    if asked is None:
        known = tuple(row for row in known if row.what == ELEMENT)
    return Beside(known if asked is not False else (), tuple(pairs))


def judge_apart(
    pairs: Iterable[Pair],
    placements: Placements,
    kept: Verdict,
    say: Callable[[Place], str] = spell,
    *,
    around: Beside | None = None,
    before: str = "",
    behind: str = "",
) -> Verdict:
    """Violated where any pair shares a line; `kept` is the verdict when none ever does.

    `around` are the neighbours that count as well; `before` and `behind` stand around what the message says.
    """
    found = {pair: bases for pair in pairs if (bases := shared(*pair, placements))}
    across = _across(around, placements) if around is not None else {}
    if not found and not across:
        return kept
    total = len(placements.bases)
    worst = sorted(found, key=lambda pair: -len(found[pair]))
    says = [
        f"{say(a)} shares a line with {say(b)} in {len(found[a, b])} of {total} placements" for a, b in worst
    ]
    says += [
        f"{say(a)} shares a line with {say(b)} of the next {row.what}, {row.step} bytes on, "
        f"in {len(across[a, b, row])} of {total} placements"
        for a, b, row in sorted(across, key=lambda met: -len(across[met]))
    ]
    bases = placements.in_any(
        (*found.values(), *(_both(row, met, placements.line_size) for (_, _, row), met in across.items()))
    )
    places = dict.fromkeys(place for a, b in (*worst, *((a, b) for a, b, _ in across)) for place in (a, b))
    message = before + first_few(says, "pairs") + behind
    return judge(placements, bases, message, tuple(places), _advice(worst, list(across), placements))


_Met = tuple[Place, Place, Row]
"""A field of an object, and one of the next object of a row."""


def _across(around: Beside, placements: Placements) -> dict[_Met, tuple[int, ...]]:
    """What shares a line with something of the next object, and the bases at which it does."""
    if not around.rows:
        return {}
    line, bases = placements.line_size, set(placements.bases)
    turned = dict.fromkeys((*around.pairs, *((b, a) for a, b in around.pairs)))
    met = {(a, b, row): next_shared(a, b, row, line) for row in around.rows for a, b in turned}
    return {key: at for key, shared_at in met.items() if (at := tuple(b for b in shared_at if b in bases))}


def _both(row: Row, bases: tuple[int, ...], line: int) -> tuple[int, ...]:
    """The bases of objects of a row, and those of the objects behind them."""
    return (*bases, *((base + row.step) % line for base in bases))


def _advice(pairs: list[Pair], across: list[_Met], placements: Placements) -> str:
    advice = [move_apart(*_nearest(pairs), placements)] if pairs else []
    if across:
        advice.append(part_elements(max(row.step for _, _, row in across), placements.line_size))
    return "; ".join(advice)


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
