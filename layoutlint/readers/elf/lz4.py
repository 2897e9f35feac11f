"""Decompresses LZ4 in its legacy format, which kernels use (LZ4 Frame Format Description, Legacy frame).

The standard library has no LZ4. This decoder takes some seconds for a kernel, and needs no other package.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import BinaryIO

MAGIC = b"\x02\x21\x4c\x18"
_BLOCK = 8 << 20
"""The content of a block; only the last one is shorter."""
_LARGEST_PACKED = _BLOCK + _BLOCK // 255 + 16
"""The bytes of a block that cannot be compressed (LZ4_compressBound)."""
_LEAST_MATCH = 4
_LONG = 15
"""A length in a token that further bytes continue, up to one that is not 255."""


class _BlockStream:
    """A file that is decompressed block by block."""

    def __init__(self, file: BinaryIO) -> None:
        self._blocks = decompress(file)

    def read(self, size: int) -> bytes:
        """Return the next block, whatever `size` is; empty at the end."""
        return next(self._blocks, b"")


def open_stream(file: BinaryIO) -> AbstractContextManager[_BlockStream]:
    """Return a context with the content of a file; reading it raises ValueError for damaged data."""
    return nullcontext(_BlockStream(file))


def decompress(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of each block; raises ValueError for damaged data."""
    if file.read(len(MAGIC)) != MAGIC:
        raise ValueError("it is not LZ4 in the legacy format")
    while size := file.read(4):
        length = int.from_bytes(size, "little")
        if len(size) < 4 or not 0 < length <= _LARGEST_PACKED:
            raise ValueError(f"a block of {length:,} bytes is damaged")
        data = file.read(length)
        if len(data) < length:
            raise ValueError("it ends within a block")
        yield decompress_block(data)


def decompress_block(data: bytes) -> bytes:
    """Return the content of a block, up to 8 MiB (LZ4 Block Format Description); raises ValueError."""
    content = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            token = data[at]
            at += 1
            literals = token >> 4
            if literals == _LONG:
                literals, at = _long(data, at)
            content += data[at : at + literals]
            at += literals
            if at >= end:
                break
            distance = data[at] | data[at + 1] << 8
            at += 2
            length = token & _LONG
            if length == _LONG:
                length, at = _long(data, at)
            _repeat(content, distance, length + _LEAST_MATCH)
    except IndexError:
        raise ValueError("it ends within a block") from None
    if at > end or len(content) > _BLOCK:
        raise ValueError("a block is damaged")
    return bytes(content)


def _long(data: bytes, at: int) -> tuple[int, int]:
    """Return a length that bytes continue, and the position after them."""
    length = _LONG
    while data[at] == 255:
        length += 255
        at += 1
    return length + data[at], at + 1


def _repeat(content: bytearray, distance: int, length: int) -> None:
    """Append bytes that are `distance` before the end; they can overlap what is appended."""
    start = len(content) - distance
    if not distance or start < 0 or len(content) + length > _BLOCK:
        raise ValueError("a block is damaged")
    if length <= distance:
        content += content[start : start + length]
    else:
        content += (content[start:] * (length // distance + 1))[:length]
