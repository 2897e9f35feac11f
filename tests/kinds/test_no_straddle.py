"""`no-straddle`, as one table."""

from __future__ import annotations

from layoutlint.geometry import placement
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import Context
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds.no_straddle import NoStraddle
from tests.harness.build import bits, member, struct
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
from tests.kinds.structs import EMPTY, HIDDEN, LINES, NESTED, TAIL, WORDS, array  # fmt: skip

HUGE = struct("huge", 80, member("a", 0, 8), member("big", 8, 72))
PACKED = struct("packed", 16, member("a", 0, 4), member("b", 4, 8), member("c", 12, 4), align=4)
ROW = struct("row", 96, array("words", 0, 12, 8))
SIXES = struct("sixes", 30, array("words", 0, 5, 6), align=2)
RING_OF_WORDS = struct("ring", 36, array("words", 4, 4, 8), align=4)

CASES = [
    Case("a word stays whole", WORDS, {"fields": ("a", "b")}, KEPT, (),
         "`a` at 0..7, `b` at 8..15 each stay on one line in all 8 placements"),
    Case("two words do not", NESTED, {"fields": ("lock",)}, AT_RISK, (24, 32, 40, 48),
         "`lock` at 8..47 straddles 2 lines in 4 of 8 placements",
         advice="align the struct to 64 bytes, so that no base cuts the bytes 8..47"),
    Case("larger than a line", HUGE, {"fields": ("big",)}, BROKEN, EVERY8,
         "`big` at 8..79 straddles 2 lines in all 8 placements",
         advice="72 bytes do not fit on a line of 64: bring them within 64 bytes"),
    Case("misaligned in a packed struct", PACKED, {"fields": ("b", "c")}, AT_RISK, (56,),
         "`b` at 4..11 straddles 2 lines in 1 of 8 placements",
         advice="align the struct to 16 bytes, so that no base cuts the bytes 4..11, or accept it with `tolerate = 0.125`"),
    Case("one that cannot stay where it is", struct("s", 128, member("x", 60, 8), align=64), {"fields": ("x",)},
         BROKEN, ONCE, "`x` at 60..67 straddles 2 lines in its only placement",
         advice="align the struct to 8 bytes and start the 8 bytes at a multiple of 8, not at 60"),
    Case("each for itself", LINES, {"fields": ("a", "c")}, KEPT, (),
         "`a` at 0..7, `c` at 64..71 each stay on one line in its only placement"),
    Case("bit-field over a byte", struct("s", 66, bits("x", 508, 8), align=64), {"fields": ("x",)}, BROKEN, ONCE,
         "`x` at bits 508..515 straddles 2 lines in its only placement"),
    Case("empty", EMPTY, {"fields": ("lock",)}, KEPT, (), "`lock` at 8, empty stays on one line in all 8 placements"),
    Case("elements of an array by their type", RING_OF_WORDS, {"fields": ("@type:long int",)}, AT_RISK, (32, 40, 48, 56),
         "an element of 8 bytes of `words` at 4..35 straddles 2 lines in 4 of 8 placements"),
    Case("the same array as a whole", RING_OF_WORDS, {"fields": ("words",)}, AT_RISK, (32, 40, 48, 56),
         "`words` at 4..35 straddles 2 lines in 4 of 8 placements"),
    Case("by name and by type", RING_OF_WORDS, {"fields": ("words", "@type:long int")}, AT_RISK, (32, 40, 48, 56),
         "`words` at 4..35 straddles 2 lines in 4 of 8 placements"),
    Case("an array longer than a line, of elements that are not", ROW, {"fields": ("@type:long int",)}, KEPT, (),
         "`words` at 0..95, of arrays each element, each stay on one line in all 8 placements"),
    Case("elements that are cut, at other bases than the first", SIXES, {"fields": ("@type:long int",)}, AT_RISK, (48, 56),
         "an element of 6 bytes of `words` at 0..29 straddles 2 lines in 2 of 8 placements"),
    Case("elements that stand well", WORDS, {"fields": ("@type:long*",)}, KEPT, (),
         "`a` at 0..7, `b` at 8..15, `c` at 16..23, `d` at 24..31 each stay on one line in all 8 placements"),
    Case("pattern over parts", NESTED, {"fields": ("lock.*",)}, AT_RISK, (24, 32),
         "`lock.waiters` at 24..47 straddles 2 lines in 2 of 8 placements"),
]  # fmt: skip
REFUSALS = [
    Refusal("none", {"fields": ()}, "`fields` needs at least one field"),
    Refusal("twice", {"fields": ("a", "a")}, "`fields` names `a` twice"),
]
UNTOLD = [
    Untold("flexible array", TAIL, {"fields": ("kind", "body")},
           "the size of `body` at 16 and beyond is unknown: it is a flexible array"),
    Untold("no such type", WORDS, {"fields": ("@type:atomic_t", "@type:spin*")},
           "no field of struct words has a type like `atomic_t`, `spin*`"),
    Untold("size not known", HIDDEN, {"fields": ("b",)}, "the size of `b` is not known"),
]  # fmt: skip


@table(CASES)
def test_no_straddle(case):
    check(NoStraddle, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(NoStraddle, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(NoStraddle, case)


def test_a_field_of_every_element_of_an_array():
    inner = (member("head", 0, 8), member("range", 8, 16))
    held = struct("table", 24 * 5, member("slot", 0, 24 * 5, *inner, dims=(5,)), align=64)
    layout = Layout(held)
    # 8..23, 32..47, 56..71, 80..95, 104..119
    for path, outcome in (("slot.range", Outcome.BROKEN), ("slot.head", Outcome.KEPT), ("slot[2].range", Outcome.BROKEN), ("slot[0].range", Outcome.KEPT)):
        assert NoStraddle((path,)).check(Context(layout, placement.placements(layout, 64))).outcome is outcome
