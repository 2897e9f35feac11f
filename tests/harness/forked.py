"""The command in a fork of this process, for tests that hold the process itself: its number, its pipes, its end. Starting Python and
importing the libraries of the language server take longer than most of what these tests do.

The fork has what this process imported, and nothing else of it: the command reads C as that of users does.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from layoutlint.files import accesses
from layoutlint.readers.clang import limits
from layoutlint.workers import sandbox
from tests.harness import same_process
from tests.harness.runs import enter


def become(words: tuple[str, ...], folder: Path, environment: Mapping[str, str], begin: Callable[[], object] = int) -> Callable[[], None]:
    """Return what makes a child the command: `preexec_fn` of Popen, and of what asyncio starts. `begin` is called first."""
    def run() -> NoReturn:
        try:
            _forget(folder, environment, words)
            begin()
            from layoutlint.__main__ import main

            main()
        finally:
            os._exit(70)  # not reached: main ends the process

    return run


def start(
    words: tuple[str, ...], folder: Path, environment: Mapping[str, str], begin: Callable[[], object] = int, **more: Any
) -> subprocess.Popen[bytes]:
    """Start the command."""
    return subprocess.Popen(["layoutlint", *words], preexec_fn=become(words, folder, environment, begin), **more)


def _forget(folder: Path, environment: Mapping[str, str], words: tuple[str, ...]) -> None:
    """Leave behind what only this process and its tests are about."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # among them what Popen waits for until another program begins
    faulthandler.disable()
    signal.set_wakeup_fd(-1)
    logging.root.handlers.clear()
    enter({"cwd": str(folder), "environment": dict(environment), "arguments": words}, [])
    accesses.begin_run()
    limits.begin_run()
    sandbox.run_each = same_process.run_each
    asyncio.create_subprocess_exec = _start_program  # type: ignore[assignment]


async def _start_program(*command: str, _start: Any = asyncio.create_subprocess_exec, **streams: Any) -> asyncio.subprocess.Process:
    """Start a Python program, the last word of its command, in a fork."""
    process: asyncio.subprocess.Process = await _start(*command, preexec_fn=partial(same_process.become_program, command[-1]), **streams)
    return process
