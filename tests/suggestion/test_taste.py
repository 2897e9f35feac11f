"""Which of the orders with as few moves is suggested, and the reason that the report has for each move."""

from __future__ import annotations

import json
import random
import re
from itertools import combinations, permutations
from types import SimpleNamespace

import pytest

from layoutlint.model.storage import Storage
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.target import target_named
from layoutlint.readers.clang.members import outlines
from layoutlint.suggestion.orders.problem import BuildTask
from tests.harness.build import member, struct
from tests.harness.command import run
from tests.harness.effort import draws
from tests.harness.tools import NEEDS_SOLVER

ORDER = '[[rule]]\nid = "first"\nstruct = "q"\nkind = "order"\nfields = ["{}", "{}"]\nwhy = "w"\n'
ACCESSES = '[struct.q.fields]\nhead = { access = "hot-write" }\nslow = { access = "hot-write" }\n'
SIDES = '[pack]\nname = "p"\nsides = ["tx", "rx"]\n[struct.q.fields]\nhead = { rx = "hot-write" }\nslow = { rx = "hot-write" }\n'
NEAREST = "the nearest place that keeps the rules"
CASES = [
    # declarations, one a line; rules; the only move: member, the one before it, why there
    pytest.param("long a; | long b; | long c; | long d;", ORDER.format("d", "b"), ("d", "a", NEAREST), id="the shortest way: what is declared later moves"),
    pytest.param(
        "long a; | /* of b */ | long b; | long c; | long d;", ORDER.format("c", "b"), ("c", "a", NEAREST),
        id="fewest lines: what has a comment of its own stays",
    ),
    pytest.param(
        "long a; | long b; | /* of c */ | long c; | long d;", ORDER.format("c", "b"), ("b", "c", NEAREST),
        id="fewest lines: the other one has the comment",
    ),
    pytest.param(
        "long a; | long b; | #ifndef LEAN | long c; | #endif | long d;", ORDER.format("c", "b"), ("b", "c", NEAREST),
        id="fewest lines: directives count",
    ),
    pytest.param(
        "long z; | long a; | long tx_b; | long c; | long tx_d; | long e;", ORDER.format("c", "tx_b"),
        ("tx_b", "c", "beside `tx_d`: the same prefix, tx_"), id="the same prefix",
    ),
    pytest.param(
        "long z; | long head; | long u; | long v; | long rx_w; | long slow; | long y;", ORDER.format("v", "head") + ACCESSES,
        ("head", "rx_w", "beside `slow`: the same access, hot-write"), id="the same access is worth a longer way",
    ),
    pytest.param(
        "long z; | long head; | long u; | long v; | long slow; | long y;", SIDES + ORDER.format("v", "head"),
        ("head", "v", "beside `slow`: the same access, hot-write of rx"), id="the same access of one side",
    ),
    pytest.param(
        "long z; | long b; | char u; | char v; | int w; | long c; | long d;", ORDER.format("c", "b"),
        ("c", "z", NEAREST), id="no access, no prefix",
    ),
    pytest.param(
        "long e; | long a; | | long m; | | /* a group */ | long b; | long c; | | long d;", ORDER.format("b", "a"),
        ("a", "d", "the nearest place outside of groups with a comment"), id="not in a group with a comment",
    ),
    pytest.param(
        "long e; | long a; | | long m; | | /* of b */ | long b; | | long c; | long d;", ORDER.format("b", "a"),
        ("a", "b", NEAREST), id="a comment on one member makes no group",
    ),
    pytest.param(
        "long z; | int i; | long a; | long b; | long c; | int j;", ORDER.format("c", "i"), ("i", "c", NEAREST), id="no hole more",
    ),
    pytest.param(
        "long z; | int i; | int k; | long a; | long c; | long d; | int j; | int l;", ORDER.format("c", "k"),
        ("c", "z", "the nearest place with 48 bytes"), id="no larger struct, whatever the way",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "rules", "move"), CASES)
def test_one_of_several_orders(tmp_path, body, rules, move):
    lines = "".join(f"{line.strip()}\n" if line.strip().startswith("#") else f"\t{line.strip()}\n" if line.strip() else "\n" for line in body.split("|"))
    (tmp_path / "q.h").write_text(f"struct q {{\n{lines}}};\n")
    (tmp_path / "q.toml").write_text(rules)
    done = run("suggest", "q.h", "q", "--rules", "q.toml", "--no-packs", "--format", "json", cwd=tmp_path)
    (made,) = json.loads(done.stdout)["moves"]
    assert (made["member"], made["behind"], made["why"]) == (*move[:2], f"for first; {move[2]}")


def key_of(order: tuple[int, ...], names: list[str], lines: list[int], groups: list[int | None], accesses: list[str]) -> tuple[int, ...]:
    """What decides between orders, worked out from all that can stay: of those, what is declared late stays."""
    stay = max(
        (kept for count in range(len(order) + 1) for kept in combinations(order, count) if list(kept) == sorted(kept)),
        key=lambda kept: (len(kept), sum(lines[at] for at in kept), kept[::-1]),
    )
    strangers = intruders = 0
    for place, at in enumerate(order):
        if at in stay:
            continue
        before, behind = [each for each in order[:place] if each in stay], [each for each in order[place:] if each in stay]
        beside = (*before[-1:], *behind[:1])
        strangers += not any((accesses[at] and accesses[at] == accesses[each]) or names[at][:3] == names[each][:3] for each in beside)
        intruders += bool(before) and groups[before[-1]] not in (None, groups[at])
    changed = sum(count for at, count in enumerate(lines) if at not in stay)
    way = sum(abs(place - at) for place, at in enumerate(order))
    return len(order) - len(stay), changed, strangers, intruders, order[0] != 0, way


