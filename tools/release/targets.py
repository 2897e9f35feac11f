"""What a release is built for, and how its commands are run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
GLIBC = (2, 17)  # manylinux2014; the oldest that aarch64 has


class ReleaseError(Exception):
    """A release that cannot be built, or that fails a check."""

    status = 1


class UsageError(ReleaseError):
    """Arguments that cannot be what was meant."""

    status = 2


class Missing(ReleaseError):
    """Something that a release needs and this machine lacks."""

    status = 3


class Target(NamedTuple):
    """A CPython on a machine."""

    version: str
    machine: str

    @property
    def abi(self) -> str:
        """The CPython, as wheels name it and its ABI."""
        return "cp" + self.version.replace(".", "")

    @property
    def tag(self) -> str:
        """The wheel's tag."""
        return f"{self.abi}-{self.abi}-{self.platform}.manylinux_{GLIBC[0]}_{GLIBC[1]}_{self.machine}"

    @property
    def platform(self) -> str:
        """The platform, by the name that every pip knows."""
        return f"manylinux2014_{self.machine}"

    @property
    def suffix(self) -> str:
        """What CPython appends to the name of a compiled module."""
        return f".cpython-{self.version.replace('.', '')}-{self.machine}-linux-gnu.so"


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Return the standard output of a command.

    Raises ReleaseError with the last lines of its output if it fails, Missing if there is no such command.
    """
    done = finish(*command, cwd=cwd, environment=environment)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        words = " ".join(map(str, command[1:4]))
        raise ReleaseError(f"{Path(command[0]).name} {words}: exit status {done.returncode}\n{tail}")
    return done.stdout


def finish(
    *command: str | Path, cwd: Path | None = None, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, whatever its exit status; raises Missing if there is no such command."""
    try:
        return subprocess.run(
            [*map(str, command)], cwd=cwd, env=os.environ | environment, text=True, errors="replace", capture_output=True
        )
    except (FileNotFoundError, PermissionError) as error:
        raise Missing(f"{command[0]} cannot be run: {error.strerror}") from error
