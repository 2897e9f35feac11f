"""Results under a key: how many of them a run can have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layoutlint import accesses
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
