"""Kind `lines`: some fields together touch few cache lines."""

from __future__ import annotations

from math import gcd
from typing import ClassVar

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements, count_lines
from layoutlint.judgement.advice import line_numbers, tolerate_advice
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.parameters import need_at_least, need_fields
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, format_places, judge
from layoutlint.model.record import Record
from layoutlint.phrases import placements_phrase

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

_ANY = "any"


class Lines(Record, frozen=True):
    """The fields together touch at most `max` lines."""

    name: ClassVar[str] = "lines"
    traits: ClassVar[Traits] = Traits(fields="named", needs_size=False, arranges="together")
    summary: ClassVar[str] = "the fields together touch at most `max` cache lines"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "the fields that one path of the code needs"),
        Key("side", "word", "or those with an access of this side, except `cold`; `any` for any access"),
        Key("max", "integer", "most lines that they may touch; default: the lines that their bytes fill"),
    )
    manual: ClassVar[Manual] = Manual(
        "A rule needs `fields` or `side`. Without `max`, the limit is the number of lines that the bytes of\n"
        "all fields fill; with severity `note`, such a rule shows the state of a struct. For a flexible\n"
        "array the outcome is unknown.",
        "Bring the fields together. With alignment A, only (n - 1) lines plus A bytes are certain to fit in\n"
        "n lines.",
        'fields = ["state", "priority", "parent"]\nmax = 2',
        Example(
            _BREAKS,
            Outcome.BROKEN,
            "`state` at 0..7, `priority` at 128..135, `parent` at 256..263 touch 3 lines "
            "in all 8 placements, 2 allowed",
        ),
        Example(
            _KEEPS,
            Outcome.KEPT,
            "`state` at 0..7, `priority` at 8..15, `parent` at 16..23 touch 1 to 2 lines in all 8 placements",
        ),
    )

    fields: tuple[str, ...] = ()
    max: int | None = None
    side: str | None = None

    def __post_init__(self) -> None:
        if self.side is None:
            need_fields(self.fields)
        elif self.fields:
            raise ValueError("`fields` and `side` both choose fields: give one of them")
        need_at_least("max", self.max, 1)

    def check(self, context: Context) -> Verdict:
        """Return a violation where the fields touch more than `max` lines."""
        places, placements = self.fields_to_count(context), context.placements
        for place in places:
            if place.is_flexible:
                raise CannotTell(f"the size of {format_place(place)} is unknown: it is a flexible array")
        covered, line = count_lines(places, 0, 1), placements.line_size
        most = self.limit(covered, line)
        counts = {base: count_lines(places, base, line) for base in placements.bases}
        bases = placements.violating_bases(lambda base: counts[base] > most)
        total = len(placements.bases)
        says = self._describe_fields(places)
        if not bases:
            message = f"{says} {line_numbers(counts.values())} {placements_phrase(total, total)}"
            message += "" if self.max else f", as few as hold their {covered:,} bytes"
            return judge(placements, (), message, places, "")
        number = line_numbers(counts[base] for base in bases)
        allowed = f"{most} allowed" if self.max else f"{most} would hold their {covered:,} bytes"
        message = f"{says} {number} {placements_phrase(len(bases), total)}, {allowed}"
        advice = self._advice(covered, most, placements) + tolerate_advice(len(bases), total)
        return judge(placements, bases, message, places, advice)

    def limit(self, covered: int, line: int) -> int:
        """Return the most lines that fields of some bytes together may touch."""
        return max(1, -(-covered // line)) if self.max is None else self.max

    def fields_to_count(self, context: Context) -> tuple[Place, ...]:
        """Return the fields whose lines count. Raises CannotTell."""
        if self.side is None:
            return context.places(self.fields)
        hot = [a for a in context.accesses if a.access not in ("", "cold") and self.side in (a.side, _ANY)]
        if not hot:
            struct = context.layout.struct
            side = self._describe_side()
            raise CannotTell(
                f"no access of {side} is declared for a field of {struct.aggregate} {struct.name}"
            )
        return tuple(dict.fromkeys(place for access in hot for place in context.declared_fields(access)))

    def _describe_fields(self, places: tuple[Place, ...]) -> str:
        if self.side is None:
            return f"{format_places(places)} touch{'es' if len(places) == 1 else ''}"
        number = "1 field" if len(places) == 1 else f"{len(places)} fields"
        return f"the {number} of {self._describe_side()} touch{'es' if len(places) == 1 else ''}"

    def _describe_side(self) -> str:
        return "any side" if self.side == _ANY else f"side `{self.side}`"

    def _advice(self, covered: int, most: int, placements: Placements) -> str:
        """Advise how to get to `most` lines.

        Bytes in a row touch at most n lines at any base if (n - 1) lines and one alignment step hold them.
        """
        line = placements.line_size
        step = gcd(*placements.bases, line)  # bases inside containers can be any number
        allowed = line_numbers([most])
        certain = (most - 1) * line + step
        if covered <= certain:
            return f"bring their {covered} bytes within {certain}, starting at a multiple of {step}"
        if covered <= most * line:
            return f"align the struct to {line} bytes and bring their {covered} bytes onto {allowed}"
        return f"they have {covered} bytes, and {allowed} hold {most * line}: shrink or split them"
