"""Compressed sections (gABI, Section Compression): zlib and zstd, in memory that their size bounds.

A claimed size costs nothing until bytes arrive: contents are decompressed in pieces. A section that claims
more than its bytes can hold is refused at once.
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

# Bytes that one compressed byte can hold. deflate: a length of 258 in two bits (RFC 1951, 3.2.5). zstd: a
# block of 128 KiB in the four bytes of an RLE block (RFC 8878, 3.1.1.2).
_MOST = {ZLIB: 1032, ZSTD: 32768}


class _Stream(Protocol):
    """The interface that the decompressors of bz2, lzma and zstd share."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Inflate:
    """A zlib stream with that interface: it keeps the input that it has not consumed."""

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


def max_content_size(method: int, size: int) -> int:
    """Return the largest number of bytes that `size` compressed bytes can hold.

    Raises ValueError for an unknown method (ELFCOMPRESS_*).
    """
    if method not in _MOST:
        raise ValueError(f"is compressed with method {method}, which is not known")
    return _MOST[method] * size


def decompress(method: int, data: memoryview, size: int) -> memoryview:
    """Return the `size` bytes that `data` holds. Raises ValueError, whose text follows the section's name.

    Several streams, or frames, may follow one another, as linkers that compress in parallel write them. Bytes
    after the last one are padding.
    """
    if size > max_content_size(method, len(data)):
        raise ValueError(f"claims {size} bytes, more than {len(data)} bytes of {_NAMES[method]} can hold")
    new_stream, error = _codec(method)
    content, filled = room(size), 0
    try:
        for piece in _pieces(data, size, new_stream):
            end = filled + len(piece)
            if end > size:
                raise ValueError(f"holds more than the {size} bytes that it claims")
            content[filled:end] = piece
            filled = end
    except error as failure:
        raise ValueError(f"cannot be decompressed: {failure}") from failure
    if filled != size:
        raise ValueError(f"holds {filled} bytes of the {size} that it claims")
    return memoryview(content).toreadonly()


def room(size: int) -> mmap | bytearray:
    """Return zeros to write into. Raises ValueError if there is no memory for them.

    A mapping takes no pages before they are written to, and its views have a hash, unlike those of a
    bytearray. A mapping cannot be empty.
    """
    try:
        return mmap(-1, size) if size else bytearray()
    except OSError as failure:
        raise ValueError(f"claims {size} bytes, more than there is memory for") from failure


def _pieces(data: memoryview, size: int, new_stream: Callable[[], _Stream]) -> Iterator[bytes]:
    """Yield what the streams hold, in pieces of at most _PIECE bytes, until the last one ends."""
    stream, size_so_far, stream_count = new_stream(), 0, 0
    for start in range(0, len(data), _PIECE):
        pending = bytes(data[start : start + _PIECE])
        while pending or not (stream.needs_input or stream.eof):
            piece = stream.decompress(pending, _PIECE)
            size_so_far += len(piece)
            yield piece
            pending = b""
            if stream.eof:
                if size_so_far >= size:
                    return
                stream_count += 1
                if stream_count > 64 + size // _PIECE:
                    raise ValueError("is made of too many streams for its size")
                pending, stream = stream.unused_data, new_stream()
    while piece := b"" if stream.eof else stream.decompress(b"", _PIECE):
        size_so_far += len(piece)
        yield piece
    if size_so_far and size_so_far >= size and not stream.eof:
        raise ValueError("ends inside a stream")


def _codec(method: int) -> tuple[Callable[[], _Stream], type[Exception]]:
    """Return a constructor of streams, and the error that they raise. Python 3.14 and later include zstd."""
    if method == ZLIB:
        return _Inflate, zlib.error
    try:
        module = zstd()
    except ImportError as missing:
        raise ValueError(f"is compressed with zstd, which is not installed ({missing})") from missing
    return module.ZstdDecompressor, module.ZstdError


def zstd() -> Any:
    """Return the module `compression.zstd`, or its backport for older Pythons. Raises ImportError."""
    if sys.version_info >= (3, 14):
        from compression import zstd as module
    else:
        from backports import zstd as module
    return module
