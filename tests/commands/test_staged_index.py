"""`check --staged` judges the files in the index, wherever the working tree has others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.repository import commit, git, write

RULES = '[[rule]]\nid = "q-apart"\nstruct = "q"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n'
PAD = "struct pad { char bytes[%d]; };\n"
Q = '#include "pad.h"\nstruct q {\n\tlong a;\n\tstruct pad pad;\n\tlong b;\n};\n'
FAR, NEAR = PAD % 64, PAD % 8
BASE: dict[str, str | None] = {"layoutlint.toml": RULES, "pad.h": FAR, "q.h": Q}
DATABASE = '[{"file": "a.c", "directory": "TOP", "arguments": ["cc", "-ITOP/include", "-DFROM_DATABASE", "a.c"]}]'


def check_staged(folder: Path, *words: str, cwd: Path | None = None, **environment: str) -> tuple[int, list[str], str]:
    done = run("check", "--staged", "--format", "json", *words, cwd=cwd or folder, **environment)
    report = json.loads(done.stdout) if done.stdout.startswith("{") else {"findings": [], "unread": []}
    found = [f"{each['rule']} {each['state']}" for each in report["findings"] if each["severity"] != "note"]
    return done.returncode, found, done.stdout + done.stderr


CASES: dict[str, tuple[dict[str, str | None], dict[str, str | None], dict[str, str | None], int, list[str]]] = {
    # before, what is staged, what the working tree has besides; status, findings
    "breaks, and is mended unstaged": (BASE, {"pad.h": NEAR}, {"pad.h": FAR + "/* mended */\n"}, 1, ["q-apart new"]),
    "is broken unstaged": (BASE, {"pad.h": FAR + "/* more */\n"}, {"pad.h": NEAR}, 0, []),
    "another file is broken unstaged": (BASE, {"q.h": Q + "\n"}, {"pad.h": NEAR}, 0, []),
    "another file would mend it unstaged": ({**BASE, "pad.h": NEAR}, {"q.h": Q + "\n"}, {"pad.h": FAR}, 0, ["q-apart known"]),
    "the header is removed unstaged": (BASE, {"pad.h": NEAR}, {"q.h": None}, 1, ["q-apart new"]),
    "the included header is removed unstaged": (BASE, {"q.h": Q.replace("struct pad pad", "char c[8]")}, {"pad.h": None}, 1, ["q-apart new"]),
    "the rule is removed unstaged": (BASE, {"pad.h": NEAR}, {"layoutlint.toml": "# none\n"}, 1, ["q-apart new"]),
    "the rule is there unstaged only": ({**BASE, "layoutlint.toml": "# none\n"}, {"pad.h": NEAR}, {"layoutlint.toml": RULES}, 0, []),
    "the rule is staged, and the file damaged": (
        {**BASE, "layoutlint.toml": "# none\n", "pad.h": NEAR}, {"layoutlint.toml": RULES}, {"layoutlint.toml": "[["}, 1, ["q-apart new"]),
    "an untracked header is included": (
        {**BASE, "q.h": '#include "made.h"\n' + Q}, {"pad.h": NEAR}, {"made.h": "\n", "pad.h": FAR}, 1, ["q-apart new"]),
    "a file is removed, and there unstaged": (BASE, {"q.h": None}, {"q.h": Q}, 3, ["q-apart None"]),
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CASES)
def test_the_index_is_judged(tmp_path, name):
    before, change, unstaged, status, findings = CASES[name]
    commit(tmp_path, "before", before)
    write(tmp_path, change)
    git(tmp_path, "add", "-A")
    write(tmp_path, unstaged)
    code, found, text = check_staged(tmp_path)
    assert (code, found) == (status, findings), text
    assert "layoutlint-" not in text


@pytest.mark.exhaustive
def test_from_a_folder_below_and_with_names(tmp_path):
    commit(tmp_path, "before", {"layoutlint.toml": RULES, "sub/pad.h": FAR, "sub/q.h": Q, "sub/r.h": "\n"})
    write(tmp_path, {"sub/pad.h": NEAR})
    git(tmp_path, "add", "-A")
    write(tmp_path, {"sub/pad.h": FAR, "sub/r.h": "struct r { int x; };\n"})
    for words in ((), ("pad.h",), (str(tmp_path / "sub/pad.h"),)):
        assert check_staged(tmp_path, *words, cwd=tmp_path / "sub")[:2] == (1, ["q-apart new"]), words


def test_the_lines_of_a_file_may_end_otherwise(tmp_path):
    """As git converts them: the working tree is then as the index."""
    commit(tmp_path, "before", {**BASE, ".gitattributes": "*.h text eol=crlf\n"})
    write(tmp_path, {"pad.h": NEAR.replace("\n", "\r\n")})
    git(tmp_path, "add", "-A")
    assert git(tmp_path, "show", ":pad.h") + "\n" == NEAR
    assert check_staged(tmp_path)[:2] == (1, ["q-apart new"])


@pytest.mark.exhaustive
def test_a_sparse_checkout(tmp_path):
    commit(tmp_path, "before", {**BASE, "far/away.h": "struct far { int x; };\n"})
    git(tmp_path, "sparse-checkout", "set", "--no-cone", "/*.h", "/*.toml")
    assert not (tmp_path / "far").exists()
    write(tmp_path, {"pad.h": NEAR})
    git(tmp_path, "add", "pad.h")
    write(tmp_path, {"pad.h": FAR})
    assert check_staged(tmp_path)[:2] == (1, ["q-apart new"])


@pytest.mark.exhaustive
def test_a_worktree_and_a_submodule(tmp_path):
    inner, outer, tree = tmp_path / "inner", tmp_path / "outer", tmp_path / "tree"
    for folder in (inner, outer):
        folder.mkdir()
    commit(inner, "inner", BASE)
    commit(outer, "outer", {"x.h": "struct x { int i; };\n"})
    git(outer, "submodule", "--quiet", "add", str(inner), "sub")
    git(outer, "commit", "-qm", "sub")
    git(inner, "worktree", "add", "-q", str(tree))
    for folder in (outer / "sub", tree):
        write(folder, {"pad.h": NEAR})
        git(folder, "add", "-A")
        write(folder, {"pad.h": FAR})
        assert check_staged(folder)[:2] == (1, ["q-apart new"]), folder


@pytest.mark.exhaustive
def test_a_repository_without_files(tmp_path):
    (tmp_path / "made").mkdir()
    commit(tmp_path / "made", "x", {})
    git(tmp_path, "clone", "-q", "--bare", str(tmp_path / "made"), "bare.git")
    for words in (("check", "--staged"), ("check", "--since", "HEAD")):
        done = run(*words, cwd=tmp_path / "bare.git")
        assert (done.returncode, "is in a bare repository" in done.stderr) == (2, True), done.stderr
