"""Another program, run with limits on its time and its output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import IO

from layoutlint.model.record import Record


class LimitExceeded(Exception):
    """A program takes more than it may; the text is to follow its name: `takes more than 60 s`."""


class Limits(Record, frozen=True):
    """The limits of one run of a program."""

    seconds: int
    output: int
    """Bytes that it may write to stdout."""
    messages: int
    """Bytes of its stderr that are read."""


class ProgramResult(Record, frozen=True):
    """The end of a program."""

    output: bytes
    messages: bytes
    status: int


def run(
    command: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    limits: Limits,
    descriptors: tuple[int, ...] = (),
    has_group: bool = False,
    given: bytes = b"",
) -> ProgramResult:
    """Run a program in a folder, with this input and this environment alone.

    It gets no descriptors but these. With `has_group`, the programs that it starts end with it. Raises
    OSError if it cannot be started, and LimitExceeded.
    """
    with _source(given) as source, subprocess.Popen(
        command, cwd=folder, env=environment, stdin=source,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=descriptors, start_new_session=has_group,
    ) as process:  # fmt: skip
        output, messages = _read(process, limits, has_group)
    return ProgramResult(output, messages, process.returncode)


@contextmanager
def stream(
    command: Sequence[str], folder: str, environment: Mapping[str, str], words: bytes, seconds: int
) -> Iterator[IO[bytes]]:
    """Run a program with `words` as its input, and hand out its output, of which the rest is dropped.

    Its messages are dropped. Raises OSError if it cannot be started; LimitExceeded if it takes too long.
    """
    with _source(words) as source:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=source,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    assert process.stdout is not None
    deadline = _Deadline(process, seconds)
    try:
        yield process.stdout
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
        deadline.end()


@contextmanager
def _source(given: bytes) -> Iterator[IO[bytes] | int]:
    """Hand out a file from which a program reads an input, which can be longer than a pipe holds."""
    if not given:
        yield subprocess.DEVNULL
        return
    from tempfile import TemporaryFile  # few runs need one

    with TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        yield source


def start_interpreter(program: str) -> subprocess.Popen[bytes]:
    """Start a Python program that talks through stdin and stdout, in a session of its own.

    It imports nothing from the working folder, which can be hostile, and its messages are dropped. Raises
    OSError if it cannot be started.
    """
    return subprocess.Popen(
        interpreter_command(program),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
        start_new_session=True,
    )  # fmt: skip


def interpreter_command(program: str) -> tuple[str, ...]:
    """Return the command that runs a Python program with nothing from the working folder."""
    return (sys.executable, "-P", "-c", program)


class _Deadline:
    """Kills a process after some seconds.

    That it did so decides, not the clock: a wait of the system can end a little before its time.
    """

    def __init__(self, process: subprocess.Popen[bytes], seconds: int, has_group: bool = False) -> None:
        self._process, self._seconds, self._has_passed = process, seconds, False
        self._has_group = has_group
        self._timer = Timer(seconds, self._kill)
        self._timer.start()

    def _kill(self) -> None:
        self._has_passed = True
        if self._has_group:
            os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()

    def end(self) -> None:
        """Stop waiting for the deadline; raise LimitExceeded if it passed."""
        self._timer.cancel()
        if self._has_passed:
            raise LimitExceeded(f"takes more than {self._seconds} s")


def _read(process: subprocess.Popen[bytes], limits: Limits, has_group: bool) -> tuple[bytes, bytes]:
    """Return what a process writes to stdout and stderr. Raises LimitExceeded."""
    assert process.stdout is not None
    assert process.stderr is not None
    deadline, output = _Deadline(process, limits.seconds, has_group), None
    try:
        output = process.stdout.read(limits.output + 1)
        messages = process.stderr.read(limits.messages) if len(output) <= limits.output else b""
    finally:
        if output is None or len(output) > limits.output:
            process.kill()  # nobody reads the rest of its output
        if has_group:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            os.killpg(process.pid, signal.SIGKILL)  # before `wait`, after which the number can be another's
        process.wait()
        deadline.end()
    if len(output) > limits.output:
        raise LimitExceeded(f"gives more than {limits.output:,} bytes")
    return output, messages
