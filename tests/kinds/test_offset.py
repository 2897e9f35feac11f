"""`offset`, as one table."""

from __future__ import annotations

from layoutlint.kinds.offset import Offset
from tests.kinds.cases import (
    BROKEN,
    KEPT,
    Case,
    Refusal,
    Untold,
    cannot_tell,
    check,
    refused,
    table,
)  # fmt: skip
from tests.kinds.structs import (
    BITS,
    EMPTY,
    NESTED,
    RING,
    TAIL,
    UNION,
    WORDS,
)  # fmt: skip

CASES = [
    Case("there", WORDS, {"fields": ("b",), "at": 8}, KEPT, (), "`b` at 8..15 begins at 8"),
    Case("behind", WORDS, {"fields": ("c",), "at": 8}, BROKEN, (), "`c` at 16..23 begins at 16, 8 bytes behind 8",
         advice="move `c` -8 bytes, to 8"),
    Case("before", WORDS, {"fields": ("a",), "at": 8}, BROKEN, (), "`a` at 0..7 begins at 0, 8 bytes before 8",
         advice="move `a` +8 bytes, to 8"),
    Case("bit-field", BITS, {"fields": ("count",), "at": 0}, KEPT, (), "`count` at bits 7..16 begins at 0"),
    Case("nested", NESTED, {"fields": ("lock.owner",), "at": 16}, KEPT, (), "`lock.owner` at 16..23 begins at 16"),
    Case("element", RING, {"fields": ("slot[2].tail",), "at": 80}, KEPT, (), "`slot[2].tail` at 80..87 begins at 80"),
    Case("union member", UNION, {"fields": ("text",), "at": 8}, KEPT, (), "`text` at 8..11 begins at 8"),
    Case("flexible array", TAIL, {"fields": ("body",), "at": 12}, BROKEN, (),
         "`body` at 16 and beyond begins at 16, 4 bytes behind 12"),
    Case("empty", EMPTY, {"fields": ("lock",), "at": 8}, KEPT, (), "`lock` at 8, empty begins at 8"),
]  # fmt: skip
REFUSALS = [
    Refusal("two", {"fields": ("a", "b"), "at": 0}, "`fields` needs exactly one field, and no pattern"),
    Refusal("pattern", {"fields": ("a*",), "at": 0}, "`fields` needs exactly one field, and no pattern"),
    Refusal("negative", {"fields": ("a",), "at": -1}, "`at` is -1, and must be at least 0"),
]
UNTOLD = [
    Untold("element outside", RING, {"fields": ("slot[4]",), "at": 0}, "struct ring has no field `slot[4]` (did you mean `slot`?)"),
]


@table(CASES)
def test_offset(case):
    check(Offset, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    refused(Offset, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Offset, case)
