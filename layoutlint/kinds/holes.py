"""Kind `holes`: unused bytes between fields."""

from __future__ import annotations

from typing import ClassVar

from layoutlint.geometry.layout import Hole, Layout
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.parameters import need_at_least
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, judge_once
from layoutlint.model.record import Record

_BREAKS = """\
struct record {
    int id;
    long address;
    int length;
};
"""
_KEEPS = """\
struct record {
    int id;
    int length;
    long address;
};
"""


class Holes(Record, frozen=True):
    """At most `max` bytes are in holes."""

    name: ClassVar[str] = "holes"
    traits: ClassVar[Traits] = Traits(needs_size=False)
    summary: ClassVar[str] = "at most `max` bytes between the fields are unused"
    keys: ClassVar[tuple[Key, ...]] = (Key("max", "integer", "most bytes in holes; by default 0"),)
    manual: ClassVar[Manual] = Manual(
        "Only whole bytes between fields count, not padding behind the last field, and not holes inside a\n"
        "field with its own struct. Anonymous members belong to the outer struct. The base does not matter.",
        "Order the fields by decreasing alignment, or put small ones into the holes. If a hole keeps fields\n"
        "apart on purpose, write it as an alignment and raise `max`.",
        "max = 0",
        Example(_BREAKS, Outcome.BROKEN, "4 bytes are in 1 hole, 0 allowed: 4..7 before `address`"),
        Example(_KEEPS, Outcome.KEPT, "0 bytes are in 0 holes"),
    )

    max: int = 0

    def __post_init__(self) -> None:
        need_at_least("max", self.max, 0)

    def check(self, context: Context) -> Verdict:
        """Return broken if the holes have more than `max` bytes together."""
        layout = context.layout
        for place in layout.places:
            if place.bit_size is None:
                raise CannotTell(f"the size of `{place.path}` is not known")
        holes = [hole for hole in layout.holes if hole.is_whole]
        total = sum(hole.size for hole in holes)
        message = f"{total} bytes are in {len(holes)} hole{'' if len(holes) == 1 else 's'}"
        if total <= self.max:
            return judge_once(True, message, (), "")
        where = ", ".join(_describe_hole(hole, layout) for hole in holes[:6])
        more = f" and {len(holes) - 6} more" if len(holes) > 6 else ""
        advice = f"move or narrow fields so that {total - self.max} of these bytes are used"
        return judge_once(False, f"{message}, {self.max} allowed: {where}{more}", (), advice)


def _describe_hole(hole: Hole, layout: Layout) -> str:
    end = hole.bit_offset + hole.bit_size
    following = min((p for p in layout.places if p.bit_offset >= end), key=lambda p: p.bit_offset)
    return f"{hole.offset}..{hole.offset + hole.size - 1} before `{following.path}`"
