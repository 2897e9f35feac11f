"""Files that `suggest --write` changes: all of them or none, wherever its process is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from layoutlint.commands import file_changes, output_files
from layoutlint.errors import UsageError

OLD = {"a/first.h": b"old\n", "second.h": b"old too\n", "a/third.h": b"old as well\n"}
NEW = {name: content.replace(b"old", b"new") for name, content in OLD.items()}
STEPS = ("open", "write", "fsync", "rename", "replace", "unlink", "fchmod", "close")
"""The functions of os whose calls are counted, and before each of which the process is killed."""


@pytest.fixture(autouse=True)
def _state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def make(folder: Path) -> dict[str, tuple[bytes, bytes]]:
    (folder / "a").mkdir(parents=True)
    for name, content in OLD.items():
        (folder / name).write_bytes(content)
    return {str(folder / name): (OLD[name], NEW[name]) for name in OLD}


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, temporary ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_until(step: int, texts: dict[str, tuple[bytes, bytes]]) -> int:
    """Replace files in a process that kills itself before a step; return the status of its end."""
    child = os.fork()
    if child == 0:
        left = step

        def count(function):
            def call(*args, **kwargs):
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*args, **kwargs)

            return call

        for name in STEPS:
            setattr(os, name, count(getattr(os, name)))
        file_changes.replace_files(texts)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def test_a_change_that_is_killed_at_any_step_is_finished_or_undone(tmp_path):
    results = set()
    for step in range(200):
        folder = tmp_path / str(step)
        texts = make(folder)
        status = run_until(step, texts)
        after_kill = {name: (folder / name).read_bytes() for name in OLD}
        message = list(file_changes.finish_interrupted())
        found = contents(folder)
        assert found in (OLD, NEW), (step, message)
        assert (found == after_kill) or message, step
        assert list(file_changes.finish_interrupted()) == []
        assert not list((tmp_path / "state" / "layoutlint").glob("*.changes"))
        results.add(found == NEW)
        if status == 0:
            break
    assert results == {False, True}
    assert 20 < step < 199


def test_a_file_that_cannot_be_written_leaves_the_others_as_they_were(tmp_path, monkeypatch):
    texts = make(tmp_path / "tree")
    write_beside = output_files.write_beside

    def fail_for_third(path: str, temporary: str, data: bytes) -> None:
        if path.endswith("third.h"):
            raise UsageError("the disk is full", path)
        write_beside(path, temporary, data)

    monkeypatch.setattr(output_files, "write_beside", fail_for_third)
    with pytest.raises(UsageError, match="the disk is full"):
        file_changes.replace_files(texts)
    assert contents(tmp_path / "tree") == OLD


def test_a_file_that_cannot_be_renamed_puts_the_others_back(tmp_path, monkeypatch):
    texts = make(tmp_path / "tree")
    replace = os.replace

    def fail_for_third(source: str, target: str) -> None:
        if target.endswith("third.h"):
            raise PermissionError(1, "Operation not permitted")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_for_third)
    with pytest.raises(UsageError, match=r"third\.h"):
        file_changes.replace_files(texts)
    assert contents(tmp_path / "tree") == OLD


def test_a_file_that_was_edited_after_the_kill_is_left(tmp_path):
    texts = make(tmp_path / "tree")
    step = next(step for step in range(200) if _is_half_done(tmp_path / f"try{step}", step))
    run_until(step, texts)
    (tmp_path / "tree/a/third.h").write_bytes(b"edited\n")
    third = f"{tmp_path}/tree/a/third.h, which is another text by now: the new text is in "
    (message,) = [each for each in file_changes.finish_interrupted() if third in each]
    assert (tmp_path / "tree/a/third.h").read_bytes() == b"edited\n"
    assert Path(message.rpartition(" ")[2]).read_bytes() == NEW["a/third.h"]


def _is_half_done(folder: Path, step: int) -> bool:
    """Return whether a kill before a step leaves the first file changed, and the last one not."""
    run_until(step, make(folder))
    return [(folder / name).read_bytes() == NEW[name] for name in ("a/first.h", "a/third.h")] == [True, False]


@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_journals_that_others_can_write_are_not_read(tmp_path, mode):
    texts = make(tmp_path / "tree")
    state = tmp_path / "state" / "layoutlint"
    state.mkdir(parents=True)
    state.chmod(mode)
    (state / "x.changes").write_bytes(b'[["a", "b", "c", "d"]]\ncommit\n')
    assert list(file_changes.finish_interrupted()) == []
    file_changes.replace_files(texts)  # without a journal
    assert contents(tmp_path / "tree") == NEW
