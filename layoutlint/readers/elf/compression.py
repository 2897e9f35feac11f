"""Compressed sections (gABI, Section Compression): zlib and zstd, in memory that their size bounds.

A claim costs nothing before there are bytes for it: contents are decompressed in pieces, and a section that
claims more than its bytes can hold is refused at once.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from mmap import mmap
from typing import Any, Protocol

ZLIB, ZSTD = 1, 2
_NAMES = {ZLIB: "zlib", ZSTD: "zstd"}
_PIECE = 1 << 18

# How many bytes one byte can stand for. deflate: a length of 258 in two bits (RFC 1951, 3.2.5). zstd: a block
# of 128 KiB in the four bytes of an RLE block (RFC 8878, 3.1.1.2).
_MOST = {ZLIB: 1032, ZSTD: 32768}


class _Stream(Protocol):
    """What the decompressors of bz2, lzma and zstd have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Inflate:
    """zlib's stream with that interface: it keeps what it has not consumed."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj()

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)


def most(method: int, size: int) -> int:
    """The number of bytes that `size` compressed bytes can hold at the most.

    Raises ValueError when the method (ELFCOMPRESS_*) is not known.
    """
    if method not in _MOST:
        raise ValueError(f"is compressed with method {method}, which is not known")
    return _MOST[method] * size


def decompressed(method: int, data: memoryview, size: int) -> memoryview:
    """The `size` bytes that `data` holds. Raises ValueError, for the section's name to stand before.

    Several streams, or frames, may follow one another, as linkers that compress side by side write them; what
    follows the last byte is padding.
    """
    if size > most(method, len(data)):
        raise ValueError(f"claims {size} bytes, more than {len(data)} bytes of {_NAMES[method]} can hold")
    new, error = _codec(method)
    plain, filled = room(size), 0
    try:
        for piece in _pieces(data, size, new):
            end = filled + len(piece)
            if end > size:
                raise ValueError(f"holds more than the {size} bytes that it claims")
            plain[filled:end] = piece
            filled = end
    except error as wrong:
        raise ValueError(f"cannot be decompressed: {wrong}") from wrong
    if filled != size:
        raise ValueError(f"holds {filled} bytes of the {size} that it claims")
    return memoryview(plain).toreadonly()


def room(size: int) -> mmap | bytearray:
    """Zeros to write into; raises ValueError when there is no memory for them.

    Pages are not there before they are written to, and views of a mapping have a hash, unlike those of a
    bytearray. A mapping cannot be empty.
    """
    try:
        return mmap(-1, size) if size else bytearray()
    except OSError as wrong:
        raise ValueError(f"claims {size} bytes, for which there is no memory") from wrong


def _pieces(data: memoryview, size: int, new: Callable[[], _Stream]) -> Iterator[bytes]:
    """What the streams hold, piece by piece, until the last one ends; no piece is longer than _PIECE."""
    stream, made, ended = new(), 0, 0
    for start in range(0, len(data), _PIECE):
        rest = bytes(data[start : start + _PIECE])
        while rest or not (stream.needs_input or stream.eof):
            piece = stream.decompress(rest, _PIECE)
            made += len(piece)
            yield piece
            rest = b""
            if stream.eof:
                if made >= size:
                    return
                ended += 1
                if ended > 64 + size // _PIECE:
                    raise ValueError("is made of too many streams for its size")
                rest, stream = stream.unused_data, new()
    while piece := b"" if stream.eof else stream.decompress(b"", _PIECE):
        made += len(piece)
        yield piece
    if made and made >= size and not stream.eof:
        raise ValueError("ends inside a stream")


def _codec(method: int) -> tuple[Callable[[], _Stream], type[Exception]]:
    """What makes a stream, and what it raises; zstd is in the standard library from Python 3.14 on."""
    if method == ZLIB:
        return _Inflate, zlib.error
    try:
        module = zstd()
    except ImportError as missing:
        raise ValueError(f"is compressed with zstd, which is not installed ({missing})") from missing
    return module.ZstdDecompressor, module.ZstdError


def zstd() -> Any:
    """The module `compression.zstd`, or its like for older Pythons. Raises ImportError."""
    if sys.version_info >= (3, 14):
        from compression import zstd as module
    else:
        from backports import zstd as module
    return module
