"""`layoutlint suggest` with several structs: patches that apply one after the other."""

from __future__ import annotations

import importlib
import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import NEEDS_SOLVER, need

pytestmark = [NEEDS_SOLVER, pytest.mark.usefixtures("whole_runs")]

suggest_command = importlib.import_module("layoutlint.commands.suggest.command")
FILES = {
    "slot.h": "struct slot {\n\tchar kind;\n\tlong value;\n\tchar state;\n};\n",
    "queue.h": """\
#include "slot.h"

struct half {
\tchar a;
\tint b;
\tchar c;
};

struct queue {
\tlong head; /* layoutlint: hot-write */
\tstruct slot slots[2];
\tstruct half half;
\tint tail; /* layoutlint: hot-read */
\tchar name[40];
};
""",
    "queue.toml": """
[[rule]]
id = "small"
struct = "half"
kind = "size"
max = 8
why = "many are kept"

[[rule]]
id = "smaller"
struct = "slot"
kind = "size"
max = 8
why = "cannot be"
""",
}


def suggest(folder: Path, *words: str):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return run("suggest", *words, "--no-packs", cwd=folder)


def sizes(folder: Path, *names: str) -> list[int]:
    """The sizes of structs of queue.h as it is now, in the order of their names."""
    done = run("show", "queue.h", *names, "--format", "json", cwd=folder)
    return [struct["size"] for struct in json.loads(done.stdout)["structs"]]


def test_each_is_found_with_the_changes_before_it(tmp_path):
    done = suggest(tmp_path, "queue.h", "slot", "half", "queue", "--smallest", "--format", "json")
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout)
    results = [first, *first["series"]]
    assert [(each["struct"], each["size"]) for each in results] == [("slot", [24, 16]), ("half", [12, 8]), ("queue", [96, 96])]
    assert [each["series"] for each in results[1:]] == [None, None]
    assert {rule["rule"]: rule["after"] for rule in results[2]["rules"]} == {"queue/access": "kept"}


@pytest.mark.parametrize("program", [("git", "apply"), ("patch", "-p1", "-s")], ids=lambda words: words[0])
def test_the_patches_apply_to_two_files_one_after_the_other(tmp_path, program):
    need(program[0])
    done = suggest(tmp_path, "queue.h", "slot", "half", "queue", "--smallest", "--patch")
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("[PATCH")] == [
        "[PATCH 1/3] struct slot: move value",
        "[PATCH 2/3] struct half: move b",
        "[PATCH 3/3] struct queue: move tail",
    ]
    subprocess.run(program, input=done.stdout, text=True, cwd=tmp_path, check=True)
    assert sizes(tmp_path, "slot", "half", "queue") == [8, 96, 16]


def test_write_changes_all_files(tmp_path):
    assert suggest(tmp_path, "queue.h", "slot", "half", "queue", "--smallest", "--write").returncode == 0
    assert sizes(tmp_path, "slot", "half", "queue") == [8, 96, 16]


NOTHING = [
    (("half", "slot"), ("--rules", "queue.toml"), 1, "nothing is written, because there is no patch for slot"),
    (("half", "nothing"), (), 3, "no struct nothing"),
    (("half", "q*"), (), 2, "'q*' is a pattern"),
]
"""What one struct lacks keeps all files as they are."""


@pytest.mark.parametrize(("structs", "options", "status", "message"), NOTHING)
def test_write_changes_all_or_nothing(tmp_path, structs, options, status, message):
    done = suggest(tmp_path, "queue.h", *structs, *options, "--write")
    assert (done.returncode, message in done.stderr) == (status, True), done.stderr
    assert {name: (tmp_path / name).read_text() for name in FILES} == FILES


def test_a_struct_that_is_named_twice_is_found_once(tmp_path):
    done = suggest(tmp_path, "queue.h", "half", "struct", "half", "--smallest")
    assert done.stdout.count("struct half, queue.h:3") == 1


def test_a_matrix_with_inputs_takes_structs_only(tmp_path):
    (tmp_path / "builds.toml").write_text('[build.a]\ninput = "queue.h"\n[build.b]\ninput = "queue.h"\ntarget = "i386"\n')
    done = suggest(tmp_path, "--matrix", "builds.toml", "half", "slot", "--smallest", "--format", "json")
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout)
    assert [(each["struct"], each["order"]) for each in (first, *first["series"])] == [
        ("half", ["a", "c", "b"]), ("slot", ["kind", "state", "value"]),
    ]  # fmt: skip
