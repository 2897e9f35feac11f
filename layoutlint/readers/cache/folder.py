"""The folder of the cache: where it is, whether it is safe to use, and its entries.

It belongs to the user, who alone may read and write it, and is in no checkout: a change under review could
otherwise bring its own results. Failures never reach the user: what cannot be read or written is not kept.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import NamedTuple

from layoutlint import files

_NAME = "layoutlint"
_CHECKOUTS = (".git", ".hg", ".svn", ".jj", ".bzr")
_MAGIC = b"layoutlint cache 1\n"
_DIGEST = 32
_MOST_BYTES = 1 << 28
"""The most bytes of all entries; the least recently used go."""
_MOST_ENTRIES = 1 << 14
_LARGEST = 1 << 26
"""The most bytes of an entry."""
_TOUCHED = 60
"""Seconds after which the time of an entry's last use is written again."""
_ABANDONED = 3600
"""Seconds after which a file that was not finished is removed."""
_TEMPORARY = ".new-"
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


class Usage(NamedTuple):
    """How much a cache holds."""

    path: str
    entries: int
    bytes: int


class Folder:
    """An open cache folder, which was checked."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def close(self) -> None:
        """Close the folder, which is not used any more."""
        os.close(self._descriptor)

    def read(self, key: str) -> bytes | None:
        """Return the content of an entry; None if there is none, or it is damaged or not the user's."""
        try:
            file = os.open(key, os.O_RDONLY | os.O_NONBLOCK | _FLAGS, dir_fd=self._descriptor)
        except OSError:
            return None
        with suppress(OSError), os.fdopen(file, "rb") as stream:
            status = os.fstat(file)
            if not _is_own(status) or not S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                return None
            data = stream.read(_LARGEST)
            if time.time() - status.st_mtime > _TOUCHED:
                os.utime(file)
            return _unpack(key, data)
        return None

    def write(self, key: str, content: bytes, is_last: bool = True) -> None:
        """Keep an entry, whole or not at all; after the last one, remove old ones if there are too many."""
        if len(content) > _LARGEST - len(_MAGIC) - _DIGEST:
            return
        temporary = f"{_TEMPORARY}{os.getpid()}-{time.monotonic_ns()}"
        with suppress(OSError):
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
                file = os.open(temporary, flags, 0o600, dir_fd=self._descriptor)
                with os.fdopen(file, "wb") as stream:
                    stream.write(_pack(key, content))
                os.rename(temporary, key, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
            except OSError:
                os.unlink(temporary, dir_fd=self._descriptor)
                raise
            if is_last:
                self._evict()

    def usage(self) -> Usage:
        """Return the number of entries and their bytes."""
        sizes = [status.st_size for _, status in self._entries()]
        return Usage(self.path, len(sizes), sum(sizes))

    def clear(self) -> Usage:
        """Remove all entries, and return what there was."""
        usage = self.usage()
        for name, _ in self._entries(with_temporary=True):
            self._remove(name)
        return usage

    def _entries(self, with_temporary: bool = False) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the names and states of entries; other files are not ours."""
        for name in os.listdir(self._descriptor):
            is_temporary = name.startswith(_TEMPORARY)
            if (len(name) == 2 * _DIGEST and name.isalnum()) or (is_temporary and with_temporary):
                with suppress(OSError):
                    yield name, os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)

    def _evict(self) -> None:
        """Remove the least recently used entries beyond the limits, and files that nobody finishes."""
        now = time.time()
        entries = sorted(self._entries(with_temporary=True), key=lambda entry: -entry[1].st_mtime)
        size = 0
        for number, (name, status) in enumerate(entries):
            size += status.st_size
            is_abandoned = name.startswith(_TEMPORARY) and now - status.st_mtime > _ABANDONED
            if is_abandoned or size > _MOST_BYTES or number >= _MOST_ENTRIES:
                self._remove(name)

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(name, dir_fd=self._descriptor)


def location() -> str | None:
    """Return where the cache is, by the XDG Base Directory Specification; None without a home."""
    for variable, below in (("XDG_CACHE_HOME", ""), ("HOME", ".cache")):
        folder = os.environ.get(variable, "")
        if os.path.isabs(folder):
            return os.path.join(folder, below, _NAME)
    return None


def refusal(path: str) -> str | None:
    """Return why a place cannot be used for the cache; None if it can, whether or not it exists."""
    if _checkout_around(path) is not None:
        return f"is inside a checkout ({_checkout_around(path)})"
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"cannot be used: {files.error_reason(error)}"
    except ValueError:
        return "is no path"
    if not S_ISDIR(status.st_mode):
        return "is no folder"
    if not _is_own(status):
        return "belongs to another user"
    return None if S_IMODE(status.st_mode) & 0o077 == 0 else "can be read or written by others (chmod 700)"


def open_folder(create: bool) -> Folder | None:
    """Return the folder of the cache; None if there is none, or it cannot be used."""
    path = location()
    if path is None or refusal(path) is not None:
        return None
    try:
        if create and not os.path.isdir(path):
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            os.mkdir(path, 0o700)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
    except (OSError, ValueError):
        return None
    status = os.fstat(descriptor)
    if not _is_own(status) or S_IMODE(status.st_mode) & 0o077:
        os.close(descriptor)
        return None
    return Folder(path, descriptor)


def _checkout_around(path: str) -> str | None:
    """Return the checkout or working folder that a path is in; None if it is in none.

    A home folder may be a checkout of the user's own.
    """
    import pwd

    home = os.path.realpath(pwd.getpwuid(os.geteuid()).pw_dir)
    working = os.path.realpath(os.curdir)
    folder = os.path.dirname(os.path.realpath(path))
    while folder != os.path.dirname(folder):
        is_checkout = any(os.path.lexists(os.path.join(folder, mark)) for mark in _CHECKOUTS)
        if (is_checkout or folder == working) and folder != home and not home.startswith(f"{folder}/"):
            return folder
        folder = os.path.dirname(folder)
    return None


def _is_own(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid()


def _pack(key: str, content: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(key.encode() + content).digest() + content


def _unpack(key: str, data: bytes) -> bytes | None:
    start = len(_MAGIC) + _DIGEST
    content = data[start:]
    digest = hashlib.sha256(key.encode() + content).digest()
    return content if data[:start] == _MAGIC + digest else None
