"""What is unpacked of an archive, in the process of the test: which members, where they lie, and at which limit it ends."""

from __future__ import annotations

import errno
import tempfile
from typing import Any

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.archives import unpack
from layoutlint.readers.archives.limits import ArchiveLimits
from layoutlint.workers import permissions
from tests.harness.whole import whole_lines
from tests.readers.archives import made

pytest.importorskip("libarchive")
ELF, BTF, TEXT = b"\x7fELF" + bytes(60), b"\x9f\xeb" + bytes(8), b"text\n"
LARGE = b"\x7fELF" + bytes(1 << 17)
INNER = made.ar((("a.o", ELF), ("b.o", LARGE), ("c.txt", TEXT)))
MIXED = (
    ("./lib/a.ko", ELF), ("boot/config-6.1", b"CONFIG_A=y\n"), ("boot/System.map-6.1", TEXT), ("x/.config", TEXT), ("configs", TEXT), ("README", TEXT),
    ("b.btf", BTF), ("//lib/b.ko", LARGE), ("lib/text.ko", TEXT), ("lib/a.ko", ELF), ("empty.o", b""), ("lib/libc.a", INNER),
)  # fmt: skip
TAR = made.tar(MIXED)
OUT = made.tar((("../a.o", ELF), ("a/../../b.o", ELF), ("a/../c.o", ELF), ("...o", ELF), ("..", ELF)))
LINKS = made.tar((("a.o", ELF),)) [:1024] + made.tar((("l.o", b""),), type=b"2", linkname="a.o")
NESTED = made.tar((("1.tar", made.tar((("2.tar", made.tar((("3.a", INNER),))), ("b.o", ELF)))), ("a.o", ELF)))
DEB = made.deb((("usr/a.ko", ELF), ("etc/text", TEXT)))
NO_DATA = made.ar((("debian-binary", b"2.0\n"), ("control.tar.gz", made.tar((("a.o", ELF),), "gz"))))
THREE = made.tar((("a.o", ELF), ("b.o", ELF), ("c.o", ELF)))


def unpack_here(monkeypatch: pytest.MonkeyPatch, archive: bytes, member: str = "", **limits: Any) -> str:
    """The result, and the size of what was written."""
    monkeypatch.setattr(permissions, "refuse_calls", lambda: True)
    monkeypatch.setattr(unpack, "_GRANULE", 4096)
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as sink:
        source.write(archive)
        source.seek(0)
        result = unpack.unpack(unpack.UnpackRequest("x", member, source.fileno(), sink.fileno(), ArchiveLimits(**limits)))
        for each in result.members:
            sink.seek(each.offset)
            assert len(sink.read(each.size)) == each.size
        return "\n".join(whole_lines(result))


WHOLE = {
    # an archive, the chosen member
    "all": (TAR, ""), "one": (TAR, "lib/a.ko"), "the second of a name": (TAR, "lib/a.ko (2)"), "a folder": (TAR, "lib"), "a part of a name": (TAR, "li"),
    "a text": (TAR, "README"), "a config": (TAR, "boot/config-6.1"), "a library": (TAR, "lib/libc.a"), "in a library": (TAR, "lib/libc.a:b.o"),
    "a text in a library": (TAR, "lib/libc.a:c.txt"), "not in a library": (TAR, "lib/libc.a:d.o"), "a mistake": (TAR, "lib/a.kp"), "a module without ELF": (TAR, "lib/text.ko"),
    "names that lead out": (OUT, ""), "a chosen name that leads out": (OUT, "../a.o"), "a link": (LINKS, "l.o"), "links": (LINKS, ""),
    "nested": (NESTED, ""), "nested in one": (NESTED, "1.tar"), "nested in two": (NESTED, "1.tar:2.tar:3.a"), "nested file": (NESTED, "1.tar:b.o"),
    "deb": (DEB, ""), "deb, one": (DEB, "usr/a.ko"), "deb without data": (NO_DATA, ""), "texts": (made.tar((("a", TEXT),)), ""), "empty": (made.tar(()), ""),
    "modules without ELF": (made.tar((("a.ko", TEXT), ("b.ko", TEXT))), ""), "rpm": (made.rpm((("a.o", ELF),)), ""),
}  # fmt: skip


@pytest.mark.parametrize("case", WHOLE)
def test_members(case, monkeypatch, golden_row):
    golden_row(unpack_here(monkeypatch, *WHOLE[case]))


LIMITS = {
    # an archive, a limit, and the values around it: below the last, something is refused
    "members": (THREE, "members", (1, 2, 3, 4)), "kept": (THREE, "kept", (1, 2, 3, 4)), "name": (THREE, "name", (2, 3, 4)), "depth": (NESTED, "depth", (1, 2, 3, 4, 5)),
    "content": (THREE, "content", (63, 64, 65, 191, 192, 193)), "free_content": (THREE, "free_content", (0, 191, 192)),
    "a large piece": (made.tar((("a.o", LARGE),)), "content", (len(LARGE) - 1, len(LARGE))),
}  # fmt: skip


@pytest.mark.parametrize("case", LIMITS)
def test_limits(case, monkeypatch, golden_row):
    content, name, values = LIMITS[case]
    more = {"ratio": 0} if name == "free_content" else {}
    golden_row("\n".join(f"== {value}\n{unpack_here(monkeypatch, content, **{name: value}, **more)}" for value in values))


def test_ratio(monkeypatch):
    """Contents may have so many times the bytes of the archive."""
    packed = made.tar((("a.o", LARGE),), "xz")
    enough = -(-(len(LARGE)) // len(packed))
    assert unpack_here(monkeypatch, packed, free_content=0, ratio=enough).count("Member") == 1
    assert "which is the limit for an archive that small" in unpack_here(monkeypatch, packed, free_content=0, ratio=enough - 1)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_failures(most, monkeypatch, golden_row):
    monkeypatch.setattr(unpack, "_MOST_FAILURES", most)
    golden_row(unpack_here(monkeypatch, OUT))


@pytest.mark.parametrize("most", [4, 5])
def test_companions(most, monkeypatch):
    """Texts beside kernels are kept up to a size."""
    monkeypatch.setattr(unpack, "_LARGEST_COMPANION", most)
    assert ("Member name='config'" in unpack_here(monkeypatch, made.tar((("config", TEXT),)))) == (most == 5)


@pytest.mark.parametrize(("number", "cause"), [
    (errno.ENOSPC, "there is no space for it"), (errno.EDQUOT, "there is no space for it"), (errno.EFBIG, "there is no space for it"), (errno.EIO, "message"),
])  # fmt: skip
def test_there_is_no_space(number, cause, monkeypatch):
    def fail(*arguments: object) -> None:
        raise OSError(number, "message")

    monkeypatch.setattr(unpack, "_write", fail)
    with pytest.raises(ReadError, match=rf"^x: cannot be unpacked: {cause} \(TMPDIR names another folder\)$"):
        unpack_here(monkeypatch, THREE)
