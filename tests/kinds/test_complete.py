"""`complete`, as one table."""

from __future__ import annotations

from layoutlint.judgement.context import Access
from layoutlint.kinds.complete import Complete
from tests.harness.build import bits, member, struct
from tests.kinds.cases import BROKEN, KEPT, Case, Untold, cannot_tell, check, table
from tests.kinds.structs import EMPTY, GROUPED, LINES, NESTED, RING, UNION, WORDS


def declare(*paths: str) -> tuple[Access, ...]:
    return tuple(Access(path, "") for path in paths)


TWICE = struct("s", 16, member("one", 0, 8, member("x", 0, 8)), member("two", 8, 8, member("x", 0, 8)))
REST, GONE = "declare how the new fields are used", "take out or rename the declarations without a field"
GROUP = struct(
    "s", 16,
    member(None, 0, 8, member(None, 0, 8, member("x", 0, 4), bits("y", 32, 8)), member("xy", 0, 8, member("x", 0, 4), bits("y", 32, 8)),
           aggregate="union"),
    member("z", 8, 8),
)  # fmt: skip
"""What `struct_group(xy, ...)` makes: each member twice, once in a named struct."""
INNER_GROUP = struct("s", 24, member("in", 0, 16, *GROUP.fields), member("w", 16, 8))
"""A group in a member with a name: `in.xy.x` is `in.x`."""
TIMERS = struct(
    "s", 8, member(None, 0, 8, member("often", 0, 8, member("x", 0, 8)), member("rare", 0, 8, member("x", 0, 8)), aggregate="union"),
)  # fmt: skip
CASES = [
    Case("all", LINES, {}, KEPT, (), "all 3 fields are declared", declare("a", "b", "c")),
    Case("all by a pattern", WORDS, {}, KEPT, (), "all 4 fields are declared", declare("[a-c]", "d")),
    Case("the same side by side", LINES, {}, KEPT, (), "all 3 fields are declared", (*declare("a", "b", "c"), Access("a", "hot-read", side="tx"))),
    Case("all by a type, and one that there is not", WORDS, {}, KEPT, (), "all 4 fields are declared", declare("@type:long*", "@type:spinlock_t")),
    Case("one is not", LINES, {}, BROKEN, (), "1 field of 3 is not declared: `b`", declare("a", "c"), REST),
    Case("two are not", LINES, {}, BROKEN, (), "2 fields of 3 are not declared: `a`, `c`", declare("b"), REST),
    Case("which is excepted", LINES, {"except_": ("[bc]", "x")}, KEPT, (), "all 3 fields are declared", declare("a")),
    Case("one that is no field", LINES, {}, BROKEN, (), "1 declaration has no field: `aa`", declare("a", "b", "c", "aa"), GONE),
    Case("one that was renamed", LINES, {}, BROKEN, (), "1 field of 3 is not declared: `a`; 1 declaration has no field: `aa` (did you mean `a`?)",
         declare("b", "c", "aa"), f"{REST} and {GONE}"),
    Case("both", WORDS, {}, BROKEN, (), "1 field of 4 is not declared: `d`; 2 declarations have no field: `zeta`, `eta`",
         declare("a", "b", "c", "zeta", "eta"), f"{REST} and {GONE}"),
    Case("the whole of a field", NESTED, {}, KEPT, (), "all 3 fields are declared", declare("a", "lock", "z")),
    Case("all parts of it", NESTED, {}, KEPT, (), "all 3 fields are declared", declare("a", "lock.*", "z")),
    Case("a part of it", NESTED, {}, BROKEN, (), "2 fields of 3 are not declared: `lock.count`, `lock.waiters`", declare("a", "lock.owner", "z")),
    Case("a part by its own name", NESTED, {}, BROKEN, (), "1 declaration has no field: `owner` (there is `lock.owner`)",
         declare("a", "lock", "z", "owner")),
    Case("a name that several parts have", TWICE, {}, BROKEN, (), "1 declaration has no field: `x`", declare("one", "two", "x")),
    Case("members of a union", UNION, {}, BROKEN, (), "1 field of 4 is not declared: `text`", declare("tag", "number", "last")),
    Case("elements of an array", RING, {}, BROKEN, (), "1 field of 2 is not declared: `slot[1..3]`", declare("size", "slot[0]")),
    Case("members of a named group", GROUP, {}, KEPT, (), "all 4 fields are declared", declare("x", "y", "z")),
    Case("the group", GROUP, {}, KEPT, (), "all 4 fields are declared", declare("xy", "z")),
    Case("its members by the longer path", GROUP, {}, KEPT, (), "all 4 fields are declared", declare("xy.*", "z")),
    Case("members of a group in a member", INNER_GROUP, {}, KEPT, (), "all 2 fields are declared", declare("in.x", "in.y", "in.z", "w")),
    Case("the group in a member", INNER_GROUP, {}, KEPT, (), "all 2 fields are declared", declare("in.xy", "in.z", "w")),
    Case("one of its members", GROUP, {}, BROKEN, (), "2 fields of 4 are not declared: `y`, `xy`", declare("x", "z"), REST),
    Case("another of the same type on the same bits", TIMERS, {}, BROKEN, (), "1 field of 2 is not declared: `rare`", declare("often"), REST),
    Case("another name on the same bits", UNION, {}, BROKEN, (), "1 field of 4 is not declared: `number`", declare("tag", "text", "last"), REST),
    Case("without bytes", EMPTY, {}, KEPT, (), "all 2 fields are declared", declare("a", "b")),
    Case("marks", GROUPED, {}, KEPT, (), "all 3 fields are declared", declare("a", "b", "c")),
]  # fmt: skip
UNTOLD = [Untold("nothing declared", WORDS, {}, "no field of struct words is declared")]


@table(CASES)
def test_complete(case):
    check(Complete, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Complete, case)
