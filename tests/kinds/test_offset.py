"""`offset`, as one table."""

from __future__ import annotations

from layoutlint.judgement.position import Bit
from layoutlint.kinds.offset import Offset
from tests.kinds.cases import (  # fmt: skip
    AT_RISK,
    BROKEN,
    EVERY8,
    KEPT,
    ONCE,
    Case,
    Refusal,
    Untold,
    assert_refused,
    cannot_tell,
    check,
    table,
)
from tests.kinds.structs import BITS, EMPTY, LINES, NESTED, RING, TAIL, UNION, WORDS  # fmt: skip

CASES = [
    Case("a table", WORDS, {"at": (("a", 0), ("c", 16))}, KEPT, (), "`a` at 0..7, `c` at 16..23 begin where they must"),
    Case("a table of one", WORDS, {"at": (("a", 0),)}, KEPT, (), "`a` at 0..7 begins at 0"),
    Case("a table with two faults", WORDS, {"at": (("a", 0), ("b", 16), ("c", 8))}, BROKEN, (),
         "`b` at 8..15 begins at 8, 8 bytes before 16; `c` at 16..23 begins at 16, 8 bytes behind 8", advice="move `b` +8 bytes, to 16"),
    Case("a bit", BITS, {"at": (("count", Bit(0, 7)),)}, KEPT, (), "`count` at bits 7..16 begins at 0:7"),
    Case("another bit", BITS, {"fields": ("count",), "at": Bit(0, 4)}, BROKEN, (), "`count` at bits 7..16 begins at 0:7, 3 bits behind 0:4",
         advice="move `count` -3 bits, to 0:4"),
    Case("a bit of another byte", BITS, {"at": (("count", Bit(2, 7)),)}, BROKEN, (), "`count` at bits 7..16 begins at 0:7, 2 bytes before 2:7"),
    Case("the first bit", WORDS, {"at": (("b", Bit(8, 0)),)}, KEPT, (), "`b` at 8..15 begins at 8:0"),
    Case("a bit of a whole field", WORDS, {"at": (("b", Bit(8, 1)),)}, BROKEN, (), "`b` at 8..15 begins at 8:0, 1 bit before 8:1"),
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
    Case("on its line", LINES, {"fields": ("c",), "line": 1}, KEPT, (), "`c` at 64..71 begins on line 1 of the object in its only placement"),
    Case("on another", LINES, {"fields": ("c",), "line": 2}, BROKEN, ONCE, "`c` at 64..71 begins on line 1, not 2, in its only placement",
         advice="move `c` to 128..191"),
    Case("on its line at some bases", WORDS, {"fields": ("b",), "line": 0}, AT_RISK, (56,),
         "`b` at 8..15 begins on line 1, not 0, in 1 of 8 placements", advice="move `b` to 0..63 and align the struct to 64 bytes"),
    Case("on either of two", WORDS, {"fields": ("b",), "line": 2}, BROKEN, EVERY8, "`b` at 8..15 begins on line 0 or 1, not 2, in all 8 placements"),
    Case("empty", EMPTY, {"fields": ("lock",), "at": 8}, KEPT, (), "`lock` at 8, empty begins at 8"),
]  # fmt: skip
REFUSALS = [
    Refusal("none", {"at": 0}, "`fields` needs exactly one field, and no pattern"),
    Refusal("a table, and fields", {"fields": ("a",), "at": (("a", 0),)}, "`at` names its fields itself: leave `fields` out"),
    Refusal("a table, and a line", {"at": (("a", 0),), "line": 0}, "needs `at` or `line`, and not both"),
    Refusal("a pattern in a table", {"at": (("a*", 0),)}, "`at` cannot name `a*`: a pattern has no offset"),
    Refusal("negative in a table", {"at": (("a", -8),)}, "`at` is -8, and must be at least 0"),
    Refusal("two", {"fields": ("a", "b"), "at": 0}, "`fields` needs exactly one field, and no pattern"),
    Refusal("pattern", {"fields": ("a*",), "at": 0}, "`fields` needs exactly one field, and no pattern"),
    Refusal("neither", {"fields": ("a",)}, "needs `at` or `line`, and not both"),
    Refusal("both", {"fields": ("a",), "at": 0, "line": 0}, "needs `at` or `line`, and not both"),
    Refusal("a negative line", {"fields": ("a",), "line": -1}, "`line` is -1, and must be at least 0"),
    Refusal("negative", {"fields": ("a",), "at": -1}, "`at` is -1, and must be at least 0"),
]
UNTOLD = [
    Untold("one of a table", WORDS, {"at": (("a", 0), ("bb", 8))}, "struct words has no field `bb` (did you mean `b`?)"),
    Untold("element outside", RING, {"fields": ("slot[4]",), "at": 0}, "struct ring has no field `slot[4]` (did you mean `slot`?)"),
]


@table(CASES)
def test_offset(case):
    check(Offset, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Offset, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Offset, case)
