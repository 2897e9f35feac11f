"""Builds and checks the files of a release: the sdist, a wheel for every machine, and compiled ones for Linux.

    .ci/release REVISION FOLDER [--only TEXT] [--python COMMAND]

Cython's C is the same for every CPython, so that the sources are translated once. zig's C compiler carries the
symbols of old C libraries, for either machine; of each CPython it needs the headers alone.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
GLIBC = (2, 17)  # manylinux2014; the oldest that aarch64 has

# Releases of Debian whose packages have the headers, where no interpreter that has them is found.
DEBIAN = {"3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}

LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
ELF_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}

# As CPython compiles extensions. Signed integers wrap around; zig would else make them trap.
FLAGS = ("-shared", "-fPIC", "-g0", "-s", "-DNDEBUG", "-fwrapv", "-fno-strict-aliasing", "-fno-sanitize=undefined", "-w")


class ReleaseError(Exception):
    """A release that cannot be built, or that fails a check."""


class Target(NamedTuple):
    """A CPython on a machine."""

    version: str
    machine: str

    @property
    def tag(self) -> str:
        """The wheel's tag."""
        python = "cp" + self.version.replace(".", "")
        return f"{python}-{python}-manylinux2014_{self.machine}.manylinux_{GLIBC[0]}_{GLIBC[1]}_{self.machine}"

    @property
    def suffix(self) -> str:
        """What CPython appends to the name of a compiled module."""
        return f".cpython-{self.version.replace('.', '')}-{self.machine}-linux-gnu.so"


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """The standard output of a command; raises ReleaseError with what it printed last."""
    done = subprocess.run([*map(str, command)], cwd=cwd, env=os.environ | environment, text=True, capture_output=True)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise ReleaseError(f"{Path(command[0]).name} {' '.join(map(str, command[1:4]))}: exit status {done.returncode}\n{tail}")
    return done.stdout


# The sources


def export(revision: str, into: Path) -> None:
    """Extract the tracked files of a revision, whose time becomes that of all files built."""
    os.environ["SOURCE_DATE_EPOCH"] = run("git", "log", "-1", "--format=%ct", revision).strip()
    run("git", "archive", f"--output={into}.tar", revision)
    with tarfile.open(f"{into}.tar") as archive:
        archive.extractall(into, filter="data")


def check_version(revision: str, source: Path) -> None:
    """Raise ReleaseError if a tag is not that of the version, or the changelog lacks the version."""
    found = re.search(r'^__version__ = "(.*)"', (source / "layoutlint/__init__.py").read_text(), re.M)
    version = found[1] if found else "unknown"
    if not re.fullmatch(r"v\d[\d.]*\w*", revision):
        return  # a commit, to try how it builds
    if revision != f"v{version}":
        raise ReleaseError(f"{revision} is not the version that layoutlint/__init__.py states: {version}")
    if f"\n## [{version}]" not in (source / "CHANGELOG.md").read_text():
        raise ReleaseError(f"CHANGELOG.md has no heading [{version}]")


def build_sdist(source: Path, out: Path) -> Path:
    """Build the source distribution, as the same bytes for the same contents."""
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", out, source)
    (sdist,) = out.glob("*.tar.gz")
    normalise(sdist, int(os.environ["SOURCE_DATE_EPOCH"]))
    return sdist


def normalise(sdist: Path, epoch: int) -> None:
    """Sort the members of a tar.gz, and take times, owners and the umask out of it."""
    tar = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            plain = tarfile.TarInfo(member.name)
            plain.size, plain.type, plain.linkname, plain.mtime = member.size, member.type, member.linkname, epoch
            plain.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(plain, old.extractfile(member) if member.isreg() else None)
    with open(sdist, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=epoch) as packed:
        packed.write(tar.getvalue())


