"""Tasks on the workers of Dask: the outcomes are those of local workers, whatever dies meanwhile."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.task import Limits, Task
from layoutlint.workers.local import LocalExecutor
from layoutlint.workers.scheduler_address import parse_address
from tests.harness.dask_cluster import Cluster
from tests.harness.tools import need, needs_library
from tests.workers import task_functions
from tests.workers.test_local import FAILURES, LIMITS, ROOT, is_running, wait_until

pytestmark = [pytest.mark.exhaustive, needs_library("distributed", "pip install layoutlint[distributed]")]


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory):
    """For tests that leave it as it is."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), 2)
    yield cluster
    cluster.end()


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """For tests that end parts of it. A task is lost as soon as one worker dies of it, else after four."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster", 2)
    yield cluster
    cluster.end()


def executor(cluster: Cluster, reports: list[str] | None = None, patience: float = 60):
    from layoutlint.workers import dask_client

    report = (lambda text: None) if reports is None else reports.append
    return dask_client.DaskExecutor(
        parse_address(cluster.address, allow_insecure=False), report=report, patience=patience
    )


def ends(outcomes) -> dict:
    """What does not depend on the machine."""
    return {outcome.task.name: (outcome.value, outcome.failure) for outcome in outcomes}


def test_outcomes_are_those_of_local_workers(shared_cluster):
    tasks = [
        Task(f"{number}", getattr(task_functions, function), argument, limits)
        for number, (function, argument, limits, *_) in enumerate(FAILURES)
    ]
    tasks += [Task(f"good {number}", task_functions.square, number, LIMITS) for number in range(60)]
    tasks += [Task("a lambda", lambda number: number, 1, LIMITS)]
    reports: list[str] = []
    distributed = list(executor(shared_cluster, reports).run(tasks))
    assert len(distributed) == len(tasks)
    assert ends(distributed) == ends(LocalExecutor(2).run(tasks))
    assert any(report.startswith("dashboard: http://127.0.0.1:") for report in reports)


def test_lost_workers_and_schedulers_cost_no_outcome(cluster, tmp_path):
    (rows := tmp_path / "rows").mkdir()
    chance, stop, deaths = random.Random(5), threading.Event(), list[int]()

    def disturb() -> None:
        for count in (20, 60, 100, 140, 180):
            while len(list(rows.glob("[0-9]*"))) < count:
                if stop.wait(0.01):
                    return
            cluster.kill_worker(chance.randrange(2))
            deaths.append(count)
            if count == 100:
                cluster.restart()

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    reports: list[str] = []
    tasks = [Task(str(n), task_functions.write_number, (str(rows), n), Limits(60, 1 << 28)) for n in range(400)]
    try:
        outcomes = list(executor(cluster, reports).run(iter(tasks)))
    finally:
        stop.set()
        disturbing.join()
    assert (len(outcomes), len(deaths)) == (len(tasks), 5)
    assert ends(outcomes) == {task.name: (task.argument[1], None) for task in tasks}
    assert sorted(path.name for path in rows.glob("[0-9]*")) == sorted(task.name for task in tasks)
    assert any("was lost; waiting for it" in report for report in reports)


def test_a_task_of_which_each_worker_dies_is_lost_alone(cluster):
    """The task kills the worker itself: its server's parent."""
    stop = threading.Event()

    def replace_dead_workers() -> None:
        while not stop.wait(0.1):
            for number, worker in enumerate(cluster.workers):
                if worker.poll() is not None:
                    cluster.workers[number] = cluster.start_worker()

    replacing = threading.Thread(target=replace_dead_workers)
    replacing.start()
    try:
        tasks = [Task("bad", task_functions.kill_worker, 0, LIMITS), Task("good", task_functions.square, 2, LIMITS)]
        found = ends(executor(cluster).run(tasks))
    finally:
        stop.set()
        replacing.join()
    assert found["good"] == (4, None)
    assert found["bad"][1].kind == "lost"


def test_closing_ends_what_runs(shared_cluster, tmp_path):
    pid = tmp_path / "pid"
    tasks = [Task("long", task_functions.detach, (str(pid), 60), LIMITS), Task("short", task_functions.square, 3, LIMITS)]
    running = executor(shared_cluster).run(tasks)
    assert next(running).value == 9
    assert wait_until(lambda: pid.exists() and pid.read_text())
    running.close()
    assert wait_until(lambda: not is_running(int(pid.read_text())))


