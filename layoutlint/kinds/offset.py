"""Kind `offset`: fields are at fixed offsets, or one is on a fixed cache line."""

from __future__ import annotations

from typing import ClassVar

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.advice import first_few
from layoutlint.judgement.context import Context
from layoutlint.judgement.parameters import need_at_least, need_one
from layoutlint.judgement.position import Bit, Position
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, format_places, judge, judge_once
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record
from layoutlint.phrases import placements_phrase, quantity

_BREAKS = """\
struct packet {
    int length;
    int type;           /* assembly code reads it at 0 */
};
"""
_KEEPS = """\
struct packet {
    int type;
    int length;
};
"""


class Offset(Record, frozen=True):
    """Fields begin at given offsets, or one on a given line."""

    name: ClassVar[str] = "offset"
    traits: ClassVar[Traits] = Traits(fields="named", needs_size=False)
    summary: ClassVar[str] = (
        "the field begins `at` bytes from the beginning of the struct, or on its cache line `line`"
    )
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "one field, unless `at` is a table"),
        Key("at", "positions", "its offset in bytes, or in bytes and bits: `\"14:3\"`"),
        Key("line", "integer", "or the line on which it begins; 0 is the line on which the object begins"),
    )
    manual: ClassVar[Manual] = Manual(
        "`at` is the value of `offsetof`. For one field, state `fields` and `at`; for several, state their\n"
        "offsets in a table, and no `fields`. A bit-field begins in the first byte that it touches. With\n"
        "`at = \"14:3\"`, it begins with bit 3 of byte 14, as `show` prints it.\n\n"
        "`line` is judged at every base.",
        "Move the field back. Or change the code that relies on the offset, and then the rule.",
        "at = { type = 0, length = 4 }",
        Example(
            _BREAKS,
            Outcome.BROKEN,
            "`type` at 4..7 begins at 4, 4 bytes behind 0; `length` at 0..3 begins at 0, 4 bytes before 4",
        ),
        Example(_KEEPS, Outcome.KEPT, "`type` at 0..3, `length` at 4..7 begin where they must"),
    )

    fields: tuple[str, ...] = ()
    at: Position | tuple[tuple[str, Position], ...] | None = None
    line: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.at, tuple):
            need_one(self.fields)
        elif self.fields:
            raise ValueError("`at` names its fields itself: leave `fields` out")
        if (self.at is None) is (self.line is None):
            raise ValueError("needs `at` or `line`, and not both")
        for path, position in self.positions:
            if is_pattern(path):
                raise ValueError(f"`at` cannot name `{path}`: a pattern has no offset")
            need_at_least("at", position.byte if isinstance(position, Bit) else position, 0)
        need_at_least("line", self.line, 0)

    @property
    def positions(self) -> tuple[tuple[str, Position], ...]:
        """The fields with their positions; none for a rule with `line`."""
        if isinstance(self.at, tuple) or self.at is None:
            return self.at or ()
        return ((self.fields[0], self.at),)

    def check(self, context: Context) -> Verdict:
        """Return broken if a field begins anywhere else."""
        if self.line is not None:
            return _judge_line(context.place(self.fields[0]), self.line, context.placements)
        placed = [(context.place(path), position) for path, position in self.positions]
        wrong = [(place, position) for place, position in placed if _bits_behind(place, position)]
        if not wrong:
            places = tuple(place for place, _ in placed)
            begins = f"begins at {placed[0][1]}" if len(placed) == 1 else "begin where they must"
            return judge_once(True, f"{format_places(places)} {begins}", places, "")
        message = first_few([_describe(place, position) for place, position in wrong], "field")
        place, position = wrong[0]
        bits = _bits_behind(place, position)
        advice = f"move `{place.path}` {'-' if bits > 0 else '+'}{_distance(bits)}, to {position}"
        return judge_once(False, message, tuple(place for place, _ in wrong), advice)


def _bits_behind(place: Place, position: Position) -> int:
    """Return how many bits behind a position a field begins; below 0 before it, in bytes if it is a byte."""
    if isinstance(position, Bit):
        return place.bit_offset - position.byte * 8 - position.bit
    return (place.offset - position) * 8


def _describe(place: Place, position: Position) -> str:
    """Describe where a field begins, and how far that is from where it must."""
    begins = Bit(place.offset, place.bit_offset % 8) if isinstance(position, Bit) else place.offset
    bits = _bits_behind(place, position)
    side = "behind" if bits > 0 else "before"
    return f"{format_place(place)} begins at {begins}, {_distance(bits)} {side} {position}"


def _distance(bits: int) -> str:
    """Return a distance in whole bytes, else in bits."""
    return quantity(abs(bits), "bit") if bits % 8 else quantity(abs(bits) // 8, "byte")


def _judge_line(place: Place, line: int, placements: Placements) -> Verdict:
    size = placements.line_size
    lines = {base: (base + place.offset) // size for base in placements.bases}
    bases = placements.violating_bases(lambda base: lines[base] != line)
    total = len(placements.bases)
    begins = f"{format_place(place)} begins on line"
    if not bases:
        return judge(
            placements, (), f"{begins} {line} of the object {placements_phrase(total, total)}", (place,), ""
        )
    wrong = sorted({lines[base] for base in bases})
    message = f"{begins} {' or '.join(map(str, wrong))}, not {line}, {placements_phrase(len(bases), total)}"
    advice = f"move `{place.path}` to {line * size}..{(line + 1) * size - 1}"
    advice += f" and align the struct to {size} bytes" if total > 1 else ""
    return judge(placements, bases, message, (place,), advice)
