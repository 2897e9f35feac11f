"""Names of archives and members, which members are read, and how much may be unpacked: by tables."""

from __future__ import annotations

import ctypes
from stat import S_IFDIR, S_IFLNK, S_IFREG
from types import SimpleNamespace

import pytest

from layoutlint.errors import UsageError
from layoutlint.files import accesses, stored_files
from layoutlint.readers.archives import library, limits, locate, read
from layoutlint.readers.archives.formats import Content
from layoutlint.readers.archives.library import Damage, MemberHeader
from layoutlint.readers.archives.limits import ArchiveLimits
from layoutlint.readers.archives.locate import Location
from layoutlint.readers.archives.unpack import Member
from tests.readers.archives import made

TAR = made.tar((("a", b"text"),))
PLACES = [
    # an input, the archive and the member that it names
    ("a.tar", ("a.tar", "")), ("text", None), ("missing", None), ("folder", None), ("a.tar:b", ("a.tar", "b")), ("a.tar:b/c:d", ("a.tar", "b/c:d")),
    ("a.tar:/b", ("a.tar", "b")), ("a.tar:./b//c", ("a.tar", "b/c")), ("a.tar:", None), ("a.tar:/", None), ("a.tar:.", None), ("a.tar:b/..", None), ("a.tar:../b", ("a.tar", "../b")),
    ("text:b", None), ("missing:b", None), ("folder:b", None), ("c:d.tar", ("c:d.tar", "")), ("c:d.tar:e", ("c:d.tar", "e")), ("c:x", None), (":a.tar", None), ("a.tar:there", None),
    ("text:a.tar:b", None), ("packed", ("packed", "")), ("packed:b", ("packed", "b")),
]  # fmt: skip


