"""One process that works for this one."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, ClassVar, NoReturn

from layoutlint.files import accesses

HAS_PROCESSES = hasattr(os, "fork")
"""Whether this system can fork; if not, work is done in this process."""
WriteResult = Callable[[BinaryIO], None]
"""The work of a child; it writes its result."""


class Lost(Exception):
    """A process died before it returned all results."""

    def __init__(self, how: str, part: int | None = None) -> None:
        super().__init__(how, part)
        accesses.refuse(how)
        self.how = how
        """Its end, to follow a name: `was killed (perhaps for want of memory)`."""
        self.part = part
        """The number of the work at which it died, if known."""


def cause_of_death(status: int) -> str:
    """Describe how a process ended, by its exit code from os.waitstatus_to_exitcode."""
    if status == -signal.SIGKILL:
        return "was killed (perhaps for want of memory)"
    if status == -signal.SIGBUS:
        return "crashes (Bus error: a file became shorter while it was read)"
    return f"crashes ({signal.strsignal(-status) if status < 0 else f'status {status}'})"


class Child:
    """A process that does some work, and writes the result. Raises OSError if none can be started."""

    _open_descriptors: ClassVar[set[int]] = set()
    """Descriptors of this process that its children must close."""
    is_current: ClassVar[bool] = False
    """Whether this process is a child."""

    def __init__(self, tell: WriteResult) -> None:
        self._pid: int | None = None
        self.processor_seconds = 0.0
        """The processor time of it and of the processes that it waited for, once its status is known."""
        self.peak_memory = 0
        """The most bytes that were resident in one of them, likewise."""
        parent = os.getpid()
        self.source, sink, life, self._life = _pipes()
        """The descriptor with the result; it ends when the process ends."""
        try:
            self._pid = os.fork()
            if self._pid == 0:
                close_all(
                    *self._open_descriptors, self.source, self._life
                )  # else other processes would seem alive
                self._open_descriptors.clear()
                _serve(tell, sink, life)
            self._open_descriptors.update((self.source, self._life))
        except OSError:
            close_all(self.source, self._life)
            raise
        finally:
            if os.getpid() != parent:  # interrupted before it began
                os._exit(1)
            close_all(sink, life)

    @property
    def pid(self) -> int:
        """The number of the process. Raises ChildProcessError after its end."""
        if self._pid is None:
            raise ChildProcessError
        return self._pid

    @classmethod
    def are_there(cls) -> bool:
        """Return whether this process has children."""
        return bool(cls._open_descriptors)

    def status(self) -> int:
        """Wait for the end, and return the code of os.waitstatus_to_exitcode; can be called once."""
        if self._pid is None:
            raise ChildProcessError
        _, status, usage = os.wait4(self._pid, 0)
        self._pid = None
        self.processor_seconds = usage.ru_utime + usage.ru_stime
        self.peak_memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)  # getrusage(2)
        return os.waitstatus_to_exitcode(status)

    def end(self) -> None:
        """End the process, if it has not ended."""
        self._open_descriptors.difference_update((self.source, self._life))
        close_all(self.source, self._life)
        if self._pid is not None:
            try:
                os.kill(self._pid, signal.SIGKILL)
            finally:
                self.status()


def _pipes() -> tuple[int, int, int, int]:
    """Return two pipes. Raises OSError, without leaving one open."""
    first = os.pipe()
    try:
        return *first, *os.pipe()
    except OSError:
        close_all(*first)
        raise


def close_all(*descriptors: int) -> None:
    """Close some file descriptors."""
    for descriptor in descriptors:
        os.close(descriptor)


def _serve(tell: WriteResult, sink: int, life: int) -> NoReturn:
    """Run a child; its parent reports failures."""
    Child.is_current = True
    try:
        die_with_parent(life)
        _leave_streams()
        with os.fdopen(sink, "wb") as output:
            tell(output)
    except BaseException:
        os._exit(1)
    os._exit(0)


def die_with_parent(life: int) -> None:
    """End this process as soon as its parent, which alone has the writing end of the pipe `life`, is gone.

    A signal reports that (fcntl(2), O_ASYNC), so nothing in this process needs to return for it. Linux and
    the BSDs send it for pipes; if the system refuses, a thread waits.
    """
    import fcntl

    signal.signal(signal.SIGIO, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
    try:
        fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
    except (OSError, AttributeError):
        _watch(life)
    poll = select.poll()
    poll.register(life, select.POLLIN)
    if poll.poll(0):  # the parent was killed before
        os._exit(1)


def _watch(life: int) -> None:
    """End this process from a thread when `life` ends."""
    import threading

    def wait() -> None:
        with suppress(OSError):
            os.read(life, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _leave_streams() -> None:
    """Detach from the parent's streams: their readers wait for all processes that have them."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
