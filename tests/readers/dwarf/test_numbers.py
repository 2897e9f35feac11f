"""Numbers, forms, headers of units and indexes of packages, made by `struct` and taken apart again; and each of them cut off."""

from __future__ import annotations

import itertools
import struct
from types import SimpleNamespace

import pytest
from elftools.dwarf.enums import ENUM_DW_FORM

from layoutlint.readers.dwarf.format import forms, sections, unit_header
from layoutlint.readers.dwarf.format.abbreviations import Format
from layoutlint.readers.dwarf.format.cursor import Cursor
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.dwarf.format.package import Package, UnitParts
from layoutlint.readers.elf.span import Span
from tests.readers.dwarf.dwarf_file import sleb, uleb

PADDING = b"\xee" * 3
NUMBERS = [*range(0, 300, 7), 127, 128, 255, 256, 16383, 16384, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("width", range(9))
def test_numbers_of_bytes(width, little):
    content = bytes(range(1, 12))
    cursor = Cursor(content, little)
    for position in range(3):
        expected = int.from_bytes(content[position : position + width], "little" if little else "big")
        assert cursor.number(position, width) == cursor.value(position, width) == expected
    if width:
        with pytest.raises(IndexError):
            cursor.number(len(content) - width + 1, width)


@pytest.mark.parametrize("number", NUMBERS)
def test_leb128(number):
    encoded = PADDING + uleb(number) + PADDING
    cursor, end = Cursor(encoded, True), len(encoded) - 3
    assert (cursor.uleb(3), cursor.next_position, cursor.skip(3, forms.SKIP_ULEB)) == (number, end, end)
    assert (cursor.value(3, -1), forms.read_uleb(encoded, 3)) == (number, (number, end))
    for signed in (number, -number, -number - 1):
        encoded = PADDING + sleb(signed) + PADDING
        assert forms.read_sleb(encoded, 3) == (signed, len(encoded) - 3)
    for cut in range(3, end):
        with pytest.raises(IndexError):
            Cursor(encoded[:3] + uleb(number)[: cut - 3], True).uleb(3)


LONG = [
    # bytes of a number, whether 64 bits hold it, and whether it ends soon enough to be skipped
    (b"\x80" * 9 + b"\1", True, True), (b"\xff" * 9 + b"\1", True, True), (b"\x80" * 9 + b"\0", True, True), (b"\x80" * 9 + b"\2", False, True), (b"\x80" * 10 + b"\0", False, True),
    (b"\x80" * 10 + b"\1", False, True), (b"\x80" * 11 + b"\0", False, False), (b"\x80" * 20, False, False),
]  # fmt: skip


@pytest.mark.parametrize(("content", "fits", "ends"), LONG)
def test_long_leb128(content, fits, ends):
    cursor = Cursor(content + PADDING, True)
    if fits:
        assert (cursor.uleb(0), cursor.next_position) == forms.read_uleb(content, 0)
    else:
        with pytest.raises(DwarfError, match="a LEB128 number of more than 64 bits"):
            cursor.uleb(0)
    if ends:
        assert forms.read_uleb(content, 0)[1] == len(content)
    else:
        with pytest.raises(DwarfError, match="a LEB128 number does not end"):
            forms.read_uleb(content + PADDING, 0)


BLOCKS = {"block1": lambda size, mark: struct.pack("B", size), "block2": lambda size, mark: struct.pack(f"{mark}H", size),
          "block4": lambda size, mark: struct.pack(f"{mark}I", size), "block": lambda size, mark: uleb(size), "exprloc": lambda size, mark: uleb(size)}  # fmt: skip


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("size", [0, 1, 5, 200])
def test_blocks(name, size, little):
    form = ENUM_DW_FORM[f"DW_FORM_{name}"]
    head = BLOCKS[name](size, "<" if little else ">")
    content = PADDING + head + b"b" * size
    kind = forms.form_size(form, 5, 4, 8)
    assert Cursor(content, little).skip(3, kind) == len(content)
    assert Cursor(content + PADDING, little).skip(3, kind) == len(content)
    order = "little" if little else "big"
    assert forms.read_value(content, 3, form, order) == (b"b" * size, len(content))
    if size:
        for read in (lambda: Cursor(content[:-1], little).skip(3, kind), lambda: forms.read_value(content[:-1], 3, form, order)):
            with pytest.raises(DwarfError, match="a block ends behind its section"):
                read()


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 255, 256, 257, 319, 320, 321, 3000])
def test_strings(length):
    content = PADDING + b"s" * length + b"\0"
    assert Cursor(content + PADDING, True).skip(3, forms.SKIP_STRING) == len(content)
    assert forms.string_end(content + PADDING, 3) == len(content) - 1
    assert forms.read_value(content, 3, forms.STRING, "little") == (b"s" * length, len(content))
    with pytest.raises(DwarfError, match="a string does not end"):
        forms.string_end(content[:-1], 3)
    with pytest.raises(IndexError):
        Cursor(content[:-1], True).skip(3, forms.SKIP_STRING)


