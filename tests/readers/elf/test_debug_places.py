"""Which other files an image names, where they are looked for, and which of them belong to it: by tables."""

from __future__ import annotations

import zlib
from types import SimpleNamespace

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.elf import debug_files
from layoutlint.readers.elf.debug_files import _DebugLink, _Link

ROOTS = ("/usr/lib/debug", "/other")


def image(path: str = "/nowhere/program", little: bool = True, build_id: str | None = "abcdef", kind: str = "", content: bytes = b"", **sections: bytes) -> SimpleNamespace:
    """An image with sections; `kind` has k for a kernel and r for object files."""
    named = {f".{name}": data for name, data in sections.items()}
    return SimpleNamespace(
        path=path, section=named.get, little_endian=little, build_id=build_id, is_kernel="k" in kind, is_relocatable="r" in kind, content=content,
        has=lambda reader: reader in kind.split(), debug_information="dwarf" if "dwarf" in kind else None,
    )  # fmt: skip


LINKS = [
    # content of .gnu_debuglink, the byte order, the name and the checksum
    (b"", True, None), (b"a\0\0\0\1\2\3\4", True, ("a", 0x04030201)), (b"a\0\0\0\1\2\3\4", False, ("a", 0x01020304)), (b"abc\0\1\2\3\4", True, ("abc", 0x04030201)),
    (b"abcd\0\0\0\0\1\2\3\4", True, ("abcd", 0x04030201)), (b"abcd\0\0\0\0\1\2\3\4\5", True, ("abcd", 0x04030201)), (b"abcd\0\0\0\0\1\2\3", True, "ends inside its checksum"),
    (b"a\0\0\0\1\2\3", True, "ends inside its checksum"), (b"\0\0\0\0\1\2\3\4", True, "names another file by 0 bytes, which are not a path"),
    (b"n" * 4095 + b"\0\1\2\3\4", True, ("n" * 4095, 0x04030201)), (b"n" * 4096 + bytes(4) + b"\1\2\3\4", True, "names another file by 4096 bytes, which are not a path"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "little", "link"), LINKS, ids=range(len(LINKS)))
def test_links_to_debug_files(content, little, link):
    its = image(little=little, gnu_debuglink=content)
    if isinstance(link, str):
        with pytest.raises(ReadError, match=link):
            debug_files._debug_link(its)
    else:
        found = debug_files._debug_link(its)
        assert (found and (found.name, found.crc)) == link


SUPPLEMENTS = [
    # .gnu_debugaltlink, .debug_sup, the link, the id of the file as a supplement
    (b"", b"", None, "abcdef"), (b"a.dwz\0\1\2\xff", b"", ("a.dwz", "0102ff"), "abcdef"), (b"a.dwz", b"", ("a.dwz", ""), "abcdef"), (b"", b"\5\0\0a.dwz\0\3\1\2\xff", ("a.dwz", "0102ff"), "abcdef"),
    (b"", b"\5\0\1\0\3\1\2\xff", None, "0102ff"), (b"", b"\5\0\1a\0\3\1\2\xff", None, "0102ff"), (b"", b"\5\0\1\0\0", None, "abcdef"), (b"", b"\5\0\0\0\0", None, "abcdef"), (b"", b"\5\0\0a\0", ("a", ""), "abcdef"),
    (b"", b"\5\0\2a\0\1\7", ("a", "07"), "abcdef"), (b"b\0\1", b"\5\0\0a\0\1\7", ("b", "01"), "abcdef"), (b"", b"\5\0\0a\0\x83\0\1\2\xff\x09", ("a", "0102ff"), "abcdef"),
    (b"", b"\5\0\0a\0\x80\1" + bytes(128), ("a", "00" * 128), "abcdef"), (b"", b"\5\0\0a\0\x80\1" + bytes(127), None, None), (b"", b"\5\0\0a\0\2\1", None, None), (b"", b"\5\0\1\0\2\1", None, None),
    (b"", b"\5\0\0a\0" + b"\x80" * 9 + b"\1", None, None), (b"", b"\5\0\0a\0" + b"\x80" * 10 + b"\1", ("a", ""), "abcdef"), (b"", b"\5\0\0a\0" + b"\x80" * 3, ("a", ""), "abcdef"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "link", "own_id"), SUPPLEMENTS, ids=range(len(SUPPLEMENTS)))
def test_links_to_supplements(old, new, link, own_id):
    its = image(gnu_debugaltlink=old, debug_sup=new)
    if own_id is None:
        for ask in (debug_files._supplement_link, debug_files._supplement_id):
            with pytest.raises(ReadError, match=r"section .debug_sup ends inside its checksum"):
                ask(its)
    else:
        found = debug_files._supplement_link(its)
        assert ((found and (found.name, found.build_id)), debug_files._supplement_id(its)) == (link, own_id)


@pytest.mark.parametrize(("build_id", "paths"), [
    ("", []), ("ab", []), ("abc", ["/usr/lib/debug/.build-id/ab/c.debug", "/other/.build-id/ab/c.debug"]), ("abcdef", ["/usr/lib/debug/.build-id/ab/cdef.debug", "/other/.build-id/ab/cdef.debug"]),
])  # fmt: skip
def test_places_of_build_ids(build_id, paths):
    assert list(debug_files.build_id_paths(build_id, ROOTS)) == paths


