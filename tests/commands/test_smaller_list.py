"""`layoutlint suggest INPUT --smallest` as a user calls it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import run
from tests.harness.tools import need

TEXT = """\
typedef unsigned int __be32;
struct item { char tag; long value; char end; };
struct conn {
	int fd;
	struct { char kind; long at; short left; } parts[12];
	struct item items[4];
	char state;
	long when;
};
struct dense { long a; int b, c; };
struct whole { char c; struct { char tag; long value; char end; } part; };
struct packet { __be32 a; unsigned char kind; __be32 b; unsigned char last; };
struct guest { char a; long kabi_reserved1; char b; };
struct marked { char a; long b; char c; char mark[0]; char d; };
struct alone { char a __attribute__((aligned(64))); long b; char c __attribute__((aligned(64))); char d; };
struct __attribute__((packed)) packed { char a; int b; short c __attribute__((aligned(4))); };
union either { struct item item; long word; };
struct conn conns[5];
struct item one, *pointer;
static union either some[3];
struct dense dense; struct whole whole; struct packet packet; struct guest guest; struct marked marked; struct alone alone;
struct packed packed;
union either *use(void) { return some; }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a compiled object."""
    path = tmp_path_factory.mktemp("smaller")
    (path / "conn.c").write_text(TEXT)
    subprocess.run([need("gcc", "-c"), "-g", "-c", "conn.c", "-o", "conn.o"], cwd=path, check=True)
    return path


def candidates_of(folder: Path, *words: str, file: str = "conn.o") -> dict[str, Any]:
    """The candidates of an input, by name."""
    done = run("suggest", file, "--smallest", "--format", "json", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {each["struct"]: each for each in json.loads(done.stdout)["candidates"]}


SIZES = {
    "conn": (408, 400, 1), "whole": (32, 32, 0), "item": (24, 16, 1), "packet": (16, 12, 1), "guest": (24, 16, 1),
    "marked": (24, 16, 1),
}  # fmt: skip
"""Size, least size and moves, of the structs that can be smaller."""


@pytest.mark.parametrize("file", ["conn.o", "conn.c"])
def test_sizes_and_moves(folder, file):
    found = candidates_of(folder, file=file)
    sizes = {name: (one["size"], one["least"], one["moves"]) for name, one in found.items()}
    assert sizes == SIZES
    assert all(one["least"] == one["bound"] and one["is_fewest"] for one in found.values())


def test_the_most_bytes_come_first(folder):
    found = candidates_of(folder)
    saved = [one["bytes_saved"] + one["nested_bytes"] for one in found.values()]
    assert saved == sorted(saved, reverse=True)
    assert next(iter(found)) == "conn"


def test_objects_in_variables_and_arrays(folder):
    found = candidates_of(folder)
    objects = {name: one["objects"] for name, one in found.items()}
    assert objects == {"conn": 5, "whole": 1, "item": 24, "packet": 1, "guest": 1, "marked": 1}
    assert (found["item"]["bytes_in_all"], found["item"]["arrays"]) == (24 * 8, [{"struct": "conn", "count": 4}])
    assert {one["objects"] for one in candidates_of(folder, file="conn.c").values()} == {None}


def test_waste_inside_members(folder):
    conn = candidates_of(folder)["conn"]
    assert [(each["path"], each["inside"], each["count"], each["holes"], each["padding"], each["size"], each["least"]) for each in conn["nested"]] == [
        ("parts", True, 12, [7], 6, 24, 16), ("items", False, 4, [7], 7, 24, 16),
    ]  # fmt: skip
    assert (conn["bytes_saved"], conn["nested_bytes"], conn["holes"], conn["padding"]) == (8, 12 * 8, [4, 7], 0)


def test_facts_that_forbid_an_order_are_stated(folder):
    kinds = {name: [each["kind"] for each in one["refusals"]] for name, one in candidates_of(folder).items()}
    assert kinds == {"conn": [], "whole": [], "item": [], "packet": ["fixed-endian"], "guest": ["kabi"], "marked": []}


def test_a_struct_that_is_shared_with_programs_is_not_proposed(tmp_path):
    header = tmp_path / "include" / "uapi" / "linux"
    header.mkdir(parents=True)
    (header / "shared.h").write_text("struct shared { char a; long b; char c; };\n")
    done = run("suggest", "include/uapi/linux/shared.h", "--smallest", cwd=tmp_path)
    assert (done.returncode, "not proposed: the kernel and programs share the struct" in done.stdout) == (0, True)
    assert done.stdout.startswith("0 of 1 struct can be smaller")


def test_lines_and_blocks(tmp_path):
    (tmp_path / "two.h").write_text("struct two { char a; long b; char c; long d[7]; };\n")
    one = candidates_of(tmp_path, file="two.h")["two"]
    assert (one["size"], one["least"], one["lines"], one["blocks"]) == (80, 72, [2, 2], ["malloc-96", "malloc-80"])
    assert candidates_of(tmp_path, "--line-size", "16", file="two.h")["two"]["lines"] == [5, 5]


def test_only_chosen_structs(folder):
    assert set(candidates_of(folder, "--struct", "it*", "--struct", "struct conn")) == {"item", "conn"}


def test_text_has_the_moves_and_what_was_not_searched(folder):
    done = run("suggest", "conn.o", "--smallest", cwd=folder)
    assert done.returncode == 0
    for text in ("      8+96     408     400      1  struct conn, conn.c:3", "move `state` behind `fd`", "note: sources were not searched"):
        assert text in done.stdout


def test_markdown_is_a_table(folder):
    lines = run("suggest", "conn.o", "--smallest", "--format", "markdown", cwd=folder).stdout.splitlines()
    assert lines[0].startswith("### 3 of 8 ")
    assert len([line for line in lines if line.startswith("| ")]) == 7


def test_a_file_gets_the_other_format(folder):
    done = run("suggest", "conn.o", "--smallest", "--output", "json=list.json", cwd=folder)
    assert done.returncode == 0
    assert json.loads((folder / "list.json").read_text())["schema"] == "layoutlint/smallest/1"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("conn.o", "--smallest", "--struct", "nope"), 3, "no struct nope"),
        (("missing.o", "--smallest"), 3, "missing.o"),
        (("conn.o", "--smallest", "--patch"), 2, "--patch needs a STRUCT"),
        (("conn.o", "--smallest", "--rules", "x.toml"), 2, "--rules needs a STRUCT"),
        (("conn.o", "item", "--smallest", "--struct", "x"), 2, "leave STRUCT out"),
        (("conn.o", "item", "--format", "markdown"), 2, "leave STRUCT out"),
        (("conn.o", "--smallest", "--optimize", "lines"), 2, "choose one"),
        (("conn.o",), 2, "STRUCT"),
    ],
)
def test_mistakes(folder, words, status, message):
    done = run("suggest", *words, cwd=folder)
    assert done.returncode == status
    assert message in done.stderr
