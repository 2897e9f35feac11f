"""`diff --format markdown`: a comment that names of a change cannot misuse, and that always fits."""

from __future__ import annotations

import pytest

from tests.harness.command import run
from tests.harness.rendered_markdown import misuse

RULES = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
OLD = "struct s { long a; long pad[8]; long z; };\n"
NEW = "struct s { long a; long pad[5]; long z; };\n"


def comment(folder, old: str, new: str, name: str = "s.h") -> str:
    for side, text in (("old", old), ("new", new)):
        (folder / side / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / side / name).write_text(text)
    (folder / "rules.toml").write_text(RULES)
    done = run("diff", f"old/{name}", f"new/{name}", "--rules", "rules.toml", "--format", "markdown", cwd=folder)
    return done.stdout


def test_a_comment(tmp_path):
    assert comment(tmp_path, OLD, NEW).splitlines() == [
        "<!-- layoutlint diff -->", "### layoutlint: rules got worse", "", "1 rule worse, 0 better, 1 of 1 struct changed", "",
        "| | rule | struct | before | now |", "|---|---|---|---|---|",
        "| ❌ worse | `apart` | `s` | kept | at-risk in 2 of 8 placements |", "",
        "<details><summary>apart on s</summary>", "",
        "- `a` and `z` share a line in 0 of 8 -&#62; 2 of 8 placements", "", "</details>", "",
        "<details><summary>struct s: 80 -&#62; 56 bytes, 2 -&#62; 1 lines, "
        "fields across two lines 1 -&#62; 0</summary>", "",
        "- resized `pad`: 64 -&#62; 40 bytes (new/s.h:1)",
        "- `z` 72 -&#62; 48, line 1 -&#62; 0, pushed by `pad`", "- no longer across two lines: `pad`, at 8..47 now", "", "</details>", "",
    ]  # fmt: skip


def test_silent_without_change(tmp_path):
    assert comment(tmp_path, OLD, f"/* more */ {OLD}") == ""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["@octocat/s.h", "[x](http:/evil.example)/s.h", "<img src=x onerror=y>/s.h", "a|b/#1.h", "**b**/_i_.h"])
def test_names_of_files_mean_nothing(tmp_path, name):
    text = comment(tmp_path, OLD, NEW, name)
    assert "pushed by" in text
    assert misuse(text) == []


def test_a_struct_with_many_changes_leaves_room(tmp_path):
    fields = "".join(f"long field_number_{n};" for n in range(2_000))
    text = comment(tmp_path, f"struct a {{ {fields} }}; {OLD}", f"struct a {{ int more[64]; {fields} }}; {NEW}")
    assert "more did not fit" in text
    assert "`apart`" in text
    assert "<summary>struct s: 80" in text
    assert len(text) < 20_000


def test_it_fits(tmp_path):
    structs = "".join(f"struct with_a_rather_long_name_{n} {{ long a; %s long z; }};\n" for n in range(900))
    text = comment(tmp_path, structs % (("",) * 900), structs % (("int more;",) * 900))
    assert 50_000 < len(text) < 65_536
    assert text.endswith("more did not fit into this comment.\n")
