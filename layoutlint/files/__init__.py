"""Opens files without blocking, reads them up to a limit, and asks about paths; `accesses` logs the answers.

Only a regular file is sure to end: a pipe waits for its writer, and a device such as /dev/zero never ends.
Where a user may pass a pipe (`--rules <(...)`), it is read with a timeout.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from stat import S_ISDIR, S_ISFIFO, S_ISREG
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO

from layoutlint.files import accesses, stored_files
from layoutlint.files.accesses import ABSENT, FILE, FOLDER, SHARED

if TYPE_CHECKING:
    from mmap import mmap

    from layoutlint.files.stored_files import StoredFile

_WRITER_SECONDS = 1.0
"""The time in which a pipe must get a writer."""
_PIPE_SECONDS = 60.0
"""The time in which a pipe must end."""
_PIECE = 1 << 20
_IS_MISSING = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EISDIR))
"""Errors that depend on the kind of the path alone."""


def open_file(path: str, most: int | None = None) -> BinaryIO:
    """Open a regular file of at most `most` bytes for reading; raises OSError for any other."""
    if (stored := stored_file(path)) is not None:
        if reason := _excess(stored.size, most):
            raise OSError(reason)
        return stored.open_content()
    file = _descriptor(path)
    status = os.fstat(file)
    is_regular = S_ISREG(status.st_mode)
    reason = _excess(status.st_size, most) if is_regular else "is a pipe or a device"
    _log_content(path, status)
    if reason is not None:
        os.close(file)
        raise OSError(reason)
    return os.fdopen(file, "rb")


def _excess(size: int, most: int | None) -> str | None:
    """Return why a file of this size is not read; None if it is."""
    is_larger = most is not None and size > most
    return f"has {size:,} bytes, more than the {most:,} that are read" if is_larger else None


def stored_file(path: str) -> StoredFile | None:
    """Return a file that has a content but no place on disk; None for all others."""
    stored = stored_files.find(path)
    log = accesses.active_log()
    if stored is not None and log is not None:  # the content depends on the file that it comes from
        if stored.source is None:
            log.obstacle = f"{path} is a download"
        else:
            log.add_content(stored.source, stored.state)
    return stored


def read_start(path: str, most: int, through_pipe: bool = False) -> bytes:
    """Return the first `most` bytes of a regular file; `through_pipe` allows a pipe. Raises OSError."""
    if not through_pipe or stored_file(path) is not None:
        with open_file(path) as file:
            return _read_logged(path, file, most)
    with open(_descriptor(path), "rb") as file:
        status = os.fstat(file.fileno())
        if not S_ISFIFO(status.st_mode) and not S_ISREG(status.st_mode):
            raise OSError("is a device")
        _log_content(path, status)
        return _read_pipe(file.fileno(), most) if S_ISFIFO(status.st_mode) else _read_logged(path, file, most)


def read_all(path: str, most: int) -> bytes:
    """Return the bytes of a regular file; raises OSError, also for more than `most` bytes."""
    with open_file(path, most) as file:
        data = _read_logged(path, file, most + 1)
    if len(data) > most:  # the size of files in /proc is 0
        raise OSError(f"has more than the {most:,} bytes that are read")
    return data


def is_file(path: str) -> bool:
    """Return what os.path.isfile returns."""
    return _kind(path) == FILE


def is_folder(path: str) -> bool:
    """Return what os.path.isdir returns."""
    return _kind(path) in (FOLDER, SHARED)


def is_shared_folder(path: str) -> bool:
    """Return whether a path is a folder in which users cannot remove the files of others, such as /tmp."""
    return _kind(path) == SHARED


def exists(path: str) -> bool:
    """Return what os.path.exists returns."""
    return _kind(path) != ABSENT


def real_path(path: str) -> str:
    """Return what os.path.realpath returns."""
    if stored_file(path) is not None:
        return stored_files.real_path(path)
    real = os.path.realpath(path)
    log = accesses.active_log()
    if log is not None:
        log.real_paths[log.absolute(path)] = real
    return real


def is_link(path: str) -> bool:
    """Return what os.path.islink returns."""
    if stored_file(path) is not None:
        return False
    if accesses.active_log() is not None:
        real_path(path)  # its answer differs if this one does
    return os.path.islink(path)


def link_target(path: str) -> str | None:
    """Return the path in a symbolic link; None for anything else.

    The answer is not logged: if it changes, so does the state of the file that is read through the path.
    """
    try:
        return None if stored_file(path) is not None else os.readlink(path)
    except (OSError, ValueError):  # or the locale cannot encode the name
        return None


def is_same(path: str, other: str) -> bool:
    """Return what os.path.samefile returns."""
    if stored_file(path) is not None or stored_file(other) is not None:
        return stored_file(path) == stored_file(other)
    return os.path.samestat(status_of(path), status_of(other))


def status_of(path: str) -> os.stat_result:
    """Return what os.stat returns, for decisions by times, sizes or permissions; raises OSError."""
    if (stored := stored_file(path)) is not None:
        return os.fstat(stored.store.fileno())
    log = accesses.active_log()
    if log is None:
        return os.stat(path)
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        log.states[log.absolute(path)] = None
        raise
    log.states[log.absolute(path)] = accesses.state_of(status)
    return status


def is_readable(path: str) -> bool:
    """Return whether this process may read an existing file."""
    if stored_file(path) is not None:
        return True
    with suppress(OSError):
        status_of(path)
    return os.access(path, os.R_OK)


def is_executable(path: str) -> bool:
    """Return whether this process may run an existing file."""
    with suppress(OSError):
        status_of(path)
    return os.access(path, os.X_OK)


def content_state(path: str) -> accesses.State:
    """Return the state of a file whose content decides something; raises OSError."""
    if (stored := stored_file(path)) is not None:
        return stored.state
    status = os.stat(path)
    _log_content(path, status)
    return accesses.state_of(status)


def walk(
    top: str, onerror: Callable[[OSError], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield what os.walk yields: a folder, the folders in it, and the other names; links are not followed."""
    pending = [top]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                names, below, links = _sort_entries(entries)
        except OSError as error:
            _log_failure(folder, error)
            if onerror is not None:
                onerror(error)
            continue
        _log_listing(folder, names, below, links)
        yield folder, below, names
        pending += [os.path.join(folder, name) for name in reversed(below) if name not in links]


