"""Reading and searching C in the process that wants it, as on systems that cannot fork: a fork for each unit copies some 1,800 pages,
which takes longer than most units. Python programs run in forks: starting Python and importing take longer than most tasks.

Tests with the fixture `own_processes` (tests/conftest.py) do not: those of limits, of crashes, and of what one process hands
to another.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

from layoutlint.readers.clang import limits
from layoutlint.workers import bounded_text, sandbox, server_process

run_each = sandbox.run_each
"""What users have."""


def install() -> None:
    """Do both in this process, for as long as it lives."""
    read_here()
    server_process.start_interpreter = fork_interpreter


def read_here() -> None:
    """Read C in this process from now on."""
    sandbox.run_each = run_each_here


def run_each_here(
    work: Callable[[Any], Any],
    items: Sequence[Any],
    jobs: int,
    its: sandbox.WorkLimits,
    patience: sandbox.Patience | None = None,
    on_step: Callable[[], object] = int,
) -> Iterator[tuple[int, Any]]:
    """Work within the limits of libclang and of searches here, and all other work in processes."""
    if jobs > 1 or not (its is limits.LIMITS or its is bounded_text._LIMITS):
        yield from run_each(work, items, jobs, its, patience, on_step)
        return
    for number, item in enumerate(items):
        limits.HAS_PROCESSES = bounded_text.HAS_PROCESSES = False  # they would confine this process
        try:
            result = work(item)
        finally:
            limits.HAS_PROCESSES = bounded_text.HAS_PROCESSES = True
        yield number, result


def fork_interpreter(program: str) -> subprocess.Popen[bytes]:
    """Start a Python program in a fork of this process, with its streams like those of a new one."""
    return subprocess.Popen(
        [sys.executable], preexec_fn=partial(become_program, program), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, bufsize=0, start_new_session=True,
    )  # fmt: skip


def become_program(program: str) -> NoReturn:
    """Make a child of this process a Python program."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # among them what Popen waits for until another program begins
    try:
        exec(program, {})
    finally:
        os._exit(1)