PLACES = {
    # an image, and what it names
    "nothing": (image(build_id=None), None), "a build id": (image(), None), "a name": (image(build_id=None), _DebugLink("p.debug", 1)), "both": (image(), _DebugLink("p.debug", 1)),
    "a relative path": (image("program", build_id=None), _DebugLink("../p.debug", 1)), "a module": (image("/x/lib/modules/6.1/kernel/a.ko", build_id=None, kind="kr"), None),
    "a module elsewhere": (image("/x/a.ko", build_id=None, kind="kr"), None), "a module of two": (image("/y/lib/modules/a/lib/modules/b.ko", build_id=None, kind="kr"), None),
    "an object": (image("/x/lib/modules/6.1/kernel/a.o", build_id=None, kind="r"), None), "a kernel": (image("/nowhere/vmlinux", build_id=None, kind="k"), None),
}  # fmt: skip


@pytest.mark.parametrize("release", ["6.1.0", None])
@pytest.mark.parametrize("case", PLACES)
def test_places_of_debug_files(case, release, monkeypatch, golden_row):
    monkeypatch.chdir("/")
    monkeypatch.setattr(debug_files.version, "image_release", lambda image: release and SimpleNamespace(name=release))
    its, link = PLACES[case]
    golden_row("\n".join(debug_files._debug_places(its, link, ROOTS)))


def test_places_of_kernels(golden_row):
    golden_row("\n".join([*debug_files.kernel_places("6.1", ROOTS), *debug_files.kernel_places("6.1", iter(ROOTS), "/root")]))


NAMES = ["a.dwz", "/abs/a.dwz", "../a.dwz", "../.dwz/x/a.dwz", "/usr/lib/debug/.dwz/./x//a.dwz", "a/.dwzx/b", ".dwz"]


@pytest.mark.parametrize("name", NAMES)
def test_places_of_supplements_and_split_files(name, monkeypatch, golden_row):
    monkeypatch.chdir("/")
    places = [list(debug_files._supplement_places(image(path), _Link(name, "abcdef"), ROOTS)) for path in ("/nowhere/program", "program")]
    places += [list(debug_files._split_places(image(), directory, name, ROOTS)) for directory in ("/comp", "comp", "")]
    golden_row("\n\n".join(map("\n".join, places)))


CRC = zlib.crc32(b"other")
MATCHES = [
    # own build id, that of the other file, the link, why they do not belong together
    ("ab", "ab", None, None), ("ab", "ab", _DebugLink("x", 0), None), ("ab", "cd", None, "has the build id cd, and ab is the one that belongs to it"),
    ("ab", "cd", _DebugLink("x", CRC), "has the build id cd, and ab is the one that belongs to it"), ("ab", None, None, "has no build id, and ab belongs to it"),
    (None, "ab", None, "shares no build id with it"), (None, None, None, "shares no build id with it"), ("ab", None, _DebugLink("x", CRC), None), (None, "ab", _DebugLink("x", CRC), None),
    (None, None, _DebugLink("x", CRC), None), (None, None, _DebugLink("x", 0x1F), f"has the CRC32 {CRC:08x}, and 0000001f belongs to it"),
]  # fmt: skip


@pytest.mark.parametrize(("own", "other", "link", "reason"), MATCHES)
def test_files_that_belong_together(own, other, link, reason):
    assert debug_files._mismatch(image(build_id=own), image(build_id=other, content=b"other"), link) == reason


@pytest.mark.parametrize(("kind", "wanted", "lack"), [
    ("dwarf", "dwarf", None), ("dwarf", "btf", "has no BTF either"), ("dwarf", None, None), ("", None, "has no debug information either"), ("btf", "btf", None), ("btf", "dwarf", "has no DWARF either"),
])  # fmt: skip
def test_files_without_debug_information(kind, wanted, lack):
    assert debug_files._lack(image(kind=kind), wanted) == lack


REASONS = [
    (None, [], [], "has no debug information (neither DWARF nor BTF); build it with `-g`, or give its vmlinux or debug file"),
    ("btf", ["/a", "/b", "/a"], [], "has no BTF; build it with `-g`, or give its vmlinux or debug file (there is no /a, no /b; `--debug-dir` names other folders)"),
    ("dwarf", ["/a"], ["/a is bad", "/b too"], "has no DWARF, and /a is bad; /b too"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "places", "problems", "reason"), REASONS)
def test_why_there_is_none(kind, places, problems, reason):
    assert debug_files._missing_reason(kind, "build it with `-g`", places, problems) == reason


def test_the_first_file_that_is_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").touch()
    (tmp_path / "other").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("own")
    its = image("own")
    assert debug_files._first_file(["missing", "folder", "own", "link", str(tmp_path / "own"), "/dev/null", "other", "own"], its) == "other"
    assert debug_files._first_file(["missing", "./" * 2045 + "other"], its) == "./" * 2045 + "other"
    assert debug_files._first_file(["./" * 2046 + "other"], its) is None
