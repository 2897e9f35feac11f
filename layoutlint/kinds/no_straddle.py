"""Kind `no-straddle`: no field lies on two cache lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutlint.kinds.demands import need_some
from layoutlint.kinds.wording import first_few, keep_whole, tolerated
from layoutlint.layout import Place
from layoutlint.placement import Placements, line_count
from layoutlint.rule import CannotTell, Context, Example, Key, Manual, Outcome, Verdict, judge, listing, spell

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


@dataclass(frozen=True, slots=True)
class NoStraddle:
    """Each field on one line."""

    name: ClassVar[str] = "no-straddle"
    summary: ClassVar[str] = "none of the fields lies on two cache lines"
    keys: ClassVar[tuple[Key, ...]] = (Key("fields", "paths", "fields that stay whole", required=True),)
    manual: ClassVar[Manual] = Manual(
        "Each field for itself must touch one line only, at every base; the fields may be on different\n"
        "lines (`together` asks for the same one). A field larger than a line is broken in every\n"
        "placement. A bit-field counts with the bytes that it touches, an empty field with none. How far\n"
        "a flexible array goes is not known, and so the answer for it is unknown.",
        "Align the field to its size rounded up to a power of two; that aligns the struct as well.",
        'fields = ["range"]',
        Example(_BREAKS, Outcome.AT_RISK, "`range` at 8..23 straddles 2 lines in 1 of 8 placements"),
        Example(_KEEPS, Outcome.KEPT, "`range` at 16..31 stays on one line in all 4 placements"),
    )

    fields: tuple[str, ...]

    def __post_init__(self) -> None:
        need_some(self.fields)

    def check(self, context: Context) -> Verdict:
        """Broken where a field touches more than one line."""
        places, placements = context.places(self.fields), context.placements
        for place in places:
            if place.is_flexible:
                raise CannotTell(f"how far {spell(place)} goes is not known: it is a flexible array")
        straddling = {place: found for place in places if (found := _straddling(place, placements))}
        total = len(placements.bases)
        if not straddling:
            stays = "stays" if len(places) == 1 else "each stay"
            message = f"{listing(places)} {stays} on one line in all {total} placements"
            return judge(placements, (), message, places, "")
        says = [_says(place, found, placements) for place, found in straddling.items()]
        bases = placements.in_any(straddling.values())
        worst = next(iter(straddling))
        advice = keep_whole(worst.offset, worst.end, placements) + tolerated(len(bases), total)
        return judge(placements, bases, first_few(says, "fields"), tuple(straddling), advice)


def _straddling(place: Place, placements: Placements) -> tuple[int, ...]:
    """The bases at which a field touches more than one line."""
    return placements.violating(lambda base: line_count((place,), base, placements.line_size) > 1)


def _says(place: Place, found: tuple[int, ...], placements: Placements) -> str:
    most = max(line_count((place,), base, placements.line_size) for base in found)
    return f"{spell(place)} straddles {most} lines in {len(found)} of {len(placements.bases)} placements"
