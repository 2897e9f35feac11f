"""`diff` of objects that do not state all alignments: clang before 15, and compilers that state others."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import need

RULE = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
SHORT = "struct s { long a; char b; int z; };\n"
EMBEDDED = SHORT + "struct holder { char c; struct s s; } holder;\n"
TEXTS = {
    # 16 bytes: an object that starts on a multiple of 16 has both fields on a line, others not always
    "short": SHORT + "struct s s;\n",
    "short, with a comment": "/* a comment */\n" + SHORT + "struct s s;\n",
    "short, z elsewhere": SHORT.replace("char b; int z;", "int z; char b;") + "struct s s;\n",
    "behind a pointer": SHORT + "struct s *s;\n",
    "behind a pointer, z elsewhere": SHORT.replace("char b; int z;", "int z; char b;") + "struct s *s;\n",
    "z in another line": "struct s { long a; char pad[56]; long z; char more[8]; } s;\n",
    "short, with another struct": SHORT + "struct s s; struct t { int n; } t;\n",
    "embedded": EMBEDDED + "struct s s;\n",
    "embedded, further on": EMBEDDED.replace("char c;", "char c[9];") + "struct s s;\n",
}


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    folder = tmp_path_factory.mktemp("objects")
    (folder / "layoutlint.toml").write_text(RULE)

    def compile_object(text: str, compiler: str) -> Path:
        need(compiler)
        path = folder / f"{sorted(TEXTS).index(text)}-{compiler}" / "s.o"
        if not path.exists():
            path.parent.mkdir()
            (path.parent / "s.c").write_text(TEXTS[text])
            subprocess.run([compiler, "-g", "-c", "s.c", "-o", "s.o"], cwd=path.parent, check=True)
        return path

    return compile_object


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("old", "new", "compilers", "status", "rule"), [
    ("short", "short", "clang-14 clang-14", 0, "same"), ("short", "short", "gcc clang-14", 0, "same"),
    ("short", "short", "clang-14 gcc", 0, "same"), ("short", "short", "clang-14 clang-16", 0, "same"),
    ("short", "short, with a comment", "clang-14 clang-14", 0, "same"),
    ("short", "short, with another struct", "gcc clang-14", 0, "same"),
    ("behind a pointer", "behind a pointer, z elsewhere", "clang-14 clang-14", 3, "not-compared"),
    ("behind a pointer", "behind a pointer, z elsewhere", "gcc clang-14", 3, "not-compared"),
    # a variable in a section that is aligned to 8
    ("short", "short, z elsewhere", "clang-14 clang-14", 0, "same"), ("short", "short, z elsewhere", "gcc clang-14", 0, "same"),
    ("z in another line", "short", "clang-14 clang-14", 1, "worse"), ("short", "z in another line", "clang-14 clang-14", 0, "better"),
    ("z in another line", "short", "gcc clang-14", 1, "worse"),
    ("embedded", "embedded", "clang-14 clang-14", 0, "same"), ("embedded", "embedded", "clang-14 gcc", 0, "same"),
    ("embedded", "embedded, further on", "clang-14 clang-14", 0, "same"),
])  # fmt: skip
def test_an_alignment_that_is_not_stated(objects, old, new, compilers, status, rule):
    sides = [objects(*side) for side in zip((old, new), compilers.split(), strict=True)]
    words = ("diff", *sides, "--rules", sides[0].parents[1] / "layoutlint.toml")
    done = run(*words, "--format", "json")
    assert (done.returncode, [each["status"] for each in json.loads(done.stdout)["rules"]]) == (status, [rule]), done.stdout
    if old == new:
        assert run(*words).stdout.startswith("nothing differs: compared ")
