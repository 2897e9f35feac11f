"""Kind `together`: all fields on one cache line."""

from __future__ import annotations

from typing import ClassVar

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements, count_lines
from layoutlint.judgement.advice import keep_whole, line_numbers, tolerate_advice
from layoutlint.judgement.context import Context
from layoutlint.judgement.parameters import need_several
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.sides import Side, Sides
from layoutlint.judgement.verdict import Outcome, Verdict, format_places, judge
from layoutlint.model.record import Record
from layoutlint.phrases import placements_phrase

_BREAKS = """\
struct sem {
    long count;         /* both are needed to take it */
    long waiters[8];
    long owner;
};
"""
_KEEPS = """\
struct sem {
    long count __attribute__((aligned(16)));
    long owner;
    long waiters[8];
};
"""


class Together(Record, frozen=True):
    """All fields are on one line."""

    name: ClassVar[str] = "together"
    traits: ClassVar[Traits] = Traits(
        fields="named", needs_size=False, arranges="together", in_containers=True
    )
    summary: ClassVar[str] = "all of the fields are on one cache line"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "two or more fields that are used together", required=True),
    )
    manual: ClassVar[Manual] = Manual(
        "Adjacent fields are not enough: in a struct aligned to 8, two adjacent words are on two lines in\n"
        "one of eight placements.",
        "Put the fields side by side, and align the struct as advised. Or accept a share of failing\n"
        "placements with `tolerate`.",
        'fields = ["count", "owner"]',
        Example(
            _BREAKS,
            Outcome.BROKEN,
            "`count` at 0..7, `owner` at 72..79 are on 2 lines in all 8 placements",
        ),
        Example(
            _KEEPS,
            Outcome.KEPT,
            "`count` at 0..7, `owner` at 8..15 are on one line in all 4 placements",
        ),
    )

    fields: tuple[str, ...]

    def __post_init__(self) -> None:
        need_several(self.fields, "to be together; `no-straddle` is the kind for one")

    def check(self, context: Context) -> Verdict:
        """Return a violation where the fields touch more than one line."""
        places, placements = context.places(self.fields), context.placements
        counts = {base: count_lines(places, base, placements.line_size) for base in placements.bases}
        bases = placements.violating_bases(lambda base: counts[base] > 1)
        total = len(placements.bases)
        if not bases:
            message = f"{format_places(places)} are on one line {placements_phrase(total, total)}"
            return judge(placements, (), message, places, "")
        number = line_numbers(counts[base] for base in bases)
        message = f"{format_places(places)} are on {number} {placements_phrase(len(bases), total)}"
        return judge(placements, bases, message, places, _advice(places, placements, len(bases)))

    def sides(self, context: Context) -> Sides:
        """Return the fields as one side."""
        return Sides("together", (Side(context.places(self.fields)),))


def _advice(places: tuple[Place, ...], placements: Placements, violating: int) -> str:
    solid = [place for place in places if not place.is_empty]
    start, end = min(place.offset for place in solid), max(place.end for place in solid)
    return keep_whole(start, end, placements) + tolerate_advice(violating, len(placements.bases))
