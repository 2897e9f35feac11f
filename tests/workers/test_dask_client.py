"""What an executor asks of a scheduler, in which order: Dask is replaced by a script, and time passes only where the executor waits."""

from __future__ import annotations

import importlib.util
import itertools
import logging
import pickle
import queue
import sys
from collections.abc import Callable, Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from layoutlint import __version__
from layoutlint.errors import ReadError
from layoutlint.model.task import Limits, Task
from layoutlint.workers import dask_worker, messages
from layoutlint.workers.messages import Reply
from layoutlint.workers.scheduler_address import SchedulerAddress
from tests.harness.command import ROOT
from tests.workers import task_functions

LIMITS = Limits(20, 1 << 27)
ADDRESS = SchedulerAddress("tcp", "localhost", 1)


class KilledWorker(Exception):
    """What Dask raises for a task of which several workers died."""


class Future:
    def __init__(self, key: str, end: Any) -> None:
        self.key, self.status, self.end = key, "pending", end

    def add_done_callback(self, callback: Callable[[Future], object]) -> None:
        self.callback = callback

    def finish(self, status: str) -> None:
        self.status = status
        self.callback(self)

    def exception(self, timeout: float) -> BaseException:
        assert timeout == 10
        return self.end

    def result(self, timeout: float) -> bytes:
        assert timeout == 10
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


class Scheduler:
    """A script of Dask, with a log of what it is asked.

    `ends` are those of tasks by their arguments, one for each time that a task is sent: "late", "cancelled", "lost" (on the way), "empty",
    an exception, or None for the square of the argument. `threads` are those of workers, as answered in turn, the last one again and again;
    `connections` are the ends of attempts to connect, which succeed after that.
    """

    def __init__(self, threads: Iterable[Any], ends: dict[int, list[Any]] | None = None, connections: Iterable[Any] = (), dashboard: str = "") -> None:
        self.ends = {argument: iter(each) for argument, each in (ends or {}).items()}
        *first, last = threads
        self.threads = itertools.chain(first, itertools.repeat(last))
        self.connections = iter(connections)
        self.dashboard = dashboard
        self.log: list[str] = []
        self.now = 1000.0
        self.pending: list[Future] = []
        self.closing: Exception | None = None

    def client(self, address: str, timeout: float, security: str, set_as_default: bool) -> Client:
        end = next(self.connections, None)
        self.log.append(f"connect {address} within {timeout:g} s {security} {set_as_default}")
        if end is not None:
            raise end
        return Client(self)

    def sleep(self, seconds: float) -> None:
        self.log.append(f"sleep {seconds:g} s")
        self.now += seconds

    def wait(self, seconds: float) -> None:
        """Let the next task end, or the time pass."""
        for future in self.pending:
            if future.end != "late":
                self.pending.remove(future)
                failed = isinstance(future.end, Exception) and not isinstance(future.end, TimeoutError)
                return future.finish("cancelled" if future.end == "cancelled" else "error" if failed else "finished")
        self.now += seconds
        return None


class Client:
    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler, self.dashboard_link = scheduler, scheduler.dashboard

    def nthreads(self, callback_timeout: float) -> dict[str, int]:
        answer = next(self.scheduler.threads)
        self.scheduler.log.append(f"{answer!r} at {self.scheduler.now - 1000:g} s")
        assert callback_timeout == 10
        if isinstance(answer, Exception):
            raise answer
        return answer

    def submit(self, function: object, version: str, message: bytes, key: str, pure: bool) -> Future:
        assert (function, version, pure) == (dask_worker.run_message, __version__, False)
        request = messages.decode_request(message)
        argument = pickle.loads(request.argument)
        end = next(self.scheduler.ends.get(argument, iter(())), None)
        if end is None:
            value = pickle.dumps(pickle.loads(request.function)(argument))
            end = messages.encode_reply(Reply(None, value, 1.5, 0.5, 7, 1))
        ends = {"empty": b"", "lost": TimeoutError()}
        future = Future(key, ends.get(end, end) if isinstance(end, str) else end)
        self.scheduler.pending.append(future)
        self.scheduler.log.append(f"submit {argument} as {key.rpartition('-')[2]} {request.modules}")
        return future

    def cancel(self, futures: list[Future], force: bool) -> None:
        self.scheduler.log.append(f"cancel {[int(future.key.rpartition('-')[2]) for future in futures]} {force}")
        if self.scheduler.closing:
            raise self.scheduler.closing

    def close(self, timeout: float) -> None:
        self.scheduler.log.append(f"close within {timeout:g} s")
        if self.scheduler.closing:
            raise self.scheduler.closing


