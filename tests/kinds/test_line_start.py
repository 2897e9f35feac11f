"""`line-start`, as one table."""

from __future__ import annotations

from layoutlint.kinds.line_start import LineStart
from tests.harness.build import bits, flexible, member, struct
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
from tests.kinds.structs import GROUPED, HIDDEN, LINES, NESTED, WORDS  # fmt: skip

CASES = [
    Case("on a line", LINES, {"fields": ("c",)}, KEPT, (), "`c` at 64..71 begins a line in every placement"),
    Case("two lines", LINES, {"fields": ("a", "c")}, KEPT, (), "`a` at 0..7, `c` at 64..71 begin a line in every placement"),
    Case("inside a line", LINES, {"fields": ("a", "b")}, BROKEN, ONCE,
         "`b` at 8..15 begins inside a line in its only placement",
         advice="move `b` from 8 to 64 and align the struct to 64 bytes (`____cacheline_aligned_in_smp` behind the field does both)"),
    Case("the struct is not aligned", WORDS, {"fields": ("a",)}, AT_RISK, EVERY8[1:],
         "`a` at 0..7 begins inside a line in 7 of 8 placements",
         advice="align the struct to 64 bytes; the offset 0 is a multiple of 64 already"),
    Case("a later line of a struct that is not aligned", struct("s", 72, member("n", 0, 8), member("x", 64, 8), align=8),
         {"fields": ("x",)}, AT_RISK, EVERY8[1:], "`x` at 64..71 begins inside a line in 7 of 8 placements",
         advice="align the struct to 64 bytes; the offset 64 is a multiple of 64 already"),
    Case("never both", WORDS, {"fields": ("a", "b")}, BROKEN, EVERY8,
         "`a` at 0..7 begins inside a line in 7 of 8 placements; `b` at 8..15 begins inside a line in 7 of 8 placements"),
    Case("many", struct("many", 6, *(member(name, at, 1) for at, name in enumerate("abcdef")), align=64),
         {"fields": ("*",)}, BROKEN, ONCE,
         "`b` at 1..1 begins inside a line in its only placement; `c` at 2..2 begins inside a line in its only placement; "
         "`d` at 3..3 begins inside a line in its only placement; `e` at 4..4 begins inside a line in its only placement; "
         "and 1 more field"),
    Case("first bit", struct("s", 64, bits("x", 0, 3), bits("y", 3, 5), align=64), {"fields": ("x",)}, KEPT, (),
         "`x` at bits 0..2 begins a line in every placement"),
    Case("fourth bit", struct("s", 64, bits("x", 0, 3), bits("y", 3, 5), align=64), {"fields": ("y",)}, BROKEN, ONCE,
         "`y` at bits 3..7 begins inside a line in its only placement"),
    Case("marker", GROUPED, {"fields": ("begin",)}, KEPT, (), "`begin` at 64, empty begins a line in every placement"),
    Case("flexible array", struct("s", 64, member("n", 0, 8), flexible("x", 64), align=64), {"fields": ("x",)}, KEPT, (),
         "`x` at 64 and beyond begins a line in every placement"),
    Case("nested", NESTED, {"fields": ("lock.owner",)}, AT_RISK, (0, 8, 16, 24, 32, 40, 56),
         "`lock.owner` at 16..23 begins inside a line in 7 of 8 placements"),
]  # fmt: skip
REFUSALS = [
    Refusal("none", {"fields": ()}, "`fields` needs at least one field"),
    Refusal("twice", {"fields": ("a", "a")}, "`fields` names `a` twice"),
]
UNTOLD = [Untold("size not known", HIDDEN, {"fields": ("b",)}, "the size of `b` is not known")]


@table(CASES)
def test_line_start(case):
    check(LineStart, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(LineStart, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(LineStart, case)
