"""The CPythons that wheels are compiled for and tried with: those that run here, and unpacked ones.

Debian's packages have most versions. Maven's registry has one that Debian left out.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import NamedTuple

from tests.real import kernels
from tools.release.targets import VERSIONS, Missing, ReleaseError, Target, UsageError, run

# Releases of Debian whose packages have a CPython, for when none is found here.
DEBIAN = {"3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# The artifact that has a version without a Debian release: headers, modules and programs for both machines.
MAVEN = {"3.12": "org.bytedeco:cpython:3.12.1-1.5.10"}
CLASSIFIERS = {"x86_64": "linux-x86_64", "aarch64": "linux-arm64"}
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"

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
    root = scratch / version
    try:
        if version in MAVEN:
            return [_unpack_jar(version, "x86_64", root) / f"include/python{version}"]
        kernels.unpack(DEBIAN[version], (f"libpython{version}-dev",), root)
    except (kernels.Unavailable, Missing) as error:
        raise Missing(f"no headers of CPython {version}: {error}; or give --python COMMAND") from error
    include = root / "usr/include"
    shutil.copytree(include / "x86_64-linux-gnu", include / "aarch64-linux-gnu", dirs_exist_ok=True)
    return [include / f"python{version}", include]


def runner(target: Target, found: list[Interpreter], scratch: Path) -> Interpreter:
    """Return a CPython that runs a target's wheel: one found here, or an unpacked one; raises Missing with the reason."""
    for interpreter in found:
        if interpreter.target == target:
            return interpreter
    emulator = _emulator(target.machine)
    root = scratch / f"{target.version}-{target.machine}"
    try:
        program = _unpack(target, root)
    except (kernels.Unavailable, Missing) as error:
        raise Missing(f"no CPython {target.version} for {target.machine}: {error}") from error
    unpacked = ask((*emulator, *_load(program, root, target.machine)))
    if unpacked is None or unpacked.target != target:
        raise Missing(f"the unpacked CPython {target.version} for {target.machine} does not run here")
    return unpacked


def _unpack(target: Target, root: Path) -> Path:
    """Unpack a CPython and the libraries that it is linked with; return its program."""
    version, architecture = target.version, ARCHITECTURES[target.machine]
    if version in MAVEN:
        kernels.unpack(DEBIAN["3.11"], LIBRARIES, root, architecture)
        return _unpack_jar(version, target.machine, root) / f"bin/python{version}"
    parts = (f"python{version}-minimal", f"libpython{version}-minimal", f"libpython{version}-stdlib")
    kernels.unpack(DEBIAN[version], (*parts, *LIBRARIES), root, architecture)
    return root / f"usr/bin/python{version}"


def _unpack_jar(version: str, machine: str, root: Path) -> Path:
    """Unpack the CPython of Maven's registry for a machine; return the folder that has its bin, include and lib."""
    if os.environ.get("LAYOUTLINT_OFFLINE"):
        raise Missing("LAYOUTLINT_OFFLINE is set")
    if shutil.which("mvn") is None:
        raise Missing("Debian has none, and Maven (mvn), which has one, is not installed")
    artifact = f"{MAVEN[version]}:jar:{CLASSIFIERS[machine]}"
    try:
        run("mvn", "-B", "-q", MAVEN_COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={root / 'jar'}")
    except ReleaseError as error:
        raise Missing(f"Maven has no {artifact}\n{error}") from error
    (jar,) = (root / "jar").iterdir()
    with zipfile.ZipFile(jar) as archive:
        archive.extractall(root)
    return root / "org/bytedeco/cpython" / CLASSIFIERS[machine]


def _emulator(machine: str) -> tuple[str, ...]:
    """Return the command that runs programs of a machine, () if this one does; raises Missing if there is none."""
    if machine == os.uname().machine:
        return ()
    path = shutil.which(f"qemu-{machine}-static") or shutil.which(f"qemu-{machine}")
    if path is None:
        raise Missing(f"no qemu-{machine}: install qemu-user or qemu-user-static")
    return (path,)


def _load(program: Path, root: Path, machine: str) -> tuple[str, ...]:
    """Return the command that runs a program of unpacked packages with their own C library."""
    loaders = sorted(root.rglob(f"ld-linux-{machine.replace('_', '-')}.so.*"))
    if not loaders:
        raise Missing(f"Debian's packages for {machine} have no loader")
    folders = {str(loader.parent) for loader in loaders} | {str(at.parent) for at in root.rglob("lib*.so.*")}
    return str(loaders[0]), "--library-path", ":".join(sorted(folders)), str(program)
