"""`holes`, as one table, and against the warnings of compilers."""

from __future__ import annotations

from layoutlint.kinds.holes import Holes
from layoutlint.model.record import replace
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
from tests.kinds.structs import BITS, HIDDEN, TAIL, UNION, WORDS, array  # fmt: skip

ONE = struct("one", 24, member("a", 0, 4), member("b", 8, 8), member("c", 16, 4))
STATED = replace(BITS, fields=tuple(replace(each, unnamed_bits=()) for each in BITS.fields))
DECLARED = replace(BITS, fields=tuple(replace(each, unnamed_bits=((10, 15),) if each.name == "count" else ()) for each in BITS.fields))
INNER_HIDDEN = struct("outer", 24, member("in", 0, 24, *HIDDEN.fields))
ALL = ("holes", "tail", "nested", "bits")
INNER = member("in", 8, 12, member("c", 0, 1), member("x", 4, 4), member("s", 8, 2))
NESTED = struct("outer", 24, member("a", 0, 8), INNER)
DEEP = struct("deep", 80, member("a", 0, 8), array("row", 8, 6, 12, *INNER.members))
CHOICE = struct("choice", 16, member("a", 0, 8), member(
    None, 8, 8, member(None, 0, 8, member("c", 0, 1), member("x", 4, 2)), member("l", 0, 8), aggregate="union",
))
PAIR = (member("c", 0, 1), member("x", 4, 4))
TWINS = struct("twins", 16, member("a", 0, 8), member(None, 8, 8, member(None, 0, 8, *PAIR), member("xy", 0, 8, *PAIR), aggregate="union"))
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
    Case("beside bits, whole bytes only", BITS, {}, BROKEN, (), "1 byte are in 1 hole, 0 allowed: 3..3 before `id`"),
    Case("before a flexible array", TAIL, {}, BROKEN, (), "4 bytes are in 1 hole, 0 allowed: 12..15 before `body`"),
    Case("union", UNION, {}, KEPT, (), "0 bytes are in 0 holes"),
    Case("inside a nested field is its own", struct("s", 32, member("n", 0, 24, member("a", 0, 4), member("b", 16, 8)), member("z", 24, 8)),
         {}, KEPT, (), "0 bytes are in 0 holes"),
    Case("inside an anonymous one is ours", struct("s", 32, member(None, 0, 24, member("a", 0, 8), member("b", 16, 8)), member("z", 24, 8)),
         {}, BROKEN, (), "8 bytes are in 1 hole, 0 allowed: 8..15 before `b`"),
    Case("tail", ONE, {"count": ("tail",)}, BROKEN, (), "4 bytes are in 1 gap, 0 allowed: 20..23 at the end",
         advice="move or narrow fields so that 4 of these bytes are used, or declare reserved members there"),
    Case("no tail", WORDS, {"count": ALL}, KEPT, (), "0 bytes are in 0 gaps"),
    Case("nested", NESTED, {"count": ("nested",)}, BROKEN, (),
         "5 bytes are in 2 gaps, 0 allowed: 9..11 before `in.x`, 18..19 at the end of `in`",
         advice="move or narrow fields so that 5 of these bytes are used, or declare reserved members there"),
    Case("nested, not its own", NESTED, {"count": ("holes",)}, KEPT, (), "0 bytes are in 0 holes"),
    Case("nested and its own", NESTED, {"count": ("nested", "tail"), "max": 8}, BROKEN, (),
         "9 bytes are in 3 gaps, 8 allowed: 20..23 at the end, 9..11 before `in.x`, 18..19 at the end of `in`",
         advice="move or narrow fields so that 1 of these bytes are used, or declare reserved members there"),
    Case("in each element", DEEP, {"count": ("nested",)}, BROKEN, (),
         "30 bytes are in 2 gaps, 0 allowed: 9..11 before `row[0].x`, in each of 6 elements, "
         "18..19 at the end of `row[0]`, in each of 6 elements",
         advice="move or narrow fields so that 30 of these bytes are used, or declare reserved members there"),
    Case("what another member of a union covers", CHOICE, {"count": ("nested",)}, BROKEN, (),
         "5 bytes are in 2 gaps, 0 allowed: 9..11 before `x`, 14..15 behind `x`",
         advice="move or narrow fields so that 5 of these bytes are used, or declare reserved members there"),
    Case("what two members of a union share", TWINS, {"count": ("nested",)}, BROKEN, (),
         "3 bytes are in 1 gap, 0 allowed: 9..11 before `x`",
         advice="move or narrow fields so that 3 of these bytes are used, or declare reserved members there"),
    Case("the union itself has none", CHOICE, {"count": ("holes", "tail")}, KEPT, (), "0 bytes are in 0 gaps"),
    Case("bits", STATED, {"count": ("bits", "tail")}, BROKEN, (), "7 bits are in 1 gap, 0 allowed: 7 bits at 2:1 before `id`",
         advice="move or narrow fields so that 7 of the bits are used, or declare reserved members there"),
    Case("bits and bytes", STATED, {"count": ALL, "max": 1}, BROKEN, (),
         "1 byte and 7 bits are in 2 gaps, 1 allowed: 7 bits at 2:1 before `id`, 3..3 before `id`",
         advice="move or narrow fields so that 7 of the bits are used, or declare reserved members there"),
    Case("an unnamed bit-field", DECLARED, {"count": ALL}, KEPT, (), "0 bytes are in 0 gaps"),
    Case("an unnamed bit-field counts without bits", DECLARED, {}, BROKEN, (), "1 byte are in 1 hole, 0 allowed: 3..3 before `id`",
         advice="move or narrow fields so that 1 of these bytes are used"),
    Case("few bits that nobody states", BITS, {"count": ALL, "max": 2}, KEPT, (), "1 byte and 7 bits are in 2 gaps"),
]  # fmt: skip
REFUSALS = [
    Refusal("negative", {"max": -1}, "`max` is -1, and must be at least 0"),
    Refusal("nothing", {"count": ()}, "`count` needs at least one of `holes`, `tail`, `nested`, `bits`"),
    Refusal("another word", {"count": ("holes", "tails")}, "`count` cannot have `tails` (did you mean `tail`?)"),
    Refusal("a word twice", {"count": ("bits", "bits")}, "`count` names `bits` twice"),
]
UNTOLD = [
    Untold("size not known", HIDDEN, {}, "the size of `b` is not known"),
    Untold("size of an inner one not known", INNER_HIDDEN, {"count": ("nested",)}, "the size of `in.b` is not known"),
    Untold("unnamed bit-fields not stated", BITS, {"count": ALL},
           "the input does not state unnamed bit-fields, and one may be declared at 7 bits at 2:1 before `id`, "
           "3..3 before `id`; check the C source"),
]  # fmt: skip


@table(CASES)
def test_holes(case):
    check(Holes, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Holes, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Holes, case)
