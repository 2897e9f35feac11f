"""Relocation of the debug sections of object files (.o, .ko), whole tables at a time.

pyelftools relocates one entry at a time through its parser, which takes minutes on a large module. This
module handles only the relocations of debug sections: absolute values, and the sums of differences of RISC-V
and LoongArch.

`carry_out` loops over millions of entries and is compiled if possible (types: relocation.pxd). It writes only
the low bytes of its sums, so that unbounded numbers and those of 64 bits agree.
"""

from __future__ import annotations

import sys
from array import array
from mmap import mmap

from layoutlint.model.record import Record
from layoutlint.readers.elf import headers
from layoutlint.readers.elf.headers import Section

_SET, _ADD, _SUB = 0x10, 0x20, 0x40
_IGNORED = (0x80, 0)
"""Thread-local offsets and hints to the linker: no layout depends on them."""

Recipe = tuple[int, int]
_SUMS_RISCV: dict[int, Recipe] = {
    33: (_ADD, 1), 34: (_ADD, 2), 35: (_ADD, 4), 36: (_ADD, 8), 37: (_SUB, 1), 38: (_SUB, 2), 39: (_SUB, 4),
    40: (_SUB, 8), 54: (_SET, 1), 55: (_SET, 2), 56: (_SET, 4),
    # SUB6, SET6 and the ULEB128 pair: line programs, frames and range lists only.
    43: _IGNORED, 51: _IGNORED, 52: _IGNORED, 53: _IGNORED, 60: _IGNORED, 61: _IGNORED,
}  # fmt: skip
_SUMS_LOONGARCH: dict[int, Recipe] = {
    47: (_ADD, 1), 48: (_ADD, 2), 49: (_ADD, 3), 50: (_ADD, 4), 51: (_ADD, 8),
    52: (_SUB, 1), 53: (_SUB, 2), 54: (_SUB, 3), 55: (_SUB, 4), 56: (_SUB, 8),
    100: _IGNORED, 102: _IGNORED, 105: _IGNORED, 106: _IGNORED, 107: _IGNORED, 108: _IGNORED,
}  # fmt: skip
_ONES, _TWOS, _FOURS, _EIGHTS = (_SET, 1), (_SET, 2), (_SET, 4), (_SET, 8)
_SPARC: dict[int, Recipe] = {
    1: _ONES, 2: _TWOS, 3: _FOURS, 23: _FOURS, 32: _EIGHTS, 54: _EIGHTS, 55: _TWOS,
    76: _IGNORED, 77: _IGNORED, 78: _IGNORED, 79: _IGNORED,
}  # fmt: skip
_ARC: dict[int, Recipe] = {1: _ONES, 2: _TWOS, 3: (_SET, 3), 4: _FOURS, 67: _IGNORED}

