"""Rows for the branches and limits of the kinds that no other table decides: every verdict and refusal whole.

The text in `golden/` is for review: `pytest --rewrite-goldens` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from textwrap import fill
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.judgement import line_sharing
from layoutlint.judgement.c_assertion import CannotAssert
from layoutlint.judgement.context import Access, CannotTell, Context
from layoutlint.kinds import find_kind
from layoutlint.kinds.c_conditions import conditions
from layoutlint.model.ctype import CType
from layoutlint.model.randomised import Randomisation
from layoutlint.model.record import replace
from layoutlint.model.storage import ANY, Storage
from layoutlint.model.structs import Field, Source, Struct
from tests.harness.build import bits, flexible, member, struct
from tests.kinds.structs import EMPTY, LINES, NESTED, WORDS, array, empty
from tests.kinds.test_access import says, sides
from tests.kinds.test_group import group
from tests.kinds.test_varied_rules import describe


class Row(NamedTuple):
    kind: str
    struct: Struct
    keys: dict[str, Any]
    accesses: tuple[Access, ...] = ()
    storage: Storage | None = None
    more: dict[str, Any] = {}  # noqa: RUF012 - the rest of the context
    line: int | None = None


def storage(word: str | None, **more: Any) -> Storage:
    return Storage(word, Source("r.toml", 1), **more)


def overlay(name: str | None, offset: int, size: int, *members: Field, **more: Any) -> Field:
    """A union of some members."""
    return member(name, offset, size, *members, aggregate="union", **more)


ROWS32 = struct("rows", 136, member("first", 0, 8), array("row", 8, 4, 32, member("head", 0, 8), member("tail", 24, 8)), align=64)
FAR = struct("far", 264, member("first", 0, 8), array("row", 8, 2, 128, member("head", 0, 8), member("tail", 120, 8)), align=64)
SEVEN = struct("seven", 72, *(member(f"m{at}", 9 * at, 8) for at in range(7)), member("last", 64, 8))
OVER = struct(
    "over", 32, overlay(None, 0, 24, member(None, 0, 16, member("p", 0, 8), member("q", 8, 8)), member("r", 0, 24), member(None, 0, 24, member("s", 4, 16))),
    member("last", 24, 8),
)  # fmt: skip
MIDDLE = struct("middle", 24, member("a", 0, 8), flexible("x", 8), member("z", 16, 8, align=8))

def ints(name: str, offset: int, *dims: int) -> Field:
    """A field of `int`, or an array of it."""
    return Field(name, CType("int", "".join(f"[{count}]" for count in dims)), offset * 8, 32 * prod(dims), dims=dims, align=4)


PACKED = struct("packed", 65, member("a", 0, 65), align=1)
TINY = struct("tiny", 16, member("a", 0, 16))
MARKED = struct(
    "s", 40, *group("s_read_tx", 0, member("a", 0, 8)), *group("s_write_rx", 8, member("b", 8, 8)), *group("s_cold", 16, member("c", 16, 8)), empty("lock", 24),
    *group("s_read", 24, member("d", 24, 8)), member("e", 32, 8),
)  # fmt: skip
NUMBERS = struct("numbers", 160, member("first", 0, 8), ints("few", 8, 5), ints("many", 28, 30), ints("none", 148, 2, 0), ints("one", 156), align=4)
HOSTILE = struct("hostile", 16, Field("none", CType("int", "[16]"), 0, 64, dims=(16,), align=1), member("a", 8, 8))
UNION_ARRAY = struct("unions", 64, member("a", 0, 8), overlay("of", 8, 32, member("raw", 0, 8), member("text", 0, 4), dims=(4,)), align=64)
AT_END = struct("at_end", 128, member("a", 0, 8), array("pair", 40, 2, 24, member("x", 0, 8), member("y", 16, 8)), align=64)
NOTHING = struct("nothing", 16, member("a", 0, 8), replace(array("none", 8, 3, 0), bit_size=0), ints("rows", 8, 2, 0))


def slot(size: int, *offsets: int, align: int = 8) -> Struct:
    """A struct with words at some offsets."""
    return struct("slot", size, *(member(f"w{at}", at, 8, align=align) for at in offsets), align=align)


STRIDES = [
    *(Row("stride", slot(size, 0, size - 8), keys, storage=where) for size in (40, 72, 104, 120, 136) for where in (None, storage(None, array=ANY), storage("slab"))
      for keys in ({"fields": ("w0",), "against": (f"w{size - 8}",)}, {})),
    *(Row("stride", slot(96, 16, 40), {"fields": ("w16",)}, storage=storage(word, array=count)) for word in (None, "slab", "kmalloc", "malloc", "static", "percpu") for count in (1, 2, 3, 5)),
    *(Row("stride", slot(80, 0, 32, 72, align=align), {"against": ("w32",)}, storage=storage(None, array=3), line=line) for align in (1, 4, 16) for line in (32, 64, 128)),
    *(Row("stride", AT_END, {"array": path, **keys}) for path in ("pair", "pair[0]", "a", "gone", "p*") for keys in ({}, {"fields": ("x",), "against": ("x",)})),
    *(Row("stride", UNION_ARRAY, keys) for keys in ({"array": "of"}, {"arrays": ("of",)}, {"arrays": ("@type:long int",)}, {"array": "of", "fields": ("gone",)}, {"array": "of", "fields": ("raw",)})),
    *(Row("stride", NOTHING, {"array": path}) for path in ("none", "rows")), *(Row("stride", ROWS32, {"array": "row", **keys}) for keys in (
        {}, {"fields": ("head",), "against": ("tail",)}, {"fields": ("head",), "against": ("head",)}, {"fields": ("tail",)})),
    *(Row("stride", ROWS32, {"arrays": ("row",), "per_thread": True}, more={"owners": SimpleNamespace(reason=lambda _, name, names=names: f"threads write `{name}`" if name in names else None)})
      for names in (("row",), ())),
    *(Row("stride", WORDS, keys) for keys in (
        {"variables": ("@type:int",), "against": ("a",)}, {"variables": ("@type:int",), "fields": ("a",)}, {"variables": ("@type:int", "x")}, {"variables": ("@hot-read",)},
        {"variables": ("x",), "array": "y"}, {"variables": ("x",), "arrays": ("y",)}, {"array": "[ab]"}, {"per_thread": True}, {"arrays": ("x",), "against": ("a",)},
        {"arrays": ("x",), "fields": ("a",)}, {"arrays": ("x",), "array": "a"}, {"fields": ("a", "a")}, {"against": ("a", "a")},
    )),
]  # fmt: skip
"""Elements and objects of several sizes, with the padding that is advised."""
OTHER_ORDER = Randomisation("gcc-full", None, None, False)

ROWS = [
    *(Row("access", ROWS32, {"elements": elements}, says(row__head="hot_read", row__tail="hot_write")) for elements in (True, False)),
    *(Row("access", FAR, {"elements": elements}, says(row__head="hot_read", row__tail="hot_write")) for elements in (True, False)),
    *(Row("access", ROWS32, {"elements": elements}, says(row="hot_read", row__tail="hot_write")) for elements in (True, False)),
    *(Row("access", ROWS32, {"elements": elements}, (Access("row.head", "hot-read", side="tx"), Access("row.head", "hot-write", side="rx"))) for elements in (True, False)),
    *(Row("access", ROWS32, {"elements": elements, "writers": ("hot-read",)}, says(row__head="hot_read")) for elements in (True, False)),
    Row("access", LINES, {}, sides(a="tx read-mostly, rx cold", b="tx hot-write")),
    Row("access", WORDS, {"fields": ("*",)}, says(a="hot_read", b="hot_write")), Row("access", WORDS, {"fields": ("a", "c*")}, says(a="hot_read", b="hot_write")),
    *(Row("access", WORDS, {"independent": word}, says(a="hot_read", b="hot_write", c="hot_write"),
          more={"companions": lambda _, one, other: {one, other} == {"a", "b"}}) for word in (True, False)),
    Row("adjacent", SEVEN, {"fields": ("m[0-5]",), "max_gap": 0}), Row("adjacent", SEVEN, {"fields": ("m[0-6]",), "max_gap": 0}),
    Row("adjacent", SEVEN, {"fields": ("m[0-6]", "last"), "max_gap": 0}), Row("adjacent", OVER, {"fields": ("p", "q")}),
    Row("adjacent", OVER, {"fields": ("s", "q")}), Row("adjacent", OVER, {"fields": ("p", "last")}), Row("adjacent", MIDDLE, {"fields": ("a", "z")}),
    Row("adjacent", MIDDLE, {"fields": ("a", "z"), "max_gap": 8}), Row("adjacent", struct("s", 16, empty("lock", 0), member("b", 8, 8)), {"fields": ("lock", "b")}),
    Row("adjacent", struct("s", 16, bits("e", 0, 1), member("b", 8, 8, align=8)), {"fields": ("e", "b"), "max_gap": 7}),
    *(Row("allocation", WORDS, {"max_class": 32, "min_per_slab": 1, "order": 0, "page": page}) for page in (1 << 10, 1 << 20, 1 << 21, 1 << 9)),
    *(Row("allocation", WORDS, {"max_class": most}) for most in (7, 8, 9, 16, 96, 128)),
    *(Row("allocation", struct("s", size, member("a", 0, 8)), {"min_per_slab": 1, "cpus": 1}, storage=storage("kmalloc")) for size in (8192, 8200)),
    Row("allocation", WORDS, {"min_per_slab": 1}, storage=storage("kmalloc", array=ANY)), Row("allocation", WORDS, {"min_per_slab": 1}, storage=storage(None, array=ANY)),
    Row("allocation", PACKED, {"min_per_slab": 1, "cpus": 1}), Row("allocation", PACKED, {"min_per_slab": 57, "order": 0}),
    Row("allocation", WORDS, {"min_per_slab": 1, "order": 1}, storage=storage("slab", stride=64)),
    Row("allocation", TINY, {"min_per_slab": 10_000, "order": 0}), Row("allocation", TINY, {"min_per_slab": 500, "order": 0}),
    *(Row("allocation", TINY, {"max_class": 32}, storage=storage("kmalloc", array=count)) for count in (1, 2, 3)),
    Row("group", replace(MARKED, randomised=OTHER_ORDER), {}), Row("group", replace(MARKED, randomised=replace(OTHER_ORDER, is_own=True)), {}),
    *(Row("group", MARKED, {"group": name}) for name in ("s_read_tx", "s_write_rx", "s_cold", "s_read")),
    Row("group", MARKED, {"group": "s_cold", "members": ("c", "lock")}), Row("group", MARKED, {"group": "s_cold", "members": ("c", "a")}),
    Row("group", MARKED, {}, sides(a="tx cold", b="rx hot-write", c="tx hot-read", d="tx hot-read")),
    Row("group", MARKED, {}, sides(a="tx hot-read, rx cold", lock="tx hot-write")), Row("group", MARKED, {}, says(a="hot_write", c="cold")),
    *(Row("group", MARKED, {"max": most}) for most in (7, 8)), *(Row("group", MARKED, {"max_lines": most}) for most in (0, 1)),
    Row("guards", NESTED, {"lock": "lock.count", "data": ("lock.*", "a"), "contended": True}),
    Row("guards", NESTED, {"lock": "lock", "data": ("lock.*",), "contended": False}), Row("guards", NESTED, {"lock": "lock", "data": ("lock.count",), "contended": False}),
    *(Row("isolated", WORDS, {"fields": ("[ab]",), "except_": (path,)}, says(c="hot_read")) for path in ("[ab]", "@hot-write", "@hot-read", "c", "gone")),
    *(Row("isolated", WORDS, {"fields": ("a",), "neighbours": word}, storage=storage("slab", array=3)) for word in (None, False, True)),
    *(Row("isolated", WORDS, {"fields": ("a",), "neighbours": word}, storage=storage("slab")) for word in (None, False, True)),
    *(Row("no-straddle", NUMBERS, {"fields": paths}, line=line) for line in (16, 64) for paths in (
        ("@type:int",), ("@type:int", "many"), ("many",), ("@type:int", "@polled"), ("@type:int", "f*"), ("first", "one"), ("many[9]",), ("@type:none", "first"))),
    Row("no-straddle", HOSTILE, {"fields": ("@type:int",)}), Row("no-straddle", HOSTILE, {"fields": ("none", "a")}),
    *(Row("size", struct("s", 128, member("a", 0, 8), align=align), {"exact": exact, "max_lines": most}) for align in (8, 64) for exact in (120, 128, 136) for most in (1, 2, 3)),
    *(Row("size", WORDS, {"max": most, "multiple_of": 24}) for most in (31, 32, 64)), *(Row("size", WORDS, {"multiple_of": of}) for of in (1, 16, 24, 33, 64)),
    *(Row("size", PACKED, {"max_lines": most}) for most in (1, 2, 3)), *(Row("size", WORDS, {"exact": 32, "max": most}) for most in (31, 32)),
    *(Row("lines", EMPTY, {"fields": ("lock",), **more}) for more in ({}, {"max": 1}, {"max": 2})), Row("lines", EMPTY, {"fields": ("lock", "a")}),
    *(Row("allocation", struct("s", size, member("a", 0, 8)), {"max_order": 0, "min_per_slab": least, "cpus": 4}) for size in (4096, 4104) for least in (1, 2)),
]  # fmt: skip
"""Both sides of each limit, and each way of a condition."""


def section(name: str, offset: int, *members: Field) -> Field:
    size = max(each.bit_offset + (each.bit_size or 0) for each in members)
    return Field(None, CType(name), offset * 8, size, aggregate="struct", members=members, align=64)


def locks(name: str, offset: int, *dims: int) -> Field:
    """An array of locks of 8 bytes, which are unions."""
    count, right = prod(dims), "".join(f"[{count}]" for count in dims)
    return Field(name, CType("union lock", right), offset * 8, 64 * count, dims=dims, aggregate="union", members=(member("raw", 0, 8), member("bytes", 0, 8)))


def variables(*sections: Field, address: int | None = None) -> Struct:
    end = max(each.bit_offset + (each.bit_size or 0) for each in sections) // 8
    return replace(struct("data", end, *sections, align=64), address=address)


DATA = (
    section(".data", 0, member("limit", 0, 8), member("packets", 8, 8), member("net", 16, 32, member("count", 0, 8), member("owner", 8, 8), member("rest", 16, 16)),
            locks("locks", 48, 2), member("ports", 64, 16, dims=(2,)), member("slots", 80, 64, member("head", 0, 8), member("tail", 8, 8), dims=(4,)),
            member("last", 144, 8), empty("none", 152), Field("blob", CType("??"), 160 * 8, 96 * 8), Field("word", CType("??"), 256 * 8, 64)),
    section(".data..read_mostly", 320, member("quiet", 0, 8), member("calm", 8, 8), member("count.3", 16, 8), member("limit", 24, 8)),
    section(".bss", 384, *(member(f"a{at}", 4 * at, 4, dims=(1,)) for at in range(6)), locks("grid", 64, 2, 3), member("far", 192, 8)),
)  # fmt: skip
"""Variables: two of one name, arrays, and some whose type is unknown."""
LINKED, OBJECT = variables(*DATA, address=0x1000), variables(*DATA)
DECLARED = (Access("limit", "hot-read"), Access("packets", "hot-write"), Access("net.count", "hot-write"), Access("net.owner", "hot-read"))
SIDES = (*(Access("net.owner", word, side=side) for side, word in (("tx", "hot-read"), ("rx", "hot-write"))), Access("net*", "cold"), Access("packets", "polled"))
ON_DATA = [
    *(Row("neighbours", data, keys, DECLARED) for data in (LINKED, OBJECT) for keys in ({}, {"variables": ("limit",)}, {"variables": ("@hot-*",)}, {"variables": ("limit",), "alone": True})),
    *(Row("neighbours", LINKED, {"variables": (path,), "alone": True}, DECLARED) for path in (
        "net", "net.count", "net.*", "locks", "locks[1]", "ports", "slots", "slots[1]", "slots[1].head", "slots.tail", "last", "none", "blob", "word", "blob.x", "net.gone",
        "gone", "count.3", "a*", "a?", "grid", "far", "quiet", "grid[1]", "grid[1][2]", "*",
    )),
    *(Row("neighbours", LINKED, {"variables": paths, "alone": True, "except_": excepted}, DECLARED) for paths, excepted in (
        (("net",), ("net",)), (("net.count",), ("net",)), (("net.count",), ("net.owner",)), (("net.count",), ("net.owner", "net.rest", "limit", "packets", "locks", "ports")),
        (("locks",), ("locks",)), (("grid",), ("grid",)), (("blob",), ("blob", "last", "word")), (("blob",), ("last", "word")), (("slots[1].head",), ("slots[1].tail",)),
        (("last",), ("slots", "blob")), (("last",), ("slots[3]", "blob")), (("quiet",), ("calm", "count.3", "limit")), (("far",), ("grid[1]",)),
    )),
    Row("neighbours", LINKED, {}, SIDES), Row("neighbours", LINKED, {"readers": ("polled",), "writers": ("hot-write",)}, SIDES),
    Row("neighbours", LINKED, {"variables": ("packets",), "readers": ("cold",)}, SIDES), Row("neighbours", LINKED, {}, (Access("calm", "hot-write"),)),
    Row("neighbours", LINKED, {}, (Access("slots.head", "hot-write"), Access("slots[2].head", "cold"), Access("slots.tail", "hot-read"))),
    Row("neighbours", LINKED, {}, (Access("slots", "hot-read"), Access("slots[1].tail", "hot-write"))), Row("neighbours", LINKED, {}, (Access("l*", "hot-read"), Access("limit", "cold"))),
    *(Row("neighbours", LINKED, {}, (Access("ports", "hot-read"), Access("slots", "hot-write")), line=line) for line in (16, 32, 128)),
    *(Row("stride", LINKED, {"variables": (path,)}) for path in ("locks", "grid", "ports", "slots", "a0", "a*", "l*", "q*", "last", "blob", "gone", "net", "slots.head", "slots[1]", "count.3")),
    *(Row("stride", LINKED, {"variables": ("slots",), **keys}) for keys in ({"fields": ("head",)}, {"fields": ("tail",), "against": ("head",)}, {"against": ("gone",)})),
    *(Row("stride", LINKED, {"variables": paths}) for paths in (("locks", "slots"), ("locks", "grid", "ports", "slots", "a0"), ("@type:union lock",), ("@type:union*", "@type:long int"), ("@type:none",))),
]  # fmt: skip


def judge(row: Row) -> Iterator[str]:
    """Yield the verdict on a row, and its condition in C."""
    kind = find_kind(row.kind)
    assert kind is not None
    layout = Layout(row.struct)
    context = Context(layout, placements(layout, row.line, None, row.storage), row.accesses, row.storage, **row.more)
    try:
        rule = kind(**row.keys)
        yield from describe(rule.check(context), str)
    except (ValueError, CannotTell) as error:
        yield f"{type(error).__name__}: {error}"
        return
    try:
        yield f"in C: {' && '.join(conditions(rule, context))}"
    except (CannotAssert, CannotTell) as error:
        if not str(error).startswith("no expression in C"):
            yield f"not in C: {error}"


def title(row: Row) -> str:
    words = ", ".join(f"{each.path} {each.side} {each.access}" for each in row.accesses)
    where = row.storage and f"{row.storage.spelling}, array {row.storage.array}, stride {row.storage.stride}"
    return f"{row.kind} {row.keys} on {row.struct.name} {row.struct.bit_size} | {words} | {where}"


def test_every_branch(golden):
    lines = (line for row in (*ROWS, *STRIDES) for line in (f"== {title(row)}", *judge(row)) if line)
    golden("branches.txt", "".join(f"{fill(line, 150, subsequent_indent='    ', break_on_hyphens=False)}\n" for line in lines))


def test_every_branch_on_variables(golden):
    lines = (line for row in ON_DATA for line in (f"== {title(row)}", *judge(row)) if line)
    golden("branches-of-variables.txt", "".join(f"{fill(line, 150, subsequent_indent='    ', break_on_hyphens=False)}\n" for line in lines))


@pytest.mark.parametrize(("kind", "keys", "pairs"), [
    ("distance", {"fields": ("a", "b", "c"), "max": 64}, 9), ("separate", {"fields": (("a", "b"), ("c", "d"))}, 4),
    ("separate", {"fields": (("a", "b", "c"), ("d",))}, 3),
])  # fmt: skip
def test_conditions_in_c_for_too_many_pairs(kind, keys, pairs, monkeypatch):
    made = find_kind(kind)
    assert made is not None
    place = Context(Layout(WORDS), placements(Layout(WORDS), None))
    monkeypatch.setattr(line_sharing, "MOST_PAIRS", pairs)
    assert conditions(made(**keys), place)
    monkeypatch.setattr(line_sharing, "MOST_PAIRS", pairs - 1)
    with pytest.raises(CannotTell, match=f"compares {pairs} pairs of fields"):
        conditions(made(**keys), place)
