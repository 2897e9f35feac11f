"""Orders that leave the least of a measured contention: tables of perf c2c, files that are none, all orders of random structs."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from tests.harness.command import run
from tests.harness.effort import draws
from tests.harness.tools import NEEDS_SOLVER

P = "fixtures/profiles"
TABLES = [
    # excerpts of public tables: perf's documentation of peers and HITMs, the kernel's of false sharing, a handbook's of an array
    ("two lines", "struct s { long lock; long pad[3]; long reader; long more[3]; long far; long f2[3]; long other; };", 0x55C8971F0080, """\
   0        0      252     2024      470        0      0x55c8971f0080
 0.00%   12.30%    0.00%    0.00%    0.00%   0x0  0  1  0x55c8971ed3e9     0  1313  863  1222  3  [.] run   box  box.c:1  0
 0.00%    0.79%   90.51%    0.00%    0.00%   0x0  0  1  0x55c8971ed3e2     0  1800  878  3029  3  [.] run   box  box.c:2  0
 0.00%    0.00%    9.49%  100.00%    0.00%   0x0  0  1  0x55c8971ed3f4     0     0    0   662  3  [.] run   box  box.c:3  0
 0.00%   86.90%    0.00%    0.00%    0.00%  0x20  0  1  0x55c8971ed447     0   141  103  1131  2  [.] read  box  box.c:4  0

   1        0      129        0        0        0      0x55c8971f00c0
 0.00%  100.00%    0.00%    0.00%    0.00%  0x20  0  1  0x55c8971ed455     0    88   94   914  2  [.] read  box  box.c:5  0
""", 381, {("lock", "reader"): (219, 4, 0)}, {("true-sharing", "lock"): 33, ("no-writer", "other"): 129}, 1),
    ("no store is sampled", "struct s { long a; void *memcg; void *other; long rest[5]; };", 0xFF1100088366D880, """\
   4        0     2374        0        0        0  0xff1100088366d880
 0.00%   42.29%    0.00%    0.00%    0.00%    0x8  1  1  0xffffffff81373b7b  0  231  129  5312  64  [k] mod  [kernel.vmlinux]  m.h:752  1
 0.00%   13.10%    0.00%    0.00%    0.00%    0x8  1  1  0xffffffff81374718  0  226   97  3551  64  [k] irq  [kernel.vmlinux]  m.h:752  1
 0.00%   23.29%    0.00%    0.00%    0.00%   0x10  1  1  0xffffffff81372d0a  0  234  279  1051  64  [k] mod  [kernel.vmlinux]  m.c:736  1
""", 2374, {}, {("no-writer", "memcg"): 1315, ("no-writer", "other"): 553, ("not-listed", ""): 506}, 0),
    ("a word that all write", "struct s { long a, count; long rest[20]; };", 0x1000, """\
   0        0      100     1000        0        0      0x1000
 0.00%  100.00%  100.00%    0.00%    0.00%   0x8  0  1  0x401000     0  1800  878  3029  8  [.] add  box  box.c:2  0
""", 100, {}, {("true-sharing", "count"): 100}, 0),
    ("fields that many write", "struct s { long a; long b; long c; };", 0x1000, """\
   0        0      100     1000        0        0      0x1000
 0.00%    0.00%   72.00%    0.00%    0.00%   0x0  0  1  0x401000     0  1800  878   700  8  [.] add  box  box.c:2  0
 0.00%   80.00%   24.00%    0.00%    0.00%   0x8  0  1  0x401000     0  1800  878   700  8  [.] add  box  box.c:2  0
 0.00%   20.00%    4.00%    0.00%    0.00%  0x10  0  1  0x401000     0  1800  878   700  8  [.] add  box  box.c:2  0
""", 100, {("a", "b"): (60, 7, 6), ("a", "c"): (15, 6, 7), ("b", "c"): (5, 7, 7)}, {("true-sharing", "b"): 20}, 1),
    ("elements of an array", "struct s { long p[3]; int *end; int sum[4]; long t; };", 0x7FFF35CD5C40, """\
   0       41      446   159354    22984      0x7fff35cd5c40
