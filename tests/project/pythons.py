"""The CPythons that wheels are compiled for and tried with: those that run here, and Debian's, unpacked."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.project.targets import VERSIONS, Missing, Target, UsageError
from tests.real import kernels

# Releases of Debian whose packages have a CPython, for when none is found here.
DEBIAN = {"3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# The modules of the standard library that an installation uses are linked with these.
LIBRARIES = ("libc6", "zlib1g", "libexpat1", "libffi8", "libsqlite3-0", "liblzma5", "libbz2-1.0", "libzstd1")

_ASK = "import sysconfig as s, os; print(s.get_python_version(), os.uname().machine, s.get_path('include'))"


class Interpreter(NamedTuple):
    """A CPython that runs here."""

    version: str
    machine: str
    command: tuple[str, ...]
    """One word, or more for one that needs an emulator or a C library of its own."""
    include: Path

    @property
    def target(self) -> Target:
        """What it runs wheels for."""
        return Target(self.version, self.machine)


def interpreters(commands: list[str]) -> list[Interpreter]:
    """Return the CPythons that some commands run, and those on PATH; raises UsageError if a command runs none."""
    given = []
    for command in commands:
        interpreter = ask(tuple(shlex.split(command)))
        if interpreter is None:
            raise UsageError(f"--python {command}: does not run a CPython")
        given.append(interpreter)
    on_path = (ask((f"python{version}",)) for version in VERSIONS)
    return [*given, *(interpreter for interpreter in on_path if interpreter)]


def ask(command: tuple[str, ...]) -> Interpreter | None:
    """Return the CPython that a command runs, or None if it runs none."""
    path = shutil.which(command[0]) if command else None
    if path is None:
        return None
    path = os.path.abspath(path)
    done = subprocess.run([path, *command[1:], "-c", _ASK], text=True, errors="replace", capture_output=True)
    answer = done.stdout.split(maxsplit=2)
    if done.returncode or len(answer) != 3:
        return None
    return Interpreter(answer[0], answer[1], (path, *command[1:]), Path(answer[2].strip()))


def headers(version: str, found: list[Interpreter], scratch: Path) -> list[Path]:
    """Return the folders to include for a CPython: an interpreter's, or those of a Debian package.

    They are good for both machines: each has 64 bits, is little-endian, and has the types of the same sizes.
    """
    for interpreter in found:
        if interpreter.version == version and (interpreter.include / "Python.h").is_file():
            return [interpreter.include]
    if version not in DEBIAN:
        raise Missing(f"no headers of CPython {version}: install it, and give --python COMMAND")
    root = scratch / version
    try:
        kernels.unpack(DEBIAN[version], (f"libpython{version}-dev",), root)
    except kernels.Unavailable as error:
        raise Missing(f"no headers of CPython {version}: {error}; or give --python COMMAND") from error
    include = root / "usr/include"
    shutil.copytree(include / "x86_64-linux-gnu", include / "aarch64-linux-gnu", dirs_exist_ok=True)
    return [include / f"python{version}", include]


def runner(target: Target, found: list[Interpreter], scratch: Path) -> Interpreter:
    """Return a CPython that runs a target's wheel: one found here, or Debian's; raises Missing with the reason."""
    for interpreter in found:
        if interpreter.target == target:
            return interpreter
    if target.version not in DEBIAN:
        raise Missing(f"no CPython {target.version} for {target.machine}: give --python COMMAND")
    emulator = _emulator(target.machine)
    root = scratch / f"{target.version}-{target.machine}"
    parts = (f"python{target.version}-minimal", f"libpython{target.version}-minimal", f"libpython{target.version}-stdlib")
    try:
        kernels.unpack(DEBIAN[target.version], (*parts, *LIBRARIES), root, ARCHITECTURES[target.machine])
    except kernels.Unavailable as error:
        raise Missing(f"no CPython {target.version} for {target.machine}: {error}") from error
    unpacked = ask((*emulator, *_loaded(root / f"usr/bin/python{target.version}", root, target.machine)))
    if unpacked is None or unpacked.target != target:
        raise Missing(f"Debian's CPython {target.version} for {target.machine} does not run here")
    return unpacked


def _emulator(machine: str) -> tuple[str, ...]:
    """Return the command that runs programs of a machine, () if this one does; raises Missing if there is none."""
    if machine == os.uname().machine:
        return ()
    path = shutil.which(f"qemu-{machine}-static") or shutil.which(f"qemu-{machine}")
    if path is None:
        raise Missing(f"no qemu-{machine}: install qemu-user or qemu-user-static")
    return (path,)


def _loaded(program: Path, root: Path, machine: str) -> tuple[str, ...]:
    """Return the command that runs a program of unpacked packages with their own C library."""
    loaders = sorted(root.rglob(f"ld-linux-{machine.replace('_', '-')}.so.*"))
    if not loaders:
        raise Missing(f"Debian's packages for {machine} have no loader")
    folders = {str(loader.parent) for loader in loaders} | {str(at.parent) for at in root.rglob("lib*.so.*")}
    return str(loaders[0]), "--library-path", ":".join(sorted(folders)), str(program)
