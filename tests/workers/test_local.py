"""Tasks in processes: however one ends, the others are done, nothing is left, and the client stays small."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.task import MOST_BYTES, Limits, Outcome, Task
from layoutlint.workers.local import LocalExecutor
from tests.workers import task_functions

MB = 1 << 20
LIMITS = Limits(20, 128 * MB)
SHORT = Limits(0.3, 128 * MB)
ROOT = Path(__file__).resolve().parents[2]


def outcomes(tasks, workers: int = 2) -> dict[str, Outcome]:
    return {outcome.task.name: outcome for outcome in LocalExecutor(workers).run(tasks)}


def task(function, argument, limits: Limits = LIMITS, name: str = "") -> Task:
    return Task(name or function.__name__, function, argument, limits)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until(condition, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.02)
    return condition()


FAILURES = [
    # function, argument, limits, kind, message, attempts
    ("sleep", 60, SHORT, "timed-out", "does not end within 0.3 s", 2),
    ("spin", 60, SHORT, "timed-out", "does not end within 0.3 s", 2),
    ("ignore_signals", 60, SHORT, "timed-out", "does not end within 0.3 s", 2),
    ("fill", 100 << 30, LIMITS, "out-of-memory", "takes more than 128 MB of memory", 2),
    ("fill_in_children", 1 << 30, LIMITS, "out-of-memory", "takes more than 128 MB of memory", 2),
    ("allocate", 100 << 30, LIMITS, "out-of-memory", "takes more than 128 MB of memory", 2),
    ("die", signal.SIGSEGV, LIMITS, "crashed", "crashes (Segmentation fault)", 2),
    ("die", signal.SIGKILL, LIMITS, "crashed", "was killed (perhaps for want of memory)", 2),
    ("die", signal.SIGTERM, LIMITS, "crashed", "crashes (Terminated)", 2),
    ("leave", 0, LIMITS, "crashed", "ends without a result", 2),
    ("leave", 3, LIMITS, "crashed", "crashes (status 3)", 2),
    ("exit_politely", 0, LIMITS, "crashed", "ends its process (status 0)", 2),
    ("raise_error", "is\nbad", LIMITS, "crashed", "raises ReadError: a file: is bad", 2),
    ("kill_server", None, LIMITS, "lost", "was lost: its worker died", 2),
    ("return_poisoned", None, LIMITS, "refused", "returns what cannot be read: ValueError: ", 1),
    ("return_unpicklable", None, LIMITS, "refused", "returns a value that cannot be pickled: ", 1),
    ("return_bytes", MOST_BYTES, Limits(20, 1 << 30), "refused", "returns more than 64 MB", 1),
]


def test_a_task_that_fails_says_why_and_costs_no_other():
    failing = [
        Task(f"{number}", getattr(task_functions, function), argument, limits)
        for number, (function, argument, limits, *_) in enumerate(FAILURES)
    ]
    good = [Task(f"good {number}", task_functions.square, number, LIMITS) for number in range(20)]
    ended = outcomes([*failing, *good], 6)
    found = [ended[f"{number}"] for number in range(len(FAILURES))]
    assert [(outcome.value, outcome.failure.kind, outcome.attempts) for outcome in found] == [
        (None, kind, attempts) for *_, kind, _, attempts in FAILURES
    ]
    for outcome, (*_, message, _) in zip(found, FAILURES, strict=True):
        assert outcome.failure.message.startswith(message)
    assert [ended[f"good {number}"].value for number in range(20)] == [number**2 for number in range(20)]


@pytest.mark.parametrize(
    ("function", "argument"),
    [(lambda number: number, 1), (task_functions.square, lambda: 1), (task_functions.square, sys.stdout)],
    ids=["a lambda", "an argument", "a file"],
)
def test_what_cannot_be_sent_is_refused(function, argument):
    outcome = outcomes([Task("task", function, argument, LIMITS)])["task"]
    assert outcome.failure.kind == "refused"
    assert outcome.failure.message.startswith("cannot be sent to a process: ")
    assert outcome.attempts == 0


def test_a_function_that_only_the_client_has_is_refused(tmp_path, monkeypatch):
    module = type(sys)("not_for_servers")
    module.function = lambda number: number
    module.function.__module__, module.function.__qualname__ = "not_for_servers", "function"
    monkeypatch.setitem(sys.modules, "not_for_servers", module)
    outcome = outcomes([Task("task", module.function, 1, LIMITS)])["task"]
    assert outcome.failure.kind == "refused"
    assert "No module named 'not_for_servers'" in outcome.failure.message


def test_a_crash_is_tried_again(tmp_path):
    outcome = outcomes([task(task_functions.die_once, str(tmp_path))])["die_once"]
    assert (outcome.value, outcome.failure, outcome.attempts) == ("second attempt", None, 2)


def test_streams_and_descriptors_are_not_the_clients(capfd):
    ended = outcomes([task(task_functions.write_streams, 0), task(task_functions.count_descriptors, 0)])
    assert ended["write_streams"].value == "written"
    assert ended["count_descriptors"].value <= 9
    assert capfd.readouterr() == ("", "")


def test_costs_are_measured():
    ended = outcomes([task(task_functions.spin, 0.2), task(task_functions.share_with_forks, 100 * MB)])
    spun, shared = ended["spin"], ended["share_with_forks"]
    assert 0.2 <= spun.processor_seconds < 0.5
    assert spun.seconds >= 0.2
    assert shared.value == "shared"  # four forks share 100 of 128 MB
    assert 100 * MB < shared.memory < 700 * MB


@pytest.mark.exhaustive
def test_pages_of_mapped_files_are_no_memory_of_the_task(tmp_path):
    (tmp_path / "large").write_bytes(bytes(200 * MB))
    outcome = outcomes([task(task_functions.map_file, str(tmp_path / "large"))])["map_file"]
    assert outcome.failure is None
    assert outcome.memory > 200 * MB


def test_processes_that_left_the_session_end_with_the_task(tmp_path):
    (ended,) = LocalExecutor(1).run([task(task_functions.detach, (str(tmp_path / "pid"), 0))])
    assert ended.value == "detached"
    assert not is_running(int((tmp_path / "pid").read_text()))


def test_what_the_process_of_a_task_has():
    described = outcomes([task(task_functions.describe_process, 0)])["describe_process"].value
    data = described.pop("data")
    assert 2048 + 2 * 128 < data < 2048 + 2 * 128 + 1500  # beside what Python has
    assert described == {"group": True, "signals": True, "core": True, "out of memory": "800\n", "folder": True, "faults": False}


def test_temporary_files_are_removed():
    ended = outcomes([task(task_functions.write_temporary_file, 100), task(task_functions.temporary_folder, 0)])
    assert ended["write_temporary_file"].failure.kind == "crashed"
    assert not Path(ended["temporary_folder"].value).parent.exists()


def test_tasks_are_taken_when_a_worker_is_free():
    taken = 0

    def tasks():
        nonlocal taken
        for number in range(50):
            taken += 1
            yield Task(str(number), task_functions.square, number, LIMITS)

    running = LocalExecutor(2).run(tasks())
    for done in range(1, 6):
        next(running)
        assert taken <= done + 3
    running.close()


def test_closing_ends_what_runs(tmp_path):
    tasks = [task(task_functions.detach, (str(tmp_path / "pid"), 60)), task(task_functions.square, 3)]
    running = LocalExecutor(2).run(tasks)
    assert next(running).value == 9
    assert wait_until((tmp_path / "pid").exists)
    assert wait_until(lambda: (tmp_path / "pid").read_text())
    running.close()
    assert not is_running(int((tmp_path / "pid").read_text()))


CLIENT = """
import sys
sys.path.insert(0, {root!r})
from layoutlint.workers.local import LocalExecutor
from layoutlint.model.task import Limits, Task
from tests.workers import task_functions
for outcome in LocalExecutor(1).run([Task("t", task_functions.detach, ({pid!r}, 60), Limits(60, 1 << 30))]):
    print(outcome)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_what_runs_ends_with_the_client(tmp_path, number):
    pid = tmp_path / "pid"
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT.format(root=str(ROOT), pid=str(pid))], stderr=subprocess.DEVNULL
    )
    assert wait_until(pid.exists)
    assert wait_until(pid.read_text)
    client.send_signal(number)
    assert client.wait(20) == -number
    assert wait_until(lambda: not is_running(int(pid.read_text())))


