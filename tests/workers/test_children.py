"""What a process knows of its children, and the messages between them, without waiting for any."""

from __future__ import annotations

import fcntl
import math
import os
import pickle
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

from layoutlint.workers import child as child_module
from layoutlint.workers import pool, sandbox
from layoutlint.workers.child import Child, Lost, cause_of_death
from layoutlint.workers.sandbox import Patience, WorkFailure, WorkLimits

ENDS = [
    # the exit code, the cause of death
    (0, "crashes (status 0)"), (1, "crashes (status 1)"), (255, "crashes (status 255)"), (-signal.SIGKILL, "was killed (perhaps for want of memory)"),
    (-signal.SIGBUS, "crashes (Bus error: a file became shorter while it was read)"), (-signal.SIGSEGV, "crashes (Segmentation fault)"),
    (-signal.SIGHUP, "crashes (Hangup)"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "cause"), ENDS)
def test_causes_of_death(status, cause):
    assert cause_of_death(status) == cause


DEATHS = [
    (signal.SIGALRM, "does not end within 7 s"), (signal.SIGABRT, "gives up (it may take 3,000 MB of memory)"), (signal.SIGSEGV, "crashes (Segmentation fault)"),
    (-3, "crashes (status 3)"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "how"), DEATHS)
def test_causes_of_death_within_limits(number, how):
    assert sandbox._describe_death(number, WorkLimits(7, 3000 << 20)) == how


def open_descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))


def describe(output) -> None:
    """What a child knows: whether it is one, whether its parent's descriptors are gone, and where its streams lead."""
    streams = {os.readlink(f"/proc/self/fd/{number}") for number in range(3)}
    output.write(repr((Child.is_current, Child.are_there(), len(open_descriptors()), streams)).encode())
    block = b"x" * (60 << 20)
    while time.process_time() < 0.05:
        assert block


def test_a_child():
    before = open_descriptors()
    assert not Child.are_there()
    other = Child(lambda output: signal.pause())
    child = Child(describe)
    assert (Child.are_there(), Child.is_current) == (True, False)
    assert len(open_descriptors()) == len(before) + 4
    with os.fdopen(os.dup(child.source), "rb") as source:
        is_current, has_children, count, streams = eval(source.read())
    assert (is_current, has_children, streams) == (True, False, {"/dev/null"})
    assert count == len(before) + 3  # its end of the pipes, and /dev/null
    assert (child.status(), child.processor_seconds >= 0.03) == (0, True)
    assert 60 << 20 < child.peak_memory < 4 << 30
    for ask in (child.status, lambda: child.pid):
        with pytest.raises(ChildProcessError):
            ask()
    child.end()
    assert len(open_descriptors()) == len(before) + 2
    assert other.pid > 0
    other.end()
    assert (open_descriptors(), Child.are_there()) == (before, False)


