"""The script that builds releases: names, order and times in archives, and what it refuses."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
import sysconfig
import tarfile
import zipfile
from contextlib import chdir
from pathlib import Path

import pytest

from tests.harness.command import ROOT
from tests.oracles.c_probe import need
from tools.release import checks as release_checks
from tools.release import pythons, release
from tools.release.targets import MACHINES, VERSIONS, Missing, ReleaseError, Target, UsageError, finish, run

PURE = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n"


def test_every_python_that_the_metadata_names_gets_a_wheel():
    classifiers = [line.rpartition(" ")[2] for line in (ROOT / "setup.cfg").read_text().splitlines() if ":: 3." in line]
    assert tuple(classifiers) == VERSIONS


def test_a_target_has_the_names_that_its_python_uses():
    target = Target(sysconfig.get_python_version(), "x86_64")
    assert f"cpython-{target.version.replace('.', '')}-x86_64-linux-gnu.so" in target.suffix
    assert target.tag.endswith("manylinux2014_x86_64.manylinux_2_17_x86_64")


def test_a_compiled_wheel_describes_itself():
    assert release.retag(PURE, Target("3.12", "aarch64").tag).splitlines()[2:] == [
        "Root-Is-Purelib: false",
        "Tag: cp312-cp312-manylinux2014_aarch64",
        "Tag: cp312-cp312-manylinux_2_17_aarch64",
    ]


NEWER = [("GLIBC_2.2.5", False), ("GLIBC_2.17", False), ("GLIBC_2.18", True), ("GLIBC_2.34", True), ("GLIBC_PRIVATE", True)]


@pytest.mark.parametrize(("version", "is_newer"), NEWER)
def test_symbols_of_newer_c_libraries_are_found(version: str, is_newer: bool):
    assert release_checks.is_newer(version) is is_newer


def test_a_module_for_another_machine_or_library_is_found(tmp_path: Path):
    (tmp_path / "a.c").write_text("double cbrt(double); double f(double x) { return cbrt(x); }\n")
    need("gcc")
    run("gcc", "-shared", "-fPIC", "-o", "a.so", "a.c", "-Wl,--no-as-needed", "-lresolv", "-lm", cwd=tmp_path)
    found = list(release_checks.faults(tmp_path / "a.so", "aarch64" if sysconfig.get_platform().endswith("x86_64") else "x86_64"))
    assert [fault for fault in found if not fault.startswith("needs GLIBC")][1:] == ["needs libresolv.so.2"]
    assert found[0].startswith("is for EM_")


def test_a_source_distribution_is_the_same_whenever_it_is_built(tmp_path: Path):
    packed = []
    for number, names in enumerate((["b", "a"], ["a", "b"])):
        sdist = tmp_path / f"{number}.tar.gz"
        with tarfile.open(sdist, "w:gz") as archive:
            for name in names:
                (tmp_path / name).write_text(name)
                member = archive.gettarinfo(tmp_path / name, f"p/{name}")
                member.mtime, member.uid, member.mode = number * 1000.5, number, 0o664 - number * 0o20
                with open(tmp_path / name, "rb") as file:
                    archive.addfile(member, file)
        release.normalise(sdist, 1_000_000_000)
        packed.append(sdist.read_bytes())
        with tarfile.open(sdist) as archive:
            assert archive.extractfile("p/b").read() == b"b"  # type: ignore[union-attr]
    assert packed[0] == packed[1]


REVISIONS = [("v0.1.0", None), ("0123abc", None), ("v0.2.0", "is not the version"), ("v0.1.0rc1", "is not the version")]


@pytest.mark.parametrize(("revision", "reason"), REVISIONS)
def test_a_tag_is_that_of_the_version(revision: str, reason: str | None, tmp_path: Path):
    (tmp_path / "layoutlint").mkdir()
    (tmp_path / "layoutlint/__init__.py").write_text('__version__ = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [0.1.0]\n")
    if reason is None:
        release.check_version(revision, tmp_path)
    else:
        with pytest.raises(ReleaseError, match=reason):
            release.check_version(revision, tmp_path)


def test_a_version_that_the_changelog_lacks_is_refused(tmp_path: Path):
    (tmp_path / "layoutlint").mkdir()
    (tmp_path / "layoutlint/__init__.py").write_text('__version__ = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n")
    with pytest.raises(ReleaseError, match="no heading"):
        release.check_version("v0.1.0", tmp_path)


def test_a_folder_with_files_is_left_alone(tmp_path: Path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        release.release(release.Options("HEAD", tmp_path), [])
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_appears_when_it_is_complete(tmp_path: Path, exists: bool):
    if exists:
        (tmp_path / "dist").mkdir()
    with release.new_folder(tmp_path / "dist") as unfinished:
        (unfinished / "a").write_text("a")
        assert not (tmp_path / "dist/a").exists()
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["dist", "dist/a"]
    assert (tmp_path / "dist").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("error", [ReleaseError, SystemExit, KeyboardInterrupt, OSError])
def test_nothing_remains_of_a_release_that_failed(tmp_path: Path, error: type[BaseException]):
    def fail() -> None:
        with release.new_folder(tmp_path / "dist") as unfinished:
            (unfinished / "a").write_text("a")
            raise error

    with pytest.raises(error):
        fail()
    assert list(tmp_path.iterdir()) == []


REFUSED = [  # arguments behind REVISION and FOLDER, exit status, reason
    (("--only", "cp310"), 2, "--only cp310: no wheel has this in its tag; the tags are cp311-cp311-manylinux2014_x86_64"),
    (("--python", "false"), 2, "--python false: does not run a CPython"),
    (("--python", "python9.9"), 2, "--python python9.9: does not run a CPython"),
    (("--jobs", "0"), 2, "--jobs: give 1 or more"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("words", "status", "reason"), REFUSED)
def test_a_release_refuses_what_it_cannot_do(words: tuple[str, ...], status: int, reason: str, tmp_path: Path):
    done = finish(sys.executable, "-m", "tools.release.release", "HEAD", tmp_path / "dist", *words, cwd=ROOT, environment={})
    assert (done.returncode, reason in done.stderr) == (status, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_revision_that_is_unknown_is_refused(tmp_path: Path):
    run("git", "init", "-q", tmp_path)
    with pytest.raises(UsageError, match=r"^v9\.9\.9 is no tag and no commit of this checkout"), chdir(tmp_path):
        release.export("v9.9.9", tmp_path / "source")


LACKING = [  # programs on the path, what the command says
    ((), "git is not installed"),
    (("git",), "python3 is not installed"),
    (("git", "old-python3"), "Python 3.11 or newer is needed, this is Python 3.9.2"),
    (("git", "python3-without-venv"), "python3 -m venv fails; Debian has it in python3-venv"),
]
PROGRAMS = {
    "git": ("git", "exit 0"),
    "old-python3": ("python3", '[ "$1" = -V ] && echo Python 3.9.2; [ "$1" != -c ]'),
    "python3-without-venv": ("python3", '[ "$1" = -c ]'),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("programs", "reason"), LACKING)
def test_a_missing_tool_is_named(programs: tuple[str, ...], reason: str, tmp_path: Path):
    for tool in ("bash", "dirname", "mktemp", "rm"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    for name, body in map(PROGRAMS.__getitem__, programs):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    done = finish(ROOT / ".ci/release", "HEAD", tmp_path / "dist", environment={"PATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (3, f".ci/release: {reason}\n")
    assert not (tmp_path / "dist").exists()


def test_a_command_that_is_not_there_is_missing():
    with pytest.raises(Missing, match=r"^zig-of-another-name cannot be run: "):
        run("zig-of-another-name")


def test_pythons_are_those_given_and_those_on_the_path():
    found = pythons.interpreters([f"env LANG=C {sys.executable}"])
    version = sysconfig.get_python_version()
    assert found[0][:2] == (version, os.uname().machine)
    assert found[0].command[1:] == ("LANG=C", sys.executable)
    assert pythons.runner(found[0].target, found, Path()) is found[0]


def test_a_wheel_that_no_python_runs_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("LAYOUTLINT_OFFLINE", "1")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    other = next(machine for machine in MACHINES if machine != os.uname().machine)
    for version in ("3.12", "3.13"):
        for machine, reason in ((other, f"no qemu-{other}: install qemu-user"), (os.uname().machine, "OFFLINE is set")):
            with pytest.raises(Missing, match=reason):
                pythons.runner(Target(version, machine), [], tmp_path)


NO_HEADERS = [
    ("3.12", "1", "no headers of CPython 3.12: LAYOUTLINT_OFFLINE is set; or give --python"),
    ("3.12", "", "no headers of CPython 3.12: Debian has none, and Maven .mvn., which has one, is not installed; or give"),
    ("3.13", "1", "no headers of CPython 3.13: .*LAYOUTLINT_OFFLINE is set; or give --python"),
]


@pytest.mark.parametrize(("version", "offline", "reason"), NO_HEADERS)
def test_headers_that_cannot_be_had_say_why(
    version: str, offline: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("LAYOUTLINT_OFFLINE", offline)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Missing, match=reason):
        pythons.headers(version, [], tmp_path)


FAKE = """
import sys
def main():
    print("layoutlint 0.1.0 (DWARF scanner: compiled)") if "--version" in sys.argv else None
    sys.exit(0 if "--version" in sys.argv else {"ring.h": 1, "ring.o": 1, "ring-fixed.h": 0, "ring-fixed.o": FIXED}[sys.argv[-1]])