# Machine -> relocation type -> what to do, and on how many bytes; from each architecture's ELF supplement,
# and for those without one from elf.h of the GNU C library and ELFRelocs of LLVM.
_RECIPES: dict[str, dict[int, Recipe]] = {
    "EM_X86_64": {1: _EIGHTS, 10: _FOURS, 11: _FOURS, 12: _TWOS, 14: _ONES, 17: _IGNORED, 21: _IGNORED},
    "EM_386": {1: _FOURS, 20: _TWOS, 22: _ONES, 32: _IGNORED},
    "EM_AARCH64": {1: _FOURS, 2: _TWOS, 257: _EIGHTS, 258: _FOURS, 259: _TWOS, 1029: _IGNORED},  # 1, 2: ILP32
    "EM_ARM": {2: _FOURS, 5: _TWOS, 8: _ONES, 55: _FOURS, 106: _IGNORED},
    "EM_PPC64": {38: _EIGHTS, 43: _EIGHTS, 1: _FOURS, 24: _FOURS, 3: _TWOS, 25: _TWOS, 78: _IGNORED},
    "EM_PPC": {1: _FOURS, 24: _FOURS, 3: _TWOS, 25: _TWOS, 78: _IGNORED},
    "EM_S390": {22: _EIGHTS, 4: _FOURS, 3: _TWOS, 1: _ONES, 52: _IGNORED, 53: _IGNORED},
    "EM_RISCV": {1: _FOURS, 2: _EIGHTS, 8: _IGNORED, 9: _IGNORED, **_SUMS_RISCV},
    "EM_MIPS": {2: _FOURS, 18: _EIGHTS, 39: _IGNORED, 41: _IGNORED},
    "EM_LOONGARCH": {1: _FOURS, 2: _EIGHTS, 8: _IGNORED, 9: _IGNORED, **_SUMS_LOONGARCH},
    # In data, R_BPF_64_64 and R_BPF_64_32 (up to clang 12) are ABS64 and ABS32; 4 is NODYLD32. 8 to 12 are
    # R_BPF_DATA_8, _16, _32 and _64 of binutils up to 2.40, whose 1 to 4 and 10 are in code only.
    "EM_BPF": {
        1: _EIGHTS, 2: _EIGHTS, 3: _FOURS, 4: _FOURS, 8: _ONES, 9: _TWOS, 10: _FOURS, 11: _FOURS, 12: _EIGHTS,
    },
    "EM_SPARCV9": _SPARC, "EM_SPARC": _SPARC, "EM_SPARC32PLUS": _SPARC,
    # Machines without a row in TARGETS. SH and Xtensa leave addends in the section, with RELA as well.
    "EM_68K": {1: _FOURS, 2: _TWOS, 3: _ONES, 31: _IGNORED},
    "EM_ALPHA": {1: _FOURS, 2: _EIGHTS, 33: _IGNORED},
    "EM_PARISC": {1: _FOURS, 41: _FOURS, 80: _EIGHTS, 104: _EIGHTS, 244: _IGNORED},
    "EM_SH": {1: (_ADD, 4), 146: _IGNORED, 150: _IGNORED},
    "EM_IA_64": {
        36: _FOURS, 37: _FOURS, 38: _EIGHTS, 39: _EIGHTS, 100: _FOURS, 101: _FOURS, 102: _EIGHTS,
        103: _EIGHTS, 182: _IGNORED, 183: _IGNORED,
    },
    "EM_ARC_COMPACT": _ARC, "EM_ARC_COMPACT2": _ARC,
    "EM_CSKY": {1: _FOURS},
    "EM_MICROBLAZE": {1: _FOURS, 5: _EIGHTS, 26: _IGNORED},
    "EM_ALTERA_NIOS2": {12: _FOURS, 13: _TWOS, 14: _ONES, 34: _IGNORED},
    "EM_OPENRISC": {1: _FOURS, 2: _TWOS, 3: _ONES, 33: _IGNORED},
    "EM_XTENSA": {1: (_ADD, 4)},
    "EM_NDS32": {20: _FOURS},
    "EM_TILEGX": {1: _EIGHTS, 2: _FOURS, 3: _TWOS, 4: _ONES},
    "EM_TILEPRO": {1: _FOURS, 2: _TWOS, 3: _ONES},
    "EM_M32R": {1: _TWOS, 2: _FOURS, 33: _TWOS, 34: _FOURS},
    "EM_MN10300": {1: _FOURS, 2: _TWOS, 3: _ONES},
    "EM_CRIS": {1: _ONES, 2: _TWOS, 3: _FOURS},
    "EM_METAG": {2: _FOURS},
    "EM_QDSP6": {6: _FOURS, 7: _TWOS, 8: _ONES},
    "EM_AVR": {1: _FOURS, 4: _TWOS, 26: _ONES},
    "EM_MSP430": {1: _FOURS, 5: _TWOS},
    "EM_AMDGPU": {3: _EIGHTS, 6: _FOURS},
    "EM_LANAI": {4: _FOURS},
    "EM_VE": {1: _FOURS, 2: _EIGHTS},
}  # fmt: skip


class TableFormat(Record, frozen=True):
    """The format of a file's relocation tables."""

    machine: str
    bits: int
    little_endian: bool
    has_addends: bool
    """Whether the table has the addends (RELA), or the section itself (REL)."""


_CREL = 0x40000014
"""SHT_CREL: relocations in LEB128 numbers, an extension of LLVM."""
_TABLES = (headers.REL, headers.RELA, _CREL)
_PREFIXES = (".rela", ".rel", ".crel")
_ENTRIES_AT_ONCE = 1 << 16
_WORD, _HALF = 1 << 64, 1 << 32


class RelocationTables:
    """The relocation tables of an object file, by the section that each relocates.

    A table states its section (sh_info), its symbols (sh_link) and the size of its entries. Its name is that
    of its section with `.rel` or `.rela` in front (gABI, Special Sections). A section whose tables contradict
    this is refused: values that are not relocated look like good ones.
    """

    def __init__(self, sections: tuple[Section, ...], bits: int) -> None:
        self._sections = sections
        self._bits = bits
        self._by_section: dict[int, list[Section]] = {}
        self._problems: dict[str, str] = {}
        """Problems of tables that are named after a section, by its name."""
        self._names = {_uncompressed_name(section.name) for section in sections}
        for table in sections:
            target_name = _target_name(table.name)
            problem = None if target_name is None else _mismatch(sections, table, target_name)
            if problem is not None:
                self._problems.setdefault(target_name or "", problem)
            if table.type in _TABLES:
                self._by_section.setdefault(table.info, []).append(table)

    def tables(self, index: int) -> list[Section]:
        """Return the tables of a section. Raises ValueError for damage."""
        name = self._sections[index].name
        problem = self._problems.get(_uncompressed_name(name))
        if problem is not None:
            raise ValueError(problem)
        tables = self._by_section.get(index, [])
        for table in tables:
            target_name = _target_name(table.name)
            if target_name in self._names and target_name != _uncompressed_name(name):
                raise ValueError(f"{table.name} claims to relocate {name}")
            _refuse_damage(self._sections, table, self._bits)
        return tables

    def has(self, index: int) -> bool:
        """Return whether anything relocates a section."""
        return any(table.size for table in self._by_section.get(index, ()))


