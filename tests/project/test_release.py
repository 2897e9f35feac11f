"""The script that builds releases: names, order and times in archives, and what it refuses."""

from __future__ import annotations

import sysconfig
import tarfile
from pathlib import Path

import pytest

from tests.harness.command import ROOT
from tests.oracles.c_probe import need
from tests.project import release

PURE = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n"


def test_every_python_that_the_metadata_names_gets_a_wheel():
    classifiers = [line.rpartition(" ")[2] for line in (ROOT / "setup.cfg").read_text().splitlines() if ":: 3." in line]
    assert tuple(classifiers) == release.VERSIONS


def test_a_target_has_the_names_that_its_python_uses():
    target = release.Target(sysconfig.get_python_version(), "x86_64")
    assert f"cpython-{target.version.replace('.', '')}-x86_64-linux-gnu.so" in target.suffix
    assert target.tag.endswith("manylinux2014_x86_64.manylinux_2_17_x86_64")


def test_a_compiled_wheel_describes_itself():
    assert release.retagged(PURE, release.Target("3.12", "aarch64").tag).splitlines()[2:] == [
        "Root-Is-Purelib: false",
        "Tag: cp312-cp312-manylinux2014_aarch64",
        "Tag: cp312-cp312-manylinux_2_17_aarch64",
    ]


NEWER = [("GLIBC_2.2.5", False), ("GLIBC_2.17", False), ("GLIBC_2.18", True), ("GLIBC_2.34", True), ("GLIBC_PRIVATE", True)]


@pytest.mark.parametrize(("version", "is_newer"), NEWER)
def test_symbols_of_newer_c_libraries_are_found(version: str, is_newer: bool):
    assert release.is_newer(version) is is_newer


def test_a_module_for_another_machine_or_library_is_found(tmp_path: Path):
    (tmp_path / "a.c").write_text("double cbrt(double); double f(double x) { return cbrt(x); }\n")
    need("gcc")
    release.run("gcc", "-shared", "-fPIC", "-o", "a.so", "a.c", "-Wl,--no-as-needed", "-lresolv", "-lm", cwd=tmp_path)
    found = list(release.faults(tmp_path / "a.so", "aarch64" if sysconfig.get_platform().endswith("x86_64") else "x86_64"))
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
        with pytest.raises(release.ReleaseError, match=reason):
            release.check_version(revision, tmp_path)


def test_a_version_that_the_changelog_lacks_is_refused(tmp_path: Path):
    (tmp_path / "layoutlint").mkdir()
    (tmp_path / "layoutlint/__init__.py").write_text('__version__ = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n")
    with pytest.raises(release.ReleaseError, match="no heading"):
        release.check_version("v0.1.0", tmp_path)


def test_a_folder_with_files_is_left_alone(tmp_path: Path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(release.ReleaseError, match="is not empty"):
        release.release("HEAD", tmp_path, "", [])
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
