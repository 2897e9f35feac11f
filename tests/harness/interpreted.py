"""The real command from a copy of the package in which nothing is compiled, to hold against what compiled modules give."""

from __future__ import annotations

import compileall
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.harness import command

_FOLDER = tempfile.TemporaryDirectory(prefix="layoutlint-interpreted-")


@cache
def package() -> Path:
    """The folder to put on PYTHONPATH: the sources and the rules, without compiled modules, and the bytecode that there is."""
    folder = Path(_FOLDER.name)
    no_binaries = shutil.ignore_patterns("*.so", "*.pyd")
    shutil.copytree(command.ROOT / "layoutlint", folder / "layoutlint", ignore=no_binaries)
    shutil.copytree(command.ROOT / "rules", folder / "layoutlint/rulepacks", ignore=no_binaries)
    compileall.compile_dir(folder, quiet=2)
    return folder


def run(*arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """`layoutlint ARGUMENTS...` interpreted; everything else is as in `tests.harness.command.run`."""
    return command.run(*arguments, PYTHONPATH=str(package()), PYTHONSAFEPATH="1", **more)
