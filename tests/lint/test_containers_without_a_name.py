"""Containers that no rule can name: they place embedded structs, and rules with patterns do not judge them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import need

TEXT = """struct lockq { int a; int b; };
static struct { char pad[60]; struct lockq q; } state;
struct named { long first; struct lockq q; } named;
void *use(void) { static struct inner { char pad[60]; struct lockq q; } local; return state.pad[1] ? (void *)&state : &local; }
"""
RULES = """[struct.lockq]
placement = "embedded"
[[rule]]
id = "one-line"
struct = "lockq"
kind = "together"
fields = ["a", "b"]
why = "a test"
"""
EVERY = RULES + '[[rule]]\nid = "small"\nstruct = "*"\nkind = "size"\nmax_lines = 1\nwhy = "a test"\n'


@pytest.fixture
def folder(tmp_path) -> Path:
    for name, text in {"a.c": TEXT, "rules.toml": RULES, "every.toml": EVERY}.items():
        (tmp_path / name).write_text(text)
    subprocess.run([need("gcc"), "-g", "-c", "a.c", "-o", "a.o"], cwd=tmp_path, check=True)
    return tmp_path


def check(folder: Path, *words: str) -> dict:
    return json.loads(run("check", *words, "--no-packs", "--format", "json", cwd=folder).stdout)


@pytest.mark.parametrize("path", ["a.o", "a.c"])
def test_rules_with_patterns_judge_structs_with_a_name_only(folder, path):
    found = check(folder, path, "--rules", "every.toml")
    small = {each["struct"] for each in (*found["findings"], *found["kept"]) if each["rule"] == "small"}
    assert small == {"lockq", "named"}


def test_a_snapshot_has_them(folder):
    """It is recorded with the rules; their lines are no part of what it holds."""
    run("snapshot", "a.o", "--rules", "rules.toml", "--output", "s.json", cwd=folder)
    places = [check(folder, path, "--rules", "rules.toml")["findings"][0]["placements"] for path in ("a.o", "s.json")]
    assert [place["violating"] for place in places] == [1, 1]
    assert ("(unnamed at a.c:2)" in places[0]["basis"], "inner (local at a.c:4)" in places[0]["basis"]) == (True, True)
    assert ("(unnamed at a.c)" in places[1]["basis"], "inner (local at a.c)" in places[1]["basis"]) == (True, True)
    (folder / "a.c").write_text(f"\n{TEXT}")
    subprocess.run([need("gcc"), "-g", "-c", "a.c", "-o", "a.o"], cwd=folder, check=True)
    held = check(folder, "a.o", "--rules", "rules.toml", "--snapshot", "s.json")["kept"]
    assert [each["struct"] for each in held] == ["lockq"]


@pytest.mark.parametrize(("words", "reason"), [
    (("--all",), "the snapshot has no containers without a name, and local ones, of lockq: record it with the rules"),
    (("--struct", "lockq"), "the snapshot has no containers of lockq: record it with the rules"),
])  # fmt: skip
def test_a_snapshot_that_lacks_them(folder, words, reason):
    run("snapshot", "a.o", *words, "--output", "s.json", cwd=folder)
    found = check(folder, "s.json", "--rules", "rules.toml")
    assert [part["reason"] for part in found["coverage"]["not_covered"] if part["rules"]] == [reason]
    assert found["exit"] == 3
