"""Archives that were made to do harm: what each does to a reader that believes it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable

from tests.readers.archives import made

Maker = Callable[[bytes], bytes]
"""Returns an archive that has, besides the harm, an object file."""
OUT = "../../out.o"
_ZEROS = bytes(1 << 20)


def _cpio(name: bytes, mode: int, content: bytes = b"", size: int | None = None, name_size: int | None = None) -> bytes:
    path = name + b"\0"
    fields = (1, mode, 0, 0, 1, 0, len(content) if size is None else size, 8, 1, 8, 1, len(path) if name_size is None else name_size, 0)
    head = b"070701" + b"".join(b"%08X" % value for value in fields) + path
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)


_END = _cpio(b"TRAILER!!!", 0)


def _rpm(payload: bytes) -> bytes:
    return b"\xed\xab\xee\xdb\3\0\0\0" + bytes(88) + (b"\x8e\xad\xe8\1" + bytes(12)) * 2 + gzip.compress(payload)


def _links(*entries: tuple[str, bytes, str], then: bytes = b"") -> bytes:
    """A tarball with links or devices, and behind them an object file at the name of the first."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as archive:
        for name, kind, target in entries:
            archive.addfile(made.entry(name, type=kind, linkname=target))
        if then:
            archive.addfile(made.entry(f"{entries[0][0]}/one.o", len(then)), io.BytesIO(then))
    return output.getvalue()


def _header(name: str = "one.o", kind: bytes = b"0", size: bytes = b"00000000000", rest: bytes = b"") -> bytes:
    """The header of a member in a tarball, with a size of any form, and what follows its name of a magic."""
    head = bytearray(made.entry(name, type=kind).tobuf(tarfile.GNU_FORMAT))
    head[124 : 124 + len(size)] = size
    if rest:
        head[345 : 345 + len(rest)] = rest
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def _pax(text: bytes, then: bytes, size: int | None = None) -> bytes:
    body = text + bytes(-len(text) % 512)
    return _header("pax", b"x", b"%011o" % (len(text) if size is None else size)) + body + then + bytes(1024)


def _pax_record(key: str, value: str) -> bytes:
    line = f" {key}={value}\n".encode()
    length = len(line) + len(str(len(line) + len(str(len(line)))))
    return str(length).encode() + line


def _file(name: str, content: bytes) -> bytes:
    return _header(name, b"0", b"%011o" % len(content)) + content + bytes(-len(content) % 512)


def _sparse(real_size: bytes, at: bytes, count: bytes) -> bytes:
    """A member that claims holes (GNU tar, Basic Tar Format: oldgnu_header)."""
    head = bytearray(_header("sparse.o", b"S", b"%011o" % 512))
    head[386:398], head[398:410] = at, count
    head[483:495] = real_size
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + b"\x7fELF" + bytes(508)


def _zeros(compress: Callable[[], object], size: int) -> bytes:
    """So many zeros behind the mark of ELF, as a compressed tarball."""
    packer = compress()
    pieces = [packer.compress(_header("zeros.o", b"0", b"%011o" % size) + b"\x7fELF" + bytes(508))]  # type: ignore[attr-defined]
    pieces += [packer.compress(_ZEROS) for _ in range(size >> 20)]  # type: ignore[attr-defined]
    return b"".join((*pieces, packer.flush()))  # type: ignore[attr-defined]


def _zip(name: str, content: bytes, attributes: int = 0o100644) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr, info.create_system = attributes << 16, 3
        archive.writestr(info, content)
    return output.getvalue()