@NEEDS_SOLVER
@pytest.mark.parametrize("seed", range(draws(12, 150)))
def test_no_order_is_better(tmp_path, seed):
    """All orders of small structs of words, whose size and holes never differ."""
    rng = random.Random(seed)
    count = rng.randrange(4, 8)
    names = [f"{rng.choice(('rx', 'tx', 'qa'))}_{at}" for at in range(count)]
    accesses = [rng.choice(("", "hot-write", "hot-read")) for _ in names]
    text, lines, groups, at = [], [], list[int | None](), 0
    while at < count:
        run_length = min(rng.choice((1, 1, 2, 3)), count - at)
        has_comment = rng.random() < 0.6
        text += ["", *["/* more */"] * has_comment]
        for number in range(run_length):
            text.append(f"long {names[at + number]};")
            lines.append(1 + (has_comment and not number))
            groups.append(at if has_comment and run_length > 1 else None)
        at += run_length
    pairs = [sorted(rng.sample(range(count), 2)) for _ in range(rng.choice((1, 1, 2)))]
    rules = "".join(ORDER.replace('"first"', f'"r{number}"').format(names[b], names[a]) for number, (a, b) in enumerate(pairs))
    fields = "".join(f'{name} = {{ access = "{access}" }}\n' for name, access in zip(names, accesses, strict=True) if access)
    (tmp_path / "q.h").write_text("struct q {\n" + "\n".join(text) + "\n};\n")
    (tmp_path / "q.toml").write_text(f"[struct.q.fields]\n{fields}{rules}")
    made = json.loads(run("suggest", "q.h", "q", "--rules", "q.toml", "--no-packs", "--format", "json", cwd=tmp_path).stdout)
    found = tuple(names.index(name) for name in made["order"])
    orders = (each for each in permutations(range(count)) if all(each.index(b) < each.index(a) for a, b in pairs))
    fewest = [each for each in orders if moves_in(each) == made["aims"][0]["after"]]
    keys = {each: key_of(each, names, lines, groups, accesses) for each in fewest}
    assert keys[found] == min(keys.values())


def moves_in(order: tuple[int, ...]) -> int:
    """The members outside of a longest increasing subsequence."""
    longest = [0] * len(order)
    for place, at in enumerate(order):
        longest[place] = 1 + max((longest[each] for each in range(place) if order[each] < at), default=0)
    return len(order) - max(longest)


GROWTH = [
    # where objects of 64 bytes come from, their new size; bytes, lines, and bytes of a block or pages of a slab that are more
    ("kmalloc", 72, (8, 1, 32)), ("kmalloc", 128, (64, 1, 64)), ("kmalloc", 56, (0, 0, 0)), (None, 72, (8, 1, 0)),
    ("slab", 72, (8, 1, 1)), ("slab", 4096, (4032, 63, 7)),
]  # fmt: skip


@pytest.mark.parametrize(("word", "size", "expected"), GROWTH)
def test_what_a_larger_struct_takes(word, size, expected):
    """kmalloc-64, -96 and -128; 60 objects of 72 bytes, the least for 8192 processors, need a second page (mm/slub.c)."""
    arrangement = SimpleNamespace(declared=struct("q", 64, member("a", 0, 8)))
    storage = None if word is None else Storage(word, Source(""))
    assert BuildTask(arrangement, 0, (), storage=storage).growth(size) == expected  # type: ignore[arg-type]


OUTLINES = [
    # the lines of a struct, and for each field the lines of its declaration and the line of its group's comment
    ("long a;|long b, c;|/* of d */|long d; /* more */", {"a": (1, None), "b": (1, None), "c": (1, None), "d": (2, None)}),
    ("/* a group */|long a;|long b;||long c;", {"a": (2, 2), "b": (1, 2), "c": (1, None)}),
    ("long z;|/* not apart */|long a;|long b;", {"z": (1, None), "a": (2, None), "b": (1, None)}),
    ("/* one */|long a;|/* of b */|long b;|long c;", {"a": (2, None), "b": (2, None), "c": (1, None)}),
    ("long z;||/* two|   lines */||long a;|long b;|", {"z": (1, None), "a": (4, 4), "b": (1, 4)}),
    ("long z;|#if 1|long a;|#endif|long b;", {"z": (1, None), "a": (3, None), "b": (1, None)}),
    ("#if 1|long a;|long b;|#endif", {"a": (1, None), "b": (1, None)}),
]


@pytest.mark.parametrize(("body", "expected"), OUTLINES)
def test_lines_and_groups_of_the_text(body, expected):
    text = "struct q {\n" + body.replace("|", "\n") + "\n};\n"
    names = {name: text[: re.search(rf" {name}[,;]", text).start()].count("\n") + 1 for name in expected}
    fields = tuple(Field(name, None, 64 * at, 64, source=Source("q.h", line)) for at, (name, line) in enumerate(names.items()))
    given = Struct("q", "struct", 64 * len(fields), 8, fields, target_named("x86_64"), Source("q.h", 1))
    made = outlines(text, given)
    assert {name: (made[at].lines, made[at].group) for at, name in enumerate(names)} == expected
