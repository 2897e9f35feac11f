"""Runs that are killed. On revisions: the repository is as it was, and no temporary folder stays. Those that write files: each file is
the old one or the new one, whole.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.harness import forked
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


CHANGES = {"os.rename", "os.link", "os.remove", "os.truncate", "os.mkdir", "os.rmdir", "os.chmod"}
WRITTEN = {f"s{number}.h": f"struct s{number} {{\n\tlong a;\n\tlong z;\n}};\n" for number in range(3)}
IDLE = {name: text.replace("long a;", "long a; /* layoutlint: ignore[apart] once */\n\tlong pad[15];") for name, text in WRITTEN.items()}
BASELINE = 'schema = "layoutlint/baseline/1"\naccept = [\n  { rule = "apart", struct = "s9", outcome = "broken" },\n%s]\n'
ACCEPTED = '  { rule = "apart", struct = "s0", outcome = "broken" },\n'
SNAPSHOT = '{\n"schema": "layoutlint/snapshot/1",\n"target": "x86_64",\n"reader": "clang",\n"chosen": [\n  "s*"\n],\n"structs": [\n]}\n'
OUTPUTS = ("json", "html")
WRITERS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    # the command, and files beside the headers
    "baseline write": (("baseline", "write", "b.toml", *WRITTEN), {}),
    "baseline update": (("baseline", "update", "b.toml", *WRITTEN), {"b.toml": BASELINE % ""}),
    "baseline prune": (("baseline", "prune", "b.toml", *WRITTEN), {"b.toml": BASELINE % ACCEPTED}),
    "snapshot": (("snapshot", *WRITTEN, "--struct", "s*", "--output", "l.json"), {}),
    "snapshot --update": (("snapshot", *WRITTEN, "--update", "l.json"), {"l.json": SNAPSHOT}),
    "check --fix": (("check", *WRITTEN, "--fix"), IDLE),
    "check --output": (
        ("check", *WRITTEN, *(word for name in OUTPUTS for word in ("--output", f"{name}=o.{name}"))), {f"o.{name}": "old" for name in OUTPUTS},
    ),
    "suggest --write": (("suggest", "s0.h", "s0", "--write"), {"s0.h": "struct s0 { long a; long z; long pad[15]; };\n"}),
}  # fmt: skip


def make_written(folder: Path, name: str) -> Path:
    """A repository with what a command writes anew."""
    folder.mkdir()
    commit(folder, "m", {**WRITTEN, **WRITERS[name][1], "layoutlint.toml": RULES.replace('"s"', '"s?"')})
    return folder


def kill_behind(changes: int) -> None:
    """Let this process be killed right before some change of a file."""
    left, parent = changes, os.getpid()  # not a child that parses

    def count(event: str, words: tuple[object, ...]) -> None:
        nonlocal left
        is_written = event == "open" and isinstance(words[2], int) and words[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if event in CHANGES or (is_written and not str(words[0]).startswith(("/dev/", "/proc/"))):
            if not left and parent == os.getpid():
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(count)


def write_until_killed(repository: Path, name: str, changes: int) -> tuple[int, dict[str, bytes], dict[str, bytes]]:
    """Run a command, in a copy, that is killed behind some changes of files; return its status, and all files before and after."""
    words, folder = WRITERS[name][0], repository.parent / str(changes)
    shutil.copytree(repository, folder)
    for path in folder.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    process = forked.start(words, folder, os.environ, begin=partial(kill_behind, changes), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process.wait(300), before, {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name[0] != "."}


@pytest.mark.parametrize("name", [
    name if name == "check --fix" else pytest.param(name, marks=pytest.mark.exhaustive) for name in WRITERS
])  # fmt: skip
def test_each_file_is_old_or_new(tmp_path, name):
    repository = make_written(tmp_path / "repository", name)
    status, before, new = write_until_killed(repository, name, 1_000_000)
    assert (status in (0, 1), new != before) == (True, True)
    for changes in range(100):
        status, before, after = write_until_killed(repository, name, changes)
        assert after.keys() >= before.keys()
        assert [file for file, content in after.items() if content not in (before.get(file), new[file])] == []
        if status != -signal.SIGKILL:
            break
    assert changes > 2, status
    assert (status in (0, 1), after == new) == (True, True)
