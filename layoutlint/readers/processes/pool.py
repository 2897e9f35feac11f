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
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, TypeVar

from layoutlint.readers.processes.child import HAS_PROCESSES, Child, Lost, cause_of_death

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
_UNIT_OF_WORK = 1 << 24
"""Bytes that are worth a process."""
Work = Callable[[int], Any]
"""What is done for a number."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def number_for(size: int, jobs: int) -> int:
    """Return how many processes so many bytes are worth; 0 jobs mean as many as there are processors."""
    free = jobs or processors() if HAS_PROCESSES else 1
    return max(1, min(free, size // _UNIT_OF_WORK))


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
