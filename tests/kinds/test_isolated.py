"""`isolated`, as one table."""

from __future__ import annotations

from layoutlint.kinds.isolated import Isolated
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
from tests.kinds.structs import EMPTY, GROUPED, HIDDEN, LINES, NESTED, RING, TAIL, UNION, WORDS  # fmt: skip

ALONE = struct("alone", 128, member("a", 0, 8), member("b", 64, 8), align=64)
SHORT = struct("short", 72, member("a", 0, 64), member("b", 64, 8))
LAST = struct("last", 24, member("a", 0, 8), member("b", 8, 8), member("c", 16, 8), align=8)

CASES = [
    Case("own line", ALONE, {"fields": ("a",)}, KEPT, (), "`a` at 0..7 shares no line with another field in any placement"),
    Case("own line, nobody outside", ALONE, {"fields": ("b",), "neighbours": True}, KEPT, (),
         "`b` at 64..71 shares no line with another field in any placement"),
    Case("shared", LINES, {"fields": ("a",)}, BROKEN, ONCE,
         "`a` at 0..7 shares a line with `b` at 8..15 in its only placement",
         advice="move `b` at least 56 bytes further from `a`, or start it on a line of its own (`____cacheline_aligned_in_smp`)"),
    Case("shared within the group", LINES, {"fields": ("a", "b")}, KEPT, (),
         "`a` at 0..7, `b` at 8..15 share no line with another field in any placement"),
    Case("shared with one that may", LINES, {"fields": ("a",), "except_": ("b",)}, KEPT, (),
         "`a` at 0..7 shares no line with another field in any placement"),
    Case("except by pattern", LAST, {"fields": ("a",), "except_": ("[bc]",)}, KEPT, (),
         "`a` at 0..7 shares no line with another field in any placement; "
         "bytes outside of the object are on a line of theirs in all 8 placements"),
    Case("neighbours forbidden", LAST, {"fields": ("*",), "neighbours": True}, BROKEN, EVERY8,
         "bytes outside of the object are on a line of theirs in all 8 placements",
         advice="align the struct to 64 bytes, so that it begins and ends with a line"),
    Case("own fields and neighbours", SHORT, {"fields": ("b",), "neighbours": True}, BROKEN, EVERY8,
         "`b` at 64..71 shares a line with `a` at 0..63 in 7 of 8 placements; "
         "bytes outside of the object are on a line of theirs in 7 of 8 placements"),
    Case("the rest of a nested field", NESTED, {"fields": ("lock.count",), "except_": ("a",)}, AT_RISK, (0, 8, 16, 24, 32, 40, 56),
         "`lock.count` at 8..15 shares a line with `lock.owner` at 16..23 in 7 of 8 placements; "
         "`lock.count` at 8..15 shares a line with `lock.waiters` at 24..47 in 6 of 8 placements; "
         "`lock.count` at 8..15 shares a line with `z` at 48..55 in 3 of 8 placements; "
         "bytes outside of the object are on a line of theirs in all 8 placements"),
    Case("an element", RING, {"fields": ("slot[1]",), "except_": ("size", "slot[0]")}, AT_RISK,
         (0, 8, 16, 24, 32, 40, 48), "`slot[1]` at 40..71 shares a line with `slot[2..3]` at 72..135 in 7 of 8 placements; "
         "bytes outside of the object are on a line of theirs in 2 of 8 placements"),
    Case("union member", UNION, {"fields": ("text",), "except_": ("tag", "last")}, BROKEN, EVERY8,
         "`text` at 8..11 shares a line with `number` at 8..15 in all 8 placements; "
         "bytes outside of the object are on a line of theirs in all 8 placements"),
    Case("marker is nobody", GROUPED, {"fields": ("a",)}, KEPT, (),
         "`a` at 0..63 shares no line with another field in any placement"),
    Case("flexible array is somebody", TAIL, {"fields": ("length",), "except_": ("kind",)}, AT_RISK, EVERY8[:6],
         "`length` at 0..7 shares a line with `body` at 16 and beyond in 6 of 8 placements"),
    Case("empty", EMPTY, {"fields": ("lock",)}, KEPT, (),
         "`lock` at 8, empty shares no line with another field in any placement"),
]  # fmt: skip
REFUSALS = [
    Refusal("none", {"fields": ()}, "`fields` needs at least one field"),
    Refusal("both", {"fields": ("a", "b"), "except_": ("b",)}, "`b` is in `fields` and in `except`"),
]
UNTOLD = [
    Untold("where the object ends", TAIL, {"fields": ("length",), "neighbours": True},
           "the end of the object is unknown: `body` is a flexible array"),
    Untold("size of another not known", HIDDEN, {"fields": ("a",)}, "the size of `b` is not known"),
    Untold("misspelt exception", WORDS, {"fields": ("a",), "except_": ("e",)}, "struct words has no field `e` (it has `a`, `b`, `c`, `d`)"),
]  # fmt: skip


@table(CASES)
def test_isolated(case):
    check(Isolated, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Isolated, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Isolated, case)
