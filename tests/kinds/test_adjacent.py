"""`adjacent`, as one table."""

from __future__ import annotations

from layoutlint.kinds.adjacent import Adjacent
from layoutlint.model.record import replace
from tests.harness.build import bits, member, struct
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
from tests.kinds.structs import (  # fmt: skip
    BITS,
    EMPTY,
    GROUPED,
    HIDDEN,
    NESTED,
    OPEN_UNION,
    RING,
    TAIL,
    UNION,
    WORDS,
    marker,
)

PADDED = struct("padded", 24, member("a", 0, 4, align=4), member("b", 8, 8, align=8), member("c", 16, 1))
WIDE = struct("wide", 32, member("a", 0, 4, align=4), member("b", 16, 8, align=8), member("c", 24, 4, align=4))

CASES = [
    Case("a pattern that means one", WORDS, {"fields": ("a*",)}, KEPT, (), "`a` at 0..7 is the only field"),
    Case("side by side", WORDS, {"fields": ("a", "b")}, KEPT, (),
         "`a` at 0..7, `b` at 8..15 are side by side, at most 0 bytes apart"),
    Case("in any order", WORDS, {"fields": ("c", "a", "b")}, KEPT, (),
         "`a` at 0..7, `b` at 8..15, `c` at 16..23 are side by side, at most 0 bytes apart"),
    Case("one between", WORDS, {"fields": ("a", "c")}, BROKEN, (),
         "`b` at 8..15 lies between `a` at 0..7 and `c` at 16..23",
         advice="put `a`, `c` side by side, and move the members between them behind them"),
    Case("two between", WORDS, {"fields": ("a", "d")}, BROKEN, (),
         "`b` at 8..15, `c` at 16..23 lie between `a` at 0..7 and `d` at 24..31"),
    Case("one between, whatever the gap", WORDS, {"fields": ("a", "c"), "max_gap": 64}, BROKEN, (),
         "`b` at 8..15 lies between `a` at 0..7 and `c` at 16..23"),
    Case("padding of the next", PADDED, {"fields": ("a", "b")}, KEPT, (),
         "`a` at 0..3, `b` at 8..15 are side by side, at most 4 bytes apart"),
    Case("padding not allowed", PADDED, {"fields": ("a", "b"), "max_gap": 0}, BROKEN, (),
         "4 bytes lie between `a` at 0..3 and `b` at 8..15, 0 allowed"),
    Case("more than alignment asks for", WIDE, {"fields": ("a", "b")}, BROKEN, (),
         "12 bytes lie between `a` at 0..3 and `b` at 16..23, 4 allowed"),
    Case("more than any alignment asks for", struct("open", 40, member("a", 0, 4), member("b", 32, 8, align=8, possible=24)),
         {"fields": ("a", "b")}, BROKEN, (), "28 bytes lie between `a` at 0..3 and `b` at 32..39, 4 allowed"),
    Case("a gap that is allowed", WIDE, {"fields": ("a", "b"), "max_gap": 12}, KEPT, (),
         "`a` at 0..3, `b` at 16..23 are side by side, at most 12 bytes apart"),
    Case("bits of another between", BITS, {"fields": ("ready", "count")}, BROKEN, (),
         "`mode` at bits 1..6 lies between `ready` at bits 0..0 and `count` at bits 7..16"),
    Case("bit-fields", BITS, {"fields": ("ready", "mode")}, KEPT, (),
         "`ready` at bits 0..0, `mode` at bits 1..6 are side by side, at most 0 bytes apart"),
    Case("union members overlap", UNION, {"fields": ("number", "text", "last"), "max_gap": 0}, KEPT, (),
         "`text` at 8..11, `number` at 8..15, `last` at 16..23 are side by side, at most 0 bytes apart"),
    Case("parts of different fields", NESTED, {"fields": ("a", "lock.owner")}, BROKEN, (),
         "`lock.count` at 8..15 lies between `a` at 0..7 and `lock.owner` at 16..23"),
    Case("behind a whole and its part", NESTED, {"fields": ("lock", "lock.owner", "z"), "max_gap": 0}, KEPT, (),
         "`lock` at 8..47, `lock.owner` at 16..23, `z` at 48..55 are side by side, at most 0 bytes apart"),
    Case("across an empty field", EMPTY, {"fields": ("a", "b")}, KEPT, (),
         "`a` at 0..7, `b` at 8..15 are side by side, at most 0 bytes apart"),
    Case("across a marker in padding", struct("s", 16, member("a", 0, 1), marker("m", 4), member("b", 8, 8, align=8)),
         {"fields": ("a", "b")}, KEPT, (), "`a` at 0..0, `b` at 8..15 are side by side, at most 7 bytes apart"),
    Case("across a marker", GROUPED, {"fields": ("a", "b")}, KEPT, (),
         "`a` at 0..63, `b` at 64..71 are side by side, at most 0 bytes apart"),
    Case("padding behind bits", struct("s", 16, bits("ready", 0, 1), member("b", 8, 8, align=8)), {"fields": ("ready", "b")}, KEPT, (),
         "`ready` at bits 0..0, `b` at 8..15 are side by side, at most 7 bytes apart"),
    Case("elements", RING, {"fields": ("slot[1]", "slot[2]")}, KEPT, (),
         "`slot[1]` at 40..71, `slot[2]` at 72..103 are side by side, at most 0 bytes apart"),
    Case("elements with one between", RING, {"fields": ("slot[0]", "slot[2]")}, BROKEN, (),
         "`slot[1]` at 40..71 lies between `slot[0]` at 8..39 and `slot[2]` at 72..103"),
    Case("flexible array last", TAIL, {"fields": ("kind", "body")}, KEPT, (),
         "`kind` at 8..11, `body` at 16 and beyond are side by side, at most 4 bytes apart"),
]  # fmt: skip
REFUSALS = [
    Refusal("one", {"fields": ("a",)}, "`fields` needs at least two fields to be adjacent"),
    Refusal("twice", {"fields": ("a", "a")}, "`fields` names `a` twice"),
    Refusal("negative gap", {"fields": ("a", "b"), "max_gap": -1}, "`max_gap` is -1, and must be at least 0"),
]
UNTOLD = [
    Untold("size of one between not known", HIDDEN, {"fields": ("a", "b")}, "the size of `b` is not known"),
    Untold("alignment not known", struct("bare", 16, member("a", 0, 4), member("b", 8, 8, align=None)),
           {"fields": ("a", "b")}, "the alignment of `b` at 8..15 is unknown: state `max_gap`"),
    Untold("only a larger one explains the gap", struct("open", 24, member("a", 0, 4), member("b", 16, 8, align=8, possible=24)),
           {"fields": ("a", "b")}, "the alignment of `b` at 16..23 is unknown: state `max_gap`"),
    Untold("flexible array first", OPEN_UNION,
           {"fields": ("x", "y")}, "the end of `x` at 4 and beyond is unknown"),
    Untold("flexible array between", replace(OPEN_UNION, fields=(member("w", 2, 2), *OPEN_UNION.fields)),
           {"fields": ("w", "x", "y")}, "the end of `x` at 4 and beyond is unknown"),
]  # fmt: skip


@table(CASES)
def test_adjacent(case):
    check(Adjacent, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Adjacent, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Adjacent, case)
