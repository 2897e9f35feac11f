"""Files of a commit, read through git without running anything that a repository can name.

A repository that is checked may be hostile, and its configuration can name programs: hooks, file-system
monitors, filters, remote helpers. So only `rev-parse`, `ls-tree` and `cat-file` are called. They run none of
these, except to fetch the objects of a partial clone: all protocols are denied, and no object is fetched.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from threading import Timer
from time import monotonic
from typing import Final

from layoutlint.errors import UsageError

_SECONDS: Final = 60
_LARGEST: Final = 1 << 24
"""Bytes of a file, or of a list of files."""
_MOST_SAID: Final = 4096
"""Bytes of its messages."""
_HARDENING: Final = (
    "--no-replace-objects", "--no-optional-locks", "--literal-pathspecs", "--no-pager",
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.attributesFile=/dev/null",
    "-c", "core.sshCommand=false", "-c", "core.gitProxy=", "-c", "core.pager=cat", "-c", "credential.helper=",
    "-c", "diff.external=", "-c", "protocol.allow=never", "-c", "safe.bareRepository=explicit",
    "-c", "gc.auto=0", "-c", "maintenance.auto=false",
)  # fmt: skip
_ENVIRONMENT: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "LC_ALL": "C",
}
_KEPT: Final = ("HOME", "XDG_CONFIG_HOME", "GIT_CEILING_DIRECTORIES")
"""Whose repositories are trusted (`safe.directory`) is the user's own configuration."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FILE, _PROGRAM, _FOLDER = "100644", "100755", "040000"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the repository that the working folder lies in."""

    name: str
    """As the user calls it."""
    id: str
    top: str
    """The real path of the top of the working tree."""

    def inside(self, path: str) -> str | None:
        """Return the path of a file below the top; None for one outside of the working tree."""
        # Only the folder is resolved: a link that the change puts in the place of a file is that file.
        folder, name = os.path.split(os.path.normpath(os.path.abspath(path)))
        real = os.path.join(os.path.realpath(folder), name)
        if real == self.top:
            return ""
        return real[len(self.top) + 1 :] if real.startswith(f"{self.top}{os.sep}") else None

    def files(self, path: str) -> dict[str, str]:
        """Return the mode of each file at or below a path of the tree; raises UsageError."""
        words = ("ls-tree", "-r", "-z", "--full-tree", self.id, *(("--", path) if path else ()))
        entries = (entry.partition(b"\t") for entry in _run(self.top, *words).split(b"\0") if entry)
        return {os.fsdecode(name): head.split()[0].decode() for head, _, name in entries}

    def content(self, path: str) -> bytes | None:
        """Return a file as the commit has it; None where it has none. Raises UsageError for no plain file."""
        mode = self.files(path).get(path)
        if mode is None:
            return None
        if mode not in (_FILE, _PROGRAM):
            raise UsageError(f"{path} is a link or a submodule in {self.name}, and cannot be read from there")
        name = f"{self.id}:{path}"
        size = int(_run(self.top, "cat-file", "-s", name) or 0)
        if size > _LARGEST:
            raise UsageError(f"{path} has {size:,} bytes in {self.name}, more than the {_LARGEST:,} allowed")
        return _run(self.top, "cat-file", "blob", name)


def commit(revision: str) -> Commit:
    """Return the commit that a revision names; raises UsageError where there is none."""
    if not revision or revision.startswith("-") or not revision.isprintable():
        raise UsageError(f"--policy-from {revision!r} is no revision: give a branch, a tag or a commit")
    here = os.getcwd()
    top = os.path.realpath(os.fsdecode(_run(here, "rev-parse", "--show-toplevel")).removesuffix("\n"))
    if top != _holder(here):
        raise UsageError(
            f"--policy-from: the configuration of this repository puts its working tree into {top} "
            "(core.worktree); run in a checkout of its own"
        )
    named = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    try:
        found = _run(here, *named).decode().strip()
    except UsageError:
        found = ""
    if not _COMMIT.fullmatch(found):
        raise UsageError(
            f"--policy-from {revision!r}: this repository has no such commit; fetch it first "
            f"(`git fetch origin {revision}`)"
        )
    return Commit(revision, found, top)


def _holder(folder: str) -> str:
    """Return the real path of the nearest folder, from this one up, that holds a `.git`.

    With `core.worktree` a repository names any other: its rule files would count as outside of the change.
    """
    folder = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(folder, ".git")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def _run(folder: str, *words: str) -> bytes:
    """Return what git writes; raises UsageError with the first line that it reports, or after `_SECONDS`."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"PATH": _path(), **_ENVIRONMENT}
    try:
        started = subprocess.Popen(
            [_program(), *_HARDENING, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        raise UsageError(f"git cannot be run: {(error.strerror or str(error)).lower()}") from error
    with started as process:
        written, said = _written(process, words[0])
    if process.returncode:
        first = said.decode(errors="replace").strip().partition("\n")[0]
        raise UsageError(f"git {words[0]} failed: {first or f'status {process.returncode}'}")
    return written


def _written(process: subprocess.Popen[bytes], word: str) -> tuple[bytes, bytes]:
    """Return what a process writes to stdout and stderr; raises UsageError for one too large or too slow."""
    assert process.stdout is not None
    assert process.stderr is not None
    timer = Timer(_SECONDS, process.kill)
    timer.start()
    end, written = monotonic() + _SECONDS, None
    try:
        written = process.stdout.read(_LARGEST + 1)
        said = process.stderr.read(_MOST_SAID) if len(written) <= _LARGEST else b""
    finally:
        if written is None or len(written) > _LARGEST:
            process.kill()  # nobody reads what it still writes
        process.wait()
        timer.cancel()
    if monotonic() >= end:
        raise UsageError(f"git {word} takes more than {_SECONDS} s")
    if len(written) > _LARGEST:
        raise UsageError(f"git {word} gives more than {_LARGEST:,} bytes")
    return written, said


def _path() -> str:
    """Return the search path without relative folders: a checkout must not bring a git of its own."""
    return os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep)))


@cache
def _program() -> str:
    import shutil

    found = shutil.which("git", path=_path())
    if found is None:
        raise UsageError("--policy-from needs git, and there is none on the search path")
    return found
