"""False sharing: pairs of fields that must not share a line, for `separate`, `isolated`, `access` and other
kinds. Whether two share one in a placement is known in geometry/placement.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import product

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import (
    ASSUMED,
    ELEMENT,
    ObjectRow,
    Placements,
    bases_shared_with_next,
    shared_bases,
)
from layoutlint.geometry.siblings import next_elements, places_in_differing_elements
from layoutlint.judgement.advice import first_few, move_apart, separate_elements
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.rule import Key
from layoutlint.judgement.verdict import SharedLine, Verdict, format_place, judge
from layoutlint.model.paths import common_array, is_within, overlap
from layoutlint.model.record import Record, replace
from layoutlint.phrases import placements_phrase

Pair = tuple[Place, Place]
NEIGHBOURS = Key(
    "neighbours",
    "boolean",
    "whether fields of the objects before and behind count; by default only in arrays",
)
UNKNOWN_NEIGHBOURS = (
    "the distance to the next object is unknown: state `array` in the rule file, "
    "or a `placement` with objects in a row (`slab`, `kmalloc`)"
)


MOST_PAIRS = 250_000
"""Maximum number of pairs that a rule compares; the largest struct of Linux has some hundred fields."""


def every_pair(some: Collection[Place], others: Collection[Place]) -> Iterator[Pair]:
    """Return each field of one side with each of the other. Raises CannotTell for too many."""
    refuse_many(len(some) * len(others))
    return product(some, others)


def refuse_many(number: int, noun: str = "fields") -> None:
    """Raise CannotTell for more pairs than a rule compares."""
    if number > MOST_PAIRS:
        reason = f"the rule compares {number:,} pairs of {noun}, and at most {MOST_PAIRS:,} are compared"
        raise CannotTell(f"{reason}; name fewer {noun}")


def pairs_between(some: Collection[Place], others: Collection[Place]) -> list[Pair]:
    """Return each field of one side with each of the other, each pair once, without a field and
    its own part.
    """
    pairs: dict[frozenset[str], Pair] = {}
    for a, b in every_pair(some, others):
        if not is_same_or_part(a, b):
            pairs.setdefault(frozenset((a.path, b.path)), (a, b))
    return list(pairs.values())


def expand_elements(context: Context, places: Iterable[Place]) -> dict[Place, Place]:
    """Return fields for each element of the arrays in their paths, with the field of the path.

    Elements that are placed on a line like others are left out. Raises CannotTell if too many differ.
    """
    struct, line = context.layout.struct, context.placements.line_size
    try:
        return {element: p for p in places for element in places_in_differing_elements(struct, p, line)}
    except ValueError as error:
        raise CannotTell(str(error)) from None


class OpposedPairs(Record, frozen=True):
    """Pairs of fields that must not share a line."""

    pairs: tuple[Pair, ...]
    """Pairs in one object, without a field and its own part: no order of fields separates those."""
    across: tuple[Pair, ...]
    """Pairs of an object and its neighbour."""
    named: Mapping[Place, Place]
    """The field that the rule names, by the field of an element."""


Opposes = Callable[[Place, Place], bool]
"""Returns whether two fields must be kept apart."""


def find_opposed_pairs(
    context: Context, some: Iterable[Place], others: Iterable[Place], opposes: Opposes | None = None
) -> OpposedPairs:
    """Return the pairs of two sides of fields, for each element of the arrays in their paths.

    For arrays in the struct, fields of one element are paired with those of the others, and parts of one
    element with the other elements as a whole. Raises CannotTell for too many elements.
    """
    ours, theirs = expand_elements(context, some), expand_elements(context, others)
    named, across = {**ours, **theirs}, list[Pair]()
    pairs: dict[frozenset[str], Pair] = {}
    for a, b in every_pair(ours, theirs):
        if opposes is None or opposes(ours[a], theirs[b]):
            across.append((a, b))
            for one, other in _pairs_in_object(context, a, b, named):
                pairs.setdefault(frozenset((one.path, other.path)), (one, other))
    return OpposedPairs(tuple(pairs.values()), tuple(dict.fromkeys(across)), named)


def _pairs_in_object(context: Context, a: Place, b: Place, named: dict[Place, Place]) -> Iterator[Pair]:
    """Yield a pair; for a field and its own part, yield the part with the next elements around it."""
    line = context.placements.line_size
    if a.offset - b.end >= line or b.offset - a.end >= line:
        return
    if not is_same_or_part(a, b):
        yield a, b
        return
    inner, outer = (a, b) if is_within(a.path, b.path) else (b, a)
    for place in next_elements(context.layout, inner.path, outer.path, line):
        named[place] = named[outer]
        yield (inner, place) if inner is a else (place, inner)


class AdjacentObjects(Record, frozen=True):
    """The objects before and after an object, and the pairs of fields that must not share a line
    with them.
    """

    rows: tuple[ObjectRow, ...]
    pairs: tuple[Pair, ...]
    """Pairs of a field of the object and one of a neighbour."""
    is_unknown: bool = False
    """Whether the rule requires neighbours, and the input states none."""


def find_adjacent_objects(
    context: Context, neighbours: bool | None, pairs: Iterable[Pair]
) -> AdjacentObjects:
    """Return the neighbours of an object: by default those in arrays; all or none if the rule says so."""
    rows = tuple(row for row in context.placements.rows if row.item != ASSUMED)
    is_unknown = bool(neighbours) and not rows
    if neighbours is None:
        rows = tuple(row for row in rows if row.item == ELEMENT)
    return AdjacentObjects(rows if neighbours is not False else (), tuple(pairs), is_unknown)


def judge_apart(
    pairs: Iterable[Pair],
    placements: Placements,
    kept_verdict: Verdict,
    say: Callable[[Place], str] = format_place,
    *,
    adjacent: AdjacentObjects | None = None,
    prefix: str = "",
    suffix: str = "",
) -> Verdict:
    """Return the verdict that pairs must share no line; `kept_verdict` if none ever does.

    `adjacent` are the neighbours that count too. `prefix` and `suffix` enclose the message. Raises CannotTell
    if nothing shares a line in the object, and its required neighbours are unknown.
    """
    violations = {pair: bases for pair in pairs if (bases := shared_bases(*pair, placements))}
    across = _violations_across(adjacent, placements) if adjacent is not None else {}
    if not violations and not across:
        if adjacent is not None and adjacent.is_unknown:
            raise CannotTell(UNKNOWN_NEIGHBOURS)
        return kept_verdict
    total, unit = len(placements.bases), placements.unit
    worst = sorted(violations, key=lambda pair: -len(violations[pair]))

    def share(a: Place, b: Place, at: tuple[int, ...], distance: int = 0, which: str = "") -> SharedLine:
        sentence = f"{say(a)} shares a {unit} with {say(b)}{which} {placements_phrase(len(at), total)}"
        gap = max(a.offset, b.offset) - min(a.end, b.end)
        advice = separate_elements(distance, placements) if distance else _advise_pair(a, b, placements)
        return SharedLine(a.path, b.path, at, distance, sentence, gap, advice)

    shared = [share(a, b, violations[a, b]) for a, b in worst]
    shared += [
        share(a, b, at, row.step, f" of the next {row.item}, {row.step} bytes on,")
        for (a, b, row), at in sorted(across.items(), key=lambda met: -len(met[1]))
    ]
    bases = placements.bases_in_any(
        (
            *violations.values(),
            *(_bases_of_both(row, pair, placements.line_size) for (_, _, row), pair in across.items()),
        )
    )
    places = dict.fromkeys(place for a, b in (*worst, *((a, b) for a, b, _ in across)) for place in (a, b))
    message = prefix + list_shared_lines(shared) + suffix
    verdict = judge(placements, bases, message, tuple(places), advise_pairs(shared))
    return replace(verdict, shared=tuple(shared))


def list_shared_lines(pairs: Iterable[SharedLine]) -> str:
    """Return what a message says of the pairs of a verdict."""
    return first_few([pair.sentence for pair in pairs], "pair")


_CrossPair = tuple[Place, Place, ObjectRow]
"""A field of an object, one of the next object, and their row."""


def _violations_across(
    adjacent: AdjacentObjects, placements: Placements
) -> dict[_CrossPair, tuple[int, ...]]:
    """Return the pairs that share a line with the next object, with the bases of each."""
    if not adjacent.rows:
        return {}
    line, bases = placements.line_size, set(placements.bases)
    pairs = dict.fromkeys((*adjacent.pairs, *((b, a) for a, b in adjacent.pairs)))
    violations = {
        (a, b, row): bases_shared_with_next(a, b, row, line) for row in adjacent.rows for a, b in pairs
    }
    return {
        key: at for key, shared_at in violations.items() if (at := tuple(b for b in shared_at if b in bases))
    }


def _bases_of_both(row: ObjectRow, bases: tuple[int, ...], line: int) -> tuple[int, ...]:
    """Return the bases of objects of a row, and of the objects after them."""
    return (*bases, *((base + row.step) % line for base in bases))


def advise_pairs(pairs: Iterable[SharedLine]) -> str:
    """Return what to do about pairs: about the nearest in one object, and about the next object."""
    every = tuple(pairs)
    nearest = min((pair for pair in every if not pair.distance), key=lambda pair: pair.gap, default=None)
    farthest = max((pair for pair in every if pair.distance), key=lambda pair: pair.distance, default=None)
    return "; ".join(pair.advice for pair in (nearest, farthest) if pair is not None)


def _advise_pair(a: Place, b: Place, placements: Placements) -> str:
    array = common_array(a.path, b.path)
    if array is None:
        return move_apart(a, b, placements)
    size, unit = placements.line_size, placements.unit
    return f"align the elements of `{array}` to {size} bytes, so that each begins on a {unit}"


def is_same_or_part(a: Place, b: Place) -> bool:
    """Return whether one field is the other or a part of it: no order of fields separates those."""
    return overlap(a.path, b.path)
