"""Which inputs may be kernels, before they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from tests.readers.btf.btf_blob import BASE

PLAIN = [
    ("ring.h", b"struct ring { long head; };\n", False),
    ("ring.c", b"struct ring { long head; };\n", False),
    ("compile_commands.json", b"[]\n", False),
    ("snapshot.json", b'{"schema": "https://example.org"}\n', False),
    ("ring.o", b"\x7fELF", True),
    ("elf.h", b"\x7fELF", True),
    ("empty.h", b"", True),
    ("ring", b"struct ring { long head; };\n", True),
]


@pytest.mark.parametrize(("name", "content", "may_be"), PLAIN, ids=[name for name, _, _ in PLAIN])
def test_only_c_outside_of_kernel_trees_is_known_to_be_no_kernel(name: str, content: bytes, may_be: bool, tmp_path: Path):
    (tmp_path / name).write_bytes(content)
    assert dispatch.may_be_kernel(str(tmp_path / name), None) is may_be


def test_a_folder_a_missing_file_and_a_header_of_a_kernel_tree_may_be_one(tmp_path: Path):
    header = tmp_path / "linux" / "include" / "linux" / "fs.h"
    header.parent.mkdir(parents=True)
    header.write_text("struct inode { long i_ino; };\n")
    assert not dispatch.may_be_kernel(str(header), None)
    (tmp_path / "linux" / "include" / "linux" / "kconfig.h").write_text("")
    (tmp_path / "linux" / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\n")
    for path in (header, tmp_path, tmp_path / "none.h"):
        assert dispatch.may_be_kernel(str(path), None)


def test_a_file_that_is_named_like_a_build_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    name, every, options = "build-id:abcd", Wanted(everything=True), ReadOptions(cache=False)
    with pytest.raises(ReadError, match="DEBUGINFOD_URLS"):
        dispatch.read(name, every, options)
    Path(name).write_bytes(BASE)
    named = dispatch.read(name, every, options)
    Path("base").write_bytes(BASE)
    assert [struct.name for struct in named.structs] == [struct.name for struct in dispatch.read("base", every, options).structs]


@pytest.mark.parametrize("name", ["ring.o", "ring.ko", "libring.so"])
def test_a_text_with_the_name_of_an_elf_file_is_not_read_as_c(name: str, tmp_path: Path):
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ReadError) as caught:
        dispatch.sniff(str(tmp_path / name))
    assert caught.value.reason == "is text, and no ELF file as its name says (it starts with 'version https://git-')"
