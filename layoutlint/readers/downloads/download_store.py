"""Downloads that are kept for later runs: a folder in that of the cache, of this user alone."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from stat import S_ISDIR, S_ISREG
from typing import IO

from layoutlint.readers.cache import folder
from layoutlint.readers.cache.folder import Usage

_NAME = "downloads"
_MOST_BYTES = 8 << 30
"""The most bytes of all downloads; the oldest go."""
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


def location(create: bool) -> str | None:
    """Return the folder of downloads; None if there is none, or it cannot be used."""
    opened = folder.open_folder(create)
    if opened is None:
        return None
    path = os.path.join(opened.path, _NAME)
    opened.close()
    with suppress(OSError):
        if create:
            os.mkdir(path, 0o700)
    try:
        status = os.lstat(path)
    except OSError:
        return None
    is_own = status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return path if is_own and S_ISDIR(status.st_mode) else None


def open_kept(name: str) -> IO[bytes] | None:
    """Open a download of an earlier run; None if there is none."""
    path = location(create=False)
    if path is None:
        return None
    try:
        descriptor = os.open(os.path.join(path, name), os.O_RDONLY | os.O_NONBLOCK | _FLAGS)
    except OSError:
        return None
    status = os.fstat(descriptor)
    if not S_ISREG(status.st_mode) or not status.st_size or status.st_uid != os.geteuid():
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb", buffering=0)


def begin(may_keep: bool) -> IO[bytes]:
    """Return an empty file without a name for a download, where `keep` can give it one. Raises OSError."""
    path = location(create=True) if may_keep and hasattr(os, "O_TMPFILE") else None
    if path is not None:
        with suppress(OSError):  # not every file system has files without names
            descriptor = os.open(path, os.O_TMPFILE | os.O_RDWR | _FLAGS, 0o600)
            return os.fdopen(descriptor, "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0, prefix="layoutlint-")


def keep(name: str, file: IO[bytes]) -> str | None:
    """Keep a download that `begin` returned, and return its path; None if it is not kept."""
    folder_path = location(create=False)
    if folder_path is None:
        return None
    try:
        place = os.open(folder_path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
        try:  # with a folder, this is linkat(2), which follows the link
            os.link(f"/proc/self/fd/{file.fileno()}", name, dst_dir_fd=place, follow_symlinks=True)
        finally:
            os.close(place)
    except OSError:  # another run was faster, or the file is elsewhere
        return None
    _evict(folder_path, name)
    return os.path.join(folder_path, name)


def forget(name: str) -> None:
    """Remove a download."""
    path = location(create=False)
    if path is not None:
        with suppress(OSError):
            os.unlink(os.path.join(path, name))


def usage() -> Usage:
    """Return the number of downloads that are kept, and their bytes."""
    path = location(create=False)
    sizes = [] if path is None else [status.st_size for _, status in _entries(path)]
    return Usage(path or "", len(sizes), sum(sizes))


def clear() -> Usage:
    """Remove all downloads, and return what there was."""
    before = usage()
    for name, _ in _entries(before.path) if before.path else ():
        forget(name)
    return before


def _entries(path: str) -> list[tuple[str, os.stat_result]]:
    with os.scandir(path) as entries:
        files = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
        return [(entry.name, entry.stat(follow_symlinks=False)) for entry in files]


def _evict(path: str, newest: str) -> None:
    """Remove the oldest downloads beyond the limit."""
    size = 0
    for name, status in sorted(_entries(path), key=lambda entry: -entry[1].st_mtime_ns):
        size += status.st_size
        if size > _MOST_BYTES and name != newest:
            forget(name)