def _overlapping_zip(one: bytes) -> bytes:
    """Thousands of entries for the same bytes."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = one + _ZEROS
    body = packed.compress(content) + packed.flush()
    numbers = (20, 0, 8, 0, 0, zlib.crc32(content), len(body), len(content), 5)
    local = struct.pack("<4s5H3I2H", b"PK\3\4", *numbers, 0) + b"one.o" + body
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, *numbers, 0, 0, 0, 0, 0, 0) + b"one.o"
    return local + entry * 20_000 + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 20_000, 20_000, 20_000 * len(entry), len(local), 0)


def _patched_zip(one: bytes, at: int, value: bytes, magic: bytes = b"PK\1\2") -> bytes:
    content = bytearray(made.zip_members((("one.o", one),)))
    start = content.index(magic) + at
    content[start : start + len(value)] = value
    return bytes(content)


def _ar_member(name: bytes, size: bytes, content: bytes) -> bytes:
    return b"!<arch>\n" + name.ljust(16) + b"0".ljust(12) + b"0".ljust(6) * 2 + b"644".ljust(8) + size.ljust(10) + b"`\n" + content


def _ar_long(one: bytes, table: bytes, offset: bytes) -> bytes:
    head = _ar_member(b"//", str(len(table)).encode(), table)
    return head + _ar_member(b"/" + offset, str(len(one)).encode(), one)[8:]


def _nest(one: bytes, depth: int) -> bytes:
    content = made.tar((("one.o", one),))
    for number in range(depth):
        content = made.tar(((f"{number}.tar", content),))
    return content


def _many_nested(one: bytes) -> bytes:
    """Five levels with ten archives each: 100,000 if all were unpacked."""
    content = made.tar((("one.o", one),), "gz")
    for _ in range(5):
        content = made.tar(((f"{number}.tar.gz", content) for number in range(10)), "gz")
    return content


TRAVERSAL: dict[str, Maker] = {
    "backslash.zip": lambda one: made.zip_members((("..\\..\\out.o", one),)),
    "up.tar": lambda one: made.tar(((OUT, one),)),
    "up-inside.tar": lambda one: made.tar((("a/../../../out.o", one),)),
    "up.deb": lambda one: made.deb((("../../out.o", one),)),
    "up.rpm": lambda one: made.rpm(((OUT, one),)),
    "up.apk": lambda one: made.apk(((OUT, one),)),
    "up.zip": lambda one: made.zip_members(((OUT, one),)),
    "up.cpio": lambda one: made.cpio(((OUT, one),)),
    "up-short.a": lambda one: made.ar(((OUT, one),)),
    "up-pax.tar": lambda one: _pax(_pax_record("path", OUT), _file("one.o", one)),
    "up-gnu.tar": lambda one: _header("././@LongLink", b"L", b"%011o" % 512) + OUT.encode().ljust(512, b"\0") + _file("x", one) + bytes(1024),
    "up-control.deb": lambda one: made.ar((("debian-binary", b"2.0\n"), ("../data.tar", made.tar((("one.o", one),))))),
    "up-nested.tar": lambda one: made.tar((("../a.tar", made.tar((("one.o", one),))),)),
}
"""Their names lead out of the archive."""

READ: dict[str, Maker] = {
    "overlapping.zip": _overlapping_zip,
    "directory-far.zip": lambda one: _patched_zip(one, 16, b"\xff\xff\xff\x7f", b"PK\5\6"),
    "absolute.tar": lambda one: made.tar((("/etc/out.o", one),)),
    "absolute.deb": lambda one: made.deb((("/etc/out.o", one),)),
    "absolute.rpm": lambda one: made.rpm((("/etc/out.o", one),)),
    "absolute.zip": lambda one: made.zip_members((("/etc/out.o", one),)),
    "absolute-twice.cpio": lambda one: made.cpio((("//etc//out.o", one),)),
    "drive.zip": lambda one: made.zip_members((("C:\\out.o", one),)),
    "through-link.tar": lambda one: _links(("d", tarfile.SYMTYPE, "/tmp"), then=one),
    "through-link-up.tar": lambda one: _links(("d", tarfile.SYMTYPE, "../.."), then=one),
    "hard-link.tar": lambda one: _links(("d", tarfile.LNKTYPE, "/etc/passwd"), then=one),
    "device.tar": lambda one: _links(("d", tarfile.CHRTYPE, ""), ("e", tarfile.BLKTYPE, ""), ("f", tarfile.FIFOTYPE, ""), then=one),
    "link.rpm": lambda one: _rpm(_cpio(b"d", stat.S_IFLNK | 0o777, b"/etc") + _cpio(b"d/one.o", 0o100644, one) + _END),
    "device.rpm": lambda one: _rpm(_cpio(b"d", stat.S_IFCHR | 0o600) + _cpio(b"p", stat.S_IFIFO) + _cpio(b"one.o", 0o100644, one) + _END),
    "socket.cpio": lambda one: _cpio(b"d", stat.S_IFSOCK) + _cpio(b"e", stat.S_IFBLK) + _cpio(b"one.o", 0o100644, one) + _END,
    "twice.tar": lambda one: made.tar((("one.o", one), ("one.o", one), ("./one.o", one))),
    "twice.zip": lambda one: made.zip_members((("one.o", one), ("one.o", one))),
    "file-and-folder.tar": lambda one: made.tar((("a", b"text"), ("a/one.o", one))),
    "nul.tar": lambda one: _header("one.o\0/../x", b"0", b"%011o" % len(one)) + one + bytes(-len(one) % 512) + bytes(1024),
    "much-behind.tar": lambda one: made.tar((("one.o", one),)) + b"\xff" * 100_000,
    "control.tar": lambda one: made.tar((("a\n\x1b[2J\u202e.o", one),)),
    "pax-comment.tar": lambda one: _pax(_pax_record("comment", "x" * 400_000), _file("one.o", one)),
}
"""Only their object file is read: names are no paths, and links and devices are left out."""

REFUSED: dict[str, Maker] = {
    "hard-link-with-content.tar": lambda one: _header("d", b"1", b"%011o" % 512) + bytes(512) + _file("one.o", one) + bytes(1024),
    "up-long.a": lambda one: _ar_long(one, b"../../../../out-of-here.o/\n", b"0"),
    "link-only.zip": lambda one: _zip("one.o", b"/etc/passwd", stat.S_IFLNK | 0o777),
    "sparse-size.tar": lambda one: _sparse(b"77777777777\0", b"00000000000\0", b"00000001000\0"),
    "sparse-far.tar": lambda one: _sparse(b"77777777777\0", b"77777770000\0", b"00000001000\0"),
    "sparse-negative.tar": lambda one: _sparse(b"\xff" * 12, b"\xff" * 12, b"00000001000\0"),
    "sparse-pax.tar": lambda one: _pax(
        _pax_record("GNU.sparse.major", "1") + _pax_record("GNU.sparse.minor", "0") + _pax_record("GNU.sparse.realsize", str(10**18)),
        _file("one.o", b"1\n999999999999999999\n1\n".ljust(512, b"\0") + b"\x7f"),
    ),
    "sparse-map.tar": lambda one: _pax(
        _pax_record("GNU.sparse.major", "1") + _pax_record("GNU.sparse.minor", "0") + _pax_record("GNU.sparse.realsize", "5"),
        _file("one.o", b"99999999999999\n".ljust(512, b"\0") + one),
    ),
    "negative.tar": lambda one: _header(size=b"\xff" * 12) + one,
    "eight-exabytes.tar": lambda one: _header(size=b"\x80" + b"\0" * 3 + b"\x7f" + b"\xff" * 7) + one,
    "size-pax.tar": lambda one: _pax(_pax_record("size", str(1 << 62)), _file("one.o", one)),
    "size-pax-negative.tar": lambda one: _pax(_pax_record("size", "-1"), _file("one.o", one)),
    "pax-claims.tar": lambda one: _pax(b"99999999999 path=x\n", _file("one.o", one)[:512]),
    "pax-large.tar": lambda one: _pax(b"x", b"", 8 << 30),
    "long-name-claims.tar": lambda one: _header("././@LongLink", b"L", b"77777777777") + b"x" * 4096,
    "long-name.tar": lambda one: _header("././@LongLink", b"L", b"%011o" % 200_000) + b"n" * 200_192 + _file("x", one) + bytes(1024),
    "negative.a": lambda one: _ar_member(b"one.o/", b"-1", one),
    "large.a": lambda one: _ar_member(b"one.o/", b"9999999999", one),
    "no-size.a": lambda one: _ar_member(b"one.o/", b"x", one),
    "long-far.a": lambda one: _ar_long(one, b"one.o/\n", b"99999999"),
    "long-without-table.a": lambda one: _ar_member(b"/0", str(len(one)).encode(), one),
    "table-claims.a": lambda one: _ar_member(b"//", b"4294967295", b"x"),
    "bsd-name-claims.a": lambda one: _ar_member(b"#1/4294967295", str(len(one)).encode(), one),
    "size.cpio": lambda one: _cpio(b"one.o", 0o100644, one, size=0xFFFFFFFF),
    "name-size.cpio": lambda one: _cpio(b"one.o", 0o100644, one, name_size=0xFFFFFFFF),
    "no-name.cpio": lambda one: _cpio(b"", 0o100644, one, name_size=0) + _END,
    "link-claims.cpio": lambda one: _cpio(b"d", stat.S_IFLNK | 0o777, b"x", size=0x7FFFFFFF),
    "size.rpm": lambda one: _rpm(_cpio(b"one.o", 0o100644, one, size=0xFFFFFFFF)),
    "header-claims.rpm": lambda one: b"\xed\xab\xee\xdb\3\0\0\0" + bytes(88) + b"\x8e\xad\xe8\1\0\0\0\0" + b"\xff" * 8 + one,
    "no-payload.rpm": lambda one: made.rpm(())[:128],
    "local-far.zip": lambda one: _patched_zip(one, 42, b"\xf0\xff\xff\x7f"),
    "size.zip": lambda one: _patched_zip(one, 18, b"\xf0\xff\xff\x7f", b"PK\3\4"),
    "unknown-method.zip": lambda one: _patched_zip(one, 8, b"\x63\0", b"PK\3\4"),
    "empty.apk": lambda one: gzip.compress(b""),
    "deep.tar": lambda one: _nest(one, 6),
    "dictionary.tar.xz": lambda one: _large_dictionary(one),
    "window.tar.zst": lambda one: b"\x28\xb5\x2f\xfd\0\xa8" + b"\1\0\0" + bytes(400),
    "dictionary.tar.lzma": lambda one: b"\x5d" + b"\xff" * 4 + b"\xff" * 8 + bytes(400),
    "zip64.zip": lambda one: _patched_zip(one, 18, b"\xff" * 8, b"PK\3\4"),
}
"""They claim what they do not have."""


def _large_dictionary(one: bytes) -> bytes:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0}]
    content = bytearray(lzma.compress(made.tar((("one.o", one),)), format=lzma.FORMAT_XZ, filters=filters))
    header = content[12 : 12 + (content[12] + 1) * 4]
    at = header.index(b"\x21\x01") + 2  # the flag of LZMA2 and the size of its properties (xz-file-format 5.3.1)
    header[at] = 40  # 4 GB
    header[-4:] = zlib.crc32(header[:-4]).to_bytes(4, "little")
    content[12 : 12 + len(header)] = header
    return bytes(content)


def _gzip_packer() -> object:
    return zlib.compressobj(9, zlib.DEFLATED, 31)


def _zstd_zeros(size: int) -> bytes:
    from layoutlint.readers.elf import compression

    packer = compression.zstd().ZstdCompressor()
    pieces = [packer.compress(_header("zeros.o", b"0", b"%011o" % size) + b"\x7fELF" + bytes(508))]
    pieces += [packer.compress(_ZEROS) for _ in range(size >> 20)]
    return b"".join((*pieces, packer.flush()))


_BOMB = 100 << 20
MOST_MEMBERS, MOST_FILES = 50_000, 6_500
"""The limits for these archives, a tenth of what a run has."""
BOMBS: dict[str, Maker] = {
    "zeros.tar.gz": lambda one: _zeros(_gzip_packer, _BOMB),
    "zeros.tar.xz": lambda one: _zeros(lambda: lzma.LZMACompressor(preset=0), _BOMB),
    "zeros.tar.bz2": lambda one: _zeros(lambda: bz2.BZ2Compressor(1), _BOMB),
    "zeros.tar.zst": lambda one: _zstd_zeros(_BOMB),
    "members.a": lambda one: b"!<arch>\n" + _ar_member(b"one.o/", b"0", b"")[8:] * (MOST_MEMBERS * 6 // 5),
    "members.cpio": lambda one: _cpio(b"one.o", 0o100644) * (MOST_MEMBERS * 6 // 5) + _END,
    "files.tar": lambda one: _file("one.o", b"\x7fELF") * (MOST_FILES * 11 // 10) + bytes(1024),
    "nested.tar.gz": _many_nested,
    "twice-packed.deb": lambda one: made.deb((("a.tar.gz", _zeros(_gzip_packer, _BOMB)),)),
    "zeros.rpm": lambda one: made.rpm((("zeros.o", b"\x7fELF" + bytes(_BOMB)),)),
}
"""They unpack to much more than they are."""

TRUNCATED: dict[str, Maker] = {
    "cut.deb": lambda one: made.deb((("one.o", one), ("two.o", one))),
    "cut.rpm": lambda one: made.rpm((("one.o", one), ("two.o", one))),
    "cut.apk": lambda one: made.apk((("one.o", one), ("two.o", one))),
    "cut.tar": lambda one: made.tar((("one.o", one), ("two.o", one))).rstrip(b"\0"),
    "cut.zip": lambda one: made.zip_members((("one.o", one), ("two.o", one))),
    "cut.a": lambda one: made.ar((("one.o", one), ("two.o", one))),
}
"""Each is cut at twenty places."""
