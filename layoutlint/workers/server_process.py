"""A task server, as the process that started it sees it."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from layoutlint.errors import ReadError
from layoutlint.model.record import replace
from layoutlint.workers import messages
from layoutlint.workers.messages import Reply
from layoutlint.workers.program import start_interpreter
from layoutlint.workers.server import MOST_ATTEMPTS

_PROGRAM = "import sys; sys.path[:] = {path!r}; from layoutlint.workers.server import main; main()"
_END_SECONDS = 15.0
"""How long a server may take to end what it runs; it gives up after less."""
_SPARE_SECONDS = 60.0
"""What a server may take beyond the limits of a task: for a process that only ends late after SIGKILL."""
_LOOK_SECONDS = 0.5
_PIECE = 1 << 20


class TaskServer:
    """A process that runs one task at a time. To be ended. Raises OSError if it cannot be started.

    If the process dies, another one takes its place, and the task begins again, once.
    """

    def __init__(self) -> None:
        self._starts = 0
        self._message = b""
        """The task that runs; empty for none."""
        self._start()

    def _start(self) -> None:
        path = [os.path.abspath(folder) for folder in sys.path if folder]
        self._process = start_interpreter(_PROGRAM.format(path=path))
        assert self._process.stdout is not None
        self.source = self._process.stdout.fileno()
        """The descriptor of replies: when it can be read, call `receive`."""
        os.set_blocking(self.source, False)
        self._folder: str | None = None
        self._buffer = bytearray()

    def begin(self, message: bytes) -> None:
        """Begin a task that `messages.encode_task` encoded."""
        self._message, self._starts = message, 0
        self._send()

    def _send(self) -> None:
        assert self._process.stdin is not None
        self._starts += 1
        seconds = messages.decode_request(self._message).seconds
        self._deadline = time.monotonic() + MOST_ATTEMPTS * seconds + _SPARE_SECONDS
        with suppress(BrokenPipeError):  # `receive` finds that it died
            messages.send(self._process.stdin.fileno(), self._message)

    def receive(self) -> Reply | None:
        """Take what has arrived, without waiting; return the reply to the task if that was the rest of it.

        Raises ReadError if servers cannot begin.
        """
        is_alive = self._read() and time.monotonic() < self._deadline
        if self._folder is None and (message := self._next_message()) is not None:
            self._folder = os.fsdecode(message)
        if self._folder is not None and (message := self._next_message()) is not None:
            self._message = b""
            reply = messages.decode_reply(message)
            return replace(reply, attempts=self._starts - 1 + reply.attempts)
        return None if is_alive else self._begin_again()

    def _read(self) -> bool:
        """Take what has arrived; return whether more can come."""
        with suppress(BlockingIOError):
            while part := os.read(self.source, _PIECE):
                self._buffer += part
            return False
        return True

    def _next_message(self) -> bytes | None:
        message = messages.complete_message(self._buffer)
        if message is not None:
            del self._buffer[: messages.LENGTH + len(message)]
        return message

    def _begin_again(self) -> Reply | None:
        """Replace a server that died or hangs; return the reply to a task that is lost by that."""
        has_begun = self._folder is not None
        self.kill()
        if not has_begun:
            raise ReadError("worker", f"{sys.executable} cannot be started to run tasks")
        self._start()
        if self._starts < MOST_ATTEMPTS:
            self._send()
            return None
        self._message = b""
        return Reply("lost", b"was lost: its worker died", 0, 0, 0, self._starts)

    def run(self, message: bytes, is_wanted: Callable[[], bool]) -> Reply | None:
        """Run a task and wait for its reply; None as soon as it is not wanted any longer."""
        self.begin(message)
        while is_wanted():
            poll = select.poll()
            poll.register(self.source, select.POLLIN)
            poll.poll(1000 * _LOOK_SECONDS)
            if (reply := self.receive()) is not None:
                return reply
        return None

    def end(self) -> None:
        """End the server and what it runs."""
        self.ask_to_end()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self.kill()

    def ask_to_end(self) -> None:
        """Make the server end, without waiting for it."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def kill(self) -> None:
        """Kill the server, whose direct children end with it, and remove its temporary files."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.kill()
        self._process.wait()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
