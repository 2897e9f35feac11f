"""Damaged and unsupported DWARF: each with the exact words, and the rest of the file is read."""

from __future__ import annotations

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dwarf
from layoutlint.readers.elf import elf_file as elf
from tests.readers.dwarf.dwarf_file import Dwarf
from tests.readers.dwarf.dwarf_file import elf as elf_file

UNIT, INT, STRUCT, MEMBER, TYPEDEF, POINTER = 1, 2, 3, 4, 5, 6
SECOND = 10
"""Added to the codes of the second unit, which nothing damages."""
PLANS = {
    UNIT: ("compile_unit", True, ("name:string", "language:data1")),
    INT: ("base_type", False, ("name:string", "byte_size:data1")),
    STRUCT: ("structure_type", True, ("name:string", "byte_size:data1", "sibling:ref4")),
    MEMBER: ("member", False, ("name:string", "type:ref4", "data_member_location:data1")),
    TYPEDEF: ("typedef", False, ("name:string", "type:ref4")),
    POINTER: ("pointer_type", False, ("type:ref4",)),
}
C99 = 12
# Where entries start: the unit header has 11 bytes, the root entry 6, the int 6, the struct `s` 8, its member 8.
AT_INT, AT_STRUCT, AT_MEMBER, AT_END = 17, 23, 31, 40


def unit(*entries: tuple[object, ...], end: bool = True, **changed: tuple[str, bool, tuple[str, ...]]) -> Dwarf:
    """A unit with an int at AT_INT; `entries` follow, and keywords (lower case) replace plans."""
    codes = {"struct": STRUCT, "member": MEMBER, "typedef": TYPEDEF}
    plans = {**PLANS, **{code + SECOND: plan for code, plan in PLANS.items()}}
    plans.update({codes[name]: plan for name, plan in changed.items()})
    before = ((UNIT, "u.c", C99), (INT, "int", 4))
    return Dwarf(plans, before + entries + (((0,),) if end else ()))


def struct(member_type: int = AT_INT, location: int = 0, size: int = 4, sibling: int = AT_END, base: int = 0) -> Dwarf:
    """A unit with `struct s { TYPE m; }`."""
    return unit((STRUCT + base, "s", size, sibling), (MEMBER + base, "m", member_type, location), (0,))


GOOD = struct()
NAMED_S = Wanted(frozenset("st"))


def read(tmp_path, content: bytes, wanted: Wanted = NAMED_S) -> Reading:
    path = tmp_path / "file.o"
    path.write_bytes(content)
    with elf.open_elf(str(path)) as image:
        return dwarf.read_elf(image, wanted, ReadOptions())


def test_the_good_unit_is_good(tmp_path):
    reading = read(tmp_path, GOOD.file())
    assert reading.unread == ()
    assert [(s.name, s.bit_size, [f.name for f in s.fields]) for s in reading.structs] == [("s", 32, ["m"])]


def typedefs(*targets: int) -> Dwarf:
    """Typedefs `t` one after another, each for the given position."""
    return unit(*((TYPEDEF, "t", target) for target in targets))


