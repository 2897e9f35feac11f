"""Tasks in processes of this machine."""

from __future__ import annotations

import select
from collections.abc import Generator, Iterable, Iterator

from layoutlint.errors import ReadError
from layoutlint.model.task import Outcome, Task
from layoutlint.workers import messages
from layoutlint.workers.child import HAS_PROCESSES
from layoutlint.workers.messages import Reply
from layoutlint.workers.pool import processors
from layoutlint.workers.server_process import TaskServer

_LOOK_MILLISECONDS = 1000
"""How often servers are asked whether they hang."""


class LocalExecutor:
    """Runs tasks in processes of this machine, so many at a time; 0 for one on each processor.

    `modules` are imported before tasks begin, in the processes that are forked for them.
    """

    def __init__(self, workers: int = 0, modules: tuple[str, ...] = ()) -> None:
        self.workers = workers or processors()
        self._modules = modules

    def run(self, tasks: Iterable[Task]) -> Generator[Outcome]:
        """Yield the outcome of each task as it ends; see `Executor`."""
        if not HAS_PROCESSES:
            raise ReadError("worker", "this system cannot fork processes, so it cannot run tasks")
        waiting = iter(tasks)
        idle: list[TaskServer] = []
        busy: dict[TaskServer, Task] = {}
        try:
            while True:
                yield from self._begin(waiting, idle, busy)
                if not busy:
                    return
                for server, reply in _receive(list(busy)):
                    idle.append(server)
                    yield messages.outcome(busy.pop(server), reply)
        finally:
            _end({*idle, *busy})

    def _begin(
        self, waiting: Iterator[Task], idle: list[TaskServer], busy: dict[TaskServer, Task]
    ) -> Iterator[Outcome]:
        """Begin tasks until all servers are busy; yield outcomes of those that cannot be sent."""
        while len(busy) < self.workers:
            task = next(waiting, None)
            if task is None:
                return
            message = messages.encode_task(task, self._modules)
            if isinstance(message, Outcome):
                yield message
                continue
            server = idle.pop() if idle else TaskServer()
            busy[server] = task
            server.begin(message)


def _receive(servers: list[TaskServer]) -> Iterator[tuple[TaskServer, Reply]]:
    """Wait until a server answers; yield those whose tasks have ended."""
    poll = select.poll()
    for server in servers:
        poll.register(server.source, select.POLLIN)
    poll.poll(_LOOK_MILLISECONDS)
    for server in servers:
        if (reply := server.receive()) is not None:
            yield server, reply


def _end(servers: set[TaskServer]) -> None:
    for server in servers:
        server.ask_to_end()
    for server in servers:
        server.end()
