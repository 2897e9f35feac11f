"""One attempt at a task: a fork with limits, from a process without threads."""

from __future__ import annotations

import os
import pickle
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, BinaryIO

from layoutlint.model.record import Record
from layoutlint.model.task import MOST_BYTES, FailureKind
from layoutlint.workers import descendants, sandbox
from layoutlint.workers.child import Child, cause_of_death, close_all
from layoutlint.workers.messages import (
    LENGTH,
    TaskRequest,
    complete_message,
    is_complete,
    one_line,
    with_length,
)

_LOOK_SECONDS = 0.02
"""How often memory is measured. A process fills about 50 MB meanwhile."""
_END_SECONDS = 2.0
"""How long a task may take to end after its result arrived."""
_RESERVED = 2 << 30
"""Bytes of private memory that libraries reserve without filling them."""
_PIECE = 1 << 20
IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that the process with the attempts ignores, and the attempts do not."""
_VALUE, _MEMORY, _RAISED, _REFUSED = b"v", b"m", b"e", b"r"
"""The first byte of what a task writes: its value, or why there is none."""


class ClientGone(Exception):
    """The process that wants the result has ended."""


class End(Record, frozen=True):
    """The end of one attempt."""

    kind: FailureKind | None
    content: bytes
    """The pickled value; the message of a failure."""
    seconds: float
    processor_seconds: float
    memory: int


def attempt(
    function: Callable[[Any], Any], request: TaskRequest, folder: str, descriptors: tuple[int, int]
) -> End:
    """Run a task once, and end all processes that it leaves.

    Its temporary files are below `folder`, and are removed. The descriptors are those of requests, which
    bring nothing while it runs, and of replies; the task gets neither. Raises ClientGone, and OSError if no
    process can be started.
    """
    started = time.monotonic()
    place = tempfile.mkdtemp(dir=folder)
    try:
        child = Child(partial(_work, function, request, place, descriptors))
        try:
            return _Run(child, request, started).end(descriptors[0])
        except BaseException:
            descendants.kill_descendants()
            raise
        finally:
            child.end()
            descendants.end_orphans()
    finally:
        shutil.rmtree(place, ignore_errors=True)


class _Run:
    """A running attempt."""

    def __init__(self, child: Child, request: TaskRequest, started: float) -> None:
        self._child, self._request, self._started = child, request, started
        self._deadline = started + request.seconds
        self._watch = descendants.MemoryWatch(child.pid)
        self._buffer = bytearray()
        os.set_blocking(child.source, False)

    def end(self, requests: int) -> End:
        """Wait for the end, or make it. Raises ClientGone."""
        failure = self._wait(requests)
        if failure is not None:
            descendants.kill_descendants()
        with suppress(ProcessLookupError, PermissionError):  # it has no group yet
            os.killpg(self._child.pid, signal.SIGKILL)
        if failure is not None or is_complete(self._buffer):
            os.kill(self._child.pid, signal.SIGKILL)
        status = self._child.status()
        self._receive()
        kind, content = failure or self._result(status)
        orphans = descendants.end_orphans()
        return End(
            kind, content, time.monotonic() - self._started, self._child.processor_seconds + orphans,
            max(self._watch.peak, self._child.peak_memory),
        )  # fmt: skip

    def _wait(self, requests: int) -> tuple[FailureKind, bytes] | None:
        """Return the limit that a task exceeds; None when its process has ended, or should have."""
        poll = select.poll()
        for descriptor in (self._child.source, requests):
            poll.register(descriptor, select.POLLIN)
        with _process_descriptor(self._child.pid) as process:
            if process is not None:
                poll.register(process, select.POLLIN)
            while True:
                ready = {descriptor for descriptor, _ in poll.poll(self._patience())}
                if requests in ready:
                    raise ClientGone
                if self._child.source in ready and self._receive():
                    poll.unregister(self._child.source)
                    if process is None:
                        return None
                if process in ready:
                    return None
                if is_complete(self._buffer):  # it only has to end
                    if process is not None:
                        _wait_for_end(process)
                    return None
                if failure := self._exceeded_limit():
                    return failure

    def _patience(self) -> float:
        """Return the milliseconds until the next look."""
        return 1000 * max(0.0, min(_LOOK_SECONDS, self._deadline - time.monotonic()))

    def _exceeded_limit(self) -> tuple[FailureKind, bytes] | None:
        """Return the failure for a limit that is exceeded now."""
        most = self._request.memory
        if time.monotonic() >= self._deadline:
            return "timed-out", f"does not end within {self._request.seconds:g} s".encode()
        if len(self._buffer) > MOST_BYTES + LENGTH + 1:
            return "refused", _TOO_LARGE
        if self._watch.exceeds(most):
            return "out-of-memory", _takes_more(most)
        return None

    def _receive(self) -> bool:
        """Take what the task has written; return whether that was the end of it."""
        with suppress(BlockingIOError):
            while part := os.read(self._child.source, _PIECE):
                self._buffer += part
                if len(self._buffer) > MOST_BYTES + LENGTH + 1:
                    return False
            return True
        return False

    def _result(self, status: int) -> tuple[FailureKind | None, bytes]:
        message = complete_message(self._buffer) or b""
        first, content = message[:1], message[1:]
        if first == _VALUE:
            return None, content
        if first == _MEMORY:
            return "out-of-memory", _takes_more(self._request.memory)
        if first == _REFUSED:
            return "refused", content
        if first == _RAISED:
            return "crashed", content
        return "crashed", (cause_of_death(status) if status else "ends without a result").encode()


_TOO_LARGE = f"returns more than {MOST_BYTES >> 20} MB".encode()


def _takes_more(memory: int) -> bytes:
    return f"takes more than {memory >> 20:,} MB of memory".encode()


@contextmanager
def _process_descriptor(process: int) -> Iterator[int | None]:
    """Hand out a descriptor that can be read when a process has ended; None if the system has none."""
    if not hasattr(os, "pidfd_open"):
        yield None
        return
    try:
        descriptor = os.pidfd_open(process)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _wait_for_end(process: int) -> None:
    """Wait a little for the end of a process that has written its result."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    poll.poll(1000 * _END_SECONDS)