BLOCK_SIZE = ("structure_type", True, ("name:string", "byte_size:block1", "decl_line:data1"))
BLOCK_PLACE = ("member", False, ("name:string", "type:ref4", "data_member_location:block1"))
M, END = (MEMBER, "m", AT_INT, 0), (0,)
SIBLING = "DW_AT_sibling points backwards or outside"
DAMAGED = [
    # id, the first unit, where, what is said
    ("code not in the table", unit((9,)), AT_STRUCT, "abbreviation code 9 is not in the table"),
    ("code behind the table", unit((99,)), AT_STRUCT, "abbreviation code 99 is not in the table"),
    ("code without end", unit((1 << 90,)), AT_STRUCT + 10, "a LEB128 number of more than 64 bits"),
    ("code in a struct", unit((STRUCT, "s", 4, AT_MEMBER + 2), (9,), END), AT_STRUCT,
     "abbreviation code 9 is not in the table"),
    ("sibling backwards", struct(sibling=AT_INT), AT_STRUCT + 4, SIBLING),
    ("sibling outside", struct(sibling=4000), AT_STRUCT + 4, SIBLING),
    ("children without end", unit((STRUCT, "s", 4, AT_END - 1), M, end=False), AT_STRUCT, "a reference leaves its unit"),
    ("type outside", struct(member_type=4000), AT_STRUCT, "a reference leaves its unit"),
    ("type inside the header", struct(member_type=3), AT_STRUCT, "a reference leaves its unit"),
    ("type is no type", struct(member_type=AT_MEMBER), AT_STRUCT, "an entry with tag 0xd where a type is expected"),
    ("struct contains itself", struct(member_type=AT_STRUCT), AT_STRUCT, "types refer to one another in a circle"),
    ("typedef of itself", unit((TYPEDEF, "t", AT_STRUCT)), AT_STRUCT, "types refer to one another in a circle"),
    ("typedefs of one another", unit((TYPEDEF, "t", AT_STRUCT + 7), (TYPEDEF, "t", AT_STRUCT)), AT_STRUCT,
     "types refer to one another in a circle"),
    ("pointer to itself", unit((STRUCT, "s", 8, AT_END), (MEMBER, "m", AT_END, 0), END, (POINTER, AT_END)), AT_STRUCT,
     "types refer to one another in a circle"),
    ("member outside its struct", struct(location=1), AT_STRUCT, "member m stands outside its struct"),
    ("size in a block", unit((STRUCT, "s", b"\1\2", 0), END, struct=BLOCK_SIZE), AT_STRUCT,
     "a struct whose size is not a number"),
    ("location computed", unit((STRUCT, "s", 4, AT_END + 2), (MEMBER, "m", AT_INT, b"\x30\x1c"), END, member=BLOCK_PLACE),
     AT_STRUCT, "a member's location is the expression 30 1c"),
    ("supplementary file", unit((TYPEDEF, "t", 5), typedef=("typedef", False, ("name:string", "type:GNU_ref_alt"))),
     AT_STRUCT, "refers to a supplementary file (dwz), and none is named"),
    ("type far outside", unit((TYPEDEF, "t", (1 << 64) - 1), typedef=("typedef", False, ("name:string", "type:ref8"))),
     AT_STRUCT, "a reference leaves its unit"),
    ("no such type unit", unit((TYPEDEF, "t", 5), typedef=("typedef", False, ("name:string", "type:ref_sig8"))),
     AT_STRUCT, "no type unit has the signature 0x5"),
    ("size below zero", unit((STRUCT, "s"), END, struct=("structure_type", True, ("name:string", "byte_size:implicit_const=-1"))),
     AT_STRUCT, "a struct whose size is not a number"),
    ("alignment of nothing", unit((STRUCT, "s", 4, 0, 0), END, struct=("structure_type", True, ("name:string", "byte_size:data1", "alignment:data1", "decl_line:data1"))),
     AT_STRUCT, "an alignment of 0 bytes"),
    ("alignment of three", unit((STRUCT, "s", 4, 3, 0), END, struct=("structure_type", True, ("name:string", "byte_size:data1", "alignment:data1", "decl_line:data1"))),
     AT_STRUCT, "an alignment of 3 bytes"),
    ("name in the abbreviation", unit((STRUCT, "s", 4, AT_MEMBER + 7), (MEMBER, AT_INT, 0), END, member=("member", False, ("name:implicit_const=1", "type:ref4", "data_member_location:data1"))),
     AT_STRUCT, "a name of form 0x21"),
    ("bit-field below zero", unit((STRUCT, "s", 4, AT_END), M, END, member=("member", False, ("name:string", "type:ref4", "data_member_location:data1", "bit_size:implicit_const=-1"))),
     AT_STRUCT, "the size of bit-field m is not a number"),
    ("bit-field in a block", unit((STRUCT, "s", 4, AT_END), (MEMBER, "m", AT_INT, 0, b"\1"), END, member=("member", False, ("name:string", "type:ref4", "data_member_location:data1", "bit_size:block1"))),
     AT_STRUCT, "the size of bit-field m is not a number"),
    ("not in any unit", unit((TYPEDEF, "t", 5000), typedef=("typedef", False, ("name:string", "type:ref_addr"))),
     AT_STRUCT, "a reference leaves .debug_info"),
]  # fmt: skip


EVERYTHING = Wanted(everything=True)
# What a typedef stands for is nobody's business unless it is asked for.
ROWS = [(NAMED_S, *row) for row in DAMAGED] + [
    (EVERYTHING, *row) for row in DAMAGED if row[1].entries[2][0] != TYPEDEF
]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "first", "where", "why"), [(row[0], *row[2:]) for row in ROWS],
    ids=[f"{row[1]}{' of everything' * row[0].everything}" for row in ROWS],
)  # fmt: skip
def test_damage_is_told_and_the_rest_is_read(tmp_path, names, first, where, why):
    reading = read(tmp_path, first.file(struct(size=8, base=SECOND).unit), names)
    assert [str(unread) for unread in reading.unread][:1] == [f"{tmp_path}/file.o: .debug_info+{where:#x}: {why}"]
    assert [(s.name, s.bit_size) for s in reading.structs if s.bit_size == 64] == [("s", 64)]