CLIENT = """
import sys
sys.path.insert(0, {root!r})
from layoutlint.workers.dask_client import DaskExecutor
from layoutlint.workers.scheduler_address import parse_address
from layoutlint.model.task import Limits, Task
from tests.workers import task_functions
executor = DaskExecutor(parse_address({address!r}, allow_insecure=False))
list(executor.run([Task("t", task_functions.detach, ({pid!r}, 60), Limits(60, 1 << 30))]))
"""


def start_client(address: str, pid: Path) -> subprocess.Popen[bytes]:
    """A client of the scheduler, with one task, which writes its process id to a file and runs for a minute."""
    program = CLIENT.format(root=str(ROOT), address=address, pid=str(pid))
    return subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)


def test_what_runs_ends_with_a_client_that_is_killed(shared_cluster, tmp_path):
    pid = tmp_path / "pid"
    client = start_client(shared_cluster.address, pid)
    assert wait_until(lambda: pid.exists() and pid.read_text())
    client.send_signal(signal.SIGKILL)
    client.wait()
    assert wait_until(lambda: not is_running(int(pid.read_text())), 60)


def test_what_runs_ends_with_its_worker(cluster, tmp_path):
    """The client is a process, which the test can end: a thread would wait for the scheduler after the test."""
    pid = tmp_path / "pid"
    client = start_client(cluster.address, pid)
    try:
        assert wait_until(lambda: pid.exists() and pid.read_text())
        first = int(pid.read_text())
        for worker in cluster.workers:
            worker.kill()
            worker.wait()
        assert wait_until(lambda: not is_running(first))
    finally:
        client.kill()
        client.wait()


def test_no_workers_and_no_scheduler_are_errors_after_a_while(cluster):
    for worker in cluster.workers:
        worker.kill()
        worker.wait()
    started = time.monotonic()
    with pytest.raises(ReadError, match="the scheduler has had no worker for 1 s"):
        list(executor(cluster, patience=1).run([Task("t", task_functions.square, 1, LIMITS)]))
    cluster.workers = [cluster.start_worker()]
    running = executor(cluster, patience=3).run(Task(str(n), task_functions.square, n, LIMITS) for n in range(10**6))
    next(running)
    cluster.scheduler.kill()
    with pytest.raises(ReadError, match=r"was lost for 3 s; \d+ tasks? in flight without an outcome"):
        list(running)
    assert time.monotonic() - started < 60


def test_the_client_keeps_no_task_that_has_ended(shared_cluster):
    """Dask's clients keep what they sent; a task of a survey has its rules."""
    size = 100_000
    tasks = (Task(str(number), len, str(number) * (size // len(str(number))), LIMITS) for number in range(100, 160))
    tracemalloc.start()
    try:
        memory = [tracemalloc.get_traced_memory()[0] for _ in executor(shared_cluster).run(tasks)]
    finally:
        tracemalloc.stop()
    assert (len(memory), (memory[-1] - memory[19]) // size < 15) == (60, True), memory


def test_another_version_is_refused(shared_cluster, monkeypatch):
    monkeypatch.setattr("layoutlint.workers.dask_client.__version__", "0.0.1")
    (outcome,) = executor(shared_cluster).run([Task("t", task_functions.square, 1, LIMITS)])
    assert outcome.failure.kind == "refused"
    assert outcome.failure.message.startswith("needs layoutlint 0.0.1; the worker has ")


def make_certificate(folder: Path) -> Path:
    """Return a file with a certificate that signs itself, and its key."""
    key, certificate, both = folder / "key.pem", folder / "certificate.pem", folder / "both.pem"
    subprocess.run(
        [need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    return both


def run_client(address: str, pid: Path) -> subprocess.CompletedProcess[str]:
    program = CLIENT.format(root=str(ROOT), address=address, pid=str(pid)).replace(", 60), Limits", ", 0), Limits")
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_schedulers_with_certificates_need_those_of_clients(tmp_path, monkeypatch):
    place = make_certificate(tmp_path)
    names = ["CA_FILE", *(f"{role}__{kind}" for role in ("CLIENT", "SCHEDULER", "WORKER") for kind in ("CERT", "KEY"))]
    variables = [f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name in names]
    for variable in variables:
        monkeypatch.setenv(variable, str(place))
    (folder := tmp_path / "cluster").mkdir()
    cluster = Cluster(folder, 1, protocol="tls")
    try:
        assert run_client(cluster.address, tmp_path / "pid").returncode == 0
        assert (tmp_path / "pid").exists()
        for variable in variables:
            monkeypatch.delenv(variable)
        without = run_client(cluster.address, tmp_path / "none")
    finally:
        cluster.end()
    assert (without.returncode, (tmp_path / "none").exists()) == (1, False)
    assert "no certificates: set distributed.comm.tls.ca-file" in without.stderr
