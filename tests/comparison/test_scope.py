"""Structs that one input of a comparison cannot show: they are neither compared in silence nor called a change."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import run

RULES = "".join(
    f'[[rule]]\nid = "on-{name}"\nstruct = "{name}"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n{more}'
    for name, more in (("s", ""), ("only", ""), ("none", 'when = { arch = ["aarch64"] }\n'))
)  # fmt: skip
BOTH = "struct s { long a; long pad[9]; long z; };\n"
ONLY = "struct only { long a; long z; };\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`s` with and without `only`, as a header and as debug information in which both are used."""
    (tmp_path / "r.toml").write_text(RULES)
    for name, text in (("one", BOTH), ("two", BOTH + ONLY)):
        (tmp_path / f"{name}.h").write_text(text)
        uses = "struct s s;" + ("struct only o;" if name == "two" else "")
        (tmp_path / f"{name}.c").write_text(f'#include "{name}.h"\n{uses}\n')
        subprocess.run(["gcc", "-g", "-c", f"{name}.c"], cwd=tmp_path, check=True)
    return tmp_path


def compare(folder: Path, *words: str) -> dict[str, Any]:
    done = run("diff", *words, "--rules", "r.toml", "--format", "json", cwd=folder)
    found = json.loads(done.stdout)
    assert found["exit"] == done.returncode
    return found


@pytest.mark.parametrize(("old", "new", "status", "presence"), [
    ("one.h", "two.h", "worse", ["added"]), ("one.o", "two.o", "worse", ["added"]),
    ("two.h", "one.h", "not-compared", ["removed"]),
    ("one.h", "two.o", "not-compared", []), ("one.o", "two.h", "not-compared", []), ("two.h", "one.o", "not-compared", []),
])  # fmt: skip
def test_a_struct_that_one_input_has(folder, old, new, status, presence):
    """Debug information lacks unused types: against a header, its absence is no change, and its rule is not compared."""
    found = compare(folder, old, new)
    assert [each["status"] for each in found["structs"] if each["name"] == "only"] == presence
    (rule,) = (each for each in found["rules"] if each["rule"] == "on-only")
    assert rule["status"] == status
    assert found["exit"] == {"worse": 1, "not-compared": 3}[status]


@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_rules_that_compare_nothing_are_listed(folder, format_):
    (folder / "three.h").write_text(BOTH.replace("pad[9]", "pad[10]"))
    found = compare(folder, "one.h", "three.h")
    assert [(each["rule"], each["struct"], each["is_excluded"]) for each in found["idle_rules"]] == [
        ("on-only", "only", False), ("on-none", "none", True),
    ]  # fmt: skip
    text = run("diff", "one.h", "three.h", "--rules", "r.toml", "--format", format_, *["-v"][: format_ == "text"], cwd=folder).stdout
    assert "rules that compare nothing" in text
    assert "only: neither input defines it" in text
    assert "on-none on none: its `when` excludes the old input" in " ".join(text.split()).replace("\\", "")


def test_a_request_that_neither_input_has(folder):
    found = compare(folder, "one.h", "one.h", "--struct", "only")
    assert (found["exit"], [each["reason"] for each in found["not_compared"]]) == (3, ["no struct only (it has `s`)"])
