"""What the test files of pyelftools and elfutils hold that no compiler at hand writes, made anew.

Attributes whose form each entry states, qualifiers of vendors, members that an old compiler misplaced, relocations of
machines that layouts are rarely asked of.
"""

from __future__ import annotations

import random
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_FORM, ENUM_DW_TAG
from elftools.elf.elffile import ELFFile

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from layoutlint.readers.elf import relocation
from tests.oracles.c_probe import need
from tests.readers.dwarf.dwarf_file import Dwarf, sleb, uleb
from tests.readers.dwarf.test_damage import C99, INT, PLANS, UNIT

ROOT = Path(__file__).resolve().parents[3]


def run(*words: str | Path) -> None:
    done = subprocess.run([need(str(words[0])), *map(str, words[1:])], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def read_everything(path: Path) -> Reading:
    return read(str(path), Wanted(everything=True), ReadOptions(reader="dwarf"))


# Attributes whose form each entry states

SIZES = {"data1": 1, "flag": 1, "data2": 2, "data4": 4, "ref4": 4, "strp": 4, "sec_offset": 4, "line_strp": 4, "data8": 8, "addr": 8}


class Rewritten:
    """The entries of a program's units, with the forms of some attributes moved from the abbreviations to the entries."""

    def __init__(self, path: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._abbreviations: dict[tuple[object, ...], int] = {}
        with open(path, "rb") as file:
            dwarf = ELFFile(file).get_dwarf_info()
            self.info = b"".join(self._unit(unit) for unit in dwarf.iter_CUs())
        self.abbreviations = b"".join(uleb(code) + b"".join(key) for key, code in self._abbreviations.items()) + b"\0"

    def _unit(self, unit: object) -> bytes:
        header = struct.pack("<HBBI", 5, 1, 8, 0) if unit.header.version == 5 else struct.pack("<HIB", unit.header.version, 0, 8)
        entries = [(entry, [self._form(entry, value) for value in entry.attributes.values()]) for entry in self._entries(unit)]
        places, position = {}, 4 + len(header)
        for entry, kinds in entries:
            places[entry.offset - unit.cu_offset] = position
            position += len(self._encode(entry, kinds, None))
        body = b"".join(self._encode(entry, kinds, places) for entry, kinds in entries)
        return struct.pack("<I", len(header) + len(body)) + header + body

    def _entries(self, unit: object) -> list[object]:
        """All entries in their order, those that end a list of children among them."""
        found, position = [], unit.cu_die_offset
        end = unit.cu_offset + unit.header.unit_length + unit.structs.initial_length_field_size()
        while position < end:
            entry = unit._get_cached_DIE(position)
            found.append(entry)
            position += entry.size
        return found

    def _form(self, entry: object, value: object) -> tuple[str, bool]:
        """The form of an attribute, and whether the entry is to state it."""
        return value.form, value.form != "DW_FORM_implicit_const" and self._random.random() < 0.4

    def _encode(self, entry: object, kinds: list[tuple[str, bool]], places: dict[int, int] | None) -> bytes:
        if entry.is_null():
            return b"\0"
        pairs = zip(entry.attributes.values(), kinds, strict=True)
        content = b"".join(self._value(value, *kind, places) for value, kind in pairs)
        return uleb(self._code(entry, kinds)) + content

    def _code(self, entry: object, kinds: list[tuple[str, bool]]) -> int:
        key = [uleb(ENUM_DW_TAG[entry.tag]), bytes((entry.has_children,))]
        for value, (form, is_stated) in zip(entry.attributes.values(), kinds, strict=True):
            number = ENUM_DW_AT[value.name] if isinstance(value.name, str) else value.name
            key.append(uleb(number) + uleb(0x16 if is_stated else ENUM_DW_FORM[form]))
            if form == "DW_FORM_implicit_const":
                key.append(sleb(value.value))
        return self._abbreviations.setdefault((*key, b"\0\0"), len(self._abbreviations) + 1)

    def _value(self, value: object, form: str, is_stated: bool, places: dict[int, int] | None) -> bytes:
        head = uleb(ENUM_DW_FORM[form]) if is_stated else b""
        kind = form.removeprefix("DW_FORM_")
        if kind in ("flag_present", "implicit_const"):
            return head
        if kind == "string":
            return head + value.value + b"\0"
        if kind == "exprloc":
            return head + uleb(len(value.value)) + bytes(value.value)
        if kind in ("sdata", "udata"):
            return head + (sleb if kind == "sdata" else uleb)(value.raw_value)
        raw = value.raw_value
        if kind == "ref4" and places is not None:
            raw = places[raw]
        return head + int(raw).to_bytes(SIZES[kind], "little", signed=raw < 0)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.exhaustive), pytest.param(3, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("version", [4, 5])
def test_forms_that_entries_state_change_nothing(tmp_path, version, seed):
    """Two fifths of all attributes of a rich program, each with the form it has and the rest as it stands."""
    sources = sorted((ROOT / "fixtures/variants").glob("*.c"))
    assert sources
    plain = tmp_path / "plain.so"
    run("gcc", "-g", f"-gdwarf-{version}", "-w", "-shared", "-fPIC", *sources[:1], "-o", plain)
    made = Rewritten(plain, seed)
    (tmp_path / "info").write_bytes(made.info)
    (tmp_path / "abbrev").write_bytes(made.abbreviations)
    run("objcopy", "--update-section", f".debug_info={tmp_path}/info", "--update-section", f".debug_abbrev={tmp_path}/abbrev",
        plain, tmp_path / "stated.so")  # fmt: skip
    expected, found = read_everything(plain), read_everything(tmp_path / "stated.so")
    assert found.unread == expected.unread == ()
    assert len(found.structs) > 10
    assert found.structs == expected.structs
    name = expected.structs[3].name
    (one,) = read(str(tmp_path / "stated.so"), Wanted(frozenset({name})), ReadOptions()).structs
    assert one == expected.structs[3]


STATED = [
    # a form, the bytes of the form and value in place of a size of 4; reason, or None
    ("data1", uleb(0x0B) + b"\4", None),
    ("data4", uleb(0x06) + b"\4\0\0\0", None),
    ("udata", uleb(0x0F) + b"\4", None),
    ("in two bytes", b"\x8b\0\4", None),
    ("itself", uleb(0x16) + b"\4", "DW_FORM_indirect where a form must be stated"),
    ("implicit_const", uleb(0x21) + b"\4", "DW_FORM_implicit_const in an entry, which has no place for its value"),
    ("not known", uleb(0x7E) + b"\4", "attribute form 0x7e is not known"),
    ("without an end", b"\xff" * 12, "a LEB128 number of more than 64 bits"),
]


@pytest.mark.parametrize(("content", "reason"), [row[1:] for row in STATED], ids=[row[0] for row in STATED])
def test_a_form_in_an_entry(tmp_path, content, reason):
    plans = {
        UNIT: PLANS[UNIT], INT: PLANS[INT],
        3: ("structure_type", True, ("name:string", "byte_size:indirect")),
        4: ("member", False, ("name:string", "type:ref4", "data_member_location:data1")),
    }  # fmt: skip
    made = Dwarf(plans, ((UNIT, "u.c", C99), (INT, "int", 4), (3, "s", 0x12345678), (4, "m", 17, 0), (0,), (0,)))
    unit = made.unit.replace(struct.pack("<I", 0x12345678), content)
    unit = struct.pack("<I", len(unit) - 4) + unit[4:]
    path = tmp_path / "file.o"
    path.write_bytes(made.file(debug_info=unit))
    reading = read_everything(path)
    assert [each.reason.partition(": ")[2] for each in reading.unread] == ([] if reason is None else [reason])
    assert [(each.name, each.bit_size) for each in reading.structs] == ([("s", 32)] if reason is None else [])


# Qualifiers, attributes and forms of vendors

QUALIFIERS = ["0x4080", "0x4081", "0x4083", "0x4084", "0x4085", "0x4300", "0x40", "0x4b"]
AT_QUALIFIER, AT_STRUCT = 23, 35
VALUE = 0x77


def vendor(tag: str, form: str = "data1", more: int = 0) -> Dwarf:
    """`typedef TAG struct { int m; } t;` and `struct s { TAG int x; };`, with an attribute that no standard has.

    The value of that takes `more` bytes than one.
    """
    plans = {
        UNIT: PLANS[UNIT], INT: PLANS[INT],
        3: (tag, False, ("type:ref4",)),
        4: ("typedef", False, ("name:string", "type:ref4")),
        5: ("structure_type", True, ("byte_size:data1",)),
        6: ("member", False, ("name:string", "type:ref4", "data_member_location:data1", f"0x3001:{form}")),
        7: ("structure_type", True, ("name:string", "byte_size:data1")),
    }  # fmt: skip
    return Dwarf(plans, (
        (UNIT, "u.c", C99), (INT, "int", 4), (3, AT_STRUCT), (4, "t", AT_QUALIFIER),
        (5, 4), (6, "m", 17, 0, VALUE), (0,), (3, 17), (7, "s", 4), (6, "x", AT_STRUCT + 12 + more, 0, VALUE), (0,), (0,),
    ))  # fmt: skip


def test_qualifiers_that_change_no_layout(tmp_path):
    for tag in QUALIFIERS:
        path = tmp_path / "file.o"
        path.write_bytes(vendor(tag).file())
        reading = read_everything(path)
        assert reading.unread == (), tag
        found = {each.name: [(field.name, str(field.type), field.bit_size) for field in each.fields] for each in reading.structs}
        assert found == {"t": [("m", "int", 32)], "s": [("x", "int", 32)]}, tag


def test_a_type_of_another_tag_is_refused_alone(tmp_path):
    path = tmp_path / "file.o"
    path.write_bytes(vendor("0x5101").file())
    reading = read_everything(path)
    assert {each.reason.partition(": ")[2] for each in reading.unread} == {"an entry with tag 0x5101 where a type is expected"}


def test_a_form_that_is_not_known_is_named(tmp_path):
    path = tmp_path / "file.o"
    path.write_bytes(vendor("0x4080", "0x7e").file())
    assert "attribute form 0x7e is not known" in read_everything(path).unread[0].reason


def test_an_address_with_an_offset_of_llvm_is_passed_over(tmp_path):
    """DW_FORM_LLVM_addrx_offset: a LEB128 number and four bytes."""
    made = vendor("0x4080", "0x2001", more=5)
    path = tmp_path / "file.o"
    unit = made.unit.replace(bytes((VALUE,)), bytes((0x80 | VALUE, 1, *b"half")))
    path.write_bytes(made.file(debug_info=struct.pack("<I", len(unit) - 4) + unit[4:]))
    reading = read_everything(path)
    assert reading.unread == ()
    assert {each.name: each.fields[0].name for each in reading.structs} == {"t": "m", "s": "x"}


# Members that GCC 2.96 misplaced

PLACES = [
    # what, size of the struct, members as (name, size, stated place), true places or None for a struct that is refused
    ("int, long long, int", 16, (("a", 4, 0), ("b", 8, 8), ("c", 4, 12)), (0, 4, 12)),
    ("at the end", 12, (("a", 4, 0), ("b", 8, 8)), (0, 4)),
    ("twice", 24, (("a", 4, 0), ("b", 8, 8), ("c", 8, 16), ("d", 4, 20)), (0, 4, 12, 20)),
    ("without overlap", 24, (("a", 4, 0), ("b", 8, 8), ("c", 4, 16)), (0, 8, 16)),
    ("with room to spare", 20, (("a", 1, 0), ("b", 8, 8), ("c", 4, 12)), None),
    ("without room", 16, (("a", 4, 0), ("b", 8, 4), ("c", 4, 8)), None),
    ("where the next one stands", 12, (("a", 4, 0), ("b", 4, 8), ("c", 4, 8)), None),
    ("behind the end", 10, (("a", 4, 0), ("b", 8, 8)), None),
]


@pytest.mark.parametrize(("size", "members", "places"), [row[1:] for row in PLACES], ids=[row[0] for row in PLACES])
def test_members_that_have_one_place_left(tmp_path, size, members, places):
    sizes = (1, 4, 8)
    plans = {
        UNIT: PLANS[UNIT], INT: PLANS[INT],
        3: ("structure_type", True, ("name:string", "byte_size:data1")),
        4: ("member", False, ("name:string", "type:ref4", "data_member_location:data1")),
    }  # fmt: skip
    made = Dwarf(plans, (
        (UNIT, "u.c", C99), *((INT, f"i{each}", each) for each in sizes), (3, "s", size),
        *((4, name, 17 + 5 * sizes.index(width), place) for name, width, place in members), (0,), (0,),
    ))  # fmt: skip
    path = tmp_path / "file.o"
    path.write_bytes(made.file())
    reading = read_everything(path)
    if places is None:
        assert reading.unread or reading.structs[0].problem
    else:
        assert reading.structs[0].problem is None
        assert tuple(field.bit_offset // 8 for field in reading.structs[0].fields) == places


# Relocations

TEXT = """
struct list { struct list *next_in_list, *previous_in_list; };
struct thing { int long_name_one; short long_name_two[3]; struct list chain; };
struct thing thing;
"""
THREAD = "__thread struct thing of_a_thread;\n"
MEMBERS = {"list": ["next_in_list", "previous_in_list"], "thing": ["long_name_one", "long_name_two", "chain"]}
CLANG = (
    "amdgcn-amd-amdhsa", "avr", "bpfeb", "bpfel", "hexagon", "lanai", "loongarch32", "loongarch64", "m68k", "mips", "mips64",
    "mips64el", "mipsel", "powerpc", "powerpcle", "powerpc64", "powerpc64le", "riscv32", "riscv64", "sparc", "sparcel",
    "sparcv9", "systemz", "ve", "xtensa", "arm", "armeb", "aarch64", "aarch64_be", "i386", "x86_64", "x86_64-linux-gnux32",
)  # fmt: skip
GCC = (
    "aarch64", "alpha", "arc", "hppa", "i686", "m68k", "mips", "mips64-gnuabi64", "mips64el-gnuabi64", "mipsel", "powerpc",
    "powerpc64", "powerpc64le", "riscv64", "s390x", "sh4", "sparc64", "arm-gnueabihf", "x86_64",
)  # fmt: skip


def is_right(path: Path) -> None:
    reading = read_everything(path)
    assert reading.unread == ()
    assert {each.name: [field.name for field in each.fields] for each in reading.structs} == MEMBERS
    assert all(each.source is not None and each.source.file.endswith("thing.c") for each in reading.structs)


def object_of(compiler: str, folder: Path, *flags: str, text: str = TEXT) -> Path:
    """An object, or the test is skipped where the compiler cannot make one."""
    at = shutil.which(compiler)
    if at is None:
        pytest.skip(f"{compiler} is not installed")
    (folder / "thing.c").write_text(text)
    words = [at, "-g", *flags, "-c", str(folder / "thing.c"), "-o", str(folder / "thing.o")]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{compiler} {' '.join(flags)}: {done.stderr.splitlines()[0]}")
    return folder / "thing.o"


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("compiler", ["clang-14", "clang-22"])
@pytest.mark.parametrize("target", CLANG)
def test_names_through_the_relocations_of_clang(tmp_path, target, compiler, version):
    is_right(object_of(compiler, tmp_path, "-target", target, f"-gdwarf-{version}"))


POINTERS = [("clang-14", "msp430"), ("clang-19", "msp430"), ("clang-22", "msp430"), ("clang-19", "avr")] + [
    pytest.param(compiler, target, marks=pytest.mark.exhaustive) for compiler in ("clang-14", "clang-22") for target in CLANG
]


@pytest.mark.parametrize(("compiler", "target"), POINTERS)
def test_the_size_of_a_pointer_is_that_of_the_compiler(tmp_path, compiler, target):
    """Clang states none at the type, and on MSP430 another one for addresses."""
    path = object_of(compiler, tmp_path, "-target", target)
    words = [compiler, "-target", target, "-E", "-P", "-xc", "-"]
    size = subprocess.run(words, input="__SIZEOF_POINTER__", capture_output=True, text=True, check=True).stdout
    (pointers,) = (each.fields for each in read_everything(path).structs if each.name == "list")
    assert [(field.bit_offset, field.bit_size) for field in pointers] == [(0, 8 * int(size)), (8 * int(size), 8 * int(size))]


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", [TEXT, TEXT + THREAD], ids=["plain", "thread-local"])
@pytest.mark.parametrize("version", [2, 4, 5])
@pytest.mark.parametrize("machine", GCC)
def test_names_through_the_relocations_of_gcc(tmp_path, machine, version, text):
    cpu, _, abi = machine.partition("-")
    compiler = f"{cpu}-linux-{abi or 'gnu'}-gcc"
    if shutil.which(compiler) is None:
        compiler += "-12"
    is_right(object_of(compiler, tmp_path, f"-gdwarf-{version}", text=text))


@pytest.mark.parametrize("target", ["bpfel", "bpfeb"])
def test_relocations_of_older_compilers_for_bpf(tmp_path, target):
    """Up to clang 12 the types 1 and 10 stand where 2 and 3 do now (LLVM's D101336)."""
    path = object_of("clang", tmp_path, "-target", target, "-gdwarf-4")
    content = bytearray(path.read_bytes())
    with open(path, "rb") as file:
        image = ELFFile(file)
        order = "<" if image.little_endian else ">"
        section = image.get_section_by_name(".rel.debug_info")
        for entry in range(section["sh_offset"], section["sh_offset"] + section["sh_size"], 16):
            info = struct.unpack_from(f"{order}Q", content, entry + 8)[0]
            older = {2: 1, 3: 10}.get(info & 0xFFFFFFFF, info & 0xFFFFFFFF)
            struct.pack_into(f"{order}Q", content, entry + 8, info >> 32 << 32 | older)
    path.write_bytes(content)
    is_right(path)


WORDS = {
    # the prefix in elf.h: the machine; names of its absolute values
    "68K": "EM_68K", "386": "EM_386", "X86_64": "EM_X86_64", "AARCH64": "EM_AARCH64", "ARM": "EM_ARM", "PPC": "EM_PPC",
    "PPC64": "EM_PPC64", "390": "EM_S390", "RISCV": "EM_RISCV", "LARCH": "EM_LOONGARCH", "SPARC": "EM_SPARCV9",
    "PARISC": "EM_PARISC", "ALPHA": "EM_ALPHA", "SH": "EM_SH", "IA64": "EM_IA_64", "ARC": "EM_ARC_COMPACT2", "CKCORE": "EM_CSKY",
    "NIOS2": "EM_ALTERA_NIOS2", "MICROBLAZE": "EM_MICROBLAZE", "OR1K": "EM_OPENRISC", "TILEGX": "EM_TILEGX",
    "TILEPRO": "EM_TILEPRO", "MN10300": "EM_MN10300", "CRIS": "EM_CRIS",
}  # fmt: skip
ABSOLUTE = re.compile(
    r"#define\s+R_([A-Z0-9]+?)_(?:P32_)?(?:U?A?ADDR|UADDR|ABS|DIR|SECREL|BFD_RELOC_|UA)?(8|16|32|64)(?:LSB|MSB)?\s+(0x\w+|\d+)\b"
)


def test_absolute_values_are_those_of_the_c_library():
    header = Path("/usr/include/elf.h")
    if not header.exists():
        pytest.skip("there is no elf.h")
    seen = 0
    for line in header.read_text(errors="replace").splitlines():
        match = ABSOLUTE.match(line)
        if match and match[1] in WORDS and "PC" not in match[0].replace("PPC", ""):
            known = relocation._RECIPES[WORDS[match[1]]].get(int(match[3], 0))
            if match[2] in ("32", "64"):  # set, or added to what is there
                seen += 1
                width = int(match[2]) // 8
                assert known in ((0x10, width), (0x20, width), relocation._IGNORED), line
            else:
                assert known in ((0x10, int(match[2]) // 8), None), line
    assert seen > 40


THREAD_LOCAL = {
    # the prefix in elf.h: the relocations of the offsets of thread-local variables in debug information
    "386": ("TLS_LDO_32",), "X86_64": ("DTPOFF64", "DTPOFF32"), "ARM": ("TLS_LDO32",), "PPC": ("DTPREL32",), "PPC64": ("DTPREL64",),
    "390": ("TLS_LDO32", "TLS_LDO64"), "RISCV": ("TLS_DTPREL32", "TLS_DTPREL64"), "LARCH": ("TLS_DTPREL32", "TLS_DTPREL64"),
    "MIPS": ("TLS_DTPREL32", "TLS_DTPREL64"), "SPARC": ("TLS_DTPOFF32", "TLS_DTPOFF64"),
}  # fmt: skip


def test_offsets_of_thread_local_variables_are_those_of_the_c_library():
    header = Path("/usr/include/elf.h")
    if not header.exists():
        pytest.skip("there is no elf.h")
    numbers = dict(re.findall(r"#define\s+R_(\w+)\s+(\d+)\b", header.read_text(errors="replace")))
    ignored = {
        f"{prefix}_{name}": relocation._RECIPES[{**WORDS, "MIPS": "EM_MIPS"}[prefix]].get(int(numbers[f"{prefix}_{name}"]))
        for prefix, names in THREAD_LOCAL.items()
        for name in names
    }
    assert {name: recipe for name, recipe in ignored.items() if recipe != relocation._IGNORED} == {}


def test_a_relocation_that_is_not_known_is_named(tmp_path):
    path = object_of("clang", tmp_path, "-target", "bpfel", "-gdwarf-4")
    content = path.read_bytes()
    with open(path, "rb") as file:
        section = ELFFile(file).get_section_by_name(".rel.debug_info")
        at = section["sh_offset"] + 8
    path.write_bytes(content[:at] + b"\x63\0\0\0" + content[at + 4 :])
    with pytest.raises(ReadError, match="relocation type 99 of EM_BPF is not known"):
        read_everything(path)