@pytest.mark.parametrize(("path", "place"), PLACES)
def test_which_inputs_are_archives(path, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in {"a.tar": TAR, "c:d.tar": TAR, "text": b"text", "a.tar:there": b"text", "packed": made.tar((("a", b"text"),), "bz2")}.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    found = locate.locate(path)
    assert (found and (found.path, found.member)) == place
    assert not found or found.name == (f"{place[0]}:{place[1]}" if place[1] else place[0])


KINDS = {"o": Content.ELF, "ko": Content.ELF, "xz": Content.ELF, "btf": Content.BTF, "c": Content.OTHER, "vmlinux": Content.ELF, "vmlinuz": Content.KERNEL, "dwo": Content.ELF, "debug": Content.ELF}
INPUTS = [
    # the members, those that are read
    ("b.o a.o x.c a.btf", "a.btf a.o b.o"), ("a.ko b.o x.btf", "a.ko"), ("a.ko.xz b.o", "a.ko.xz"), ("boot/vmlinuz a.ko b.o", "a.ko boot/vmlinuz"),
    ("boot/vmlinuz boot/vmlinux a.ko", "a.ko boot/vmlinux"), ("boot/vmlinuz a.o", "a.o boot/vmlinuz"), ("a.o b.dwo", "a.o"), ("b.dwo a.dwo", "a.dwo b.dwo"),
    (".dwz/a.debug b.o", "b.o"), ("x/.dwz/a.debug", "x/.dwz/a.debug"), ("x.dwz/a.debug b.o", "b.o x.dwz/a.debug"), ("x.c", ""), ("", ""),
]  # fmt: skip


def members(names: str) -> tuple[Member, ...]:
    return tuple(Member(name, 0, 1, KINDS[name.rpartition("/")[2].rpartition(".")[2]]) for name in names.split())


@pytest.mark.parametrize(("names", "chosen"), INPUTS)
def test_which_members_are_read(names, chosen):
    assert read.inputs(Location("p"), members(names)) == tuple(f"p:{name}" for name in chosen.split())


FOLDERS = [
    # the members, the folders of debug files behind the usual one
    ("a.o", ""), (".build-id/ab/c.debug", "p:/"), ("usr/lib/debug/.build-id/ab/c.debug", ""), ("x/.build-id/a.debug y/.build-id/b.debug x/.build-id/c.debug", "p:/x p:/y"),
    ("x/.build-idea/a.debug x.build-id/a.debug", "p:/x"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "folders"), FOLDERS)
def test_folders_of_debug_files(names, folders):
    assert read._debug_folders(Location("p"), members(names)) == ("p:/usr/lib/debug", *folders.split())


SIZES = [
    # the variable, the bytes; None for a mistake
    ("1", 1), ("999999999999999999", 10**18 - 1), ("2k", 2 << 10), ("2K", 2 << 10), (" 3m ", 3 << 20), ("4G", 4 << 30), ("5T", 5 << 40),
    ("0", None), ("0G", None), ("-1", None), ("1.5G", None), ("1000000000000000000", None), ("G", None), ("1P", None), ("1 G", None), (" ", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "size"), SIZES)
def test_how_much_may_be_unpacked(text, size, monkeypatch):
    monkeypatch.setenv("LAYOUTLINT_UNPACK_LIMIT", text)
    if size is None:
        with pytest.raises(UsageError, match=r"is not a number of bytes, such as 40G"):
            limits.limits()
    else:
        assert limits.limits() == ArchiveLimits(content=size, ratio=1 << 40)


def test_how_much_is_unpacked_by_default(monkeypatch):
    """As docs/inputs.md has it."""
    for text in (None, ""):
        monkeypatch.delenv("LAYOUTLINT_UNPACK_LIMIT", raising=False)
        if text is not None:
            monkeypatch.setenv("LAYOUTLINT_UNPACK_LIMIT", text)
        assert limits.limits() == ArchiveLimits(
            content=16 << 30, free_content=1 << 30, ratio=100, members=500_000, kept=65_536, depth=4, name=4096, seconds=3600, memory=3 << 30
        )


class FakeLibrary(SimpleNamespace):
    """What of libarchive's binding describes an entry."""

    def __init__(self, mode: int, name: bytes | None, wide: str | None, hard: bytes | None, symbolic: bytes | None) -> None:
        super().__init__(
            entry_filetype=lambda entry: mode, entry_pathname=lambda entry: name, entry_pathname_w=lambda entry: wide,
            entry_hardlink=lambda entry: hard, entry_symlink=lambda entry: symbolic,
        )  # fmt: skip


ENTRIES = [
    # type, name, wide name, hard link, symbolic link, what it is
    (S_IFREG, b"a", None, None, None, MemberHeader(b"a", True, False, b"")), (0, b"a", None, None, None, MemberHeader(b"a", True, False, b"")),
    (S_IFREG, b"a", None, b"b", None, MemberHeader(b"a", False, False, b"b")), (0, b"a", None, b"b", None, MemberHeader(b"a", False, False, b"b")),
    (S_IFDIR, b"a", None, None, None, MemberHeader(b"a", False, True, b"")), (S_IFLNK, b"a", None, None, b"b", MemberHeader(b"a", False, False, b"b")),
    (S_IFLNK, b"a", None, b"c", None, MemberHeader(b"a", False, False, b"?")), (S_IFREG, b"a", None, None, b"b", MemberHeader(b"a", True, False, b"")),
    (S_IFREG, None, "\u00e9\udcff", None, None, MemberHeader(b"\xc3\xa9\xff", True, False, b"")), (S_IFREG, None, None, None, None, MemberHeader(b"", True, False, b"")),
    (0o020000, b"a", None, None, None, MemberHeader(b"a", False, False, b"")),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "name", "wide", "hard", "symbolic", "entry"), ENTRIES)
def test_members_as_libarchive_describes_them(mode, name, wide, hard, symbolic, entry):
    assert library._entry(FakeLibrary(mode, name, wide, hard, symbolic), None) == entry


class ArchiveError(Exception):
    """As the binding has it."""

    def __init__(self, msg: bytes | str | None, retcode: int | None) -> None:
        super().__init__(msg)
        self.msg, self.retcode = msg, retcode


