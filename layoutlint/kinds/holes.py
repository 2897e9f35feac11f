"""Kind `holes`: bytes between fields that no field uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutlint.kinds.demands import need_at_least
from layoutlint.layout import Hole, Layout
from layoutlint.rule import CannotTell, Context, Example, Key, Manual, Outcome, Verdict, settle

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


@dataclass(frozen=True, slots=True)
class Holes:
    """At most `max` bytes are in holes."""

    name: ClassVar[str] = "holes"
    summary: ClassVar[str] = "at most `max` bytes between the fields are used by none"
    keys: ClassVar[tuple[Key, ...]] = (Key("max", "integer", "bytes in holes, at most; by default 0"),)
    manual: ClassVar[Manual] = Manual(
        "Whole bytes between fields are counted. Not counted: padding behind the last field, the rest of\n"
        "a byte beside a bit-field, and what is inside a field that has a struct of its own (rule that\n"
        "struct); anonymous members are part of this one. The base plays no part.",
        "Order the fields by falling alignment, or put small ones into the holes. A hole that is there on\n"
        "purpose, to keep fields apart, is better written as an alignment, and `max` raised.",
        "max = 0",
        Example(_BREAKS, Outcome.BROKEN, "4 bytes are in 1 hole, 0 allowed: 4..7 before `address`"),
        Example(_KEEPS, Outcome.KEPT, "0 bytes are in 0 holes"),
    )

    max: int = 0

    def __post_init__(self) -> None:
        need_at_least("max", self.max, 0)

    def check(self, context: Context) -> Verdict:
        """Broken when the holes have more bytes in all."""
        layout = context.layout
        for place in layout.places:
            if place.bit_size is None:
                raise CannotTell(f"the size of `{place.path}` is not known")
        holes = [hole for hole in layout.holes if hole.is_whole]
        total = sum(hole.size for hole in holes)
        message = f"{total} bytes are in {len(holes)} hole{'' if len(holes) == 1 else 's'}"
        if total <= self.max:
            return settle(True, message, (), "")
        where = ", ".join(_says(hole, layout) for hole in holes[:6])
        more = f" and {len(holes) - 6} more" if len(holes) > 6 else ""
        advice = f"move or narrow fields so that {total - self.max} of these bytes are used"
        return settle(False, f"{message}, {self.max} allowed: {where}{more}", (), advice)


def _says(hole: Hole, layout: Layout) -> str:
    end = hole.bit_offset + hole.bit_size
    behind = min((p for p in layout.places if p.bit_offset >= end), key=lambda p: p.bit_offset)
    return f"{hole.offset}..{hole.offset + hole.size - 1} before `{behind.path}`"