def missing_files(sdist: Path, source: Path) -> list[str]:
    """Files of the revision that the source distribution lacks."""
    with tarfile.open(sdist) as archive:
        shipped = {member.name.partition("/")[2] for member in archive}
    tracked = (path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file())
    return sorted(name for name in tracked if name not in shipped and ".egg-info/" not in name)


# Compiling


class Interpreter(NamedTuple):
    """A CPython that runs here."""

    version: str
    machine: str
    command: str
    include: Path


def interpreters(commands: list[str]) -> Iterator[Interpreter]:
    """The CPythons among some commands."""
    code = "import sysconfig as s, os; print(s.get_python_version(), os.uname().machine, s.get_path('include'))"
    for command in commands:
        if (path := shutil.which(command)) is not None:
            told = subprocess.run([path, "-c", code], text=True, capture_output=True).stdout.split(maxsplit=2)
            if told:
                yield Interpreter(told[0], told[1], path, Path(told[2].strip()))


def headers(version: str, found: list[Interpreter], scratch: Path) -> list[Path]:
    """The folders to include for a CPython: an interpreter's, or those of a Debian package.

    They are good for both machines: each has 64 bits, is little-endian, and has the types of the same sizes.
    """
    for interpreter in found:
        if interpreter.version == version and (interpreter.include / "Python.h").is_file():
            return [interpreter.include]
    if version not in DEBIAN:
        raise ReleaseError(f"no headers of CPython {version}: install it, and give --python COMMAND")
    from tests.real import kernels

    try:
        kernels.unpack(DEBIAN[version], (f"libpython{version}-dev",), scratch / version)
    except kernels.Unavailable as error:
        raise ReleaseError(f"no headers of CPython {version}: {error}; or give --python COMMAND") from error
    include = scratch / version / "usr/include"
    shutil.copytree(include / "x86_64-linux-gnu", include / "aarch64-linux-gnu", dirs_exist_ok=True)
    return [include / f"python{version}", include]


def translate(source: Path) -> dict[str, tuple[Path, str]]:
    """The C of every module to compile, and how far to optimise it."""
    before = os.getcwd()
    os.chdir(source)  # names of sources in the C are relative
    try:
        setup = runpy.run_path("setup.py", run_name="setup.py")
        made = {}
        for name, sources in setup["named_sources"]().items():
            made_of = setup["mark"](*map(Path, sources)) + setup["translator"]()
            c = setup["translate"](name, sources, made_of, "build/c")
            made[name] = (Path(c).resolve(), " ".join(setup["optimisation"](name)))
        return made
    finally:
        os.chdir(before)


def compile_module(target: Target, include: list[Path], c: Path, optimisation: str, into: Path) -> None:
    """Compile one module for a CPython on a machine."""
    into.parent.mkdir(parents=True, exist_ok=True)
    glibc = ".".join(map(str, GLIBC))
    run(sys.executable, "-m", "ziglang", "cc", "-target", f"{target.machine}-linux-gnu.{glibc}", *FLAGS, optimisation,
        *(f"-I{folder}" for folder in include), "-o", into, c.name, cwd=c.parent)  # fmt: skip


def build_wheel(target: Target, include: list[Path], made: dict[str, tuple[Path, str]], pure: Path, out: Path) -> Path:
    """Build the wheel of a target: the contents of the pure one, and the compiled modules."""
    with tempfile.TemporaryDirectory() as scratch:
        run(sys.executable, "-m", "wheel", "unpack", "--dest", scratch, pure)
        (root,) = Path(scratch).iterdir()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [
                pool.submit(compile_module, target, include, c, level, root / (name.replace(".", "/") + target.suffix))
                for name, (c, level) in made.items()
            ]
        for job in jobs:
            job.result()
        (description,) = root.glob("*.dist-info/WHEEL")
        description.write_text(retagged(description.read_text(), target.tag))
        for path in root.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", out, root)
    return next(out.glob(f"*-{target.tag}.whl"))


