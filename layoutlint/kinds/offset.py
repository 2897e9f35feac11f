"""Kind `offset`: a field stands at a fixed offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutlint.kinds.demands import need_at_least, need_one
from layoutlint.rule import Context, Example, Key, Manual, Outcome, Verdict, settle, spell

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


@dataclass(frozen=True, slots=True)
class Offset:
    """A field's first byte is at a given offset."""

    name: ClassVar[str] = "offset"
    summary: ClassVar[str] = "the field begins `at` bytes from the beginning of the struct"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("fields", "paths", "one field", required=True),
        Key("at", "integer", "its offset in bytes", required=True),
    )
    manual: ClassVar[Manual] = Manual(
        "What `offsetof` says. A bit-field, which has no `offsetof`, counts with the first byte that it\n"
        "touches; a path goes as deep as you like (`lock.owner`, `ring[2].head`). The base plays no part.",
        "Move the field back, or change what relies on the offset and then the rule.",
        'fields = ["type"]\nat = 0',
        Example(_BREAKS, Outcome.BROKEN, "`type` at 4..7 begins at 4, 4 bytes behind 0"),
        Example(_KEEPS, Outcome.KEPT, "`type` at 0..3 begins at 0"),
    )

    fields: tuple[str, ...]
    at: int

    def __post_init__(self) -> None:
        need_one(self.fields)
        need_at_least("at", self.at, 0)

    def check(self, context: Context) -> Verdict:
        """Broken when the field's first byte is anywhere else."""
        place = context.place(self.fields[0])
        message = f"{spell(place)} begins at {place.offset}"
        off = place.offset - self.at
        if not off:
            return settle(True, message, (place,), "")
        message += f", {abs(off)} bytes {'behind' if off > 0 else 'before'} {self.at}"
        return settle(False, message, (place,), f"move `{place.path}` {-off:+} bytes, to {self.at}")
