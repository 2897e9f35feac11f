"""Tasks on the workers of a Dask scheduler, which survive the loss of workers and of the scheduler."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import dask
import distributed

from layoutlint import __version__
from layoutlint.errors import ReadError
from layoutlint.model.record import Record, replace
from layoutlint.model.task import Outcome, Task
from layoutlint.phrases import quantity
from layoutlint.workers import dask_worker, messages
from layoutlint.workers.messages import Reply
from layoutlint.workers.scheduler_address import SchedulerAddress

_ANSWER_SECONDS = 10.0
"""How long a scheduler may take to answer."""
_PATIENCE_SECONDS = 120.0
"""How long a run waits in turn for a scheduler that does not answer, and for a worker if there is none."""
_LOOK_SECONDS = 2.0
"""How often the scheduler is asked for its workers."""
_IN_FLIGHT = 2
"""The tasks that are sent for each thread of a worker, so that none waits for the network."""
_MOST_SUBMISSIONS = 5
"""How often a task is sent; each time, Dask itself repeats it when a worker is lost (`allowed-failures`)."""
_SENT_LOG, _MOST_SENT_LOG = "distributed.admin.low-level-log-length", 10
"""Dask keeps the last 1,000 messages that a client sent, which have the tasks, for its developers."""

Report = Callable[[str], None]


class DaskExecutor:
    """Runs tasks on the workers of a scheduler.

    `modules` are imported before tasks begin, in the processes that are forked for them. `report` gets a line
    when something about the scheduler changes.
    """

    def __init__(
        self,
        address: SchedulerAddress,
        modules: tuple[str, ...] = (),
        report: Report = lambda text: None,
        patience: float = _PATIENCE_SECONDS,
    ) -> None:
        self._address, self._modules, self._report, self._patience = address, modules, report, patience

    def run(self, tasks: Iterable[Task]) -> Generator[Outcome]:
        """Yield the outcome of each task as it ends; see `Executor`.

        Raises ReadError if the scheduler does not answer or has no workers, for longer than this waits.
        """
        _silence()
        dask.config.set({_SENT_LOG: _MOST_SENT_LOG})
        run = _DaskRun(self._address, self._modules, self._report, self._patience)
        try:
            yield from run.outcomes(iter(tasks))
        finally:
            run.close()


class _Sent(Record):
    """A task that has no outcome yet."""

    task: Task
    message: bytes
    submissions: int = 0
    future: Any = None


class _DaskRun:
    """A run, with its connection."""

    def __init__(
        self, address: SchedulerAddress, modules: tuple[str, ...], report: Report, patience: float
    ) -> None:
        self._address, self._modules, self._report, self._patience = address, modules, report, patience
        self._keys = (f"layoutlint-{time.time_ns():x}-{number}" for number in count())
        self._sent: dict[str, _Sent] = {}
        """By the key of the future."""
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._client = self._connect()
        self._threads = 0
        self._asked = 0.0
        self._saw_worker = time.monotonic()

    def _connect(self) -> Any:
        client = _connect(self._address)
        if client.dashboard_link:
            self._report(f"dashboard: {client.dashboard_link}")
        return client

    def outcomes(self, waiting: Iterator[Task]) -> Generator[Outcome]:
        """Yield the outcomes."""
        while True:
            self._look()
            yield from self._send(waiting)
            if not self._sent:
                return
            with suppress(queue.Empty):
                future = self._ended.get(timeout=_LOOK_SECONDS)
                yield from self._take(future)

    def _send(self, waiting: Iterator[Task]) -> Iterator[Outcome]:
        """Send tasks, as many as the workers need; yield outcomes of those that cannot be sent."""
        while len(self._sent) < max(1, _IN_FLIGHT * self._threads):
            task = next(waiting, None)
            if task is None:
                return
            message = messages.encode_task(task, self._modules)
            if isinstance(message, Outcome):
                yield message
                continue
            self._submit(_Sent(task, message))

    def _submit(self, sent: _Sent) -> None:
        sent.submissions += 1
        sent.future = self._client.submit(
            dask_worker.run_message, __version__, sent.message, key=next(self._keys), pure=False
        )
        self._sent[sent.future.key] = sent
        sent.future.add_done_callback(self._ended.put)

    def _take(self, future: Any) -> Iterator[Outcome]:
        """Yield the outcome of a future; send its task again if it has none."""
        sent = self._sent.get(future.key)
        if sent is None or sent.future is not future:
            return
        if future.status == "cancelled":
            self._reconnect()
            return
        reply = self._reply(future)
        del self._sent[future.key]
        if reply is None and sent.submissions < _MOST_SUBMISSIONS:
            self._submit(sent)
            return
        reply = reply or Reply("lost", b"was lost: its workers died", 0, 0, 0, 0)
        reply = replace(reply, attempts=reply.attempts + sent.submissions - 1)
        yield messages.outcome(sent.task, reply)

    def _reply(self, future: Any) -> Reply | None:
        """Return the reply; None if the task is lost with its workers."""
        if future.status == "error":
            error = future.exception(timeout=_ANSWER_SECONDS)
            if isinstance(error, distributed.KilledWorker):
                return None
            text = f"cannot be run by its worker: {messages.one_line(error)}"
            return Reply("refused", text.encode(errors="backslashreplace"), 0, 0, 0, 0)
        try:
            content = future.result(timeout=_ANSWER_SECONDS)
        except Exception:  # lost on the way: libraries below raise many kinds of errors
            return None
        return messages.decode_reply(content) if content else None

    def _look(self) -> None:
        """Ask the scheduler for its workers. Raises ReadError if there are none for too long."""
        now = time.monotonic()
        if now - self._asked < _LOOK_SECONDS:
            return
        self._asked = now
        try:
            threads = self._client.nthreads(callback_timeout=_ANSWER_SECONDS)
        except Exception:  # OSError, TimeoutError, CommClosedError, RuntimeError of a closed loop
            self._reconnect()
            return
        self._threads = sum(threads.values())
        if self._threads:
            self._saw_worker = now
        elif now - self._saw_worker > self._patience:
            raise ReadError(str(self._address), f"the scheduler has had no worker for {self._patience:g} s")

    def _reconnect(self) -> None:
        """Connect again, and send again what has no outcome. Raises ReadError if nothing answers for long."""
        self._report(f"the scheduler {self._address} was lost; waiting for it")
        _close(self._client)
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._client = self._connect()
                break
            except ReadError as error:
                if time.monotonic() > deadline:
                    without = f"{quantity(len(self._sent), 'task')} in flight without an outcome"
                    raise ReadError(
                        error.path, f"{error.reason}, and was lost for {self._patience:g} s; {without}"
                    ) from None
                time.sleep(0.5)
        self._saw_worker = time.monotonic()
        again, self._sent = list(self._sent.values()), {}
        self._ended = queue.SimpleQueue()
        for sent in again:
            self._submit(sent)

    def close(self) -> None:
        """Cancel what runs; workers then end its processes."""
        with suppress(Exception):
            self._client.cancel([sent.future for sent in self._sent.values()], force=True)
        _close(self._client)


def _connect(address: SchedulerAddress) -> Any:
    """Return a client. Raises ReadError.

    A thread connects, because Dask waits without an end for a port that accepts connections and is silent.
    """
    address.reach(_ANSWER_SECONDS)
    security = _security(address)
    ends: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def connect() -> None:
        try:
            client = distributed.Client(
                str(address), timeout=_ANSWER_SECONDS, security=security, set_as_default=False
            )
            ends.put(client)
        except Exception as error:  # OSError, TimeoutError, CommClosedError, what TLS and handshakes raise
            ends.put(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        end = ends.get(timeout=_ANSWER_SECONDS + 1)
    except queue.Empty:
        raise ReadError(str(address), f"no scheduler of Dask answers within {_ANSWER_SECONDS:g} s") from None
    if isinstance(end, Exception):
        raise ReadError(str(address), _describe(end))
    return end


def _describe(error: BaseException) -> str:
    """Return why a connection failed, by the innermost cause; those around it name objects of Dask."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    if isinstance(error, OSError) and error.strerror:
        cause = error.strerror.lower()
    else:
        cause = f"the server is another program, or has another version ({type(error).__name__})"
    return f"no scheduler of Dask answers: {cause}"


def _security(address: SchedulerAddress) -> Any:
    """Return the certificates that Dask's configuration names. Raises ReadError if it names none for TLS."""
    security = distributed.Security()
    try:
        has_any = address.protocol != "tls" or security.get_connection_args("client").get("ssl_context")
    except Exception as error:  # OSError, ssl.SSLError
        cause = messages.one_line(error)
        raise ReadError(str(address), f"its certificates cannot be read: {cause}") from None
    if not has_any:
        keys = "distributed.comm.tls.ca-file, client.cert and client.key"
        raise ReadError(str(address), f"no certificates: set {keys} in the configuration of Dask")
    return security


def _close(client: Any) -> None:
    with suppress(Exception):
        client.close(timeout=_ANSWER_SECONDS)


def _silence() -> None:
    """Keep Dask's own log off stderr; this module reports what matters."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "bokeh"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