def retagged(description: str, tag: str) -> str:
    """A WHEEL file for compiled modules."""
    python, abi, platforms = tag.split("-")
    kept = [line for line in description.splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    tags = [f"Tag: {python}-{abi}-{platform}" for platform in platforms.split(".")]
    return "\n".join([*kept, "Root-Is-Purelib: false", *tags, ""])


# Checking


def faults(module: Path, machine: str) -> Iterator[str]:
    """What keeps a compiled module from running on every system that the wheel's tag names."""
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
    """Whether the oldest C library lacks a symbol version."""
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


def try_wheel(wheel: Path, interpreter: Interpreter, state: str, examples: Path) -> None:
    """Install a wheel into a new environment, and check the two headers of the README's example."""
    with tempfile.TemporaryDirectory() as scratch:
        run(interpreter.command, "-m", "venv", scratch)
        run(f"{scratch}/bin/pip", "install", "-q", wheel)
        command = f"{scratch}/bin/layoutlint"
        version = run(command, "--version", cwd=examples)
        if f": {state})" not in version:
            raise ReleaseError(f"{wheel.name}: {version.strip()}: not {state}")
        run(command, "check", "ring-fixed.h", cwd=examples)
        broken = subprocess.run([command, "check", "ring.h"], cwd=examples, capture_output=True)
        if broken.returncode != 1:
            raise ReleaseError(f"{wheel.name}: check ring.h: exit status {broken.returncode}, not 1")
        print(f"{wheel.name}: runs on CPython {interpreter.version}, {state}", flush=True)


# All of it


def release(revision: str, out: Path, only: str, commands: list[str]) -> None:
    """Build and check the files of a release in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise ReleaseError(f"{out} is not empty")
    os.umask(0o022)
    found = list(interpreters([*commands, *(f"python{version}" for version in VERSIONS)]))
    with tempfile.TemporaryDirectory(prefix="layoutlint-release.") as folder:
        scratch = Path(folder)
        source = scratch / "source"
        export(revision, source)
        check_version(revision, source)
        sdist = build_sdist(source, out)
        if lacking := missing_files(sdist, source):
            raise ReleaseError(f"{sdist.name} lacks {', '.join(lacking)}")
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch / "sdist", filter="data")
        (unpacked,) = (scratch / "sdist").iterdir()
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, unpacked, LAYOUTLINT_COMPILE="never")
        (pure,) = out.glob("*.whl")
        try_wheel(pure, found[0], "interpreted", unpacked / "docs/example")
        build_compiled(unpacked, pure, out, only, found, scratch)
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted(out.iterdir()))
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(sums))
    print("".join(sums), end="")


def build_compiled(source: Path, pure: Path, out: Path, only: str, found: list[Interpreter], scratch: Path) -> None:
    """Build and check the compiled wheels, and try those for which there is an interpreter."""
    made: dict[str, tuple[Path, str]] = {}
    for target in (Target(version, machine) for version in VERSIONS for machine in MACHINES):
        if only not in target.tag:
            continue
        made = made or translate(source)
        wheel = build_wheel(target, headers(target.version, found, scratch), made, pure, out)
        check_wheel(wheel, target, len(made))
        fitting = [each for each in found if (each.version, each.machine) == target]
        for interpreter in fitting[:1]:
            try_wheel(wheel, interpreter, "compiled", source / "docs/example")
        if not fitting:
            print(f"{wheel.name}: built, not run: no CPython {target.version} for {target.machine} here", flush=True)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog=".ci/release", description="Build and check the files of a release.")
    parser.add_argument("revision", help="the tag vVERSION, or a commit to try how it builds")
    parser.add_argument("folder", type=Path, help="where the files go: new or empty")
    parser.add_argument("--only", default="", metavar="TEXT", help="of the compiled wheels those whose tag has this text")
    parser.add_argument("--python", action="append", default=[], metavar="COMMAND", help="a CPython beside those on PATH")
    options = parser.parse_args()
    try:
        release(options.revision, options.folder.resolve(), options.only, options.python)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