def names_in(folder: str) -> list[str]:
    """Return the names of the entries of a folder, sorted; raises OSError."""
    try:
        with os.scandir(folder) as entries:
            names, below, links = _sort_entries(entries)
    except OSError as error:
        _log_failure(folder, error)
        raise
    _log_listing(folder, names, below, links)
    return sorted((*names, *below))


def list_files(folder: str) -> list[str]:
    """Return the paths of the files in a folder, links included, sorted; raises OSError."""
    names = names_in(folder)
    return [path for path in (os.path.join(folder, name) for name in names) if is_file(path)]


def expand(pattern: str) -> list[str]:
    """Return the paths that match an absolute pattern with `*` in names, sorted."""
    paths = [""]
    for part in pattern.split("/")[1:]:
        if "*" in part:
            paths = [f"{path}/{name}" for path in paths for name in _matching_names(path or "/", part)]
        else:
            paths = [f"{path}/{part}" for path in paths]
    return [path for path in paths if exists(path)]


def _matching_names(folder: str, pattern: str) -> list[str]:
    from fnmatch import fnmatchcase

    for _, below, names in walk(folder):
        return sorted(name for name in (*below, *names) if name[0] != "." and fnmatchcase(name, pattern))
    return []


def _sort_entries(entries: Iterator[os.DirEntry[str]]) -> tuple[list[str], list[str], set[str]]:
    """Return the names of entries that are no folders, of folders, and of those that are links."""
    names: list[str] = []
    below: list[str] = []
    links: set[str] = set()
    for entry in entries:
        is_below = False
        with suppress(OSError):
            is_below = entry.is_dir()
        (below if is_below else names).append(entry.name)
        if entry.is_symlink():
            links.add(entry.name)
    return names, below, links


def _kind(path: str) -> str:
    if stored_file(path) is not None:
        return FILE
    kind = accesses.kind_of(path)
    log = accesses.active_log()
    if log is not None:
        log.add_kind(log.absolute(path), kind)
    return kind


