"""Numbers in forms of no stated sign: array bounds, sizes and places of bit-fields, as each compiler writes them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dwarf
from layoutlint.readers.dispatch import read
from layoutlint.readers.elf import elf_file
from tests.compilers.variants import compilers
from tests.harness import command
from tests.readers.dwarf.dwarf_file import Dwarf
from tests.real.kernels import Unavailable

UNIT, INT, STRUCT, MEMBER, ARRAY, RANGE, INDEX = range(1, 8)
PLANS = {
    UNIT: ("compile_unit", True, ("name:string", "language:data1")),
    INT: ("base_type", False, ("name:string", "byte_size:data1")),
    STRUCT: ("structure_type", True, ("name:string", "byte_size:data8")),
    MEMBER: ("member", False, ("name:string", "type:ref4", "data_member_location:data8")),
    ARRAY: ("array_type", True, ("type:ref4",)),
}
HEADER = 11


def array(attributes: str, *values: object, size: int = 1 << 31, index: int = 8, address: int = 8) -> bytes:
    """A file with `struct s { char x[...]; char after; }`, whose one dimension has some attributes.

    `index` is the size of the type of the dimension's bounds, for an attribute `type`.
    """
    plans = {**PLANS, RANGE: ("subrange_type", False, tuple(attributes.split()))}
    entries = (
        (UNIT, "u.c", 12), (INT, "c", 1), (INT, "i", index),
        (ARRAY, HEADER + 6), (RANGE, *values), (0,),
        (STRUCT, "s", size), (MEMBER, "x", HEADER + 14, 0), (0,), (0,),
    )  # fmt: skip
    made = Dwarf(plans, entries)
    content = bytearray(made.file())
    at = content.find(made.unit)
    content[at + 10] = address
    return bytes(content)


def length(tmp_path: Path, content: bytes) -> int | str | None:
    """The length of the array, or why the struct is not read."""
    path = tmp_path / "file.o"
    path.write_bytes(content)
    with elf_file.open_elf(str(path)) as image:
        reading: Reading = dwarf.read_elf(image, Wanted(frozenset("s")), ReadOptions())
    if reading.unread:
        return reading.unread[0].reason
    return reading.structs[0].fields[0].dims[0]


ALL = (1 << 64) - 1
AT_INDEX = HEADER + 10
BOUNDS = [
    # what the dimension has, values, more; number of elements
    # gcc 8 and later, clang: `[0]`
    ("count:data1", (0,), {}, 0),
    ("count:implicit_const=0", (), {}, 0),
    # gcc up to 7, in the width of `sizetype`
    ("upper_bound:data8", (ALL,), {}, 0),
    ("upper_bound:sdata", (-1,), {}, 0),
    ("upper_bound:implicit_const=-1", (), {}, 0),
    ("upper_bound:data4", (0xFFFFFFFF,), {"address": 4}, 0),
    ("type:ref4 upper_bound:data4", (AT_INDEX, 0xFFFFFFFF), {"address": 4, "index": 4}, 0),
    # gcc: large arrays in the narrowest form
    ("upper_bound:data1", (0xFF,), {}, 1 << 8),
    ("upper_bound:data2", (0xFFFF,), {}, 1 << 16),
    ("upper_bound:data4", (0xFFFFFFFF,), {}, 1 << 32),
    ("upper_bound:udata", (0xFFFFFFFF,), {}, 1 << 32),
    ("upper_bound:data8", (0xFFFFFFFF,), {}, 1 << 32),
    ("upper_bound:data8", (1 << 32,), {}, (1 << 32) + 1),
    ("upper_bound:data4", (0x7FFFFFFF,), {}, 1 << 31),
    ("upper_bound:data1", (0x80,), {}, 0x81),
    ("type:ref4 upper_bound:data1", (AT_INDEX, 0xFF), {}, 1 << 8),
    ("type:ref4 upper_bound:data4", (AT_INDEX, 0xFFFFFFFF), {}, 1 << 32),
    ("upper_bound:data2", (0xFFFF,), {"address": 4}, 1 << 16),
    # clang: DW_AT_count, where all ones are as many
    ("count:data1", (0xFF,), {}, 0xFF),
    ("count:data2", (0xFFFF,), {}, 0xFFFF),
    ("count:data4", (0xFFFFFFFF,), {}, 0xFFFFFFFF),
    ("count:data8", (1 << 32,), {}, 1 << 32),
    ("count:data4", (0xFFFFFFFF,), {"address": 4, "size": (1 << 32) - 2}, "stands outside its struct"),
    # no length
    ("name:string", ("",), {}, None),
    ("count:data8", (ALL,), {}, None),
    ("count:implicit_const=-1", (), {}, None),
    # lower bounds
    ("lower_bound:data1 upper_bound:data1", (1, 4), {}, 4),
    ("lower_bound:data1 upper_bound:data1", (1, 0), {}, 0),
    ("lower_bound:data8 upper_bound:data1", (ALL, 4), {}, 6),
    ("lower_bound:data1 count:data1", (1, 4), {}, 4),
    # a narrow index type, in which all ones can be -1
    ("type:ref4 upper_bound:data4", (AT_INDEX, 0xFFFFFFFF), {"index": 4}, "which can be -1 in an index of 4 bytes"),
    ("type:ref4 upper_bound:data2", (AT_INDEX, 0xFFFF), {"index": 2}, "which can be -1 in an index of 2 bytes"),
    ("type:ref4 upper_bound:data1", (AT_INDEX, 0xFF), {"index": 1}, "which can be -1 in an index of 1 bytes"),
    # computed when the program runs, also from another unit (LTO)
    ("upper_bound:ref4", (AT_INDEX,), {}, "computed when the program runs"),
    ("upper_bound:ref_addr", (AT_INDEX,), {}, "computed when the program runs"),
    ("count:ref_addr", (AT_INDEX,), {}, "computed when the program runs"),
    ("upper_bound:exprloc", (b"\x30",), {}, "computed when the program runs"),
    ("lower_bound:exprloc upper_bound:data1", (b"\x30", 3), {}, "computed when the program runs"),
]  # fmt: skip


@pytest.mark.parametrize(("attributes", "values", "more", "expected"), BOUNDS)
def test_how_many_elements_a_dimension_states(tmp_path, attributes, values, more, expected):
    output = length(tmp_path, array(attributes, *values, **{"size": 1 << 31 if "address" in more else 1 << 40, **more}))
    if isinstance(expected, str):
        assert isinstance(output, str), output
        assert expected in output
    else:
        assert output == expected


@pytest.mark.parametrize(("size", "address"), [(ALL, 8), (0xFFFFFFFF, 4), (0x1FFFFFFFF, 4)])
def test_a_size_that_no_address_space_has(tmp_path, size, address):
    """GCC passed on -1 for a size that only the running program knows (add_byte_size_attribute)."""
    assert "which no address space has" in str(length(tmp_path, array("count:data1", 1, size=size, address=address)))


def bit_field(left: str, *value: int, storage: int = 1) -> bytes:
    """`struct { int b:30; }` of 96 bytes, placed as before DWARF 4, with its storage at this byte."""
    plans = {
        **PLANS,
        STRUCT: ("structure_type", True, ("name:string", "byte_size:data1")),
        MEMBER: ("member", False, ("name:string", "type:ref4", "byte_size:data1", "bit_size:data1", f"bit_offset:{left}",
                                   "data_member_location:data1")),
    }  # fmt: skip
    entries = (
        (UNIT, "u.c", 12), (INT, "i", 4), (STRUCT, "s", 96), (MEMBER, "b", HEADER + 6, 4, 30, *value, storage), (0,), (0,),
    )  # fmt: skip
    return Dwarf(plans, entries, version=3).file()


@pytest.mark.parametrize(("left", "value", "offset"), [
    ("data1", (1,), 9), ("data1", (2,), 8), ("data1", (0xFD,), 13), ("data2", (0xFFFD,), 13), ("data8", (ALL - 2,), 13),
    ("data4", (0xFFFFFFFD,), 13), ("sdata", (-3,), 13), ("implicit_const=-3", (), 13), ("implicit_const=2", (), 8),
])  # fmt: skip
def test_a_bit_field_that_starts_next_to_its_storage(tmp_path, left, value, offset):
    """The first bit of the storage is 8; bits count from the other end."""
    path = tmp_path / "file.o"
    path.write_bytes(bit_field(left, *value))
    (found,) = read(str(path), Wanted(frozenset("s")), ReadOptions()).structs
    assert found.fields[0].bit_offset == offset


@pytest.mark.parametrize(("left", "value", "offset"), [("data1", 128, 386), ("data8", ALL - 2, 517), ("sdata", -3, 517)])
def test_a_bit_field_far_before_its_storage(tmp_path, left, value, offset):
    """GCC writes a positive number of bits, in a byte, for a type that an `ms_struct` aligns to 32 bytes."""
    path = tmp_path / "file.o"
    path.write_bytes(bit_field(left, value, storage=64))
    (found,) = read(str(path), Wanted(frozenset("s")), ReadOptions()).structs
    assert found.fields[0].bit_offset == offset


def test_a_bit_field_before_its_struct_is_refused(tmp_path):
    path = tmp_path / "file.o"
    path.write_bytes(bit_field("data1", 32, storage=0))
    reading = read(str(path), Wanted(frozenset("s")), ReadOptions())
    assert (reading.structs, "member b stands outside its struct" in str(reading.unread)) == ((), True)


LENGTHS = (0, 1, 2, 0x7F, 0x80, 0x81, 0xFF, 0x100, 0x101, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x10001, 0x7FFFFFFF,
           0x80000000, 0xFFFFFFFF, 0x100000000, 0x100000001, 1 << 55)  # fmt: skip
GCCS = ("gcc", "gcc-9", "gcc-10", "gcc-11", "gcc-12", "gcc-13", "gcc-14", "gcc-15", "gcc-16")
CLANGS = ("clang", "clang-13", "clang-14", "clang-15", "clang-16", "clang-19", "clang-22")


def source(lengths: tuple[int, ...]) -> str:
    """A struct with each length, in the middle and as one of two dimensions, and what the compiler says of it."""
    lines = []
    for n in lengths:
        lines.append(f"struct c{n} {{ char before; char x[{n}]; char after; }} *C{n};")
        lines.append(f"struct d{n} {{ short x[{n}][2]; char after; }} *D{n};")
        lines.append(f"struct t{n} {{ char before; T{n} x; char after; }} *P{n};")
        lines.insert(0, f"typedef char T{n}[{n}];")
    return "\n".join(lines)


def facts(lengths: tuple[int, ...]) -> str:
    """Constants of the offsets and sizes that the compiler gives."""
    names = [f"{kind}{n}" for n in lengths for kind in "cdt"]
    return "unsigned long long facts[] = {" + ", ".join(
        f"__builtin_offsetof(struct {name}, after), sizeof(((struct {name} *)0)->x), sizeof(struct {name})" for name in names
    ) + "};"  # fmt: skip


def compile_object(tmp_path: Path, name: str, lengths: tuple[int, ...], *flags: str) -> tuple[str, dict[str, tuple[int, ...]]]:
    """The object with debug information, and the offset, length and size of each struct."""
    try:
        words = compilers.command(name)
    except Unavailable as reason:
        pytest.skip(str(reason))
    text = tmp_path / "lengths.c"
    text.write_text(f"{source(lengths)}\n{facts(lengths)}\n")
    out = tmp_path / "lengths.o"
    done = subprocess.run([*words, "-w", "-g", *flags, "-c", "-o", str(out), str(text)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open(out, "rb") as file:
        from elftools.elf.elffile import ELFFile

        image = ELFFile(file)
        (symbol,) = image.get_section_by_name(".symtab").get_symbol_by_name("facts")
        data = image.get_section(symbol["st_shndx"]).data()[symbol["st_value"] :][: symbol["st_size"]]
        order = "little" if image.little_endian else "big"
    numbers = [int.from_bytes(data[at : at + 8], order) for at in range(0, len(data), 8)]
    names = [f"{kind}{n}" for n in lengths for kind in "cdt"]
    return str(out), {name: tuple(numbers[3 * k : 3 * k + 3]) for k, name in enumerate(names)}


def describe(path: str) -> dict[str, tuple[int, ...]]:
    reading = read(path, Wanted(everything=True), ReadOptions())
    assert reading.unread == ()
    return {s.name: (s.fields[-1].bit_offset // 8, s.fields[-2].bit_size // 8, s.bit_size // 8) for s in reading.structs}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_lengths_are_those_of_the_compiler(tmp_path, compiler):
    path, expected = compile_object(tmp_path, compiler, LENGTHS)
    assert describe(path) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize("compiler", [*GCCS[1:], *CLANGS[1:]])
def test_lengths_are_those_of_every_compiler(tmp_path, compiler, version):
    path, expected = compile_object(tmp_path, compiler, LENGTHS, f"-gdwarf-{version}")
    assert describe(path) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("compiler", ["arm-linux-gnueabihf-gcc", "powerpc-linux-gnu-gcc", "i686-linux-gnu-gcc", "s390x-linux-gnu-gcc"])
def test_lengths_are_those_of_other_machines(tmp_path, compiler):
    wide = compiler.startswith("s390x")
    path, expected = compile_object(tmp_path, compiler, LENGTHS if wide else tuple(n for n in LENGTHS if n < 1 << 29))
    assert describe(path) == expected


RULE = """
[[rule]]
id = "apart"
struct = "big"
kind = "separate"
fields = [["before"], ["x"]]
why = "an array of 2^32 elements is on the line of what stands before it"
"""


def test_an_array_of_2_to_the_32_elements_is_not_empty(tmp_path):
    """It was read as empty, and the rule was kept."""
    try:
        words = compilers.command("gcc")
    except Unavailable as reason:
        pytest.skip(str(reason))
    (tmp_path / "big.c").write_text("struct big { long before; char x[0x100000000]; long after; } *big;\n")
    (tmp_path / "r.toml").write_text(RULE)
    subprocess.run([*words, "-g", "-c", "big.c"], cwd=tmp_path, check=True)
    done = command.run("check", "big.o", "--rules", "r.toml", "--no-packs", "--format", "json", cwd=tmp_path)
    (finding,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, finding["outcome"]) == (1, "at-risk")