58.54%   59.19%    0.00%    0.00%  0x18  0  1  0x55bfa7082232  1734  1122  1150  72662  14  [.] main._omp_fn.0  fa  fa.c:17  0
41.46%   38.57%    0.00%    0.00%  0x18  0  1  0x55bfa7082264  1341  1186  1151  71575  14  [.] main._omp_fn.0  fa  fa.c:17  0
 0.00%    0.00%    3.90%    1.41%  0x20  0  1  0x55bfa708226d     0     0     0   6541   1  [.] main._omp_fn.0  fa  fa.c:17  0
 0.00%    0.67%   10.00%   10.00%  0x24  0  1  0x55bfa708223b     0  4398    42   1484   1  [.] main._omp_fn.0  fa  fa.c:17  0
""", 487, {("sum[1]", "end"): (351, 7, 2), ("sum[0]", "end"): (126, 7, 2)},
     {("true-sharing", "sum[1]"): 2, ("one-array", "sum[1]"): 1, ("not-listed", ""): 7}, 2),
]  # fmt: skip


def save(folder: Path, *words: str | Path) -> Path:
    """The evidence of a report."""
    done = run("evidence", *words, "--output", f"json={folder}/e.json")
    assert done.returncode == 0, done.stderr
    return folder / "e.json"


def suggest(*words: str | Path, status: int = 0) -> dict[str, Any]:
    done = run("suggest", *words, "--no-packs", "--format", "json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_the_lock_of_a_tree(tmp_path):
    """The table of a mail and the layout that it is about: without a rule, one move is enough."""
    e = save(tmp_path, f"{P}/c2c-address-space-before.txt", "--in", f"{P}/address-space.h", "--struct", "address_space")
    words = (f"{P}/address-space.h", "address_space", "--evidence", e)
    made = suggest(*words)
    assert (made["status"], [move["member"] for move in made["moves"]], made["size"]) == ("optimal", ["i_mmap_rwsem"], [192, 192])
    contention = made["contention"]
    assert (contention["measured"], contention["placements"], contention["after"]) == (1294, 8, 0)
    pairs = {each["other"]: each for each in contention["pairs"]}
    assert {each["written"] for each in pairs.values()} == {"i_mmap_rwsem.count.counter"}
    assert [pairs[f"i_mmap.{name}"]["after"] for name in ("rb_root.rb_node", "rb_leftmost")] == [0, 0]
    assert sum(each["accesses"] for each in pairs.values()) == 805
    assert [(each["reason"], each["accesses"]) for each in contention["stays"]] == [("true-sharing", 489)]
    text = " ".join(run("suggest", *words, "--no-packs").stdout.split())
    assert "of 1,294 HITMs measured, 805 (62 %) fall away, apart in 8 of 8 placements; 489 (38 %) stay" in text
    assert "489: true sharing of `i_mmap_rwsem.count.counter`, one word that is written and read: no order helps" in text
    patch = " ".join(run("suggest", *words, "--no-packs", "--patch").stdout.split())
    assert "805 (62 %) fall away, apart in 8 of 8 placements" in patch
    assert "+ struct rw_semaphore i_mmap_rwsem;" in patch
    header = tmp_path / "address-space.h"
    header.write_text(Path(f"{P}/address-space.h").read_text())
    assert run("suggest", header, *words[1:], "--no-packs", "--write").returncode == 0
    assert "is of another build" in run("suggest", header, *words[1:], "--no-packs").stderr


@NEEDS_SOLVER
@pytest.mark.parametrize(("text", "base", "table", "measured", "pairs", "stays", "moves"), [row[1:] for row in TABLES], ids=[row[0] for row in TABLES])
def test_tables(tmp_path, text, base, table, measured, pairs, stays, moves):
    (tmp_path / "s.h").write_text(text)
    (tmp_path / "c2c.txt").write_text(table)
    e = save(tmp_path, tmp_path / "c2c.txt", "--in", tmp_path / "s.h", "--struct", "s", "--base", hex(base))
    made = suggest(tmp_path / "s.h", "s", "--evidence", e)
    contention = made["contention"]
    rows = [each for each in contention["pairs"] if not each["estimated"]]
    assert contention["measured"] == measured
    assert {(each["written"], each["other"]): (each["accesses"], each["before"], each["after"]) for each in rows} == pairs
    found = {(each["reason"], each["path"]): each["accesses"] for each in contention["stays"]}
    assert {key: found.get(key) for key in stays} == stays
    assert made["aims"][1]["after"] == moves


def test_members_of_one_declaration_stay_together(tmp_path):
    """And what is aligned is one of them."""
    (tmp_path / "s.h").write_text("struct s { long a, b, c; };")
    (tmp_path / "c2c.txt").write_text(TABLES[3][3])
    e = save(tmp_path, tmp_path / "c2c.txt", "--in", tmp_path / "s.h", "--struct", "s", "--base", hex(TABLES[3][2]))
    made = suggest(tmp_path / "s.h", "s", "--evidence", e)
    assert made["moves"] == []
    assert made["alternatives"][0]["contention"]["after"] < made["contention"]["after"]


def test_alternatives_are_compared_by_what_they_leave(tmp_path):
    """And one can be chosen."""
    (tmp_path / "s.h").write_text(TABLES[4][1])
    (tmp_path / "c2c.txt").write_text(TABLES[4][3])
    e = save(tmp_path, tmp_path / "c2c.txt", "--in", tmp_path / "s.h", "--struct", "s", "--base", hex(TABLES[4][2]))
    words = (tmp_path / "s.h", "s", "--evidence", e)
    made = suggest(*words)
    left = [each["contention"]["after"] for each in made["alternatives"]]
    assert left == sorted(left)
    assert left[0] == 0 < left[-1] < made["contention"]["after"]
    assert suggest(*words, "--alternative", "1")["contention"]["after"] == 0
    fewer = suggest(*words, "--moves", "1")
    assert len(fewer["moves"]) == 1
    assert fewer["contention"]["after"] > made["contention"]["after"]


def test_an_order_that_uses_forbid(tmp_path):
    """Refused if nothing better is left; else the best that is left, and what rules out the better one."""
    (tmp_path / "s.h").write_text("struct s { long a; long b; long c[7]; long d; };\n")
    (tmp_path / "e.json").write_text(json.dumps(profile([line(0, [A, B])], 80)))
    words = (tmp_path / "s.h", "s", "--evidence", tmp_path / "e.json", "--sources", tmp_path / "u.c")
    (tmp_path / "u.c").write_text('#include "s.h"\nstruct s one = { 1, 2, { 3 }, 4 };\n')
    made = suggest(*words, status=3)
    assert (made["status"], made["refusals"][0]["kind"], made["patch"]) == ("refused", "positional-initialiser", None)
    assert suggest(*words, "--force")["contention"]["after"] == 0
    (tmp_path / "u.c").write_text('#include "s.h"\nchar one[__builtin_offsetof(struct s, b) == 8 ? 1 : -1];\n')
    left = suggest(*words)
    assert left["contention"]["after"] == 0
    assert left["offsets"][left["order"].index("b")] == 8


def profile(lines: Sequence[dict[str, Any]], size: int, **more: Any) -> dict[str, Any]:
    own = {"name": "s", "aggregate": "struct", "size": size, "lines": list(lines), "samples": []}
    return {
        "schema": "layoutlint/evidence/1", "inputs": [], "reports": [], "events": [], "structs": [own], **more,
    }  # fmt: skip


def counts(loads: int, stores: int) -> dict[str, int]:
    return {"remote": 0, "local": loads, "peer": 0, "l1_hit": stores, "l1_miss": 0, "other": 0}


def touch(path: str, offset: int, size: int, loads: int, stores: int, records: int, cpus: int = 4) -> dict[str, Any]:
    return {
        "path": path, "offset": offset, "size": size, "at": offset, "counts": counts(loads, stores), "records": records,
        "written": stores > 0, "read_modified": loads > 0, "cpus": cpus,
    }  # fmt: skip


def line(first_byte: int, fields: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    loads, stores = (sum(each["counts"][name] for each in fields) for name in ("local", "l1_hit"))
    return {
        "report": "c2c.txt", "line": 9, "address": "0x1000", "line_size": 64, "counts": counts(loads, stores),
        "first_byte": first_byte, "base": -first_byte % 64, "certainty": "unique", "identified_by": "code",
        "fields": list(fields), **more,
    }  # fmt: skip


A, B = touch("a", 0, 8, 0, 9, 9), touch("b", 8, 8, 5, 0, 20)
ON = {
    # the CPUs that write a, that read b, and that write b; the HITMs of loads of b that a causes, and that b causes
    "not known": (None, None, None, 3, 2),
    "b's own CPU cannot take its line": ([0], [1], [1], 5, 0),
    "two CPUs write b": ([0], [1], [1, 2], 3, 2),
    "a is of the CPU that reads b": ([1], [1], [0], 0, 5),
}


@pytest.mark.parametrize("name", ON)
def test_known_cpus(tmp_path, name):
    writes_a, reads_b, writes_b, by_a, by_b = ON[name]
    a = {**touch("a", 0, 8, 0, 9, 9), "written_on": writes_a, "read_on": []}
    b = {**touch("b", 8, 8, 5, 6, 20), "written_on": writes_b, "read_on": reads_b}
    (tmp_path / "s.h").write_text("struct s { long a, b; char c[64]; };\n")
    (tmp_path / "e.json").write_text(json.dumps(profile([line(0, [a, b])], 80)))
    found = json.loads(run("suggest", "s.h", "s", "--evidence", "e.json", "--format", "json", cwd=tmp_path).stdout)["contention"]
    pairs = {(each["written"], each["other"]): each["accesses"] for each in found["pairs"] if not each["estimated"]}
    assert (pairs.get(("a", "b"), 0), sum(each["accesses"] for each in found["stays"])) == (by_a, by_b)


ARRAY = "struct s { long p[3]; int *end; int sum[4]; long t; };\n"
ARRAY_PROFILE = profile([line(0, [touch("end", 24, 8, 90, 0, 99), touch("sum[1]", 36, 4, 3, 50, 60)], counts=counts(95, 50))], 56)
PLACED = """
[[struct.s]]
placement = "aligned:64"
when = { arch = ["i386"] }

