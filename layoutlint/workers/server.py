"""A task server: a process that imports modules, and forks for every attempt at a task.

It is a program of its own, so that forks have no threads and no memory of the process that wants the results.
Requests arrive on its stdin, and replies leave on its stdout. It ends, and all that runs below it, when its
stdin ends.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NoReturn

from layoutlint.model.record import Record
from layoutlint.workers import descendants, messages
from layoutlint.workers.attempt import IGNORED_SIGNALS, ClientGone, End, attempt
from layoutlint.workers.messages import Reply, TaskRequest

_USED_BY_ATTEMPTS = ("faulthandler", "fcntl", "resource")
"""Modules that each attempt uses. Not every system has them, so others import them late."""
MOST_ATTEMPTS = 2
"""A failed attempt is repeated once: what ended it may have been something else on the machine."""


def main() -> NoReturn:
    """Serve until stdin ends."""
    gc.set_threshold(300_000, 20, 100)  # as the command line does
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # the process that wants the results decides when it ends
    descriptors = _take_streams()
    descendants.adopt_orphans()
    folder = tempfile.mkdtemp(prefix="layoutlint-tasks-")
    try:
        messages.send(descriptors[1], os.fsencode(folder))
        while (request := messages.receive(descriptors[0])) is not None:
            reply = _Work(messages.decode_request(request), folder, descriptors).reply()
            messages.send(descriptors[1], messages.encode_reply(reply))
    except (ClientGone, BrokenPipeError):
        pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def _take_streams() -> tuple[int, int]:
    """Return descriptors for requests and replies; stdin and stdout, which libraries use, lead nowhere."""
    taken = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nowhere, stream)
    return taken


class _Work(Record, frozen=True):
    """A request, with what this server has for it."""

    request: TaskRequest
    folder: str
    descriptors: tuple[int, int]

    def reply(self) -> Reply:
        """Try until there is a value or enough attempts failed. Raises ClientGone."""
        try:
            function = self._function()
        except Exception as error:
            return Reply("refused", f"cannot be imported: {messages.one_line(error)}".encode(), 0, 0, 0, 0)
        ends: list[End] = []
        while not ends or (ends[-1].kind not in (None, "refused") and len(ends) < MOST_ATTEMPTS):
            ends.append(self._attempt(function))
        return Reply(
            ends[-1].kind, ends[-1].content, sum(end.seconds for end in ends),
            sum(end.processor_seconds for end in ends), max(end.memory for end in ends), len(ends),
        )  # fmt: skip

    def _function(self) -> Callable[[Any], Any]:
        """Import modules and the function; what is there before a fork is not copied by collections."""
        known = len(sys.modules)
        for module in (*_USED_BY_ATTEMPTS, *self.request.modules):
            importlib.import_module(module)
        function: Callable[[Any], Any] = pickle.loads(self.request.function)
        if len(sys.modules) != known:
            gc.collect()
            gc.freeze()
        return function

    def _attempt(self, function: Callable[[Any], Any]) -> End:
        try:
            return attempt(function, self.request, self.folder, self.descriptors)
        except OSError as error:
            return End("lost", f"cannot be started: {error.strerror or error}".encode(), 0, 0, 0)
