"""Kind `distance`: how far apart fields begin."""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

from layoutlint.geometry.layout import Place
from layoutlint.judgement.advice import byte_count, first_few
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.line_sharing import refuse_many
from layoutlint.judgement.parameters import need_at_least, need_several
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, judge_once
from layoutlint.model.record import Record

_BREAKS = """\
struct pair {
    long a;
    long others[6];
    long b;
};
"""
_KEEPS = """\
struct pair {
    long a;
    long others[7];
    long b;
};
"""


class Distance(Record, frozen=True):
    """Any two of the fields begin at least `min` and at most `max` bytes apart."""

    name: ClassVar[str] = "distance"
    traits: ClassVar[Traits] = Traits(fields="named", needs_size=False)
    summary: ClassVar[str] = "any two of the fields begin at least `min` and at most `max` bytes apart"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "two or more fields", required=True),
        Key("min", "integer", "fewest bytes between their first bytes"),
        Key("max", "integer", "most bytes between their first bytes"),
    )
    manual: ClassVar[Manual] = Manual(
        "The distance is the difference of `offsetof`, in either order. A bit-field begins in the first\n"
        "byte that it touches. The base does not matter. For lines, use `separate` and `together`.",
        "Move one of the fields by as many bytes as the message says.",
        'fields = ["a", "b"]\nmin = 64',
        Example(
            _BREAKS,
            Outcome.BROKEN,
            "`a` at 0..7 and `b` at 56..63 begin 56 bytes apart, 8 less than the least, 64",
        ),
        Example(_KEEPS, Outcome.KEPT, "`a` at 0..7 and `b` at 64..71 begin 64 bytes apart"),
    )

    fields: tuple[str, ...]
    min: int | None = None
    max: int | None = None

    def __post_init__(self) -> None:
        need_several(self.fields, "to have a distance")
        need_at_least("min", self.min, 0)
        need_at_least("max", self.max, 0)
        if self.min is None and self.max is None:
            raise ValueError("needs `min` or `max`")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"`min` is {self.min}, and must not be above `max`, {self.max}")

    def check(self, context: Context) -> Verdict:
        """Return broken for any pair that begins too near or too far apart."""
        places = context.places(self.fields)
        refuse_many(len(places) * len(places) // 2)
        pairs = list(combinations(places, 2))
        if not pairs:
            raise CannotTell(f"`{self.fields[0]}` means one field only, {format_place(places[0])}")
        wrong = [(pair, fault) for pair in pairs if (fault := self._fault(*pair))]
        if not wrong:
            return judge_once(True, first_few([_describe_pair(pair) for pair in pairs], "pair"), places, "")
        message = first_few([_describe_pair(pair) + fault for pair, fault in wrong], "pair")
        evidence = tuple(dict.fromkeys(place for pair, _ in wrong for place in pair))
        return judge_once(False, message, evidence, self._advice(wrong[0][0]))

    def _fault(self, a: Place, b: Place) -> str:
        """Return the fault in the distance of two fields; empty for none."""
        distance = _byte_distance((a, b))
        if self.min is not None and distance < self.min:
            return f", {self.min - distance} less than the least, {self.min}"
        if self.max is not None and distance > self.max:
            return f", {distance - self.max} more than the most, {self.max}"
        return ""

    def _advice(self, pair: tuple[Place, Place]) -> str:
        low, high = sorted(pair, key=lambda place: place.bit_offset)
        distance = _byte_distance(pair)
        if self.min is not None and distance < self.min:
            return f"move `{high.path}` at least {byte_count(self.min - distance)} further from `{low.path}`"
        return f"bring `{high.path}` at least {byte_count(distance - (self.max or 0))} nearer to `{low.path}`"


def _byte_distance(pair: tuple[Place, Place]) -> int:
    return abs(pair[0].offset - pair[1].offset)


def _describe_pair(pair: tuple[Place, Place]) -> str:
    return f"{format_place(pair[0])} and {format_place(pair[1])} begin {_byte_distance(pair)} bytes apart"