if __name__ == "__main__":
    main()
"""


def fake_wheel(folder: Path, fixed: str = "0", needs: tuple[str, ...] = ()) -> Path:
    """Write a wheel whose command does what try_wheel expects, if `fixed` is 0."""
    info = "layoutlint-0.1.0.dist-info"
    files = {
        "layoutlint/__init__.py": "",
        "layoutlint/__main__.py": FAKE.replace("FIXED", fixed),
        f"{info}/METADATA": "\n".join(("Metadata-Version: 2.1\nName: layoutlint\nVersion: 0.1.0", *needs, "")),
        f"{info}/WHEEL": PURE,
        f"{info}/entry_points.txt": "[console_scripts]\nlayoutlint = layoutlint.__main__:main\n",
        f"{info}/RECORD": "",
    }
    wheel = folder / "layoutlint-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


def test_what_a_wheel_needs_is_that_of_its_python(tmp_path: Path):
    lines = ('a>=1; python_version < "3.14"', "b<3,>=2", 'c; platform_machine == "aarch64"', 'd; extra == "test"')
    wheel = fake_wheel(tmp_path, needs=tuple(f"Requires-Dist: {line}" for line in lines))
    needed = {target: release_checks.requirements(wheel, Target(*target)) for target in (("3.13", "x86_64"), ("3.14", "aarch64"))}
    assert needed == {("3.13", "x86_64"): ["a>=1", "b<3,>=2"], ("3.14", "aarch64"): ["b<3,>=2", "c"]}


TRIED = [  # what the command says of itself, its exit status for ring-fixed.o, and the failure
    ("compiled", "0", None),
    ("interpreted", "0", r"\(DWARF scanner: compiled\): not interpreted"),
    ("compiled", "3", "check ring-fixed.o: exit status 3, not 0"),
]
HERE = Target(sysconfig.get_python_version(), os.uname().machine)
EMULATED = pythons.Interpreter(*HERE, ("/usr/bin/env", sys.executable), Path())


@pytest.mark.one_in(3)
@pytest.mark.skipif(not [*importlib.metadata.distributions(name="pip")], reason="this Python has no pip")
@pytest.mark.skipif(HERE not in release.select_targets(""), reason="there are no wheels for this Python")
@pytest.mark.parametrize(("state", "fixed", "fault"), TRIED)
def test_a_wheel_that_does_not_do_what_it_should_is_found(state: str, fixed: str, fault: str | None, tmp_path: Path):
    trial = (fake_wheel(tmp_path, fixed), EMULATED, state, tmp_path / "house", tmp_path)
    if fault is None:
        release_checks.try_wheel(*trial)
    else:
        with pytest.raises(ReleaseError, match=fault):
            release_checks.try_wheel(*trial)


@pytest.mark.exhaustive
def test_a_wheel_is_installed_without_a_compiler(tmp_path: Path):
    interpreter = EMULATED._replace(command=(sys.executable,))
    command, environment = release_checks.install(fake_wheel(tmp_path), interpreter, tmp_path / "house", tmp_path / "venv")
    assert "compiled" in run(*command, "--version", **environment)
    assert [tool for tool in ("cc", "gcc", "clang", "c++") if shutil.which(tool, path=environment["PATH"])] == []
