"""ELF files that are compressed as a whole: modules (.ko.gz, .ko.xz, .ko.zst), and kernels in images."""

from __future__ import annotations

import io
import mmap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, BinaryIO

from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.readers.elf import kernel_image, lz4

STARTS = _GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
"""First bytes of these files (RFC 1952; The .xz File Format, 2.1.1.1; RFC 8878, 3.1.1)."""
_BZIP2, _LZMA, _LZO = b"BZh", b"\x5d\0\0", b"\x89LZO"
"""Further ones that kernels are compressed with (scripts/Makefile.lib of Linux)."""
_ELF = b"\x7fELF"
_FREE_CONTENT_SIZE = 1 << 28
_LARGEST_RATIO = 100
"""Limits for the content: this many bytes, or this many times the file. Modules shrink to a third."""
_PIECE = 1 << 20

_Opener = Callable[[BinaryIO], AbstractContextManager[Any]]


def is_packed(head: bytes) -> bool:
    """Return whether a file that starts like this can hold an ELF file."""
    return head.startswith(STARTS) or kernel_image.is_x86(head)


def unpack(path: str, file: BinaryIO, size: int) -> mmap.mmap:
    """Return the ELF file that a file of `size` bytes holds, in memory.

    Raises ReadError if it cannot be decompressed, is too large, or is not an ELF file.
    """
    head = file.read(kernel_image.HEAD)
    file.seek(0)
    if kernel_image.is_x86(head):
        file = _kernel_payload(path, file, head, size)
    pieces: list[bytes] = []
    length, limit = 0, max(_FREE_CONTENT_SIZE, _LARGEST_RATIO * size)
    for piece in _pieces(path, file):
        if not length and not piece.startswith(_ELF):
            reason = kernel_image.refusal(piece) or "is not an ELF file"
            raise ReadError(path, f"is compressed, and its content {reason}")
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


def _kernel_payload(path: str, file: BinaryIO, head: bytes, size: int) -> BinaryIO:
    """Return the compressed vmlinux of a bzImage; behind all formats but gzip is its size, left out here."""
    payload = kernel_image.payload(path, file, head, size)
    return io.BytesIO(payload if payload.startswith(_GZIP) else payload[:-4])


def _pieces(path: str, file: BinaryIO) -> Iterator[bytes]:
    opener, errors = _codec(path, file)
    try:
        with opener(file) as stream:
            while piece := stream.read(_PIECE):
                yield piece
    except errors as error:
        raise ReadError(path, f"is compressed, and cannot be decompressed: {error}") from error
    except MemoryError as error:
        accesses.refuse("no memory")
        raise ReadError(path, "is compressed, and there is not enough memory to decompress it") from error


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
    if start.startswith(lz4.MAGIC[:2]):
        return lz4.open_stream, (ValueError,)
    if start.startswith(_BZIP2):
        import bz2

        return bz2.open, (EOFError, OSError, ValueError)
    if start.startswith(_LZMA):
        import lzma

        return partial(lzma.open, format=lzma.FORMAT_ALONE), (EOFError, OSError, lzma.LZMAError)
    if not start.startswith(_ZSTD):
        name = (
            "LZO, which is not supported"
            if start.startswith(_LZO)
            else f"an unknown format ({start.hex(' ')})"
        )
        raise ReadError(path, f"is compressed with {name}; {kernel_image.HINT}")
    from layoutlint.readers.elf import compression

    try:
        zstd = compression.zstd()
    except ImportError as missing:
        raise ReadError(path, f"is compressed with zstd, which is not installed ({missing})") from missing
    return zstd.open, (EOFError, OSError, zstd.ZstdError)
