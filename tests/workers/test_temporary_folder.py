"""Folders that killed runs left, which the next run removes, and those that it leaves alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from layoutlint.workers.temporary_folder import temporary_folder

ROOT = Path(__file__).resolve().parents[2]
OWNER = """
import os, sys, time
from layoutlint.workers.temporary_folder import temporary_folder
with temporary_folder() as folder:
    open(os.path.join(folder, "file"), "w").close()
    if sys.argv[1] == "fork" and os.fork() == 0:
        os.close(1)
        time.sleep(60)
    print(os.getpid(), flush=True)
    time.sleep(60)
"""
MARK = b"layoutlint removes this folder when its run has ended\n"
OF_THE_USER = {
    "layoutlint-run-2026": ("report.json", "files/x"),
    "layoutlint-run-results": ("layoutlint", "report.json", "files/x"),
    "layoutlint-run-text": ("files/layoutlint",),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def owner(place: Path, how: str) -> subprocess.Popen[bytes]:
    """A run that has made a folder, in a session of its own."""
    environment = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, how], env=environment, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def folders(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


@pytest.mark.parametrize(("how", "is_removed"), [("alone", True), ("fork", False)])
def test_a_killed_run(place, how, is_removed):
    """The folder of a run whose process lives is not removed, nor one of which a fork lives."""
    process = owner(place, how)
    try:
        before = folders(place)
        assert len(before) == 1
        with temporary_folder() as own:
            assert set(folders(place)) == {*before, Path(own).parent.name}
        process.kill()
        process.wait()
        with temporary_folder() as own:
            assert folders(place) == sorted([Path(own).parent.name, *([] if is_removed else before)])
        assert folders(place) == ([] if is_removed else before)
    finally:
        os.killpg(process.pid, signal.SIGKILL) if how == "fork" else process.kill()


def test_what_is_not_its_own_stays(place, tmp_path_factory):
    """Files, links, folders of other names and of other users."""
    target = tmp_path_factory.mktemp("target")
    (target / "kept").touch()
    (place / "layoutlint-run-link").symlink_to(target)
    (place / "layoutlint-run-file").touch()
    (place / "layoutlint-other").mkdir()
    (place / "run").mkdir()
    if os.geteuid() == 0:
        (place / "layoutlint-run-theirs").mkdir()
        os.chown(place / "layoutlint-run-theirs", 1234, 1234)
    for name, files in OF_THE_USER.items():
        for file in files:
            (place / name / file).parent.mkdir(parents=True, exist_ok=True)
            (place / name / file).write_bytes(MARK if file == "layoutlint" else b"mine")
    (place / "layoutlint-run-stale/files/deep").mkdir(parents=True)
    (place / "layoutlint-run-stale/layoutlint").write_bytes(MARK)
    before = {path: path.is_file() for path in place.rglob("*") if "stale" not in str(path)}
    with temporary_folder():
        pass
    assert {path: path.is_file() for path in place.rglob("*")} == before
    assert list(target.iterdir()) == [target / "kept"]


def test_the_mark(place):
    """What a run puts beside its files is what the next one looks for."""
    with temporary_folder() as own:
        assert sorted(path.name for path in Path(own).parent.iterdir()) == ["files", "layoutlint"]
        assert (Path(own).parent / "layoutlint").read_bytes() == MARK
        assert list(Path(own).iterdir()) == []
