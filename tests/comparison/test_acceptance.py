"""What `check --snapshot` accepts: other names with `--renames`, and what `--may-use` lets lie in reserved members."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.harness.command import run

MACROS = """
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define CHECK(old, new) union { \\
	_Static_assert(sizeof(struct { new; }) <= sizeof(struct { old; }), ""); \\
	_Static_assert(__alignof__(struct { new; }) <= __alignof__(struct { old; }), ""); \\
}
#define REPLACE(old, new) union { new; struct { old; } PASTE(__UNIQUE_ID_hide, __COUNTER__); CHECK(old, new); }
#define RESERVE(n) unsigned long kabi_reserved##n
#define USE(n, new) REPLACE(RESERVE(n), new)
#define USE2(n, a, b) REPLACE(RESERVE(n), struct { a; b; })
"""
"""The macros of Android (android_kabi.h) and RHEL (rh_kabi.h), with shorter names. Their counter numbers names anew in each build."""
GLOBS = ("kabi_reserved[0-9]*", "spare", "part.rest", "by_name.tail")
CASES: dict[str, tuple[str, str, bool]] = {
    # the members before and now; whether it is accepted
    "a union": ("int a; RESERVE(1); int b;", "int a; USE(1, unsigned long used); int b;", True),
    "a union with a smaller one": ("int a; RESERVE(1); int b;", "int a; USE(1, char used); int b;", True),
    "a union with two": ("RESERVE(1);", "USE2(1, int x, int y);", True),
    "a plain union": ("RESERVE(1);", "union { void *used; struct { RESERVE(1); }; };", True),
    "a named union": ("RESERVE(1);", "union { void *used; RESERVE(1); } u;", True),
    "in its place": ("RESERVE(1); int b;", "void *used; int b;", True),
    "of its type": ("RESERVE(1); int b;", "unsigned long used; int b;", True),
    "two in its place": ("RESERVE(1); long b;", "int x; short y; long b;", True),
    "bits in its place": ("RESERVE(1); int b;", "unsigned long x : 3, y : 5, rest : 56; int b;", True),
    "one in two": ("RESERVE(1); RESERVE(2); int b;", "struct { long x, y; } used; int b;", True),
    "across two": ("RESERVE(1); RESERVE(2); long b;", "int x; struct { int y[3]; } used; long b;", True),
    "one of two": ("RESERVE(1); RESERVE(2);", "RESERVE(1); long used;", True),
    "the start of an array": ("long spare[4]; int b;", "long used, spare[3]; int b;", True),
    "the end of an array": ("long spare[4]; int b;", "long spare[3], used; int b;", True),
    "bits": ("unsigned kind : 3, spare : 29;", "unsigned kind : 3, used : 2, spare : 27;", True),
    "of a member of another struct": ("struct part part; int b;", "struct part_used part; int b;", False),
    "a larger one": ("int a; RESERVE(1); int b;", "int a; long used[2]; int b;", False),
    "beside it": ("int a; RESERVE(1); char b;", "int a; RESERVE(1); char b, used;", False),
    "over its edge": ("int a; RESERVE(1); int b;", "int a; union { RESERVE(1); struct { int x[2], y; }; }; int b;", False),
    "gone for nothing": ("RESERVE(1); RESERVE(2); _Alignas(64) int b;", "RESERVE(1); _Alignas(64) int b;", False),
    "shorter for nothing": ("long spare[4]; _Alignas(64) int b;", "long spare[3]; _Alignas(64) int b;", False),
    "another member in its place": ("int a; RESERVE(1); int b;", "int a; USE(1, long used); unsigned long b;", False),
    "what the union has beside it": ("int a; RESERVE(1); int b;", "int a; USE(1, long used); int c;", False),
    "a member of another name": ("long other; int b;", "long used; int b;", False),
    "another alignment": ("int a; RESERVE(1);", "_Alignas(16) int a; USE(1, long used);", False),
    "the bytes of a used one": ("USE(1, int used);", "USE2(1, int used, int more);", True),
    "again": ("USE(1, long used);", "union { long used; struct { unsigned long kabi_reserved1; } h; int again; };", False),
    "another in its place": ("USE(1, long used);", "USE(1, long other);", False),
    "without the reserved one": ("USE(1, long used);", "long used;", False),
    "a flexible array": ("int a; long spare[2];", "int a; long used[];", False),
    "a struct with nothing but a reserved one": ("struct whole whole; int b;", "long used; int b;", False),
    "by the name of a struct": ("int a; RESERVE(1); int tail;", "int a; RESERVE(1); int used;", False),
}


def judge(folder: Path, *words: str) -> dict[str, dict[str, Any]]:
    done = run("check", "s.h", "--snapshot", "l.json", "--format", "json", *words, cwd=folder)
    report = json.loads(done.stdout)
    return {each["struct"]: each for each in (*report["findings"], *report["kept"])}


def write(folder: Path, structs: dict[str, str], *words: str) -> None:
    """Write structs, and their snapshot if `words` has its options."""
    (folder / "s.h").write_text(MACROS + "".join(f"struct {name} {{ {text} }};\n" for name, text in structs.items()))
    if words:
        done = run("snapshot", "s.h", "--all", "--output", "l.json", *words, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")


def test_what_may_be_used(tmp_path):
    names = {f"s{number}": name for number, name in enumerate(CASES)}
    fixed = {"part": "long head, rest;", "part_used": "long head, used;", "by_name": "int tail;", "whole": "long spare;"}
    write(tmp_path, fixed | {key: CASES[name][0] for key, name in names.items()}, *(word for glob in GLOBS for word in ("--may-use", glob)))
    write(tmp_path, fixed | {"by_name": "int used;", "counted": "USE(1, int a);"} | {key: CASES[name][1] for key, name in names.items()})
    found = judge(tmp_path)
    assert {name: found[key]["outcome"] for key, name in names.items()} == {
        name: "kept" if is_accepted else "broken" for name, (_, _, is_accepted) in CASES.items()
    }
    assert found["by_name"]["outcome"] == "kept"
    assert all("accepted edits" in found[key]["message"] for key, name in names.items() if CASES[name][2])


def test_the_counter_of_a_macro_and_what_embeds(tmp_path):
    """Names of a counter are none; a struct that embeds one whose reserved member is used is held as far as the rest."""
    rest = {"in": "int z; RESERVE(7);", "out": "struct in in; USE(1, long used); USE(2, long other);", "arr": "struct in in[3];"}
    write(tmp_path, rest, "--may-use", "kabi_*", "--types")
    write(tmp_path, {"counted": "USE(1, int a);", **rest})
    assert {each["message"] for name, each in judge(tmp_path).items()} == {"has the layout of l.json"}
    write(tmp_path, {"counted": "USE(1, int a);", **rest, "in": "int z; USE(7, void *p);"})
    assert {name: each["outcome"] for name, each in judge(tmp_path).items()} == dict.fromkeys(rest, "kept")
    write(tmp_path, {**rest, "in": "int y; USE(7, void *p);"})
    assert {name: each["outcome"] for name, each in judge(tmp_path).items()} == dict.fromkeys(rest, "broken")


RENAMES = [
    # the members before and now; whether `--renames` accepts it
    ("int a, flags;", "int a, features;", True), ("unsigned a : 3, b : 5;", "unsigned c : 3, d : 5;", True),
    ("struct in in; int a;", "struct in other; int b;", True), ("union { int a; float f; };", "union { int b; float f; };", True),
    ("struct changed c;", "struct changed c;", True), ("struct changed c[2];", "struct changed d[2];", False),
    ("int a;", "unsigned b;", False), ("int a, b;", "int b, c;", False), ("int a;", "int b, c;", False), ("int a;", "_Alignas(8) int b;", False),
]  # fmt: skip


def test_other_names(tmp_path):
    fixed = {"in": "int x, y;", "changed": "int x, y;"}
    write(tmp_path, fixed | {f"s{number}": row[0] for number, row in enumerate(RENAMES)}, "--types")
    write(tmp_path, fixed | {"changed": "int x, z;"} | {f"s{number}": row[1] for number, row in enumerate(RENAMES)})
    assert {name for name, each in judge(tmp_path).items() if each["outcome"] == "kept"} == {"in"}
    found = judge(tmp_path, "--renames")
    assert [found[f"s{number}"]["outcome"] == "kept" for number in range(len(RENAMES))] == [row[2] for row in RENAMES]
    assert "by accepted edits: renamed `flags` -> `features`, 4 bytes at 4" in found["s0"]["message"]
