"""A new commit of a submodule is judged like any other change: its files are those of the commit, on both sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from layoutlint.revisions import git as intent_git
from tests.commands.test_staged_index import FAR, NEAR, PAD, RULES, Q, check_staged
from tests.harness.command import run
from tests.harness.repository import commit, git, write

IN_SUB = Q.replace('"pad.h"', '"sub/pad.h"')
OUTER: dict[str, str | None] = {"layoutlint.toml": RULES, "q.h": IN_SUB}
RULED_INSIDE: dict[str, str | None] = {"layoutlint.toml": RULES, "main.c": '#include "sub/q.h"\n'}
INNER: dict[str, str | None] = {"pad.h": FAR}
WITH_Q: dict[str, str | None] = {"pad.h": FAR, "q.h": Q}


def outer(folder: Path, files: dict[str, str | None], inner: dict[str, str | None]) -> tuple[Path, Path]:
    """Make a repository with a submodule `sub`, and return both working trees."""
    top = folder / "outer"
    for each in (folder / "inner", top):
        each.mkdir()
    commit(folder / "inner", "inner", inner)
    commit(top, "outer", files)
    git(top, "submodule", "--quiet", "add", str(folder / "inner"), "sub")
    git(top, "commit", "-qm", "sub")
    return top, top / "sub"


def bump(top: Path, files: dict[str, str | None]) -> None:
    """Commit files in the submodule, and stage this commit."""
    commit(top / "sub", "bump", files)
    git(top, "add", "sub")


def remove(top: Path) -> None:
    git(top, "rm", "-q", "-f", "sub")


def lose_new(top: Path) -> None:
    git(top, "update-index", "--cacheinfo", f"160000,{'1' * 40},sub")


def lose_old(top: Path) -> None:
    old = git(top / "sub", "rev-parse", "HEAD")
    bump(top, {"pad.h": NEAR})
    for each in (old, git(top / "sub", "rev-parse", f"{old}^{{tree}}")):
        objects = Path(git(top / "sub", "rev-parse", "--absolute-git-dir")) / "objects"
        (objects / each[:2] / each[2:]).unlink()


Step = Callable[[Path], object]
CASES: dict[str, tuple[dict[str, str | None], dict[str, str | None], Step, int, list[str]]] = {
    # the outer files, the inner ones, what is done; status, findings
    "breaks": (OUTER, INNER, lambda top: bump(top, {"pad.h": NEAR}), 1, ["q-apart new"]),
    "breaks its own struct": (RULED_INSIDE, WITH_Q, lambda top: bump(top, {"pad.h": NEAR}), 1, ["q-apart new"]),
    "keeps": (OUTER, INNER, lambda top: bump(top, {"pad.h": PAD % 72}), 0, []),
    "was broken": (OUTER, {"pad.h": NEAR}, lambda top: bump(top, {"pad.h": NEAR + "/* */\n"}), 0, ["q-apart known"]),
    "gets worse": (OUTER, {"pad.h": PAD % 40}, lambda top: bump(top, {"pad.h": NEAR}), 1, ["q-apart worse"]),
    "is mended": (OUTER, {"pad.h": NEAR}, lambda top: bump(top, {"pad.h": FAR}), 0, []),
    "breaks, and is mended in its working tree": (
        OUTER, INNER, lambda top: (bump(top, {"pad.h": NEAR}), write(top / "sub", {"pad.h": FAR})), 1, ["q-apart new"]),
    "breaks in its working tree only": (
        OUTER, INNER, lambda top: (bump(top, {"x.h": "\n"}), write(top / "sub", {"pad.h": NEAR})), 0, []),
    "breaks, and an older commit is checked out": (
        OUTER, INNER, lambda top: (bump(top, {"pad.h": NEAR}), git(top / "sub", "checkout", "-q", "HEAD~")), 1, ["q-apart new"]),
    "another file breaks, which an unstaged commit would mend": (
        OUTER, INNER, lambda top: (commit(top / "sub", "x", {"pad.h": NEAR}), write(top, {"q.h": IN_SUB + "\n"}), git(top, "add", "q.h")), 0, []),
    "loses its struct": (RULED_INSIDE, WITH_Q, lambda top: bump(top, {"q.h": None}), 3, ["q-apart None"]),
    "is removed": (RULED_INSIDE, WITH_Q, remove, 3, ["q-apart None"]),
    "a rule on its struct is added": (
        {"main.c": '#include "sub/q.h"\n'}, {"pad.h": NEAR, "q.h": Q},
        lambda top: (write(top, {"layoutlint.toml": RULES}), git(top, "add", "-A")), 1, ["q-apart new"]),
    "a generated header is in it": (
        OUTER, {"pad.h": '#include "made.h"\n', ".gitignore": "made.h\n"},
        lambda top: (write(top / "sub", {"made.h": FAR}), bump(top, {"pad.h": '#include "made.h"\n\n'}),
                     write(top / "sub", {"pad.h": NEAR})), 0, []),
    "its new commit is missing": (OUTER, INNER, lose_new, 3, []),
    "its old commit is missing": (OUTER, INNER, lose_old, 3, []),
    "only Python changes": (OUTER, INNER, lambda top: bump(top, {"x.py": "\n"}), 0, []),
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CASES)
def test_a_staged_commit_of_a_submodule(tmp_path, name):
    files, inner, step, status, findings = CASES[name]
    top, _ = outer(tmp_path, files, inner)
    step(top)
    code, found, text = check_staged(top)
    assert (code, found) == (status, findings), text
    if "missing" in name:
        assert "this submodule's commit" in text
        assert "git submodule update --init sub" in text


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_under_pre_commit(tmp_path, name):
    """It names no file of a submodule, and leaves their working trees as they are. git names its index to hooks."""
    files, inner, step, status, findings = CASES[name]
    top, _ = outer(tmp_path, files, inner)
    step(top)
    names = [each for each in git(top, "diff", "--cached", "--name-only", "--diff-filter=d").split() if each not in ("sub", ".gitmodules")]
    code, found, text = check_staged(top, *names, PRE_COMMIT="1", GIT_INDEX_FILE=".git/index")
    assert (code, found) == (status, findings), text


@pytest.mark.exhaustive
def test_a_submodule_of_a_submodule(tmp_path):
    (tmp_path / "leaf").mkdir()
    commit(tmp_path / "leaf", "leaf", {"pad.h": FAR})
    top, sub = outer(tmp_path, {**OUTER, "q.h": Q.replace('"pad.h"', '"sub/leaf/pad.h"')}, {"x.h": "\n"})
    git(sub, "submodule", "--quiet", "add", str(tmp_path / "leaf"), "leaf")
    bump(top, {})
    git(top, "commit", "-qm", "leaf")
    commit(sub / "leaf", "breaks", {"pad.h": NEAR})
    bump(top, {})
    assert check_staged(top)[:2] == (1, ["q-apart new"])


@pytest.mark.exhaustive
def test_revisions_and_bisect(tmp_path):
    top, _ = outer(tmp_path, OUTER, INNER)
    (bump(top, {"pad.h": FAR + "/* */\n"}), git(top, "commit", "-qm", "harmless"))
    (bump(top, {"pad.h": NEAR}), git(top, "commit", "-qm", "the culprit"))
    (bump(top, {"pad.h": NEAR + "/* */\n"}), git(top, "commit", "-qm", "later"))
    changed = run("diff", "--git", "HEAD~3..HEAD", "q.h", cwd=top)
    assert (changed.returncode, "struct q: smaller" in changed.stdout or "q-apart" in changed.stdout) == (1, True), changed.stdout
    found = run("bisect", "q-apart", "HEAD~3..HEAD", "q.h", cwd=top)
    assert "the culprit" in found.stdout, found.stdout + found.stderr
    since = run("check", "--since", "HEAD~3", cwd=top)
    assert (since.returncode, "q-apart" in since.stdout) == (1, True), since.stdout


def test_git_is_asked_once_for_submodules_that_are_not_there(tmp_path, monkeypatch):
    """An index can have thousands of them, and paths that lead elsewhere."""
    commit(tmp_path, "first", {"a.h": ""})
    git(tmp_path, "init", "-q", "--bare", ".git/elsewhere")
    (tmp_path / ".git/modules").mkdir()
    git(tmp_path, "init", "-q", "--bare", ".git/modules/kept")
    runs = []
    run_git = intent_git._run
    monkeypatch.setattr(intent_git, "_run", lambda *words, **options: runs.append(words) or run_git(*words, **options))
    paths = ["kept", "../elsewhere", "gone", "", *map(str, range(50))]
    found = [intent_git.kept_submodule(str(tmp_path), path) for path in paths]
    assert found == [str(tmp_path / ".git/modules/kept"), *[None] * 53]
    assert len(runs) == 1
