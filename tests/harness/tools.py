"""The tools that tests compare with: compilers, binutils, pahole. Whether one works is known by using it once.

A tool can be there and not work: clang knows machines that its assembler does not, gcc may lack `as` or the C
library of 32 bits. `need` skips a test for a tool that is missing or fails at the simplest use. What a test runs
without asking first is judged when it fails (`reason_of`, which tests/conftest.py calls): the failure counts
only if the tool works.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

SECONDS = 60
_COMPILER = re.compile(r"(?:[\w-]+-)?(?:gcc|g\+\+|cc|clang|clang\+\+)(?:-\d+)?")
_OTHERS = re.compile(
    r"(?:[\w-]+-)?(?:as|ld(?:\.\w+)?|objcopy|objdump|strip|readelf|nm|ar|ranlib|dwp)(?:-\d+)?"
    r"|pahole|bpftool|abidiff|openssl|dwz|tcc|rustc|strace|debugedit|eu-\w+"
)
_MACHINE = re.compile(r"-m(?:32|31|64|x32|abi=\S+|arch=\S+|tune=\S+)|--target=\S+|-march=\S+|-B\S+|-stdlib=\S+|-fuse-ld=\S+")
_PROGRAM = "#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n"


def needs_library(name: str, remedy: str) -> pytest.MarkDecorator:
    """Return a mark for tests that skip without a Python library, which it does not import.

    Import large libraries in the tests that use them: workers fork for nearly every test, and copy all that they have loaded.
    """
    return pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed ({remedy})")


NEEDS_SOLVER = needs_library("ortools", "pip install layoutlint[suggest]")


def need(tool: str, *flags: str) -> str:
    """Return the path of a tool; skip the test, with the reason, where it does not work with some flags.

    A compiler has to link a program only where there are flags, and none of them says that it need not.
    """
    reason = fault(tool, flags)
    if reason is not None:
        pytest.skip(reason)
    path = shutil.which(tool)
    assert path is not None
    return path


def need_c_library(compiler: str, *flags: str) -> None:
    """Skip the test where a compiler lacks the headers of the C library for some flags."""
    need(compiler, *flags, "-c")
    reason = _failure([compiler, *flags, "-fsyntax-only", "-include", "stdint.h", "-include", "limits.h", "-xc", "/dev/null"])
    if reason is not None:
        pytest.skip(f"no headers of the C library: {reason}")


def fault(tool: str, flags: Sequence[str] = ()) -> str | None:
    """Return why a tool cannot be used, with those of the flags that choose a machine or a library."""
    chosen = [flag for flag in flags if _MACHINE.fullmatch(flag)]
    chosen += [word for flag, value in pairwise(flags) if flag == "-target" for word in (flag, value)]
    links = bool(flags) and not {"-c", "-S", "-E", "-r", "-nostdlib", "-fsyntax-only"}.intersection(flags)
    return _fault(tool, tuple(chosen), links)


def reason_of(error: BaseException) -> str | None:
    """Return why a test could not use a tool, if that is what an exception means; None if it is a failure."""
    if isinstance(error, FileNotFoundError) and is_tool(error.filename):
        return _fault(Path(error.filename).name, (), False)
    if isinstance(error, subprocess.CalledProcessError) and not isinstance(error.cmd, str):
        tool, *flags = map(str, error.cmd)
        return fault(tool, flags) if is_tool(tool) else None
    return None


def is_tool(name: object) -> bool:
    """Return whether a command is one of those that tests compare with."""
    base = Path(name).name if isinstance(name, str | Path) else ""
    return bool(_COMPILER.fullmatch(base) or _OTHERS.fullmatch(base))


@cache
def _fault(tool: str, flags: tuple[str, ...], links: bool) -> str | None:
    if shutil.which(tool) is None:
        return f"{tool} is not installed"
    with tempfile.TemporaryDirectory() as folder:
        if _COMPILER.fullmatch(Path(tool).name):
            return _failure([tool, *flags, *_compilation(folder, links)])
        if Path(tool).name == "pahole":
            return _pahole_fault(folder)
        if re.fullmatch(r"(?:[\w-]+-)?as", Path(tool).name):
            (Path(folder) / "empty.s").touch()
            return _failure([tool, f"{folder}/empty.s", "-o", f"{folder}/empty.o"])
        return _failure([tool, "version" if Path(tool).name in ("bpftool", "openssl") else "--version"])


def _compilation(folder: str, links: bool) -> list[str]:
    source = Path(folder) / "probe.c"
    source.write_text(_PROGRAM if links else "int probe;\n")
    return [*([] if links else ["-c"]), "-x", "c", str(source), "-o", f"{folder}/probe"]


def _pahole_fault(folder: str) -> str | None:
    """Return why pahole fails to encode BTF; without a compiler there is nothing that it could read."""
    compiler = next((name for name in ("gcc", "clang") if _fault(name, (), False) is None), None)
    if compiler is None:
        return _failure(["pahole", "--version"])
    made = [compiler, "-g", *_compilation(folder, False)]
    return _failure(made) or _failure(["pahole", "-J", f"{folder}/probe"])


def _failure(command: list[str]) -> str | None:
    """Return what a command says when it fails; None when it does not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]} does not work: {error}"
    if done.returncode == 0:
        return None
    words = (done.stderr or done.stdout).strip().splitlines() or [f"it ends with status {done.returncode}"]
    flags = " ".join(word for word in command[1:] if _MACHINE.fullmatch(word))
    return f"{command[0]}{' ' + flags if flags else ''} does not work: {words[0]}"
