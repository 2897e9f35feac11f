"""Kind `no-straddle`: no field lies on two cache lines."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from layoutlint.geometry.field_types import TYPE
from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements, count_lines, element_starts
from layoutlint.judgement.advice import first_few, keep_whole, tolerate_advice
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.line_sharing import expand_elements
from layoutlint.judgement.parameters import need_fields
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.sides import Side, Sides
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, format_places, judge
from layoutlint.model.record import Record
from layoutlint.phrases import placements_phrase

_BREAKS = """\
struct entry {
    long key;
    struct { long begin, end; } range;  /* 16 bytes, aligned to 8 */
};
"""
_KEEPS = """\
struct entry {
    long key;
    struct { long begin, end; } range __attribute__((aligned(16)));
};
"""


class NoStraddle(Record, frozen=True):
    """Each field is on one line."""

    name: ClassVar[str] = "no-straddle"
    traits: ClassVar[Traits] = Traits(
        fields="named", needs_size=False, arranges="together", in_containers=True
    )
    summary: ClassVar[str] = "none of the fields lies on two cache lines"
    keys: ClassVar[tuple[Key, ...]] = (Key("fields", "paths", "fields that stay whole", required=True),)
    manual: ClassVar[Manual] = Manual(
        "For several fields on one line, use `together`. A field larger than a line is always broken. For a\n"
        "flexible array the outcome is unknown. An array matched by the type of its elements\n"
        "(`@type:atomic64_t`) counts element by element.",
        "Align the field to its size, rounded up to a power of two. This aligns the struct as well.",
        'fields = ["range"]',
        Example(_BREAKS, Outcome.AT_RISK, "`range` at 8..23 straddles 2 lines in 1 of 8 placements"),
        Example(_KEEPS, Outcome.KEPT, "`range` at 16..31 stays on one line in all 4 placements"),
    )

    fields: tuple[str, ...]

    def __post_init__(self) -> None:
        need_fields(self.fields)

    def check(self, context: Context) -> Verdict:
        """Return a violation where a field, or an element of an array matched by type, touches
        several lines.
        """
        places, placements = context.places(self.fields), context.placements
        paths = tuple(path for path in self.fields if not path.startswith(TYPE))
        whole = set(context.places(paths, or_none=True)) if len(paths) < len(self.fields) else set(places)
        for place in places:
            if place.is_flexible:
                raise CannotTell(f"the size of {format_place(place)} is unknown: it is a flexible array")
        named = expand_elements(context, places)
        as_whole = {place: named[place] in whole or not place.field.dims for place in named}
        straddling = {
            place: straddling_bases
            for place, is_whole in as_whole.items()
            if (straddling_bases := _straddling_bases(place, placements, is_whole))
        }
        total = len(placements.bases)
        if not straddling:
            message = f"{_kept_message(places, whole)} on one line {placements_phrase(total, total)}"
            return judge(placements, (), message, places, "")
        says = [
            _describe_straddle(place, bases, placements, as_whole[place])
            for place, bases in straddling.items()
        ]
        bases = placements.bases_in_any(straddling.values())
        worst = next(iter(straddling))
        advice = keep_whole(worst.offset, worst.end, placements) + tolerate_advice(len(bases), total)
        return judge(placements, bases, first_few(says, "field"), tuple(straddling), advice)

    def sides(self, context: Context) -> Sides:
        """Return the fields as one side."""
        return Sides("together", (Side(context.places(self.fields)),))


def _kept_message(places: tuple[Place, ...], whole: set[Place]) -> str:
    """Format the sentence that fields, or each element of arrays, stay on one line."""
    if any(place.field.dims and place not in whole for place in places):
        return f"{format_places(places)}, of arrays each element, each stay"
    return f"{format_places(places)} {'stays' if len(places) == 1 else 'each stay'}"


def _straddling_bases(place: Place, placements: Placements, is_whole: bool) -> tuple[int, ...]:
    """Return the bases at which a field, or unless `is_whole` one of its elements, touches more than one
    line.
    """
    line = placements.line_size
    if is_whole:
        return placements.violating_bases(lambda base: count_lines((place,), base, line) > 1)
    size, count = _element_size_and_count(place)

    def cuts_one(base: int) -> bool:
        starts = element_starts({(base + place.offset) % line}, size, count, line) if size else set()
        return any(start + size > line for start in starts)

    return placements.violating_bases(cuts_one)


def _element_size_and_count(array: Place) -> tuple[int, int]:
    """Return the bytes of an element, and the number of elements."""
    count = prod(length or 0 for length in array.field.dims)
    return (array.size or 0) // count if count else 0, count


def _describe_straddle(place: Place, bases: tuple[int, ...], placements: Placements, is_whole: bool) -> str:
    if not is_whole:
        share = placements_phrase(len(bases), len(placements.bases))
        size, _ = _element_size_and_count(place)
        return f"an element of {size} bytes of {format_place(place)} straddles 2 lines {share}"
    most = max(count_lines((place,), base, placements.line_size) for base in bases)
    return (
        f"{format_place(place)} straddles {most} lines {placements_phrase(len(bases), len(placements.bases))}"
    )
