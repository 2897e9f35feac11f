"""`separate`, as one table: a struct in memory, the groups, what comes out."""

from __future__ import annotations

import pytest

from layoutlint.judgement.context import NoSuchField
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds import separate
from layoutlint.kinds.separate import Separate
from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from tests.harness.build import context, flexible, member, struct
from tests.harness.facts import facts
from tests.kinds.structs import BITS, EMPTY, LINES, NESTED, UNION, WORDS

SPIN_NODE = struct("node", 24, member("next", 0, 8), member("prev", 8, 8), member("locked", 16, 4), member("cpu", 20, 4))
SPIN_NODE_FIXED = struct(
    "node", 128, member("next", 0, 8), member("prev", 8, 8), member("locked", 16, 4), member("cpu", 64, 4), align=64
)


def words(gap: int, align: int = 8) -> object:
    """Two 8-byte words whose starts are `gap` bytes apart."""
    return struct("pair", gap + 8, member("a", 0, 8), member("b", gap, 8), align=align)


CASES = [
    # id, struct, groups, outcome, violating bases, message
    ("one line", SPIN_NODE, [["cpu"], ["locked"]], Outcome.BROKEN, tuple(range(0, 64, 8)),
     "`cpu` at 20..23 shares a line with `locked` at 16..19 in all 8 placements"),
    ("own line", SPIN_NODE_FIXED, [["cpu"], ["next", "prev", "locked"]], Outcome.KEPT, (),
     "`cpu` at 64..67 and `next` at 0..7, `prev` at 8..15, `locked` at 16..19 share no line in any placement"),
    ("starts 64 apart never share", words(64), [["a"], ["b"]], Outcome.KEPT, (),
     "`a` at 0..7 and `b` at 64..71 share no line in any placement"),
    ("starts 56 apart share once", words(56), [["a"], ["b"]], Outcome.AT_RISK, (0,),
     "`a` at 0..7 shares a line with `b` at 56..63 in 1 of 8 placements"),
    ("starts 48 apart share twice", words(48), [["a"], ["b"]], Outcome.AT_RISK, (0, 8),
     "`a` at 0..7 shares a line with `b` at 48..55 in 2 of 8 placements"),
    ("flexible array", struct("s", 16, member("a", 0, 8), flexible("tail", 16)), [["a"], ["tail"]], Outcome.AT_RISK,
     (0, 8, 16, 24, 32, 40), "`a` at 0..7 shares a line with `tail` at 16 and beyond in 6 of 8 placements"),
    ("pattern", struct("s", 16, member("a_lock", 0, 4), member("b", 8, 8)), [["*_lock"], ["b"]], Outcome.AT_RISK,
     (0, 8, 16, 24, 32, 40, 48), "`a_lock` at 0..3 shares a line with `b` at 8..15 in 7 of 8 placements"),
    ("from all others by a pattern", LINES, [["c"], ["*"]], Outcome.KEPT, (),
     "`c` at 64..71 and `a` at 0..7, `b` at 8..15, `c` at 64..71 share no line in any placement"),
    ("all from all, each pair once", WORDS, [["*"], ["*"]], Outcome.BROKEN, tuple(range(0, 64, 8)),
     "`a` at 0..7 shares a line with `b` at 8..15 in 7 of 8 placements; "
     "`b` at 8..15 shares a line with `c` at 16..23 in 7 of 8 placements; "
     "`c` at 16..23 shares a line with `d` at 24..31 in 7 of 8 placements; "
     "`a` at 0..7 shares a line with `c` at 16..23 in 6 of 8 placements; and 2 more pairs"),
    ("union", UNION, [["number"], ["text"]], Outcome.BROKEN, tuple(range(0, 64, 8)),
     "`number` at 8..15 shares a line with `text` at 8..11 in all 8 placements"),
    ("bit-fields in neighbouring bytes", BITS, [["ready"], ["count"]], Outcome.BROKEN, tuple(range(0, 64, 8)),
     "`ready` at bits 0..0 shares a line with `count` at bits 7..16 in all 8 placements"),
    ("empty", EMPTY, [["lock"], ["a", "b"]], Outcome.KEPT, (),
     "`lock` at 8, empty and `a` at 0..7, `b` at 8..15 share no line in any placement"),
    ("each group from each", LINES, [["a"], ["c"], ["b"]], Outcome.BROKEN, (0,),
     "`a` at 0..7 shares a line with `b` at 8..15 in its only placement"),
    ("nested", NESTED, [["lock.waiters"], ["lock.count"]], Outcome.AT_RISK, (0, 8, 16, 24, 32, 56),
     "`lock.waiters` at 24..47 shares a line with `lock.count` at 8..15 in 6 of 8 placements"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("of_struct", "groups", "outcome", "bases", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_separate(of_struct, groups, outcome, bases, message):
    verdict = Separate(tuple(map(tuple, groups))).check(context(of_struct))
    assert (verdict.outcome, verdict.bases, facts(verdict.message)) == (outcome, bases, facts(message))


@pytest.mark.parametrize(("groups", "outcome"), [
    ([["@type:long int"], ["@type:long int"]], Outcome.KEPT), ([["@type:long int"], ["in.y"]], Outcome.AT_RISK),
])  # fmt: skip
def test_a_pair_inside_a_named_struct_is_of_that_struct_unless_the_rule_names_a_field(groups, outcome):
    inner = replace(member("in", 0, 16, member("x", 0, 8), member("y", 8, 8)), type=CType("struct in"))
    judged = replace(context(struct("outer", 16, inner)), is_one_of_many=True)
    assert Separate(tuple(map(tuple, groups))).check(judged).outcome is outcome


def test_advice_is_what_it_takes():
    verdict = Separate((("a",), ("b",))).check(context(words(48)))
    assert verdict.advice.startswith("move `b` at least 16 bytes further from `a`")


def test_a_misspelt_field_is_not_found():
    with pytest.raises(NoSuchField, match=r"struct node has no field `cpus` \(did you mean `cpu`\?\)"):
        Separate((("cpus",), ("locked",))).check(context(SPIN_NODE))


@pytest.mark.parametrize("groups", [(("lock",), ("lock.*",)), (("lock.*",), ("lock",)), (("a*",), ("a",))], ids=str)
def test_patterns_can_mean_other_fields(groups):
    assert Separate(groups).fields == groups


@pytest.mark.parametrize(("groups", "reason"), [
    ([["a"]], "`fields` needs at least two groups to keep apart"),
    ([["a"], []], "`fields` needs at least two groups to keep apart"),
    ([["a", "b"], ["b"]], "`b` is in two groups, and cannot be kept apart from itself"),
    ([["lock"], ["lock.owner"]], "`lock.owner` is a part of `lock`, and cannot be kept apart from it"),
    ([["ring[2]"], ["ring"]], "`ring[2]` is a part of `ring`, and cannot be kept apart from it"),
])  # fmt: skip
def test_parameters_that_make_no_sense(groups, reason):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        Separate(tuple(map(tuple, groups)))
    assert str(caught.value) == reason


@pytest.mark.parametrize(("groups", "is_refused"), [
    ([["a", "b"], ["c", "d"]], False), ([["a", "b"], ["c", "d", "e"]], True), ([["a"], ["b"], ["c", "d", "e", "f"]], False), ([["a"], ["b", "c"], ["d", "e", "f"]], True),
])  # fmt: skip
def test_a_rule_names_a_limited_number_of_pairs(groups, is_refused, monkeypatch):
    monkeypatch.setattr(separate, "MOST_PAIRS", 4)
    if is_refused:
        with pytest.raises(ValueError, match=r"^`fields` names more than 4 pairs of fields$"):
            Separate(tuple(map(tuple, groups)))
    else:
        assert Separate(tuple(map(tuple, groups))).fields == tuple(map(tuple, groups))
