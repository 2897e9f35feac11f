"""Temporary folders that are removed however a run ends, unless it is killed outright (SIGKILL)."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from layoutlint import files

_ENDING = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)
"""Signals that end a process at once, unless it handles them."""
_HELD = (*_ENDING, signal.SIGINT)


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Hand out the real path of an empty folder of this user's alone, and remove it afterwards.

    Signals that end the process take effect after the removal. Raises OSError if there is no place for it.
    """
    with _exit_on_signals():
        with _signals_held():
            folder = tempfile.mkdtemp(prefix="layoutlint-")
        try:
            yield files.real_path(folder)
        finally:
            with _signals_held():
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _exit_on_signals() -> Iterator[None]:
    """End this process by SystemExit on signals that would end it at once; its forks end as before."""
    owner = os.getpid()

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() == owner:
            raise SystemExit(128 + number)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    is_main = threading.current_thread() is threading.main_thread()
    changed = [number for number in _ENDING if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Delay the signals that end a process."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
