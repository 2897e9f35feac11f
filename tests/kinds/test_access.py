"""`access`, as one table: the struct, its declared accesses, and what follows."""

from __future__ import annotations

import pytest

from layoutlint.geometry import placement
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import Access, Context
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds.access import AccessApart
from tests.harness.build import member, struct
from tests.kinds.cases import (
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
from tests.kinds.structs import EMPTY, LINES, NESTED, TAIL, WORDS


def says(**accesses: str) -> tuple[Access, ...]:
    return tuple(Access(path.replace("__", "."), access.replace("_", "-")) for path, access in accesses.items())


def sides(**accesses: str) -> tuple[Access, ...]:
    """`a="tx read-mostly, rx hot-write"`."""
    each = [(path, message.split(" ")) for path, several in accesses.items() for message in several.split(", ")]
    return tuple(Access(path, word, side=side) for path, (side, word) in each)


CASES = [
    Case("reader beside writer", WORDS, {}, AT_RISK, (0, 8, 16, 24, 32, 40, 48),
         "`a` (hot-read) at 0..7 shares a line with `b` (hot-write) at 8..15 in 7 of 8 placements",
         says(a="hot_read", b="hot_write"),
         "move `b` at least 56 bytes further from `a`, or start it on a line of its own (`____cacheline_aligned_in_smp`)"),
    Case("read-mostly beside writer", LINES, {}, BROKEN, ONCE,
         "`b` (read-mostly) at 8..15 shares a line with `a` (hot-write) at 0..7 in its only placement",
         says(a="hot_write", b="read_mostly", c="hot_read")),
    Case("apart", LINES, {}, KEPT, (), "1 read and 2 written fields share no line in any placement",
         says(a="hot_write", b="hot_write", c="hot_read")),
    Case("cold is nobody's business", LINES, {}, KEPT, (),
         "0 read and 1 written fields share no line in any placement",
         says(a="hot_write", b="cold")),
    Case("its writer reads the other, whose other side only reads", LINES, {}, KEPT, (),
         "2 read and 1 written fields share no line in any placement",
         sides(a="tx hot-read", b="tx hot-write, rx hot-read")),
    Case("project's own words", LINES, {"readers": ("polled",), "writers": ("logged",)}, BROKEN, ONCE,
         "`a` (polled) at 0..7 shares a line with `b` (logged) at 8..15 in its only placement",
         says(a="polled", b="logged", c="hot_write")),
    Case("writers apart from one another, each pair once", LINES, {"readers": ("hot-write",)}, BROKEN, ONCE,
         "`a` (hot-write) at 0..7 shares a line with `b` (hot-write) at 8..15 in its only placement",
         says(a="hot_write", b="hot_write", c="hot_write")),
    Case("narrowed", LINES, {"fields": ("a", "c")}, KEPT, (),
         "1 read and 1 written fields share no line in any placement",
         says(a="hot_write", b="read_mostly", c="hot_read")),
    Case("a part is not held against its whole", NESTED, {}, KEPT, (),
         "1 read and 1 written fields share no line in any placement",
         says(lock="hot_read", lock__owner="hot_write")),
    Case("two parts are", NESTED, {}, AT_RISK, (0, 8, 16, 24, 32, 40, 56),
         "`lock.count` (hot-read) at 8..15 shares a line with `lock.owner` (hot-write) at 16..23 in 7 of 8 placements",
         says(lock__count="hot_read", lock__owner="hot_write")),
    Case("a name stands above a pattern", LINES, {}, BROKEN, ONCE,
         "`b` (hot-read) at 8..15 shares a line with `a` (hot-write) at 0..7 in its only placement",
         (Access("a", "hot-write"), Access("*", "hot-read"))),
    Case("what one side reads and another one writes", LINES, {}, BROKEN, ONCE,
         "`a` (tx read-mostly) at 0..7 shares a line with `b` (rx hot-write) at 8..15 in its only placement",
         sides(a="tx read-mostly", b="rx hot-write")),
    Case("what one side reads and writes", LINES, {}, KEPT, (), "1 read and 1 written fields share no line in any placement",
         sides(a="tx read-mostly", b="tx hot-write")),
    Case("what both read and one writes", LINES, {}, BROKEN, ONCE,
         "`a` (tx read-mostly, rx read-mostly) at 0..7 shares a line with `b` (tx hot-write) at 8..15 in its only placement",
         sides(a="tx read-mostly, rx read-mostly", b="tx hot-write")),
    Case("what is written suffers anyway", LINES, {}, KEPT, (), "1 read and 2 written fields share no line in any placement",
         sides(a="tx read-mostly, rx hot-write", b="tx hot-write")),
    Case("what another side writes anyway", LINES, {}, KEPT, (), "1 read and 2 written fields share no line in any placement",
         sides(a="tx read-mostly, rx hot-write", b="rx hot-write")),
    Case("a side beside any code", LINES, {}, BROKEN, ONCE,
         "`a` (tx read-mostly) at 0..7 shares a line with `b` (hot-write) at 8..15 in its only placement",
         (*sides(a="tx read-mostly"), *says(b="hot_write"))),
    Case("a name stands above a pattern on each side", LINES, {}, BROKEN, ONCE,
         "`b` (tx read-mostly) at 8..15 shares a line with `a` (tx cold, rx hot-write) at 0..7 in its only placement",
         (Access("*", "read-mostly", side="tx"), Access("a", "hot-write", side="rx"), Access("a", "cold", side="tx"))),
    Case("an optional field that is not there", LINES, {}, KEPT, (), "1 read and 0 written fields share no line in any placement",
         (*says(a="hot_read"), Access("gone", "hot-write", is_optional=True), Access("c", ""))),
    Case("empty", EMPTY, {}, KEPT, (), "1 read and 1 written fields share no line in any placement",
         says(a="hot_read", lock="hot_write")),
    Case("flexible array by its first byte", TAIL, {}, AT_RISK, (0, 8, 16, 24, 32, 40),
         "`length` (hot-read) at 0..7 shares a line with `body` (hot-write) at 16 and beyond in 6 of 8 placements",
         says(length="hot_read", body="hot_write")),
]  # fmt: skip
REFUSALS = [
    Refusal("no readers", {"readers": ()}, "`readers` needs at least one access"),
    Refusal("no writers", {"writers": ()}, "`writers` needs at least one access"),
]
UNTOLD = [
    Untold("nothing declared", WORDS, {}, "no access is declared for a field of struct words"),
    Untold("declared without a word", WORDS, {}, "no access is declared for a field of struct words", (Access("a", ""),)),
    Untold("a misspelt declaration", WORDS, {}, "struct words has no field `e` (it has `a`, `b`, `c`, `d`)", says(e="hot_read")),
    Untold("a named field without access", WORDS, {"fields": ("a", "b")}, "no access is declared for `b` at 8..15",
           says(a="hot_read")),
]  # fmt: skip


@table(CASES)
def test_access(case):
    check(AccessApart, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(AccessApart, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(AccessApart, case)


@pytest.mark.parametrize("is_flattened", [False, True])
def test_a_part_and_the_next_element_of_an_array_whose_dimensions_btf_drops(is_flattened):
    inner = member("count", 0, 8), member("owner", 8, 8)
    held = struct("many", 96, member("h", 0, 96, *inner, dims=(6,), is_flattened=is_flattened), align=64)
    layout = Layout(held)
    accesses = Access("h", "hot-read"), Access("h.owner", "hot-write")
    assert AccessApart().check(Context(layout, placement.placements(layout, 64), accesses)).outcome is Outcome.BROKEN
