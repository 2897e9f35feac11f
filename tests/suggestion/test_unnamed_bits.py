"""Unnamed bit-fields beside members that move: what a suggestion says of them is what libclang says of the changed text."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import run
from tests.harness.tools import NEEDS_SOLVER

pytestmark = NEEDS_SOLVER

RULES = """
[[rule]]
id = "padding"
struct = "s"
kind = "holes"
count = ["holes", "tail", "nested", "bits"]
max = 64
why = "w"
[[rule]]
id = "turned"
struct = "s"
kind = "order"
fields = ["z", "a"]
why = "w"
"""
STRUCTS = {
    "behind a bit-field": "char c;\nunsigned b : 3, : 20;\nlong a;\nshort d;\nlong z;",
    "across a unit": "short c;\nunsigned b : 4, : 28;\nlong a;\nchar d;\nshort z;",
    "before all": "unsigned : 7;\nlong a;\nchar c;\nint z;",
    "alone behind a member": "char c;\nint : 20;\nint a;\nshort d;\nchar z;",
    "the end of a unit": "char c;\nunsigned b : 3;\nunsigned : 0;\nunsigned d : 2, : 5;\nlong a;\nchar z;",
}


@pytest.mark.parametrize("text", STRUCTS.values(), ids=STRUCTS)
def test_unnamed_bit_fields_move_with_their_neighbour(tmp_path, text):
    (tmp_path / "s.h").write_text(f"struct s {{\n{text}\n}};\n")
    (tmp_path / "r.toml").write_text(RULES)
    arguments = ("s", "--rules", "r.toml", "--write", "--format", "json")
    suggested = json.loads(run("suggest", "s.h", *arguments, cwd=tmp_path).stdout)
    (said,) = [rule for rule in suggested["rules"] if rule["rule"] == "padding"]
    checked = json.loads(run("check", "s.h", "--rules", "r.toml", "--format", "json", cwd=tmp_path).stdout)
    found = {finding["rule"]: finding for finding in (*checked["findings"], *checked["kept"])}
    assert found["turned"]["outcome"] == "kept"
    assert found["padding"]["message"] == said["message"]
