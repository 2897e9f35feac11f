"""Opens files without blocking, and reads them up to a limit.

Only a regular file is sure to end: a pipe waits for its writer, and a device such as /dev/zero never ends.
Where a user may pass a pipe (`--rules <(...)`), it is read with a timeout.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISDIR, S_ISFIFO, S_ISREG
from time import monotonic
from typing import BinaryIO

_WRITER_SECONDS = 1.0
"""The time in which a pipe must get a writer."""
_PIPE_SECONDS = 60.0
"""The time in which a pipe must end."""
_PIECE = 1 << 20


def open_file(path: str, most: int | None = None) -> BinaryIO:
    """Open a regular file of at most `most` bytes for reading; raises OSError for any other."""
    file = _descriptor(path)
    state = os.fstat(file)
    reason = None
    if not S_ISREG(state.st_mode):
        reason = "is a pipe or a device"
    elif most is not None and state.st_size > most:
        reason = f"has {state.st_size:,} bytes, more than the {most:,} that are read"
    if reason is not None:
        os.close(file)
        raise OSError(reason)
    return os.fdopen(file, "rb")


def read_start(path: str, most: int, through_pipe: bool = False) -> bytes:
    """Return the first `most` bytes of a regular file; `through_pipe` allows a pipe. Raises OSError."""
    if not through_pipe:
        with open_file(path) as file:
            return _read(file, most)
    with open(_descriptor(path), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not S_ISFIFO(mode) and not S_ISREG(mode):
            raise OSError("is a device")
        return _read_pipe(file.fileno(), most) if S_ISFIFO(mode) else _read(file, most)


def read_all(path: str, most: int) -> bytes:
    """Return the bytes of a regular file; raises OSError, also for more than `most` bytes."""
    with open_file(path, most) as file:
        data = _read(file, most + 1)
    if len(data) > most:  # the size of files in /proc is 0
        raise OSError(f"has more than the {most:,} bytes that are read")
    return data


def error_reason(error: OSError) -> str:
    """Return the reason of an OSError for a message."""
    return (error.strerror or str(error)).lower()


def _descriptor(path: str) -> int:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:  # open(2): for sockets and missing devices
            raise OSError("is a socket or a device") from None
        raise
    except ValueError as error:  # a null byte in the name
        raise OSError(str(error)) from None
    if S_ISDIR(os.fstat(file).st_mode):
        os.close(file)
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
