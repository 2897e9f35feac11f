"""Twelve commits, each with one kind of change: the outcome of diff, of a baseline, of the hook and of bisect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.repository import commit, git

RULE = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
START: dict[str, str | None] = {
    "layoutlint.toml": RULE,
    "include/config.h": "#define WIDE 1\n",
    "include/inner.h": "struct inner { long x; long y; };\n",
    "include/other.h": "struct pair { long p; long q; };\n",
    "include/s.h": '#include "inner.h"\n#include "config.h"\nstruct s {\n\tlong a;\n\tstruct inner in;\n\tlong pad[4];\n'
    "#if WIDE\n\tlong w;\n#endif\n\tlong z;\n};\n",
}
COMMITS = [
    # what it does, the file, old and new text; status of diff; exit status of diff, of a baseline of the commit before, of the hook, of bisect
    ("field added", "include/s.h", "long z;", "long z;\n\tlong last;", "same", 0, 0, 0, 2),
    ("comment only", "include/s.h", "long a;", "long a; /* hot */", "same", 0, 0, 0, 2),
    ("type swapped in an included header", "include/inner.h", "long x; long y;", "int x; int y;", "worse", 1, 1, 1, 0),
    ("revert", "include/inner.h", "int x; int y;", "long x; long y;", "better", 0, 0, 0, 0),
    ("config flipped", "include/config.h", "WIDE 1", "WIDE 0", "worse", 1, 1, 1, 0),
    ("field removed", "include/s.h", "\tlong pad[4];\n", "", "worse", 1, 1, 1, 0),
    ("order swapped", "include/s.h", "\tstruct inner in;\n#if WIDE\n\tlong w;\n#endif\n\tlong z;",
     "\tlong z;\n\tstruct inner in;\n#if WIDE\n\tlong w;\n#endif", "worse", 1, 1, 1, 0),
    ("attribute added", "include/s.h", "long z;", "long z __attribute__((aligned(64)));", "better", 0, 0, 0, 0),
    ("struct renamed", "include/other.h", "struct pair", "struct couple", "same", 0, 0, 0, 2),
    ("file moved", "include/other.h", None, "include/moved.h", "same", 0, 0, 0, 2),
    ("rule changed", "layoutlint.toml", '[["a"], ["z"]]', '[["z"], ["in"]]', "same", 0, 1, 1, 2),
    ("header deleted", "include/inner.h", "", None, "not-compared", 3, 3, 3, 3),
]  # fmt: skip


@pytest.fixture(scope="module")
def history(tmp_path_factory) -> Path:
    """A repository in which the tag of each commit is its number."""
    folder = tmp_path_factory.mktemp("twelve")
    commit(folder, "start", START)
    git(folder, "tag", "c0")
    for number, (subject, file, old, new, *_) in enumerate(COMMITS, 1):
        if new is None:
            git(folder, "rm", "-q", file)
        elif old is None:
            git(folder, "mv", file, new)
        else:
            text = (folder / file).read_text()
            assert old in text
            (folder / file).write_text(text.replace(old, new))
        git(folder, "commit", "-qam", subject)
        git(folder, "tag", f"c{number}")
    return folder


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(1, len(COMMITS) + 1), ids=[row[0] for row in COMMITS])
def test_each_commit(history, tmp_path, number):
    subject, _, _, _, status, of_diff, of_baseline, of_hook, of_bisect = COMMITS[number - 1]
    git(history, "checkout", "-qf", f"c{number - 1}")
    accepted = tmp_path / "accepted.toml"
    run("baseline", "write", accepted, "include", "--allow-unknown", cwd=history)
    git(history, "checkout", "-qf", f"c{number}")
    changed = run("diff", "--git", f"c{number - 1}..c{number}", "include", "--format", "json", cwd=history)
    judged = run("check", "include", "--baseline", accepted, cwd=history)
    searched = run("bisect", "apart", f"c{number - 1}..c{number}", "include", "--format", "json", cwd=history)
    git(history, "reset", "-q", "--soft", f"c{number - 1}")
    hooked = run("check", "--staged", cwd=history)
    found = changed.returncode, judged.returncode, hooked.returncode, searched.returncode
    assert (json.loads(changed.stdout)["status"], *found) == (status, of_diff, of_baseline, of_hook, of_bisect), hooked.stdout
    if of_bisect == 0:
        (change,) = json.loads(searched.stdout)["changes"]
        assert (change["commit"]["subject"], change["status"]) == (subject, status)
