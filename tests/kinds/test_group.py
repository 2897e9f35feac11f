"""`group`, as one table."""

from __future__ import annotations

import pytest

from layoutlint.judgement.context import Access
from layoutlint.judgement.finding import Unresolved
from layoutlint.judgement.rule import Pack, Rule, Severity
from layoutlint.kinds.group import MarkedGroup
from layoutlint.lint import run
from layoutlint.lint.options import Options
from layoutlint.model.randomised import Randomisation
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.readers import dispatch
from tests.harness.build import X86_64, flexible, member, struct
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
from tests.kinds.structs import WORDS, empty, marker, unsized_field

MARKS = "`__cacheline_group_begin(NAME)` and `__cacheline_group_end(NAME)` mark one"


def begin(group, offset):
    return marker(f"__cacheline_group_begin__{group}", offset)


def end(group, offset):
    return marker(f"__cacheline_group_end__{group}", offset)


def group(name, offset, *members):
    """A group of members that stand side by side from `offset`."""
    return begin(name, offset), *members, end(name, max((m.bit_offset + m.bit_size) // 8 for m in members))


def two(first, second, second_at=8, align=8):
    """Two groups of one word each."""
    groups = (*group(first, 0, member("a", 0, 8)), *group(second, second_at, member("b", second_at, 8)))
    return struct("s", second_at + 8, *groups, align=align)


def shares(first, second, often="7 of 8 placements"):
    return f"`a` at 0..7 (`{first}`) shares a line with `b` at 8..15 (`{second}`) in {often}"


def hold(first, second, at="8..15"):
    return f"groups `{first}` at 0..7, `{second}` at {at}: no read one shares a line with a written one in any placement"


NEAR = EVERY8[:-1]
"""The bases at which two neighbouring words share a line of 64."""
NAMES = [
    # The name of the first group, that of the second, whether they may not share a line.
    ("s_read_tx", "s_write_rx", True),
    ("s_write_rx", "s_read_tx", True),
    ("s_read_txrx", "s_write_rx", True),
    ("s_read_rx", "s_write_rxtx", True),
    ("s_read_txrx", "s_write_txrx", True),
    ("read_mostly", "read_write", True),
    ("s_readmostly", "s_write_tx", True),
    ("read_mostly", "write", True),
    ("s_read_tx", "s_write_tx", False),
    ("s_read_tx", "s_read_rx", False),
    ("s_write_tx", "s_write_rx", False),
    ("read_mostly", "cold", False),
    ("fastpath", "slowpath", False),
    ("spread_tx", "writer_rx", False),
]
ONE = struct("s", 128, member("x", 0, 8), *group("g", 8, member("a", 8, 8), member("b", 16, 8)), member("y", 24, 104), align=64)
PARTS = struct(
    "s", 32, *group("g", 0, member("lock", 0, 16, member("count", 0, 8), member("owner", 8, 8)), empty("_pad1_", 16)),
    member("y", 16, 16),
)  # fmt: skip
UNPAIRED = struct("s", 24, begin("g", 0), member("a", 0, 8), end("h", 8), *group("k", 8, member("b", 8, 16)))
CROSSED = struct(
    "s", 24, begin("g", 0), member("a", 0, 8), begin("h", 8), member("b", 8, 8), end("g", 16), member("c", 16, 8), end("h", 24)
)  # fmt: skip
BACKWARDS = struct("s", 8, end("g", 0), member("a", 0, 8), begin("g", 8))
LAST = struct("s", 128, *group("g", 0, member("a", 0, 128)), align=64)
BARE = struct("s", 8, begin("g", 0), end("g", 0), member("a", 0, 8))
WRONG = "`a` at 8..15 is in group `g` at 8..23 and is not among its members"

CASES = [
    *(Case(f"{first} beside {second}", two(first, second), {}, AT_RISK if apart else KEPT, NEAR if apart else (),
           message, advice=None)
      for first, second, apart in NAMES
      for message in [hold(first, second) if not apart else
                      shares(first, second) if "read" in first and "write" not in first else
                      f"`b` at 8..15 (`{second}`) shares a line with `a` at 0..7 (`{first}`) in 7 of 8 placements"]),
    Case("on lines of their own", two("read_mostly", "read_write", 64, 64), {}, KEPT, (), hold("read_mostly", "read_write", "64..71")),
    Case("on one, always", two("read_mostly", "read_write", 8, 64), {}, BROKEN, ONCE, shares("read_mostly", "read_write", "its only placement"),
         advice="move `b` at least 56 bytes further from `a`, or start it on a line of its own (`____cacheline_aligned_in_smp`)"),
    Case("the one that is asked for, against the others", two("read_mostly", "read_write"), {"group": "read_write"}, AT_RISK, NEAR,
         shares("read_mostly", "read_write")),
    Case("its members", ONE, {"group": "g", "members": ("a", "b")}, KEPT, (),
         "group `g` at 8..23: no read one shares a line with a written one in any placement"),
    Case("a pattern of them", ONE, {"group": "g", "members": ("[ab]",)}, KEPT, (),
         "group `g` at 8..23: no read one shares a line with a written one in any placement"),
    Case("one in no group", ONE, {"group": "g", "members": ("a", "b", "x")}, BROKEN, ONCE,
         "`x` at 0..7 is in no group, not in `g` at 8..23"),
    Case("one in another group", two("g", "h"), {"group": "h", "members": ("a", "b")}, BROKEN, EVERY8,
         "`a` at 0..7 is in group `g` at 0..7, not in `h` at 8..15"),
    Case("a stranger", ONE, {"group": "g", "members": ("b",)}, BROKEN, ONCE, WRONG),
    Case("parts of a field", PARTS, {"group": "g", "members": ("lock.count", "lock.owner")}, KEPT, (),
         "group `g` at 0..15: no read one shares a line with a written one in any placement"),
    Case("padding is no stranger", PARTS, {"group": "g", "members": ("lock",)}, KEPT, (),
         "group `g` at 0..15: no read one shares a line with a written one in any placement"),
    Case("bytes", ONE, {"max": 16}, KEPT, (), "group `g` at 8..23: no read one shares a line with a written one in any placement"),
    Case("too many bytes", ONE, {"group": "g", "max": 15}, BROKEN, ONCE, "group `g` at 8..23 has 16 bytes, 1 more than 15"),
    Case("lines", ONE, {"max_lines": 1}, KEPT, (), "group `g` at 8..23: no read one shares a line with a written one in any placement"),
    Case("too many lines", LAST, {"max_lines": 1}, BROKEN, ONCE, "group `g` at 0..127 touches 2 lines in its only placement, 1 allowed"),
    Case("too many lines at some bases", replace(ONE, align=8), {"max_lines": 1}, AT_RISK, (48,),
         "group `g` at 8..23 touches 2 lines in 1 of 8 placements, 1 allowed"),
    Case("a fault, and shared lines", two("read_mostly", "read_write"), {"max": 4, "group": "read_write"}, BROKEN, EVERY8,
         f"group `read_write` at 8..15 has 8 bytes, 4 more than 4; {shares('read_mostly', 'read_write')}"),
    Case("without fields", BARE, {}, KEPT, (), "group `g` at 0, empty: no read one shares a line with a written one in any placement"),
    Case("marks without partners", UNPAIRED, {}, BROKEN, EVERY8, "group `g` begins at 0 and does not end; group `h` ends at 8 and does not begin"),
    Case("which are not those of the group", UNPAIRED, {"group": "k"}, KEPT, (),
         "group `k` at 8..23: no read one shares a line with a written one in any placement"),
    Case("groups that cross", CROSSED, {}, BROKEN, EVERY8, "group `g` at 0..15 ends inside of group `h` at 8..23"),
    Case("a field in two groups", struct("s", 16, begin("read", 0), *group("write", 0, member("a", 0, 8)), member("b", 8, 8), end("read", 16)), {},
         AT_RISK, NEAR, "`b` at 8..15 (`read`) shares a line with `a` at 0..7 (`read`, `write`) in 7 of 8 placements"),
    Case("an end before its begin", BACKWARDS, {}, BROKEN, EVERY8, "group `g` begins at 8, behind its end at 0"),
]  # fmt: skip


def access_on(path, **sides):
    """`on("a", tx="hot-write")`; without a side, declared and not hot."""
    return [Access(path, word, side=side) for side, word in sides.items()] or [Access(path, "")]


PATHS = struct(
    "s", 256, *group("s_read_txrx", 0, member("a", 0, 8)), *group("s_write_tx", 64, member("b", 64, 8), member("c", 72, 8)),
    *group("s_write_txrx", 128, member("d", 128, 8)), *group("other", 192, member("e", 192, 8)), member("f", 200, 8), align=64,
)  # fmt: skip
FITS = ("groups `s_read_txrx` at 0..7, `s_write_tx` at 64..79, `s_write_txrx` at 128..135, `other` at 192..199: "
        "no read one shares a line with a written one in any placement")  # fmt: skip
ACCESSES = [
    # What is declared, and what is said of it: that all fits, when nothing.
    ("both read", access_on("a", tx="read-mostly", rx="read-mostly"), ""),
    ("one writes", access_on("b", tx="hot-write"), ""),
    ("one of two writes", access_on("d", tx="read-mostly", rx="hot-write"), ""),
    ("a group without sides", access_on("e", tx="read-mostly", rx="hot-write"), ""),
    ("cold", access_on("f", tx="cold"), ""),
    ("not hot, and in no group", access_on("f"), ""),
    ("of no side", [Access("a", "hot-write"), *access_on("f")], "`a` is in `s_read_txrx` and by its declared access belongs in none"),
    ("hot, and no group for it", access_on("f", rx="hot-write"), ""),
    ("written among the read", access_on("a", tx="hot-write"), "`a` is in `s_read_txrx` and by its declared access belongs in `s_write_tx`"),
    ("two of them", [*access_on("b", tx="read-mostly", rx="read-mostly"), *access_on("c", tx="read-mostly", rx="read-mostly")],
     "`b`, `c` are in `s_write_tx` and by their declared access belong in `s_read_txrx`"),
    ("outside", access_on("f", tx="hot-write", rx="hot-write"), "`f` is in no group and by its declared access belongs in `s_write_txrx`"),
    ("slow among the hot", access_on("b"), "`b` is in `s_write_tx` and by its declared access belongs in none"),
    ("no such group", access_on("b", tx="read-mostly"), "`b` is in `s_write_tx` and by its declared access belongs in another group, which does not exist"),
    ("not there", [replace(access, is_optional=True) for access in access_on("x", tx="read-mostly")], ""),
]  # fmt: skip
CASES += [
    Case(f"by access: {name}", PATHS, {}, BROKEN if says else KEPT, ONCE if says else (), says or FITS,
         (*accesses, *(access_on("e", tx="read-mostly") if name in ("of no side", "slow among the hot") else ())))
    for name, accesses, says in ACCESSES
]  # fmt: skip
REFUSALS = [
    Refusal("members of what", {"members": ("a",)}, "`members` needs `group`, the group that they are in"),
    Refusal("a member twice", {"group": "g", "members": ("a", "a")}, "`members` names `a` twice"),
    Refusal("bytes", {"max": -1}, "`max` is -1, and must be at least 0"),
    Refusal("lines", {"max_lines": 0}, "`max_lines` is 0, and must be at least 1"),
]
SHUFFLED = Randomisation("gcc-full", "00", None, is_own=True)
UNTOLD = [
    Untold("no marks", WORDS, {}, f"struct words marks no groups of fields ({MARKS})"),
    Untold("no such group", ONE, {"group": "gg"}, "struct s has no group `gg` (did you mean `g`?)"),
    Untold("half a group", UNPAIRED, {"group": "g"}, "struct s has no group `g`; group `g` begins at 0 and does not end"),
    Untold("no such member", ONE, {"group": "g", "members": ("aa",)}, "struct s has no field `aa` (did you mean `a`?)"),
    Untold("a member of unknown size", struct("s", 16, begin("g", 0), unsized_field("a", 0), end("g", 8), member("b", 8, 8)), {},
           "the size of `a` is not known"),
    Untold("a random order", replace(ONE, randomised=SHUFFLED), {},
           "the marks of groups are in a random order, as all of struct s"),
]  # fmt: skip


@table(CASES)
def test_group(case):
    check(MarkedGroup, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(MarkedGroup, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(MarkedGroup, case)


def test_a_mark_at_the_end_is_no_flexible_array():
    from layoutlint.geometry.layout import Layout

    assert Layout(LAST).open_end is None
    assert Layout(struct("s", 8, member("a", 0, 8), flexible("tail", 8))).open_end is not None


WITHOUT, MARKED, HALF = WORDS, replace(ONE, name="marked"), replace(UNPAIRED, name="half")
NONE = "none of the 1 structs that match `*` has what the rule is about"
OF_MANY = [
    # the structs of an input, which the rule is about, what is found of which
    ("some have marks", (WITHOUT, MARKED), "*", [("marked", "kept", "group `g`")]),
    ("marks that make no group", (WITHOUT, HALF), "*", [("half", "broken", "group `g` begins at 0 and does not end")]),
    ("none has", (WITHOUT,), "*", [(None, "unknown", NONE)]),
    ("none of two", (WITHOUT, replace(WITHOUT, name="wo")), "wo*", [(None, "unknown", NONE.replace("1", "2").replace("*", "wo*"))]),
    ("none is meant", (WITHOUT,), "x*", [(None, "unknown", "struct x* is in none of the inputs")]),
    ("a name", (WITHOUT, MARKED), "words", [("words", "unknown", f"struct words marks no groups of fields ({MARKS})")]),
]


@pytest.mark.parametrize(("structs", "name", "expected"), [case[1:] for case in OF_MANY], ids=[case[0] for case in OF_MANY])
def test_of_many_structs_those_without_marks_are_passed_over(monkeypatch, structs, name, expected):
    monkeypatch.setattr(dispatch, "read", lambda path, wanted, options: Reading(path, "btf", X86_64, structs))
    rule = Rule("g", name, MarkedGroup(), Severity.ERROR, "a test", Source("r.toml", 1))
    report = run.check(["a"], (Pack("p", "r.toml", (rule,)),), (), Options())
    found = [(f.struct and f.struct.name, f.verdict.outcome.value, f.verdict.message) for f in (*report.findings, *report.kept_findings)]
    assert [one[:2] for one in found] == [one[:2] for one in expected]
    assert all(message.startswith(start) for (*_, message), (*_, start) in zip(found, expected, strict=True)), found
    assert report.coverage.unresolved == tuple(Unresolved("g", message) for _, outcome, message in found if outcome == "unknown")