DAMAGES = [
    # message, status of libarchive, reason, whether it is the end
    (b"bad \xff", -30, "bad \ufffd", True), ("bad", -25, "bad", False), ("bad", -20, "bad", False), ("bad", None, "bad", True), ("bad", 0, "bad", True),
    (None, -10, "libarchive states no cause: an early end, or contradicting sizes", False), (b"", -30, "libarchive states no cause: an early end, or contradicting sizes", True),
]  # fmt: skip


@pytest.mark.parametrize(("message", "status", "reason", "is_end"), DAMAGES)
def test_damage_as_libarchive_reports_it(message, status, reason, is_end, monkeypatch):
    def fail(pointer: object, *arguments: object) -> int:
        assert (pointer, arguments) == ("pointer", (1, 2))
        raise ArchiveError(message, status)

    monkeypatch.setattr(library, "_libarchive", lambda: SimpleNamespace(ArchiveError=ArchiveError))
    archive = library.OpenArchive("pointer")
    with pytest.raises(Damage) as raised:
        archive._call(fail, 1, 2)
    assert (raised.value.reason, raised.value.is_end) == (reason, is_end)
    archive._failure = OSError("disk")
    with pytest.raises(OSError, match="disk"):
        archive._call(fail, 1, 2)


def test_filters_that_need_programs_are_left_out(monkeypatch):
    """Of a library that lacks one, warns of one, and refuses one."""
    ends = {"gzip": 0, "bzip2": -20, "xz": 0, "zstd": 0, "rpm": 0, "lz4": ArchiveError("x", -30)}
    freed: list[int] = []

    class Functions:
        def __getattr__(self, name: str):
            end = ends.get(name.removeprefix("archive_read_support_filter_"))

            def function(probe: int) -> int:
                assert function.argtypes == [ctypes.c_void_p]
                if isinstance(end, Exception):
                    raise end
                return end

            if end is None:
                raise ValueError(name)
            return function

    ffi = SimpleNamespace(ArchiveError=ArchiveError, ARCHIVE_OK=0, libarchive=Functions(), read_new=lambda: len(freed), read_free=freed.append)
    monkeypatch.setattr(library, "_libarchive", lambda: ffi)
    assert library._available_filters.__wrapped__() == ("gzip", "xz", "zstd", "rpm")
    assert freed == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("most", "key", "left"), [(6, "d", "abc"), (5, "d", "bc"), (4, "d", "bc"), (3, "d", "c"), (2, "d", ""), (0, "d", ""), (6, "b", "ac"), (4, "b", "c"), (3, "a", "c")])
def test_the_oldest_contents_make_room(most, key, left, monkeypatch, tmp_path):
    """And the ones of the archive itself, which has changed."""
    dropped: list[object] = []
    files = {}
    for size, name in ((2, "a"), (1, "b"), (3, "c")):
        (tmp_path / name).write_bytes(bytes(size))
        files[name] = (tmp_path / name).open("rb")
    kept = {(name, ""): read._Kept((1, 1, 1, 1, 1), file, read.Unpacked(())) for name, file in files.items()}
    monkeypatch.setattr(read, "_kept", kept)
    monkeypatch.setattr(read, "_MOST_KEPT", most)
    monkeypatch.setattr(stored_files, "drop", dropped.append)
    read._make_room((key, ""))
    assert "".join(name for name, _ in kept) == left
    assert dropped == [file for name, file in files.items() if name not in left]
    for file in files.values():
        file.close()


def test_a_missing_library_is_no_lasting_result(monkeypatch, tmp_path):
    """It may be installed later."""
    (tmp_path / "a.tar").write_bytes(TAR)

    def fail(*arguments: object) -> None:
        raise library.MissingLibrary("pip install it")

    monkeypatch.setattr(read.sandbox, "run_each", fail)
    with accesses.log_answers() as log, pytest.raises(read.ReadError, match="is an archive, which needs libarchive: pip install it"):
        read.unpack_archive(Location(str(tmp_path / "a.tar")))
    assert log.obstacle == "a library is missing"
