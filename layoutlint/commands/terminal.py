"""Output to terminals: progress, colour, width, lines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from layoutlint import escapes

if TYPE_CHECKING:
    from layoutlint.model.reading import Progress

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

    `choice` turns it on or off; None is on for a terminal.
    """
    from layoutlint.model.reading import no_progress  # not needed for an output that was kept

    is_terminal = sys.stderr.isatty()
    if not (is_terminal if choice is None else choice):
        return no_progress
    shown = -1
    begun: float | None = None

    def progress(task: str, done: int, total: int) -> None:
        nonlocal shown, begun
        if task == "reading DWARF" and begun != _NOTED:
            begun = time.monotonic() if begun is None else begun
            if time.monotonic() - begun > _PATIENCE:
                begun = _NOTED
                from layoutlint.commands import version  # few runs take so long

                if version.state() != "compiled":
                    complain(_SLOW)
        percent = 100 if done >= total else done * 100 // total
        if percent == shown or (not is_terminal and percent % 10):
            return
        shown = percent
        ending = "\r" if is_terminal and percent < 100 else "\n"
        sys.stderr.write(f"{escapes.line(task)}: {percent} %{ending}")
        sys.stderr.flush()

    return progress


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
    if not _is_muted():
        sys.stdout.write(text)


def write_bytes(data: bytes) -> None:
    """Write bytes as they are to stdout; on a terminal as text without control characters but tabs."""
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
