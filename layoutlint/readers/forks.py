"""Work divided among processes: forks of this one, which have all that it has read so far.

A fork takes 2 ms where a `concurrent.futures` pool takes 30 to import and start, a tenth of reading a kernel.
"""

from __future__ import annotations

import marshal
import os
import select
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO

from layoutlint.readers.child import Child

_TICKET = 4
"""Bytes of a number that is handed out."""
_UNIT_OF_WORK = 1 << 24
"""Bytes that are worth a process."""
_LENGTH = 8
"""Bytes of the length in front of what a process tells."""
_AT_ONCE = 1 << 16
"""Bytes that a pipe holds."""

Work = Callable[[int], Any]
"""What is done for a number; it gives plain values, as marshal takes them."""


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes(size: int, jobs: int) -> int:
    """How many processes so many bytes are worth; 0 jobs mean as many as there are processors."""
    free = jobs or processors() if hasattr(os, "fork") else 1
    return max(1, min(free, size // _UNIT_OF_WORK))


class Lost(Exception):
    """A process died before it told what it had done."""


def spread(work: Work, count: int, number: int) -> Generator[Any]:
    """What `work` gives for each number below `count`, in this order, done by at most so many processes.

    The numbers wait in a pipe, which holds 16,384 of them; every process takes the lowest that is left. What
    is done with the results here is done while the others are at work. Raises Lost. To be closed.
    """
    results: dict[int, Any] = {}
    tickets = _tickets(count)
    given = 0
    children: list[_Child] = []
    try:
        with suppress(OSError):  # where no more can be had fewer do as well
            while len(children) < number - 1:
                children.append(_Child(work, tickets))
        for part, result in _share(work, tickets):
            results[part] = result
            _hear(children, results, None)
            while given in results:
                yield results.pop(given)
                given += 1
        while given < count:
            _hear(children, results, given)
            if given not in results:
                raise Lost
            yield results.pop(given)
            given += 1
    finally:
        os.close(tickets)
        for child in children:
            child.end()


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


def _hear(children: list[_Child], results: dict[int, Any], number: int | None) -> None:
    """Takes what processes have told by now, or waits until they have told of a number, or are through."""
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


class _Child(Child):
    """A process that does a share of the work."""

    def __init__(self, work: Work, tickets: int) -> None:
        self.is_through = False
        """Whether it has told all, or died."""
        self._heard = b""
        super().__init__(partial(_tell, work, tickets))

    def hear(self) -> Iterator[tuple[int, Any]]:
        """What else it has done, by number, as far as that is told to its end; waits for it to tell."""
        told = os.read(self.source, _AT_ONCE)
        self.is_through = not told
        self._heard += told
        while len(self._heard) >= _LENGTH:
            end = _LENGTH + int.from_bytes(self._heard[:_LENGTH], "little")
            if end > len(self._heard):
                return
            yield marshal.loads(self._heard[_LENGTH:end])
            self._heard = self._heard[end:]


def _tell(work: Work, tickets: int, told: BinaryIO) -> None:
    for done in _share(work, tickets):
        said = marshal.dumps(done)
        told.write(len(said).to_bytes(_LENGTH, "little") + said)
        told.flush()
