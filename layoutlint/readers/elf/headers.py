"""Headers of ELF files (gABI, chapter 4), checked against the length of the file.

Importing pyelftools' ELFFile takes longer than reading most inputs, and it reads section names of any length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import Final

from layoutlint.model.record import Record

SYMBOLS, RELA, NOTE, NOBITS, REL, DYNAMIC_SYMBOLS = 2, 4, 7, 8, 9, 11
"""Types of sections: sh_type."""

_OBJECT: Final = 1  # ET_REL
_CORE = 4  # ET_CORE
_SECTION_64, _SECTION_32 = "IIQQQQIIQQ", "IIIIIIIIII"
_FILE_64, _FILE_32 = "HHIQ8xQI6xHHH", "HHII4xII6xHHH"
_IN_SECTION_0 = 0xFFFF  # SHN_XINDEX
_LONGEST_NAME = 256
"""Bytes. Longer section names exist (of C++ templates), but no reader needs them."""


class Section(Record, frozen=True):
    """The fields of a section header that the readers need; positions and sizes in bytes."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    address: int
    """Address in memory; 0 in an object file."""
    align: int
    entry_size: int
    """Bytes of each entry of a table."""


class ElfHeaders(Record, frozen=True):
    """The headers of one file."""

    bits: int
    little_endian: bool
    machine: int
    """e_machine."""
    is_relocatable: bool
    is_core: bool
    """Whether it is a core dump."""
    """Whether this is an object file, whose sections need relocation."""
    entry: int
    """Address at which a program starts (e_entry); 0 for a file that is no program."""
    sections: tuple[Section, ...]


def parse(content: mmap) -> ElfHeaders:
    """Return the headers of a file. Raises ValueError if they are damaged or missing."""
    if content[:4] != b"\x7fELF":
        raise ValueError("the magic number is missing")
    if len(content) < 52 or content[4] not in (1, 2) or content[5] not in (1, 2):
        raise ValueError("neither of 32 nor of 64 bits, of neither byte order, or no longer than this")
    bits, little_endian = 32 * content[4], content[5] == 1
    order = "<" if little_endian else ">"
    shape = struct.Struct(order + (_FILE_64 if bits == 64 else _FILE_32))
    if len(content) < 16 + shape.size:
        raise ValueError("the file ends inside its header")
    file_type, machine, _, start, table, _, entry, count, names = shape.unpack_from(content, 16)
    section = struct.Struct(order + (_SECTION_64 if bits == 64 else _SECTION_32))
    sections = tuple(_sections(content, section, (table, entry, count, names))) if table else ()
    return ElfHeaders(bits, little_endian, machine, file_type == _OBJECT, file_type == _CORE, start, sections)


def _sections(content: mmap, shape: struct.Struct, place: tuple[int, int, int, int]) -> Iterator[Section]:
    table, entry, count, names = place
    if entry != shape.size:
        raise ValueError(f"section headers of {entry} bytes")
    if table + entry > len(content):
        raise ValueError(f"the section headers at {table:#x} lie outside the file")
    first = shape.unpack_from(content, table)
    count = count or first[5]  # more than 65,279 sections do not fit into e_shnum
    names = first[6] if names == _IN_SECTION_0 else names
    if table + entry * count > len(content):
        raise ValueError(f"the {count} section headers at {table:#x} lie outside the file")
    if names >= count:
        raise ValueError(f"section names in section {names} of {count}")
    _, _, _, _, start, size, *_ = shape.unpack_from(content, table + names * entry)
    end = min(start + size, len(content)) if names else 0
    for number in range(count):
        name, kind, flags, address, offset, length, link, info, align, entry_size = shape.unpack_from(
            content, table + number * entry
        )
        text = _name(content, start + name, end)
        yield Section(text, kind, flags, offset, length, link, info, address, align, entry_size)


def _name(content: mmap, start: int, end: int) -> str:
    if start >= end:
        return ""
    stop = content.find(b"\0", start, min(end, start + _LONGEST_NAME))
    return content[start : stop if stop >= 0 else min(end, start + _LONGEST_NAME)].decode(errors="replace")
