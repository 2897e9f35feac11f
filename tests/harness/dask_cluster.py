"""A scheduler of Dask and its workers, as processes of this machine that can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Cluster:
    """A cluster; its workers have no nanny, so a killed one stays dead."""

    def __init__(self, folder: Path, workers: int, options: tuple[str, ...] = (), protocol: str = "tcp") -> None:
        self._folder, self._options = folder, options
        self._port = free_port()
        self.address = f"{protocol}://127.0.0.1:{self._port}"
        self.scheduler = self._start_scheduler()
        self.workers = [self.start_worker() for _ in range(workers)]

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {"PYTHONPATH": str(_ROOT), "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s"}
        with open(self._folder / "dask.log", "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *words, *self._options],
                cwd=self._folder, env=environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        """Start a scheduler, and wait until it listens."""
        host = self.address.rpartition(":")[0]
        scheduler = self._start("scheduler", "--host", host, "--port", str(self._port), "--dashboard-address", ":0")
        while scheduler.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        return scheduler

    def start_worker(self) -> subprocess.Popen[bytes]:
        place = str(self._folder)
        return self._start("worker", self.address, "--no-nanny", "--nthreads", "2", "--no-dashboard", "--local-directory", place)

    def kill_worker(self, number: int) -> None:
        """Kill a worker, and start another one in its place."""
        worker = self.workers[number]
        worker.kill()
        worker.wait()
        self.workers[number] = self.start_worker()

    def restart(self) -> None:
        """Kill the scheduler, and start it and its workers again after a while, as deployments do."""
        self.scheduler.kill()
        self.scheduler.wait()
        time.sleep(1)
        self.scheduler = self._start_scheduler()
        for number in range(len(self.workers)):
            self.kill_worker(number)

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.send_signal(signal.SIGKILL)
            process.wait()
