"""`order`, as one table."""

from __future__ import annotations

from layoutlint.kinds.order import Order
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
from tests.kinds.structs import BITS, EMPTY, NESTED, OPEN_UNION, TAIL, UNION, WORDS  # fmt: skip

CASES = [
    Case("behind a flexible array", TAIL, {"fields": ("body", "kind")}, BROKEN, (), "`body` at 16 and beyond is not before `kind` at 8..11"),
    Case("in order", WORDS, {"fields": ("a", "c", "d")}, KEPT, (),
         "`a` at 0..7, `c` at 16..23, `d` at 24..31 are in this order"),
    Case("not in order", WORDS, {"fields": ("a", "d", "c")}, BROKEN, (),
         "`d` at 24..31 is not before `c` at 16..23", advice="declare `d` before `c`"),
    Case("overlapping", UNION, {"fields": ("text", "number")}, BROKEN, (),
         "`text` at 8..11 is not before `number` at 8..15"),
    Case("bits of one byte", BITS, {"fields": ("ready", "mode", "count", "id")}, KEPT, (),
         "`ready` at bits 0..0, `mode` at bits 1..6, `count` at bits 7..16, `id` at 4..7 are in this order"),
    Case("bits turned round", BITS, {"fields": ("mode", "ready")}, BROKEN, (),
         "`mode` at bits 1..6 is not before `ready` at bits 0..0"),
    Case("a part and its whole", NESTED, {"fields": ("lock", "lock.owner")}, BROKEN, (),
         "`lock` at 8..47 is not before `lock.owner` at 16..23"),
    Case("before all the others", WORDS, {"fields": ("a", "*")}, KEPT, (),
         "`a` at 0..7, `b` at 8..15, `c` at 16..23, `d` at 24..31 are in this order"),
    Case("not behind all the others", WORDS, {"fields": ("*", "c")}, BROKEN, (),
         "`d` at 24..31 is not before `c` at 16..23"),
    Case("empty", EMPTY, {"fields": ("a", "lock", "b")}, KEPT, (),
         "`a` at 0..7, `lock` at 8, empty, `b` at 8..15 are in this order"),
    Case("flexible array last", TAIL, {"fields": ("kind", "body")}, KEPT, (),
         "`kind` at 8..11, `body` at 16 and beyond are in this order"),
    Case("flexible array not last", TAIL, {"fields": ("body", "kind")}, BROKEN, (),
         "`body` at 16 and beyond is not before `kind` at 8..11"),
]  # fmt: skip
REFUSALS = [
    Refusal("one", {"fields": ("a",)}, "`fields` needs at least two fields to be in order"),
    Refusal("one pattern", {"fields": ("*",)},
            "`fields` is one pattern, which states no order: name the fields"),
    Refusal("twice", {"fields": ("a", "b", "a")}, "`fields` names `a` twice"),
]  # fmt: skip
UNTOLD = [
    Untold("flexible array first", OPEN_UNION,
           {"fields": ("x", "y")}, "the end of `x` at 4 and beyond is unknown"),
]  # fmt: skip


@table(CASES)
def test_order(case):
    check(Order, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Order, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Order, case)