def test_a_worker_that_cannot_begin_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ReadError, match="worker: /bin/false cannot be started to run tasks"):
        list(LocalExecutor(1).run([task(task_functions.square, 1)]))


@pytest.mark.exhaustive
def test_a_thousand_tasks_cost_less_than_20_ms_each():
    before = os.times()
    tasks = (Task(str(number), task_functions.square, number, LIMITS) for number in range(1000))
    assert sum(outcome.value for outcome in LocalExecutor(1).run(tasks)) == sum(n * n for n in range(1000))
    assert sum(os.times()[:4]) - sum(before[:4]) < 20  # of the processors: other work on the machine does not count


@pytest.mark.exhaustive
def test_processes_that_replace_themselves_are_ended(tmp_path, monkeypatch):
    mark = f"LAYOUTLINT_TEST_MARK={tmp_path}"
    monkeypatch.setenv(*mark.split("="))  # which all processes of these tasks have, and those of other tests have not
    outcome = outcomes([task(task_functions.replace_themselves, 8, Limits(1, 512 * MB))])["replace_themselves"]
    assert outcome.failure.kind == "timed-out"
    assert outcome.seconds < 20
    assert [path for path in Path("/proc").glob("[0-9]*/environ") if mark.encode() in content(path)] == []


def content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
