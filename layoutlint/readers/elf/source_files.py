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
from layoutlint.readers.elf.headers import DYNAMIC_SYMBOLS, SYMBOLS, Section

_SIZE_64, _INFO_64, _SIZE_32, _INFO_32 = 24, 4, 16, 12
_OBJECT, _FUNCTION, _FILE = b"\x01", b"\x02", b"\x04"
"""st_info of local symbols: STB_LOCAL is 0 in the upper half."""
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
        has_typed = max(kinds.find(_OBJECT, start, last), kinds.find(_FUNCTION, start, last)) >= 0
        text = bytes(strings[name : name + _LONGEST]).partition(b"\0")[0]
        files.append(SourceFile(text.decode(errors="replace").rpartition("/")[2], has_typed))
        start = end
    return tuple(files)


class FunctionSymbol(Record, frozen=True):
    """A function named by a symbol."""

    name: str
    address: int
    """Its address; in an object file, relative to its section."""
    size: int
    """In bytes; 0 if the symbol does not state it."""


def functions(image: Image) -> Iterator[FunctionSymbol]:
    """Yield the functions of the symbol table, or without one those that other files can call.

    Raises ReadError for a damaged table.
    """
    table = _table(image, SYMBOLS) or _table(image, DYNAMIC_SYMBOLS)
    if table is None:
        return
    strings = image.raw(image.headers[table.link])
    order = "<" if image.little_endian else ">"
    shape = struct.Struct(order + ("IBxHQQ" if image.bits == 64 else "IIIBxH"))
    content = image.raw(table)
    for entry in shape.iter_unpack(content[: len(content) // shape.size * shape.size]):
        name, *numbers = entry
        kind, section, address, size = numbers if image.bits == 64 else (*numbers[2:], *numbers[:2])
        if kind & 0xF == _FUNCTION[0] and 0 < section < len(image.headers):
            text = bytes(strings[name : name + _LONGEST]).partition(b"\0")[0]
            yield FunctionSymbol(text.decode(errors="replace"), address, size)


def _table(image: Image, kind: int) -> Section | None:
    table = next((header for header in image.headers if header.type == kind and header.size), None)
    return None if table is None or table.link >= len(image.headers) else table
