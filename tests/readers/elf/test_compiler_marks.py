"""Compilers that `.comment` names."""

from __future__ import annotations

import pytest

from layoutlint.readers.elf import compiler_marks
from layoutlint.readers.elf.elf_file import open_elf
from tests.readers.dwarf.dwarf_file import elf
from tests.readers.elf.test_elf import written

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


@pytest.mark.parametrize(("comment", "behind", "compilers"), COMPILERS.values(), ids=COMPILERS)
def test_compilers(tmp_path, comment, behind, compilers):
    file = elf({".comment": comment.encode(), ".debug_str": behind.encode()})
    with open_elf(written(tmp_path, file)) as image:
        assert compiler_marks.compilers(image) == compilers
