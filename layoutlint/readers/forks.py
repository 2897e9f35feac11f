"""Work divided among processes: forks of this one, which have all that it has read so far.

A fork takes 2 ms where a `concurrent.futures` pool takes 30 to import and start, a tenth of reading a kernel.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NoReturn

_TICKET = 4
"""Bytes of a number that is handed out."""
_UNIT_OF_WORK = 1 << 24
"""Bytes that are worth a process."""

Work = Callable[[int], Any]
"""What is done for a number; it gives plain values, as marshal takes them."""


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes(size: int, jobs: int) -> int:
    """How many processes so many bytes are worth; 0 jobs mean as many as there are processors."""
    free = jobs or processors() if hasattr(os, "fork") else 1
    return max(1, min(free, size // _UNIT_OF_WORK))


def spread(work: Work, count: int, number: int) -> list[Any] | None:
    """What `work` gives for each number below `count`, done by at most so many processes.

    The numbers wait in a pipe, which holds 16,384 of them; every process takes the lowest that is left.
    None when a process died before it told what it had done.
    """
    results: dict[int, Any] = {}
    tickets = _tickets(count)
    children: list[_Child] = []
    try:
        with suppress(OSError):  # where no more can be had fewer do as well
            while len(children) < number - 1:
                children.append(_Child(work, tickets))
        results.update(_share(work, tickets))
        for child in children:
            results.update(child.results())
    finally:
        os.close(tickets)
        for child in children:
            child.end()
    return [results[part] for part in range(count)] if len(results) == count else None


def _tickets(count: int) -> int:
    """A pipe from which each reader takes one number at a time."""
    source, sink = os.pipe()
    os.write(sink, b"".join(part.to_bytes(_TICKET, "little") for part in range(count)))
    os.close(sink)
    return source


def _share(work: Work, tickets: int) -> Iterator[tuple[int, Any]]:
    while ticket := os.read(tickets, _TICKET):
        part = int.from_bytes(ticket, "little")
        yield part, work(part)


class _Child:
    """A process that does a share of the work."""

    def __init__(self, work: Work, tickets: int) -> None:
        self._source, sink = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(self._source)
            os.close(sink)
            raise
        if self._pid == 0:
            os.close(self._source)  # else it would wait for ever for a parent that is gone to read
            _serve(work, tickets, sink)
        os.close(sink)

    def results(self) -> list[tuple[int, Any]]:
        """What it has done once it is through, by number; nothing if it died."""
        with os.fdopen(os.dup(self._source), "rb") as source:
            told = source.read()
        try:
            results: list[tuple[int, Any]] = marshal.loads(told)
        except (EOFError, ValueError, TypeError):
            return []
        return results

    def end(self) -> None:
        """Ends the process, if it has not ended."""
        os.close(self._source)
        try:
            os.kill(self._pid, 9)
        finally:
            os.waitpid(self._pid, 0)


def _serve(work: Work, tickets: int, sink: int) -> NoReturn:
    """What a child does; what goes wrong in it is met again, and told, by its parent."""
    try:
        with os.fdopen(sink, "wb") as told:
            told.write(marshal.dumps(list(_share(work, tickets))))
    except BaseException:
        os._exit(1)
    os._exit(0)
