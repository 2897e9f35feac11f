"""One input through the command within limits, and everything that does not hold of it."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tools.fuzz import command, judge
from tools.fuzz.command import Done
from tools.fuzz.inputs import Input

SECONDS: Final = 5.0
"""Of the processor: on a machine that others use as well the clock says little of the program."""
_WAITS: Final = 12
"""How much longer it may take by the clock."""
_TIMERS: Final = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}
BYTES: Final = 1 << 30
Other = Callable[[tuple[str, ...]], Done]
"""Runs the same command by another build of the same source."""


def limit(trace: Path) -> None:
    """Sets the limits of this process, for good: it ends, with a trace, where it runs too long or crashes."""
    file = open(trace, "wb", buffering=0)  # noqa: SIM115 - stays open as long as the process
    faulthandler.enable(file)
    # The handler is C and runs whatever the interpreter is at; then the signal kills.
    for number in _TIMERS:
        signal.signal(number, signal.SIG_DFL)
        faulthandler.register(number, file, all_threads=True, chain=True)
    most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_timed(words: tuple[str, ...]) -> Done:
    """Runs the command; the process ends when it takes too long."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, _WAITS * SECONDS)
    try:
        return command.run(words)
    finally:
        for timer in _TIMERS.values():
            signal.setitimer(timer, 0)


def examine(tried: Input, twice: bool = False, other: Other | None = None) -> tuple[list[str], object]:
    """Everything that does not hold of an input whose files lie in this folder, and the exit status."""
    before = peak()
    try:
        done = run_timed(tried.words)
    except BaseException as error:
        return [f"{type(error).__name__} escapes from main: {error}"], None
    found = judge.problems(tried.command, done)
    grown = peak() - before
    if grown > BYTES:
        found.append(f"memory grew by {grown >> 20} MiB")
    if twice and run_timed(tried.words) != done:
        found.append("a second run gives something else")
    if other is not None and (they := other(tried.words)) != done:
        found.append(f"compiled and interpreted differ: {_difference(done, they)}")
    return found, done.status


def _difference(one: Done, other: Done) -> str:
    if one.status != other.status:
        return f"exit {one.status} and {other.status}; {one.stderr[-100:]!r} and {other.stderr[-200:]!r}"
    for mine, theirs in ((one.stdout, other.stdout), (one.stderr, other.stderr)):
        at = next((n for n, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
        if mine != theirs:
            return f"{mine[at - 40 : at + 40]!r} and {theirs[at - 40 : at + 40]!r}"
    return "nowhere"


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def end_reasons(status: int, trace: Path) -> list[str]:
    """What to say of a process that did not end by itself."""
    text = trace.read_text() if trace.exists() else ""
    places = [line.strip() for line in text.splitlines() if line.startswith("  File ") and "layoutlint" in line and "tests" not in line]
    where = "; ".join(place.split("layoutlint/", 1)[-1] for place in places[:3])
    if not os.WIFSIGNALED(status):
        return [f"the process exits with {os.waitstatus_to_exitcode(status)}: {text[-300:]}"]
    number = os.WTERMSIG(status)
    if number in _TIMERS:
        return [f"hang: more than {SECONDS:g} s in {where}"]
    return [f"killed by {signal.Signals(number).name} in {where}"]


def run_alone(tried: Input) -> list[str]:
    """Examines an input in a process of its own, with all limits."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command.put(folder, tried.files)
        trace, output = folder / "trace", folder / "told"
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.chdir(folder)
                command.prepare()
                limit(trace)
                output.write_text(json.dumps(examine(tried, twice=True)[0]))
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        return list(json.loads(output.read_text())) if output.exists() else end_reasons(status, trace)


def as_users_do(tried: Input) -> str:
    """The same in a process of its own through `python -m layoutlint`: its exit status and how long it took."""
    with tempfile.TemporaryDirectory() as name:
        command.put(Path(name), tried.files)
        begun = time.monotonic()
        try:
            done = subprocess.run([sys.executable, "-m", "layoutlint", *tried.words], cwd=name, capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            return "no end within 60 s"
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return f"exit {done.returncode} after {time.monotonic() - begun:.1f} s {' '.join(last)}"