[[struct.s]]
placement = "aligned:32"
"""
FINE = profile([line(0, [A, B])], 24)
REFUSALS = [
    # the file; a part of what is said
    ("", "is not evidence: not a whole JSON object"),
    ('{"schema": "layoutlint/evidence/1", "structs"', "is not evidence: not a whole JSON object"),
    ('{"schema": "layoutlint/check/1"}', "is not evidence: its `schema` is 'layoutlint/check/1'"),
    ({**FINE, "structs": [{**FINE["structs"][0], "name": "other"}]}, "has no accesses to struct s, but to other"),
    ({**FINE, "structs": []}, "has no accesses to struct s, but to no struct"),
    (profile([line(0, [A, B])], 32), "is of another build: s has 32 bytes there, and 24 here"),
    (profile([line(0, [A, {**B, "offset": 16, "at": 16}])], 24), "is of another build: bytes of `b` are 8 at 16, and 8 at 8 here"),
    (profile([line(0, [A, {**B, "path": "z"}])], 24), "is of another build: bytes of `z` are 8 at 8, and none here"),
    ({**FINE, "reports": [{"path": each, "formats": [], "captured": None, "snoops": each} for each in ("hitm", "peer")]}, "HITMs, and others peer snoops"),
    ({**FINE, "structs": [{**FINE["structs"][0], "lines": [line(0, [A, touch("b", 8, 8, 2**64 - 1, 0, 9)])]}]}, "expected `int` <= 4611686018427387904"),
    (profile([], 24), "has no cache line of s: only perf c2c shows who contends"),
    (profile([line(0, [A, B], counts=counts(1, 9))], 24), "numbers that cannot be, of line 0x1000: fields have 5 contended loads, and the line 1"),
    (profile([line(0, [A, B], counts=counts(5, 1))], 24), "numbers that cannot be, of line 0x1000: fields have 9 contended stores, and the line 1"),
    (profile([line(0, [A, touch("b", 8, 8, 1 << 50, 0, 1 << 51)])], 24), "expected `int` <= 281474976710656"),
    (profile([line(0, [A, {**B, "records": 1 << 50}])], 24), "expected `int` <= 281474976710656"),
    (profile([line(0, [A, touch("b", 8, 8, -5, 0, 20)])], 24), "expected `int` >= 0"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "words"), REFUSALS, ids=[row[1][-40:] for row in REFUSALS])
def test_refusals(tmp_path, content, words):
    """Nothing is written."""
    (tmp_path / "s.h").write_text("struct s { long a, b, c; };\n")
    (tmp_path / "e.json").write_text(content if isinstance(content, str) else json.dumps(content))
    done = run("suggest", "s.h", "s", "--evidence", "e.json", "--no-packs", "--write", "--output", "patch=p", cwd=tmp_path)
    assert words in done.stderr
    assert (done.returncode, done.stdout) == (3, "")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["e.json", "s.h"]


def test_placements_that_rule_files_state(tmp_path):
    """Those of the machine of the input."""
    (tmp_path / "s.h").write_text("struct s { long a; long b; long c; };\n")
    (tmp_path / "e.json").write_text(json.dumps(FINE))
    (tmp_path / "r.toml").write_text(PLACED)
    made = suggest(tmp_path / "s.h", "s", "--evidence", tmp_path / "e.json", "--rules", tmp_path / "r.toml")
    assert made["contention"]["placements"] == 2


TOGETHER = [
    # options beside --evidence; what is said
    (("--smallest",), "--evidence is an aim, as --smallest and --optimize lines are: choose one"),
    (("--optimize", "lines"), "--evidence is an aim, as --smallest and --optimize lines are: choose one"),
    (("--matrix", "m.toml"), "--evidence is of one build: leave --matrix out"),
    (("--output", "patch=e.json"), "e.json"),
]


@pytest.mark.parametrize(("options", "words"), TOGETHER, ids=[row[0][0] for row in TOGETHER])
def test_options_that_do_not_go_together(tmp_path, options, words):
    (tmp_path / "s.h").write_text("struct s { long a, b, c; };\n")
    (tmp_path / "e.json").write_text(json.dumps(FINE))
    done = run("suggest", "s.h", "s", "--evidence", "e.json", "--no-packs", *options, cwd=tmp_path)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_products_where_hitms_are_missing(tmp_path):
    """Stores times loads and stores, unless the same processor can have made both."""
    (tmp_path / "s.h").write_text("struct s { long a, b, c, d; };\n")
    fields = [touch("a", 0, 8, 0, 9, 9), touch("b", 8, 8, 0, 0, 20), touch("c", 16, 8, 0, 3, 4, 1), touch("d", 24, 8, 0, 0, 7, 1)]
    (tmp_path / "e.json").write_text(json.dumps(profile([line(0, fields)], 32)))
    contention = suggest(tmp_path / "s.h", "s", "--evidence", tmp_path / "e.json")["contention"]
    assert contention["unit"] == "product"
    rows = {(each["written"], each["other"]): each["accesses"] for each in contention["pairs"]}
    assert rows == {("a", "b"): 180, ("a", "d"): 63, ("a", "c"): 36, ("c", "b"): 60}


TYPES = [("char", 1, 1), ("short", 2, 2), ("int", 4, 4), ("long", 8, 8), ("char@[24]", 24, 1), ("long@[5]", 40, 8), ("struct two", 16, 8)]
Order = Sequence[int]


class Case:
    """A random struct with a profile of it, and perhaps a rule. All that is known of layouts and profiles is here."""

    def __init__(self, seed: int, most: int) -> None:
        chance = random.Random(seed)
        self.types = [chance.choice(TYPES) for _ in range(chance.randrange(3, most + 1))]
        self.align = max(each[2] for each in self.types)
        step = max(self.align, 8)
        self.bases = range(0, 64, step)
        self.leaves = [leaf for at, each in enumerate(self.types) for leaf in self._leaves(at, each[0])]
        """Paths of fields with accesses, their member, their place in it and their bytes."""
        hot = chance.sample(self.leaves, min(len(self.leaves), chance.randrange(2, 6)))
        self.kept_apart = tuple(chance.sample(range(len(self.types)), 2)) if chance.random() < 0.4 else ()
        starts, self.size = self.lay_out(range(len(self.types)))
        self.lines: list[dict[str, Any]] = []
        for base in chance.sample(list(self.bases), min(len(self.bases), 2)):
            placed: dict[int, list[dict[str, Any]]] = {}
            for path, member, shift, size in hot:
                at = starts[member] + shift
                stores, loads = chance.choice((0, 0, 3, 40, 900)), chance.choice((0, 7, 100, 1000))
                records = stores + loads + chance.randrange(500)
                placed.setdefault((at + base) // 64, []).append(touch(path, at, size, loads, stores, records, chance.choice((1, 8))))
            self.lines += [line(64 * number - base, fields) for number, fields in placed.items()]

    def _leaves(self, at: int, name: str) -> Iterator[tuple[str, int, int, int]]:
        if name == "struct two":
            yield from ((f"m{at}.x", at, 0, 8), (f"m{at}.y", at, 8, 8))
        elif "[" not in name:
            yield f"m{at}", at, 0, next(each[1] for each in TYPES if each[0] == name)

    @property
    def text(self) -> str:
        members = "".join(f"\t{name} m{at};\n" if "@" not in name else f"\t{name.replace('@', f' m{at}')};\n" for at, (name, _, _) in enumerate(self.types))
        return f"struct two {{ long x, y; }};\nstruct s {{\n{members}}};\n"

    @property
    def rules(self) -> str:
        names = "], [".join(f'"m{at}"' for at in self.kept_apart)
        return f'[[rule]]\nid = "r"\nstruct = "s"\nkind = "separate"\nneighbours = false\nwhy = "x"\nfields = [[{names}]]\n' if names else ""

    def lay_out(self, order: Order) -> tuple[dict[int, int], int]:
        end, starts = 0, {}
        for at in order:
            _, size, align = self.types[at]
            starts[at] = -(-end // align) * align
            end = starts[at] + size
        return starts, -(-end // self.align) * self.align

    def weights(self) -> Counter[frozenset[str]]:
        """The HITMs of each pair, with estimates."""
        found: Counter[frozenset[str]] = Counter()
        products: dict[frozenset[str], int] = {}
        total: dict[str, list[int]] = {}
        writers, together = set(), set()
        for each in self.lines:
            fields = each["fields"]
            stores = {one["path"]: one["counts"]["l1_hit"] for one in fields}
            own = {path: count for path, count in stores.items() if count and 20 * count >= sum(stores.values())}
            writers |= own.keys()
            together |= {frozenset((a["path"], b["path"])) for a, b in combinations(fields, 2)}
            for one in fields:
                sums = total.setdefault(one["path"], [0, 0, 0])
                sums[0] += one["counts"]["l1_hit"]
                sums[1] += one["records"] - one["counts"]["l1_hit"]
                sums[2] = max(sums[2], one["cpus"])
                exact = {path: one["counts"]["local"] * count / sum(own.values()) for path, count in own.items()}
                parts = {path: int(part + 1e-9) for path, part in exact.items()}
                while own and sum(parts.values()) < one["counts"]["local"]:
                    nearest = max(own, key=lambda path: (exact[path] - parts[path]))
                    parts[nearest] += 1
                for path, part in parts.items():
                    if path != one["path"]:
                        found[frozenset((path, one["path"]))] += part
        for a, b in combinations(total, 2):
            if not total[a][2] == total[b][2] == 1:
                products[frozenset((a, b))] = sum(total[x][0] * total[y][1] for x, y in ((a, b), (b, a)) if x in writers)
                products[frozenset((a, b))] += total[a][0] * total[b][0] * (a in writers and b in writers)
        seen = sum(count for pair, count in products.items() if pair in together)
        if any(each["counts"]["local"] for each in self.lines):
            rate = sum(found.values()) / seen if seen else 0
            found.update({pair: round(rate * count) for pair, count in products.items() if pair not in together})
        else:
            found.update(products)
        return found

    def count_shared(self, starts: dict[int, int], one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
        """At how many bases two runs of bytes share a line: their members, places in them, and bytes."""
        ends = [(starts[member] + shift, starts[member] + shift + size - 1) for member, shift, size in (one, other)]
        (_, low), (high, _) = sorted(ends)
        return sum((low + base) // 64 == (high + base) // 64 for base in self.bases)

    def is_kept(self, starts: dict[int, int]) -> bool:
        return not self.kept_apart or not self.count_shared(starts, *((at, 0, self.types[at][1]) for at in self.kept_apart))

    def best(self) -> tuple[int, int, int] | None:
        """The least contention of all orders that keep the rule, with the fewest moves and bytes; None for none."""
        leaf = {path: (member, shift, size) for path, member, shift, size in self.leaves}
        pairs = [([leaf[path] for path in pair], weight) for pair, weight in self.weights().items() if weight]
        known: dict[tuple[Any, ...], int] = {}
        found = []
        used = {member for own, _ in pairs for member, _, _ in own} | set(self.kept_apart)
        for order in permutations(range(len(self.types))):
            starts, size = self.lay_out(order)
            key = tuple(starts[at] for at in sorted(used))
            if key not in known:
                cost = sum(weight * self.count_shared(starts, *own) for own, weight in pairs)
                known[key] = cost if self.is_kept(starts) else -1
            if known[key] >= 0:
                found.append((known[key], moves(order), size))
        return min(found, default=None)


def moves(order: Order) -> int:
    """The members outside of a longest rising run."""
    best: list[int] = []
    for at, number in enumerate(order):
        best.append(1 + max((best[other] for other in range(at) if order[other] < number), default=0))
    return len(order) - max(best)


def faults(seed: int, most: int, folder: Path) -> list[str]:
    from layoutlint.suggestion.builds import Request  # imports the solver
    from layoutlint.suggestion.run import suggest as search

    case = Case(seed, most)
    (folder / "s.h").write_text(case.text)
    (folder / "e.json").write_text(json.dumps(profile(case.lines, case.size)))
    packs = (rule_file.parse(case.rules, "r.toml"),) if case.rules else ()
    request = Request("s", ("contention", "moves", "size"), 1.0, evidence=(str(folder / "e.json"),))
    result = search(str(folder / "s.h"), request, packs, (), Options())
    best = case.best()
    if best is None:
        return [] if result.status == "infeasible" else [f"{seed}: {result.status}, and no order keeps the rule"]
    reached = tuple(each.after for each in result.aims)
    starts, size = case.lay_out([int(name[1:]) for name in result.order])
    own = {field.name: field.bit_offset // 8 for field in result.new.fields} if result.new else {}
    wrong = [] if own == {f"m{at}": start for at, start in starts.items()} and reached[2] == size else [f"{seed}: other offsets"]
    wrong += [] if case.is_kept(starts) else [f"{seed}: the rule is broken"]
    wrong += [] if result.status == "optimal" and reached == best else [f"{seed}: {result.status} {reached}, and {best} is the best"]
    return wrong


@pytest.fixture
def _without_alternatives(monkeypatch):
    """Leave out what alignment adds: it is searched anew for each aligned member."""
    from layoutlint.suggestion import run  # imports the solver

    monkeypatch.setattr(run, "alternatives", lambda *_: ())


@NEEDS_SOLVER
@pytest.mark.usefixtures("_without_alternatives")
def test_no_order_leaves_less(tmp_path):
    assert [fault for seed in range(12) for fault in faults(seed, 5, tmp_path)] == []


@NEEDS_SOLVER
@pytest.mark.exhaustive
@pytest.mark.usefixtures("_without_alternatives")
@pytest.mark.parametrize("first", range(0, draws(200, 1000), 20))
def test_no_order_of_more_structs_leaves_less(tmp_path, first):
    assert [fault for seed in range(1000 + first, 1020 + first) for fault in faults(seed, 8, tmp_path)] == []


def test_the_generator_draws_all_kinds_of_cases():
    """Rules that can be kept and those that cannot, several lines, estimates, and nothing to part."""
    cases = [Case(seed, 5) for seed in range(60)]
    assert {bool(case.kept_apart) for case in cases} == {True, False}
    assert max(len(case.lines) for case in cases) > 2
    assert any(not sum(case.weights().values()) for case in cases)
