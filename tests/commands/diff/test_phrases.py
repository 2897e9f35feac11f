"""Lines of `diff` for people, in text and in markdown."""

from __future__ import annotations

import pytest

from tests.harness.command import run

RULES = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
OTHER = "struct other { int n; };\n"
BITS = "struct b { unsigned long f; unsigned %s; };\n"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("old", "new", "shown", "hidden"), [
    # what text and markdown have, and what neither has
    (OTHER, OTHER + "struct s { long a, z; };\n", "share a line in 7 of 8 placements", "0 of 8"),
    (BITS % "x : 3, y : 5, z : 3", BITS % "y : 5, x : 3, z : 3", "reordered `y`: bits 67..71 -> bits 64..68", "8 -> 8"),
    (BITS % "x : 3, y : 5", BITS % "x : 3, y : 7", "resized `y`: 5 -> 7 bits", "1 -> 1"),
    (OTHER + "struct s { long a, b; };\n", OTHER.replace("n;", "n, m;") + "struct s { long a, b; };\n", "struct s has no field `z`", "not compared"),
    ("struct s { long a; long b; };\n", "struct t { long a; long b; };\n", "struct t: renamed, was s", "</summary>\n\n\n</details>"),
])  # fmt: skip
def test_lines(old, new, shown, hidden, tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)
    for name, text in (("old.h", old), ("new.h", new)):
        (tmp_path / name).write_text(text)
    for name in ("text", "markdown"):
        found = run("diff", "old.h", "new.h", "--rules", "rules.toml", "--format", name, cwd=tmp_path).stdout
        found = found.replace("&#62;", ">").replace("&#96;", "`")
        assert shown in found, found
        assert hidden not in found, found


def test_a_worse_note_beside_what_could_not_be_compared(tmp_path):
    note = RULES.replace('why = "w"', 'why = "w"\nseverity = "note"')
    gone = RULES.replace('id = "apart"\nstruct = "s"', 'id = "gone"\nstruct = "t"')
    (tmp_path / "rules.toml").write_text(note + gone)
    (tmp_path / "old.h").write_text("struct s { long a; char pad[56]; long z; };\nstruct t { long a, z; };\n")
    (tmp_path / "new.h").write_text("struct s { long a; long z; };\n")
    done = run("diff", "old.h", "new.h", "--rules", "rules.toml", cwd=tmp_path)
    assert done.returncode == 3, done.stdout
    assert " ".join(done.stdout.split()).endswith(
        "exit 3: not all could be compared; what got worse fails nothing: notes, suppressed findings, or not in --fail-on"
    )
