"""Relocation, compiled and interpreted: what each entry does, and that damaged tables are refused alike."""

from __future__ import annotations

import importlib.util
import random
import re
import struct
import sys
from array import array
from pathlib import Path
from types import ModuleType

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.elf import elf_file, relocation
from tests.readers.elf.test_elf import build, write


@pytest.fixture(params=["compiled", "interpreted"])
def module(request, monkeypatch) -> ModuleType:
    """The module as it is compiled, and as its source runs."""
    source = relocation.__file__.split(".")[0] + ".py"
    if request.param == "compiled":
        if relocation.__file__ == source:
            pytest.skip("relocation is not compiled here; `python setup.py build_ext --inplace` does it")
        return relocation
    spec = importlib.util.spec_from_file_location("interpreted_relocation", source)
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, loaded)  # dataclasses look their module up
    spec.loader.exec_module(loaded)
    return loaded


VALUES = (0, 0x1000, 0xFFFFFFFFFFFFFFF0)


def apply(module, machine, bits, little, has_addends, *entries, data=bytes(16)) -> bytes:
    """The section after entries of (offset, symbol, type, addend)."""
    mark = "<" if little else ">"
    shift = 32 if bits == 64 else 8
    words = mark + ("QQq" if bits == 64 else "IIi")
    rows = [struct.pack(words, at, symbol << shift | kind, addend) for at, symbol, kind, addend in entries]
    table = b"".join(row if has_addends else row[: len(row) * 2 // 3] for row in rows)
    symbol = mark + ("8xQ8x" if bits == 64 else "4xI8x")
    packed = b"".join(struct.pack(symbol, value % (1 << bits)) for value in VALUES)
    values = module.symbol_values(memoryview(packed), bits, little)
    section = bytearray(data)
    module.apply(section, memoryview(table), values, module.TableFormat(machine, bits, little, has_addends))
    return bytes(section)


ENTRIES = [
    # machine, bits, little, RELA, (offset, symbol, type, addend), section before, after
    ("EM_X86_64", 64, True, True, (0, 1, 1, 5), 16 * b"\xaa", struct.pack("<Q", 0x1005) + 8 * b"\xaa"),
    ("EM_X86_64", 64, True, True, (12, 1, 10, 0x12345), bytes(16), bytes(12) + struct.pack("<I", 0x13345)),
    ("EM_X86_64", 64, True, True, (0, 1, 10, -0x1001), bytes(4), b"\xff\xff\xff\xff"),
    ("EM_X86_64", 64, True, True, (0, 2, 1, 0x20), bytes(8), struct.pack("<Q", 0x10)),
    ("EM_X86_64", 64, True, True, (8, 2, 1, -0x20), bytes(16), bytes(8) + struct.pack("<Q", 0xFFFFFFFFFFFFFFD0)),
    ("EM_X86_64", 64, True, True, (0, 0, 0, 1), b"abcd", b"abcd"),
    ("EM_X86_64", 64, True, True, (4, 0, 17, 1), b"abcd", b"abcd"),
    ("EM_S390", 64, False, True, (1, 1, 4, 2), bytes(6), b"\0\0\0\x10\x02\0"),
    ("EM_AARCH64", 64, True, True, (2, 1, 259, 3), bytes(4), b"\0\0\x03\x10"),
    ("EM_386", 32, True, False, (0, 1, 1, 0), struct.pack("<I", 7), struct.pack("<I", 0x1007)),
    ("EM_386", 32, True, False, (0, 2, 1, 0), struct.pack("<I", 0x20), struct.pack("<I", 0x10)),
    ("EM_MIPS", 32, False, False, (0, 1, 2, 0), struct.pack(">I", 7), struct.pack(">I", 0x1007)),
    ("EM_PPC", 32, False, True, (0, 1, 1, -1), bytes(4), struct.pack(">I", 0xFFF)),
    ("EM_RISCV", 64, True, True, (0, 1, 35, 1), struct.pack("<I", 2), struct.pack("<I", 0x1003)),
    ("EM_RISCV", 64, True, True, (0, 1, 39, 1), struct.pack("<I", 2), struct.pack("<i", 2 - 0x1001)),
    ("EM_RISCV", 32, True, True, (0, 0, 36, -2), struct.pack("<q", 1), struct.pack("<q", -1)),
    ("EM_RISCV", 64, True, True, (1, 1, 54, 0x10), b"abc", b"a\x10c"),
    ("EM_SPARCV9", 64, False, True, (0, 1, 0xABCD00 | 32, 1), bytes(8), struct.pack(">Q", 0x1001)),
]  # fmt: skip


@pytest.mark.parametrize(("machine", "bits", "little", "has_addends", "entry", "before", "after"), ENTRIES)
def test_what_an_entry_does(module, machine, bits, little, has_addends, entry, before, after):
    assert apply(module, machine, bits, little, has_addends, entry, data=before) == after


BAD = [
    # id, entry on x86-64 and 16 bytes, message
    ("behind the end", (13, 1, 10, 0), "a relocation at 0xd points outside"),
    ("behind the end by one", (9, 1, 1, 0), "a relocation at 0x9 points outside"),
    ("as far as can be", ((1 << 64) - 1, 1, 10, 0), "a relocation at 0xffffffffffffffff points outside"),
    ("where adding a width would wrap", ((1 << 64) - 4, 1, 10, 0), "a relocation at 0xfffffffffffffffc points outside"),
    ("an ignored one behind the end", (17, 1, 17, 0), "a relocation at 0x11 points outside"),
    ("no such symbol", (0, 3, 10, 0), "a relocation at 0x0 points outside"),
    ("no such symbol by far", (0, (1 << 32) - 1, 10, 0), "a relocation at 0x0 points outside"),
    ("unknown type", (0, 1, 9, 0), "relocation type 9 of EM_X86_64 is not known"),
    ("type 2 ** 32 - 1", (0, 1, (1 << 32) - 1, 0), "relocation type 4294967295 of EM_X86_64 is not known"),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_bad_entries(module, entry, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        apply(module, "EM_X86_64", 64, True, True, (0, 1, 1, 0), entry)


def test_a_section_shorter_than_a_value(module):
    with pytest.raises(ValueError, match="points outside"):
        apply(module, "EM_X86_64", 64, True, True, (0, 1, 1, 0), data=b"abc")


@pytest.mark.parametrize("size", [1, 8, 23, 25])
def test_a_table_that_ends_inside_an_entry(module, size):
    shape = module.TableFormat("EM_X86_64", 64, True, True)
    with pytest.raises(ValueError, match=f"a relocation table of {size} bytes ends inside an entry"):
        module.apply(bytearray(8), memoryview(bytes(size)), array("Q", VALUES), shape)
    with pytest.raises(ValueError, match=f"a symbol table of {size} bytes ends inside a symbol"):
        module.symbol_values(memoryview(bytes(size)), 64, True)


MIPS = [
    # little-endian, bytes of r_info behind the symbol: special symbol, third, second and first type
    (True, (0, 0, 0, 18)), (False, (0, 0, 0, 18)), (True, (3, 0, 0, 2)), (False, (3, 0, 0, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("little", "types"), MIPS)
def test_mips64_packs_its_types(module, little, types):
    mark, section = "<" if little else ">", bytearray(8)
    table = struct.pack(f"{mark}QI4Bq", 0, 1, *types, 2)
    module.apply(section, memoryview(table), array("Q", VALUES), module.TableFormat("EM_MIPS", 64, little, True))
    assert section == struct.pack(f"{mark}Q", 0x1002) if types[-1] == 18 else struct.pack(f"{mark}I4x", 0x1002)


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize(("types", "has_addends", "message"), [
    ((0, 0, 18, 2), True, "composed 64-bit MIPS relocations are not known"),
    ((0, 5, 0, 2), True, "composed 64-bit MIPS relocations are not known"),
    ((0, 0, 0, 2), False, "64-bit MIPS relocations without addends are not known"),
])  # fmt: skip
def test_mips64_that_is_not_known(module, little, types, has_addends, message):
    table = struct.pack(f"{'<' if little else '>'}QI4B", 0, 1, *types) + bytes(8 * has_addends)
    with pytest.raises(ValueError, match=message):
        module.apply(bytearray(8), memoryview(table), array("Q", VALUES), module.TableFormat("EM_MIPS", 64, little, has_addends))


def test_long_tables_are_one(module):
    """More entries than are taken at once; each writes its number."""
    count = 150_000
    entries = [(8 * n, 0, 1, n) for n in range(count)]
    data = apply(module, "EM_X86_64", 64, True, True, *entries, data=bytes(8 * count))
    assert array("Q", data) == array("Q", range(count))


def test_compiled_and_interpreted_agree_on_anything(module):
    """Random entries of all kinds and widths: the same bytes, or the same error at the same place."""
    rng = random.Random(1)
    for machine, recipes in relocation._RECIPES.items():
        for _ in range(60):
            bits, little, has_addends = rng.choice((32, 64)), rng.random() < 0.5, rng.random() < 0.7
            entries = [
                (rng.choice((rng.randrange(40), rng.getrandbits(bits))) if rng.random() < 0.1 else rng.randrange(24),
                 rng.randrange(3), rng.choice(list(recipes)) & 0xFF, rng.randrange(-(1 << 31), 1 << 31))
                for _ in range(6)
            ]  # fmt: skip
            arguments = (machine, bits, little, has_addends, *entries)
            assert outcome(module, *arguments) == outcome(relocation, *arguments)


def outcome(module, *arguments) -> bytes | str:
    try:
        return apply(module, *arguments, data=bytes(range(32)))
    except ValueError as error:
        return str(error)


def test_relocated_sections_cannot_be_changed_and_hash(tmp_path):
    with elf_file.open_elf(build(tmp_path, "-c")) as image:
        section = image.section(".debug_info")
        assert section.readonly
        assert {bytes(section[:4])} == {section[:4]}


def test_tables_that_overlap_are_refused(tmp_path):
    """Five hundred more headers that mean the same table, which would be carried out as often."""
    content = bytearray(Path(build(tmp_path, "-c")).read_bytes())
    start, count = struct.unpack_from("<Q", content, 40)[0], struct.unpack_from("<H", content, 60)[0]
    headers = [content[start + 64 * n : start + 64 * (n + 1)] for n in range(count)]
    table = max((h for h in headers if h[4] == 4), key=lambda h: struct.unpack_from("<Q", h, 32))  # SHT_RELA
    struct.pack_into("<H", content, 60, count + 500)
    path = write(tmp_path, bytes(content) + bytes(table) * 500)
    with elf_file.open_elf(path) as image, pytest.raises(ReadError, match="its 501 relocation tables are larger than the file"):
        image.section(".debug_info")


NAMES = {
    # a machine, the prefix of its relocations in elf.h, those that write a value (+: add it to the section's), those that are ignored
    "EM_X86_64": ("R_X86_64_", "64 32 32S 16 8", "DTPOFF32 DTPOFF64"),
    "EM_386": ("R_386_", "32 16 8", "TLS_LDO_32"),
    "EM_ARM": ("R_ARM_", "ABS32 ABS16 ABS8 ABS32_NOI", "TLS_LDO32"),
    "EM_PPC64": ("R_PPC64_", "ADDR64 UADDR64 ADDR32 UADDR32 ADDR16 UADDR16", "DTPREL64"),
    "EM_PPC": ("R_PPC_", "ADDR32 UADDR32 ADDR16 UADDR16", "DTPREL32"),
    "EM_S390": ("R_390_", "64 32 16 8", "TLS_LDO32 TLS_LDO64"),
    "EM_MIPS": ("R_MIPS_", "32 64", "TLS_DTPREL32 TLS_DTPREL64"),
    "EM_SPARC": ("R_SPARC_", "8 16 32 UA32 64 UA64 UA16", "TLS_DTPOFF32 TLS_DTPOFF64 TLS_TPOFF32 TLS_TPOFF64"),
    "EM_68K": ("R_68K_", "32 16 8", "TLS_LDO32"),
    "EM_ALPHA": ("R_ALPHA_", "REFLONG=32 REFQUAD=64", "DTPREL64"),
    "EM_MICROBLAZE": ("R_MICROBLAZE_", "32 64", "TLSDTPREL32"),
    "EM_AARCH64": ("R_AARCH64_", "P32_ABS32 P32_ABS16 ABS64 ABS32 ABS16", "TLS_DTPREL"),
    "EM_LOONGARCH": (
        "R_LARCH_", "32 64 ADD8 ADD16 ADD24 ADD32 ADD64 SUB8 SUB16 SUB24 SUB32 SUB64",
        "TLS_DTPREL32 TLS_DTPREL64 RELAX ALIGN ADD6 SUB6 ADD_ULEB128 SUB_ULEB128",
    ),
    "EM_PARISC": ("R_PARISC_", "DIR32 SECREL32 DIR64 SECREL64", "TLS_DTPOFF32"),
    "EM_IA_64": ("R_IA64_", "DIR32MSB DIR32LSB DIR64MSB DIR64LSB SECREL32MSB SECREL32LSB SECREL64MSB SECREL64LSB", "DTPREL64MSB DTPREL64LSB"),
    "EM_ARC_COMPACT": ("R_ARC_", "8 16 24 32", "TLS_DTPOFF"),
    "EM_CSKY": ("R_CKCORE_", "ADDR32", ""),
    "EM_OPENRISC": ("R_OR1K_", "32 16 8", "TLS_DTPOFF"),
    "EM_NDS32": ("R_NDS32_", "32_RELA=32", ""),
    "EM_TILEGX": ("R_TILEGX_", "64 32 16 8", ""),
    "EM_TILEPRO": ("R_TILEPRO_", "32 16 8", ""),
    "EM_M32R": ("R_M32R_", "16 32 16_RELA=16 32_RELA=32", ""),
    "EM_MN10300": ("R_MN10300_", "32 16 8", ""),
    "EM_CRIS": ("R_CRIS_", "8 16 32", ""),
    "EM_METAG": ("R_METAG_", "ADDR32", ""),
    "EM_ALTERA_NIOS2": ("R_NIOS2_", "BFD_RELOC_32 BFD_RELOC_16 BFD_RELOC_8", "TLS_DTPREL"),
    "EM_RISCV": (
        "R_RISCV_", "32 64 ADD8 ADD16 ADD32 ADD64 SUB8 SUB16 SUB32 SUB64 SET8 SET16 SET32",
        "TLS_DTPREL32 TLS_DTPREL64 ALIGN RELAX SUB6 SET6 SET_ULEB128 SUB_ULEB128",
    ),
    "EM_BPF": ("R_BPF_", "64_64 64_ABS64 64_ABS32 64_NODYLD32 64_32 DATA_8 DATA_16 DATA_32 DATA_64", ""),
    "EM_SH": ("R_SH_", "+DIR32", "TLS_LDO_32 TLS_DTPOFF32"),
    "EM_XTENSA": ("R_XTENSA_", "+32", ""),
    "EM_QDSP6": ("R_HEX_", "32 16 8", ""),
    "EM_AVR": ("R_AVR_", "32 16 8", ""),
    "EM_MSP430": ("R_MSP430_", "32 16_BYTE", ""),
    "EM_AMDGPU": ("R_AMDGPU_", "ABS64 ABS32", ""),
    "EM_LANAI": ("R_LANAI_", "32", ""),
    "EM_VE": ("R_VE_", "REFLONG=32 REFQUAD=64", ""),
}  # fmt: skip


LATER = {
    "R_RISCV_SET_ULEB128": 60, "R_RISCV_SUB_ULEB128": 61, "R_AARCH64_P32_ABS16": 2, "R_LARCH_RELAX": 100, "R_LARCH_ALIGN": 102,
    "R_LARCH_ADD6": 105, "R_LARCH_SUB6": 106, "R_LARCH_ADD_ULEB128": 107, "R_LARCH_SUB_ULEB128": 108,
    "R_BPF_DATA_8": 8, "R_BPF_DATA_16": 9, "R_BPF_DATA_32": 11, "R_BPF_DATA_64": 12,
    "R_BPF_64_ABS64": 2, "R_BPF_64_ABS32": 3, "R_BPF_64_NODYLD32": 4, "R_XTENSA_32": 1, "R_HEX_32": 6, "R_HEX_16": 7, "R_HEX_8": 8,
    "R_AVR_32": 1, "R_AVR_16": 4, "R_AVR_8": 26, "R_MSP430_32": 1, "R_MSP430_16_BYTE": 5, "R_AMDGPU_ABS64": 3, "R_AMDGPU_ABS32": 6,
    "R_LANAI_32": 4, "R_VE_REFLONG": 1, "R_VE_REFQUAD": 2,
}  # fmt: skip
"""Those that the header of Debian 12 does not have, from the psABI of the architecture, ELFRelocs of LLVM, or binutils (R_BPF_DATA)."""


@pytest.mark.parametrize("machine", NAMES)
def test_numbers_are_those_of_the_c_library(module, machine):
    """With the operation and the width that the names state."""
    put, add, subtract, ignore = 0x10, 0x20, 0x40, (0x80, 0)
    header = Path("/usr/include/elf.h")
    if not header.exists():
        pytest.skip("no elf.h here")
    numbers: dict[str, int] = {}
    for name, value in re.findall(r"^#define\s+(R_\w+)\s+(\w+)", header.read_text(), re.MULTILINE):
        numbers[name] = numbers[value] if value in numbers else int(value, 0)
    numbers = LATER | numbers
    prefix, written, ignored = NAMES[machine]
    expected = {numbers[prefix + name]: ignore for name in ignored.split()}
    for word in written.split():
        name, _, bits = word.removeprefix("+").partition("=")
        operation = add if word[0] == "+" else {"ADD": add, "SUB": subtract}.get(name[:3], put) if not name.startswith("ADDR") else put
        expected[numbers[prefix + name]] = (operation, int(bits or re.findall(r"\d+", name)[-1]) // 8)
    assert module._RECIPES[machine] == expected


def test_machines_that_are_another_or_in_the_table(module):
    assert {*module._RECIPES} == {*NAMES, "EM_SPARCV9", "EM_SPARC32PLUS", "EM_ARC_COMPACT2"}
    assert all(module._RECIPES[other] == module._RECIPES["EM_SPARC"] for other in ("EM_SPARCV9", "EM_SPARC32PLUS"))
    assert module._RECIPES["EM_ARC_COMPACT2"] == module._RECIPES["EM_ARC_COMPACT"]
