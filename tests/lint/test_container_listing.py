"""`layoutlint containers` as its users meet it: what it prints, and its exit status."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from layoutlint.lint import container_listing as containers
from layoutlint.model.reading import ReadOptions
from tests.harness.command import run
from tests.oracles.c_probe import need

pytestmark = pytest.mark.usefixtures("whole_runs")

POOL = """
typedef struct { int counter; } atomic_t;
struct lock { atomic_t count; int owner; };
typedef struct lock lock_t;
struct slot { char state; struct lock lock; long data[5]; };
struct ring { long head; struct slot slots[16]; };
struct rings { int count; struct ring rings[]; };
union any { lock_t lock; long word; };
struct lonely { int nothing; };
struct declared;
struct other { struct declared *pointer; };
struct twice_a { struct lock lock; } __attribute__((aligned(64)));
"""
ROWS = """\
struct lock  pool.h:3
  8 bytes; embedded in 5 types, in 3 of them directly
  `line` and `byte` are for a container at the start of a 64-byte line; `bases` is the number of
  places of a line where the struct can start. For an array, `offset` is that of the first element.

  offset      of    line  byte  bases  container
       0       8       0     0      8  any.lock
      12     904       0    12      8  ring.slots[16].lock  16, 56 bytes apart  through slot
      20       8       0    20      8  rings.rings[].slots[16].lock  16, 56 bytes apart, in each of any number, 904 bytes apart  through ring, slot
       4      56       0     4      8  slot.lock
       0      64       0     0      1  twice_a.lock
"""
NOBODY = """\
struct lonely  pool.h:9
  4 bytes; nothing embeds it
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pool.h").write_text(POOL)
    return tmp_path


LISTED = [
    # id, arguments, stdout
    ("a tag", ["pool.h", "lock"], ROWS),
    ("a typedef", ["pool.h", "lock_t"], ROWS),
    ("embedded by nobody", ["pool.h", "lonely"], NOBODY),
]


@pytest.mark.parametrize(("arguments", "stdout"), [row[1:] for row in LISTED], ids=[row[0] for row in LISTED])
def test_listing(folder, arguments, stdout):
    done = run("containers", *arguments, cwd=folder, COLUMNS="104")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == stdout


def test_colour_changes_no_character(folder):
    plain = run("containers", "pool.h", "lock", cwd=folder).stdout
    colored = run("containers", "pool.h", "lock", "--color", "always", cwd=folder).stdout
    assert colored != plain
    assert re.sub("\x1b\\[[0-9;]*m", "", colored) == plain


LINES = [
    # offset, size of what is embedded, line and byte, the mark
    (0, 8, "0 0", ""),
    (56, 8, "0 56", ""),
    (60, 8, "0 60", "<-- straddles lines 0 and 1"),
    (64, 64, "1 0", ""),
    (72, 64, "1 8", "<-- straddles lines 1 and 2"),
    (64, 128, "1 0", "(lines 1..2)"),
]


@pytest.mark.parametrize(("offset", "size", "where", "mark"), LINES)
def test_lines_of_a_container_that_starts_on_one(tmp_path, offset, size, where, mark):
    before = f"char before[{offset}];" if offset else ""
    (tmp_path / "held.h").write_text(
        f"struct held {{ int a[{size // 4}]; }};\nstruct holder {{ {before} struct held held; }};\n"
    )
    row = run("containers", "held.h", "held", cwd=tmp_path).stdout.splitlines()[-1]
    words = row.split("holder.held")
    assert words[0].split()[0] == str(offset)
    assert " ".join(words[0].split()[2:4]) == where
    assert words[1].strip() == mark


def test_direct_only(folder):
    done = run("containers", "pool.h", "lock", "--direct", "--format", "json", cwd=folder)
    ways = json.loads(done.stdout)["structs"][0]["containers"]
    assert [(way["name"], way["path"], way["through"]) for way in ways] == [
        ("any", "lock", []), ("slot", "lock", []), ("twice_a", "lock", []),
    ]  # fmt: skip


