"""Work that may never end, or take all memory, or crash: each piece of it in a process with limits.

A C library cannot be stopped by the process that it runs in, and takes that process along when it crashes.
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
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, Generic, TypeVar

from layoutlint.readers.processes import confinement
from layoutlint.readers.processes.child import HAS_PROCESSES, Child, cause_of_death

_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one piece of work may take."""

    seconds: int
    """Of the clock: what waits for ever uses no processor."""
    memory: int
    """Bytes of address space, beyond what this process has."""
    is_confined: bool = False
    """Whether it opens files that inputs name: only those that end, and none that this process has open."""


@dataclass(frozen=True, slots=True)
class Died:
    """A piece of work whose process did not come to its end."""

    how: str
    """What it did, to stand behind a name of what was at work: `does not end within 120 s`."""
    is_late: bool = field(default=False, compare=False)
    """Whether it took all the time that it might take."""


@dataclass(slots=True)
class Patience:
    """How long a run waits in all for what does not end."""

    seconds: float

    def spend(self, seconds: float) -> None:
        """Take off what was waited for nothing."""
        self.seconds -= seconds


def each(
    work: Callable[[_T], _R],
    items: Sequence[_T],
    jobs: int,
    limits: Limits,
    patience: Patience | None = None,
) -> Iterator[tuple[int, _R | Died]]:
    """What `work` gives for each item, or how it died, with the item's number, as they come to an end.

    `jobs` of them are done side by side. What they give is pickled, and so is what they raise, which is
    raised here. Once `patience` is at its end, because others did not end, what is left is not begun.
    """
    patience = patience or Patience(math.inf)
    if not HAS_PROCESSES:
        yield from ((number, work(item)) for number, item in enumerate(items))
        return
    running: dict[int, tuple[int, Child]] = {}
    poll, left = select.poll(), list(enumerate(items))[::-1]
    try:
        while left or running:
            while left and patience.seconds <= 0:
                yield left.pop()[0], Died(f"is not begun: others did not end within {limits.seconds} s each")
            with suppress(OSError):  # where no more can be had fewer do as well
                while left and len(running) < max(1, jobs):
                    with _uninterrupted():
                        child = Child(partial(_tell, work, left[-1][1], limits))
                        running[child.source] = left.pop()[0], child
                    poll.register(child.source)
            if left and not running:
                yield left.pop()[0], Died("cannot be run: no process can be had for it")
            for source, _ in poll.poll() if running else ():
                number, child = running[source]
                result = _result(child, limits)
                poll.unregister(source)
                del running[source]
                child.end()
                if isinstance(result, Died) and result.is_late:
                    patience.spend(limits.seconds)
                yield number, result
    finally:
        for _, child in running.values():
            child.end()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Puts an interrupt off, so that no process is left of which nobody knows; those hear of none at all."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True, slots=True)
class _Done(Generic[_R]):
    result: _R


def _tell(work: Callable[[_T], _R], item: _T, limits: Limits, sink: BinaryIO) -> None:
    """What a child tells: what it has done, or the error that it met."""
    _confine(limits)
    telling = _thread.allocate_lock()

    def end(file: str) -> None:
        telling.acquire()
        sink.write(pickle.dumps(Died(f"reads {file}, which is a pipe or a device"), pickle.HIGHEST_PROTOCOL))
        sink.flush()
        os._exit(0)

    if limits.is_confined:
        confinement.leave_descriptors(sink.fileno())
        confinement.watch_files(end)
    told: _Done[_R] | Exception
    try:
        told = _Done(work(item))
    except MemoryError:
        os.abort()  # as C libraries do
    except Exception as error:
        told = error
    telling.acquire()
    signal.alarm(0)  # the parent may be busy with others
    sink.write(pickle.dumps(told, pickle.HIGHEST_PROTOCOL))


def _confine(limits: Limits) -> None:
    """Sets the limits of this process, a child, which is to be neither seen nor heard."""
    import faulthandler
    import resource

    faulthandler.disable()  # PYTHONFAULTHANDLER; it keeps a stream of its own
    _lower(resource.RLIMIT_CORE, _NO_CORE)
    _lower(resource.RLIMIT_AS, _address_space() + limits.memory)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.alarm(limits.seconds)


_NO_CORE = 1
"""Byte: too few for a file, and to Linux the word for no dump to a program either (fs/coredump.c)."""


def _lower(limit: int, value: int) -> None:
    import resource

    soft, hard = resource.getrlimit(limit)
    stated = [one for one in (soft, hard, value) if one != resource.RLIM_INFINITY]
    resource.setrlimit(limit, (min(stated), hard))


def _address_space() -> int:
    """Bytes that this process has mapped; 0 where no /proc tells."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _result(child: Child, limits: Limits) -> Any:
    """What a child has told once it is through, or how it died; raises what it raised."""
    with os.fdopen(os.dup(child.source), "rb") as source:
        told = source.read()
    if status := child.status():
        return Died(_how(-status, limits), status == -signal.SIGALRM)
    result = pickle.loads(told)
    if isinstance(result, Exception):
        raise result
    if isinstance(result, Died):
        return result
    return result.result


def _how(number: int, limits: Limits) -> str:
    if number == signal.SIGALRM:
        return f"does not end within {limits.seconds} s"
    if number == signal.SIGABRT:  # what C and C++ do when they get no memory
        return f"gives up (it may take {limits.memory >> 20:,} MB of memory)"
    return cause_of_death(-number)
