"""docs/ci/kernel.sh: two commits are configured, prepared and compared, and a mail says what got worse."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import ROOT, WITHOUT_CACHE
from tests.harness.github_actions import layoutlint_script
from tests.harness.repository import commit, git

MAKEFILE = "defconfig prepare:\n\t@echo '#define LONGS 8' > made-$@.h\n"
RULES = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
CASES = {
    # base, head, exit status, in the mail, on stderr
    "worse": ("HEAD~1", "HEAD", 1, "worse: apart (separate) on s", ""),
    "better": ("HEAD", "HEAD~1", 0, "", "better: apart (separate) on s"),
    "no such commit": ("HEAD", "--help", 2, "", "has no commit --help"),
    "the same": ("HEAD", "HEAD", 2, "", "are the same commit"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("base", "head", "status", "mail", "error"), CASES.values(), ids=CASES)
def test_two_commits(tmp_path: Path, base, head, status, mail, error):
    tree = tmp_path / "a tree"
    tree.mkdir()
    (tmp_path / "layoutlint.toml").write_text(RULES)
    commit(tree, "base", {"Makefile": MAKEFILE, "s.h": '#include "made-prepare.h"\nstruct s { long a; long pad[LONGS]; long z; };\n'})
    commit(tree, "head", {"s.h": '#include "made-prepare.h"\nstruct s { long a; long pad[LONGS - 3]; long z; };\n'})
    path = f"{layoutlint_script(tmp_path / 'bin').parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", ROOT / "docs/ci/kernel.sh", tree, base, head], cwd=tmp_path, capture_output=True, text=True, timeout=600,
        env={"PATH": path, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), **WITHOUT_CACHE},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert error in done.stderr
    assert done.stdout.startswith("Subject: [layoutlint] ") if mail else done.stdout == ""
    assert mail in done.stdout
    assert git(tree, "worktree", "list").count("\n") == 0
