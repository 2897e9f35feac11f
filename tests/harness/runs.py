"""One process that does one run of the command after another, as the language server does: forking one for each would take four
times as long as most runs.

After a run that leaves a thread or a child, or that ends the process, another process does the next one.
"""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

LARGEST = 1 << 20
"""Bytes of a request, whose arguments are names and options."""
_MOST = 200
"""Runs of one process: what libraries keep grows with each."""


class Runs:
    """The process, as the server of forks sees it."""

    def __init__(self, others: Sequence[socket.socket]) -> None:
        """`others` are sockets of the server alone."""
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = os.fork()
        if self.process == 0:
            for other in (self._connection, *others):
                other.close()
            _serve(theirs)
        theirs.close()
        self.is_over = False
        """Whether the process has ended."""

    def run(self, request: bytes, descriptors: list[int]) -> int:
        """Return the exit status of a run, or its signal as a negative number, and close the descriptors."""
        socket.send_fds(self._connection, [request], descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        answer = self._connection.recv(64)
        status, is_usable = json.loads(answer) if answer else (None, False)  # or the run ended the process
        self.is_over = not is_usable
        if self.is_over:
            self._connection.close()
            end = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
            status = end if status is None else status
        return int(status)


def enter(request: dict[str, Any], descriptors: list[int]) -> None:
    """Make this process look as if it had just begun with the arguments, folder, environment and streams of a request."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for standard, descriptor in enumerate(descriptors):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
    sys.argv = ["layoutlint", *request["arguments"]]


class _Ended(BaseException):
    """The end of a run."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _serve(connection: socket.socket) -> NoReturn:
    """Do the runs that come, until no more can."""
    from layoutlint import __main__ as program
    from layoutlint.files import accesses
    from layoutlint.readers.clang import limits
    from tests.harness import same_process

    kept = list(_empty_containers())
    own, handlers = os.getpid(), {number: signal.getsignal(number) for number in signal.valid_signals()}

    def end_run(status: int) -> NoReturn:
        sys.stdout.flush()
        sys.stderr.flush()
        if os.getpid() != own:  # a fork that went on with the run
            os._exit(status)
        raise _Ended(status)

    same_process.install()
    program._exit_at_once = end_run
    try:
        for left in reversed(range(_MOST)):
            content, descriptors, _, _ = socket.recv_fds(connection, LARGEST, 4)
            if not content:
                break
            accesses.begin_run()
            limits.begin_run()
            for container in kept:
                container.clear()
            tempfile.tempdir = None
            *streams, more = descriptors
            os.close(more)
            enter(json.loads(os.fsdecode(content)), streams)
            status = 70
            try:
                program.main()
            except _Ended as end:
                status = end.status
            signal.setitimer(signal.ITIMER_REAL, 0)  # a process that ends has no timer
            for number, handler in handlers.items():
                if signal.getsignal(number) != handler:
                    signal.signal(number, handler)
            is_usable = left > 0 and _is_alone()
            connection.send(json.dumps([status, is_usable]).encode())
            if not is_usable:
                break
    finally:
        os._exit(70)


def _empty_containers() -> Iterator[Any]:
    """Yield what modules will keep until the process ends."""
    for name, module in list(sys.modules.items()):
        if name.startswith("layoutlint."):
            yield from (value for value in vars(module).values() if isinstance(value, dict | list | set) and not value)


def _is_alone() -> bool:
    """Return whether this process has one thread and no children."""
    if len(os.listdir("/proc/self/task")) > 1:
        return False
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False
