"""`together`, as one table."""

from __future__ import annotations

from layoutlint.kinds.together import Together
from tests.harness.build import member, struct
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
from tests.kinds.structs import BITS, EMPTY, HIDDEN, LINES, NESTED, TAIL, UNION, WORDS

PAIR16 = struct("pair", 16, member("a", 0, 8), member("b", 8, 8), align=16)
APART = struct("apart", 88, member("a", 0, 8), member("b", 72, 16))

CASES = [
    Case("neighbours in one word too many", WORDS, {"fields": ("a", "b")}, AT_RISK, (56,),
         "`a` at 0..7, `b` at 8..15 are on 2 lines in 1 of 8 placements",
         advice="align the struct to 16 bytes, so that no base cuts the bytes 0..15, "
                "or accept it with `tolerate = 0.125`"),
    Case("neighbours that an alignment holds", PAIR16, {"fields": ("a", "b")}, KEPT, (),
         "`a` at 0..7, `b` at 8..15 are on one line in all 4 placements"),
    Case("at an offset that cannot stay", WORDS, {"fields": ("b", "c")}, AT_RISK, (48,),
         "`b` at 8..15, `c` at 16..23 are on 2 lines in 1 of 8 placements",
         advice="align the struct to 32 bytes, so that no base cuts the bytes 8..23, "
                "or accept it with `tolerate = 0.125`"),
    Case("two lines", LINES, {"fields": ("a", "c")}, BROKEN, ONCE,
         "`a` at 0..7, `c` at 64..71 are on 2 lines in its only placement",
         advice="72 bytes do not fit on a line of 64: bring them within 64 bytes"),
    Case("one that straddles", APART, {"fields": ("a", "b")}, BROKEN, EVERY8,
         "`a` at 0..7, `b` at 72..87 are on 2 to 3 lines in all 8 placements"),
    Case("bit-fields in one byte", BITS, {"fields": ("ready", "mode")}, KEPT, (),
         "`ready` at bits 0..0, `mode` at bits 1..6 are on one line in all 8 placements"),
    Case("union", UNION, {"fields": ("number", "text")}, KEPT, (),
         "`number` at 8..15, `text` at 8..11 are on one line in all 8 placements"),
    Case("nested", NESTED, {"fields": ("lock.count", "lock.owner")}, AT_RISK, (48,),
         "`lock.count` at 8..15, `lock.owner` at 16..23 are on 2 lines in 1 of 8 placements"),
    Case("a part and its whole", NESTED, {"fields": ("lock", "lock.owner")}, AT_RISK, (24, 32, 40, 48),
         "`lock` at 8..47, `lock.owner` at 16..23 are on 2 lines in 4 of 8 placements"),
    Case("flexible array by its first byte", TAIL, {"fields": ("length", "body")}, AT_RISK, (48, 56),
         "`length` at 0..7, `body` at 16 and beyond are on 2 lines in 2 of 8 placements"),
    Case("empty", EMPTY, {"fields": ("a", "lock")}, KEPT, (),
         "`a` at 0..7, `lock` at 8, empty are on one line in all 8 placements"),
    Case("pattern", WORDS, {"fields": ("*",)}, AT_RISK, (40, 48, 56),
         "`a` at 0..7, `b` at 8..15, `c` at 16..23, `d` at 24..31 are on 2 lines in 3 of 8 placements",
         advice="align the struct to 32 bytes, so that no base cuts the bytes 0..31, "
                "or accept it with `tolerate = 0.375`"),
]  # fmt: skip
REFUSALS = [
    Refusal("none", {"fields": ()}, "`fields` needs at least one field"),
    Refusal("one", {"fields": ("a",)},
            "`fields` needs at least two fields to be together; `no-straddle` is the kind for one"),
    Refusal("twice", {"fields": ("a", "b", "a")}, "`fields` names `a` twice"),
]  # fmt: skip
UNTOLD = [
    Untold("misspelt", WORDS, {"fields": ("a", "bb")}, "struct words has no field `bb` (did you mean `b`?)"),
    Untold("size not known", HIDDEN, {"fields": ("a", "b")}, "the size of `b` is not known"),
]


@table(CASES)
def test_together(case):
    check(Together, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Together, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Together, case)
