"""Kind `lines`: a set of fields touches few cache lines."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import ClassVar

from layoutlint.kinds.demands import need_at_least, need_some
from layoutlint.kinds.wording import line_numbers, tolerated
from layoutlint.layout import Place
from layoutlint.placement import Placements, line_count
from layoutlint.rule import CannotTell, Context, Example, Key, Manual, Outcome, Verdict, judge, listing, spell

_BREAKS = """\
struct task {
    long state;
    char name[120];
    long priority;
    char comment[120];
    long parent;
};
"""
_KEEPS = """\
struct task {
    long state;
    long priority;
    long parent;
    char name[120];
    char comment[120];
};
"""


@dataclass(frozen=True, slots=True)
class Lines:
    """The fields touch at most `max` lines in all."""

    name: ClassVar[str] = "lines"
    summary: ClassVar[str] = "the fields together touch at most `max` cache lines"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "the fields that one path of the code needs", required=True),
        Key("max", "integer", "lines that they touch in all, at most", required=True),
    )
    manual: ClassVar[Manual] = Manual(
        "The lines that any byte of any of the fields touches are counted at every base, each once; lines\n"
        "on which only other fields are do not count. Bit-fields count with the bytes that they touch,\n"
        "empty fields with none. How far a flexible array goes is not known, and so the answer for it is\n"
        "unknown.",
        "Bring the fields together. With an alignment of A, at most n lines are certain only for\n"
        "(n - 1) lines and A bytes.",
        'fields = ["state", "priority", "parent"]\nmax = 2',
        Example(
            _BREAKS,
            Outcome.BROKEN,
            "`state` at 0..7, `priority` at 128..135, `parent` at 256..263 touch 3 lines "
            "in 8 of 8 placements, 2 allowed",
        ),
        Example(
            _KEEPS,
            Outcome.KEPT,
            "`state` at 0..7, `priority` at 8..15, `parent` at 16..23 touch 1 to 2 lines in all 8 placements",
        ),
    )

    fields: tuple[str, ...]
    max: int

    def __post_init__(self) -> None:
        need_some(self.fields)
        need_at_least("max", self.max, 1)

    def check(self, context: Context) -> Verdict:
        """Broken where the fields touch more than `max` lines."""
        places, placements = context.places(self.fields), context.placements
        for place in places:
            if place.is_flexible:
                raise CannotTell(f"how far {spell(place)} goes is not known: it is a flexible array")
        counts = {base: line_count(places, base, placements.line_size) for base in placements.bases}
        bases = placements.violating(lambda base: counts[base] > self.max)
        total = len(placements.bases)
        if not bases:
            message = f"{listing(places)} touch {line_numbers(counts.values())} in all {total} placements"
            return judge(placements, (), message, places, "")
        number = line_numbers(counts[base] for base in bases)
        message = (
            f"{listing(places)} touch {number} in {len(bases)} of {total} placements, {self.max} allowed"
        )
        advice = self._advice(places, placements) + tolerated(len(bases), total)
        return judge(placements, bases, message, places, advice)

    def _advice(self, places: tuple[Place, ...], placements: Placements) -> str:
        """Bytes side by side touch at most n lines at any base when (n - 1) lines and one step hold them."""
        covered = line_count(places, 0, 1)
        line = placements.line_size
        step = gcd(*placements.bases, line)  # bases inside of containers can be any
        allowed = line_numbers([self.max])
        certain = (self.max - 1) * line + step
        if covered <= certain:
            return f"bring their {covered} bytes within {certain}, starting at a multiple of {step}"
        if covered <= self.max * line:
            return f"align the struct to {line} bytes and bring their {covered} bytes onto {allowed}"
        return f"they have {covered} bytes, and {allowed} hold {self.max * line}: shrink or split them"