@pytest.mark.parametrize("work", [lambda output: 1 // 0, lambda output: sys.exit(0)])
def test_a_child_that_fails(work):
    child = Child(work)
    assert child.status() == 1
    child.end()


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_process_without_pipes_leaves_none_open(allowed, monkeypatch):
    pipe, before, had = os.pipe, open_descriptors(), []

    def refuse() -> tuple[int, int]:
        if len(had) >= allowed:
            raise OSError("too many files")
        had.append(1)
        return pipe()

    monkeypatch.setattr(os, "pipe", refuse)
    with pytest.raises(OSError, match="too many files"):
        Child(lambda output: None)
    monkeypatch.undo()
    assert (open_descriptors(), Child.are_there()) == (before, False)


def test_a_process_without_forks_leaves_no_pipe_open(monkeypatch):
    before = open_descriptors()
    monkeypatch.setattr(os, "fork", lambda: (_ for _ in ()).throw(BlockingIOError("no process")))
    with pytest.raises(BlockingIOError):
        Child(lambda output: None)
    assert (open_descriptors(), Child.are_there()) == (before, False)


ORPHAN = """
import fcntl, os, signal
from layoutlint.workers import child
life, end = os.pipe()
os.close(end)
if {refused}:
    def refuse(*_): raise OSError
    fcntl.fcntl = refuse
    child._watch = lambda life: None
child.die_with_parent(life)
os._exit(7)
"""


@pytest.mark.parametrize("refused", [True, False])
def test_a_child_whose_parent_was_killed_before(refused):
    process = os.fork()
    if process == 0:
        exec(ORPHAN.format(refused=refused), {})
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) in ((1,) if refused else (1, -signal.SIGIO))


def test_a_thread_waits_for_the_parent(monkeypatch):
    source, sink = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(sink)
        child_module._watch(source)
        time.sleep(60)
    os.close(source)
    os.close(sink)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 1


MB = 1 << 20
NUMBERS = [
    # bytes, jobs, processes
    (0, 4, 1), (16 * MB, 4, 1), (32 * MB - 1, 4, 1), (32 * MB, 4, 2), (999 * MB, 4, 4), (999 * MB, 0, 3), (999 * MB, 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("size", "jobs", "number"), NUMBERS)
def test_how_many_processes_are_worth_it(size, jobs, number, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5, 6, 7} if process == 0 else set())
    assert (pool.processors(), pool.number_for(size, jobs)) == (3, number)
    monkeypatch.setattr(pool, "HAS_PROCESSES", False)
    assert pool.number_for(size, jobs) == 1


@pytest.mark.parametrize("count", [0, 1, 300, 16384, 16385])
def test_numbers_are_handed_out_once(count):
    tickets, handed_out = pool._tickets(count)
    assert handed_out == min(count, fcntl.fcntl(tickets, fcntl.F_GETPIPE_SZ) // 4)
    assert list(pool._share(str, tickets)) == [(number, str(number)) for number in range(handed_out)]
    os.close(tickets)


def worker(*pieces: bytes) -> tuple[pool._Worker, int]:
    """A worker that is not started, and where it would write."""
    made = pool._Worker.__new__(pool._Worker)
    made.is_finished, made._loads, made._buffer, made._part = False, pickle.loads, bytearray(), None
    made.source, sink = os.pipe()
    return made, sink


def begins(number: int) -> bytes:
    return (1 << 63 | number).to_bytes(8, "little")


def holds(value: object) -> bytes:
    content = pickle.dumps((value, None))
    return len(content).to_bytes(8, "little") + content


@pytest.mark.parametrize("status", [0, 3])
def test_results_arrive_in_pieces(status):
    stream = begins(5) + holds("five") + begins(0) + begins(300) + holds("x" * 500) + begins(7)
    ends = {len(begins(5) + holds("five")): [(5, "five")], len(stream) - 8: [(300, "x" * 500)]}
    made, sink = worker()
    made.status = lambda: status
    for at in range(len(stream)):
        os.write(sink, stream[at : at + 1])
        assert list(made.receive()) == ends.get(at + 1, [])
    os.close(sink)
    if status:
        with pytest.raises(Lost) as lost:
            list(made.receive())
        assert (lost.value.how, lost.value.part) == ("crashes (status 3)", 7)
    else:
        assert list(made.receive()) == []
    assert made.is_finished
    os.close(made.source)


def test_several_results_arrive_at_once():
    made, sink = worker()
    os.write(sink, begins(1) + holds("a") + begins(2) + holds("b") + begins(3) + holds("c")[:-1])
    assert list(made.receive()) == [(1, "a"), (2, "b")]
    os.write(sink, holds("c")[-1:] + begins(4)[:3])
    assert list(made.receive()) == [(3, "c")]
    os.close(sink)
    os.close(made.source)


NOT_BEGUN = WorkFailure("is not begun: others that failed used up the time for it")


@pytest.mark.parametrize(("seconds", "results"), [(0, [NOT_BEGUN] * 3), (-1, [NOT_BEGUN] * 3), (1e-9, [WorkFailure("crashes (status 3)"), NOT_BEGUN, NOT_BEGUN])])
def test_patience(seconds, results):
    """Only what fails spends it."""
    patience = Patience(seconds)
    assert list(sandbox.run_each(lambda _: os._exit(3), [0, 1, 2], 1, WorkLimits(20, 1 << 30), patience)) == list(enumerate(results))
    assert (patience.seconds < seconds) == (seconds > 0)
    lasting = Patience(1e-9)
    assert list(sandbox.run_each(str, [0, 1], 1, WorkLimits(20, 1 << 30), lasting)) == [(0, "0"), (1, "1")]
    assert lasting.seconds == 1e-9


INFINITY = resource.RLIM_INFINITY
LIMITS = [
    # soft and hard limit, what is asked for, what is set
    (INFINITY, INFINITY, 5, (5, INFINITY)), (9, INFINITY, 5, (5, INFINITY)), (3, INFINITY, 5, (3, INFINITY)), (INFINITY, 4, 5, (4, 4)), (9, 9, 5, (5, 9)), (3, 9, 5, (3, 9)),
]  # fmt: skip


@pytest.mark.parametrize(("soft", "hard", "value", "limits"), LIMITS)
def test_limits_are_only_lowered(soft, hard, value, limits, monkeypatch):
    done = []
    monkeypatch.setattr(resource, "getrlimit", lambda limit: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda *arguments: done.append(arguments))
    sandbox.lower_limit(resource.RLIMIT_AS, value)
    assert done == [(resource.RLIMIT_AS, limits)]


def own_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def describe_limits(_: object) -> tuple:
    import faulthandler

    space = own_space()
    return (
        resource.getrlimit(resource.RLIMIT_CORE)[0], (resource.getrlimit(resource.RLIMIT_AS)[0] - space) / MB, signal.getsignal(signal.SIGALRM), signal.alarm(0),
        signal.SIGALRM in signal.pthread_sigmask(signal.SIG_BLOCK, ()), faulthandler.is_enabled(), signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()),
    )  # fmt: skip


def test_what_limits_a_process():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    ((_, found),) = sandbox.run_each(describe_limits, [0], 1, WorkLimits(20, 500 * MB))
    core, memory, *others = found
    assert core in (0, 1)
    assert math.isclose(memory, 500, abs_tol=8)
    assert others == [signal.SIG_DFL, 20, False, False, True]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert math.isclose(sandbox._address_space(), own_space(), rel_tol=0.01)


def test_several_are_started_side_by_side():
    """As many as jobs, at least one, and no more."""
    source, sink = os.pipe()

    def work(item: int) -> None:
        os.write(sink, b"x")
        time.sleep(0.02)

    for jobs, most in ((0, 1), (2, 2)):
        running = sandbox.run_each(work, range(4), jobs, WorkLimits(20, 1 << 30))
        next(running)
        assert len(os.read(source, 10)) <= most + 1
        list(running)
        os.set_blocking(source, False)
        os.read(source, 100)
    os.close(source)
    os.close(sink)


