"""`holes`, as one table."""

from __future__ import annotations

from layoutlint.kinds.holes import Holes
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
from tests.kinds.structs import BITS, HIDDEN, TAIL, UNION, WORDS  # fmt: skip

ONE = struct("one", 24, member("a", 0, 4), member("b", 8, 8), member("c", 16, 4))
MANY = struct("many", 64, *(member(f"f{at}", at * 8, 4) for at in range(8)))

CASES = [
    Case("none", WORDS, {}, KEPT, (), "0 bytes are in 0 holes"),
    Case("one", ONE, {}, BROKEN, (), "4 bytes are in 1 hole, 0 allowed: 4..7 before `b`",
         advice="move or narrow fields so that 4 of these bytes are used"),
    Case("allowed", ONE, {"max": 4}, KEPT, (), "4 bytes are in 1 hole"),
    Case("padding behind is none", struct("s", 16, member("a", 0, 8), member("b", 8, 1)), {}, KEPT, (), "0 bytes are in 0 holes"),
    Case("many", MANY, {"max": 20}, BROKEN, (),
         "28 bytes are in 7 holes, 20 allowed: 4..7 before `f1`, 12..15 before `f2`, 20..23 before `f3`, "
         "28..31 before `f4`, 36..39 before `f5`, 44..47 before `f6` and 1 more",
         advice="move or narrow fields so that 8 of these bytes are used"),
    Case("six", struct("six", 56, *(member(f"f{at}", at * 8, 4) for at in range(7))), {"max": 23}, BROKEN, (),
         "24 bytes are in 6 holes, 23 allowed: 4..7 before `f1`, 12..15 before `f2`, 20..23 before `f3`, "
         "28..31 before `f4`, 36..39 before `f5`, 44..47 before `f6`", advice="move or narrow fields so that 1 of these bytes are used"),
    Case("beside bits, whole bytes only", BITS, {}, BROKEN, (), "1 bytes are in 1 hole, 0 allowed: 3..3 before `id`"),
    Case("before a flexible array", TAIL, {}, BROKEN, (), "4 bytes are in 1 hole, 0 allowed: 12..15 before `body`"),
    Case("union", UNION, {}, KEPT, (), "0 bytes are in 0 holes"),
    Case("inside a nested field is its own", struct("s", 32, member("n", 0, 24, member("a", 0, 4), member("b", 16, 8)), member("z", 24, 8)),
         {}, KEPT, (), "0 bytes are in 0 holes"),
    Case("inside an anonymous one is ours", struct("s", 32, member(None, 0, 24, member("a", 0, 8), member("b", 16, 8)), member("z", 24, 8)),
         {}, BROKEN, (), "8 bytes are in 1 hole, 0 allowed: 8..15 before `b`"),
]  # fmt: skip
REFUSALS = [Refusal("negative", {"max": -1}, "`max` is -1, and must be at least 0")]
UNTOLD = [Untold("size not known", HIDDEN, {}, "the size of `b` is not known")]


@table(CASES)
def test_holes(case):
    check(Holes, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Holes, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Holes, case)
