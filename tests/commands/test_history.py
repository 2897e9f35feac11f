"""`layoutlint history`: one struct over several builds."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.harness.command import run
from tests.reports.page.sample import data

RULE = '[[rule]]\nid = "apart"\nstruct = "ring"\nkind = "separate"\nfields = [["head"], ["tail"]]\nwhy = "w"\n'
FAR = "struct ring { long head; char pad[64]; long tail; };\n"
NEAR = "struct ring { long head; char pad[8]; long tail; };\n"
FLAGS = "struct ring { long head; unsigned dirty : 3; unsigned shared : 1; long tail; };\n"
FILES = {
    "far.h": FAR, "near.h": NEAR, "flags.h": FLAGS, "rules.toml": RULE,
    "typed.h": "typedef struct { long head; long tail; } ring;\n",
    "none.h": "struct other { int x; };\n", "declared.h": "struct ring;\nstruct other { struct ring *r; };\n",
    "error.h": "struct ring { gone_t x; long head; };\n",
    "union.h": "union ring { long head; char tail[24]; };\n",
    "empty.h": "struct ring { };\n", "large.h": "struct ring { long head; char pad[100000]; long tail; };\n",
    "nested.h": "struct ring { union { long head; int tail; }; struct { long a; } in; };\n",
    "hostile.h": "struct ring { long head; /* </text><script> */ long tail; };\n",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def trace(folder, *words: str):
    done = run("history", *words, "--format", "json", "--rules", "rules.toml", cwd=folder)
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("builds", "status", "sizes", "tail", "outcome", "steps"), [
    ("far near far", 0, [80, 24, 80], [72, 16, 72], ["kept", "at-risk", "kept"], [(0, 1), (1, 2)]),
    ("near flags", 0, [24, 24], [16, 16], ["at-risk", "at-risk"], [(0, 1)]),
    ("far none near", 3, [80, None, 24], [72, None, 16], ["kept", None, "at-risk"], [(0, 2)]),
    ("far error near", 3, [80, None, 24], [72, None, 16], ["kept", "unknown", "at-risk"], [(0, 2)]),
    ("declared far", 3, [None, 80], [None, 72], [None, "kept"], []),
    ("missing far", 3, [None, 80], [None, 72], [None, "kept"], []),
    ("near union", 0, [24, 24], [16, 0], ["at-risk", "broken"], [(0, 1)]),
    ("near typed", 0, [24, 16], [16, 8], ["at-risk", "at-risk"], [(0, 1)]),
    ("empty near", 3, [0, 24], [None, 16], ["unknown", "at-risk"], [(0, 1)]),
])  # fmt: skip
def test_builds(folder, builds, status, sizes, tail, outcome, steps):
    code, found = trace(folder, *(f"{each}.h" for each in builds.split()), "ring")
    assert (code, found["exit"], found["order"]) == (status, status, "given")
    assert [build["size"] for build in found["builds"]] == sizes
    assert [build["reason"] is None for build in found["builds"]] == [size is not None for size in sizes]
    assert next(row["offset"] for row in found["fields"] if row["path"] == "tail") == tail
    assert [row["outcome"] for row in found["rules"] if row["rule"] == "apart"] == [outcome]
    assert [(step["old"], step["new"]) for step in found["steps"]] == steps


def test_as_diff(folder):
    """Verdicts and edits are those of `diff` of the two builds."""
    _, found = trace(folder, "far.h", "near.h", "ring")
    done = run("diff", "far.h", "near.h", "--struct", "ring", "--rules", "rules.toml", "--format", "json", cwd=folder)
    compared = json.loads(done.stdout)
    (step,), (struct,) = found["steps"], compared["structs"]
    assert (step["worse"], compared["status"]) == (["apart"], "worse")
    assert [row["violating"] for row in found["rules"]] == [compared["rules"][0]["violating"]]
    assert len(step["edits"]) == len(struct["edits"]) == 1


@pytest.mark.parametrize(("words", "bases"), [
    (("--pair", "head", "tail"), [8, [0, 8, 16, 24, 32, 40], 8]),
    (("--pair", "head", "pad"), [8, 7, 8]),
    (("--pair", "head", "dirty"), [None, None, 7]),
    (("--line-size", "16", "--pair", "head", "tail"), [2, 0, 2]),
])  # fmt: skip
def test_pairs(folder, words, bases):
    """In `far.h`, a line holds both only if the head ends one and the tail begins no other: never."""
    _, found = trace(folder, "far.h", "near.h", "flags.h", "ring", *words)
    (pair,) = found["pairs"]
    line = int(words[1]) if words[0] == "--line-size" else 64
    rows = {row["path"]: row for row in found["fields"]}
    first, second = (rows[name] for name in pair["fields"])
    for number in range(3):
        if None in (first["offset"][number], second["offset"][number]):
            assert pair["bases"][number] is None
            continue
        spans = [(row["offset"][number], row["offset"][number] + row["size"][number] - 1) for row in (first, second)]
        expected = [
            base for base in range(0, line, 8)
            if (base + spans[0][1]) // line >= (base + spans[1][0]) // line
        ]  # fmt: skip
        assert pair["bases"][number] == expected
        assert pair["total"][number] == line // 8


@pytest.mark.parametrize(("words", "message"), [
    ((), "name some inputs, and then a struct"),
    (("ring",), "name some inputs, and then a struct"),
    (("far.h", "ri*"), "follows one struct, and 'ri*' is a pattern"),
    (("far.h", "ring", "--pair", "head", "tial"), "no build has both `head` and `tial` (did you mean `tail`?)"),
    (("far.h", "ring", "--pair", "head"), "requires 2 arguments"),
])  # fmt: skip
def test_mistakes(folder, words, message):
    done = run("history", *words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_struct_that_no_build_has(folder):
    done = run("history", "far.h", "near.h", "rings", cwd=folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert "no struct rings (did you mean `ring`?)" in done.stderr


def test_standard_input(folder):
    done = run("history", "-", "near.h", "ring", "--format", "json", cwd=folder, given=FAR.encode())
    assert [build["size"] for build in json.loads(done.stdout)["builds"]] == [80, 24]


def test_a_file_that_is_called_as_the_struct(folder):
    """Inputs that are no paths, such as standard input and URLs, are not taken for swapped arguments."""
    (folder / "ring").write_text("x")
    done = run("history", "-", f"file://{folder}/layouts.json", "ring", "--format", "json", cwd=folder, given=FAR.encode())
    assert [build["size"] for build in json.loads(done.stdout)["builds"]] == [80, None]


def test_swapped_arguments(folder):
    done = run("history", "ring", "far.h", cwd=folder)
    assert done.returncode == 3
    assert "INPUT is first" in done.stderr


def test_text(folder):
    """Tables fit into the width; cells are in the columns of their builds."""
    many = ["far.h", "near.h"] * 12
    done = run("history", *many, "ring", "--rules", "rules.toml", "--pair", "head", "tail", cwd=folder)
    assert done.returncode == 0
    assert all(f"-> {name}: " in done.stdout for name in ("#2", "#24"))
    heads = re.findall(r"^ +#[0-9 #]+$", done.stdout, re.MULTILINE)
    assert [name for head in heads for name in head.split()] == [f"#{number}" for number in range(1, 25)]
    assert max(map(len, done.stdout.splitlines())) <= 75
    offsets = re.findall(r"^  `tail` .*$", done.stdout, re.MULTILINE)
    assert [cell for row in offsets for cell in row.split()[1:]] == ["72", "16"] * 12
    assert done.stdout.count("worse: apart") == 12


def test_steps_without_a_change_are_one(folder):
    """In the text, and on the page."""
    builds = [f"{name}.h" for name in ("far", "far", "far", "near", "near", "far")]
    done = run("history", *builds, "ring", "--rules", "rules.toml", "-v", "--html", "page.html", cwd=folder)
    titles = [row for row in done.stdout.splitlines() if " -> " in row and row.startswith("#")]
    assert [title.partition(": ")[0] for title in titles] == ["#1 -> #3", "#3 -> #4", "#4 -> #5", "#5 -> #6"]
    assert (titles[0], titles[2]) == ("#1 -> #3: nothing changed in 2 steps", "#4 -> #5: nothing changed")
    steps = data((folder / "page.html").read_text())["history"]["steps"]
    assert [(step["title"], step["same"]) for step in steps] == [("#1 → #3", 2), ("#3 → #4", 0), ("#4 → #5", 1), ("#5 → #6", 0)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("builds", ["far near", "far none near", "large far", "nested union", "empty", "flags hostile"])
def test_picture(folder, builds):
    words = (*(f"{each}.h" for each in builds.split()), "ring", "--rules", "rules.toml", "--format", "svg")
    done = run("history", *words, cwd=folder)
    root = ElementTree.fromstring(done.stdout)
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == f"ring in {len(builds.split())} build{'s' * (' ' in builds)}"
    names = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")][1:]
    assert builds in ("empty",) or any(name.startswith("head: 0..") for name in names)
    assert ("are drawn" in texts[1]) == builds.startswith("large")
    assert len(done.stdout) < 30_000
