"""The processes that descend from this one: the memory that they fill, and their end.

A process that leaves its session and whose parent ends still descends from the nearest subreaper above it
(prctl(2), PR_SET_CHILD_SUBREAPER). Without /proc, nothing is measured, and only a process group is killed.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from layoutlint.model.record import Record

_PR_SET_CHILD_SUBREAPER = 36
_END_SECONDS = 10.0
"""The most time to end processes in: those that start others are stopped first, which takes turns."""
_SCAN_SHARE = 40
"""A search of /proc waits for so many times what the last one took, so it takes at most a fortieth."""
_LEAST_SCAN_SECONDS = 0.1
_SHARING_SHARE = 10
"""Finding out which pages processes share waits for so many times what it took."""


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose parents end."""
    import ctypes

    with suppress(OSError, AttributeError):  # no Linux
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(process: int) -> set[int]:
    """Return the processes below one, without it; empty if /proc is missing."""
    return _find_descendants({process}, _processes())


def _find_descendants(tops: set[int], processes: set[int]) -> set[int]:
    """Return those of some processes that are below others, through processes of either set."""
    children: dict[int, list[int]] = {}
    for process in processes:
        if (parent := _parent(process)) is not None:
            children.setdefault(parent, []).append(process)
    descendants = set[int]()
    below = [child for top in tops for child in children.get(top, ())]
    while below:
        process = below.pop()
        descendants.add(process)
        below += children.get(process, ())
    return descendants


def _processes() -> set[int]:
    """Return the numbers of all processes."""
    try:
        return {int(name) for name in os.listdir("/proc") if name.isdecimal()}
    except OSError:
        return set()


def _parent(process: int) -> int | None:
    """Return the parent of a process; None if that has ended."""
    try:
        with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
            # the name in brackets may contain anything (proc_pid_stat(5))
            return int(file.read(1024).rpartition(b")")[2].split(maxsplit=2)[1])
    except (OSError, ValueError, IndexError):
        return None


class Memory(Record, frozen=True):
    """The memory of some processes, in bytes."""

    filled: int
    """Pages without a file, in memory or swap."""
    resident: int
    """Pages in memory, also of files."""


class MemoryWatch:
    """Measures a process and its descendants, of which new ones are found after at least 0.1 s."""

    def __init__(self, process: int) -> None:
        self._processes, self._process = [process], process
        self._next_scan = time.monotonic() + _LEAST_SCAN_SECONDS
        self._next_sharing = 0.0
        self.peak = 0
        """The most bytes that were resident; pages that forks share count for each."""

    def exceeds(self, most: int) -> bool:
        """Return whether the processes fill more bytes; False if that is unknown.

        Pages that forks share count once, which takes long to find out, so not at each call.
        """
        if self._measure() <= most or time.monotonic() < self._next_sharing:
            return False
        started = time.monotonic()
        filled = sum(_proportional(process) for process in self._processes)
        ended = time.monotonic()
        self._next_sharing = ended + _SHARING_SHARE * (ended - started)
        return filled > most

    def _measure(self) -> int:
        """Return the bytes that the processes fill; 0 if that is unknown."""
        now = time.monotonic()
        if now >= self._next_scan:
            self._processes = [self._process, *descendants(self._process)]
            ended = time.monotonic()
            self._next_scan = ended + max(_LEAST_SCAN_SECONDS, _SCAN_SHARE * (ended - now))
        measured = [_memory(process) for process in self._processes]
        self.peak = max(self.peak, sum(memory.resident for memory in measured))
        return sum(memory.filled for memory in measured)


def _memory(process: int) -> Memory:
    values = _kilobytes(f"/proc/{process}/status")
    filled = sum(values.get(name, 0) for name in (b"RssAnon", b"RssShmem", b"VmSwap"))
    return Memory(filled, values.get(b"VmRSS", 0))


def _proportional(process: int) -> int:
    """Return the bytes that a process fills, of a page that n processes share 1/n, if that is known."""
    values = _kilobytes(f"/proc/{process}/smaps_rollup")
    if b"Pss_Anon" not in values:
        return _memory(process).filled
    return sum(values.get(name, 0) for name in (b"Pss_Anon", b"Pss_Shmem", b"SwapPss"))


def private_memory() -> int | None:
    """Return the bytes of private memory that this process may write, filled or not; None if unknown."""
    return _kilobytes("/proc/self/status").get(b"VmData")


def _kilobytes(path: str) -> dict[bytes, int]:
    """Return the sizes in a file of /proc, in bytes; empty if the process has ended."""
    values = {}
    with suppress(OSError, ValueError):
        with open(path, "rb", buffering=0) as file:
            lines = file.read(1 << 16).splitlines()
        for line in lines:
            if line.endswith(b" kB"):
                name, _, value = line.partition(b":")
                values[name] = int(value.split()[0]) << 10
    return values


def kill_descendants() -> None:
    """Kill all processes below this one, which are to be reaped then.

    They are stopped before they are killed, so that none starts another meanwhile.
    """
    me, seen, stopped = os.getpid(), set[int](), set[int]()
    deadline = time.monotonic() + _END_SECONDS
    while time.monotonic() < deadline:
        unseen = _processes() - seen  # only new ones are read: some end within milliseconds
        new = _find_descendants({me, *stopped}, unseen)
        for process in new:
            _signal(process, signal.SIGSTOP)
        seen |= unseen
        stopped |= new
        if not new:
            break
    for process in stopped:
        _signal(process, signal.SIGKILL)


def _signal(process: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def end_orphans() -> float:
    """Kill and reap all children of this process, also adopted ones; return their processor time."""
    seconds, running = _reap_ended()
    if running:
        kill_descendants()
        deadline = time.monotonic() + _END_SECONDS
        while running and time.monotonic() < deadline:
            time.sleep(0.001)
            more, running = _reap_ended()
            seconds += more
    return seconds


def _reap_ended() -> tuple[float, bool]:
    """Reap the children that ended; return their processor time, and whether others run."""
    seconds = 0.0
    try:
        while True:
            process, _, usage = os.wait4(-1, os.WNOHANG)
            if not process:
                return seconds, True
            seconds += usage.ru_utime + usage.ru_stime
    except ChildProcessError:
        return seconds, False
