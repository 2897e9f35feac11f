"""Source files of the translation units in an ELF file, as its symbol table names them.

Compilers name the source file of a unit in a symbol of type STT_FILE (gABI, Symbol Table). Linkers keep these
symbols, and write the name of the object file where an object has lost its own. Units that were compiled
without debug information have their names here as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from layoutlint.readers.elf import Image

SYMBOLS: Final = 2  # SHT_SYMTAB
_SIZE_64, _INFO_64, _SIZE_32, _INFO_32 = 24, 4, 16, 12
_OBJECT, _FUNCTION, _FILE = b"\x01", b"\x02", b"\x04"
"""st_info of local symbols: STB_LOCAL is 0 in the upper half."""
_LONGEST: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One translation unit of the symbol table."""

    name: str
    """The file, without its folder."""
    has_typed_symbols: bool
    """Whether local functions or objects follow: compilers state types, assemblers only where told to."""


def source_files(image: Image) -> tuple[SourceFile, ...] | None:
    """Return the files in the order in which they were linked; None without a symbol table.

    Raises ReadError for a damaged table.
    """
    table = next((header for header in image.headers if header.type == SYMBOLS and header.size), None)
    if table is None or table.link >= len(image.headers):
        return None
    is_64 = image.bits == 64
    size, at = (_SIZE_64, _INFO_64) if is_64 else (_SIZE_32, _INFO_32)
    content, strings = image.raw(table), image.raw(image.headers[table.link])
    kinds = bytes(content[at::size])[: table.info]
    order: Literal["little", "big"] = "little" if image.little_endian else "big"
    found = []
    start = kinds.find(_FILE)
    while start >= 0:
        end = kinds.find(_FILE, start + 1)
        stop = end if end >= 0 else len(kinds)
        name = int.from_bytes(content[start * size : start * size + 4], order)
        has_typed = max(kinds.find(_OBJECT, start, stop), kinds.find(_FUNCTION, start, stop)) >= 0
        text = bytes(strings[name : name + _LONGEST]).partition(b"\0")[0]
        found.append(SourceFile(text.decode(errors="replace").rpartition("/")[2], has_typed))
        start = end
    return tuple(found)
