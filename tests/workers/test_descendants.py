"""Which processes are below others, and what memory they have: by tables in the place of /proc."""

from __future__ import annotations

import os
import signal
import time
from types import SimpleNamespace

import pytest

from layoutlint.workers import descendants
from layoutlint.workers.descendants import Memory, MemoryWatch

PARENTS = {2: 1, 3: 2, 4: 2, 5: 4, 6: 1, 7: 6, 8: 99, 9: None, 10: 9}
"""Parents of processes; 9 has ended meanwhile."""
BELOW = [
    # processes, those that are looked at, those below
    ({2}, set(PARENTS), {3, 4, 5}), ({1}, set(PARENTS), {2, 3, 4, 5, 6, 7}), ({5}, set(PARENTS), set()), ({4, 6}, set(PARENTS), {5, 7}),
    ({2}, {3, 5}, {3}), ({2, 4}, {5}, {5}), ({9}, set(PARENTS), {10}), (set(), set(PARENTS), set()), ({1}, set(), set()),
]  # fmt: skip


@pytest.mark.parametrize(("tops", "seen", "below"), BELOW)
def test_which_processes_are_below(tops, seen, below, monkeypatch):
    monkeypatch.setattr(descendants, "_parent", PARENTS.get)
    monkeypatch.setattr(descendants, "_processes", lambda: set(PARENTS))
    assert descendants._find_descendants(tops, seen) == below
    assert descendants.descendants(2) == {3, 4, 5}


def test_numbers_and_parents_of_processes():
    assert {1, os.getpid()} <= descendants._processes()
    assert descendants._parent(os.getpid()) == os.getppid()
    assert descendants._parent(1 << 30) is None


class Clock:
    """A clock on which each reading of what pages processes share takes time, and each search of /proc."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.log = 100.0, []
        self.search_seconds, self.sharing_seconds = 0.25, 0.25
        self.memory = {1: Memory(10, 100), 2: Memory(5, 50)}
        monkeypatch.setattr(descendants, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(descendants, "descendants", self.search)
        monkeypatch.setattr(descendants, "_memory", self.memory.__getitem__)
        monkeypatch.setattr(descendants, "_proportional", self.share)

    def search(self, process: int) -> set[int]:
        assert process == 1
        self.log.append(f"search at {self.now - 100:g}")
        self.now += self.search_seconds
        return {2}

    def share(self, process: int) -> int:
        self.log.append(f"pages of {process} at {self.now - 100:g}")
        self.now += self.sharing_seconds / 2
        return self.memory[process].filled - 2

    def look(self, watch: MemoryWatch, most: int, seconds: float) -> list[str]:
        """What is asked in some time, by looks each sixteenth of a second, and when more than so much is filled."""
        self.log, until = [], self.now + seconds
        while self.now < until:
            if watch.exceeds(most):
                self.log.append(f"exceeds at {self.now - 100:g}")
            self.now += 1 / 16
        return self.log


def test_new_processes_are_found_after_a_while(monkeypatch):
    """After a tenth of a second, and after forty times what that takes."""
    clock = Clock(monkeypatch)
    watch = MemoryWatch(1)
    assert (clock.look(watch, 15, 1 / 8), watch.peak) == ([], 100)
    assert (clock.look(watch, 15, 21), watch.peak) == (["search at 0.125", "search at 10.375", "search at 20.625"], 150)
    clock.memory[2], clock.search_seconds = Memory(1, 1), 0
    assert clock.look(watch, 15, 10.25) == ["search at 30.875", "search at 31", "search at 31.125", "search at 31.25"]
    assert watch.peak == 150


@pytest.mark.parametrize("most", [9, 10, 11, 12, 14, 15])
def test_pages_are_shared_rarely(most, monkeypatch):
    """At once, and after ten times what it takes to find that out."""
    clock = Clock(monkeypatch)
    clock.search_seconds = 0
    watch = MemoryWatch(1)
    clock.look(watch, 15, 0.25)
    log = [line for line in clock.look(watch, most, 6) if not line.startswith("search")]
    looks = ["pages of 1 at 0.25", "pages of 2 at 0.375", "exceeds at 0.5", "pages of 1 at 3", "pages of 2 at 3.125", "exceeds at 3.25",
             "pages of 1 at 5.75", "pages of 2 at 5.875", "exceeds at 6"]  # fmt: skip
    assert log == [line for line in looks if most < 11 or "exceeds" not in line] * (most < 15)


STATUS = b"Name:\tx kB\nVmData:\t  7 kB\nRssAnon:\t 1024 kB\nRssShmem:\t 3 kB\nVmSwap:\t5 kB\nVmRSS:\t2000 kB\nThreads:\t1\nodd kB\n"


def test_sizes_of_processes(tmp_path, monkeypatch):
    path = tmp_path / "status"
    path.write_bytes(STATUS.replace(b"x kB", b"x").replace(b"odd kB\n", b""))
    sizes = {b"VmData": 7 << 10, b"RssAnon": 1 << 20, b"RssShmem": 3 << 10, b"VmSwap": 5 << 10, b"VmRSS": 2000 << 10}
    assert descendants._kilobytes(str(path)) == sizes
    assert descendants._kilobytes(str(tmp_path / "missing")) == {}
    path.write_bytes(STATUS)
    assert descendants._kilobytes(str(path)) == {}  # a name that looks like a size
    files = {"/proc/5/status": sizes, "/proc/5/smaps_rollup": {}, "/proc/6/smaps_rollup": {b"Pss_Anon": 1, b"Pss_Shmem": 2, b"SwapPss": 4, b"Pss": 8}}
    monkeypatch.setattr(descendants, "_kilobytes", lambda path: files.get(path, {}))
    assert descendants._memory(5) == Memory((1 << 20) + (8 << 10), 2000 << 10)
    assert [descendants._proportional(process) for process in (5, 6, 7)] == [(1 << 20) + (8 << 10), 7, 0]
    files["/proc/8/status"] = {b"RssAnon": 5}
    assert (descendants._memory(8), descendants._memory(9)) == (Memory(5, 0), Memory(0, 0))
    files["/proc/8/smaps_rollup"] = {b"Pss_Anon": 3}
    assert descendants._proportional(8) == 3
    files["/proc/self/status"] = sizes
    assert descendants.private_memory() == 7 << 10


def test_all_children_are_reaped():
    """Those that ended, and those that run: with their processor time."""
    assert descendants.end_orphans() == 0
    ended = os.fork()
    if ended == 0:
        while time.process_time() < 0.05:
            pass
        os._exit(0)
    os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
    running = os.fork()
    if running == 0:
        signal.pause()
    assert 0.04 <= descendants.end_orphans() < 0.5
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
