"""The hooks, run by the real pre-commit on a repository of their user's, from this checkout as it stands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.command import ROOT
from tests.harness.repository import git

EXAMPLE = ROOT / "docs" / "example"
MISTAKEN = (EXAMPLE / "layoutlint.toml").read_text().replace('kind = "separate"', 'kind = "seperate"')
SECONDS = 600
RING = "struct ring {\n\tvoid **slots;\n\tunsigned long mask;\n\t_Alignas(64) unsigned long head;\n\tunsigned long cached_tail;\n\tGAP\n\tunsigned long tail, cached_head;\n};\n"
OTHER_RULE = """[[rule]]
id = "pad-size"
struct = "pad"
kind = "size"
max = 64
why = "one line"
"""


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
        output = (done.stdout + done.stderr).strip().splitlines()
        network = ("Could not find a version", "No matching distribution", "Temporary failure", "Max retries", "timed out")
        reason = next((line.strip() for line in output if any(word in line for word in network)), None)
        assert reason, done.stdout + done.stderr
        pytest.skip(f"pre-commit cannot install the hooks: {reason}")
    return home


def pre_commit(user: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
    environment |= {"LAYOUTLINT_COMPILE": "never", "VIRTUALENV_NO_PERIODIC_UPDATE": "1"}  # test_compiled.py compiles
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
    ("new rules on a missing struct", "layoutlint", "[]", {"other.h": "struct other { int a; };\n"}, 1,
     "no C file of the repository defines struct ring"),
    ("rules on a struct of elsewhere", "layoutlint", '["--ignore-missing"]', {"other.h": "struct other { int a; };\n"}, 0, "Passed"),
    ("all findings", "layoutlint", '["--all-findings"]', {"include/ring.h": EXAMPLE / "ring.h"}, 1, "ring-sides-apart"),
    ("no C at all", "layoutlint", "[]", {"layoutlint.toml": "# none\n", "notes.txt": "nothing\n"}, 0, "Passed"),
    ("header that does not parse", "layoutlint", "[]", {"ring.h": '#include "absent.h"\nstruct ring { long head; };\n'}, 1,
     "'absent.h' file not found"),
    ("source that needs flags", "layoutlint", '["--flags", "-Iinclude"]',
     {"include/ring.h": EXAMPLE / "ring.h", "a.c": "#include <ring.h>\n"}, 1, "ring-sides-apart"),
    ("keeping source that needs flags", "layoutlint", '["--flags", "-Iinclude"]',
     {"include/ring.h": EXAMPLE / "ring-fixed.h", "a.c": "#include <ring.h>\n"}, 0, "Passed"),
    ("rules in another file", "layoutlint", '["--rules", "my rules.toml"]',
     {"layoutlint.toml": "", "my rules.toml": EXAMPLE / "layoutlint.toml", "include/ring.h": EXAMPLE / "ring.h"}, 1, "ring-sides-apart"),
    ("a compilation database beside the files", "layoutlint", '["build/compile_commands.json"]',
     {"a.c": '#include "ring.h"\n', "ring.h": EXAMPLE / "ring.h",
      "build/compile_commands.json": '[{"file": "../a.c", "directory": ".", "arguments": ["cc", "-c", "../a.c"]}]'}, 1, "ring-sides-apart"),
    ("rule file", "layoutlint-rules", "[]", {}, 0, "Passed"),
    ("broken rule file", "layoutlint-rules", "[]", {"layoutlint.toml": MISTAKEN}, 1, "did you mean `separate`?"),
    ("broken rule file and a header", "layoutlint", "[]", {"layoutlint.toml": MISTAKEN, "ring.h": EXAMPLE / "ring.h"}, 1,
     "did you mean `separate`?"),
    ("whole tree", "layoutlint-tree", '["ring.h"]', {"ring.h": EXAMPLE / "ring.h"}, 1, "ring-sides-apart"),
    ("whole tree without the struct", "layoutlint-tree", '["ring.h"]', {"ring.h": "struct other { int a; };\n"}, 1,
     "struct ring is in none of the inputs"),
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize(("hook", "args", "files", "status", "message"), [case[1:] for case in RUNS], ids=[case[0] for case in RUNS])
def test_hook(hooks, cache, tmp_path, hook, args, files, status, message):
    git(tmp_path, "init", "-q")
    configure(tmp_path, hooks, hook, args)
    for name, content in {"layoutlint.toml": EXAMPLE / "layoutlint.toml", **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content if isinstance(content, str) else content.read_text())
    git(tmp_path, "add", "-A")
    done = pre_commit(tmp_path, cache, "run", "--color", "never")
    unwrapped = " ".join(done.stdout.split())
    assert (done.returncode, message in unwrapped) == (status, True), done.stdout + done.stderr


BASE = {"layoutlint.toml": EXAMPLE / "layoutlint.toml", "my headers/pad.h": "struct pad { char bytes[64]; };\n",
        "my headers/ring.h": '#include "pad.h"\n' + RING.replace("GAP", "struct pad gap;")}  # fmt: skip
FEW = {"my headers/pad.h": "struct pad { char bytes[8]; };\n"}
UNRULED = {"layoutlint.toml": "# none\n", "my headers/ring.h": RING.replace("GAP", "")}
COMMITS = [
    # id, the files before, those of the commit (None: deleted), those that change unstaged, whether it is made, what is said
    ("shrinks an embedded type", BASE, FEW, {}, False, "ring-sides-apart"),
    ("deletes the header of a ruled struct", BASE, {"my headers/ring.h": None}, {}, False, "ring.h defined struct ring before this change"),
    ("adds a broken rule", UNRULED, {"layoutlint.toml": EXAMPLE / "layoutlint.toml"}, {}, False, "ring-sides-apart"),
    ("enlarges an embedded type", BASE, {"my headers/pad.h": "struct pad { char bytes[128]; };\n"}, {}, True, "Passed"),
    ("renames the header", BASE, {"my headers/ring.h": None, "new name.h": EXAMPLE / "ring-fixed.h"}, {}, True, "Passed"),
    ("deletes the struct and its rule", BASE, {"my headers/ring.h": None, "layoutlint.toml": OTHER_RULE}, {}, True, "Passed"),
    ("adds a rule that holds", UNRULED, BASE, {}, True, "Passed"),
    ("touches what is broken already", {**BASE, **FEW}, {"my headers/pad.h": FEW["my headers/pad.h"] + "/* more */\n"}, {}, True, "Passed"),
    ("makes worse what is broken already", {**BASE, "my headers/pad.h": "struct pad { char bytes[40]; };\n"}, FEW, {}, False,
     "compared with HEAD: worse than there"),
    ("changes no C", UNRULED, {"notes.txt": "more\n"}, {}, True, "Passed"),
    ("mends it unstaged only", BASE, FEW, {"my headers/pad.h": "struct pad { char bytes[64]; }; /* mended */\n"}, False, "ring-sides-apart"),
    ("breaks it unstaged only", BASE, {"notes.txt": "more\n"}, FEW, True, "Passed"),
]  # fmt: skip


def put(folder: Path, files: dict[str, Path | str | None]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_text(content if isinstance(content, str) else content.read_text())


@pytest.fixture
def guarded(hooks: Path, cache: Path, tmp_path: Path) -> Path:
    """A repository, with a space in its name, whose commits the hook judges."""
    user = tmp_path / "a repository"
    user.mkdir()
    git(user, "init", "-q", "-b", "main")
    configure(user, hooks, "layoutlint")
    done = pre_commit(user, cache, "install")
    assert done.returncode == 0, done.stdout + done.stderr
    return user


def commit(user: Path, home: Path, *words: str) -> tuple[bool, str]:
    """Whether git makes a commit, and what it and the hook print."""
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
    done = subprocess.run(
        ["git", *identity, "commit", "-m", "change", *words], cwd=user, capture_output=True, text=True, timeout=SECONDS,
        env={**environment, "PRE_COMMIT_HOME": str(home)},
    )  # fmt: skip
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize(("before", "staged", "unstaged", "made", "message"), [case[1:] for case in COMMITS], ids=[case[0] for case in COMMITS])
def test_commits(guarded, cache, before, staged, unstaged, made, message):
    put(guarded, before)
    git(guarded, "add", "-A")
    git(guarded, "commit", "-q", "--no-verify", "-m", "before")
    put(guarded, staged)
    git(guarded, "add", "-A")
    put(guarded, unstaged)
    done, text = commit(guarded, cache)
    assert (done, message in text) == (made, True), text


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", [("-a",), ("my headers/pad.h",)], ids=["all", "a file"])
def test_a_commit_with_an_index_of_its_own(guarded, cache, words):
    put(guarded, BASE)
    git(guarded, "add", "-A")
    git(guarded, "commit", "-q", "--no-verify", "-m", "before")
    put(guarded, FEW)
    done, text = commit(guarded, cache, *words)
    assert (done, "ring-sides-apart" in text) == (False, True), text


@pytest.mark.exhaustive
@pytest.mark.parametrize(("theirs", "made"), [(EXAMPLE / "layoutlint.toml", False), ("# more\n", True)], ids=["a rule", "no rule"])
def test_a_merge_with_a_conflict(guarded, cache, theirs, made):
    """One side shrinks a type, the other adds a rule; what git cannot merge is in a file without C."""
    put(guarded, {**BASE, "layoutlint.toml": "# none\n", "notes": "base\n"})
    git(guarded, "add", "-A")
    git(guarded, "commit", "-q", "--no-verify", "-m", "before")
    git(guarded, "switch", "-q", "-c", "theirs")
    put(guarded, {"layoutlint.toml": theirs, "notes": "theirs\n"})
    git(guarded, "commit", "-q", "-a", "--no-verify", "-m", "theirs")
    git(guarded, "switch", "-q", "main")
    put(guarded, {**FEW, "notes": "ours\n"})
    git(guarded, "commit", "-q", "-a", "--no-verify", "-m", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(guarded, "merge", "-q", "theirs")
    put(guarded, {"notes": "both\n"})
    git(guarded, "add", "-A")
    done, text = commit(guarded, cache)
    assert (done, "ring-sides-apart" in text) == (made, not made), text


@pytest.mark.exhaustive
def test_commits_that_are_compared(guarded, cache):
    """As a CI job has them: nothing is staged."""
    put(guarded, BASE)
    git(guarded, "add", "-A")
    git(guarded, "commit", "-q", "--no-verify", "-m", "before")
    put(guarded, FEW)
    git(guarded, "commit", "-q", "-a", "--no-verify", "-m", "change")
    for words, status in ((("--from-ref", "HEAD~", "--to-ref", "HEAD"), 1), (("--all-files",), 1), ((), 0)):
        assert pre_commit(guarded, cache, "run", *words).returncode == status


def test_the_manifest_is_valid():
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
