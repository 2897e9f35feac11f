"""Symbols whose section has a number of its own table: of files with more than 65,279 sections (gABI, Symbol Table)."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.elf import symbols

ELSEWHERE = 0xFFFF
"""SHN_XINDEX."""
SYMBOLS = ((1, 5, ELSEWHERE, 16, 8), (3, 1, 2, 32, 4), (6, 0, 0xFFF1, 0, 0), (7, 2, ELSEWHERE, 8, 1))
"""Name, info, section, address and size."""


def entries(bits: int, mark: str, numbers: bytes | None, cut: int = 0, link: int = 0) -> list[tuple[int, ...]]:
    """The symbols of a table that is section 0, and whose section numbers are in section 1, if there are any."""
    if bits == 64:
        content = b"".join(struct.pack(f"{mark}IBBHQQ", name, info, 0, section, address, size) for name, info, section, address, size in SYMBOLS)
    else:
        content = b"".join(struct.pack(f"{mark}IIIBBH", name, address, size, info, 0, section) for name, info, section, address, size in SYMBOLS)
    table, wide = SimpleNamespace(name=".symtab", type=2, link=9), SimpleNamespace(name=".symtab_shndx", type=18, link=link)
    contents = {".symtab": content[: len(content) - cut], ".symtab_shndx": numbers}
    headers = [table] if numbers is None else [table, wide]
    image = SimpleNamespace(path="x", bits=bits, little_endian=mark == "<", headers=headers, raw=lambda header: contents[header.name])
    return list(symbols._entries(image, table))  # type: ignore[arg-type]


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("mark", "<>")
def test_sections_of_symbols(bits, mark):
    def with_sections(*sections: int) -> list[tuple[int, ...]]:
        return [(name, info, section, address, size) for (name, info, _, address, size), section in zip(SYMBOLS, sections, strict=True)]

    numbers = struct.pack(f"{mark}4I", 70_000, 70_001, 70_002, 70_003)
    assert entries(bits, mark, None) == with_sections(ELSEWHERE, 2, 0xFFF1, ELSEWHERE)
    assert entries(bits, mark, numbers) == with_sections(70_000, 2, 0xFFF1, 70_003)
    assert entries(bits, mark, numbers, link=1) == with_sections(ELSEWHERE, 2, 0xFFF1, ELSEWHERE)
    assert entries(bits, mark, numbers[:15]) == with_sections(70_000, 2, 0xFFF1, ELSEWHERE)
    with pytest.raises(ReadError, match=r"^x: section .symtab ends inside a symbol$"):
        entries(bits, mark, numbers, cut=1)