class Queue(queue.SimpleQueue):
    scheduler: Scheduler

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if self.empty():
            self.scheduler.wait(timeout or 0)
        return super().get(block=False)


class Thread:
    """A thread that has ended before its parent goes on; or that never ends."""

    is_silent = False

    def __init__(self, target: Callable[[], None], daemon: bool) -> None:
        self.target = target
        assert daemon

    def start(self) -> None:
        if not self.is_silent:
            self.target()


@pytest.fixture
def client(monkeypatch) -> ModuleType:
    """The module, with a Dask that is a script: `begin` gives it one."""
    settings: list[dict[str, int]] = []
    dask = SimpleNamespace(config=SimpleNamespace(set=settings.append), settings=settings)
    monkeypatch.setitem(sys.modules, "dask", dask)
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(KilledWorker=KilledWorker, Security=lambda: "security"))
    spec = importlib.util.spec_from_file_location("dask_client_of_a_script", ROOT / "layoutlint/workers/dask_client.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(SchedulerAddress, "reach", lambda self, seconds: None)
    return module


def begin(client: ModuleType, scheduler: Scheduler, address: SchedulerAddress = ADDRESS) -> None:
    client.time = SimpleNamespace(monotonic=lambda: scheduler.now, time_ns=lambda: 0x123, sleep=scheduler.sleep)
    client.queue = SimpleNamespace(SimpleQueue=type("", (Queue,), {"scheduler": scheduler}), Empty=queue.Empty)
    client.threading = SimpleNamespace(Thread=Thread)
    client.distributed.Client = scheduler.client


def run(client: ModuleType, scheduler: Scheduler, count: int, patience: float = 6) -> list[str]:
    """What is asked of the scheduler, and what comes of the tasks, in the order in which it happens."""
    begin(client, scheduler)
    log = scheduler.log
    executor = client.DaskExecutor(ADDRESS, ("json",), log.append, patience)
    tasks = (Task(str(number), task_functions.square, number, LIMITS) for number in range(count))
    try:
        for outcome in executor.run(tasks):
            log.append(f"{outcome.task.name}: {outcome.value} {outcome.failure} {outcome.seconds} {outcome.memory} {outcome.attempts}")
    except ReadError as error:
        log.append(f"error: {error}")
    return log


LOST = KilledWorker("died")
GONE = OSError("closed")
ONE, TWO = {"a": 1}, {"a": 1, "b": 1}
RUNS: dict[str, tuple[int, dict[str, Any]]] = {
    # the number of tasks, the script
    "as many tasks as threads need": (9, {"threads": [{"a": 1, "b": 2}], "dashboard": "http://x"}),
    "no task": (0, {"threads": [ONE]}),
    "no worker at first": (6, {"threads": [{}, {}, TWO, {}], "ends": {0: ["late"]}}),
    "no worker for longer than one may wait": (2, {"threads": [ONE, {}], "ends": {0: ["late"]}}),
    "workers that come and go": (1, {"threads": [{}, {}, ONE, {}, {}, ONE, {}], "ends": {0: ["late"]}}),
    "a task of which workers die": (5, {"threads": [TWO], "ends": {1: [LOST] * 9, 3: [LOST] * 4, 4: [LOST]}}),
    "an answer that is lost on its way": (3, {"threads": [TWO], "ends": {0: ["lost"], 1: ["empty"], 2: ["lost", "empty"] * 3}}),
    "a worker that cannot run tasks": (3, {"threads": [ONE], "ends": {0: [ModuleNotFoundError("No module\nnamed \udcff")], 1: [ValueError()]}}),
    "a connection that is lost": (
        6, {"threads": [TWO, {}, ONE, GONE, TWO], "ends": {0: ["late", "late"], 1: [None, None], 2: ["cancelled"], 3: ["late"]}, "dashboard": "y"},
    ),
    "a scheduler that comes back": (3, {"threads": [TWO, {}], "ends": {0: ["cancelled", "late"]}, "connections": [None, GONE, GONE]}),
    "a scheduler that does not": (3, {"threads": [TWO], "ends": {0: ["cancelled"]}, "connections": [None, *[GONE] * 99]}),
    "a scheduler with one task that does not": (1, {"threads": [ONE], "ends": {0: ["cancelled"]}, "connections": [None, *[GONE] * 99]}),
    "nobody who answers": (1, {"threads": [ONE], "connections": [GONE]}),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_runs(client, name, golden_row):
    count, script = RUNS[name]
    golden_row("\n".join(run(client, Scheduler(**script), count)))
    assert client.dask.settings == [{"distributed.admin.low-level-log-length": 10}]


def test_tasks_that_cannot_be_sent_take_no_place(client):
    begin(client, scheduler := Scheduler([ONE]))
    tasks = [Task(str(number), task_functions.square, argument, LIMITS) for number, argument in enumerate((lambda: 1, 2, lambda: 3, lambda: 4, 5))]
    outcomes = list(client.DaskExecutor(ADDRESS).run(tasks))
    assert [(each.task.name, each.value, each.failure and each.failure.kind) for each in outcomes] == [
        ("0", None, "refused"), ("2", None, "refused"), ("3", None, "refused"), ("1", 4, None), ("4", 25, None),
    ]  # fmt: skip
    assert sum(line.startswith("submit") for line in scheduler.log) == 2


@pytest.mark.parametrize("error", [None, OSError("closed")])
def test_closing_cancels_what_runs(client, error):
    begin(client, scheduler := Scheduler([TWO], {0: ["late"], 1: ["late"]}))
    scheduler.closing = error
    running = client.DaskExecutor(ADDRESS).run(Task(str(number), task_functions.square, number, LIMITS) for number in range(9))
    assert next(running).value == 4
    running.close()
    assert scheduler.log[-2:] == ["cancel [0, 1, 3] True", "close within 10 s"]


def with_causes(*errors: BaseException) -> BaseException:
    for error, cause in itertools.pairwise(errors):
        error.__cause__ = cause
    return errors[0]


UNREACHABLE = [
    # what the attempt to connect raises, the reason
    (ConnectionRefusedError(111, "Connection refused"), "connection refused"),
    (with_causes(OSError("Timed out"), ValueError(), ConnectionResetError(104, "Connection reset by peer")), "connection reset by peer"),
    (with_causes(OSError("Timed out"), KeyboardInterrupt()), "the server is another program, or has another version (OSError)"),
    (with_causes(OSError(1, "No"), RuntimeError("version")), "the server is another program, or has another version (RuntimeError)"),
]


@pytest.mark.parametrize(("error", "reason"), UNREACHABLE)
def test_why_no_scheduler_answers(client, error, reason):
    begin(client, Scheduler([ONE], connections=[error]))
    with pytest.raises(ReadError) as raised:
        next(client.DaskExecutor(ADDRESS).run([]))
    assert str(raised.value) == f"tcp://localhost:1: no scheduler of Dask answers: {reason}"


def test_a_silent_server(client, monkeypatch):
    begin(client, scheduler := Scheduler([ONE]))
    monkeypatch.setattr(Thread, "is_silent", True)
    with pytest.raises(ReadError, match=r"^tcp://localhost:1: no scheduler of Dask answers within 10 s$"):
        next(client.DaskExecutor(ADDRESS).run([]))
    assert scheduler.now == 1011


class Security:
    """Certificates as Dask's configuration names them."""

    def __init__(self, context: object) -> None:
        self.context = context

    def get_connection_args(self, role: str) -> dict[str, object]:
        assert role == "client"
        if isinstance(self.context, Exception):
            raise self.context
        return {"ssl_context": self.context} if self.context else {}

    def __str__(self) -> str:
        return f"with {self.context}"


NO_CERTIFICATES = "no certificates: set distributed.comm.tls.ca-file, client.cert and client.key in the configuration of Dask"
CERTIFICATES = [
    # protocol, certificates, the error
    ("tls", "keys", ""),
    ("tls", None, NO_CERTIFICATES),
    ("tls", OSError("bad\nfile"), "its certificates cannot be read: OSError: bad file"),
    ("tcp", None, ""),
    ("tcp", OSError("bad file"), ""),
]


@pytest.mark.parametrize(("protocol", "context", "error"), CERTIFICATES)
def test_certificates(client, protocol, context, error):
    begin(client, scheduler := Scheduler([ONE]))
    client.distributed.Security = lambda: Security(context)
    executor = client.DaskExecutor(SchedulerAddress(protocol, "host", 1))
    if error:
        with pytest.raises(ReadError) as raised:
            list(executor.run([]))
        assert (str(raised.value), scheduler.log) == (f"{protocol}://host:1: {error}", [])
    else:
        list(executor.run([]))
        assert scheduler.log[0] == f"connect {protocol}://host:1 within 10 s with {context} False"


def test_dask_itself_is_silent(client):
    names = ["distributed", "distributed.core", "tornado.access", "bokeh", "other.distributed", "distributedly"]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.INFO)
    try:
        begin(client, Scheduler([ONE]))
        list(client.DaskExecutor(ADDRESS).run([]))
        assert [logging.getLogger(name).level for name in names] == [*[logging.CRITICAL + 1] * 4, *[logging.INFO] * 2]
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
