"""Relocation of the debug sections of object files (.o, .ko), whole tables at a time.

pyelftools relocates one entry at a time through its parser, which takes minutes on a large module. Only what
stands in debug sections is handled here: absolute values, and RISC-V's and LoongArch's sums of differences.

`carry_out` goes over millions of entries and is compiled where that is possible (types: relocation.pxd).
It writes only the low bytes of what it adds up, so that numbers without bounds and those of 64 bits agree.
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass
from mmap import mmap

_SET, _ADD, _SUB = 0x10, 0x20, 0x40
_IGNORED = (0x80, 0)
"""Thread-local offsets and hints to the linker: nothing that a layout is read from."""

Recipe = tuple[int, int]
_SUMS_RISCV: dict[int, Recipe] = {
    33: (_ADD, 1), 34: (_ADD, 2), 35: (_ADD, 4), 36: (_ADD, 8), 37: (_SUB, 1), 38: (_SUB, 2), 39: (_SUB, 4),
    40: (_SUB, 8), 54: (_SET, 1), 55: (_SET, 2), 56: (_SET, 4),
    # SUB6, SET6 and the ULEB128 pair: line programs, frames and range lists only.
    43: _IGNORED, 51: _IGNORED, 52: _IGNORED, 53: _IGNORED, 60: _IGNORED, 61: _IGNORED,
}  # fmt: skip
_SUMS_LOONGARCH: dict[int, Recipe] = {
    47: (_ADD, 1), 48: (_ADD, 2), 50: (_ADD, 4), 51: (_ADD, 8), 52: (_SUB, 1), 53: (_SUB, 2), 55: (_SUB, 4),
    56: (_SUB, 8), 100: _IGNORED, 102: _IGNORED, 105: _IGNORED, 106: _IGNORED, 107: _IGNORED, 108: _IGNORED,
}  # fmt: skip

# Machine -> relocation type -> what to do, and on how many bytes; from each architecture's ELF supplement.
_RECIPES: dict[str, dict[int, Recipe]] = {
    "EM_X86_64": {1: (_SET, 8), 10: (_SET, 4), 11: (_SET, 4), 17: _IGNORED, 21: _IGNORED},
    "EM_386": {1: (_SET, 4), 32: _IGNORED},
    "EM_AARCH64": {257: (_SET, 8), 258: (_SET, 4), 259: (_SET, 2), 1029: _IGNORED},
    "EM_ARM": {2: (_SET, 4), 106: _IGNORED},
    "EM_PPC64": {38: (_SET, 8), 43: (_SET, 8), 1: (_SET, 4), 24: (_SET, 4), 78: _IGNORED},
    "EM_PPC": {1: (_SET, 4), 24: (_SET, 4), 78: _IGNORED},
    "EM_S390": {22: (_SET, 8), 4: (_SET, 4), 52: _IGNORED, 53: _IGNORED},
    "EM_RISCV": {1: (_SET, 4), 2: (_SET, 8), 8: _IGNORED, 9: _IGNORED, **_SUMS_RISCV},
    "EM_MIPS": {2: (_SET, 4), 18: (_SET, 8), 39: _IGNORED, 41: _IGNORED},
    "EM_LOONGARCH": {1: (_SET, 4), 2: (_SET, 8), 7: _IGNORED, 9: _IGNORED, **_SUMS_LOONGARCH},
    "EM_BPF": {2: (_SET, 8), 3: (_SET, 4), 4: (_SET, 4)},  # psABI: ABS64, ABS32, NODYLD32
    "EM_SPARCV9": {3: (_SET, 4), 23: (_SET, 4), 32: (_SET, 8), 54: (_SET, 8), 78: _IGNORED, 79: _IGNORED},
}


@dataclass(frozen=True, slots=True)
class Shape:
    """How the tables of a file are laid out."""

    machine: str
    bits: int
    little_endian: bool
    has_addends: bool
    """Whether addends stand in the table (RELA) or in the section itself (REL)."""


_ENTRIES_AT_ONCE = 1 << 16
_WORD, _HALF = 1 << 64, 1 << 32


def apply(data: bytearray | mmap, table: memoryview, values: array[int], shape: Shape) -> None:
    """Carries out a relocation table on a section, in place; `values` are those of the symbols.

    Raises ValueError for a relocation that is not known or points outside; those before it are done then.
    """
    step = 3 if shape.has_addends else 2
    entry = step * shape.bits // 8
    if len(table) % entry:
        raise ValueError(f"a relocation table of {len(table)} bytes ends inside an entry")
    recipes = _recipes(shape.machine)
    shift, mask = (32, 0xFFFFFFFF) if shape.bits == 64 else (8, 0xFF)
    if shape.machine == "EM_SPARCV9":
        mask = 0xFF  # the upper 24 bits hold data of R_SPARC_OLO10 (SPARC ABI, 64-bit relocation types)
    for start in range(0, len(table), entry * _ENTRIES_AT_ONCE):
        words = _entries(table[start : start + entry * _ENTRIES_AT_ONCE], shape)
        bad = carry_out(data, words, values, recipes, shift, mask, shape.has_addends, shape.little_endian)
        if bad >= 0:
            offset, kind = words[bad * step], words[bad * step + 1] & mask
            if kind >= len(recipes) or not recipes[kind]:
                raise ValueError(f"relocation type {kind} of {shape.machine} is not known")
            raise ValueError(f"a relocation at {offset:#x} points outside")


def symbol_values(symbols: memoryview, bits: int, little_endian: bool) -> array[int]:
    """The value of each symbol: the second of three words of Elf64_Sym, and of four of Elf32_Sym.

    Raises ValueError when the table ends inside a symbol.
    """
    step = 3 if bits == 64 else 4
    if len(symbols) % (step * bits // 8):
        raise ValueError(f"a symbol table of {len(symbols)} bytes ends inside a symbol")
    return _words(symbols, bits, little_endian)[1::step]


def carry_out(
    data: bytearray | mmap,
    words: array[int],
    values: array[int],
    recipes: bytes,
    shift: int,
    mask: int,
    has_addends: bool,
    little_endian: bool,
) -> int:
    """Carries out the entries in `words`; the number of the first that cannot be, or -1.

    `recipes` has a byte for each type: what to do, and on how many bytes; 0 for types that are not known.
    """
    size = len(data)
    symbols = len(values)
    kinds = len(recipes)
    step = 3 if has_addends else 2
    for number in range(len(words) // step):
        position = number * step
        offset = words[position]
        symbol = words[position + 1] >> shift
        kind = words[position + 1] & mask
        recipe = recipes[kind] if kind < kinds else 0
        width = recipe & 0x0F
        if recipe == 0 or symbol >= symbols or width > size or offset > size - width:
            return number
        if width == 0:
            continue
        value = values[symbol]
        if has_addends:
            value += words[position + 2]
        if recipe >= _ADD or not has_addends:
            there = 0
            for index in range(width):
                byte = data[offset + (index if little_endian else width - 1 - index)]
                there |= byte << 8 * index
            value = there - value if recipe >= _SUB else there + value
        for index in range(width):
            data[offset + (index if little_endian else width - 1 - index)] = value >> 8 * index & 0xFF
    return -1


def _recipes(machine: str) -> bytes:
    known = {0: _IGNORED, **_RECIPES.get(machine, {})}
    return bytes(sum(known.get(kind, (0, 0))) for kind in range(max(known) + 1))


def _entries(table: memoryview, shape: Shape) -> array[int]:
    """Offset, symbol with type, and addend (if there is one) of each entry."""
    words = _words(table, shape.bits, shape.little_endian)
    if shape.machine == "EM_MIPS" and shape.bits == 64:
        if not shape.has_addends:
            raise ValueError("64-bit MIPS relocations without addends are not known")
        words[1::3] = array("Q", [_mips64(info, shape.little_endian) for info in words[1::3]])
    elif shape.bits == 32 and shape.has_addends:
        words[2::3] = array("Q", [((addend ^ 1 << 31) - (1 << 31)) % _WORD for addend in words[2::3]])
    return words


def _mips64(info: int, little_endian: bool) -> int:
    """MIPS64 packs three types into r_info (64-bit ELF Object File Specification, 2.9)."""
    if little_endian:
        symbol, types = info % _HALF, int.from_bytes((info >> 32).to_bytes(4, "little"))
    else:
        symbol, types = info >> 32, info % _HALF
    if types & 0x00FFFF00:
        raise ValueError("composed 64-bit MIPS relocations are not known")
    return symbol << 32 | types & 0xFF


def _words(content: memoryview, bits: int, little_endian: bool) -> array[int]:
    """Words of the file's width and byte order as numbers of 64 bits."""
    words = array("Q" if bits == 64 else "I")
    words.frombytes(content)
    if little_endian != (sys.byteorder == "little"):
        words.byteswap()
    return words if bits == 64 else array("Q", words)
