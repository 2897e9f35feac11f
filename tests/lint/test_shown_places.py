"""Structs of a small alignment are judged at the places that inputs show, which the verdict names."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import need

PAIR = "struct pair { int a, b; };\n"
RULE = """
[[rule]]
id = "r"
struct = "pair"
kind = "together"
fields = ["a", "b"]
why = "w"
"""
AT_60 = (1, 16, [60])
KEPT = None
ALLOCATED = "objects are aligned to 8, the smallest that x86_64 allocates"
IN_TABLE = "struct table { int used; struct pair p[8]; };\n"


def judge(folder: Path, source: str, rules: str, *words: str) -> tuple[tuple[int, int, list[int]] | None, str]:
    """How often a rule fails, and the reason for the placements; KEPT and nothing for a kept rule."""
    (folder / "rules.toml").write_text(f'[pack]\nname = "p"\n{rules}')
    done = run("check", source, "--rules", "rules.toml", "--no-packs", "--format", "json", *words, cwd=folder)
    findings = json.loads(done.stdout)["findings"]
    if not findings:
        assert done.returncode == 0
        return KEPT, ""
    assert done.returncode == 1
    at = findings[0]["placements"]
    return (at["violating"], at["total"], at["bases"]), at["basis"]


CASES = {
    # C text behind the struct, rules before the rule, how often it fails, the places that the verdict names
    "nothing": ("", "", KEPT, ""),
    "an array in a container": (IN_TABLE, "", AT_60, "fails in 1 of 2 places: `p[8]` at 4 of struct table"),
    "at the places of the allocator": ("struct table { long used; struct pair p[8]; };\n", "", KEPT, ""),
    "aligned itself": ("struct table { int used; struct pair p __attribute__((aligned(8))); };\n", "", KEPT, ""),
    "on a line": ("struct table { char used[60]; struct pair p; } __attribute__((aligned(64)));\n", "", (1, 9, [60]), "fails in 1 of 2 places: `p` at 60 of struct table"),
    "on a line, before its end": ("struct table { char used[52]; struct pair p; } __attribute__((aligned(64)));\n", "", KEPT, ""),
    "deeper": (f"{IN_TABLE}struct outer {{ long x; struct table t; }};\n", "", AT_60, "`t.p[8]` at 12 of struct outer"),
    "without a name": ("struct table { int used; struct { int more; struct pair p; }; long x; };\n", "", KEPT, ""),
    "a typedef": ("typedef struct pair pair_t; struct table { int used; pair_t p; };\n", "", AT_60, "`p` at 4 of struct table"),
    "a pointer": ("struct table { int used; struct pair *p; };\n", "", KEPT, ""),
    "a variable": ("struct pair v;\n", "", AT_60, "fails in 1 of 2 places: variable `v`"),
    "a static variable in a container": (f"{IN_TABLE}static struct table v[2];\n", "", AT_60, "variable `v[2].p[8]`"),
    "an aligned variable": ("struct pair v __attribute__((aligned(8)));\n", "", KEPT, ""),
    "a container that the rule file places": (IN_TABLE, '[struct.table]\nplacement = "aligned:4"\n', AT_60, "`p[8]` at 4"),
    "a container on a line": (IN_TABLE.replace("8", "2"), '[struct.table]\nplacement = "line"\n', KEPT, ""),
    "the rule file places it": (IN_TABLE, '[struct.pair]\nplacement = "malloc"\n', KEPT, ""),
    "the rule file places it at less": ("", '[struct.pair]\nplacement = "static"\n', AT_60, "a static variable, aligned to 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_places(name, tmp_path):
    text, before, failing, named = CASES[name]
    (tmp_path / "x.c").write_text(PAIR + text)
    found, basis = judge(tmp_path, "x.c", before + RULE)
    assert found == failing
    assert named in basis


@pytest.mark.parametrize(("words", "failing"), [((), AT_60), (("--min-align", "4"), AT_60), (("--min-align", "16"), (1, 12, [60]))])
def test_the_smallest_alignment_of_the_allocator_decides(words, failing, tmp_path):
    (tmp_path / "x.c").write_text(PAIR + IN_TABLE)
    assert judge(tmp_path, "x.c", RULE, *words)[0] == failing


def test_the_text_names_the_places(tmp_path):
    (tmp_path / "x.c").write_text(PAIR + IN_TABLE)
    (tmp_path / "rules.toml").write_text(f'[pack]\nname = "p"\n{RULE}')
    done = run("check", "x.c", "--rules", "rules.toml", "--no-packs", cwd=tmp_path)
    assert "  placed: fails in 1 of 2 places: `p[8]` at 4 of struct table\n" in done.stdout


ROW = '#define ROW __attribute__((section("row")))\n'
PROGRAMS = {
    # variables of a program, the place that the verdict names; none if the rule is kept
    "behind an int": ("int before ROW = 1; struct pair at ROW __attribute__((aligned(4))) = { 1 };", "variable `at`"),
    "aligned": ("int before ROW = 1; struct pair at ROW __attribute__((aligned(8))) = { 1 };", ""),
    "in a container": ("struct { int x; struct pair p; } at ROW = { 1 };", "variable `at.p`"),
    "in a function": ("int before ROW = 1; int f(void) { static struct pair at ROW __attribute__((aligned(4))) = { 1 }; return at.a++; }", "variable `at"),
}


@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_variables_of_a_program(name, is_linked, tmp_path):
    """The rule fails at all places but the start of a line."""
    need("gcc")
    text, named = PROGRAMS[name]
    (tmp_path / "x.c").write_text(f"{PAIR}{ROW}{text}\nint main(void) {{ return 0; }}\n")
    subprocess.run(["gcc", "-g", *([] if is_linked else ["-c"]), "-o", "x", "x.c"], cwd=tmp_path, check=True)
    rule = RULE.replace('"together"\nfields = ["a", "b"]', '"line-start"\nfields = ["a"]')
    _, basis = judge(tmp_path, "x", rule)
    assert (named or "objects are aligned to 8") in basis


def test_an_alignment_of_a_container_that_is_not_stated_leaves_it_unknown(tmp_path):
    """At 20 of a container that is aligned to 16, or packed and then at any multiple of 8."""
    need("gcc")
    (tmp_path / "x.c").write_text(f"{PAIR}struct table {{ long double x; int used; struct pair p; }} t;\n")
    subprocess.run(["gcc", "-g", "-c", "x.c"], cwd=tmp_path, check=True)
    (tmp_path / "rules.toml").write_text(f'[pack]\nname = "p"\n{RULE}')
    done = run("check", "x.o", "--rules", "rules.toml", "--no-packs", cwd=tmp_path)
    words = " ".join(done.stdout.split())
    assert "The alignment of what embeds struct pair (table) is not in the debug information." in words
    assert done.returncode == 3
