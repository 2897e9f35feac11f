"""Processes that layoutlint starts: forks of this one, which have all that it has read so far.

None of them outlives the process that started it, however that ends: each holds the reading end of a pipe
whose only writing end is its parent's, and the system sends it a signal when that is gone.

A fork takes 2 ms where a `concurrent.futures` pool takes 30 to import and start, a tenth of reading a kernel.
"""

from __future__ import annotations

import marshal
import os
import pickle
import select
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, ClassVar, NoReturn, TypeVar

from layoutlint import escapes

HAS_PROCESSES = hasattr(os, "fork")
"""Whether this system can start them as it must; if not, work is done here."""

_T = TypeVar("_T")
_R = TypeVar("_R")

_TICKET = 4
"""Bytes of a number that is handed out."""
_MOST_TICKETS = 1 << 13
"""Numbers that are handed out; a pipe of Linux holds twice as many."""
_LENGTH = 8
"""Bytes of the length in front of a result."""
_BEGINS = 1 << 63
"""Set in a length: no result follows, and the other bits are the number whose work begins."""
_AT_ONCE = 1 << 16
"""Bytes that a pipe holds."""

Tell = Callable[[BinaryIO], None]
"""What a child does; it writes what came of it."""
Work = Callable[[int], Any]
"""What is done for a number."""


class Lost(Exception):
    """A process died before it returned all results."""

    def __init__(self, how: str, part: int | None = None) -> None:
        super().__init__(how, part)
        self.how = how
        """What it did, to stand behind a name: `was killed (perhaps for want of memory)`."""
        self.part = part
        """The number it worked on, if that is known."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cause_of_death(status: int) -> str:
    """Describe how a process ended, given its exit code as os.waitstatus_to_exitcode returns it."""
    if status == -signal.SIGKILL:
        return "was killed (perhaps for want of memory)"
    if status == -signal.SIGBUS:
        return "crashes (Bus error: a file became shorter while it was read)"
    return f"crashes ({signal.strsignal(-status) if status < 0 else f'status {status}'})"


class Child:
    """A process that does some work, and writes the result. Raises OSError where none can be had."""

    _held: ClassVar[set[int]] = set()
    """Descriptors of this process that its children must not keep open."""

    def __init__(self, tell: Tell) -> None:
        self._pid: int | None = None
        here = os.getpid()
        self.source, sink, life, self._life = _pipes()
        """`source` is where the result is read; at its end when the process is."""
        try:
            self._pid = os.fork()
            if self._pid == 0:
                _close(*self._held, self.source, self._life)  # else other processes would seem to live
                self._held.clear()
                _serve(tell, sink, life)
            self._held.update((self.source, self._life))
        except OSError:
            _close(self.source, self._life)
            raise
        finally:
            if os.getpid() != here:  # interrupted before it began
                os._exit(1)
            _close(sink, life)

    def status(self) -> int:
        """Wait for the end, and return the code of os.waitstatus_to_exitcode; can be called once."""
        if self._pid is None:
            raise ChildProcessError
        _, status = os.waitpid(self._pid, 0)
        self._pid = None
        return os.waitstatus_to_exitcode(status)

    def end(self) -> None:
        """End the process, if it has not ended."""
        self._held.difference_update((self.source, self._life))
        _close(self.source, self._life)
        if self._pid is not None:
            try:
                os.kill(self._pid, signal.SIGKILL)
            finally:
                self.status()


def _pipes() -> tuple[int, int, int, int]:
    """Two pipes; none where one of them cannot be had."""
    first = os.pipe()
    try:
        return *first, *os.pipe()
    except OSError:
        _close(*first)
        raise


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _serve(tell: Tell, sink: int, life: int) -> NoReturn:
    """Run a child; its parent reports what goes wrong in it."""
    global _may_guard
    _may_guard = False
    try:
        die_with_parent(life)
        _leave_streams()
        with os.fdopen(sink, "wb") as told:
            tell(told)
    except BaseException:
        os._exit(1)
    os._exit(0)


def die_with_parent(life: int) -> None:
    """End this process as soon as nobody has the writing end of the pipe `life`: its parent is gone.

    A signal says so (fcntl(2), O_ASYNC), so nothing in this process needs to return for it. Linux and the
    BSDs send it for pipes; a thread waits where the system refuses.
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
    if poll.poll(0):  # it was killed before
        os._exit(1)


