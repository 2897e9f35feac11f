"""A parent process that reports when an input shrinks while it is read."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

from layoutlint import escapes
from layoutlint.errors import EXIT_INTERNAL, EXIT_UNKNOWN
from layoutlint.workers.child import HAS_PROCESSES, Child, cause_of_death, close_all, die_with_parent

# If a mapped file becomes shorter, a read after its end kills the process with SIGBUS, which Python cannot
# handle. So a child maps large files, and its parent reports what happened.

_may_guard = False
_maps: Any = None
"""The files that this process has mapped, for its parent."""
_MAPS_SIZE = 1 << 16
CHANGED = "changed while it was read; run again when nothing writes to it"


def allow_guard() -> None:
    """Allow `guard` to fork this process, which does only one run of the command line."""
    global _may_guard
    _may_guard = HAS_PROCESSES and hasattr(signal, "SIGBUS") and not os.environ.get("LAYOUTLINT_DEBUG")


def guard(path: str, size: int) -> None:
    """Continue in a fork, whose parent reports if this file of `size` bytes becomes shorter.

    Forks once, and only after `allow_guard`: a worker already has a parent.
    """
    global _may_guard, _maps
    if _may_guard and not (Child.is_current or Child.are_there()):
        import mmap

        _may_guard = False
        with suppress(OSError):  # without a process, continue unguarded
            _maps = mmap.mmap(-1, _MAPS_SIZE)
            _fork_guarded()
    if _maps is not None:
        entry = size.to_bytes(8, "little") + os.fsencode(path) + b"\0"
        if _maps.tell() + len(entry) < _MAPS_SIZE:
            _maps.write(entry)


def _fork_guarded() -> None:
    """Fork; return in the child only.

    Not a `Child`: the fork continues this run with its streams, and its parent only waits.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    life, writing_end = os.pipe()
    try:
        child = os.fork()
    except OSError:
        close_all(life, writing_end)
        raise
    if child:
        os.close(life)
        _wait_for(child)
    os.close(writing_end)
    die_with_parent(life)


def _wait_for(child: int) -> NoReturn:
    """Exit with the child's status, and report if it was killed."""
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status in (-signal.SIGBUS, -signal.SIGKILL):
            cause = (
                f"{_shrunk_file()}: {CHANGED}"
                if status == -signal.SIGBUS
                else f"the run {cause_of_death(status)}"
            )
            os.write(2, escapes.lines([f"layoutlint: {cause}"]).encode(errors="replace"))
            status = EXIT_UNKNOWN
        elif status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
            status = 128 - status
    except KeyboardInterrupt:
        os.kill(child, signal.SIGKILL)
        status = 128 + signal.SIGINT
    except OSError:
        status = EXIT_INTERNAL
    os._exit(status)


def _shrunk_file() -> str:
    """Return the mapped file that is shorter now; the last one if that is unknown."""
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