def _uncompressed_name(name: str) -> str:
    """Return a name without the `z` of compressed sections."""
    return ".debug" + name[7:] if name.startswith(".zdebug") else name


def _target_name(name: str) -> str | None:
    """Return the section that a relocation table is named after; None for other names."""
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(f"{prefix}.")), None)
    return None if prefix is None else _uncompressed_name(name[len(prefix) :])


def _mismatch(sections: tuple[Section, ...], table: Section, target_name: str) -> str | None:
    """Return how the header of a table contradicts its name; None if they agree."""
    if table.type not in _TABLES:
        return f"{table.name} has the type {table.type:#x}, which is not that of a relocation table"
    if table.info >= len(sections):
        return f"{table.name} claims to relocate section {table.info} of {len(sections)}"
    target_section = sections[table.info].name
    if _uncompressed_name(target_section) == target_name:
        return None
    return f"{table.name} claims to relocate {target_section or f'section {table.info}'}"


def _refuse_damage(sections: tuple[Section, ...], table: Section, bits: int) -> None:
    """Raise ValueError for a table whose header no assembler writes."""
    if table.type == _CREL:
        raise ValueError(f"{table.name} is in the CREL format, which is not read; build without `--crel`")
    expected = (3 if table.type == headers.RELA else 2) * bits // 8
    if table.entry_size != expected:
        raise ValueError(f"{table.name} has entries of {table.entry_size} bytes, not of {expected}")
    if table.link == 0:
        return  # without a symbol table; entries can then use symbol 0 only
    if table.link >= len(sections):
        raise ValueError(f"{table.name} has its symbols in section {table.link} of {len(sections)}")
    symbols = sections[table.link]
    if symbols.type not in (headers.SYMBOLS, headers.DYNAMIC_SYMBOLS):
        name = symbols.name or f"section {table.link}"
        raise ValueError(f"{table.name} has its symbols in {name}, which is not a symbol table")


def apply(data: bytearray | mmap, table: memoryview, values: array[int], shape: TableFormat) -> None:
    """Carry out a relocation table on a section, in place; `values` are those of the symbols.

    Raises ValueError for an unknown relocation or one outside the section; those before it are then done.
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
        failure = carry_out(data, words, values, recipes, shift, mask, shape.has_addends, shape.little_endian)
        if failure >= 0:
            offset, kind = words[failure * step], words[failure * step + 1] & mask
            if kind >= len(recipes) or not recipes[kind]:
                raise ValueError(f"relocation type {kind} of {shape.machine} is not known")
            raise ValueError(f"a relocation at {offset:#x} points outside")


def symbol_values(symbols: memoryview, bits: int, little_endian: bool) -> array[int]:
    """Return the value of each symbol: word 2 of 3 in Elf64_Sym, word 2 of 4 in Elf32_Sym.

    Raises ValueError if the table ends inside a symbol.
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
    """Carry out the entries in `words`; return the number of the first that cannot be, or -1.

    `recipes` has a byte for each type: the operation and the number of bytes; 0 for unknown types.
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
            old_value = 0
            for index in range(width):
                byte = data[offset + (index if little_endian else width - 1 - index)]
                old_value |= byte << 8 * index
            value = old_value - value if recipe >= _SUB else old_value + value
        for index in range(width):
            data[offset + (index if little_endian else width - 1 - index)] = value >> 8 * index & 0xFF
    return -1


def _recipes(machine: str) -> bytes:
    recipes = {0: _IGNORED, **_RECIPES.get(machine, {})}
    return bytes(sum(recipes.get(kind, (0, 0))) for kind in range(max(recipes) + 1))


def _entries(table: memoryview, shape: TableFormat) -> array[int]:
    """Return the offset, the symbol with its type, and the addend (if there is one) of each entry."""
    words = _words(table, shape.bits, shape.little_endian)
    if shape.machine == "EM_MIPS" and shape.bits == 64:
        if not shape.has_addends:
            raise ValueError("64-bit MIPS relocations without addends are not known")
        words[1::3] = array("Q", [_mips64(info, shape.little_endian) for info in words[1::3]])
    elif shape.bits == 32 and shape.has_addends:
        words[2::3] = array("Q", [((addend ^ 1 << 31) - (1 << 31)) % _WORD for addend in words[2::3]])
    return words


def _mips64(info: int, little_endian: bool) -> int:
    """Return r_info with one type: MIPS64 packs three (64-bit ELF Object File Specification, 2.9)."""
    if little_endian:
        symbol, types = info % _HALF, int.from_bytes((info >> 32).to_bytes(4, "little"))
    else:
        symbol, types = info >> 32, info % _HALF
    if types & 0x00FFFF00:
        raise ValueError("composed 64-bit MIPS relocations are not known")
    return symbol << 32 | types & 0xFF


def _words(content: memoryview, bits: int, little_endian: bool) -> array[int]:
    """Return words of the file's width and byte order as numbers of 64 bits."""
    words = array("Q" if bits == 64 else "I")
    words.frombytes(content)
    if little_endian != (sys.byteorder == "little"):
        words.byteswap()
    return words if bits == 64 else array("Q", words)
