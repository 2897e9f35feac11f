"""Whole ELF files that are compressed, as distributions install modules: .ko.gz, .ko.xz, .ko.zst."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

from layoutlint.errors import ReadError

STARTS = _GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
"""How such files start (RFC 1952; The .xz File Format, 2.1.1.1; RFC 8878, 3.1.1)."""
_ELF = b"\x7fELF"
_FREELY = 1 << 28
_TIMES = 100
"""A file may hold that many bytes, or that many times its own size; modules shrink to a third."""
_PIECE = 1 << 20

_Opener = Callable[[BinaryIO], AbstractContextManager[Any]]


def unpacked(path: str, file: BinaryIO, size: int) -> mmap.mmap:
    """What a compressed file of `size` bytes holds, in memory.

    Raises ReadError when it cannot be decompressed, holds too much, or no ELF file.
    """
    pieces: list[bytes] = []
    length, most = 0, max(_FREELY, _TIMES * size)
    for piece in _pieces(path, file):
        if not length and not piece.startswith(_ELF):
            raise ReadError(path, "is compressed, and what it holds is no ELF file")
        length += len(piece)
        if length > most:
            raise ReadError(path, f"is compressed, and holds more than {most} bytes in {size}")
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
    """What opens a file that starts like this one, and what that raises for a damaged one."""
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
