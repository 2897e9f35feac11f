"""A process that has imported what tests use, except for layoutlint and the tests, and forks for every trial.

    python -m tools.mutations.forks [OPTION...]

reads trials from standard input and answers on standard output, one JSON text on each line: `{"tests": [NAME...], "seconds": N}`, and
`{"failure": NAME or null}`. A trial imports layoutlint anew, so it has what the files contain now, in constants as well.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import pytest

_LIBRARIES = (
    "clang.cindex", "click.testing", "elftools.dwarf.structs", "elftools.elf.elffile", "hypothesis.extra._patching", "hypothesis.stateful", "jinja2",
    "jsonschema", "msgspec.json", "msgspec.msgpack", "rich", "xdist.plugin", "yaml",
)  # fmt: skip
_LONGEST = 4096
"""Bytes of an answer: a pipe takes so many at once."""
_MEMORY = 8 << 30
"""Bytes of address space for the tests of a trial: a change can make a loop endless that adds to a list."""


class _Chosen:
    """Runs some of the tests that are collected, and keeps the name of the first that fails."""

    def __init__(self, names: Sequence[str]) -> None:
        self.places = {name: place for place, name in enumerate(names)}
        self.failure: str | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.places), key=lambda item: self.places[item.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._keep(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._keep(report)

    def _keep(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if report.failed and self.failure is None:
            self.failure = report.nodeid


def serve(options: Sequence[str]) -> None:
    """Answer each trial in its turn, until the client closes standard input; `options` are for pytest."""
    for library in _LIBRARIES:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(library)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        trial = json.loads(line)
        print(json.dumps({"failure": _failure(trial["tests"], trial["seconds"], options)}), flush=True)


def _failure(names: Sequence[str], seconds: float, options: Sequence[str]) -> str | None:
    """Return the first of the tests that fails, or how they ended; None if they pass."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _run(names, theirs, options)
    os.close(theirs)
    is_answered = bool(select.select([ours], [], [], seconds)[0])
    with open(ours, "rb", buffering=0) as answer:
        text = answer.read(_LONGEST) if is_answered else b""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # the tests, and what they leave behind
    _, status = os.waitpid(child, 0)
    if not is_answered:
        return f"no end after {seconds:.0f} s"
    return json.loads(text) if text else f"ended with {os.waitstatus_to_exitcode(status)}"


def _run(names: Sequence[str], answer: int, options: Sequence[str]) -> NoReturn:
    """Run tests in this process, a fork, and write the first that fails."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nothing, standard)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        chosen = _Chosen(names)
        files = dict.fromkeys(name.partition("::")[0] for name in names)
        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *options, *files], [chosen])
        if chosen.failure is None and status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            chosen.failure = f"pytest ends with {int(status)}"
        os.write(answer, json.dumps(chosen.failure).encode()[:_LONGEST])
    finally:
        os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1:])
