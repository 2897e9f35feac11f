"""Work that may never end, exhaust memory, or crash: each piece in a process with limits.

A process cannot stop a C library that it runs, and a crash of the library ends the process.
"""

from __future__ import annotations

import _thread
import math
import os
import pickle
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Any, BinaryIO, Generic, TypeVar

from layoutlint.files import accesses
from layoutlint.model.record import Record
from layoutlint.workers import permissions
from layoutlint.workers.child import HAS_PROCESSES, Child, cause_of_death

_T = TypeVar("_T")
_R = TypeVar("_R")


class WorkLimits(Record, frozen=True):
    """The limits of one piece of work."""

    seconds: int
    """Wall-clock time: a process that waits forever uses no processor."""
    memory: int
    """Bytes of address space, in addition to what this process has."""
    is_confined: bool = False
    """Whether it opens files that inputs name: only files that end, and none that this process has open."""


class WorkFailure(Record, frozen=True):
    """A piece of work whose process did not finish."""

    how: str
    """Its end, to follow the name of the work: `does not end within 120 s`."""


class Patience(Record):
    """How long a run waits in total for work that fails: for want of time, of memory, or otherwise."""

    seconds: float

    def spend(self, seconds: float) -> None:
        """Subtract time that was spent waiting."""
        self.seconds -= seconds


def run_each(
    work: Callable[[_T], _R],
    items: Sequence[_T],
    jobs: int,
    limits: WorkLimits,
    patience: Patience | None = None,
    on_step: Callable[[], object] = int,
) -> Iterator[tuple[int, _R | WorkFailure]]:
    """Yield for each item its number and the result of `work`, or how it died, as they finish.

    `jobs` of them run in parallel. Results are pickled. An exception in `work` is pickled and raised here.
    Once `patience` is used up, the remaining items are not started. `on_step` is called for each `tell_step`.
    """
    patience = patience or Patience(math.inf)
    if not HAS_PROCESSES:
        yield from ((number, work(item)) for number, item in enumerate(items))
        return
    running: dict[int, tuple[int, Child, float]] = {}
    poll, pending = select.poll(), list(enumerate(items))[::-1]
    try:
        while pending or running:
            while pending and patience.seconds <= 0:
                accesses.refuse("time was used up")
                yield (
                    pending.pop()[0],
                    WorkFailure("is not begun: others that failed used up the time for it"),
                )
            with suppress(OSError):  # if no more can be started, fewer suffice
                while pending and len(running) < max(1, jobs):
                    with _block_interrupts():
                        child = Child(partial(_write_result, work, pending[-1][1], limits))
                        running[child.source] = pending.pop()[0], child, monotonic()
                    poll.register(child.source)
            if pending and not running:
                accesses.refuse("no process could be started")
                yield pending.pop()[0], WorkFailure("cannot be run: no process can be had for it")
            for source, _ in poll.poll() if running else ():
                number, child, started = running[source]
                first = os.read(source, 1)
                if first == _STEP:
                    on_step()
                    continue
                result = _result(child, limits, first)
                poll.unregister(source)
                del running[source]
                child.end()
                if isinstance(result, WorkFailure):
                    accesses.refuse(result.how)
                    patience.spend(monotonic() - started)
                yield number, result
    finally:
        for _, child, _ in running.values():
            child.end()


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Delay an interrupt, so that every started process is recorded; children inherit the blocked signal."""
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


class _Success(Record, Generic[_R], frozen=True):
    result: _R
    answers: tuple[Any, ...] | None
    """What the file system answered to the child (`accesses.drain`)."""


_STEP = b"."
"""What a child writes for a step; no pickled result begins so."""
_sink: BinaryIO | None = None


def tell_step() -> None:
    """Tell the parent, in `work`, that a part is done."""
    if _sink is not None:
        _sink.write(_STEP)
        _sink.flush()


def _write_result(work: Callable[[_T], _R], item: _T, limits: WorkLimits, sink: BinaryIO) -> None:
    """Write the result of the work, or its exception, in a child."""
    global _sink
    confine(limits)
    _sink = sink
    writing = _thread.allocate_lock()

    def end_with(file: str) -> None:
        writing.acquire()
        sink.write(
            pickle.dumps(WorkFailure(f"reads {file}, which is a pipe or a device"), pickle.HIGHEST_PROTOCOL)
        )
        sink.flush()
        os._exit(0)

    if limits.is_confined:
        permissions.leave_descriptors(sink.fileno())
        permissions.watch_files(end_with)
    result: _Success[_R] | Exception
    try:
        accesses.begin_process()
        result = _Success(work(item), accesses.drain())
    except MemoryError:
        os.abort()  # as C libraries do
    except Exception as error:
        result = error
    writing.acquire()
    signal.alarm(0)  # the parent may be busy with others
    sink.write(pickle.dumps(result, pickle.HIGHEST_PROTOCOL))


def confine(limits: WorkLimits) -> None:
    """Set the limits of this process, a child without output."""
    import faulthandler
    import resource

    faulthandler.disable()  # PYTHONFAULTHANDLER; it keeps a stream of its own
    lower_limit(resource.RLIMIT_CORE, NO_CORE)
    lower_limit(resource.RLIMIT_AS, _address_space() + limits.memory)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.alarm(limits.seconds)


NO_CORE = 1
"""Bytes of a core dump: too few for a file, and on Linux the value for no dump to a program either
(fs/coredump.c)."""


def lower_limit(limit: int, value: int) -> None:
    """Set a limit of this process (getrlimit(2)), unless a lower one is set."""
    import resource

    soft, hard = resource.getrlimit(limit)
    finite = [
        value_or_limit for value_or_limit in (soft, hard, value) if value_or_limit != resource.RLIM_INFINITY
    ]
    resource.setrlimit(limit, (min(finite), hard))


def _address_space() -> int:
    """Return the bytes that this process has mapped; 0 if /proc is missing."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _result(child: Child, limits: WorkLimits, first: bytes) -> Any:
    """Return the result of a child that has ended, or how it died; raise its exception.

    `first` is what was read of it before.
    """
    with os.fdopen(os.dup(child.source), "rb") as source:
        content = first + source.read()
    if status := child.status():
        return WorkFailure(_describe_death(-status, limits))
    result = pickle.loads(content)
    if isinstance(result, Exception):
        raise result
    if isinstance(result, WorkFailure):
        return result
    accesses.merge(result.answers)
    return result.result


def _describe_death(number: int, limits: WorkLimits) -> str:
    if number == signal.SIGALRM:
        return f"does not end within {limits.seconds} s"
    if number == signal.SIGPROF:
        return "takes more processor time than its size allows"
    if number == signal.SIGABRT:  # what C and C++ do when they get no memory
        return f"gives up (it may take {limits.memory >> 20:,} MB of memory)"
    return cause_of_death(-number)