def test_a_name_outside_the_strings(tmp_path):
    """Where names are asked for, nothing refers to them outside; only who lists everything meets such a one."""
    plan = ("structure_type", True, ("name:strp", "byte_size:data1", "sibling:ref4"))
    content = unit((STRUCT, 77, 4, AT_END + 2), M, END, struct=plan).file()
    reading = read(tmp_path, content, EVERYTHING)
    assert [u.reason for u in reading.unread] == [f".debug_info+{AT_STRUCT:#x}: .debug_str: 0x4d is outside the section, which has 0x0 bytes"]


def damaged_header(at: int, data: bytes) -> bytes:
    """The good unit, its header overwritten, and a second one."""
    content = bytearray(GOOD.unit)
    content[at : at + len(data)] = data
    return GOOD.file(debug_info=bytes(content) + struct(size=8, base=SECOND).unit)


NO_REST = "the rest of the section is not read"
FATAL = [
    # id, file, message of the ReadError
    ("unit longer than its section", damaged_header(0, b"\xff\xff"), "a unit of 0xffff bytes ends behind its section"),
    ("reserved length", damaged_header(0, b"\xf5\xff\xff\xff"), "the reserved unit length 0xfffffff5"),
    ("version 1", damaged_header(4, b"\1"), "DWARF version 1 is not read"),
    ("version 77", damaged_header(4, b"\x4d"), "DWARF version 77 is not read"),
    ("addresses of 3 bytes", damaged_header(10, b"\3"), "addresses of 3 bytes"),
    ("section of 3 bytes", GOOD.file(debug_info=b"\1\2\3"), "the section ends inside a unit header"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "why"), [row[1:] for row in FATAL], ids=[row[0] for row in FATAL])
def test_where_no_unit_can_be_told_from_the_next(tmp_path, content, why):
    with pytest.raises(ReadError) as raised:
        read(tmp_path, content)
    assert str(raised.value) == f"{tmp_path}/file.o: .debug_info+0x0: {why}; {NO_REST}"


@pytest.mark.parametrize(("content", "why"), [
    (GOOD.file(debug_abbrev=b""), "the abbreviation table at 0x0 is outside .debug_abbrev"),
    (GOOD.file(debug_abbrev=GOOD.abbrev[:40]), "the data ends inside an entry"),
    (GOOD.file(debug_abbrev=b"\1\x11\1\3\x7f\0\0\0"), "attribute form 0x7f is not known"),
    (GOOD.file(debug_abbrev=b"\xff\xff\xff\x7f\x11\1\3\x08\0\0\0"), "abbreviation code 0xfffffff is not believed"),
    (damaged_header(6, b"\xee"), "the abbreviation table at 0xee is outside .debug_abbrev"),
])  # fmt: skip
def test_damaged_abbreviations(tmp_path, content, why):
    reading = read(tmp_path, content)
    assert str(reading.unread[0]) == f"{tmp_path}/file.o: .debug_info+0x0: {why}"


def test_damage_is_counted_not_repeated(tmp_path):
    many = tuple((STRUCT, "s", 4, 0) for _ in range(3))
    reading = read(tmp_path, GOOD.file(*(unit((9,)).unit for _ in range(60)), unit(*many).unit))
    assert len(reading.unread) == 51
    assert reading.unread[-1].reason == "and 11 more places"


@pytest.mark.parametrize("section", [".debug_info", ".debug_abbrev"])
def test_any_damaged_byte_ends_in_an_answer(tmp_path, section):
    """Each byte in turn is inverted: the reading ends, with a ReadError at worst."""
    whole = {".debug_info": GOOD.unit + struct(size=8, base=SECOND).unit, ".debug_abbrev": GOOD.abbrev}
    for at in range(len(whole[section])):
        content = bytearray(whole[section])
        content[at] ^= 0xFF
        path = tmp_path / f"{at}.o"
        path.write_bytes(elf_file({**whole, section: bytes(content)}))
        try:
            with elf.open_elf(str(path)) as image:
                dwarf.read_elf(image, EVERYTHING, ReadOptions())
        except ReadError as error:
            assert error.reason  # noqa: PT017 - any one will do


def test_a_name_without_end(tmp_path):
    named = unit((STRUCT, 1, 4), END, struct=("structure_type", True, ("name:strp", "byte_size:data1")))
    reading = read(tmp_path, named.file(debug_str=b"\0" + b"n" * 4097 + b"\0"), EVERYTHING)
    assert [str(unread).partition(": ")[2] for unread in reading.unread] == [f".debug_info+{AT_STRUCT:#x}: a name of 4097 bytes"]
