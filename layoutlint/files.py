"""Files that users name or folders hold, opened without waiting for anybody and read up to a bound.

Only a regular file is sure to have an end: a pipe waits for its writer, and a device such as /dev/zero never
ends. Where a user may give a pipe (`--rules <(...)`), what comes through it is taken, within some time.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISDIR, S_ISFIFO, S_ISREG
from time import monotonic
from typing import BinaryIO

_WRITER_SECONDS = 1.0
"""How long a pipe may have no writer."""
_PIPE_SECONDS = 60.0
"""How long all that comes through a pipe may take."""
_PIECE = 1 << 20


def opened(path: str, most: int | None = None) -> BinaryIO:
    """A regular file of at most `most` bytes, open for reading; raises OSError for others."""
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


def start(path: str, most: int, through_pipe: bool = False) -> bytes:
    """The first `most` bytes of a regular file, or with `through_pipe` of a pipe; raises OSError."""
    if not through_pipe:
        with opened(path) as file:
            return _read(file, most)
    with open(_descriptor(path), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not S_ISFIFO(mode) and not S_ISREG(mode):
            raise OSError("is a device")
        return _piped(file.fileno(), most) if S_ISFIFO(mode) else _read(file, most)


def content(path: str, most: int) -> bytes:
    """All of a regular file; raises OSError, also where it has more than `most` bytes."""
    with opened(path, most) as file:
        data = _read(file, most + 1)
    if len(data) > most:  # those of /proc do not say how many
        raise OSError(f"has more than the {most:,} bytes that are read")
    return data


def why(error: OSError) -> str:
    """The reason of an OSError, as messages have it."""
    return (error.strerror or str(error)).lower()


def _descriptor(path: str) -> int:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:  # open(2): of sockets, and of devices that are not there
            raise OSError("is a socket or a device") from None
        raise
    except ValueError as error:  # a byte of value 0 in its name
        raise OSError(str(error)) from None
    if S_ISDIR(os.fstat(file).st_mode):
        os.close(file)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return file


def _read(file: BinaryIO, most: int) -> bytes:
    pieces: list[bytes] = []
    while most > 0:
        piece: bytes | None = file.read(min(most, _PIECE))  # a buffer of that size is made first
        if piece is None:  # /proc/kmsg and such, as they are opened without blocking
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        if not piece:
            break
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _piped(file: int, most: int) -> bytes:
    """What comes through a pipe that does not block, from which b"" is read before it has a writer too."""
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
        except BlockingIOError:  # it has a writer, who has written nothing so far
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
