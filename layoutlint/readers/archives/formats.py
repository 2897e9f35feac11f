"""Archives and their possible content, recognised by their first bytes."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from layoutlint.readers import foreign_formats
from layoutlint.readers.elf import kernel_image

START = 4096
"""The first bytes of an archive that show what it is."""
COMPRESSED_START = 1 << 20
"""The first bytes of a compressed file that show what it holds: more than a block of bzip2."""
DEB = b"!<arch>\ndebian-binary"
_AR, _RPM = b"!<arch>\n", b"\xed\xab\xee\xdb"
_STARTS = (
    _AR, _RPM, b"PK\3\4", b"PK\5\6", b"7z\xbc\xaf\x27\x1c", b"070701", b"070702", b"070707",
)  # fmt: skip
"""ar(5); the lead of an RPM package; APPNOTE.TXT 4.3.7 and 4.3.16; 7zFormat.txt; cpio(5)."""
RPM_START = 1 << 24
"""The first bytes of an RPM package: its headers name all files, and the payload begins behind them."""
RPM_LARGE = b"07070X"
"""The start of a payload without names and sizes, which the headers have (rpm's lib/cpio.cc)."""
_NESTED = (_AR, _RPM)
THIN_START = b"!<thin>\n"
THIN = "is a thin archive: its objects are separate files; give these, or the linked program"
_TAR_AT, _TAR = 257, b"ustar"
"""tar(5); older ones have no mark."""
_ELF = b"\x7fELF"
_BTF = (b"\x9f\xeb", b"\xeb\x9f")
_MEMORY = 1 << 30
"""The bytes that decompression may take."""


class Content(Enum):
    """The kind of a member of an archive."""

    ELF = "elf"
    BTF = "btf"
    KERNEL = "kernel"
    """A bootable image, with a compressed ELF file in it."""
    ARCHIVE = "archive"
    OTHER = "other"


def is_archive(start: bytes) -> bool:
    """Return whether a file that starts like this is an archive, also a compressed one."""
    return _is_plain_archive(start) or _is_plain_archive(decompressed_start(start))


def content_of(start: bytes) -> Content:
    """Return what a member that starts like this is; compressed ELF files are ELF files."""
    if start.startswith(_BTF):
        return Content.BTF
    if kernel_image.is_x86(start):
        return Content.KERNEL
    inner = decompressed_start(start) or start
    if inner.startswith(_ELF):
        return Content.ELF
    is_nested = start.startswith(_NESTED) or _is_tar(inner)
    return Content.ARCHIVE if is_nested else Content.OTHER


def refusal(name: str, start: bytes) -> str | None:
    """Return why a member that is no input should be one: it is compiled, or called like an object."""
    inner = decompressed_start(start) or start
    return THIN if inner.startswith(THIN_START) else foreign_formats.refusal_of_named(name, inner)


def is_rpm(start: bytes) -> bool:
    """Return whether a file that starts like this is an RPM package."""
    return start.startswith(_RPM)


def is_compressed(start: bytes) -> bool:
    """Return whether a file that starts like this is compressed as a whole."""
    return start.startswith(tuple(_DECOMPRESSORS))


def decompressed_start(start: bytes) -> bytes:
    """Return the first bytes that a compressed file holds; empty for others, and for damaged ones."""
    for magic, decompress in _DECOMPRESSORS.items():
        if start.startswith(magic):
            return decompress(start)
    return b""


def _is_plain_archive(start: bytes) -> bool:
    return start.startswith(_STARTS) or _is_tar(start)


def _is_tar(start: bytes) -> bool:
    return start[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR or _has_checksum(start[:512])


def _has_checksum(header: bytes) -> bool:
    """Return whether a block is the header of a tar archive, by its checksum."""
    digits = header[148:156].strip(b"\0 ")
    if len(header) < 512 or not header[0] or len(digits) < 3 or digits.strip(b"01234567"):
        return False
    return sum(header[:148]) + sum(header[156:]) + 8 * 32 == int(digits, 8)


def _gzip_start(start: bytes) -> bytes:
    import zlib

    try:
        return zlib.decompressobj(31).decompress(start, START)
    except zlib.error:
        return b""


def _xz_start(start: bytes) -> bytes:
    import lzma

    try:
        return lzma.LZMADecompressor(memlimit=_MEMORY).decompress(start, max_length=START)
    except (lzma.LZMAError, EOFError, MemoryError):
        return b""


def _bzip2_start(start: bytes) -> bytes:
    import bz2

    try:
        return bz2.BZ2Decompressor().decompress(start, max_length=START)
    except (OSError, EOFError):
        return b""


def _zstd_start(start: bytes) -> bytes:
    from layoutlint.readers.elf import compression

    try:
        zstd = compression.zstd()
    except ImportError:  # libarchive has its own, but what a member holds is not known then
        return b""
    try:
        return bytes(zstd.ZstdDecompressor().decompress(start, max_length=START))
    except (zstd.ZstdError, EOFError, MemoryError):
        return b""


_DECOMPRESSORS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": _gzip_start,
    b"\xfd7zXZ\0": _xz_start,
    b"\x28\xb5\x2f\xfd": _zstd_start,
    b"BZh": _bzip2_start,
    b"\x5d\0\0": _xz_start,
}
