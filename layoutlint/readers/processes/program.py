"""Another program, run with limits on its time and its output."""

from __future__ import annotations

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


class Result(Record, frozen=True):
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
) -> Result:
    """Run a program in a folder, without input and with this environment alone.

    It gets no descriptors but these. Raises OSError if it cannot be started, and LimitExceeded.
    """
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=descriptors,
    ) as process:  # fmt: skip
        output, messages = _read(process, limits)
    return Result(output, messages, process.returncode)


@contextmanager
def stream(
    command: Sequence[str], folder: str, environment: Mapping[str, str], words: bytes, seconds: int
) -> Iterator[IO[bytes]]:
    """Run a program with `words` as its input, and hand out its output, of which the rest is dropped.

    Its messages are dropped. Raises OSError if it cannot be started; LimitExceeded if it takes too long.
    """
    from tempfile import TemporaryFile  # few runs stream

    with TemporaryFile() as source:
        source.write(words)
        source.seek(0)
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

    def __init__(self, process: subprocess.Popen[bytes], seconds: int) -> None:
        self._process, self._seconds, self._has_passed = process, seconds, False
        self._timer = Timer(seconds, self._kill)
        self._timer.start()

    def _kill(self) -> None:
        self._has_passed = True
        self._process.kill()

    def end(self) -> None:
        """Stop waiting for the deadline; raise LimitExceeded if it passed."""
        self._timer.cancel()
        if self._has_passed:
            raise LimitExceeded(f"takes more than {self._seconds} s")


def _read(process: subprocess.Popen[bytes], limits: Limits) -> tuple[bytes, bytes]:
    """Return what a process writes to stdout and stderr. Raises LimitExceeded."""
    assert process.stdout is not None
    assert process.stderr is not None
    deadline, output = _Deadline(process, limits.seconds), None
    try:
        output = process.stdout.read(limits.output + 1)
        messages = process.stderr.read(limits.messages) if len(output) <= limits.output else b""
    finally:
        if output is None or len(output) > limits.output:
            process.kill()  # nobody reads the rest of its output
        process.wait()
        deadline.end()
    if len(output) > limits.output:
        raise LimitExceeded(f"gives more than {limits.output:,} bytes")
    return output, messages