def _log_content(path: str, status: os.stat_result) -> None:
    log = accesses.active_log()
    if log is None:
        return
    log.add_content(log.absolute(path), accesses.state_of(status))
    if not S_ISREG(status.st_mode):
        log.obstacle = f"{path} is a pipe or a device"


def log_digest(path: str, data: bytes | mmap) -> None:
    """Record the whole content of a file that was opened, if a log is active."""
    log = accesses.active_log()
    if log is not None and stored_files.find(path) is None:
        import hashlib

        state, _ = log.contents[log.absolute(path)]
        log.add_content(log.absolute(path), state, hashlib.sha256(data).hexdigest())


def _log_failure(path: str, error: OSError) -> None:
    """Record that a path cannot be opened or listed."""
    log = accesses.active_log()
    if log is not None:
        log.add_kind(log.absolute(path), accesses.kind_of(path))
        if error.errno not in _IS_MISSING:
            log.obstacle = f"{path}: {error_reason(error)}"


def _log_listing(folder: str, names: list[str], below: list[str], links: set[str]) -> None:
    """Record the entries of a folder, and what its links lead to."""
    log = accesses.active_log()
    if log is not None:
        at = log.absolute(folder)
        log.listings[at] = _digest_of_entries(names, below, links)
        for name in links:
            log.add_kind(f"{at}/{name}", accesses.kind_of(f"{at}/{name}"))


def _digest_of_entries(names: list[str], below: list[str], links: set[str]) -> str:
    """Return the SHA-256 of entries; folders and links have a mark that no name contains."""
    import hashlib

    entries = [*names, *(f"{name}/" for name in below), *(f"{name}/@" for name in links)]
    return hashlib.sha256(os.fsencode("\0".join(sorted(entries)))).hexdigest()


def digest_of_folder(folder: str) -> str:
    """Return the SHA-256 of the entries of a folder, as a log has it; raises OSError."""
    with os.scandir(folder) as entries:
        return _digest_of_entries(*_sort_entries(entries))


def _read_logged(path: str, file: BinaryIO, most: int) -> bytes:
    """Read up to a limit; the content is recorded if that is all of it."""
    data = _read(file, most)
    if accesses.active_log() is not None and len(data) < most:
        log_digest(path, data)
    return data


def error_reason(error: OSError) -> str:
    """Return the reason of an OSError for a message."""
    return (error.strerror or str(error)).lower()


def _descriptor(path: str) -> int:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        _log_failure(path, error)
        if error.errno == errno.ENXIO:  # open(2): for sockets and missing devices
            raise OSError("is a socket or a device") from None
        raise
    except ValueError as error:  # a null byte in the name
        raise OSError(str(error)) from None
    if S_ISDIR(os.fstat(file).st_mode):
        os.close(file)
        _kind(path)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return file


def _read(file: BinaryIO, most: int) -> bytes:
    pieces: list[bytes] = []
    while most > 0:
        piece: bytes | None = file.read(min(most, _PIECE))  # read() allocates so many bytes first
        if piece is None:  # /proc/kmsg, opened without blocking
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        if not piece:
            break
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _read_pipe(file: int, most: int) -> bytes:
    """Read a non-blocking pipe up to a limit; it also returns b"" before it has a writer."""
    import select  # pipes are rare

    pieces: list[bytes] = []
    end = monotonic() + _PIPE_SECONDS
    poll = select.poll()
    poll.register(file, select.POLLIN)
    wait = _WRITER_SECONDS
    while most > 0:
        is_ready = poll.poll(1000 * wait)
        try:
            piece = os.read(file, min(most, _PIECE))
        except BlockingIOError:  # it has a writer that wrote nothing yet
            piece = None
        if piece == b"":
            if not is_ready:
                raise OSError("is a pipe that nobody writes to")
            break
        pieces.append(piece or b"")
        most -= len(pieces[-1])
        wait = end - monotonic()
        if wait <= 0:
            raise OSError(f"is a pipe that did not end in {_PIPE_SECONDS:.0f} seconds")
    return b"".join(pieces)
