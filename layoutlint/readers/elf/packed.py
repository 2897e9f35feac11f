"""ELF files that are compressed as a whole, as distributions install modules: .ko.gz, .ko.xz, .ko.zst."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

from layoutlint.errors import ReadError

STARTS = _GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
"""First bytes of these files (RFC 1952; The .xz File Format, 2.1.1.1; RFC 8878, 3.1.1)."""
_ELF = b"\x7fELF"
_FREE_CONTENT_SIZE = 1 << 28
_LARGEST_RATIO = 100
"""Limits for the content: this many bytes, or this many times the file. Modules shrink to a third."""
_PIECE = 1 << 20

_Opener = Callable[[BinaryIO], AbstractContextManager[Any]]


def unpack(path: str, file: BinaryIO, size: int) -> mmap.mmap:
    """Return the content of a compressed file of `size` bytes, in memory.

    Raises ReadError if it cannot be decompressed, is too large, or is no ELF file.
    """
    pieces: list[bytes] = []
    length, limit = 0, max(_FREE_CONTENT_SIZE, _LARGEST_RATIO * size)
    for piece in _pieces(path, file):
        if not length and not piece.startswith(_ELF):
            raise ReadError(path, "is compressed, and what it holds is no ELF file")
        length += len(piece)
        if length > limit:
            raise ReadError(path, f"is compressed, and holds more than {limit} bytes in {size}")
        pieces.append(piece)
    if not pieces:
        raise ReadError(path, "is compressed, and holds nothing")
    mapped = mmap.mmap(-1, length)
    for piece in pieces:
        mapped.write(piece)
    return mapped


def _pieces(path: str, file: BinaryIO) -> Iterator[bytes]:
    opener, errors = _codec(path, file)
    try:
        with opener(file) as stream:
            while piece := stream.read(_PIECE):
                yield piece
    except errors as error:
        raise ReadError(path, f"is compressed, and cannot be decompressed: {error}") from error
    except MemoryError as error:
        raise ReadError(path, "is compressed, and there is no memory for decompressing it") from error


def _codec(path: str, file: BinaryIO) -> tuple[_Opener, tuple[type[Exception], ...]]:
    """Return a function that opens a file that starts like this one, and the errors of a damaged one."""
    start = file.read(max(map(len, STARTS)))
    file.seek(0)
    if start.startswith(_GZIP):
        import gzip
        import zlib

        return gzip.open, (EOFError, OSError, zlib.error)
    if start.startswith(_XZ):
        import lzma

        return lzma.open, (EOFError, OSError, lzma.LZMAError)
    from layoutlint.readers.elf import compression

    try:
        zstd = compression.zstd()
    except ImportError as missing:
        raise ReadError(path, f"is compressed with zstd, which is not installed ({missing})") from missing
    return zstd.open, (EOFError, OSError, zstd.ZstdError)
