"""A process that has imported the command, and forks for every run, or for many (runs.py): starting Python and importing take most of a
short run.

    python -m tests.harness.forks FD LISTENER [LIBRARY...]    serves a Unix socket, and each that connects

Arguments, folder and environment come in, the status goes out. It imports those LIBRARIES and no other
large ones: they multiply the memory that every fork copies. A run may be of a program that says more about
the command (caches.py).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

from tests.harness.runs import LARGEST, Runs, enter

COMMAND = "layoutlint.__main__:main"
_OF_STORES = ("duckdb", "pyarrow.parquet")
_LARGE = {
    "suggest": ("ortools.sat.python.cp_model",),
    "--suggest": ("ortools.sat.python.cp_model",),
    "survey": _OF_STORES,
    "history": _OF_STORES,
}
"""The large libraries, by the command or option that needs them; other runs import them when they do."""
_NOT_BEFORE = {name.partition(".")[0] for names in _LARGE.values() for name in names} | {
    "dask", "distributed", "lsprotocol", "pygls",
}  # fmt: skip


def libraries_of(arguments: list[str]) -> tuple[str, ...]:
    """Return the large libraries of a run."""
    return next((_LARGE[word] for word in arguments if word in _LARGE), ())


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: an exit status, or the signal as a negative number; and what it wrote."""

    status: int
    stdout: bytes
    stderr: bytes
    more: bytes
    """What a program other than the command says of the run."""


class Forks:
    """The client's side; one run at a time, and any number by programs (`write_program`)."""

    def __init__(self, root: Path, libraries: tuple[str, ...] = ()) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._name = f"layoutlint-tests-{os.getpid()}-{self._socket.fileno()}"
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(f"\0{self._name}")
            listener.listen()
            numbers = [theirs.fileno(), listener.fileno()]
            subprocess.run(
                [sys.executable, "-m", "tests.harness.forks", *map(str, numbers), *libraries],
                cwd=root, pass_fds=numbers, stdin=subprocess.DEVNULL, check=True,
            )  # fmt: skip

    def write_program(self, path: Path) -> None:
        """Write a program that is the command, in a fork: for shells, whose runs would each start Python and import."""
        path.write_text(f"#!{sys.executable} -IS\n{_PROGRAM.format(name=self._name, program=COMMAND)}")
        path.chmod(0o755)

    def run(
        self, arguments: list[str], cwd: str, environment: dict[str, str], seconds: float, own_processes: bool,
        program: str = COMMAND, given: bytes | None = None,
    ) -> Ended:  # fmt: skip
        """Raises TimeoutExpired, as subprocess.run does.

        Without `own_processes`, the run reads C by itself (same_process), in a process that does others before and after it.
        """
        outputs = [os.memfd_create(name) for name in ("stdout", "stderr", "more")]
        source = os.open(os.devnull, os.O_RDONLY) if given is None else _pipe(given)
        try:
            request = json.dumps(
                {"arguments": arguments, "cwd": cwd, "environment": environment, "own_processes": own_processes, "program": program}
            )
            self._socket.settimeout(seconds)
            socket.send_fds(self._socket, [os.fsencode(request)], [source, *outputs])
            child = int(self._socket.recv(64))
            try:
                status = int(self._socket.recv(64))
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                self._socket.settimeout(None)
                self._socket.recv(64)
                raise subprocess.TimeoutExpired(arguments, seconds) from None
            return Ended(status, *map(_whole, outputs))
        finally:
            for descriptor in (source, *outputs):
                os.close(descriptor)


def _pipe(content: bytes) -> int:
    """Return the end of a pipe from which a process reads the content."""
    source, target = os.pipe()
    Thread(target=_fill, args=(target, content), daemon=True).start()
    return source


