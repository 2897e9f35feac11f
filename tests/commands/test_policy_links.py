"""`--policy-from REV` and links: what a path named in the commit counts, wherever the change's links lead."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commands.test_policy import BROKEN, NONE, OTHER, RULES, commit_files, project
from tests.harness.command import run
from tests.harness.repository import git, write

__all__ = ["project"]

EMPTY = 'schema = "layoutlint/baseline/1"\naccept = []\n'
ACCEPTED = EMPTY.replace("[]", '[{ rule = "q-apart", struct = "q", outcome = "at-risk", share = "7/8", pairs = [["a", "b", "7/8"]] }]')
MATRIX = "[build.one]\ninput = ['{}.h']\n"
KEPT = BROKEN.replace("long b", "char pad[64]; long b")
BASE = {
    "layoutlint.toml": RULES, "q.h": BROKEN,
    "ci/r.toml": RULES, "ci/rules/r.toml": RULES, "ci/b.toml": EMPTY, "ci/m.toml": MATRIX.format("q"),
    "lax/r.toml": NONE, "lax/rules/r.toml": NONE, "lax/b.toml": ACCEPTED, "lax/m.toml": MATRIX.format("r"),
    **{f"{folder}/{name}": text for folder in ("ci", "lax") for name, text in (("q.h", BROKEN), ("r.h", OTHER.replace("other", "q")))},
}  # fmt: skip
USES = {
    "a rule file": ("q.h", "--rules", "ci/r.toml"),
    "a folder of rule files": ("q.h", "--rules", "ci/rules"),
    "a rule file by its absolute path": ("q.h", "--rules", "HERE/ci/r.toml"),
    "a baseline": ("q.h", "--baseline", "ci/b.toml"),
    "a matrix": ("--matrix", "ci/m.toml"),
}
LINKS = {"below the top": "lax", "absolute": "HERE/lax", "outside": "HERE/../lax", "through another": "next"}


def replace_by_link(folder: Path, name: str, target: str) -> None:
    shutil.rmtree(folder / name)
    (folder / name).symlink_to(target.replace("HERE", str(folder)))


def status(folder: Path, *words: str) -> tuple[int, str]:
    done = run("check", *(word.replace("HERE", str(folder)) for word in words), cwd=folder)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.one_in(6)
@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("words", USES.values(), ids=USES)
def test_a_folder_that_the_change_turns_into_a_link(project, words, target):
    commit_files(project, BASE)
    shutil.copytree(project / "lax", project.parent / "lax")
    (project / "next").symlink_to("lax")
    replace_by_link(project, "ci", target)
    assert status(project, *words)[0] != 1
    code, text = status(project, *words, "--policy-from", "HEAD")
    assert (code, "not used" in text) == (1, False), text


def test_the_rule_files_of_a_folder_that_the_change_turns_into_a_link(project):
    commit_files(project, {"ci/layoutlint.toml": RULES, "ci/q.h": BROKEN, "lax/layoutlint.toml": NONE, "lax/q.h": BROKEN})
    replace_by_link(project, "ci", "lax")
    assert status(project, "lax/q.h", "ci/q.h")[0] == 0
    assert status(project, "lax/q.h", "ci/q.h", "--policy-from", "HEAD")[0] == 1


@pytest.mark.parametrize("name", ["snapshot", "link"])
def test_a_snapshot(project, name):
    commit_files(project, {"layoutlint.toml": RULES, "q.h": BROKEN, "lax/x": ""})
    (project / "ci").mkdir()
    for folder in ("ci", "lax"):
        assert run("snapshot", "q.h", "--struct", "q", "--output", f"{folder}/s.json", cwd=project).returncode == 0
        write(project, {"q.h": KEPT})
    commit_files(project, {})
    if name == "link":
        replace_by_link(project, "ci", "lax")
    words = ("q.h", "--snapshot", "ci/s.json")
    assert status(project, *words)[0] == (0 if name == "link" else 1)
    assert status(project, *words, "--policy-from", "HEAD")[0] == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("links", "code"), [({"ci": "real"}, 1), ({"ci": "next", "next": "real"}, 1), ({"ci": "../out"}, 2), ({"ci": "ci"}, 2)])
def test_links_of_the_base_lead_where_they_do_there(project, links, code):
    """Also if the change makes them lead elsewhere; out of the tree there is nothing of the base."""
    write(project, {"q.h": BROKEN, "real/r.toml": RULES, "lax/r.toml": NONE, "../out/r.toml": NONE})
    for name, target in links.items():
        (project / name).symlink_to(target)
    commit_files(project, {})
    (project / "ci").unlink()
    (project / "ci").symlink_to("lax")
    assert status(project, "q.h", "--rules", "ci/r.toml", "--policy-from", "HEAD")[0] == code


def test_links_outside_of_the_checkout_are_the_user_s(project):
    commit_files(project, BASE)
    (project.parent / "way").symlink_to(project)
    (project.parent / "inner").symlink_to(project / "ci")
    (project.parent / "r.toml").symlink_to(project / "ci/r.toml")
    replace_by_link(project, "ci", "lax")
    for path in ("../way/ci/r.toml", "../inner/r.toml", "../r.toml"):
        assert status(project, "q.h", "--rules", path, "--policy-from", "HEAD")[0] == 1


@pytest.mark.parametrize(("is_of_base", "code"), [(False, 2), (True, 0)], ids=["of the change", "of the base"])
def test_a_working_folder_that_is_a_link(project, is_of_base, code):
    """The shell of `cd src` knows by which path it came to the folder."""
    commit_files(project, {"src/layoutlint.toml": RULES, "lax/layoutlint.toml": NONE, "lax/q.h": OTHER, "src/q.h": BROKEN})
    replace_by_link(project, "src", "lax")
    if is_of_base:
        commit_files(project, {})
    words = ("check", "q.h", "--policy-from", "HEAD")
    done = run(*words, cwd=project / "src", PWD=str(project / "src"))
    assert (done.returncode, "but not in HEAD" in done.stderr) == (code, code == 2), done.stderr
    (project.parent / "way").symlink_to(project / "lax")
    assert run(*words, cwd=project / "lax", PWD=str(project.parent / "way")).returncode == 0


def test_a_rule_file_by_its_absolute_path_beside_unstaged_changes(project):
    """A copy of the index is read then, and the working tree is still part of the change."""
    write(commit_files(project, BASE), {"layoutlint.toml": NONE, "q.h": "\n" + BROKEN})
    git(project, "add", ".")
    write(project, {"q.h": KEPT})
    words = ("--staged", "--all-findings", "--rules", "HERE/layoutlint.toml")
    assert status(project, *words)[0] != 1
    assert status(project, *words, "--policy-from", "HEAD")[0] == 1
