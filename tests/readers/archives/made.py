"""Archives for tests, made by Python's own modules; formats that it lacks are put together by hand."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable

Members = Iterable[tuple[str, bytes]]


def tar(members: Members, compression: str = "", **header: object) -> bytes:
    """A tarball; compression is that of tarfile, such as `xz`."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode=f"w:{compression}") as archive:
        for name, content in members:
            archive.addfile(entry(name, len(content), **header), io.BytesIO(content))
    return output.getvalue()


def entry(name: str, size: int = 0, **header: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    for key, value in header.items():
        setattr(info, key, value)
    return info


def ar(members: Members) -> bytes:
    """An archive by ar(5), with short names."""
    pieces = [b"!<arch>\n"]
    for name, content in members:
        pieces.append(f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode())
        pieces.append(content + b"\n" * (len(content) % 2))
    return b"".join(pieces)


def deb(members: Members, compression: str = "xz") -> bytes:
    """A Debian package (deb(5))."""
    data = tar(((f"./{name}", content) for name, content in members), compression)
    return ar((("debian-binary", b"2.0\n"), ("control.tar.gz", tar((), "gz")), (f"data.tar.{compression}", data)))


def rpm(members: Members) -> bytes:
    """An RPM package with a cpio archive."""
    return rpm_of(cpio(members))


def rpm_of(payload: bytes, header_size: int = 0) -> bytes:
    """An RPM package: the lead, two headers without tags, and a payload (rpm's docs/manual/format.md).

    The second header has so many bytes of names.
    """
    lead = b"\xed\xab\xee\xdb\3\0\0\0" + bytes(88)
    magic = b"\x8e\xad\xe8\1" + bytes(8)
    return lead + magic + bytes(4) + magic + header_size.to_bytes(4, "big") + b"n" * header_size + gzip.compress(payload)


def cpio(members: Members) -> bytes:
    """A newc archive (cpio(5))."""
    pieces = []
    for number, (name, content) in enumerate([*members, ("TRAILER!!!", b"")]):
        path = name.encode() + b"\0"
        mode = 0o100644 if content else 0
        fields = (number + 1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
        head = b"070701" + b"".join(b"%08X" % value for value in fields) + path
        pieces += [head, bytes(-len(head) % 4), content, bytes(-len(content) % 4)]
    return b"".join(pieces)


def apk(members: Members) -> bytes:
    """A package of Alpine: tarballs in one gzip stream after the other, the first ones without an end."""
    control = tar((("./.PKGINFO", b"pkgname = a\n"),))[:1024]
    return gzip.compress(control) + gzip.compress(tar(members))


def zip_members(members: Members) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return output.getvalue()
