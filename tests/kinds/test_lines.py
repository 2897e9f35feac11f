"""`lines`, as one table."""

from __future__ import annotations

from layoutlint.judgement.context import Access
from layoutlint.kinds.lines import Lines
from tests.harness.build import member, struct
from tests.kinds.cases import (  # fmt: skip
    AT_RISK,
    BROKEN,
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
from tests.kinds.structs import EMPTY, LINES, TAIL, UNION, WORDS  # fmt: skip

SIDES = (
    Access("a", "read-mostly", side="tx"), Access("c", "hot-write", side="tx"), Access("a", "hot-write", side="rx"),
    Access("b", "cold", side="rx"), Access("b", ""), Access("gone", "hot-read", side="rx", is_optional=True),
)  # fmt: skip
CASES = [
    Case("one line", LINES, {"fields": ("a", "b"), "max": 1}, KEPT, (), "`a` at 0..7, `b` at 8..15 touch 1 line in its only placement"),
    Case("two lines", LINES, {"fields": ("a", "b", "c"), "max": 1}, BROKEN, ONCE,
         "`a` at 0..7, `b` at 8..15, `c` at 64..71 touch 2 lines in its only placement, 1 allowed",
         advice="bring their 24 bytes within 64, starting at a multiple of 64"),
    Case("some placements", WORDS, {"fields": ("*",), "max": 1}, AT_RISK, (40, 48, 56),
         "`a` at 0..7, `b` at 8..15, `c` at 16..23, `d` at 24..31 touch 2 lines in 3 of 8 placements, 1 allowed",
         advice="align the struct to 64 bytes and bring their 32 bytes onto 1 line, or accept it with `tolerate = 0.375`"),
    Case("as many bytes as lines", struct("s", 64, member("a", 0, 64), align=8), {"fields": ("a",), "max": 1}, AT_RISK,
         tuple(range(8, 64, 8)), "`a` at 0..63 touches 2 lines in 7 of 8 placements, 1 allowed",
         advice="align the struct to 64 bytes and bring their 64 bytes onto 1 line"),
    Case("enough in all", WORDS, {"fields": ("*",), "max": 2}, KEPT, (),
         "`a` at 0..7, `b` at 8..15, `c` at 16..23, `d` at 24..31 touch 1 to 2 lines in all 8 placements"),
    Case("lines between do not count", struct("s", 192, member("a", 0, 8), member("b", 8, 120), member("c", 128, 8), align=64),
         {"fields": ("a", "c"), "max": 2}, KEPT, (), "`a` at 0..7, `c` at 128..135 touch 2 lines in its only placement"),
    Case("union counts once", UNION, {"fields": ("number", "text"), "max": 1}, KEPT, (),
         "`number` at 8..15, `text` at 8..11 touch 1 line in all 8 placements"),
    Case("one that is too large", struct("s", 136, member("a", 0, 136), align=64), {"fields": ("a",), "max": 2}, BROKEN, ONCE,
         "`a` at 0..135 touches 3 lines in its only placement, 2 allowed",
         advice="they have 136 bytes, and 2 lines hold 128: shrink or split them"),
    Case("as few as hold their bytes", WORDS, {"fields": ("a", "c")}, AT_RISK, (48, 56),
         "`a` at 0..7, `c` at 16..23 touch 2 lines in 2 of 8 placements, 1 would hold their 16 bytes",
         advice="align the struct to 64 bytes and bring their 16 bytes onto 1 line, or accept it with `tolerate = 0.25`"),
    Case("as few lines as hold more than one", struct("s", 96, member("a", 0, 48), member("b", 48, 48), align=32), {"fields": ("a", "b")}, KEPT, (),
         "`a` at 0..47, `b` at 48..95 touch 2 lines in all 2 placements, as few as hold their 96 bytes"),
    Case("of a side", LINES, {"side": "tx"}, BROKEN, ONCE, "the 2 fields of side `tx` touch 2 lines in its only placement, 1 would hold their 16 bytes", SIDES),
    Case("of the other", LINES, {"side": "rx"}, KEPT, (), "the 1 field of side `rx` touches 1 line in its only placement, as few as hold their 8 bytes", SIDES),
    Case("of any", LINES, {"side": "any", "max": 1}, BROKEN, ONCE, "the 3 fields of any side touch 2 lines in its only placement, 1 allowed",
         (*SIDES, Access("b", "hot-read"))),
    Case("empty", EMPTY, {"fields": ("lock",), "max": 1}, KEPT, (), "`lock` at 8, empty touches 0 lines in all 8 placements"),
]  # fmt: skip
REFUSALS = [
    Refusal("none", {"fields": (), "max": 1}, "`fields` needs at least one field"),
    Refusal("fields and a side", {"fields": ("a",), "side": "tx"}, "`fields` and `side` both choose fields: give one of them"),
    Refusal("no lines", {"fields": ("a",), "max": 0}, "`max` is 0, and must be at least 1"),
]
UNTOLD = [
    Untold("no side", LINES, {"side": "xdp"}, "no access of side `xdp` is declared for a field of struct lines", SIDES),
    Untold("no access", LINES, {"side": "any"}, "no access of any side is declared for a field of struct lines", (Access("a", "cold"),)),
    Untold("a declared field that is not there", LINES, {"side": "tx"}, "struct lines has no field `d` (it has `a`, `b`, `c`)", (Access("d", "hot-read", side="tx"),)),
    Untold("flexible array", TAIL, {"fields": ("body",), "max": 1},
           "the size of `body` at 16 and beyond is unknown: it is a flexible array"),
]  # fmt: skip


@table(CASES)
def test_lines(case):
    check(Lines, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Lines, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Lines, case)
