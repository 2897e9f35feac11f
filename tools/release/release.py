"""Builds and checks the files of a release: the sdist, a wheel for every machine, and compiled ones for Linux.

    .ci/release REVISION FOLDER [--only TEXT] [--python COMMAND] [--jobs NUMBER]

Cython's C is the same for every CPython, so that the sources are translated once. zig's C compiler carries the
symbols of old C libraries, for either machine; of each CPython it needs the headers alone.

FOLDER appears when everything is built and checked, and not before.
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
import signal
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tools.release.checks import check_wheel, download, example, missing_files, try_sdist, try_wheel
from tools.release.pythons import Interpreter, headers, interpreters, runner
from tools.release.targets import GLIBC, MACHINES, VERSIONS, Missing, ReleaseError, Target, UsageError, run

ROOT = Path(__file__).parents[2]

# As CPython compiles extensions. Signed integers wrap around; zig would else make them trap.
FLAGS = ("-shared", "-fPIC", "-g0", "-s", "-DNDEBUG", "-fwrapv", "-fno-strict-aliasing", "-fno-sanitize=undefined", "-w")


class Options(NamedTuple):
    """The command line."""

    revision: str
    folder: Path
    only: str = ""
    python: tuple[str, ...] = ()
    jobs: int = 1


class Module(NamedTuple):
    """A module to compile."""

    c: Path
    optimisation: str


# The sources


def export(revision: str, into: Path) -> None:
    """Extract the tracked files of a revision, whose time becomes that of all files built."""
    try:
        commit = run("git", "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
    except Missing:
        raise
    except ReleaseError as error:
        raise UsageError(f"{revision} is no tag and no commit of this checkout\n{error}") from error
    os.environ["SOURCE_DATE_EPOCH"] = run("git", "log", "-1", "--format=%ct", commit).strip()
    run("git", "archive", f"--output={into}.tar", commit)
    with tarfile.open(f"{into}.tar") as archive:
        archive.extractall(into, filter="data")


def check_version(revision: str, source: Path) -> None:
    """Raise ReleaseError if a tag is not that of the version, or the changelog lacks the version."""
    found = re.search(r'^__version__ = "(.*)"', (source / "layoutlint/__init__.py").read_text(), re.M)
    version = found[1] if found else "unknown"
    if not re.fullmatch(r"v\d[\d.]*\w*", revision):
        return  # a commit, to try how it builds
    if revision != f"v{version}":
        raise UsageError(f"{revision} is not the version that layoutlint/__init__.py states: {version}")
    if f"\n## [{version}]" not in (source / "CHANGELOG.md").read_text():
        raise UsageError(f"CHANGELOG.md has no heading [{version}]")


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


# Compiling


def translate(source: Path) -> dict[str, Module]:
    """Return the C of every module to compile, and how far to optimise it."""
    before = os.getcwd()
    os.chdir(source)  # names of sources in the C are relative
    try:
        setup = runpy.run_path("setup.py", run_name="setup.py")
        made = {}
        for name, sources in setup["named_sources"]().items():
            made_of = setup["mark"](*map(Path, sources)) + setup["translator"]()
            c = setup["translate"](name, sources, made_of, "build/c")
            made[name] = Module(Path(c).resolve(), " ".join(setup["optimisation"](name)))
        return made
    finally:
        os.chdir(before)


def compile_module(target: Target, include: list[Path], module: Module, into: Path) -> None:
    """Compile one module for a CPython on a machine."""
    into.parent.mkdir(parents=True, exist_ok=True)
    glibc = ".".join(map(str, GLIBC))
    run(sys.executable, "-m", "ziglang", "cc", "-target", f"{target.machine}-linux-gnu.{glibc}", *FLAGS, module.optimisation,
        *(f"-I{folder}" for folder in include), "-o", into, module.c.name, cwd=module.c.parent)  # fmt: skip


def build_wheel(
    target: Target, include: list[Path], made: dict[str, Module], pure: Path, out: Path, jobs: int
) -> Path:
    """Build the wheel of a target: the contents of the pure one, and the compiled modules."""
    with tempfile.TemporaryDirectory() as scratch:
        run(sys.executable, "-m", "wheel", "unpack", "--dest", scratch, pure)
        (root,) = Path(scratch).iterdir()
        with ThreadPoolExecutor(jobs) as pool:
            compilations = [
                pool.submit(compile_module, target, include, module, root / (name.replace(".", "/") + target.suffix))
                for name, module in made.items()
            ]
        for compilation in compilations:
            compilation.result()
        (description,) = root.glob("*.dist-info/WHEEL")
        description.write_text(retag(description.read_text(), target.tag))
        for path in root.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", out, root)
    return next(out.glob(f"*-{target.tag}.whl"))


def retag(description: str, tag: str) -> str:
    """Return a WHEEL file for compiled modules."""
    python, abi, platforms = tag.split("-")
    kept = [line for line in description.splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    tags = [f"Tag: {python}-{abi}-{platform}" for platform in platforms.split(".")]
    return "\n".join([*kept, "Root-Is-Purelib: false", *tags, ""])


# All of it


def select_targets(only: str) -> list[Target]:
    """Return the targets whose tag contains a text; raises UsageError if none does."""
    targets = [Target(version, machine) for version in VERSIONS for machine in MACHINES]
    chosen = [target for target in targets if only in target.tag]
    if not chosen:
        raise UsageError(f"--only {only}: no wheel has this in its tag; the tags are {', '.join(t.tag for t in targets)}")
    return chosen


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Make a folder of another name beside it, which takes its place in the end, or vanishes after an error."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty")
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield unfinished
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def release(options: Options, found: list[Interpreter]) -> None:
    """Build and check the files of a release in a new folder."""
    targets = select_targets(options.only)
    os.umask(0o022)
    with new_folder(options.folder) as out, tempfile.TemporaryDirectory(prefix="layoutlint-release.") as folder:
        scratch = Path(folder)
        for cache in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
            os.environ[cache] = str(scratch / "zig")  # what an earlier run compiled is of no use to compare with
        source = scratch / "source"
        export(options.revision, source)
        check_version(options.revision, source)
        unpacked = build_pure(source, out, scratch)
        build_compiled(unpacked, out, options, targets, found, scratch)
        (sdist,) = out.glob("*.tar.gz")
        try_sdist(sdist, native(found), scratch / "tests")
        run(sys.executable, "-m", "twine", "check", "--strict", *sorted(out.iterdir()))
        sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir())]
        (out / "SHA256SUMS").write_text("".join(sums))
    print("".join(sums), end="")


def native(found: list[Interpreter]) -> Interpreter:
    """Return an interpreter that needs nothing else to run."""
    for interpreter in found:
        if len(interpreter.command) == 1 and interpreter.target in select_targets(""):
            return interpreter
    raise Missing(f"no CPython {' or '.join(VERSIONS)} for {' or '.join(MACHINES)} on PATH: give --python COMMAND")


def build_pure(source: Path, out: Path, scratch: Path) -> Path:
    """Build the sdist and of it the wheel for every machine; return the folder of the unpacked sdist."""
    sdist = build_sdist(source, out)
    with tarfile.open(sdist) as archive:
        if lacking := missing_files({member.name.partition("/")[2] for member in archive}, source):
            raise ReleaseError(f"{sdist.name} lacks {', '.join(lacking)}")
        archive.extractall(scratch / "sdist", filter="data")
    (unpacked,) = (scratch / "sdist").iterdir()
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, unpacked, LAYOUTLINT_COMPILE="never")
    return unpacked


def build_compiled(
    source: Path, out: Path, options: Options, targets: list[Target], found: list[Interpreter], scratch: Path
) -> None:
    """Build and check the compiled wheels; try them, and the one for every machine."""
    (pure,) = out.glob("*-py3-none-any.whl")
    each = native(found)
    house = download(pure, each.target, scratch / "house")
    inputs = {machine: example(source / "docs/example", machine, scratch / f"example-{machine}") for machine in MACHINES}
    try_wheel(pure, each, "interpreted", house, inputs[each.machine])
    made = translate(source)
    for target in targets:
        wheel = build_wheel(target, headers(target.version, found, scratch), made, pure, out, options.jobs)
        check_wheel(wheel, target, len(made))
        house = download(wheel, target, scratch / f"house-{target.version}-{target.machine}")
        try:
            interpreter = runner(target, found, scratch)
        except Missing as reason:
            print(f"{wheel.name}: built, not run: {reason}", flush=True)
        else:
            try_wheel(wheel, interpreter, "compiled", house, inputs[target.machine])


def parse(words: list[str]) -> Options:
    """Return the options of a command line; exits with status 2 if they are wrong."""
    parser = argparse.ArgumentParser(prog=".ci/release", description="Build and check the files of a release.")
    parser.add_argument("revision", help="the tag vVERSION, or a commit to try how it builds")
    parser.add_argument("folder", type=Path, help="where the files go: new or empty")
    parser.add_argument("--only", default="", metavar="TEXT", help="build the compiled wheels whose tag has this text")
    parser.add_argument("--python", action="append", default=[], metavar="COMMAND", help="a CPython beside those on PATH")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="NUMBER", help="compilers at a time")
    given = parser.parse_args(words)
    if given.jobs < 1:
        parser.error("--jobs: give 1 or more")
    folder = given.folder.resolve()
    return Options(given.revision, folder, given.only, tuple(given.python), given.jobs)


def main(words: list[str]) -> int:
    """Run the command line; return the exit status: 1 if a check failed, 2 for wrong arguments, 3 if a tool is missing."""
    options = parse(words)
    os.environ.pop("PYTHONPATH", None)  # .ci/release's; what is tried must not see it
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that nothing unfinished remains
    try:
        found = interpreters(list(options.python))
        os.chdir(ROOT)
        release(options, found)
    except ReleaseError as error:
        print(f".ci/release: {error}", file=sys.stderr)
        return error.status
    except OSError as error:
        print(f".ci/release: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
