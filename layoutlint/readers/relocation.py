"""Relocation of the debug sections of object files (.o, .ko), whole tables at a time.

pyelftools relocates one entry at a time through its parser, which takes minutes on a large module. Only what
stands in debug sections is handled here: absolute values, and RISC-V's and LoongArch's sums of differences.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_SET, _ADD, _SUB = "set", "add", "sub"
_IGNORED = ("ignored", 0)
"""Thread-local offsets and hints to the linker: nothing that a layout is read from."""

Recipe = tuple[str, int]
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


def apply(data: bytearray, table: bytes, symbols: bytes, shape: Shape) -> None:
    """Carries out a relocation table on a section, in place.

    Raises ValueError for a relocation that is not known or points outside.
    """
    recipes = {0: _IGNORED, **_RECIPES.get(shape.machine, {})}
    order = "little" if shape.little_endian else "big"
    values = list(_values(symbols, shape))
    size = len(data)
    for offset, symbol, kind, addend in _entries(table, shape):
        recipe = recipes.get(kind)
        if recipe is None:
            raise ValueError(f"relocation type {kind} of {shape.machine} is not known")
        how, width = recipe
        end = offset + width
        if end > size or symbol >= len(values):
            raise ValueError(f"a relocation at {offset:#x} points outside")
        if not width:
            continue
        value = values[symbol]
        if shape.has_addends:
            value += addend
        if how != _SET or not shape.has_addends:
            there = int.from_bytes(data[offset:end], order)  # type: ignore[arg-type]
            value = there - value if how == _SUB else there + value
        data[offset:end] = (value & (1 << 8 * width) - 1).to_bytes(width, order)  # type: ignore[arg-type]


def _entries(table: bytes, shape: Shape) -> Iterator[tuple[int, int, int, int]]:
    """Offset, symbol, type and addend of each entry."""
    order = "<" if shape.little_endian else ">"
    if shape.machine == "EM_MIPS" and shape.bits == 64:
        yield from _mips64(table, order, shape.has_addends)
        return
    word = order + ("QQ" if shape.bits == 64 else "II")
    signed = "q" if shape.bits == 64 else "i"
    shift, mask = (32, 0xFFFFFFFF) if shape.bits == 64 else (8, 0xFF)
    if shape.machine == "EM_SPARCV9":
        mask = 0xFF  # the upper 24 bits hold data of R_SPARC_OLO10 (SPARC ABI, 64-bit relocation types)
    if shape.has_addends:
        for offset, info, addend in struct.iter_unpack(word + signed, table):
            yield offset, info >> shift, info & mask, addend
    else:
        for offset, info in struct.iter_unpack(word, table):
            yield offset, info >> shift, info & mask, 0


def _mips64(table: bytes, order: str, has_addends: bool) -> Iterator[tuple[int, int, int, int]]:
    """MIPS64 packs three types into r_info (64-bit ELF Object File Specification, 2.9)."""
    if not has_addends:
        raise ValueError("64-bit MIPS relocations without addends are not known")
    for offset, symbol, _, third, second, kind, addend in struct.iter_unpack(order + "QIBBBBq", table):
        if second or third:
            raise ValueError("composed 64-bit MIPS relocations are not known")
        yield offset, symbol, kind, addend


def _values(symbols: bytes, shape: Shape) -> Iterator[int]:
    """The value of each symbol: Elf32_Sym and Elf64_Sym order their members differently."""
    order = "<" if shape.little_endian else ">"
    if shape.bits == 64:
        return (entry[4] for entry in struct.iter_unpack(order + "IBBHQQ", symbols))
    return (entry[1] for entry in struct.iter_unpack(order + "IIIBBH", symbols))
