"""The checks of a release: what a wheel is linked with, and that it installs without a compiler and runs."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

from tools.release.pythons import Interpreter
from tools.release.targets import GLIBC, ReleaseError, Target, finish, run

LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
ELF_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}

# Quick tests that need no compiler, but the fixtures, the shipped rules and the docs.
SDIST_TESTS = ("tests/geometry", "tests/kinds", "tests/rules")

# Inputs of the README's example, and the exit status of check: headers for libclang, compiled ones for the scanner.
STATUSES = {"ring-fixed.h": 0, "ring.h": 1, "ring-fixed.o": 0, "ring.o": 1}


def missing_files(shipped: set[str], source: Path) -> list[str]:
    """Return the files of the revision that the source distribution lacks."""
    tracked = (path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file())
    return sorted(name for name in tracked if name not in shipped and ".egg-info/" not in name)


def faults(module: Path, machine: str) -> Iterator[str]:
    """Yield what keeps a compiled module from running on every system that the wheel's tag names."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.gnuversions import GNUVerNeedSection

    with open(module, "rb") as file:
        elf = ELFFile(file)
        if elf["e_machine"] != ELF_MACHINES[machine]:
            yield f"is for {elf['e_machine']}"
        needed = {tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
        yield from (f"needs {library}" for library in sorted(needed - LIBRARIES))
        for section in elf.iter_sections():
            if isinstance(section, GNUVerNeedSection):
                names = {symbol.name for _, symbols in section.iter_versions() for symbol in symbols}
                yield from (f"needs {name}" for name in sorted(names) if is_newer(name))


def is_newer(version: str) -> bool:
    """Return whether the oldest C library lacks a symbol version."""
    numbers = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    return numbers is None or (int(numbers[1]), int(numbers[2])) > GLIBC


def check_wheel(wheel: Path, target: Target, modules: int) -> None:
    """Raise ReleaseError if a compiled wheel lacks modules, or a module does not fit its tag."""
    with tempfile.TemporaryDirectory() as scratch:
        run(sys.executable, "-m", "wheel", "unpack", "--dest", scratch, wheel)
        compiled = sorted(Path(scratch).rglob("*.so"))
        found = [f"{path.name} {fault}" for path in compiled for fault in faults(path, target.machine)]
    if len(compiled) != modules:
        found.append(f"{len(compiled)} compiled modules, not {modules}")
    audit = run(sys.executable, "-m", "auditwheel", "show", wheel)
    if f"_{target.machine}" not in audit:
        found.append(audit)
    if found:
        raise ReleaseError(f"{wheel.name}: {'; '.join(found)}")


def download(wheel: Path, target: Target, into: Path) -> Path:
    """Put the wheels of the libraries that a wheel needs into a folder; raises ReleaseError if one has none for a target."""
    pip = (sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--dest", into)
    run(*pip, *_platform(target), *requirements(wheel, target))
    return into


def requirements(wheel: Path, target: Target) -> list[str]:
    """Return what a wheel needs on a target. pip evaluates the conditions for the Python that runs it instead."""
    from packaging.requirements import Requirement

    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    environment = {"python_version": target.version, "python_full_version": f"{target.version}.0", "extra": ""}
    environment |= {"platform_machine": target.machine, "sys_platform": "linux", "platform_system": "Linux"}
    needed = (Requirement(line) for line in metadata.get_all("Requires-Dist", []))
    return [f"{each.name}{each.specifier}" for each in needed if not each.marker or each.marker.evaluate(environment)]


def _platform(target: Target) -> tuple[str, ...]:
    """Return the options that make pip choose wheels for another CPython."""
    names = ("--implementation", "cp", "--python-version", target.version, "--abi", target.abi)
    return (*names, "--platform", target.platform, "--only-binary", ":all:")


def example(source: Path, machine: str, into: Path) -> Path:
    """Make a folder with the README's example, and compile its two headers for a machine, with debug information."""
    shutil.copytree(source, into)
    for header in sorted(into.glob("*.h")):
        c = header.with_suffix(".c")
        c.write_text(f'#include "{header.name}"\nstruct ring ring;\n')
        compile_to = ("-target", f"{machine}-linux-gnu", "-g", "-c", c.name, "-o", c.with_suffix(".o").name)
        run(sys.executable, "-m", "ziglang", "cc", *compile_to, cwd=into)
    return into


def try_wheel(wheel: Path, interpreter: Interpreter, state: str, house: Path, inputs: Path) -> None:
    """Install a wheel where there is no compiler, and check the headers and the objects of the README's example."""
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.monotonic()
        command, environment = install(wheel, interpreter, house, Path(scratch))
        seconds = time.monotonic() - begun
        version = run(*command, "--version", cwd=inputs, **environment)
        if f": {state})" not in version:
            raise ReleaseError(f"{wheel.name}: {version.strip()}: not {state}")
        for name, status in STATUSES.items():
            done = finish(*command, "check", "--no-cache", name, cwd=inputs, environment=environment)
            if done.returncode != status:
                raise ReleaseError(f"{wheel.name}: check {name}: exit status {done.returncode}, not {status}\n{done.stderr}")
    print(f"{wheel.name}: {state}, runs on {_describe(interpreter)}, installed in {seconds:.1f} s", flush=True)


def install(wheel: Path, interpreter: Interpreter, house: Path, root: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """Install a wheel from a folder, without a compiler; return the command that runs it, and its environment."""
    local = ("-q", "--disable-pip-version-check", "--no-index", "--find-links", house)
    if len(interpreter.command) == 1:
        environment = {"PATH": f"{root}/bin", "PYTHONPATH": ""}
        run(*interpreter.command, "-m", "venv", root)
        run(f"{root}/bin/python", "-m", "pip", "install", *local, wheel, **environment)
        return (f"{root}/bin/layoutlint",), environment
    # pip would start processes of an emulated Python, which only binfmt_misc can: this one's installs for it.
    environment = {"PATH": f"{root}/none", "PYTHONPATH": str(root)}
    target = _platform(interpreter.target)
    files = (wheel, *sorted(house.glob("*.whl")))
    run(sys.executable, "-m", "pip", "install", "--no-deps", *local, *target, "--target", root, *files)
    return (*interpreter.command, "-m", "layoutlint"), environment


def _describe(interpreter: Interpreter) -> str:
    emulated = interpreter.machine != os.uname().machine
    return f"CPython {interpreter.version} for {interpreter.machine}{', emulated' if emulated else ''}"


def try_sdist(sdist: Path, interpreter: Interpreter, scratch: Path) -> None:
    """Unpack a source distribution, install it, and run quick tests from there."""
    shutil.unpack_archive(sdist, scratch / "unpacked", filter="data")
    (root,) = (scratch / "unpacked").iterdir()
    run(*interpreter.command, "-m", "venv", scratch / "venv")
    python = scratch / "venv/bin/python"
    run(python, "-m", "pip", "install", "-q", "-e", f"{root}[test]", LAYOUTLINT_COMPILE="never")
    result = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SDIST_TESTS, cwd=root, LAYOUTLINT_OFFLINE="1")
    print(f"{sdist.name}: {' '.join(SDIST_TESTS)}: {result.strip().splitlines()[-1]}", flush=True)
