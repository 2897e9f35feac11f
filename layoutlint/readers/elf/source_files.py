"""Source files of the translation units in an ELF file, as its symbol table names them.

Compilers name the source file of a unit in a symbol of type STT_FILE (gABI, Symbol Table). Linkers keep these
symbols, and write the name of the object file for an object without one. Units compiled without debug
information are named here as well.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, Literal

from layoutlint.model.record import Record
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.headers import DYNAMIC_SYMBOLS, NOTE, SYMBOLS, Section

_SIZE_64, _INFO_64, _SIZE_32, _INFO_32 = 24, 4, 16, 12
_OBJECT, _FUNCTION, _FILE, _THREAD = b"\x01", b"\x02", b"\x04", b"\x06"
"""st_info of local symbols: STB_LOCAL is 0 in the upper half."""
_SECTION: Final = 3  # STT_SECTION
_WITHOUT_CODE: Final = frozenset((
    0, SYMBOLS, 3, NOTE, 18, 0x6FFF4C03, 0x6FFFFFF5, 0x70000003, 0x70000006, 0x7000000D, 0x7000002A,
))  # fmt: skip
"""Types of sections with nothing of a source: symbols, their names and numbers (SHT_NULL, SHT_STRTAB,
SHT_SYMTAB_SHNDX), notes, SHT_LLVM_ADDRSIG, SHT_GNU_ATTRIBUTES, those of ARM and RISC-V, and SHT_MIPS_REGINFO,
SHT_MIPS_OPTIONS and SHT_MIPS_ABIFLAGS."""
_LONGEST: Final = 1 << 12


class SourceFile(Record, frozen=True):
    """One translation unit of the symbol table."""

    name: str
    """The file, without its folder."""
    has_typed_symbols: bool
    """Whether local functions or objects follow. Compilers state these types, assemblers only on request."""


def source_files(image: Image) -> tuple[SourceFile, ...] | None:
    """Return the files in the order in which they were linked; None without a symbol table."""
    table = _table(image, SYMBOLS)
    if table is None:
        return None
    is_64 = image.bits == 64
    size, info_offset = (_SIZE_64, _INFO_64) if is_64 else (_SIZE_32, _INFO_32)
    content, strings = image.raw(table), image.raw(image.headers[table.link])
    kinds = bytes(content[: table.info * size])[info_offset::size]  # copied: strides of views are slow
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    files = []
    start = kinds.find(_FILE)
    while start >= 0:
        end = kinds.find(_FILE, start + 1)
        last = end if end >= 0 else len(kinds)
        name = int.from_bytes(content[start * size : start * size + 4], order)
        has_typed = max(kinds.find(each, start, last) for each in (_OBJECT, _FUNCTION, _THREAD)) >= 0
        text = bytes(strings[name : name + _LONGEST]).partition(b"\0")[0]
        files.append(SourceFile(text.decode(errors="replace").rpartition("/")[2], has_typed))
        start = end
    return tuple(files)


def is_empty_object(image: Image) -> bool:
    """Return whether an object file has neither code nor data: its source is empty after `#ifdef`.

    Compilers write no debug information for it. What has any other section is no such object: code for
    link-time optimisation, or the name of a debug file.
    """
    if not image.is_relocatable or any(
        header.size and header.type not in _WITHOUT_CODE and header.name != ".comment"
        for header in image.headers
    ):
        return False
    table = _table(image, SYMBOLS)
    entries = () if table is None else _entries(image, table)
    return all(kind & 0xF in (_SECTION, _FILE[0]) or not section for _, kind, section, _, _ in entries)


class TypedSymbol(Record, frozen=True):
    """A function or an object named by a symbol."""

    name: str
    """The name, without a version."""
    address: int
    """Its address; in an object file, relative to its section."""
    size: int
    """In bytes; 0 if the symbol does not state it."""


def functions(image: Image) -> Iterator[TypedSymbol]:
    """Yield the functions of the symbol table, or without one those that other files can call.

    Raises ReadError for a damaged table.
    """
    yield from (symbol for _, symbol in _typed_symbols(image, _FUNCTION))


def shared_objects(image: Image) -> Iterator[TypedSymbol]:
    """Yield the data that symbols name and that several units can use. Raises ReadError likewise.

    Hidden symbols of a library are local ones in no unit.
    """
    yield from (symbol for is_shared, symbol in _typed_symbols(image, _OBJECT + _THREAD) if is_shared)


def _typed_symbols(image: Image, wanted: bytes) -> Iterator[tuple[bool, TypedSymbol]]:
    """Yield symbols of some types, each with whether it is of any unit: global, or behind a nameless file."""
    table = _table(image, SYMBOLS) or _table(image, DYNAMIC_SYMBOLS)
    if table is None:
        return
    strings = image.raw(image.headers[table.link])
    is_of_unit = False
    for name, kind, section, address, size in _entries(image, table):
        if kind == _FILE[0]:
            is_of_unit = bytes(strings[name : name + 1]) != b"\0"
        if kind & 0xF in wanted and 0 < section < len(image.headers):
            text = bytes(strings[name : name + _LONGEST]).partition(b"\0")[0].partition(b"@")[0]
            symbol = TypedSymbol(text.decode(errors="replace"), address, size)
            yield bool(kind >> 4) or not is_of_unit, symbol


def _entries(image: Image, table: Section) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the position of the name, the binding and type, section, address and size of each symbol."""
    order = "<" if image.little_endian else ">"
    shape = struct.Struct(order + ("IBxHQQ" if image.bits == 64 else "IIIBxH"))
    content = image.raw(table)
    for entry in shape.iter_unpack(content[: len(content) // shape.size * shape.size]):
        name, *numbers = entry
        kind, section, address, size = numbers if image.bits == 64 else (*numbers[2:], *numbers[:2])
        yield name, kind, section, address, size


def _table(image: Image, kind: int) -> Section | None:
    table = next((header for header in image.headers if header.type == kind and header.size), None)
    return None if table is None or table.link >= len(image.headers) else table
