"""The real command in a process of its own, as its users run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 120
_KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")


def run(
    *arguments: str | Path, cwd: Path = ROOT, seconds: float = SECONDS, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`layoutlint ARGUMENTS...` in a folder; nothing of the caller's terminal, colour or locale gets in."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "layoutlint", *arguments],
        cwd=cwd, env={**kept, **environment}, capture_output=True, encoding="utf-8", timeout=seconds, stdin=subprocess.DEVNULL,
    )  # fmt: skip
