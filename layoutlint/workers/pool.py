"""Parallel work in forks of this process, which have all that it has read so far.

No fork outlives the process that started it, however that ends: each has the reading end of a pipe whose only
writing end is its parent's, and the system sends it a signal when that closes.

A fork takes 2 ms; importing and starting a `concurrent.futures` pool takes 30 ms, a tenth of reading a
kernel.
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

from layoutlint.files import accesses
from layoutlint.workers.child import HAS_PROCESSES, Child, Lost, cause_of_death

_T = TypeVar("_T")
_R = TypeVar("_R")
_TICKET = 4
"""The bytes of a number that is handed out."""
_MOST_TICKETS = 1 << 13
"""The most numbers that are handed out; a pipe of Linux holds twice as many."""
_LENGTH = 8
"""The bytes of the length before a result."""
_BEGINS = 1 << 63
"""A flag in a length: no result follows, and the other bits are the number whose work begins."""
_AT_ONCE = 1 << 16
"""The bytes that a pipe holds."""
_UNIT_OF_WORK = 1 << 24
"""The bytes of input that are worth a process."""
Work = Callable[[int], Any]
"""The work for a number."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def number_for(size: int, jobs: int) -> int:
    """Return the number of processes that so many bytes are worth; 0 jobs mean one for each processor."""
    free = jobs or processors() if HAS_PROCESSES else 1
    return max(1, min(free, size // _UNIT_OF_WORK))


def spread(work: Work, count: int, processes: int) -> Generator[Any]:
    """Yield the result of `work` for each number below `count`, in order, by at most `processes` processes.

    This process is one of them. Results are plain values that marshal accepts. The caller processes them
    while the others work. Raises Lost. To be closed.
    """
    return _spread(work, count, processes - 1, marshal.dumps, marshal.loads, works_here=True)


def map_ordered(work: Callable[[_T], _R], items: Sequence[_T], jobs: int) -> Generator[_R]:
    """Yield the result of `work` for each item, in order, by at most `jobs` processes besides this one.

    Results are pickled. An exception in `work` is pickled and raised here. Raises Lost, whose part is the
    number of an item. To be closed.
    """
    jobs = min(jobs, len(items))
    if jobs < 2 or not HAS_PROCESSES:
        yield from map(work, items)
        return
    size = -(-len(items) // _MOST_TICKETS)
    groups = [items[at : at + size] for at in range(0, len(items), size)]
    group_results = _spread(
        partial(_attempts, work, groups), len(groups), jobs, _pickle, pickle.loads, works_here=False
    )
    try:
        for results, error in group_results:
            yield from results
            if error is not None:
                raise error
    except Lost as lost:
        raise Lost(lost.how, lost.part if size == 1 else None) from lost
    finally:
        group_results.close()


def run_in_child(work: Callable[[_T], _R], item: _T) -> _R:
    """Return the result of `work`, done by another process, whose working folder and caches are its own.

    The result is pickled, and an exception raised here. Raises Lost.
    """
    results = _spread(partial(_attempts, work, [[item]]), 1, 1, _pickle, pickle.loads, works_here=False)
    try:
        values, error = next(results)
    finally:
        results.close()
    if error is not None:
        raise error
    result: _R = values[0]
    return result


def _attempts(
    work: Callable[[_T], _R], groups: list[Sequence[_T]], number: int
) -> tuple[list[_R], Exception | None]:
    """Return the results of one group, up to an exception."""
    results: list[_R] = []
    try:
        results.extend(map(work, groups[number]))
    except Exception as error:
        return results, error
    return results, None


def _pickle(result: object) -> bytes:
    return pickle.dumps(result, pickle.HIGHEST_PROTOCOL)


def _spread(
    work: Work,
    count: int,
    processes: int,
    dumps: Callable[[Any], bytes],
    loads: Callable[[bytes], Any],
    *,
    works_here: bool,
) -> Generator[Any]:
    """Yield the result of `work` for each number, by so many children, and by this process if `works_here`.

    The numbers wait in a pipe; each process takes the lowest that is left.
    """
    results: dict[int, Any] = {}
    tickets, handed_out = _tickets(count)
    next_number = 0
    children: list[_Worker] = []
    try:
        with suppress(OSError):  # if no more can be started, fewer suffice
            while len(children) < processes:
                children.append(_Worker(work, tickets, dumps, loads))
        for part, result in _share(work, tickets) if works_here or not children else ():
            results[part] = result
            _receive(children, results, None)
            while next_number in results:
                yield results.pop(next_number)
                next_number += 1
        for part in range(handed_out, count):
            results[part] = work(part)
        while next_number < count:
            _receive(children, results, next_number)
            if next_number not in results:
                raise Lost("ended too early")
            yield results.pop(next_number)
            next_number += 1
    finally:
        os.close(tickets)
        for child in children:
            child.end()


def _tickets(count: int) -> tuple[int, int]:
    """Return a pipe from which each reader takes one number at a time, and how many numbers it holds.

    It holds fewer if the user has many pipes (pipe(7), pipe-user-pages-soft).
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


def _receive(children: list[_Worker], results: dict[int, Any], number: int | None) -> None:
    """Take the results that have arrived; with a number, wait for its result, or until all children are
    finished.

    Raises Lost as soon as a child died.
    """
    at_once = number is None
    while number not in results and (working := [child for child in children if not child.is_finished]):
        poll = select.poll()
        for child in working:
            poll.register(child.source, select.POLLIN)
        ready = {source for source, _ in poll.poll(0 if at_once else None)}
        for child in working:
            results.update(child.receive() if child.source in ready else ())
        if at_once:
            return


class _Worker(Child):
    """A process that does a share of the work."""

    def __init__(
        self, work: Work, tickets: int, dumps: Callable[[Any], bytes], loads: Callable[[bytes], Any]
    ) -> None:
        self.is_finished = False
        """Whether all its results have arrived."""
        self._loads = loads
        self._buffer = bytearray()
        self._part: int | None = None
        super().__init__(partial(_work, work, tickets, dumps))

    def receive(self) -> Iterator[tuple[int, Any]]:
        """Yield the complete results, by number; wait for the process to write. Raises Lost if it died."""
        received = os.read(self.source, _AT_ONCE)
        self._buffer += received
        at = 0
        while (end := at + _LENGTH) <= len(self._buffer):
            length = int.from_bytes(self._buffer[at:end], "little")
            if length & _BEGINS:
                self._part, at = length ^ _BEGINS, end
                continue
            if end + length > len(self._buffer):
                break
            assert self._part is not None
            result, answers = self._loads(bytes(self._buffer[end : end + length]))
            accesses.merge(answers)
            yield self._part, result
            at = end + length
        del self._buffer[:at]
        if not received:
            self.is_finished = True
            if status := self.status():
                raise Lost(cause_of_death(status), self._part)


def _work(work: Work, tickets: int, dumps: Callable[[Any], bytes], output: BinaryIO) -> None:
    def begin(part: int) -> Any:
        output.write((part | _BEGINS).to_bytes(_LENGTH, "little"))
        output.flush()
        return work(part)

    accesses.begin_process()
    for _, result in _share(begin, tickets):
        encoded = dumps((result, accesses.drain()))
        output.write(len(encoded).to_bytes(_LENGTH, "little"))
        output.write(encoded)
        output.flush()
