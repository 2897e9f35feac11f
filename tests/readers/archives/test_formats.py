"""What files are by their first bytes: archives, what is in them, and compressed ones of either."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile

import pytest

from layoutlint.readers.archives import formats
from layoutlint.readers.archives.formats import Content


def tar(form: int) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        archive.addfile(tarfile.TarInfo("name"), io.BytesIO())
    return made.getvalue()


USTAR = tar(tarfile.USTAR_FORMAT)
OLD = USTAR[:257] + bytes(255)
"""A header without the mark, whose checksum is that of the bytes without it."""
OLD = OLD[:148] + b"%06o\0 " % (sum(OLD[:148]) + sum(OLD[156:512]) + 256) + OLD[156:] + bytes(512)
PLAIN = {
    # the start of a file, whether it is an archive, what a member that starts like this is
    "elf": (b"\x7fELF\2\1", False, Content.ELF),
    "btf": (b"\x9f\xeb\1\0", False, Content.BTF),
    "btf of a big-endian machine": (b"\xeb\x9f\1\0", False, Content.BTF),
    "ar": (b"!<arch>\nname", True, Content.ARCHIVE),
    "deb": (formats.DEB + b"  ", True, Content.ARCHIVE),
    "rpm": (b"\xed\xab\xee\xdb\3\0", True, Content.ARCHIVE),
    "zip": (b"PK\3\4", True, Content.OTHER),
    "an empty zip": (b"PK\5\6", True, Content.OTHER),
    "7z": (b"7z\xbc\xaf\x27\x1c", True, Content.OTHER),
    "cpio": (b"070701", True, Content.OTHER),
    "cpio with checksums": (b"070702", True, Content.OTHER),
    "an old cpio": (b"070707", True, Content.OTHER),
    "tar": (USTAR, True, Content.ARCHIVE),
    "tar of GNU": (tar(tarfile.GNU_FORMAT), True, Content.ARCHIVE),
    "an old tar": (OLD, True, Content.ARCHIVE),
    "an old tar with another checksum": (OLD[:1] + b"x" + OLD[2:], False, Content.OTHER),
    "an old tar that is cut off": (OLD[:511], False, Content.OTHER),
    "a checksum of two digits": (OLD[:148] + b"12\0     " + OLD[156:], False, Content.OTHER),
    "a checksum that is no number": (OLD[:148] + b"12345x\0 " + OLD[156:], False, Content.OTHER),
    "nothing": (b"", False, Content.OTHER),
    "text": (b"struct s { int a; };\n" * 99, False, Content.OTHER),
}
COMPRESSIONS = {
    "plain": bytes, "gzip": gzip.compress, "xz": lzma.compress, "bzip2": bz2.compress,
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
}  # fmt: skip
SEEN = ("ar", "deb", "rpm", "zip", "tar", "an old tar", "elf", "text", "nothing", "cpio")


@pytest.mark.parametrize("name", PLAIN)
def test_plain_files(name):
    start, is_archive, content = PLAIN[name]
    assert (formats.is_archive(start), formats.content_of(start), formats.is_rpm(start)) == (is_archive, content, name == "rpm")
    assert not formats.is_compressed(start)


@pytest.mark.parametrize("how", [name for name in COMPRESSIONS if name != "plain"])
@pytest.mark.parametrize("name", SEEN)
def test_compressed_files(name, how):
    """Archives of tar and ELF files are seen in compressed files; members do not look into other archives."""
    start, is_archive, content = PLAIN[name]
    packed = COMPRESSIONS[how](start)
    assert formats.is_compressed(packed)
    assert formats.is_archive(packed) is is_archive
    assert formats.decompressed_start(packed) == start[: formats.START]
    inner = content if name in ("elf", "tar", "an old tar") else Content.OTHER
    assert formats.content_of(packed) is inner
    assert formats.decompressed_start(packed[:9] + b"\xff" * 20) in (b"", start[: formats.START])


def test_only_the_start_is_decompressed():
    for how, compress in COMPRESSIONS.items():
        start = formats.decompressed_start(compress(b"x" * (formats.START + 1)))
        assert start == (b"" if how == "plain" else b"x" * formats.START)


def test_each_byte_of_a_header_is_summed():
    """Of old tarballs, which only their checksum shows; a mark is enough without one."""
    for at in range(512):
        changed = OLD[:at] + bytes([OLD[at] ^ 1]) + OLD[at + 1 :]
        assert not formats.is_archive(changed), at
    assert formats.is_archive(b"x" * 257 + b"ustar")
    for start in (b"x" * 256 + b"ustar", b"x" * 258 + b"ustar", b"x" * 257 + b"usta"):
        assert not formats.is_archive(start)
