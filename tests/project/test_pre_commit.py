"""The hooks, run by the real pre-commit on a repository of their user's, from this checkout as it stands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.command import ROOT

EXAMPLE = ROOT / "docs" / "example"
MISTAKEN = (EXAMPLE / "layoutlint.toml").read_text().replace('kind = "separate"', 'kind = "seperate"')
SECONDS = 600


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the files of this checkout, which pre-commit clones and installs."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git, and a checkout made by it")
    at = tmp_path_factory.mktemp("hooks")
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        if (ROOT / name).is_file() and not name.startswith(("tests/", "fixtures/")):
            (at / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, at / name)
    git(at, "init", "-q")
    git(at, "add", "-A", "-f")
    git(at, "commit", "-q", "-m", "hooks")
    return at


@pytest.fixture(scope="module")
def cache(hooks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit has installed the hooks; skips where pip can get nothing."""
    pytest.importorskip("pre_commit", reason="this environment has no pre-commit")
    home = tmp_path_factory.mktemp("cache")
    user = tmp_path_factory.mktemp("user")
    git(user, "init", "-q")
    configure(user, hooks, "layoutlint")
    done = pre_commit(user, home, "install-hooks")
    if done.returncode:
        told = (done.stdout + done.stderr).strip().splitlines()
        network = ("Could not find a version", "No matching distribution", "Temporary failure", "Max retries", "timed out")
        reason = next((line.strip() for line in told if any(word in line for word in network)), None)
        assert reason, done.stdout + done.stderr
        pytest.skip(f"pre-commit cannot install the hooks: {reason}")
    return home


def pre_commit(user: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *words],
        cwd=user, env={**environment, "PRE_COMMIT_HOME": str(home)}, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip


def configure(user: Path, hooks: Path, hook: str, args: str = "[]") -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=hooks, capture_output=True, text=True, check=True).stdout
    (user / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {head.strip()}\n  hooks:\n  - id: {hook}\n    args: {args}\n"
    )


RUNS = [
    # id, hook, args, the files that are committed and what they hold, status, what is said
    ("keeping header", "layoutlint", "[]", {"include/ring.h": EXAMPLE / "ring-fixed.h"}, 0, "Passed"),
    ("breaking header", "layoutlint", "[]", {"include/ring.h": EXAMPLE / "ring.h"}, 1, "ring-sides-apart"),
    ("header without a ruled struct", "layoutlint", "[]", {"other.h": "struct other { int a; };\n"}, 0, "Passed"),
    ("no C at all", "layoutlint", "[]", {"notes.txt": "nothing\n"}, 0, "Skipped"),
    ("header that does not parse", "layoutlint", "[]", {"ring.h": '#include "absent.h"\nstruct ring { long head; };\n'}, 1,
     "'absent.h' file not found"),
    ("source that needs flags", "layoutlint", '["--flags", "-Iinclude"]',
     {"include/ring.h": EXAMPLE / "ring.h", "a.c": "#include <ring.h>\n"}, 1, "ring-sides-apart"),
    ("keeping source that needs flags", "layoutlint", '["--flags", "-Iinclude"]',
     {"include/ring.h": EXAMPLE / "ring-fixed.h", "a.c": "#include <ring.h>\n"}, 0, "Passed"),
    ("rule file", "layoutlint-rules", "[]", {}, 0, "Passed"),
    ("broken rule file", "layoutlint-rules", "[]", {"layoutlint.toml": MISTAKEN}, 1, "did you mean `separate`?"),
    ("broken rule file and a header", "layoutlint", "[]", {"layoutlint.toml": MISTAKEN, "ring.h": EXAMPLE / "ring.h"}, 1,
     "did you mean `separate`?"),
    ("whole tree", "layoutlint-tree", '["ring.h"]', {"ring.h": EXAMPLE / "ring.h"}, 1, "ring-sides-apart"),
    ("whole tree without the struct", "layoutlint-tree", '["ring.h"]', {"ring.h": "struct other { int a; };\n"}, 1,
     "struct ring is in none of the inputs"),
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize(("hook", "args", "files", "status", "said"), [case[1:] for case in RUNS], ids=[case[0] for case in RUNS])
def test_hook(hooks, cache, tmp_path, hook, args, files, status, said):
    git(tmp_path, "init", "-q")
    configure(tmp_path, hooks, hook, args)
    for name, content in {"layoutlint.toml": EXAMPLE / "layoutlint.toml", **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content if isinstance(content, str) else content.read_text())
    git(tmp_path, "add", "-A")
    done = pre_commit(tmp_path, cache, "run", "--color", "never")
    assert (done.returncode, said in done.stdout) == (status, True), done.stdout + done.stderr


def test_the_manifest_is_valid():
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
