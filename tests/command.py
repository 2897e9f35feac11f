"""The real command in a process of its own, as its users run it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.forks import Forks

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 120
_KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")


def run(
    *arguments: str | bytes | Path, cwd: Path = ROOT, seconds: float = SECONDS, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`layoutlint ARGUMENTS...` in a folder; nothing of the caller's terminal, colour or locale gets in."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    words = [os.fsdecode(argument) for argument in arguments]
    if any(name.startswith(("PYTHON", "LC_", "LANG")) for name in environment):  # what Python itself obeys when it starts
        return _started(words, cwd, {**kept, **environment}, seconds)
    ended = _forks(os.getpid()).run(words, str(cwd), {**kept, **environment}, seconds)
    return subprocess.CompletedProcess(words, ended.status, ended.stdout.decode(), ended.stderr.decode())


@cache
def _forks(process: int) -> Forks:
    """One for each process of pytest."""
    return Forks(ROOT)


def _started(
    words: list[str], cwd: Path, environment: dict[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "layoutlint", *words], cwd=cwd, env=environment, capture_output=True, encoding="utf-8",
        timeout=seconds, stdin=subprocess.DEVNULL,
    )  # fmt: skip
