"""Kind `offset`: a field is at a fixed offset, or on a fixed cache line."""

from __future__ import annotations

from typing import ClassVar

from layoutlint.geometry.layout import Place
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.context import Context
from layoutlint.judgement.parameters import need_at_least, need_one
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, judge, judge_once
from layoutlint.model.record import Record
from layoutlint.phrases import placements_phrase

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
    """The first byte of a field is at a given offset, or on a given line."""

    name: ClassVar[str] = "offset"
    traits: ClassVar[Traits] = Traits(fields="named", needs_size=False)
    summary: ClassVar[str] = (
        "the field begins `at` bytes from the beginning of the struct, or on its cache line `line`"
    )
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "one field", required=True),
        Key("at", "integer", "its offset in bytes"),
        Key("line", "integer", "or the line on which it begins; 0 is the line on which the object begins"),
    )
    manual: ClassVar[Manual] = Manual(
        "State `at`, the value of `offsetof`, or `line`, which is judged at every base. A bit-field begins\n"
        "in the first byte that it touches.",
        "Move the field back. Or change the code that relies on the offset, and then the rule.",
        'fields = ["type"]\nat = 0',
        Example(_BREAKS, Outcome.BROKEN, "`type` at 4..7 begins at 4, 4 bytes behind 0"),
        Example(_KEEPS, Outcome.KEPT, "`type` at 0..3 begins at 0"),
    )

    fields: tuple[str, ...]
    at: int | None = None
    line: int | None = None

    def __post_init__(self) -> None:
        need_one(self.fields)
        if (self.at is None) is (self.line is None):
            raise ValueError("needs `at` or `line`, and not both")
        need_at_least("at", self.at, 0)
        need_at_least("line", self.line, 0)

    def check(self, context: Context) -> Verdict:
        """Return broken if the field's first byte is anywhere else."""
        (path,) = self.fields
        place = context.place(path)
        if self.line is not None:
            return _judge_line(place, self.line, context.placements)
        message = f"{format_place(place)} begins at {place.offset}"
        off = place.offset - (self.at or 0)
        if not off:
            return judge_once(True, message, (place,), "")
        message += f", {abs(off)} bytes {'behind' if off > 0 else 'before'} {self.at}"
        return judge_once(False, message, (place,), f"move `{place.path}` {-off:+} bytes, to {self.at}")


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