SIZES = {
    # bytes of forms, with o for an offset, a for an address, and the way to skip them
    "flag_present": "0", "implicit_const": "0", "data1": "1", "flag": "1", "ref1": "1", "strx1": "1", "addrx1": "1", "data2": "2", "ref2": "2", "strx2": "2", "addrx2": "2", "strx3": "3", "addrx3": "3",
    "data4": "4", "ref4": "4", "ref_sup4": "4", "strx4": "4", "addrx4": "4", "data8": "8", "ref8": "8", "ref_sig8": "8", "ref_sup8": "8", "data16": "16", "strp": "o", "line_strp": "o", "sec_offset": "o",
    "strp_sup": "o", "GNU_ref_alt": "o", "GNU_strp_alt": "o", "addr": "a", "ref_addr": "r", "string": "SKIP_STRING", "block1": "SKIP_BLOCK1", "block2": "SKIP_BLOCK2", "block4": "SKIP_BLOCK4",
    "block": "SKIP_BLOCK", "exprloc": "SKIP_BLOCK", **dict.fromkeys(("udata", "sdata", "ref_udata", "strx", "addrx", "loclistx", "rnglistx"), "SKIP_ULEB"),
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_forms(name):
    number = ENUM_DW_FORM[f"DW_FORM_{name}"]
    for version, offset, address in itertools.product((2, 3, 4, 5), (4, 8), (4, 8)):
        word = SIZES[name]
        special = {"o": offset, "a": address, "r": address if version == 2 else offset}
        expected = special[word] if word in special else int(word) if word.isdigit() else getattr(forms, word)
        assert forms.form_size(number, version, offset, address) == expected


def test_forms_that_have_no_size():
    assert forms.form_size(0x1F01, 5, 4, 8) == forms.form_size(0x1F02, 5, 4, 8) == forms.SKIP_ULEB  # GNU_addr_index, GNU_str_index
    for number, reason in ((0x16, "DW_FORM_indirect where a form must be stated"), (0x99, "attribute form 0x99 is not known")):
        with pytest.raises(DwarfError, match=reason):
            forms.form_size(number, 5, 4, 8)
    assert len({getattr(forms, name) for name in ("SKIP_ULEB", "SKIP_STRING", "SKIP_BLOCK1", "SKIP_BLOCK2", "SKIP_BLOCK4", "SKIP_BLOCK", "SKIP_INDIRECT")}) == 7


UNIT_TYPES = {1: "compile", 2: "type", 3: "partial", 4: "skeleton", 5: "split_compile", 6: "split_type", 0x80: "lo_user", 7: "0x7"}


def header(version: int, wide: bool, little: bool, kind: int, body: bytes, address: int = 8) -> bytes:
    mark, word = "<" if little else ">", "Q" if wide else "I"
    fields = struct.pack(f"{mark}HBB{word}", version, kind, address, 0x55) if version == 5 else struct.pack(f"{mark}H{word}B", version, 0x55, address)
    more = struct.pack(f"{mark}Q{word}", 0x1234, 0x66) if kind in (2, 6) else struct.pack(f"{mark}Q", 0x77) if kind in (4, 5) else b""
    content = fields + more + body
    return (struct.pack(f"{mark}IQ", 0xFFFFFFFF, len(content)) if wide else struct.pack(f"{mark}I", len(content))) + content


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize(("version", "kind"), [(2, 1), (3, 1), (4, 1), (4, 2), *((5, kind) for kind in UNIT_TYPES)])
def test_headers_of_units(version, kind, wide, little):
    content = PADDING + header(version, wide, little, kind, b"body") + PADDING
    section = ".debug_types" if version == 4 and kind == 2 else ".debug_info"
    found = unit_header.read(Cursor(content, little), section, 3)
    name = UNIT_TYPES[kind]
    expected = (len(content) - 3, len(content) - 7, name if name.startswith("0x") else f"DW_UT_{name}", Format(version, 8 if wide else 4, 8, little), 0x55)
    ids = (None, 0x1234, 0x66) if kind in (2, 6) else (0x77, None, None) if kind in (4, 5) else (None, None, None)
    assert (found.end, found.first, found.type, found.shape, found.abbrev_offset, found.split_id, found.signature, found.type_offset) == (*expected, *ids)
    assert unit_header.read(Cursor(content[:-3], little), section, 3) == found
    for cut in range(3, len(content) - 3):
        with pytest.raises(DwarfError, match=r"the section ends inside a unit header|ends behind its section"):
            unit_header.read(Cursor(content[:cut], little), section, 3)


def test_headers_end_inside_their_section():
    """Where the length says so, nothing of the next unit is read as a part of the header."""
    content = header(5, False, True, 2, b"")
    assert unit_header.read(Cursor(content, True), ".debug_info", 0).first == len(content)
    short = struct.pack("<I", 2) + content[4:6]
    with pytest.raises(DwarfError, match="the section ends inside a unit header"):
        unit_header.read(Cursor(short, True), ".debug_info", 0)


BAD_HEADERS = [
    (header(1, False, True, 1, b""), "DWARF version 1 is not read"), (header(5, False, True, 1, b"").replace(b"\5\0", b"\6\0", 1), "DWARF version 6 is not read"),
    (struct.pack("<I", 0xFFFFFFF0) + bytes(99), "the reserved unit length 0xfffffff0"), (struct.pack("<I", 0xFFFFFFFE) + bytes(99), "the reserved unit length 0xfffffffe"),
    (struct.pack("<I", 0xFFFFFFEF) + bytes(99), "a unit of 0xffffffef bytes ends behind its section"), (header(5, False, True, 1, b"", 3), "addresses of 3 bytes"), (header(4, False, True, 1, b"", 0), "addresses of 0 bytes"),
    (header(4, False, True, 1, b"", 16), "addresses of 16 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "reason"), BAD_HEADERS)
def test_headers_that_are_none(content, reason):
    with pytest.raises(DwarfError, match=reason):
        unit_header.read(Cursor(content, True), ".debug_info", 0)


@pytest.mark.parametrize("address", [1, 2, 4, 8])
@pytest.mark.parametrize("version", [4, 5])
def test_sizes_of_addresses(address, version):
    assert unit_header.read(Cursor(header(version, False, True, 1, b"", address), True), ".debug_info", 0).shape.address_size == address


def index(version: int, kinds: list[int], rows: list[list[tuple[int, int]]], little: bool = True, slots: int = 2, columns: int | None = None) -> bytes:
    mark = "<" if little else ">"
    head = struct.pack(f"{mark}I", 2) if version == 2 else struct.pack(f"{mark}HH", version, 0)
    head += struct.pack(f"{mark}III", len(kinds) if columns is None else columns, len(rows), slots) + bytes(12 * slots)
    words = [*kinds, *(start for row in rows for start, _ in row), *(size for row in rows for _, size in row)]
    return head + struct.pack(f"{mark}{len(words)}I", *words)


def package(little: bool = True, **indexes: bytes) -> Package:
    named = {f".debug_{name}_index": content for name, content in indexes.items()}
    return Package(SimpleNamespace(section=named.get, little_endian=little))


INFO, TYPES = ".debug_info.dwo", ".debug_types.dwo"
ROWS = [[(100, 50), (7, 3), (40, 4), (9, 1)], [(0, 100), (1, 3), (20, 0), (5, 2)], [(200, 10), (0, 0), (0, 0), (0, 0)]]


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("version", [2, 5])
@pytest.mark.parametrize("slots", [0, 1, 4])
def test_packages(version, slots, little):
    its = package(little, cu=index(version, [1, 3, 4, 6], ROWS, little, slots), tu=index(version, [2, 3], [[(10, 5), (8, 1)]], little, slots))
    first, second, third = UnitParts(1, 0, (5, 7)), UnitParts(7, 40, (9, 10)), UnitParts(0, 0, None)
    places = {0: first, 99: first, 100: second, 149: second, 150: None, 199: None, 200: third, 209: third, 210: None, -1: None}
    assert {place: its.part(INFO, place) for place in places} == places
    assert [its.part(TYPES, place) for place in (9, 10, 14, 15)] == [None, UnitParts(8, 0, None), UnitParts(8, 0, None), None]


def test_packages_without_an_index():
    assert package().part(INFO, 0) is None
    assert package(cu=b"").part(INFO, 0) is None
    assert package(cu=index(5, [], [])).part(INFO, 0) is None
    assert package(cu=index(5, list(range(1, 9)), [])).part(INFO, 0) is None


GOOD = index(5, [1, 3], [[(0, 1), (0, 1)]])
BAD_INDEXES = [
    (GOOD[:15], r".debug_cu_index ends inside its header"), (GOOD[:-1], r".debug_cu_index ends inside its table of 1 units and 2 sections"), (index(3, [1], []), r".debug_cu_index has version 3, which is not read"),
    (index(5, list(range(9)), []), "ends inside its table of 0 units and 9 sections"), (index(5, [], [[]]), "ends inside its table of 1 units and 0 sections"),
    (struct.pack("<IIII", 2 | 1 << 16, 1, 0, 0) + bytes(4), "has version 2, which is not read"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "reason"), BAD_INDEXES)
def test_indexes_that_contradict_themselves(content, reason):
    with pytest.raises(DwarfError, match=reason):
        package(cu=content)


@pytest.mark.parametrize(("length", "is_read"), [(0, True), (4096, True), (4097, False)])
def test_long_names(length, is_read):
    text = b"\0" + b"n" * length + b"\0"
    if is_read:
        assert sections.string(Span(text, 0, len(text)), 1, ".debug_str") == "n" * length
    else:
        with pytest.raises(DwarfError, match=f"a name of {length} bytes"):
            sections.string(Span(text, 0, len(text)), 1, ".debug_str")
    for place in (len(text), -1):
        with pytest.raises(DwarfError, match=r"^\.debug_str: .* is outside the section"):
            sections.string(Span(text, 0, len(text)), place, ".debug_str")