STATUS = [
    # id, arguments, status, what stderr says
    ("found", ["pool.h", "lock"], 0, ""),
    ("embedded by nobody", ["pool.h", "lonely"], 0, ""),
    ("misspelt", ["pool.h", "lokc"], 3, "layoutlint: pool.h: no struct lokc (did you mean `lock`?)"),
    ("a typedef misspelt", ["pool.h", "atomicc_t"], 3, "layoutlint: pool.h: no struct atomicc_t (did you mean `atomic_t`?)"),
    ("unlike anything", ["pool.h", "zzz"], 3, "layoutlint: pool.h: no struct zzz"),
    ("in neither", ["pool.h", "more.h", "zzz"], 3, "layoutlint: pool.h, more.h: no struct zzz"),
    ("allowed", ["pool.h", "zzz", "--allow-unknown"], 0, "layoutlint: pool.h: no struct zzz"),
    ("declared only", ["pool.h", "declared"], 3, "layoutlint: struct declared is declared but not defined"),
    ("no such file", ["none.h", "lock"], 3, "layoutlint: none.h: no such file or directory"),
    ("one of two cannot be read", ["pool.h", "none.h", "lock"], 3, "layoutlint: none.h: no such file or directory"),
    ("no struct", ["pool.h"], 2, "Error: name inputs, and then a struct: `layoutlint containers pool.h STRUCT`"),
    ("nothing", [], 2, "Error: Missing argument 'STRUCT'. For example: `layoutlint containers vmlinux list_head`"),
    ("no such format", ["pool.h", "lock", "--format", "c"], 2,
     "Error: Invalid value for '--format': 'c' is not one of 'json', 'text'."),
]  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("arguments", "status", "message"), [row[1:] for row in STATUS], ids=[row[0] for row in STATUS])
@pytest.mark.parametrize("format_", ["text", "json"])
def test_status(folder, arguments, status, message, format_):
    (folder / "more.h").write_text("struct more { int a; };\n")
    done = run("containers", *arguments, *(() if "--format" in arguments else ("--format", format_)), cwd=folder)
    assert (done.returncode, (done.stderr.splitlines() or [""])[-1]) == (status, message)


def test_several_inputs_are_put_together(folder):
    """The same definition in two inputs is one, with both files; different ones of a name are two."""
    (folder / "again.h").write_text("struct lock { long wide; };\nstruct user { char a; struct lock lock; };\n")
    for name in ("one.c", "two.c"):
        (folder / name).write_text('#include "pool.h"\n')
    done = run("containers", "two.c", "one.c", "again.h", "atomic_t", "--direct", "--format", "json", cwd=folder)
    report = json.loads(done.stdout)
    assert report["files"] == ["one.c", "two.c"]
    assert [(of["name"], of["files"], [(way["name"], way["files"]) for way in of["containers"]]) for of in report["structs"]] == [
        ("atomic_t", [1, 0], [("lock", [1, 0])])
    ]
    listing = run("containers", "pool.h", "again.h", "lock", "--direct", cwd=folder).stdout.splitlines()
    assert [line.split("  ")[-3:] for line in listing if "." in line and line.startswith("     ")] == [
        ["8", "user.lock", "in again.h"], ["8", "any.lock", "in pool.h"], ["8", "slot.lock", "in pool.h"],
        ["1", "twice_a.lock", "in pool.h"],
    ]


def test_targets_are_kept_apart(folder):
    (folder / "pool.c").write_text('#include "pool.h"\nstruct ring ring;\n')
    for target in ("aarch64", "armv7"):
        flags = (f"--target={target}-linux-gnueabi", "-g", "-c", "pool.c", "-o", f"{target}.o")
        subprocess.run([need("clang"), *flags], cwd=folder, check=True)
    done = run("containers", "aarch64.o", "armv7.o", "slot", "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [
        (of["target"], of["size"], [(way["name"], way["offset"], way["size"]) for way in of["containers"]])
        for of in json.loads(done.stdout)["structs"]
    ] == [("aarch64", 56, [("ring", 8, 904)]), ("arm", 32, [("ring", 4, 516)])]
    text = run("containers", "aarch64.o", "armv7.o", "slot", cwd=folder).stdout
    assert [line.split("  ")[-1] for line in text.splitlines() if line.startswith("struct slot")] == ["for aarch64", "for arm"]


