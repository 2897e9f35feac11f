"""A process that lives on where an input shrinks while it is read."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

from layoutlint import escapes
from layoutlint.readers.processes.child import (
    HAS_PROCESSES,
    Child,
    cause_of_death,
    close_all,
    die_with_parent,
)

# A file that is mapped and becomes shorter ends the process that reads behind its end with SIGBUS, which no
# Python code survives. So who maps large files is a child, and its parent says what happened.

_may_guard = False
_maps: Any = None
"""What this process has mapped, for its parent, where that guards it."""
_MAPS_SIZE = 1 << 16
CHANGED = "changed while it was read; run again when nothing writes to it"
_EXIT_UNKNOWN, _EXIT_INTERNAL = 3, 4
"""Those of errors.py and __main__.py."""


def allow_guard() -> None:
    """Let `guard` fork this process, which does nothing else than one run of the command line."""
    global _may_guard
    _may_guard = HAS_PROCESSES and hasattr(signal, "SIGBUS") and not os.environ.get("LAYOUTLINT_DEBUG")


def guard(path: str, size: int) -> None:
    """Go on in a fork from here on, whose parent reports if this file of so many bytes becomes shorter.

    Does so once, and only where `allow_guard` was called: a worker has a parent already.
    """
    global _may_guard, _maps
    if _may_guard and not (Child.is_current or Child.are_there()):
        import mmap

        _may_guard = False
        with suppress(OSError):  # where no process can be had the run goes on without
            _maps = mmap.mmap(-1, _MAPS_SIZE)
            _fork_guarded()
    if _maps is not None:
        entry = size.to_bytes(8, "little") + os.fsencode(path) + b"\0"
        if _maps.tell() + len(entry) < _MAPS_SIZE:
            _maps.write(entry)


def _fork_guarded() -> None:
    """Return in the child alone."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    life, held = os.pipe()
    try:
        child = os.fork()
    except OSError:
        close_all(life, held)
        raise
    if child:
        os.close(life)
        _wait_for(child)
    os.close(held)
    die_with_parent(life)


def _wait_for(child: int) -> NoReturn:
    """End as the child ends, and say why where it cannot."""
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status in (-signal.SIGBUS, -signal.SIGKILL):
            cause = (
                f"{_shrunk()}: {CHANGED}" if status == -signal.SIGBUS else f"the run {cause_of_death(status)}"
            )
            os.write(2, escapes.lines([f"layoutlint: {cause}"]).encode(errors="replace"))
            status = _EXIT_UNKNOWN
        elif status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
            status = 128 - status
    except KeyboardInterrupt:
        os.kill(child, signal.SIGKILL)
        status = 128 + signal.SIGINT
    except OSError:
        status = _EXIT_INTERNAL
    os._exit(status)


def _shrunk() -> str:
    """The mapped file that is shorter now; the last one where that is not known."""
    entries, path = bytes(_maps), "an input"
    at = 0
    while (end := entries.find(b"\0", at + 8)) > at + 8:
        path = os.fsdecode(entries[at + 8 : end])
        try:
            if os.stat(path).st_size < int.from_bytes(entries[at : at + 8], "little"):
                return path
        except OSError:
            pass
        at = end + 1
    return path
