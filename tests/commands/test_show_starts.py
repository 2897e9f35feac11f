"""`show --rules`: objects start where the rule file says, at as many places as `check` judges."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import run

STRUCT = "struct s { char first; long a[9]; long last; };\nstruct outer { int n; struct s s; };\n"
"""88 bytes, aligned to 8."""
RULES = '[struct.s]\n{}\n\n[[rule]]\nid = "r"\nstruct = "s"\nkind = "separate"\nfields = [["first"], ["a"]]\nwhy = "w"\n'
STARTS = [
    # what the rule file states, and the bases by docs/concepts.md
    ("", [0, 8, 16, 24, 32, 40, 48, 56]),
    ('placement = "line"', [0]),
    ('placement = "malloc"', [0, 16, 32, 48]),
    ('placement = "aligned:32"', [0, 32]),
    ('placement = "slab:64"', [0]),
    ('placement = "slab:16"', [0, 32]),
    ('placement = "kmalloc"', [0, 32]),
    ('placement = "static:32"', [0, 32]),
    ('placement = "percpu:64"', [0]),
    ('placement = "aligned:32"\narray = 2', [0, 24, 32, 56]),
    ('placement = "slab"\nstride = 128\nred_zone = true', [8]),
]  # fmt: skip


def show(folder, *words: str) -> str:
    done = run("show", "s.h", *words, "--rules", "r.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("stated", "bases"), STARTS, ids=[row[0].replace("\n", ", ") for row in STARTS])
def test_objects_start_where_a_rule_file_says(tmp_path, stated, bases):
    (tmp_path / "s.h").write_text(STRUCT)
    (tmp_path / "r.toml").write_text(RULES.format(stated))
    report = json.loads(run("check", "s.h", "--rules", "r.toml", "--format", "json", cwd=tmp_path).stdout)
    (found,) = report["findings"] or report["kept"]
    assert found["placements"]["total"] == len(bases)
    words = "starts at the start of a line: " if bases == [0] else f"can start at {len(bases)} places of a line: "
    words = f"starts at byte {bases[0]} of a line: " if len(bases) == 1 and bases[0] else words
    at = "(r.toml:2)" if stated else "(stated by the input)"
    shown = show(tmp_path, "s")
    assert words in shown
    assert at in shown
    drawn = show(tmp_path, "s", "--base", "all")
    assert [base for base in range(64) if f"an object at byte {base} of a 64-byte line" in drawn] == bases
    picture = show(tmp_path, "s", "--format", "svg", "--base", "all")
    assert [base for base in range(64) if f"object at byte {base} of a line" in picture] == bases
    assert at in show(tmp_path, "--all")


def test_containers_decide_where_an_embedded_struct_starts(tmp_path):
    (tmp_path / "s.h").write_text(STRUCT)
    (tmp_path / "r.toml").write_text(RULES.format('placement = "embedded"'))
    assert "r.toml:2 says that it is embedded: `layoutlint containers` lists where" in show(tmp_path, "s")


def test_a_struct_that_cannot_have_its_placement(tmp_path):
    (tmp_path / "s.h").write_text(STRUCT)
    (tmp_path / "r.toml").write_text(RULES.format('placement = "aligned:2"'))
    done = run("show", "s.h", "s", "--rules", "r.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "r.toml:2: `placement` `aligned:2` contradicts struct s, which is aligned to 8" in done.stderr
