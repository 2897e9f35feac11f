"""Results under a key: how many of them a run can have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layoutlint import files
from layoutlint.files import accesses
from layoutlint.readers.cache.memory import Memory


def test_results_keep_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A kernel has more units than a process may have files open."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir(mode=0o700)
    work.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.chdir(work)
    before = len(os.listdir("/proc/self/fd"))
    memories = [Memory(f"{number:064x}") for number in range(20)]
    for number, memory in enumerate(memories):
        assert memory.recall() is None
        with accesses.log_answers() as log:
            pass
        memory.keep(log, b"%d" % number)
    assert [memory.recall() for memory in memories] == [b"%d" % number for number in range(20)]
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.exhaustive
@pytest.mark.parametrize(("more", "is_kept"), [(0, True), (1, False)])
def test_the_largest_file_whose_content_is_compared(more, is_kept, tmp_path, monkeypatch):
    """Another time of change is no change if the bytes are the same; those of more than 128 MiB are not compared."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, (1 << 27) + more)
    os.utime(path, (1e9, 1e9))
    memory = Memory("0" * 64)
    assert memory.recall() is None
    with accesses.log_answers() as log:
        files.read_all(str(path), 1 << 28)
    memory.keep(log, b"1")
    os.utime(path, (1.1e9, 1.1e9))
    assert (memory.recall() is not None) == is_kept