def test_the_bytes_are_the_same_for_any_jobs_and_any_run(folder):
    arguments = ("containers", "pool.h", "pool.h", "lock", "--format", "json")
    output = {run(*arguments, "--jobs", jobs, cwd=folder, PYTHONHASHSEED=seed).stdout for jobs in ("1", "3") for seed in ("1", "2")}
    assert len(output) == 1


TWO_UNITS = [
    # unit, its own `struct node`, who embeds it
    ("one", "struct node { long a; };", "struct user_one { char c; struct node node; };"),
    ("two", "struct node { char a; };", "struct user_two { char c; struct node node; };"),
]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_units_with_definitions_of_their_own(tmp_path, compiler):
    for name, node, user in TWO_UNITS:
        (tmp_path / f"{name}.c").write_text(f"{node}\n{user}\nstruct user_{name} {name};\n")
    parts = [f"{name}.c" for name, _, _ in TWO_UNITS]
    subprocess.run([need(compiler), "-g", "-shared", "-fPIC", "-nostdlib", *parts, "-o", "both.so"], cwd=tmp_path, check=True)
    report = json.loads(run("containers", "both.so", "node", "--format", "json", cwd=tmp_path).stdout)
    assert [
        (of["size"], [(way["name"], way["offset"]) for way in of["containers"]]) for of in report["structs"]
    ] == [(8, [("user_one", 8)]), (1, [("user_two", 1)])]  # fmt: skip


@pytest.mark.parametrize("flags", [("-gdwarf-4",), ("-gdwarf-5",), ("-m32", "-gdwarf-4"), ("-m32", "-gdwarf-5")], ids=" ".join)
def test_an_atomic_type_without_a_tag_is_that_of_the_typedef(tmp_path, flags):
    """Where gcc aligns it to more, as to 16 with -m32, it writes the type without the typedef."""
    (tmp_path / "x.c").write_text(
        "typedef struct { int a; short b; void *c; unsigned d; } two;\n"
        "struct __attribute__((packed)) atomic { char c; volatile _Atomic(two) m; };\n"
        "struct plain { two m; };\nstruct atomic a; struct plain p;\n"
    )
    subprocess.run([need("gcc"), *flags, "-c", "x.c"], cwd=tmp_path, check=True)
    found = json.loads(run("containers", tmp_path / "x.o", "two", "--format", "json").stdout)
    ((definition,),) = [found["structs"]]
    assert [one["name"] for one in definition["containers"]] == ["atomic", "plain"]


