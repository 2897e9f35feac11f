"""Runs on revisions that are killed: the repository is as it was, and no temporary folder stays."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness.command import ROOT
from tests.harness.repository import commit, git, write

pytestmark = pytest.mark.usefixtures("own_processes")

RULES = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
S = "struct s { long a; char pad[%d]; long z; };\n"
COMMANDS = {
    "diff": ("diff", "--git", "c0..c4", "."), "bisect": ("bisect", "apart", "c0..c4"),
    "since": ("check", "--since", "c2"), "staged": ("check", "--staged"),
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A repository with commits, a stash, a staged change, and an unstaged one."""
    folder = tmp_path_factory.mktemp("killed")
    for number in range(5):
        many = {f"include/h{each}.h": f"struct h{each} {{ char c[{number + 1}]; }};\n" for each in range(60)}
        commit(folder, str(number), {"layoutlint.toml": RULES, "s.h": S % (100 - 20 * number), **many})
        git(folder, "tag", f"c{number}")
    write(folder, {"include/h1.h": "struct stashed;\n"})
    git(folder, "stash", "-q")
    write(folder, {"s.h": S % 4})
    git(folder, "add", "-A")
    write(folder, {"s.h": S % 100, "untracked.h": "struct u { int x; };\n"})
    return folder


def state(folder: Path) -> dict[str, bytes]:
    """All files of a repository with their contents: tree, index, stash, references, configuration, objects."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kill(folder: Path, words: tuple[str, ...], number: int, delay: float, temporary: Path) -> int:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LAYOUTLINT_NO_CACHE": "1", "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-m", "layoutlint", *words], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(delay)
    process.send_signal(number)
    return process.wait(300)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "number"), [
    ("diff", signal.SIGTERM), ("diff", signal.SIGKILL), ("bisect", signal.SIGINT), ("bisect", signal.SIGTERM),
    ("since", signal.SIGHUP), ("staged", signal.SIGTERM),
])  # fmt: skip
def test_killed_at_any_time(project, tmp_path, name, number):
    moments = random.Random(f"{name} {number}")
    before = state(project)
    statuses = set()
    for _ in range(3):
        statuses.add(kill(project, COMMANDS[name], number, moments.uniform(0.1, 1.5), tmp_path))
        if number != signal.SIGKILL:
            assert list(tmp_path.iterdir()) == []
    assert state(project) == before
    assert statuses <= {0, 1, 3, -number, 128 + number}, statuses


def test_killed_once(project, tmp_path):
    before = state(project)
    assert kill(project, COMMANDS["diff"], signal.SIGTERM, 0.4, tmp_path) in (1, -signal.SIGTERM, 128 + signal.SIGTERM)
    assert (state(project), list(tmp_path.iterdir())) == (before, [])
