"""Work in processes with limits: however a piece of it dies, the others are done, and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from layoutlint.workers import sandbox
from layoutlint.workers.sandbox import WorkFailure, WorkLimits

LIMITS = WorkLimits(seconds=20, memory=256 << 20)
SHORT = WorkLimits(seconds=1, memory=256 << 20)


def _kill(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


WAYS_TO_DIE = [
    # id, what a piece of work does, its limits, how it died
    ("waits", lambda: time.sleep(60), SHORT, "does not end within 1 s"),
    ("works", lambda: [None for _ in iter(int, 1)], WorkLimits(1, 8 << 30), "does not end within 1 s"),
    ("waits for a pipe", lambda: os.read(os.pipe()[0], 1), SHORT, "does not end within 1 s"),
    ("takes memory", lambda: bytes(1 << 30), LIMITS, "gives up (it may take 256 MB of memory)"),
    ("aborts", os.abort, LIMITS, "gives up (it may take 256 MB of memory)"),
    ("crashes", lambda: _kill(signal.SIGSEGV), LIMITS, "crashes (Segmentation fault)"),
    ("is killed", lambda: _kill(signal.SIGKILL), LIMITS, "was killed (perhaps for want of memory)"),
    ("leaves", lambda: os._exit(7), LIMITS, "crashes (status 7)"),
    ("is ended", lambda: _kill(signal.SIGTERM), LIMITS, "crashes (Terminated)"),
]


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def run_all(work, items, jobs: int = 1, limits: WorkLimits = LIMITS) -> list:
    results = dict(sandbox.run_each(work, items, jobs, limits))
    return [results[number] for number in range(len(items))]


@pytest.mark.parametrize("jobs", [0, 1, 3])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_each_piece_is_done_once_in_a_process_of_its_own(count, jobs):
    results = run_all(lambda item: (item * item, os.getpid()), range(count), jobs)
    assert [square for square, _ in results] == [item * item for item in range(count)]
    assert len({process for _, process in results} - {os.getpid()}) == count


def test_pieces_are_done_side_by_side():
    started = time.monotonic()
    run_all(lambda _: time.sleep(1), range(8), jobs=8)
    assert time.monotonic() - started < 6


def test_large_results_come_through():
    assert run_all(lambda item: "x" * (item << 20), range(5), jobs=5) == [
        "x" * (item << 20) for item in range(5)
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(
    ("die", "limits", "how"), [way[1:] for way in WAYS_TO_DIE], ids=[way[0] for way in WAYS_TO_DIE]
)
def test_what_dies_is_told_and_the_others_are_done(die, limits, how, jobs):
    started = time.monotonic()
    failure = WorkFailure(how)
    assert run_all(lambda item: die() if item == 1 else item, range(4), jobs, limits) == [0, failure, 2, 3]
    assert time.monotonic() - started < 15


def test_what_dies_says_nothing_and_leaves_nothing(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def crash(_: int) -> None:
        os.write(1, b"stack")
        os.write(2, b"trace")
        os.abort()

    assert isinstance(run_all(crash, [0])[0], WorkFailure)
    assert capfd.readouterr() == ("", "")
    assert os.listdir(tmp_path) == []


def test_the_time_ends_also_where_alarms_are_ignored():
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    try:
        assert run_all(lambda _: time.sleep(60), [0], limits=SHORT) == [WorkFailure("does not end within 1 s")]
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        signal.signal(signal.SIGALRM, before)


def test_what_is_raised_is_raised_here_and_ends_the_others():
    def work(item: int) -> None:
        if item:
            raise ValueError(f"of {item}")
        time.sleep(60)

    started = time.monotonic()
    with pytest.raises(ValueError, match="of 1"):
        run_all(work, range(2), jobs=2, limits=WorkLimits(60, 256 << 20))
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("allowed", [0, 1])
def test_where_no_process_can_be_had_fewer_do_as_well(allowed, monkeypatch):
    fork, had = os.fork, []

    def refuse() -> int:
        if len(had) >= allowed:
            raise BlockingIOError("fork: Resource temporarily unavailable")
        had.append(1)
        return fork()

    monkeypatch.setattr(os, "fork", refuse)
    none = WorkFailure("cannot be run: no process can be had for it")
    assert run_all(lambda item: item, range(3), jobs=3) == [0 if allowed else none, none, none]


def test_a_system_without_processes_does_the_work_itself(monkeypatch):
    monkeypatch.setattr(sandbox, "HAS_PROCESSES", False)
    assert run_all(lambda item: (item, os.getpid()), range(3)) == [(item, os.getpid()) for item in range(3)]


INTERRUPTED = """
import os, signal, time
from layoutlint.workers import sandbox

def work(item):
    os.write(pipe, b" %d" % os.getpid())
    time.sleep(60)

source, pipe = os.pipe()
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    if os.fork() == 0:
        os.read(source, 1)
        os.kill(os.getppid(), signal.SIGINT)
        os._exit(0)
    for _ in sandbox.run_each(work, range(3), 3, sandbox.WorkLimits(60, 1 << 30)):
        pass
except KeyboardInterrupt:
    os.close(pipe)
    print("interrupted", os.read(source, 100).decode())
"""


def test_an_interrupt_ends_the_processes():
    message = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=30
    ).stdout.split()
    assert message[0] == "interrupted"
    for process in message[1:]:
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)


ORPHANED = """
import os, signal, sys, time
from layoutlint.workers import sandbox

def work(item):
    if item == int(sys.argv[1]):
        time.sleep(0.3)
        os.kill(parent, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    os.read(os.pipe()[0], 1)

parent = os.getpid()
list(sandbox.run_each(work, range(3), 3, sandbox.WorkLimits(60, 1 << 30)))
"""


@pytest.mark.parametrize("killer", ["0", "1", "2"])
def test_work_ends_when_its_parent_is_killed(killer):
    """Whichever of the processes is the last: they hold a pipe, which is read to its end here."""
    source, sink = os.pipe()
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", ORPHANED, killer], pass_fds=(sink,), timeout=30)
    os.close(sink)
    with os.fdopen(source) as held:
        assert held.read() == ""
    assert done.returncode == -signal.SIGKILL
    assert time.monotonic() - started < 30


def test_much_is_told_to_a_parent_that_reads_slowly():
    """That makes room in the pipe again and again."""
    results = sandbox.run_each(lambda item: bytes(1 << 22), range(3), 3, LIMITS)
    assert [len(result) for _, result in results if not time.sleep(0.2)] == [1 << 22] * 3
