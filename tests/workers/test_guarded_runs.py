"""The parent that a run has while it maps large files: its status, and what it reports, for all ends of the run."""

from __future__ import annotations

import mmap
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutlint.errors import EXIT_INTERNAL, EXIT_UNKNOWN
from layoutlint.workers import guard
from layoutlint.workers.child import Child

SIZE = 100
CHANGED = "changed while it was read; run again when nothing writes to it"


def run_in_fork(work: Callable[[], object]) -> tuple[int, str]:
    """Do some work in a fork, whose streams are a pipe; return its status and what it wrote."""
    source, sink = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(source)
            for stream in (1, 2):
                os.dup2(sink, stream)
            os.close(sink)
            sys.stdout = sys.stderr = os.fdopen(1, "w", buffering=1000)
            work()
        finally:
            os._exit(99)
    os.close(sink)
    with os.fdopen(source) as output:
        assert select.select([output], [], [], 20)[0]
        text = output.read()
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), text


def begin() -> None:
    """Continue in a guarded fork, which maps two files."""
    guard._may_guard, Child.is_current, Child._open_descriptors = True, False, set()
    sys.stdout.write("begun\n")
    guard.guard("whole", SIZE)
    guard.guard("shrunk", SIZE)


def die(number: int) -> None:
    begin()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)


def leave(status: int) -> None:
    begin()
    sys.stdout.flush()
    os._exit(status)


def die_of_what_the_parent_blocks() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    die(signal.SIGTERM)


def die_of_what_the_parent_ignores() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    die(signal.SIGTERM)


def interrupt_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    begin()
    time.sleep(0.05)  # until the parent waits: Python takes no notice of a signal that comes just before it calls the system
    os.kill(os.getppid(), signal.SIGINT)
    signal.pause()


def kill_the_parent() -> None:
    begin()
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()


def have_no_status() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    leave(5)


def have_no_process() -> None:
    def refuse() -> int:
        raise BlockingIOError

    before, os.fork = len(os.listdir("/proc/self/fd")), refuse
    begin()
    print(len(os.listdir("/proc/self/fd")) - before)
    leave(4)


ENDS = [
    # what the run does, the status, what its parent reports
    (lambda: leave(0), 0, ""),
    (lambda: leave(3), 3, ""),
    (lambda: die(signal.SIGBUS), EXIT_UNKNOWN, f"layoutlint: shrunk: {CHANGED}\n"),
    (lambda: die(signal.SIGKILL), EXIT_UNKNOWN, "layoutlint: the run was killed (perhaps for want of memory)\n"),
    (lambda: die(signal.SIGTERM), -signal.SIGTERM, ""),
    (lambda: die(signal.SIGSEGV), -signal.SIGSEGV, ""),
    (die_of_what_the_parent_ignores, -signal.SIGTERM, ""),
    (die_of_what_the_parent_blocks, 128 + signal.SIGTERM, ""),
    (interrupt_the_parent, 128 + signal.SIGINT, ""),
    (kill_the_parent, -signal.SIGKILL, ""),
    (have_no_status, EXIT_INTERNAL, ""),
    (have_no_process, 4, "0\nbegun\n"),
]


@pytest.fixture
def files(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("whole").write_bytes(bytes(SIZE))
    Path("shrunk").write_bytes(bytes(SIZE - 1))


@pytest.mark.parametrize(("work", "status", "report"), ENDS)
def test_how_a_run_ends(files, work, status, report):
    assert run_in_fork(work) == (status, f"begun\n{report}")


STATES = [
    # may guard, is itself a child, has children, whether it forks
    (True, False, set(), True), (False, False, set(), False), (True, True, set(), False), (True, False, {99}, False), (True, True, {99}, False),
]  # fmt: skip


@pytest.mark.parametrize(("may", "is_child", "children", "forks"), STATES)
def test_which_runs_are_guarded(files, may, is_child, children, forks):
    def work() -> None:
        guard._may_guard, Child.is_current, Child._open_descriptors = may, is_child, children
        before = os.getpid()
        for _ in range(2):
            guard.guard("whole", SIZE)
        print(os.getpid() != before, os.getppid() == before, guard._maps is not None, flush=True)
        os._exit(0)

    assert run_in_fork(work) == (0, f"{forks} {forks} {forks}\n")


@pytest.mark.parametrize(("has_processes", "debug", "may"), [(True, None, True), (False, None, False), (True, "1", False), (True, "", True)])
def test_what_allows_to_guard(monkeypatch, has_processes, debug, may):
    monkeypatch.setattr(guard, "HAS_PROCESSES", has_processes)
    monkeypatch.setattr(guard, "_may_guard", None)
    monkeypatch.delenv("LAYOUTLINT_DEBUG", raising=False)
    if debug is not None:
        monkeypatch.setenv("LAYOUTLINT_DEBUG", debug)
    guard.allow_guard()
    assert guard._may_guard is may


LAST = 1 << 16
MAPPED = [
    # the names and sizes of mapped files (of `whole` 100 and of `shrunk` 99 bytes are left), the one that is reported
    ([], "an input"),
    ([("whole", 100)], "whole"),
    ([("whole", 101), ("shrunk", 100)], "whole"),
    ([("whole", 100), ("shrunk", 100), ("whole", 101)], "shrunk"),
    ([("whole", 99), ("shrunk", 98)], "shrunk"),
    ([("shrunk", 99), ("missing", 5)], "missing"),
    ([("missing", 5), ("shrunk", 1 << 40)], "shrunk"),
    ([("shrunk", 256 * 99), ("whole", 100)], "shrunk"),
    ([("whole", 0x0A000064), ("shrunk", 99)], "whole"),
    ([("./" * (LAST // 2 - 60) + "whole", 100), ("x" * 95 + "\udcff", 1)], "x" * 95 + "\udcff"),  # the last one leaves one byte
    ([("./" * (LAST // 2 - 60) + "whole", 100), ("x" * 96 + "y", 1)], "./" * (LAST // 2 - 60) + "whole"),
]


@pytest.mark.parametrize(("mapped", "reported"), MAPPED, ids=range(len(MAPPED)))
def test_the_file_that_is_reported(files, monkeypatch, mapped, reported):
    monkeypatch.setattr(guard, "_may_guard", False)
    monkeypatch.setattr(guard, "_maps", mmap.mmap(-1, LAST))
    for name, size in mapped:
        guard.guard(name, size)
    assert guard._shrunk_file() == reported
