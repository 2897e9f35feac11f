"""Libarchive, with the formats and filters that it reads without other programs.

libarchive starts programs such as `lzop` for formats that it was not built with; those filters are left out.
"""

from __future__ import annotations

import locale
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes import POINTER, c_void_p, cast, create_string_buffer
from functools import cache
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Any

from layoutlint.model.record import Record

_FORMATS = ("ar", "cpio", "tar", "zip", "7zip")
_FILTERS = ("gzip", "bzip2", "xz", "lzma", "zstd", "lz4", "rpm")
_BLOCK, _PIECE = 1 << 16, 1 << 20
_PAYLOAD_START = 16
_FATAL = -30
"""ARCHIVE_FATAL: nothing more can be read."""


class MissingLibrary(Exception):
    """Libarchive, or its Python package, is not installed; the text says how to install it."""


class Damage(Exception):
    """Something in an archive that cannot be read."""

    def __init__(self, reason: str, is_end: bool) -> None:
        super().__init__(reason, is_end)
        self.reason = reason
        self.is_end = is_end
        """Whether nothing after it can be read."""


class MemberHeader(Record, frozen=True):
    """The header of a member."""

    name: bytes
    """As the archive has it; empty if it cannot be decoded."""
    is_file: bool
    is_folder: bool
    link: bytes
    """What a link leads to; empty for others."""


@cache
def _libarchive() -> Any:
    """Return libarchive's functions. Raises Missing."""
    try:
        from libarchive import ffi
    except ImportError as error:
        raise MissingLibrary("pip install 'layoutlint[archives]'") from error
    except (OSError, AttributeError, TypeError) as error:
        raise MissingLibrary(
            "apt-get install libarchive13 (or dnf, apk or brew install libarchive)"
        ) from error
    with suppress(locale.Error):  # names are UTF-8
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    return ffi


def load() -> None:
    """Load the library, which starts programs to find it. Raises Missing."""
    _available_filters()


@cache
def _available_filters() -> tuple[str, ...]:
    """Return the filters that need no other program (archive_read_filter(3): ARCHIVE_WARN)."""
    ffi = _libarchive()
    built_in = []
    for name in _FILTERS:
        probe = ffi.read_new()
        with suppress(ValueError, ffi.ArchiveError):
            function = getattr(ffi.libarchive, f"archive_read_support_filter_{name}")
            function.argtypes = [c_void_p]
            if function(probe) == ffi.ARCHIVE_OK:
                built_in.append(name)
        ffi.read_free(probe)
    return tuple(built_in)


class OpenArchive:
    """An archive that is read once, from its start to its end."""

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer
        self._failure: Exception | None = None
        """What stopped the source of its bytes."""
        self._buffer = create_string_buffer(_PIECE)

    def entries(self) -> Iterator[MemberHeader]:
        """Yield the members. Raises Damage; after one that is no end, this can be called again."""
        ffi = _libarchive()
        entry = ffi.entry_new()
        try:
            while self._call(ffi.read_next_header2, entry) != ffi.ARCHIVE_EOF:
                yield _entry(ffi, entry)
        finally:
            ffi.entry_free(entry)

    def read(self, most: int = _PIECE) -> memoryview:
        """Return the next bytes of the member, valid until the next call; none at its end. Raises Damage."""
        count = self._call(_libarchive().read_data, self._buffer, most)
        return memoryview(self._buffer)[:count].cast("B")

    def open_descriptor(self, descriptor: int) -> None:
        """Begin to read an open file. Raises Damage."""
        self._call(_libarchive().read_open_fd, descriptor, _BLOCK)

    def open_stream(self, read: Callable[[], bytes]) -> Any:
        """Begin to read what `read` returns; the returned object must live as long. Raises Damage."""
        ffi = _libarchive()
        piece: Any = None

        def read_next(archive: Any, context: Any, place: Any) -> int:
            nonlocal piece
            try:
                content = read()
            except Exception as error:  # exceptions do not pass through libarchive
                self._failure = error
                return -1
            piece = create_string_buffer(content, max(1, len(content)))
            cast(place, POINTER(c_void_p))[0] = cast(piece, c_void_p)
            return len(content)

        callback = ffi.READ_CALLBACK(read_next)
        self._call(ffi.read_open, None, ffi.NO_OPEN_CB, callback, ffi.NO_CLOSE_CB)
        return callback

    def _call(self, function: Callable[..., int], *arguments: object) -> int:
        ffi = _libarchive()
        try:
            return function(self._pointer, *arguments)
        except ffi.ArchiveError as error:
            if self._failure is not None:
                raise self._failure from None
            message = error.msg.decode(errors="replace") if isinstance(error.msg, bytes) else error.msg
            message = message or "libarchive states no cause: an early end, or contradicting sizes"
            raise Damage(message, (error.retcode or _FATAL) <= _FATAL) from error


def _entry(ffi: Any, entry: Any) -> MemberHeader:
    mode = ffi.entry_filetype(entry)
    name = ffi.entry_pathname(entry)
    if name is None:
        name = (ffi.entry_pathname_w(entry) or "").encode("utf-8", "surrogateescape")
    hard = ffi.entry_hardlink(entry)
    link = (ffi.entry_symlink(entry) or b"?") if S_ISLNK(mode) else hard or b""
    is_file = (S_ISREG(mode) or not mode) and not link  # `ar D` leaves the type out
    return MemberHeader(name, is_file, S_ISDIR(mode), link)


@contextmanager
def open_descriptor(descriptor: int) -> Iterator[OpenArchive]:
    """Open the archive in an open file. Raises Damage and Missing."""
    with _open_archive() as archive:
        archive.open_descriptor(descriptor)
        yield archive


@contextmanager
def open_stream(read: Callable[[], bytes]) -> Iterator[OpenArchive]:
    """Open an archive of which `read` returns the next bytes, none at its end; what that raises is raised."""
    with _open_archive() as archive:
        callback = archive.open_stream(read)
        yield archive
        del callback


def payload_start(start: bytes) -> bytes:
    """Return the first bytes of what a compressed file or a package holds; none if they cannot be had.

    `start` are its first bytes. Raises Missing.
    """
    pieces = [start]
    with suppress(Damage), _open_archive(("raw",)) as archive:
        callback = archive.open_stream(lambda: pieces.pop() if pieces else b"")
        next(archive.entries(), None)
        content = archive.read(_PAYLOAD_START)
        del callback
        return bytes(content)
    return b""


@contextmanager
def _open_archive(formats: tuple[str, ...] = _FORMATS) -> Iterator[OpenArchive]:
    ffi = _libarchive()
    filters = _available_filters()
    pointer = ffi.read_new()
    try:
        for name in filters:
            ffi.get_read_filter_function(name)(pointer)
        for name in formats:
            ffi.get_read_format_function(name)(pointer)
        yield OpenArchive(pointer)
    finally:
        with suppress(ffi.ArchiveError):
            ffi.read_free(pointer)
