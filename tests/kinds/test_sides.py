"""The sides of a rule whose cost can be measured, for every kind that has them."""

from __future__ import annotations

import pytest

from layoutlint.judgement.context import Access
from layoutlint.kinds import all_kinds
from layoutlint.kinds.access import AccessApart
from layoutlint.kinds.adjacent import Adjacent
from layoutlint.kinds.guards import Guards
from layoutlint.kinds.isolated import Isolated
from layoutlint.kinds.no_straddle import NoStraddle
from layoutlint.kinds.separate import Separate
from layoutlint.kinds.together import Together
from tests.harness.build import context, member, struct

WIDE = struct("wide", 192, *(member(name, 32 * at, 8, align=8) for at, name in enumerate("abcdef")), align=64)
USES = (Access("a", "hot-read"), Access("b", "hot-write"), Access("c", "hot-write", side="tx"), Access("c", "hot-read", side="rx"), Access("d", "cold"))
TABLE = [
    # a kind, how it arranges the fields, and its sides by their words
    (Separate((("a", "b"), ("f",))), "apart", [("", "ab"), ("", "f")]),
    (Together(("b", "a")), "together", [("", "ba")]),
    (Adjacent(("a", "b", "c")), "together", [("", "abc")]),
    (NoStraddle(("c",)), "together", [("", "c")]),
    (Guards("a", ("b", "c"), True), "apart", [("lock", "a"), ("", "bc")]),
    (Guards("a", ("*",), True), "apart", [("lock", "a"), ("", "bcdef")]),
    (Guards("a", ("b", "c"), False), "together", [("lock", "a"), ("", "bc")]),
    # what can be on a line with a, at some offset: what begins less than a line behind it
    (Isolated(("a",)), "apart", [("", "a"), ("", "bc")]),
    (Isolated(("c",), except_=("b", "d")), "apart", [("", "c"), ("", "ae")]),
    (Isolated(("c",), except_=("b", "@polled")), "apart", [("", "c"), ("", "ade")]),
    (Isolated(("c",), except_=("@polled",)), "apart", [("", "c"), ("", "abde")]),
    (AccessApart(), "apart", [("write", "bc"), ("read", "a")]),
    (AccessApart(writers=("cold",)), "apart", [("write", "d"), ("read", "ac")]),
    (AccessApart(fields=("a", "b")), "apart", [("write", "b"), ("read", "a")]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "arranges", "sides"), TABLE, ids=[f"{row[0].name}-{number}" for number, row in enumerate(TABLE)])
def test_sides(kind, arranges, sides):
    found = kind.sides(context(WIDE, *USES))
    assert found.arranges == arranges
    assert [(side.use or "", "".join(place.path for place in side.places)) for side in found.sides] == sides


def test_every_kind_with_sides_is_in_the_table():
    assert {row[0].name for row in TABLE} == {kind.name for kind in all_kinds() if hasattr(kind, "sides")}
