"""Several definitions of one name: which belong together, which were added or removed, and which cannot be told apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.command import run

RULE = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
FAR = "struct s { long a; char pad[56]; long z; };\n"
NEAR = "struct s { long a; long z; };\n"
NEXT = "struct s { long a; long b; long z; };\n"
WIDE = "struct s { long a; char pad[120]; long z; };\n"


def write(folder: Path, files: dict[str, str]) -> None:
    """Files with a text, or links to the name after `->`."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        else:
            path.write_text(text)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("old", "new", "rules", "structs", "status"), [
    # the files; the statuses of the rule; the structs that changed, by status; the exit status
    ({"s.h": FAR}, {"s.h": FAR, "t.h": WIDE}, ["same", "same"], ["added"], 0),
    ({"s.h": FAR}, {"s.h": FAR, "t.h": NEAR}, ["same", "worse"], ["added"], 1),
    ({"s.h": FAR}, {"s.h": NEAR, "t.h": WIDE}, ["worse", "same"], ["worse", "added"], 1),
    ({"s.h": FAR, "t.h": WIDE}, {"s.h": FAR}, ["same", "not-compared"], ["removed"], 3),
    ({"s.h": FAR, "t.h": NEAR}, {"t.h": FAR, "s.h": NEAR}, ["same", "same"], [], 0),
    ({"s.h": FAR, "t.h": NEAR}, {"u.h": FAR, "v.h": NEAR}, ["same", "same"], [], 0),
    ({"s.h": FAR, "t.h": WIDE}, {"s.h": NEAR, "t.h": WIDE}, ["same", "worse"], ["worse"], 1),
    ({"s.h": FAR, "t.h": WIDE}, {"u.h": NEAR, "v.h": NEXT}, ["not-compared"], [], 3),
    ({"s.h": FAR, "t.h": WIDE}, {"u.h": NEAR, "t.h": WIDE}, ["same", "worse"], ["worse"], 1),
    ({"a/s.h": FAR}, {"a/s.h": FAR, "b/s.h": FAR}, ["same"], [], 0),
    ({"a/s.h": FAR}, {"a/s.h": FAR, "b/s.h": NEAR}, ["same", "worse"], ["added"], 1),
    ({"s.h": FAR}, {"s.h": FAR, "l.h": "->s.h"}, ["same"], [], 0),
    ({"s.h": FAR}, {"s.h": NEAR, "l.h": "->s.h"}, ["worse"], ["worse"], 1),
    ({"src/s.h": FAR, "include/s.h": "->../src/s.h"}, {"src/s.h": NEAR, "include/s.h": "->../src/s.h"}, ["worse"], ["worse"], 1),
    ({"s.h": FAR, "l.h": "->s.h"}, {"s.h": FAR}, ["same"], [], 0),
    ({"s.h": FAR, "l.h": "->m.h", "m.h": "->s.h"}, {"l.h": NEAR}, ["worse"], ["worse"], 1),
])  # fmt: skip
def test_definitions_of_one_name(old, new, rules, structs, status, tmp_path):
    write(tmp_path / "old", old)
    write(tmp_path / "new", new)
    (tmp_path / "layoutlint.toml").write_text(RULE)
    done = run("diff", "old", "new", "--format", "json", cwd=tmp_path)
    found = json.loads(done.stdout)
    statuses = sorted(each["status"] for each in found["rules"])
    found_structs = sorted(each["status"] for each in found["structs"])
    assert (done.returncode, statuses, found_structs) == (status, sorted(rules), sorted(structs)), done.stdout
    assert all((each["status"] == "worse") <= bool(each["pairs"]) for each in found["structs"])


def test_a_linked_definition_is_judged_once(tmp_path):
    write(tmp_path, {"tree/s.h": NEAR, "tree/l.h": "->s.h", "tree/sub/m.h": "->../l.h", "layoutlint.toml": RULE})
    found = json.loads(run("check", "tree", "--format", "json", cwd=tmp_path).stdout)
    places = {(field["file"], field["line"]) for each in found["findings"] for field in each["fields"]}
    assert (len(found["findings"]), places) == (1, {("tree/s.h", 1)})
