"""The order of changes in `diff`: rules and structs that got worse first, added structs last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.command import run

RULES = """
[[rule]]
id = "{0}"
struct = "{0}"
kind = "separate"
fields = [["a", "b"], ["y", "z"]]
why = "w"
severity = "{1}"
"""
STRUCT = "struct {0} {{ {1} int a; char gap[{2}]; int b; char wide[{3}]; int y; char last[{4}]; int z; }};\n"
OLD = {
    # what leads, and the gaps of four fields of a rule
    "worse": ("", 1, 500, 1), "worse_note": ("", 1, 500, 1), "eased": ("", 1, 1, 500), "better": ("", 1, 1, 500),
    "ruled": ("", 1, 500, 1), "free": ("", 1, 500, 1), "grown": ("", 1, 500, 1), "gone": ("", 1, 1, 1),
}  # fmt: skip
NEW = {
    "added": ("short odd[99];", 1, 1, 1), "worse": ("", 1, 1, 500), "worse_note": ("", 1, 1, 500), "eased": ("", 500, 1, 500),
    "better": ("", 1, 500, 1), "ruled": ("long more;", 1, 500, 1), "free": ("long more;", 1, 500, 1),
    "grown": ("long more[9];", 1, 500, 1),
}  # fmt: skip
ORDER = ["worse", "worse_note", "eased", "ruled", "grown", "gone", "free", "added"]
"""How the structs come."""


@pytest.fixture
def found(tmp_path: Path) -> dict[str, str]:
    for name, structs in (("old", OLD), ("new", NEW)):
        (tmp_path / f"{name}.h").write_text("".join(STRUCT.format(*each) for each in ((n, *rest) for n, rest in structs.items())))
    ruled = ("worse", "worse_note", "eased", "better", "ruled")
    text = "".join(RULES.format(name, "note" if name.endswith("note") else "warning") for name in ruled)
    (tmp_path / "r.toml").write_text(text)
    formats = ("text", "json", "markdown")
    return {
        each: run("diff", "old.h", "new.h", "--rules", "r.toml", "--format", each, cwd=tmp_path).stdout for each in formats
    }


def test_structs(found):
    names = [each["name"] for each in json.loads(found["json"])["structs"]]
    assert [name for name in names if name in ORDER] == ORDER
    shown = [line.split()[1].rstrip(":") for line in found["text"].splitlines() if line.startswith("struct ")]
    described = [name for name in ORDER if name not in ("gone", "added")]
    assert [name for name in shown if name in ORDER] == [*described, "gone", "added"]


def test_rules(found):
    """A rule that fails as often, for fewer fields, is not better."""
    rules = {each["rule"]: each["status"] for each in json.loads(found["json"])["rules"]}
    assert list(rules.items()) == [
        ("worse", "worse"), ("worse_note", "worse"), ("better", "better"), ("eased", "same"), ("ruled", "same"),
    ]  # fmt: skip
    text = " ".join(found["text"].split())
    places = [text.index(each) for each in ("worse: worse ", "worse: worse_note ", "better: better ", "same: eased ")]
    assert places == sorted(places)
    assert "same: eased (separate) on eased: at-risk in 7 of 8 placements -> at-risk in 7 of 8 placements, for fewer fields" in text
    assert "2 rules worse, 1 better" in text
    assert "| for fewer fields | `eased` |" in found["markdown"]
