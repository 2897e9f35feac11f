"""A process in a sandbox that keeps what it made, and answers requests about it until it is ended."""

from __future__ import annotations

import _thread
import os
import pickle
import select
import signal
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO

from layoutlint.workers import permissions, sandbox
from layoutlint.workers.child import Child, cause_of_death
from layoutlint.workers.sandbox import WorkFailure, WorkLimits

Work = Callable[[], Generator[Any, Any, None]]
"""Yields an answer, before the first request and to each request that is sent to it."""
_LENGTH = 8


class Ended(WorkFailure, frozen=True):
    """The end of the process, before it answered."""


class Service:
    """A process with limits for each answer. Raises OSError if none can be started."""

    def __init__(self, work: Work, limits: WorkLimits) -> None:
        requests, ours = os.pipe()
        try:
            self._child = Child(partial(_serve, work, limits, requests, ours))
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(requests)
        self._requests = os.fdopen(ours, "wb")
        self._answers = os.fdopen(os.dup(self._child.source), "rb")

    def has_answer(self) -> bool:
        """Return whether an answer, or the end of the process, can be read without waiting."""
        poll = select.poll()
        poll.register(self._child.source)
        return bool(poll.poll(0))

    def answer(self) -> Any:
        """Return the next answer, or Ended."""
        head = self._answers.read(_LENGTH)
        size = int.from_bytes(head, "little")
        content = self._answers.read(size) if len(head) == _LENGTH else b""
        if len(head) < _LENGTH or len(content) < size:
            return Ended(cause_of_death(self._child.status()))
        return pickle.loads(content)

    def ask(self, request: object) -> Any:
        """Send a request, and return its answer, or Ended."""
        with suppress(OSError):  # a broken pipe
            _write(self._requests, request)
        return self.answer()

    def end(self) -> None:
        """End the process."""
        self._answers.close()
        with suppress(OSError):
            self._requests.close()
        self._child.end()


def _write(stream: BinaryIO, value: object) -> None:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(_LENGTH, "little") + data)
    stream.flush()


def _serve(work: Work, limits: WorkLimits, requests: int, unused: int, sink: BinaryIO) -> None:
    """Answer requests, in the child, until their pipe ends."""
    os.close(unused)
    sandbox.confine(limits)
    idle, writing = _thread.allocate_lock(), _thread.allocate_lock()
    if limits.is_confined:
        permissions.leave_descriptors(sink.fileno(), requests)
        permissions.watch_files(partial(_end_with, sink, writing), idle)
    source, answers = os.fdopen(requests, "rb"), work()
    try:
        answer = next(answers)
        while True:
            with writing:
                _write(sink, answer)
            signal.alarm(0)
            with idle:
                head = source.read(_LENGTH)
            if len(head) < _LENGTH:
                return
            signal.alarm(limits.seconds)
            answer = answers.send(pickle.loads(source.read(int.from_bytes(head, "little"))))
    except MemoryError:
        os.abort()  # as C libraries do


def _end_with(sink: BinaryIO, writing: _thread.LockType, file: str) -> None:
    """End this process because it reads a file that may never end."""
    with writing:
        _write(sink, Ended(f"reads {file}, which is a pipe or a device"))
        os._exit(0)
