"""Git repositories that tests make, whatever the configuration of who runs them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.harness.tools import need

_IDENTITY = (
    "-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false",
    "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", "-c", "maintenance.auto=false", "-c", "gc.auto=0",
)  # fmt: skip


def git(folder: Path, *words: str, text: str | None = None, **variables: str) -> str:
    """Run git in a folder, with `text` as its input, and return what it prints, without the end of the last line.

    `variables` are those of its environment, besides the ones that do not concern git.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TEMPLATE_DIR": "", **variables}  # no hooks to copy
    done = subprocess.run(
        [need("git"), *_IDENTITY, *words], cwd=folder, env=environment, input=text, capture_output=True, text=True, check=True
    )
    return done.stdout.removesuffix("\n")


def write(folder: Path, files: Mapping[str, str | None]) -> None:
    """Write files below a folder; remove those that are None."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)


def commit(folder: Path, subject: str, files: Mapping[str, str | None]) -> str:
    """Commit files, of a new repository if the folder is none, and return the id of the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", ".")
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", subject)
    return _head(folder)


def _head(folder: Path) -> str:
    """Return the id of the last commit, of a file where git writes it: starting git takes longer than that."""
    head = folder / ".git/HEAD"
    name = head.read_text().removeprefix("ref: ").strip() if head.is_file() else ""
    branch = folder / ".git" / name
    return branch.read_text().strip() if branch.is_file() and name.startswith("refs/") else git(folder, "rev-parse", "HEAD")
