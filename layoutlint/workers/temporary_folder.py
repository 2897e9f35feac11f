"""Temporary folders that are removed however a run ends; after SIGKILL, by the next run that makes one.

A run holds a lock on its folder, which ends with the last of its processes. A folder that can be locked has
no owner any more. It has a file that says whose it is, beside the folder that is handed out: other folders
with such a name are the user's.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from layoutlint import files

_ENDING = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)
"""Signals that end a process at once, unless it handles them."""
_HAS_LOCKS = os.name == "posix"
_PREFIX = "layoutlint-run-"
_MARK, _CONTENT = "layoutlint", b"layoutlint removes this folder when its run has ended\n"
"""The file that every folder of a run has, and its text."""
_FILES = "files"
"""The folder of a run that is handed out."""
_ATTEMPTS = 100
"""The most folders that are made because other runs removed earlier ones before they were locked."""
_HELD = (*_ENDING, signal.SIGINT)


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Hand out the real path of an empty folder of this user's alone, and remove it afterwards.

    Folders that killed runs left are removed first. Signals that end the process take effect after the
    removal. Raises OSError if there is no place for it.
    """
    remove_stale_folders(tempfile.gettempdir())
    with _exit_on_signals():
        with _signals_held():
            folder, lock = _make_locked()
        try:
            yield files.real_path(os.path.join(folder, _FILES))
        finally:
            with _signals_held():
                _remove(folder)
                if lock is not None:
                    os.close(lock)


def _make_locked() -> tuple[str, int | None]:
    """Return a new folder and the descriptor that locks it; None if this system has no such locks."""
    for _ in range(_ATTEMPTS):
        folder = _make()
        if not _HAS_LOCKS:
            return folder, None
        try:
            lock = _lock(folder)
        except OSError:  # a file system without locks
            return folder, None
        if lock is not None:
            return folder, lock
    raise OSError("temporary folders vanish as soon as they are made")


def _make() -> str:
    """Return a new folder with its mark, which comes last."""
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    try:
        os.mkdir(os.path.join(folder, _FILES))
        with open(os.path.join(folder, _MARK), "xb") as file:
            file.write(_CONTENT)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _remove(folder: str) -> None:
    """Remove a folder, its mark last: what cannot be removed now is known later."""
    shutil.rmtree(os.path.join(folder, _FILES), ignore_errors=True)
    if not os.path.lexists(os.path.join(folder, _FILES)):
        shutil.rmtree(folder, ignore_errors=True)


def _is_of_a_run(folder: str) -> bool:
    """Return whether a folder has the mark of a run, and nothing that a run does not put there."""
    try:
        if set(os.listdir(folder)) - {_MARK, _FILES}:
            return False
        mark = os.open(os.path.join(folder, _MARK), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(mark, "rb") as file:
            return file.read(len(_CONTENT) + 1) == _CONTENT
    except OSError:
        return False


def remove_stale_folders(place: str) -> None:
    """Remove the folders of this user's killed runs in the folder of temporary files."""
    if not _HAS_LOCKS:
        return
    with suppress(OSError), os.scandir(place) as entries:
        stale = [entry.path for entry in entries if entry.name.startswith(_PREFIX)]
        for folder in stale:
            lock = _lock(folder)
            if lock is None:
                continue
            if _is_of_a_run(folder):
                _remove(folder)
            os.close(lock)


def _lock(folder: str) -> int | None:
    """Return the descriptor that locks a folder; None if it is not this user's, is locked, or is gone.

    Raises OSError if its file system has no locks.
    """
    import fcntl  # Windows has none

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    is_own = False
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_own = os.path.lexists(folder)  # another run may have removed it before it was locked
    except BlockingIOError:
        pass
    finally:
        if not is_own:
            os.close(descriptor)
    return descriptor if is_own else None


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
