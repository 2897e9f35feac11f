"""Sentences on structs that could be smaller."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.commands.suggest.candidates import Candidate, Smaller, Waste
from layoutlint.phrases import first_few, quantity

_MOST_MOVES = 3
_MOST_NESTED = 3
_NOT_SOURCES = (
    "sources were not searched for what depends on an order: `layoutlint suggest INPUT STRUCT --smallest` "
    "searches them, and keeps rules"
)


def name(one: Candidate) -> str:
    """Return the name and the place of a struct."""
    title = f"struct {one.name}" if one.is_tagged else one.name
    return title if one.source is None else f"{title}, {one.source}"


def savings(one: Candidate) -> str:
    """Return the bytes that an object loses, and with `+` those by orders inside of members."""
    return f"{one.bytes_saved:,}" + (f"+{one.nested_bytes:,}" if one.nested_bytes else "")


def least(one: Candidate) -> str:
    """Return the least size, `<=` if no bound proves it."""
    return f"{one.least:,}" if one.least == one.bound else f"<={one.least:,}"


def moves(one: Candidate) -> str:
    """Return the number of moves, `<=` if fewer may do."""
    return f"{len(one.moves)}" if one.is_fewest else f"<={len(one.moves)}"


def details(one: Candidate) -> Iterator[str]:
    """Yield what is wasted, what a smaller size changes, and how to reach it."""
    if one.bytes_saved:
        yield "; ".join((_own_waste(one), *_gains(one)))
    if one.refusals:
        yield f"not proposed: {one.refusals[0].reason}"
    elif 0 < len(one.moves) <= _MOST_MOVES:
        places = (f"`{each.member}` {_place(each.behind)}" for each in one.moves)
        yield f"move {', then '.join(places)}"
    if one.aligned:
        names = first_few([f"`{each}`" for each in one.aligned])
        yield f"aligned to a line, perhaps to keep others away: {names}"
    for each in _by_bytes(one)[:_MOST_NESTED]:
        yield waste_text(each)
    if len(one.nested) > _MOST_NESTED:
        yield f"{quantity(len(one.nested) - _MOST_NESTED, 'more member')} with unused bytes inside"


def _place(behind: str | None) -> str:
    return "to the start" if behind is None else f"behind `{behind}`"


def _own_waste(one: Candidate) -> str:
    holes = f"{quantity(sum(one.holes), 'byte')} in {quantity(len(one.holes), 'hole')}"
    padding = f"{one.padding:,} of padding at the end"
    return ", ".join(text for text, count in ((holes, len(one.holes)), (padding, one.padding)) if count)


def _gains(one: Candidate) -> Iterator[str]:
    if one.blocks[0] != one.blocks[1]:
        yield f"{one.blocks[1]} in place of {one.blocks[0]}"
    if one.lines[0] != one.lines[1]:
        yield quantity(one.lines[0] - one.lines[1], "line") + " less"
    if one.arrays:
        outer, count = one.arrays[0]
        others = f", and {len(one.arrays) - 1} others hold several" if len(one.arrays) > 1 else ""
        yield f"{count:,} in each {outer}{others}"
    if one.objects:
        yield f"{quantity(one.objects, 'object')} in variables: {one.bytes_in_all:,} bytes in all"


def waste_text(waste: Waste) -> str:
    """Return the unused bytes inside a member."""
    parts = []
    if waste.holes:
        parts.append(f"hole{'s' if waste.holes[1:] else ''} of {', '.join(map(str, waste.holes))}")
    if waste.padding:
        parts.append(f"padding of {waste.padding}")
    number = f"in each of {waste.count:,}: " if waste.count > 1 else ""
    saved = waste.size - waste.least
    smaller = f"; its own order can save {saved:,}" if saved else ""
    return f"inside `{waste.path}` ({waste.type}): {number}{', '.join(parts)}{smaller}"


def _by_bytes(one: Candidate) -> list[Waste]:
    """Return the unused bytes inside of members, the most first."""
    return sorted(one.nested, key=lambda each: -each.count * (sum(each.holes) + each.padding))


def summary(result: Smaller) -> str:
    """Return how many structs could be smaller."""
    proposed = [one for one in result.candidates if not one.refusals and one.bytes_saved]
    saved = sum(one.bytes_in_all or 0 for one in proposed)
    in_all = f"; {saved:,} bytes in all objects in variables" if saved else ""
    count = quantity(result.searched, "struct")
    return f"{len(proposed):,} of {count} can be smaller by the order of their members{in_all}"


def notes(result: Smaller) -> Iterator[str]:
    """Yield what was not searched, and what is not known."""
    yield _NOT_SOURCES
    if result.not_searched:
        names = first_few([refusal.members[0] for refusal in result.not_searched])
        count = quantity(len(result.not_searched), "struct")
        why = "whose layout their members do not explain"
        yield f"not searched: {count} {why}: {names} (--format json has all)"
    if any(one.largest_align > one.align for one in result.candidates):
        yield (
            "the input does not state all alignments: a struct is larger than its least size if it has a "
            "larger one than its members need"
        )