def _watch(life: int) -> None:
    """End this process from a thread when `life` comes to its end."""
    import threading

    def wait() -> None:
        with suppress(OSError):
            os.read(life, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _leave_streams() -> None:
    """Take no part in the streams of the parent: who reads them waits for all that have them."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)


def spread(work: Work, count: int, number: int) -> Generator[Any]:
    """Yield the result of `work` for each number below `count`, in this order, by at most so many processes.

    This process is one of them. Results are plain values, as marshal takes them. What is done with them here
    is done while the others are at work. Raises Lost. To be closed.
    """
    return _spread(work, count, number - 1, marshal.dumps, marshal.loads, is_here=True)


def ordered(work: Callable[[_T], _R], items: Sequence[_T], jobs: int) -> Generator[_R]:
    """Yield the result of `work` for each item, in their order, by at most `jobs` processes beside this one.

    Results are pickled, and so is what `work` raises, which is raised here. Raises Lost, whose part is the
    number of an item. To be closed.
    """
    jobs = min(jobs, len(items))
    if jobs < 2 or not HAS_PROCESSES:
        yield from map(work, items)
        return
    size = -(-len(items) // _MOST_TICKETS)
    groups = [items[at : at + size] for at in range(0, len(items), size)]
    told = _spread(partial(_attempts, work, groups), len(groups), jobs, _pickled, pickle.loads, is_here=False)
    try:
        for results, error in told:
            yield from results
            if error is not None:
                raise error
    except Lost as lost:
        raise Lost(lost.how, lost.part if size == 1 else None) from lost
    finally:
        told.close()


def _attempts(
    work: Callable[[_T], _R], groups: list[Sequence[_T]], number: int
) -> tuple[list[_R], Exception | None]:
    """The results of one group, up to an exception."""
    results: list[_R] = []
    try:
        results.extend(map(work, groups[number]))
    except Exception as error:
        return results, error
    return results, None


def _pickled(result: object) -> bytes:
    return pickle.dumps(result, pickle.HIGHEST_PROTOCOL)


def _spread(
    work: Work,
    count: int,
    number: int,
    dumps: Callable[[Any], bytes],
    loads: Callable[[bytes], Any],
    *,
    is_here: bool,
) -> Generator[Any]:
    """What `work` gives for each number, by so many children, and with `is_here` this process.

    The numbers wait in a pipe; every process takes the lowest that is left.
    """
    results: dict[int, Any] = {}
    tickets, handed_out = _tickets(count)
    given = 0
    children: list[_Worker] = []
    try:
        with suppress(OSError):  # where no more can be had fewer do as well
            while len(children) < number:
                children.append(_Worker(work, tickets, dumps, loads))
        for part, result in _share(work, tickets) if is_here or not children else ():
            results[part] = result
            _hear(children, results, None)
            while given in results:
                yield results.pop(given)
                given += 1
        for part in range(handed_out, count):
            results[part] = work(part)
        while given < count:
            _hear(children, results, given)
            if given not in results:
                raise Lost("ended too early")
            yield results.pop(given)
            given += 1
    finally:
        os.close(tickets)
        for child in children:
            child.end()


def _tickets(count: int) -> tuple[int, int]:
    """A pipe from which each reader takes one number at a time, and how many numbers it holds.

    That is not all of them where a user has many pipes (pipe(7), pipe-user-pages-soft).
    """
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    try:
        numbers = b"".join(part.to_bytes(_TICKET, "little") for part in range(count))
        return source, os.write(sink, numbers) // _TICKET if numbers else 0
    finally:
        os.close(sink)


def _share(work: Work, tickets: int) -> Iterator[tuple[int, Any]]:
    while ticket := os.read(tickets, _TICKET):
        part = int.from_bytes(ticket, "little")
        yield part, work(part)


def _hear(children: list[_Worker], results: dict[int, Any], number: int | None) -> None:
    """Take the results that are there, or wait for that of a number, or until all children are through.

    Raises Lost as soon as one of them died.
    """
    at_once = number is None
    while number not in results and (talking := [child for child in children if not child.is_through]):
        poll = select.poll()
        for child in talking:
            poll.register(child.source, select.POLLIN)
        ready = {source for source, _ in poll.poll(0 if at_once else None)}
        for child in talking:
            results.update(child.hear() if child.source in ready else ())
        if at_once:
            return


class _Worker(Child):
    """A process that does a share of the work."""

    def __init__(
        self, work: Work, tickets: int, dumps: Callable[[Any], bytes], loads: Callable[[bytes], Any]
    ) -> None:
        self.is_through = False
        """Whether all its results are here."""
        self._loads = loads
        self._heard = bytearray()
        self._part: int | None = None
        super().__init__(partial(_work, work, tickets, dumps))

    def hear(self) -> Iterator[tuple[int, Any]]:
        """Yield the results that are whole, by number; waits for it to write. Raises Lost when it died."""
        told = os.read(self.source, _AT_ONCE)
        self._heard += told
        at = 0
        while (end := at + _LENGTH) <= len(self._heard):
            length = int.from_bytes(self._heard[at:end], "little")
            if length & _BEGINS:
                self._part, at = length ^ _BEGINS, end
                continue
            if end + length > len(self._heard):
                break
            assert self._part is not None
            yield self._part, self._loads(bytes(self._heard[end : end + length]))
            at = end + length
        del self._heard[:at]
        if not told:
            self.is_through = True
            if status := self.status():
                raise Lost(cause_of_death(status), self._part)


def _work(work: Work, tickets: int, dumps: Callable[[Any], bytes], told: BinaryIO) -> None:
    def begun(part: int) -> Any:
        told.write((part | _BEGINS).to_bytes(_LENGTH, "little"))
        told.flush()
        return work(part)

    for _, result in _share(begun, tickets):
        written = dumps(result)
        told.write(len(written).to_bytes(_LENGTH, "little"))
        told.write(written)
        told.flush()


# A file that is mapped and becomes shorter ends the process that reads behind its end with SIGBUS, which no
# Python code survives. So who maps large files is a child, and its parent says what happened.

_may_guard = False
_maps: Any = None
"""What this process has mapped, for its parent, where that guards it."""
_MAPS_SIZE = 1 << 16
CHANGED = "changed while it was read; run again when nothing writes to it"
_EXIT_UNKNOWN, _EXIT_INTERNAL = 3, 4
"""Those of errors.py and __main__.py."""


def allow_guard() -> None:
    """Let `guard` fork this process, which does nothing else than one run of the command line."""
    global _may_guard
    _may_guard = HAS_PROCESSES and hasattr(signal, "SIGBUS") and not os.environ.get("LAYOUTLINT_DEBUG")


def guard(path: str, size: int) -> None:
    """Go on in a fork from here on, whose parent reports if this file of so many bytes becomes shorter.

    Does so once, and only where `allow_guard` was called: a worker has a parent already.
    """
    global _may_guard, _maps
    if _may_guard and not Child._held:
        import mmap

        _may_guard = False
        with suppress(OSError):  # where no process can be had the run goes on without
            _maps = mmap.mmap(-1, _MAPS_SIZE)
            _fork_guarded()
    if _maps is not None:
        entry = size.to_bytes(8, "little") + os.fsencode(path) + b"\0"
        if _maps.tell() + len(entry) < _MAPS_SIZE:
            _maps.write(entry)


def _fork_guarded() -> None:
    """Return in the child alone."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    life, held = os.pipe()
    try:
        child = os.fork()
    except OSError:
        _close(life, held)
        raise
    if child:
        os.close(life)
        _wait_for(child)
    os.close(held)
    die_with_parent(life)


def _wait_for(child: int) -> NoReturn:
    """End as the child ends, and say why where it cannot."""
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status in (-signal.SIGBUS, -signal.SIGKILL):
            cause = (
                f"{_shrunk()}: {CHANGED}" if status == -signal.SIGBUS else f"the run {cause_of_death(status)}"
            )
            os.write(2, escapes.lines([f"layoutlint: {cause}"]).encode(errors="replace"))
            status = _EXIT_UNKNOWN
        elif status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
            status = 128 - status
    except KeyboardInterrupt:
        os.kill(child, signal.SIGKILL)
        status = 128 + signal.SIGINT
    except OSError:
        status = _EXIT_INTERNAL
    os._exit(status)


def _shrunk() -> str:
    """The mapped file that is shorter now; the last one where that is not known."""
    entries, path = bytes(_maps), "an input"
    at = 0
    while (end := entries.find(b"\0", at + 8)) > at + 8:
        path = os.fsdecode(entries[at + 8 : end])
        try:
            if os.stat(path).st_size < int.from_bytes(entries[at : at + 8], "little"):
                return path
        except OSError:
            pass
        at = end + 1
    return path
