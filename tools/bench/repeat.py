"""Larger inputs of the same kind: an ELF file with its units of debug information several times over.

A unit refers to its own entries relative to itself (DWARF 5, 7.5.6: reference forms), and to strings, line tables and
lists by offsets into other sections, which all copies share. So a copy of .debug_info behind itself is as legal as the
first. Each copy gets abbreviation tables of its own, as further units of a larger program would have: only that one
offset in each unit's header is changed (7.5.1.1). Nothing else in the file moves; what grew stands at its end, before a
new table of sections.
"""

from __future__ import annotations

import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile


@dataclass(frozen=True, slots=True)
class _Section:
    """A section: its number in the table, and what is in it, decompressed."""

    number: int
    data: bytes


def repeat(path: Path, times: int, output: Path) -> None:
    """Write `path` with its units `times` times over; ValueError for what is no 64-bit little-endian program with DWARF."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        if elf.elfclass != 64 or not elf.little_endian or elf["e_type"] == "ET_REL":
            raise ValueError(f"{path}: not a linked 64-bit little-endian program")
        info, abbreviations = _section(elf, ".debug_info"), _section(elf, ".debug_abbrev")
        file.seek(elf["e_shoff"])
        table = bytearray(file.read(elf["e_shnum"] * elf["e_shentsize"]))
    shutil.copyfile(path, output)
    with output.open("r+b") as grown:
        grown.seek(0, 2)
        _place(table, info.number, grown.tell(), len(info.data) * times)
        for copy in range(times):
            grown.write(_move(info.data, len(abbreviations.data) * copy))
        _place(table, abbreviations.number, grown.tell(), len(abbreviations.data) * times)
        for _ in range(times):
            grown.write(abbreviations.data)
        at = -(-grown.tell() // 8) * 8
        grown.seek(at)
        grown.write(table)
        grown.seek(0x28)  # e_shoff
        grown.write(struct.pack("<Q", at))


def _section(elf: ELFFile, name: str) -> _Section:
    number = elf.get_section_index(name)
    if number is None:
        raise ValueError(f"no {name}")
    return _Section(number, elf.get_section(number).data())


def _place(table: bytearray, number: int, at: int, size: int) -> None:
    """Change one entry of the table of sections: sh_flags loses SHF_COMPRESSED, sh_offset and sh_size are new."""
    entry = number * 64
    flags = struct.unpack_from("<Q", table, entry + 8)[0] & ~0x800
    struct.pack_into("<Q", table, entry + 8, flags)
    struct.pack_into("<QQ", table, entry + 24, at, size)


def _move(info: bytes, by: int) -> bytearray:
    """.debug_info whose units find their abbreviations `by` bytes further on."""
    moved, at = bytearray(info), 0
    while at < len(info):
        length, version = struct.unpack_from("<IH", info, at)
        if length >= 0xFFFFFFF0:
            raise ValueError(f".debug_info+{at:#x}: a unit of 64-bit DWARF")
        place = at + (8 if version >= 5 else 6)
        struct.pack_into("<I", moved, place, struct.unpack_from("<I", info, place)[0] + by)
        at += 4 + length
    return moved
