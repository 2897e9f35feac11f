"""Kind `adjacent`: fields are side by side in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar

from layoutlint.geometry.layout import Place
from layoutlint.judgement.advice import byte_count, first_few
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.parameters import need_at_least, need_several
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.sides import Side, Sides
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, format_places, judge_once
from layoutlint.model.record import Record

_BREAKS = """\
struct sem {
    long count;
    int waiters;
    long owner;
};
"""
_KEEPS = """\
struct sem {
    int count;
    long owner;         /* 4 bytes of padding before it: its alignment asks for them */
    int waiters;
};
"""


class Adjacent(Record, frozen=True):
    """Only padding is between the fields."""

    name: ClassVar[str] = "adjacent"
    traits: ClassVar[Traits] = Traits(needs_size=False, arranges="together")
    summary: ClassVar[str] = "the fields are side by side in memory, in any order, with no field between"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "two or more fields", required=True),
        Key("max_gap", "integer", "bytes allowed between two of them; by default the padding for alignment"),
    )
    manual: ClassVar[Manual] = Manual(
        "At most `max_gap` bytes between two of them are unused; by default, only the padding for\n"
        "alignment. The base does not matter: for lines, use `together`. BTF does not record `aligned` on a\n"
        "field: if a field has it, state `max_gap`.",
        "Move the fields between them behind the last one.",
        'fields = ["count", "owner"]',
        Example(
            _BREAKS, Outcome.BROKEN, "`waiters` at 8..11 lies between `count` at 0..7 and `owner` at 16..23"
        ),
        Example(
            _KEEPS,
            Outcome.KEPT,
            "`count` at 0..3, `owner` at 8..15 are side by side, at most 4 bytes apart",
        ),
    )

    fields: tuple[str, ...]
    max_gap: int | None = None

    def __post_init__(self) -> None:
        need_several(self.fields, "to be adjacent")
        need_at_least("max_gap", self.max_gap, 0)

    def check(self, context: Context) -> Verdict:
        """Return broken for a field between two of the fields, or for too wide a gap."""
        places = tuple(sorted(context.places(self.fields), key=lambda p: (p.bit_offset, _bit_end(p))))
        for place in places[:-1]:
            if place.is_flexible:
                raise CannotTell(f"the end of {format_place(place)} is unknown")
        others = context.remaining_fields(places)
        gaps = list(_gaps(places))
        faults = [fault for gap in gaps for fault in self._faults(gap, others)]
        widest = max((gap.size for gap in gaps), default=0)
        if len(places) == 1:
            return judge_once(True, f"{format_place(places[0])} is the only field", places, "")
        if not faults:
            message = f"{format_places(places)} are side by side, at most {byte_count(widest)} apart"
            return judge_once(True, message, places, "")
        between = tuple(other for gap in gaps for other in others if gap.holds(other))
        names = ", ".join(f"`{place.path}`" for place in places[:6]) + (", ..." if len(places) > 6 else "")
        how = ", and move the members between them behind them" if between else " without the gap"
        advice = f"put {names} side by side{how}"
        return judge_once(False, first_few(faults, "gap"), places + tuple(dict.fromkeys(between)), advice)

    def sides(self, context: Context) -> Sides:
        """Return the fields as one side."""
        return Sides("together", (Side(context.places(self.fields)),))

    def _faults(self, gap: _Gap, others: tuple[Place, ...]) -> Iterator[str]:
        ends = f"{format_place(gap.low)} and {format_place(gap.high)}"
        between = [other for other in others if gap.holds(other)]
        if between:
            yield f"{format_places(between)} {'lies' if len(between) == 1 else 'lie'} between {ends}"
        elif gap.size > (allowed := gap.padding if self.max_gap is None else self.max_gap):
            verb = "lies" if gap.size == 1 else "lie"
            yield f"{byte_count(gap.size)} {verb} between {ends}, {allowed} allowed"


class _Gap(Record, frozen=True):
    """The bytes between two fields."""

    low: Place
    high: Place
    start: int
    """The bit after the last field that ends before `high` or overlaps it."""

    @property
    def size(self) -> int:
        return max(0, self.high.offset - (self.start + 7) // 8)

    @property
    def padding(self) -> int:
        """The largest padding for the alignment of `high`.

        Raises CannotTell if that is unknown, or if only a larger one, which is possible, explains the gap.
        """
        if not self.size:
            return 0
        align, end = self.high.field.align, (self.start + 7) // 8
        largest = 1 << self.high.field.possible.bit_length() >> 1
        if align is None or -end % align < self.size <= -end % max(largest, align):
            raise CannotTell(f"the alignment of {format_place(self.high)} is unknown: state `max_gap`")
        return -end % align

    def holds(self, other: Place) -> bool:
        return (
            not other.is_empty
            and other.bit_offset < self.high.bit_offset
            and (other.is_flexible or _bit_end(other) > self.start)
            and self.start < self.high.bit_offset
        )


def _gaps(places: tuple[Place, ...]) -> Iterator[_Gap]:
    end = 0
    for low, high in pairwise(places):
        end = max(end, _bit_end(low))
        yield _Gap(low, high, end)


def _bit_end(place: Place) -> int:
    return place.bit_offset + (place.bit_size or 0)
