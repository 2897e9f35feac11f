"""`distance`, as one table."""

from __future__ import annotations

from layoutlint.kinds.distance import Distance
from tests.harness.build import member, struct
from tests.kinds.cases import (  # fmt: skip
    BROKEN,
    KEPT,
    Case,
    Refusal,
    Untold,
    assert_refused,
    cannot_tell,
    check,
    table,
)
from tests.kinds.structs import BITS, LINES, NESTED, TAIL, UNION, WORDS  # fmt: skip

MANY = struct("many", 5664, *(member(f"m{number}", number * 8, 8) for number in range(708)))

CASES = [
    Case("far enough", LINES, {"fields": ("a", "c"), "min": 64}, KEPT, (), "`a` at 0..7 and `c` at 64..71 begin 64 bytes apart"),
    Case("too near", LINES, {"fields": ("b", "c"), "min": 64}, BROKEN, (),
         "`b` at 8..15 and `c` at 64..71 begin 56 bytes apart, 8 less than the least, 64",
         advice="move `c` at least 8 bytes further from `b`"),
    Case("too far", LINES, {"fields": ("c", "a"), "max": 8}, BROKEN, (),
         "`c` at 64..71 and `a` at 0..7 begin 64 bytes apart, 56 more than the most, 8",
         advice="bring `c` at least 56 bytes nearer to `a`"),
    Case("between", WORDS, {"fields": ("a", "b"), "min": 8, "max": 8}, KEPT, (),
         "`a` at 0..7 and `b` at 8..15 begin 8 bytes apart"),
    Case("any two", WORDS, {"fields": ("a", "b", "d"), "max": 16}, BROKEN, (),
         "`a` at 0..7 and `d` at 24..31 begin 24 bytes apart, 8 more than the most, 16"),
    Case("bit-fields by their first bytes", BITS, {"fields": ("ready", "count"), "min": 1}, BROKEN, (),
         "`ready` at bits 0..0 and `count` at bits 7..16 begin 0 bytes apart, 1 less than the least, 1",
         advice="move `count` at least 1 byte further from `ready`"),
    Case("union", UNION, {"fields": ("number", "text"), "max": 0}, KEPT, (),
         "`number` at 8..15 and `text` at 8..11 begin 0 bytes apart"),
    Case("nested", NESTED, {"fields": ("a", "lock.owner"), "min": 16}, KEPT, (),
         "`a` at 0..7 and `lock.owner` at 16..23 begin 16 bytes apart"),
    Case("flexible array", TAIL, {"fields": ("length", "body"), "max": 16}, KEPT, (),
         "`length` at 0..7 and `body` at 16 and beyond begin 16 bytes apart"),
    Case("many", WORDS, {"fields": ("*",), "min": 32}, BROKEN, (),
         "`a` at 0..7 and `b` at 8..15 begin 8 bytes apart, 24 less than the least, 32; "
         "`a` at 0..7 and `c` at 16..23 begin 16 bytes apart, 16 less than the least, 32; "
         "`a` at 0..7 and `d` at 24..31 begin 24 bytes apart, 8 less than the least, 32; "
         "`b` at 8..15 and `c` at 16..23 begin 8 bytes apart, 24 less than the least, 32; and 2 more pairs",
         advice="move `b` at least 24 bytes further from `a`"),
]  # fmt: skip
REFUSALS = [
    Refusal("one", {"fields": ("a",), "min": 1}, "`fields` needs at least two fields to have a distance"),
    Refusal("no limit", {"fields": ("a", "b")}, "needs `min` or `max`"),
    Refusal("negative", {"fields": ("a", "b"), "min": -8}, "`min` is -8, and must be at least 0"),
    Refusal("crossed", {"fields": ("a", "b"), "min": 9, "max": 8}, "`min` is 9, and must not be above `max`, 8"),
]
UNTOLD = [
    Untold("a pattern that means one", WORDS, {"fields": ("a*",), "min": 1}, "`a*` means one field only, `a` at 0..7"),
    Untold("too many pairs", MANY, {"fields": ("*",), "min": 1},
           "the rule compares 250,632 pairs of fields, and at most 250,000 are compared; name fewer fields"),
]


@table(CASES)
def test_distance(case):
    check(Distance, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Distance, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Distance, case)