def _fill(target: int, content: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(target, "wb") as pipe:
        pipe.write(content)


def _whole(descriptor: int) -> bytes:
    with open(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return file.read()


_PROGRAM = """\
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server, open(os.devnull) as nowhere:
    server.connect("\\0{name}")
    request = dict(arguments=sys.argv[1:], cwd=os.getcwd(), environment=dict(os.environ), own_processes=True, program="{program}")
    socket.send_fds(server, [os.fsencode(json.dumps(request))], [0, 1, 2, nowhere.fileno()])
    child, status = server.recv(64), int(server.recv(64))
os._exit(status) if status >= 0 else os.kill(os.getpid(), -status)
"""


def serve(number: int, listener_number: int, libraries: list[str]) -> None:
    """Answers every request with the child's number, then with its status, until the client is gone."""
    if os.fork():
        os._exit(0)  # the server is no child of the client, which may look whether it has any
    gc.disable()
    _prepare(libraries)
    gc.freeze()
    gc.enable()
    runs: Runs | None = None
    with socket.socket(fileno=number) as requests, socket.socket(fileno=listener_number) as listener:
        while True:
            ready, _, _ = select.select([requests, listener], [], [])
            if requests in ready:
                content, descriptors, _, _ = socket.recv_fds(requests, LARGEST, 4)
                if not content:
                    return
                request = json.loads(os.fsdecode(content))
                if request["own_processes"] or request["program"] != COMMAND:
                    _answer(request, descriptors, requests, listener)
                else:
                    runs = runs or Runs((requests, listener))
                    requests.send(b"%d" % runs.process)
                    requests.send(b"%d" % runs.run(content, descriptors))
                    runs = None if runs.is_over else runs
            if listener in ready:
                _answer_apart(listener, requests)


def _answer(request: dict[str, Any], descriptors: list[int], requests: socket.socket, other: socket.socket) -> None:
    """Answer a request with a run in a fork."""
    child = os.fork()
    if child == 0:
        requests.close()
        other.close()
        _become(request, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    requests.send(b"%d" % child)
    _, status = os.waitpid(child, 0)
    requests.send(b"%d" % os.waitstatus_to_exitcode(status))


def _answer_apart(listener: socket.socket, requests: socket.socket) -> None:
    """Answer a program that connects, beside other runs: it may wait for the output of one of them."""
    connection, _ = listener.accept()
    with connection:
        if os.fork() == 0:
            requests.close()
            if os.fork() == 0:
                request, descriptors, _, _ = socket.recv_fds(connection, LARGEST, 4)
                _answer(json.loads(os.fsdecode(request)), descriptors, connection, listener)
            os._exit(0)
        os.wait()


def _prepare(libraries: list[str]) -> None:
    """Import what commands import when they need it, load libclang and parse the shipped rules: most of a short run.

    Runs with a cache parse the rules again, because what they are read from is not logged here.
    """
    import layoutlint
    from layoutlint.errors import ReadError, RuleFileError
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.readers.clang import libclang

    importlib.import_module("tests.harness.same_process")
    others = _NOT_BEFORE.difference(name.partition(".")[0] for name in libraries)
    for name in others:
        sys.modules[name] = None  # type: ignore[assignment]  # importing it fails
    for module in pkgutil.walk_packages(layoutlint.__path__, "layoutlint."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in _NOT_BEFORE:
                raise
    for name in others:
        del sys.modules[name]
    for name in libraries:
        with contextlib.suppress(ModuleNotFoundError):  # optional
            importlib.import_module(name)
    with contextlib.suppress(ReadError, RuleFileError):  # the run says it
        libclang.library()
        shipped_rules.shipped_packs()


def _become(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """The command, in a process that looks as if it had just begun."""
    *streams, more = descriptors
    enter(request, streams)
    if not request["own_processes"]:
        from tests.harness import same_process

        same_process.install()
    module, _, name = request["program"].partition(":")
    main = getattr(importlib.import_module(module), name)
    try:
        main(*() if request["program"] == COMMAND else (more,))
    finally:
        os._exit(70)  # not reached: main ends the process


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
