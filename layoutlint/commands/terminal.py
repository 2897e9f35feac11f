"""Output to terminals: progress, colour, width, lines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click

from layoutlint import escapes

if TYPE_CHECKING:
    from layoutlint.model.reading import Progress

_SILENCE = 5.0
"""Seconds after which a run says what it does."""
_PATIENCE = 3.0
"""Seconds of reading after which a scanner that is interpreted is mentioned."""

_MUTED = "layoutlint.muted"
_NOTED = float("-inf")
_SLOW = (
    "note: the DWARF scanner runs interpreted, which takes more than ten times as long: "
    "install a wheel for this Python, or a C compiler, and install layoutlint again"
)


def progress_on_stderr(choice: bool | None) -> Progress:
    """Return a Progress on stderr: one line that is overwritten on a terminal, separate lines elsewhere.

    `choice` turns it on or off. None is on for a terminal, and elsewhere says every five seconds what is
    being done, unless the environment has LAYOUTLINT_NO_PROGRESS.
    """
    from layoutlint.model.reading import no_progress  # not needed for an output that was kept

    if choice is False or (choice is None and os.environ.get("LAYOUTLINT_NO_PROGRESS")):
        return no_progress
    progress = _Progress(bool(choice), sys.stderr.isatty())
    progress.watch()
    return progress.show


class _Progress:
    """Shows steps, and the last of them again while nothing else is shown."""

    is_watched = False
    """Whether a timer of the process shows steps."""

    def __init__(self, is_chosen: bool, is_terminal: bool) -> None:
        self._shows_steps, self._is_terminal = is_chosen or is_terminal, is_terminal
        self._start = time.monotonic()
        self._step, self._percent, self._shown = "working", 0, -1
        self._begun: float | None = None

    def show(self, task: str, done: int, total: int) -> None:
        """Show a step if it is another percentage; ten of them without a terminal."""
        if task == "reading DWARF" and self._begun != _NOTED:
            self._mention_slow_scanner()
        self._step = task
        self._percent = percent = 100 if done >= total else done * 100 // total
        if not self._shows_steps or percent == self._shown or (not self._is_terminal and percent % 10):
            return
        self._shown = percent
        sys.stderr.flush()
        self._write("")

    def _write(self, seconds: str) -> None:
        """Write the step past the buffer of stderr, which a signal may find in use."""
        ending = "\r" if self._is_terminal and (seconds or self._percent < 100) else "\n"
        os.write(2, f"{escapes.line(self._step)}: {self._percent} %{seconds}{ending}".encode())

    def _mention_slow_scanner(self) -> None:
        now = time.monotonic()
        self._begun = now if self._begun is None else self._begun
        if now - self._begun > _PATIENCE:
            self._begun = _NOTED
            from layoutlint.commands import version  # few runs take so long

            if version.state() != "compiled":
                complain(_SLOW)

    def watch(self) -> None:
        """Show the step every few seconds, where signals can be had; processes that are forked do not."""
        import signal
        import threading

        if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGALRM, self._on_time)
            signal.siginterrupt(signal.SIGALRM, False)  # no system call of libclang ends early
            signal.setitimer(signal.ITIMER_REAL, _SILENCE, _SILENCE)
            _Progress.is_watched = True

    @classmethod
    def end(cls) -> None:
        """Show no more: the output has begun, which somebody may read in a pager on the same terminal."""
        if cls.is_watched:
            import signal

            signal.setitimer(signal.ITIMER_REAL, 0)
            cls.is_watched = False

    def _on_time(self, *_: object) -> None:
        with suppress(OSError):
            self._write(f", {time.monotonic() - self._start:.0f} s")


def has_color(choice: str) -> bool:
    """Return whether text is coloured, for `auto`, `always` or `never`.

    NO_COLOR (no-color.org) turns `auto` off, FORCE_COLOR (force-color.org) and CLICOLOR_FORCE turn it on
    without a terminal; 0 for CLICOLOR_FORCE has no effect (bixense.com/clicolors).
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


_WIDTH = 100
"""The columns of text where nothing states them, and the most that are used unasked."""


_LEAST_WIDTH = 60
"""The fewest columns that are used, however narrow the terminal."""
_MAIL_WIDTH = 75
"""The most columns of comparisons, which go into mails and commit messages."""


def width(choice: int | None = None, most: int = _WIDTH) -> int:
    """Return the columns of text: as chosen, else those of COLUMNS or the terminal, from 60 to `most`."""
    if choice is not None:
        return choice
    text = os.environ.get("COLUMNS", "")
    columns = int(text) if text.isdecimal() and len(text) < 6 else 0
    if not columns and sys.stdout.isatty():
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    return max(_LEAST_WIDTH, min(columns or most, most))


def fit(render: Callable[..., str], color: str, columns: int | None) -> Callable[..., str]:
    """Return a format of comparisons for people, with the color and the width that options choose."""
    return partial(render, color=has_color(color), width=width(columns, _MAIL_WIDTH))


def mute() -> None:
    """Write nothing more to stdout in this command: a file has its output."""
    click.get_current_context().meta[_MUTED] = True


def _is_muted() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and _MUTED in context.meta


def write(text: str) -> None:
    """Write text of several lines to stdout."""
    _Progress.end()
    if not _is_muted():
        sys.stdout.write(text)


def write_bytes(data: bytes) -> None:
    """Write bytes as they are to stdout; on a terminal as text without control characters but tabs."""
    _Progress.end()
    if _is_muted():
        return
    if sys.stdout.isatty():
        rows = data.decode("utf-8", "backslashreplace").split("\n")
        sys.stdout.write("\n".join("\t".join(map(escapes.inline, row.split("\t"))) for row in rows))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def say(*texts: str) -> None:
    """Write lines to stdout."""
    write(escapes.lines(texts))


def complain(*texts: str) -> None:
    """Write lines to stderr."""
    sys.stderr.write(escapes.lines(texts))
    sys.stderr.flush()
