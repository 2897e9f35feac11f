"""The function that a worker of Dask runs for each task: the same task server as on one machine.

The worker's own threads only wait, so a worker may have as many as its machine has processors.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

from layoutlint import __version__
from layoutlint.workers import messages
from layoutlint.workers.messages import Reply
from layoutlint.workers.server_process import TaskServer

_idle: list[TaskServer] = []
_lock = threading.Lock()


def run_message(version: str, message: bytes) -> bytes:
    """Run an encoded task, and return the encoded reply; empty if nobody wants it any longer."""
    if version != __version__:
        return messages.encode_reply(
            Reply("refused", f"needs layoutlint {version}; the worker has {__version__}".encode(), 0, 0, 0, 0)
        )
    with _lock:
        server = _idle.pop() if _idle else TaskServer()
    reply = None
    try:
        reply = server.run(message, _interest())
    finally:
        if reply is None:
            server.end()
        else:
            with _lock:
                _idle.append(server)
    return b"" if reply is None else messages.encode_reply(reply)


def _interest() -> Callable[[], bool]:
    """Return a function that says whether the scheduler still wants the task of this thread.

    It does not if the client is gone, or if this worker lost the scheduler and ends.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        state = worker.state.tasks.get(key)
        is_open = worker.status.name in ("running", "paused", "closing_gracefully")
        return is_open and state is not None and state.state != "cancelled"

    return is_wanted


@atexit.register
def _end_servers() -> None:
    with _lock:
        for server in _idle:
            server.ask_to_end()
