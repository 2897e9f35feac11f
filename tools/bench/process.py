"""One command as a process of its own: what it takes on the clock, of the processors, and of memory.

Time and memory are taken in separate runs, because watching costs time. Memory is watched in /proc, a thousand times
a second, over the process and all its descendants:

- *private* is what no file backs (`RssAnon`, proc(5)): what the machine must have free. A page of a mapped file can be
  dropped and read again, and is not in it.
- *resident* is all that was in memory at once (`VmHWM`, the kernel's own high-water mark). `ru_maxrss` would not do
  for small processes: execve(2) hands on the mark of the process that started them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

WATCH_SECONDS = 0.001
END_SECONDS = 300


class Failed(Exception):
    """A command that did not do what is measured, and how that shows."""


@dataclass(frozen=True, slots=True)
class Command:
    """Words to run, in a folder; what its output must show, and the exit statuses of a run that did its work."""

    words: tuple[str, ...]
    shows: str = ""
    statuses: tuple[int, ...] = (0,)
    folder: Path | None = None

    def start(self, output: int, errors: int) -> subprocess.Popen[bytes]:
        """The process, with nothing on its standard input and what it says in files; raises Failed."""
        try:
            return subprocess.Popen(
                self.words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
            )
        except OSError as error:
            raise Failed(str(error)) from error


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds on the clock, and seconds of the processors, in the program and in the kernel for it."""

    wall: float
    user: float
    system: float

    @property
    def cpu(self) -> float:
        """Seconds of all processors together."""
        return self.user + self.system


@dataclass(slots=True)
class Peak:
    """The most memory that a command had at once, in MB of a million bytes."""

    private: float = 0
    resident: float = 0


def took(command: Command) -> Took:
    """Run a command to its end by the clock; raises Failed."""
    begun = time.perf_counter()
    process = command.start(subprocess.DEVNULL, subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in command.statuses:
        raise Failed(f"exit status {process.returncode}")
    return Took(wall, usage.ru_utime, usage.ru_stime)


def peak(command: Command) -> Peak:
    """Run a command to its end and watch its memory; raises Failed, also when its output lacks what it must show."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = command.start(output.fileno(), errors.fileno())
        watch = _Watch(process.pid)
        end = time.monotonic() + END_SECONDS
        while process.poll() is None:
            watch.look()
            if time.monotonic() > end:
                process.kill()
            time.sleep(WATCH_SECONDS)
        output.seek(0)
        errors.seek(0)
        if process.returncode not in command.statuses:
            answer = errors.read().decode(errors="replace").strip().splitlines()
            raise Failed(f"exit status {process.returncode}" + (f": {answer[-1]}" if answer else ""))
        if command.shows.encode() not in output.read():
            raise Failed(f"its output lacks {command.shows!r}")
    return watch.peak


@dataclass(slots=True)
class _Watch:
    """Looks at a process and its descendants; what a look cannot see any more has ended."""

    root: int
    peak: Peak = field(default_factory=Peak)

    def look(self) -> None:
        seen = [numbers for pid in _family(self.root) if (numbers := _numbers(pid))]
        self.peak.private = max(self.peak.private, sum(private for private, _ in seen))
        self.peak.resident = max(self.peak.resident, sum(resident for _, resident in seen))


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        threads = list(Path(f"/proc/{pid}/task").glob("*/children"))
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return
    for children in threads:
        for child in (_read(children) or "").split():
            yield from _family(int(child))


def _numbers(pid: int) -> tuple[float, float] | None:
    """Private and high-water resident memory of one process, in MB; None when it has ended."""
    lines = (line.split() for line in (_read(Path(f"/proc/{pid}/status")) or "").splitlines())
    kilobytes = {words[0]: int(words[1]) for words in lines if words[0] in ("RssAnon:", "RssShmem:", "VmHWM:")}
    if len(kilobytes) < 3:
        return None
    return (kilobytes["RssAnon:"] + kilobytes["RssShmem:"]) * 1024 / 1e6, kilobytes["VmHWM:"] * 1024 / 1e6


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
