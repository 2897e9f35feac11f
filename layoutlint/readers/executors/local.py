"""Tasks in processes of this machine."""

from __future__ import annotations

import select
from collections.abc import Generator, Iterable, Iterator

from layoutlint.errors import ReadError
from layoutlint.readers.executors.server_process import TaskServer
from layoutlint.readers.executors.task import Outcome, Task
from layoutlint.readers.processes.child import HAS_PROCESSES
from layoutlint.readers.processes.pool import processors

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
        busy: dict[int, TaskServer] = {}
        try:
            while True:
                yield from self._begin(waiting, idle, busy)
                if not busy:
                    return
                for outcome, server in _receive(busy):
                    idle.append(server)
                    yield outcome
        finally:
            servers = [*idle, *busy.values()]
            for server in servers:
                server.ask_to_end()
            for server in servers:
                server.end()

    def _begin(
        self, waiting: Iterator[Task], idle: list[TaskServer], busy: dict[int, TaskServer]
    ) -> Iterator[Outcome]:
        """Begin tasks until all servers are busy; yield outcomes of those that cannot be sent."""
        while len(busy) < self.workers:
            task = next(waiting, None)
            if task is None:
                return
            server = idle.pop() if idle else TaskServer(self._modules)
            outcome = server.begin(task)
            if outcome is None:
                busy[server.source] = server
            else:
                idle.append(server)
                yield outcome


def _receive(busy: dict[int, TaskServer]) -> Iterator[tuple[Outcome, TaskServer]]:
    """Wait until some servers answer; take out and yield those whose tasks have ended."""
    poll = select.poll()
    for source in busy:
        poll.register(source, select.POLLIN)
    poll.poll(_LOOK_MILLISECONDS)
    for source in list(busy):
        server = busy.pop(source)
        outcome = server.receive()
        if outcome is None:
            busy[server.source] = server
        else:
            yield outcome, server
