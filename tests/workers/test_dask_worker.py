"""What a worker of Dask does with a message: its servers are replaced by one that says what it is asked."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from layoutlint import __version__
from layoutlint.workers import dask_worker, messages
from layoutlint.workers.messages import Reply

REPLY = Reply(None, b"value", 1.5, 0.5, 7, 2)


class Server:
    """A server, by its number; what a message says comes of it."""

    log: list[str]

    def __init__(self) -> None:
        self.number = sum(line.endswith("starts") for line in self.log)
        self.log.append(f"{self.number} starts")

    def run(self, message: bytes, is_wanted) -> Reply | None:
        self.log.append(f"{self.number} runs {message.decode()}, wanted: {is_wanted()}")
        if message == b"another meanwhile":
            dask_worker.run_message(__version__, b"task")
        if message == b"error":
            raise OSError("no process")
        return None if message == b"unwanted" else REPLY

    def end(self) -> None:
        self.log.append(f"{self.number} is ended")

    def ask_to_end(self) -> None:
        self.log.append(f"{self.number} is asked to end")


def worker(status: str = "running", state: str | None = "executing") -> SimpleNamespace:
    """A worker of Dask whose task is k."""
    tasks = {} if state is None else {"k": SimpleNamespace(state=state)}
    return SimpleNamespace(state=SimpleNamespace(tasks=tasks), status=SimpleNamespace(name=status), get_current_task=lambda: "k")


@pytest.fixture
def log(monkeypatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(Server, "log", lines, raising=False)
    monkeypatch.setattr(dask_worker, "TaskServer", Server)
    monkeypatch.setattr(dask_worker, "_idle", [])
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(get_worker=worker))
    return lines


def test_servers_are_used_again(log):
    replies = [dask_worker.run_message(__version__, message) for message in (b"task", b"another meanwhile", b"unwanted", b"task")]
    assert [reply and messages.decode_reply(reply) for reply in replies] == [REPLY, REPLY, b"", REPLY]
    with pytest.raises(OSError, match="no process"):
        dask_worker.run_message(__version__, b"error")
    dask_worker.run_message(__version__, b"task")
    dask_worker._end_servers()
    assert log == [
        "0 starts", "0 runs task, wanted: True",
        "0 runs another meanwhile, wanted: True", "1 starts", "1 runs task, wanted: True",
        "0 runs unwanted, wanted: True", "0 is ended",
        "1 runs task, wanted: True", "1 runs error, wanted: True", "1 is ended",
        "2 starts", "2 runs task, wanted: True", "2 is asked to end",
    ]  # fmt: skip


def test_another_version_is_refused(log):
    reply = messages.decode_reply(dask_worker.run_message("0.1", b"task"))
    assert reply == Reply("refused", f"needs layoutlint 0.1; the worker has {__version__}".encode(), 0, 0, 0, 0)
    assert log == []


WORKERS = [
    # status of the worker, state of the task (None: it is gone), whether the task is wanted
    ("running", "executing", True), ("paused", "executing", True), ("closing_gracefully", "long-running", True),
    ("closing", "executing", False), ("closed", "executing", False), ("init", "executing", False),
    ("running", "cancelled", False), ("closed", "cancelled", False), ("running", None, False),
]  # fmt: skip


@pytest.mark.parametrize(("status", "state", "is_wanted"), WORKERS)
def test_which_tasks_are_wanted(status, state, is_wanted, log, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(get_worker=lambda: worker(status, state)))
    dask_worker.run_message(__version__, b"task")
    assert log[1] == f"0 runs task, wanted: {is_wanted}"
