"""Symbols of data in the symbol table of an ELF file (gABI, chapter 4)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from typing import Final

from layoutlint.errors import ReadError
from layoutlint.model.record import Record
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.headers import SYMBOLS, Section

_SECTION_NUMBERS: Final = 18  # SHT_SYMTAB_SHNDX
_WRITABLE, _ALLOCATED, _CODE, _THREAD = 1, 2, 4, 0x400  # SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS
_OBJECT, _FILE = 1, 4  # STT_OBJECT, STT_FILE; STT_NOTYPE is 0
_ELSEWHERE: Final = 0xFFFF  # SHN_XINDEX: the number of the section is in SHT_SYMTAB_SHNDX
_PLACELESS: Final = {0: "it is defined elsewhere", 0xFFF2: "it is a common symbol, which the linker places"}
"""Of SHN_UNDEF and SHN_COMMON."""
_ENTRY_64, _ENTRY_32 = "IBBHQQ", "IIIBBH"
_MERGED = re.compile(r"(?:\.L)?_MergedGlobals(?:[._]|$)")
"""The names that LLVM gives to several variables together (lib/CodeGen/GlobalMerge.cpp)."""
_LONGEST = 1 << 12
"""The most bytes of a variable's name that are read."""
_MOST_TEXT = 1 << 27
"""The most bytes of all names; symbols can share one long name."""


class Symbol(Record, frozen=True):
    """A variable in the symbol table."""

    name: str
    address: int
    """In an object file, the offset in its section."""
    size: int
    section: int
    """The number of its section."""
    has_type: bool
    """Whether its type is object; a label has none."""
    is_local: bool = False
    """Whether only its own unit knows the name: a `static` variable."""
    unit: str = ""
    """The source file of a local symbol, without folders; empty if not stated."""

    @property
    def end(self) -> int:
        """The address after its last byte."""
        return self.address + self.size


def read_symbols(image: Image) -> list[Symbol] | None:
    """Return the variables and labels of data in a file; None without a symbol table.

    Raises ReadError for a damaged table.
    """
    table = _find_table(image)
    if table is None:
        return None
    strings = bytes(image.raw(image.headers[table.link]))
    holding = [holds_data(header) for header in image.headers]
    symbols: list[Symbol] = []
    unit, length = "", 0
    for name, info, section, address, size in _entries(image, table):
        kind = info & 15
        if kind > _FILE or (kind != _FILE and (kind > _OBJECT or section >= len(holding))):
            continue
        if kind == _FILE:
            unit = _text(strings, name)
        elif holding[section]:
            text = _text(strings, name)
            length += len(text)
            if length > _MOST_TEXT:
                raise ReadError(
                    image.path, f"section {table.name} has more than {_MOST_TEXT:,} bytes of names"
                )
            if text and not _MERGED.match(text) and _is_inside(image, section, address, size):
                is_local = info < 16  # STB_LOCAL
                own_unit = unit if is_local else ""
                symbols.append(Symbol(text, address, size, section, kind == _OBJECT, is_local, own_unit))
    return symbols


def _find_table(image: Image) -> Section | None:
    """Return the header of the symbol table, whose names are in a section that exists."""
    table = next((header for header in image.headers if header.type == SYMBOLS and header.size), None)
    return None if table is None or table.link >= len(image.headers) else table


def symbol_values(image: Image, names: Iterable[str]) -> dict[str, set[int]]:
    """Return the values of the symbols with some names, as far as a file defines them.

    Raises ReadError for a damaged table.
    """
    table = _find_table(image)
    if table is None:
        return {}
    strings = bytes(image.raw(image.headers[table.link]))
    values: dict[str, set[int]] = {name: set() for name in names}
    for position, _, section, address, _ in _entries(image, table):
        name = _text(strings, position)
        if section and name in values:
            values[name].add(address)
    return values


def names_without_place(image: Image, names: Iterable[str]) -> dict[str, str]:
    """Return why an object file gives no address to the variables with some names, as far as it has them.

    Raises ReadError for a damaged table.
    """
    table = _find_table(image) if image.is_relocatable else None
    if table is None:
        return {}
    strings, wanted = bytes(image.raw(image.headers[table.link])), frozenset(names)
    sections = {_text(strings, name): section for name, _, section, _, _ in _entries(image, table)}
    return {name: _PLACELESS[sections[name]] for name in wanted if sections.get(name) in _PLACELESS}


def holds_data(header: Section) -> bool:
    """Return whether a section has variables in memory, one of each for all threads.

    Linux 7.2 for x86 keeps code among its data, so that `.data` counts as both.
    """
    is_code = header.flags & _CODE and not header.flags & _WRITABLE
    return bool(header.flags & _ALLOCATED) and not is_code and not header.flags & _THREAD


def _entries(image: Image, table: Section) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield name, info, section, address and size of each symbol. Raises ReadError."""
    order = "<" if image.little_endian else ">"
    entry = struct.Struct(order + (_ENTRY_64 if image.bits == 64 else _ENTRY_32))
    content = image.raw(table)
    if len(content) % entry.size:
        raise ReadError(image.path, f"section {table.name} ends inside a symbol")
    numbers = _section_numbers(image, table, order)
    for position, values in enumerate(entry.iter_unpack(content)):
        if image.bits == 64:
            name, info, _, section, address, size = values
        else:
            name, address, size, info, _, section = values
        if section == _ELSEWHERE and position < len(numbers):
            section = numbers[position]
        yield name, info, section, address, size


def _section_numbers(image: Image, table: Section, order: str) -> tuple[int, ...]:
    """Return the sections of symbols in a file with more than 65,279 sections; empty for other files."""
    number = image.headers.index(table)
    wide = (h for h in image.headers if h.type == _SECTION_NUMBERS and h.link == number)
    header = next(wide, None)
    if header is None:
        return ()
    content = image.raw(header)
    return struct.unpack(f"{order}{len(content) // 4}I", content[: len(content) // 4 * 4])


def _text(strings: bytes, start: int) -> str:
    end = strings.find(b"\0", start, start + _LONGEST)
    return strings[start : end if end >= 0 else start + _LONGEST].decode(errors="replace")


def _is_inside(image: Image, section: int, address: int, size: int) -> bool:
    """Return whether a symbol lies within its section; linker scripts, and damage, put some outside."""
    header = image.headers[section]
    start = 0 if image.is_relocatable else header.address
    return start <= address and address + size <= start + header.size
