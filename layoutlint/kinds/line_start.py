"""Kind `line-start`: fields begin on a cache line."""

from __future__ import annotations

from typing import ClassVar

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.advice import first_few
from layoutlint.judgement.context import Context
from layoutlint.judgement.parameters import need_fields
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, format_places, judge
from layoutlint.model.record import Record
from layoutlint.phrases import placements_phrase

_BREAKS = """\
struct ring {
    long producer;
    long consumer;
};
"""
_KEEPS = """\
struct ring {
    long producer;
    long consumer __attribute__((aligned(64)));
};
"""


class LineStart(Record, frozen=True):
    """Each field begins with the first bit of a line."""

    name: ClassVar[str] = "line-start"
    traits: ClassVar[Traits] = Traits(fields="named", needs_size=False, in_containers=True)
    summary: ClassVar[str] = "each of the fields begins at the start of a cache line"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "fields that begin a line, each its own or the same", required=True),
    )
    manual: ClassVar[Manual] = Manual(
        "In a struct aligned to 8, an offset of 64 is not enough: base plus offset must be a multiple of\n"
        "the line size. Empty fields and flexible arrays count with their offset.",
        "Put `_Alignas(64)` before the field (in Linux, `____cacheline_aligned_in_smp` behind it): this\n"
        "also aligns the struct.",
        'fields = ["consumer"]',
        Example(_BREAKS, Outcome.AT_RISK, "`consumer` at 8..15 begins inside a line in 7 of 8 placements"),
        Example(_KEEPS, Outcome.KEPT, "`consumer` at 64..71 begins a line in every placement"),
    )

    fields: tuple[str, ...]

    def __post_init__(self) -> None:
        need_fields(self.fields)

    def check(self, context: Context) -> Verdict:
        """Return a violation where a field does not begin with the first bit of a line."""
        places, placements = context.places(self.fields), context.placements
        inside_bases = {place: _bases_inside_line(place, placements) for place in places}
        wrong = tuple(place for place in places if inside_bases[place])
        bases = placements.bases_in_any(inside_bases.values())
        if not wrong:
            begins = "begins" if len(places) == 1 else "begin"
            return judge(
                placements, (), f"{format_places(places)} {begins} a line in every placement", places, ""
            )
        total = len(placements.bases)
        says = [
            f"{format_place(p)} begins inside a line {placements_phrase(len(inside_bases[p]), total)}"
            for p in wrong
        ]
        message = first_few(says, "field")
        return judge(placements, bases, message, wrong, _advice(wrong[0], placements))


def _bases_inside_line(place: Place, placements: Placements) -> tuple[int, ...]:
    """Return the bases at which a field begins inside a line."""
    line = placements.line_size * 8
    return placements.violating_bases(lambda base: (base * 8 + place.bit_offset) % line != 0)


def _advice(place: Place, placements: Placements) -> str:
    line = placements.line_size
    over = place.bit_offset % (line * 8)
    if not over:
        return f"align the struct to {line} bytes; the offset {place.offset} is a multiple of {line} already"
    up = place.offset - place.offset % line + line
    return (
        f"move `{place.path}` from {place.offset} to {up} and align the struct to {line} bytes "
        f"({placements.aligner} {placements.source_aligner.where} the field does both)"
    )
