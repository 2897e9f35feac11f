"""Compilers that `.comment` names."""

from __future__ import annotations

import pytest

from layoutlint.readers.elf import compiler_marks
from layoutlint.readers.elf.elf_file import open_elf
from tests.readers.dwarf.dwarf_file import elf
from tests.readers.elf.test_elf import write

GCC, CLANG, RUST = "GCC: (GNU) 14.2.0", "Debian clang version 19.1.7", "rustc version 1.85.0"
COMPILERS = {
    # .comment, the section behind it, compilers
    "one": (f"{GCC}\0", "", (GCC,)),
    "sorted, each once": (f"\0{GCC}\0{CLANG}\0{GCC}\0", "", (CLANG, GCC)),
    "of C alone": (f"{RUST}\0Linker: LLD 19\0", "", ()),
    "not what another section names": (f"{RUST}\0", f"{CLANG}\0", ()),
    "without a NUL, before another section": (GCC, f"{CLANG}\0", (GCC,)),
    "nor what an empty one precedes": ("", f"{CLANG}\0", ()),
    "after more than linkers write": ("\0" * 65536 + f"{GCC}\0", "", ()),
}


MAJOR = {
    GCC: "gcc 14",
    "GCC: (Debian 12.2.0-14+deb12u1) 12.2.0": "gcc 12",
    "GCC: (Gentoo Hardened 13.2.1_p20240210 (r1)) 13.2.1 20240210": "gcc 13",
    "GCC: (crosstool-NG 1.24.0) 8.4.0": "gcc 8",
    CLANG: "clang 19",
    "Android (8508608, based on r450784e) clang version 14.0.7 (https://example.org/gcc-3.4)": "clang 14",
    "gcc 14": "gcc 14",
    "x": "x",
}


def test_major_versions():
    assert {name: compiler_marks.major_versions((name,))[0] for name in MAJOR} == MAJOR
    assert compiler_marks.major_versions((*MAJOR, GCC)) == tuple(sorted(set(MAJOR.values())))


@pytest.mark.parametrize(("comment", "behind", "compilers"), COMPILERS.values(), ids=COMPILERS)
def test_compilers(tmp_path, comment, behind, compilers):
    file = elf({".comment": comment.encode(), ".debug_str": behind.encode()})
    with open_elf(write(tmp_path, file)) as image:
        assert compiler_marks.compilers(image) == compilers


def test_a_damaged_comment_hides_nothing_else(tmp_path):
    """No layout depends on `.comment`: a file whose section ends behind its own end is read."""
    file = bytearray(elf({".comment": f"{GCC}\0".encode(), ".debug_str": b"x\0"}))
    with open_elf(write(tmp_path, bytes(file))) as image:
        (header,) = (each for each in image.headers if each.name == ".comment")
    table, entry = int.from_bytes(file[40:48], "little"), int.from_bytes(file[58:60], "little")
    for at in range(table, len(file) - entry + 1, entry):
        if int.from_bytes(file[at + 24 : at + 32], "little") == header.offset:
            file[at + 32 : at + 40] = (1 << 40).to_bytes(8, "little")
    with open_elf(write(tmp_path, bytes(file))) as image:
        assert compiler_marks.compilers(image) == ()