def _work(
    function: Callable[[Any], Any],
    request: TaskRequest,
    place: str,
    descriptors: tuple[int, int],
    sink: BinaryIO,
) -> None:
    """Run the function in the child, and write what it returns, or why it returns nothing."""
    close_all(*descriptors)
    os.setpgid(0, 0)
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    _confine(request.memory)
    os.environ["TMPDIR"] = tempfile.tempdir = place
    sink.write(with_length(_content(function, request)))


def _content(function: Callable[[Any], Any], request: TaskRequest) -> bytes:
    try:
        value = function(pickle.loads(request.argument))
    except MemoryError:
        return _MEMORY
    except SystemExit as end:
        return _RAISED + f"ends its process (status {end.code})".encode()
    except BaseException as error:
        return _RAISED + f"raises {one_line(error)}".encode(errors="backslashreplace")
    try:
        content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return _MEMORY
    except Exception as error:
        text = f"returns a value that cannot be pickled: {one_line(error)}"
        return _REFUSED + text.encode(errors="backslashreplace")
    return _VALUE + content if len(content) <= MOST_BYTES else _REFUSED + _TOO_LARGE


def _confine(memory: int) -> None:
    """Limit what a look every 20 ms would see too late, and let the system end this process before others."""
    import faulthandler
    import resource

    faulthandler.disable()
    sandbox.lower_limit(resource.RLIMIT_CORE, sandbox.NO_CORE)
    has = descendants.private_memory()
    if has is not None:
        sandbox.lower_limit(resource.RLIMIT_DATA, has + 2 * memory + _RESERVED)
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(b"800")  # proc_pid_oom_score_adj(5)