def test_a_typedef_that_only_its_name_tells(tmp_path):
    """Structs without members look alike; the input is asked for their typedefs."""
    (tmp_path / "empty.h").write_text(
        "struct one { };\nstruct two { };\ntypedef struct two two_t;\nstruct user { int a; two_t here; };\n"
    )
    output = {}
    for name in ("one", "two", "two_t"):
        done = run("containers", "empty.h", name, "--format", "json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        output[name] = [(way["name"], way["path"]) for way in json.loads(done.stdout)["structs"][0]["containers"]]
    assert output == {"one": [], "two": [("user", "here")], "two_t": [("user", "here")]}


@pytest.mark.exhaustive
def test_more_places_than_are_listed_is_said(tmp_path):
    text = "struct l0 { long a; };\n" + "".join(f"struct l{n} {{ struct l{n - 1} a[1], b[1]; }};\n" for n in range(1, 15))
    wide = "".join(f"struct w{n} {{ struct l14 x; }};\n" for n in range(20))
    (tmp_path / "deep.h").write_text(text + wide)
    done = run("containers", "deep.h", "l0", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr == (
        "layoutlint: l0 is in 360,446 places of its containers, most of them in w9: more than the 262,144 that are listed\n"
    )
    assert run("containers", "deep.h", "l0", "--direct", cwd=tmp_path).returncode == 0


CYCLES = """
struct leaf { long word; struct top *up; struct leaf *next; };
struct branch { struct leaf leaf; struct branch *sibling; struct top *top; };
struct top { struct branch branch; struct leaf *first; struct top *self; };
"""


def test_pointers_in_a_circle_hold_nothing(tmp_path):
    (tmp_path / "cycles.h").write_text(CYCLES)
    done = run("containers", "cycles.h", "leaf", "--format", "json", cwd=tmp_path, seconds=20)
    (struct,) = json.loads(done.stdout)["structs"]
    found = [(c["name"], c["path"], c["offset"]) for c in struct["containers"]]
    assert found == [("branch", "leaf", 0), ("top", "branch.leaf", 0)]


PACKED = """\
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
struct word { long value; };
struct odd { char c; struct word word; } __attribute__((packed));
struct row { short s; struct odd odds[5]; } __attribute__((packed, aligned(4)));
struct four { char c; struct word word; } __attribute__((packed, aligned(4)));
struct row row; struct four four; struct odd odd;
#define PLACE(type, member) for (int k = 0; k < 64; k++) printf("%s %zu\\n", #type, (8 * k + offsetof(struct type, member)) % 64)
int main(void)
{
	PLACE(odd, word);
	PLACE(four, word);
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 64; k++)
			printf("row %zu\\n", (8 * k + offsetof(struct row, odds) + i * sizeof(struct odd) + offsetof(struct odd, word)) % 64);
}
"""


def places_in_packed(folder: Path) -> dict[str, set[int]]:
    """Where `word` starts on a line, by container, as a program prints it that has its own debug information."""
    (folder / "packed.c").write_text(PACKED)
    subprocess.run([need("gcc"), "-g", "-o", "packed", "packed.c"], cwd=folder, check=True)
    printed = subprocess.run(["./packed"], cwd=folder, check=True, capture_output=True, text=True).stdout
    found: dict[str, set[int]] = {}
    for line in printed.splitlines():
        found.setdefault(line.split()[0], set()).add(int(line.split()[1]))
    return found


def test_packed_containers_put_structs_where_their_alignment_forbids(tmp_path):
    """The smallest alignment that x86-64 allocates is 8; what is inside a packed struct starts anywhere."""
    real = places_in_packed(tmp_path)
    done = run("containers", "packed", "word", "--format", "json", cwd=tmp_path)
    (struct,) = json.loads(done.stdout)["structs"]
    assert {c["name"]: set(c["bases"]) for c in struct["containers"]} == real


def test_the_verdict_on_what_a_packed_struct_holds_is_about_those_places(tmp_path):
    real = set().union(*places_in_packed(tmp_path).values())
    (tmp_path / "r.toml").write_text(
        '[struct.word]\nplacement = "embedded"\n[[rule]]\nid = "r"\nstruct = "word"\nkind = "no-straddle"\n'
        'fields = ["value"]\nwhy = "w"\n'
    )
    done = run("check", "packed", "--rules", "r.toml", "--format", "json", cwd=tmp_path)
    (finding,) = json.loads(done.stdout)["findings"]
    placements = finding["placements"]
    assert finding["outcome"] == "at-risk"
    assert set(placements["bases"]) == {base for base in real if base > 64 - 8}
    assert placements["total"] == len(real)


@pytest.mark.parametrize(("input", "times"), [("pool.h", 1), ("pool.o", 2)])
def test_c_text_is_read_once_for_the_nearest_name(folder, monkeypatch, input, times):
    if input == "pool.o":
        need("gcc")
        subprocess.run(["gcc", "-g", "-xc", "-c", "-fno-eliminate-unused-debug-types", "pool.h", "-o", input], cwd=folder, check=True)
    read, asked = containers.inputs.read, []
    monkeypatch.setattr(containers.inputs, "read", lambda paths, wanted, options: asked.append(wanted) or read(paths, wanted, options))
    found = containers.list_containers((str(folder / input),), "loc", False, ReadOptions())
    assert found.troubles == (f"{folder / input}: no struct loc (did you mean `lock`?)",)
    assert len(asked) == times
