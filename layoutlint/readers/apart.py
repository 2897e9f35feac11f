"""Work that may never end, or take all memory, or crash: each piece of it in a process with limits.

A C library cannot be stopped by the process that it runs in, and takes that process along when it crashes.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, Generic, TypeVar

from layoutlint.readers.child import Child

HAS_PROCESSES = hasattr(os, "fork")
"""Whether this system can start them as it must; if not, work is done here, and no limits are kept."""

_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one piece of work may take."""

    seconds: int
    """Of the clock: what waits for ever uses no processor."""
    memory: int
    """Bytes of address space, beyond what this process has."""


@dataclass(frozen=True, slots=True)
class Died:
    """A piece of work whose process did not come to its end."""

    how: str
    """What it did, to stand behind a name of what was at work: `does not end within 120 s`."""


def each(
    work: Callable[[_T], _R], items: Sequence[_T], jobs: int, limits: Limits
) -> Iterator[tuple[int, _R | Died]]:
    """What `work` gives for each item, or how it died, with the item's number, as they come to an end.

    `jobs` of them are done side by side. What they give is pickled, and so is what they raise, which is
    raised here.
    """
    if not HAS_PROCESSES:
        yield from ((number, work(item)) for number, item in enumerate(items))
        return
    running: dict[int, tuple[int, Child]] = {}
    poll, left = select.poll(), list(enumerate(items))[::-1]
    try:
        while left or running:
            with suppress(OSError):  # where no more can be had fewer do as well
                while left and len(running) < max(1, jobs):
                    with _uninterrupted():
                        child = Child(partial(_tell, work, left[-1][1], limits))
                        running[child.source] = left.pop()[0], child
                    poll.register(child.source)
            if not running:
                yield left.pop()[0], Died("cannot be run: no process can be had for it")
            for source, _ in poll.poll() if running else ():
                number, child = running[source]
                result = _result(child, limits)
                poll.unregister(source)
                del running[source]
                child.end()
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
    _end_with_reader(sink)
    told: _Done[_R] | Exception
    try:
        told = _Done(work(item))
    except MemoryError:
        os.abort()  # as C libraries do
    except Exception as error:
        told = error
    signal.alarm(0)  # the parent may be busy with others
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # it comes as well when the parent has made room
    sink.write(pickle.dumps(told, pickle.HIGHEST_PROTOCOL))


def _confine(limits: Limits) -> None:
    """Sets the limits of this process, a child, which is to be neither seen nor heard."""
    import faulthandler
    import resource

    faulthandler.disable()  # PYTHONFAULTHANDLER; it keeps a stream of its own
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # libraries write to them when they crash
        os.dup2(nowhere, stream)
    _lower(resource.RLIMIT_CORE, _NO_CORE)
    _lower(resource.RLIMIT_AS, _address_space() + limits.memory)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.alarm(limits.seconds)


def _end_with_reader(sink: BinaryIO) -> None:
    """Lets this process, a child, end when nobody is left to whom it could tell: its parent was killed.

    A signal says so of a pipe (fcntl(2), O_ASYNC), and no library need return for it.
    """
    import fcntl

    signal.signal(signal.SIGIO, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
    with suppress(OSError):  # systems whose pipes send none: the limit of time is left
        fcntl.fcntl(sink, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(sink, fcntl.F_SETFL, fcntl.fcntl(sink, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(sink, 0)
    if poll.poll(0):  # it was killed before
        os._exit(1)


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
        return Died(_how(-status, limits))
    result = pickle.loads(told)
    if isinstance(result, Exception):
        raise result
    return result.result


def _how(number: int, limits: Limits) -> str:
    if number == signal.SIGALRM:
        return f"does not end within {limits.seconds} s"
    if number == signal.SIGABRT:  # what C and C++ do when they get no memory
        return f"gives up (it may take {limits.memory >> 20:,} MB of memory)"
    if number == signal.SIGKILL:
        return "was killed (perhaps for want of memory)"
    return f"crashes ({signal.strsignal(number) if number > 0 else f'status {-number}'})"
