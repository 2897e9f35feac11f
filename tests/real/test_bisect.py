"""`bisect` over a history whose commits are the header packages of Debian's kernels."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.repository import commit, git

pytestmark = [pytest.mark.real, pytest.mark.exhaustive]

VERSIONS = {"6.1": "headers", "6.12": "next-headers", "7.2": "newest-headers"}
RANK = {"kept": 0, "at-risk": 1, "broken": 2}
RULES = [
    # the rule, its struct, the good end
    ("request-queue-usage-with-elevator", "request_queue", "6.1"),
]


def commit_headers(folder: Path, build: Path, subject: str) -> None:
    """Commit the headers of a package as if the kernel was configured in its source folder, and check them out."""
    (common,) = build.parent.glob("linux-headers-*-common")
    git(folder, "read-tree", "--empty")
    for source, name in ((common, "Makefile"), (build, ".config")):  # git reads the packages where they are
        tree = (f"--git-dir={folder / '.git'}", f"--work-tree={source}")
        git(source, *tree, "add", "--force", "--ignore-removal", "include", "arch/x86/include", name)
    git(folder, "commit", "-q", "-m", subject)
    git(folder, "clean", "-q", "-f", "-d", "-x")
    git(folder, "checkout", "-q", "--force")


@pytest.fixture(scope="module")
def history(kernel, tmp_path_factory) -> Path:
    """A commit for each version, tagged by it; others change another header, or what nothing can be parsed without."""
    folder = tmp_path_factory.mktemp("kernels")
    broken = "include/linux/types.h"
    git(folder, "init", "-q")
    for version, name in VERSIONS.items():
        commit_headers(folder, kernel(name), version)
        git(folder, "tag", version)
        commit(folder, f"other header after {version}", {"include/linux/of_note.h": f"struct of_note {{ char c[{len(version)}]; }};\n"})
        if version == "6.1":
            text = (folder / broken).read_text()
            commit(folder, f"broken after {version}", {broken: "#error broken\n"})
            commit(folder, f"mended after {version}", {broken: text})
    return folder


@cache
def outcomes(tree: Path, struct: str) -> dict[tuple[str, str], str]:
    found = json.loads(run("check", tree, "--struct", struct, "--format", "json", seconds=600).stdout)
    kept = {(each["rule"], each["struct"]): "kept" for each in found["kept"]}
    return kept | {(each["rule"], each["struct"]): each["outcome"] for each in found["findings"]}


def test_a_repair_and_its_undoing(history, kernel):
    """`i_mmap_rwsem` was moved away in 6.9; 7.2 has both on a line again."""
    rule, struct = "address-space-i-mmap-apart-from-rwsem", "address_space"
    states = [outcomes(kernel(name), struct)[rule, struct] for name in VERSIONS.values()]
    done = run("bisect", rule, "6.1..HEAD", "--format", "json", cwd=history, seconds=1200)
    found = json.loads(done.stdout)
    changes = [(each["status"], each["commit"]["subject"]) for each in found["changes"]]
    assert (states, done.returncode, changes) == (["at-risk", "kept", "at-risk"], 0, [("better", "6.12"), ("worse", "7.2")])
    assert (found["first_good"]["subject"], found["first_bad"], found["not_judged"]) == ("6.12", None, 0)


@pytest.mark.parametrize(("rule", "struct", "good"), RULES, ids=[row[0] for row in RULES])
def test_the_version_in_which_a_rule_got_worse(history, kernel, rule, struct, good):
    ranks = {version: RANK[outcomes(kernel(name), struct)[rule, struct]] for version, name in VERSIONS.items()}
    later = list(VERSIONS)[list(VERSIONS).index(good) + 1 :]
    expected = next(version for version in later if ranks[version] > ranks[good])
    done = run("bisect", rule, f"{good}..{expected}", "--format", "json", cwd=history, seconds=1200)
    found = json.loads(done.stdout)
    assert (done.returncode, found["first_bad"]["subject"]) == (0, expected), found
    assert {each["trial"] for each in found["tried"] if each["subject"].startswith("broken")} == {"skipped"}
