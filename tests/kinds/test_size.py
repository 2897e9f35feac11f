"""`size`, as one table."""

from __future__ import annotations

from layoutlint.kinds.size import Size
from tests.harness.build import flexible, member, struct
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
from tests.kinds.structs import LINES, NESTED, TAIL, WORDS  # fmt: skip

LINE = struct("line", 64, member("a", 0, 64), align=8)
LINE_ALIGNED = struct("line", 64, member("a", 0, 64), align=64)
DEEP = struct("deep", 24, member("n", 0, 8), member("message", 8, 16, member("length", 0, 8), flexible("body", 16)))

CASES = [
    Case("within", WORDS, {"max": 32}, KEPT, (), "struct words has 32 bytes"),
    Case("too large", WORDS, {"max": 24}, BROKEN, (), "struct words has 32 bytes, 8 more than 24",
         advice="take away at least 8 bytes"),
    Case("exact", WORDS, {"exact": 32}, KEPT, (), "struct words has 32 bytes"),
    Case("larger than exact", WORDS, {"exact": 31}, BROKEN, (), "struct words has 32 bytes, 1 more than 31",
         advice="take away at least 1 byte"),
    Case("one byte short", WORDS, {"exact": 33}, BROKEN, (), "struct words has 32 bytes, 1 less than 33", advice="add 1 byte"),
    Case("smaller than exact", WORDS, {"exact": 40}, BROKEN, (), "struct words has 32 bytes, 8 less than 40",
         advice="add 8 bytes"),
    Case("multiple", LINES, {"multiple_of": 64}, KEPT, (), "struct lines has 128 bytes"),
    Case("no multiple", NESTED, {"multiple_of": 64}, BROKEN, (), "struct guarded has 56 bytes, 56 more than a multiple of 64",
         advice="take away 56 bytes, or add 8"),
    Case("a multiple on too many lines", WORDS, {"multiple_of": 8, "max_lines": 1}, AT_RISK, (40, 48, 56),
         "struct words has 32 bytes on 1 to 2 lines, more than 1 in 3 of 8 placements", advice="align the struct to 64 bytes: it then touches 1 line"),
    Case("two faults", WORDS, {"max": 24, "multiple_of": 64}, BROKEN, (),
         "struct words has 32 bytes, 8 more than 24, 32 more than a multiple of 64"),
    Case("a line in one placement", LINE, {"max_lines": 1}, AT_RISK, EVERY8[1:],
         "struct line has 64 bytes on 1 to 2 lines, more than 1 in 7 of 8 placements",
         advice="align the struct to 64 bytes: it then touches 1 line"),
    Case("a line in all", LINE_ALIGNED, {"max_lines": 1}, KEPT, (), "struct line has 64 bytes on 1 line"),
    Case("too large for the lines", LINES, {"max_lines": 1}, BROKEN, ONCE,
         "struct lines has 128 bytes on 2 lines, more than 1 in its only placement",
         advice="take away at least 64 bytes, to get to 64"),
    Case("bytes broken, lines kept", WORDS, {"max": 24, "max_lines": 2}, BROKEN, EVERY8,
         "struct words has 32 bytes, 8 more than 24 on 1 to 2 lines"),
    Case("too large without the flexible array, too", TAIL, {"max": 8, "max_lines": 2}, BROKEN, EVERY8,
         "struct message has 16 bytes, 8 more than 8, without the flexible array `body` on 1 to 2 lines"),
    Case("sizeof without the flexible array", TAIL, {"max": 16}, KEPT, (),
         "struct message has 16 bytes, without the flexible array `body`"),
    Case("sizeof without a nested flexible array", DEEP, {"max": 16}, BROKEN, (),
         "struct deep has 24 bytes, 8 more than 16, without the flexible array `message.body`"),
]  # fmt: skip
REFUSALS = [
    Refusal("nothing", {}, "needs `max`, `exact`, `multiple_of` or `max_lines`"),
    Refusal("zero lines", {"max_lines": 0}, "`max_lines` is 0, and must be at least 1"),
    Refusal("multiple of zero", {"multiple_of": 0}, "`multiple_of` is 0, and must be at least 1"),
    Refusal("negative", {"max": -1}, "`max` is -1, and must be at least 0"),
    Refusal("exact above max", {"exact": 64, "max": 32}, "`exact` contradicts another key: 64 bytes are 32 more than 32"),
    Refusal("exact no multiple", {"exact": 65, "multiple_of": 64},
            "`exact` contradicts another key: 65 bytes are 1 more than a multiple of 64"),
]  # fmt: skip
UNTOLD = [
    Untold("lines with a flexible array", TAIL, {"max_lines": 1},
           "the end of an object is unknown: `body` is a flexible array"),
]  # fmt: skip


@table(CASES)
def test_size(case):
    check(Size, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Size, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Size, case)
