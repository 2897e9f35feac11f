"""Ranges of units from made-up lists, and signs of missing relocation in made-up units."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest
from elftools.dwarf.enums import ENUM_DW_FORM

from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format import units as format_units
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.forms import DwarfError
from layoutlint.readers.dwarf.ranges import Ranges
from tests.readers.dwarf.dwarf_file import uleb

LOWEST = 0x1000


def unit(version: int = 5, width: int = 8, offset: int = 4, **attributes: object) -> SimpleNamespace:
    """A unit whose root has attributes: a value, or a form and a value."""
    values = {attribute(name): value[1] if isinstance(value, tuple) else value for name, value in attributes.items()}
    stated = {attribute(name): ENUM_DW_FORM[f"DW_FORM_{value[0]}"] if isinstance(value, tuple) else forms.DATA4 for name, value in attributes.items()}
    return SimpleNamespace(root=(SimpleNamespace(forms=stated, tag=tag("compile_unit")), values, 0), shape=SimpleNamespace(version=version, address_size=width, offset_size=offset))


def read(its: SimpleNamespace, mark: str = "<", **sections: bytes) -> list[tuple[int, int]]:
    named = {f".debug_{name}": content for name, content in sections.items()}
    return Ranges(SimpleNamespace(little_endian=mark == "<", section=named.get)).read(its)


ADDRESSES = struct.pack("<6Q", 0xAAAA, 0x100, 0x200, 0x300, 0x400, 0x500)
PLAIN = [
    # a unit, its ranges
    (unit(low_pc=("addr", 0x10), high_pc=("data4", 5)), [(0x10, 0x15)]), (unit(low_pc=("addr", 0x10), high_pc=("addr", 0x50)), [(0x10, 0x50)]), (unit(low_pc=("addr", 0x10)), []), (unit(high_pc=("addr", 0x10)), []), (unit(), []),
    (unit(low_pc=("addrx", 1), high_pc=("data4", 5)), [(0x100, 0x105)]), (unit(low_pc=("addrx", 0), addr_base=8, high_pc=("addrx", 2)), [(0x100, 0x300)]), (unit(low_pc=("addrx1", 1), addr_base=16, high_pc=("addrx4", 2)), [(0x300, 0x400)]),
    (unit(low_pc=("GNU_addr_index", 1), GNU_addr_base=8, high_pc=("data4", 5)), [(0x200, 0x205)]) if "DW_FORM_GNU_addr_index" in ENUM_DW_FORM else (unit(), []),
    (unit(low_pc=("data16", b"\x10\0\0"), high_pc=("data16", b"\5\0")), [(0x10, 0x15)]),
]  # fmt: skip


@pytest.mark.parametrize(("its", "ranges"), PLAIN, ids=range(len(PLAIN)))
def test_one_range(its, ranges):
    assert read(its, addr=ADDRESSES) == ranges


@pytest.mark.parametrize("mark", "<>")
@pytest.mark.parametrize("width", [4, 8])
def test_old_lists(width, mark):
    """Offsets from the unit's first address, until a pair states another one."""
    letter = "I" if width == 4 else "Q"
    last = (1 << 8 * width) - 1
    pairs = [(0x99, 0x99), (1, 2), (5, 5), (0, 7), (last, 0x500), (1, 2), (last, 0), (0x20, 0x21), (0, 0), (3, 4), (0, 0)]
    content = struct.pack(f"{mark}{2 * len(pairs)}{letter}", *(number for pair in pairs for number in pair))
    its = unit(4, width, low_pc=("addr", LOWEST), ranges=2 * width)
    expected = [(0x1001, 0x1002), (0x1005, 0x1005), (0x1000, 0x1007), (0x501, 0x502), (0x20, 0x21)]
    assert read(its, mark, ranges=content) == expected
    assert read(unit(4, width, ranges=18 * width), mark, ranges=content) == [(3, 4)]
    for cut in range(2 * width, 18 * width):
        with pytest.raises(DwarfError, match="a list of ranges or addresses ends early"):
            read(its, mark, ranges=content[:cut])


def new_list(width: int, mark: str) -> bytes:
    address = struct.Struct(f"{mark}{'I' if width == 4 else 'Q'}").pack
    return b"".join((
        b"\4", uleb(1), uleb(300),  # offsets
        b"\5", address(0x5000), b"\4", uleb(0), uleb(2),  # another base
        b"\1", uleb(2), b"\4", uleb(3), uleb(4),  # a base by its index
        b"\2", uleb(1), uleb(3), b"\3", uleb(2), uleb(0x80),  # a start by its index: with an end, with a length
        b"\6", address(0x7000), address(0x7010), b"\7", address(0x8000), uleb(0x81), b"\0",
    ))  # fmt: skip


NEW = [(0x1001, 0x112C), (0x5000, 0x5002), (0x303, 0x304), (0x200, 0x400), (0x300, 0x380), (0x7000, 0x7010), (0x8000, 0x8081)]


@pytest.mark.parametrize("mark", "<>")
@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("offset", [4, 8])
def test_new_lists(width, mark, offset):
    addresses = struct.pack(f"{mark}6{'I' if width == 4 else 'Q'}", 0xAAAA, 0x100, 0x200, 0x300, 0x400, 0x500)
    head, body = b"\xee" * 12, new_list(width, mark)
    table = struct.pack(f"{mark}2{'I' if offset == 4 else 'Q'}", 99, 2 * offset)
    by_place = unit(5, width, offset, low_pc=("addr", LOWEST), ranges=("sec_offset", 12 + 2 * offset), addr_base=width)
    by_number = unit(5, width, offset, low_pc=("addr", LOWEST), ranges=("rnglistx", 1), rnglists_base=12, addr_base=width)
    for its in (by_place, by_number):
        assert read(its, mark, rnglists=head + table + body, addr=addresses) == NEW
        for cut in range(12 + 2 * offset, 12 + 2 * offset + len(body)):
            with pytest.raises((DwarfError, IndexError)):
                read(its, mark, rnglists=(head + table + body)[:cut], addr=addresses)


def test_lists_of_unknown_kinds():
    with pytest.raises(DwarfError, match=r"an entry of kind 0x8 in .debug_rnglists"):
        read(unit(ranges=0), rnglists=b"\x08\1\1\0")


def test_lists_are_read_once():
    """Lists that overlap are as many entries as bytes at most."""
    content = b"\4\0\1" * 40 + b"\0"
    its = Ranges(SimpleNamespace(little_endian=True, section={".debug_rnglists": content}.get))
    assert its.read(unit(ranges=0)) is its.read(unit(ranges=0))
    assert its.read(unit(ranges=0, low_pc=("addr", 5)))[0] == (5, 6)
    with pytest.raises(DwarfError, match="lists of ranges that overlap"):
        list(map(its.read, (unit(ranges=place) for place in range(3, 120, 3))))
    most = Ranges(SimpleNamespace(little_endian=True, section={".debug_rnglists": b"\4\0\1\0"}.get))
    assert [most.read(unit(ranges=0, low_pc=("addr", low))) for low in range(4)] == [[(low, low + 1)] for low in range(4)]
    with pytest.raises(DwarfError, match="lists of ranges that overlap"):
        most.read(unit(ranges=0, low_pc=("addr", 9)))


STRINGS = [
    # forms and offsets of strings, whether several strings of a section are at its start
    ([], False), ([("strp", 0)], False), ([("strp", 0)] * 2, True), ([("strp", 0), ("line_strp", 0)], False), ([("strp", 0), ("line_strp", 0), ("line_strp", 0)], True), ([("strp", 0), ("strp", 0), ("strp", 5)], False),
    ([("line_strp", 3)], False), ([("strp", 0), ("strp", 0), None], True), ([("strp", 0), None], False),
]  # fmt: skip


@pytest.mark.parametrize(("strings", "has_one"), STRINGS)
def test_strings_that_cannot_all_be_one(strings, has_one, monkeypatch):
    def yield_strings(unit: object):
        for each in strings:
            if each is None:
                raise DwarfError("damage")
            yield forms.STRP if each[0] == "strp" else forms.LINE_STRP, each[1]

    monkeypatch.setattr(format_units, "_strings", yield_strings)
    assert format_units._has_one_string(unit()) is has_one


class Damaged:
    """A unit that cannot be read."""

    abbrev_offset = 0

    @property
    def root(self):
        raise DwarfError("damage")

    files = string_table = root


def compilation(abbreviations: int, lines: int | None, kind: str = "compile_unit") -> SimpleNamespace:
    values = {} if lines is None else {attribute("stmt_list"): lines}
    return SimpleNamespace(abbrev_offset=abbreviations, root=(SimpleNamespace(tag=tag(kind)), values, 0))


SHARED = [
    ([], False), ([compilation(0, 0)], False), ([compilation(0, 0)] * 2, True), ([compilation(0, 0), compilation(0, None)], False), ([compilation(0, 0), compilation(0, 0, "structure_type")], False),
    ([compilation(0, 0), compilation(0, 5)], False), ([compilation(0, 0), compilation(5, 0)], False), ([compilation(5, 5)] * 2, False), ([compilation(0, 0), compilation(0, 0), Damaged(), compilation(7, None)], True),
]  # fmt: skip


@pytest.mark.parametrize(("units", "shares"), SHARED, ids=range(len(SHARED)))
def test_compilations_that_cannot_share_all(units, shares):
    assert format_units._shares_all(units) is shares


def with_offsets(content: bytes, version: int = 5, start: int = 8, end: int | None = None, base: bool = True, width: int = 4) -> SimpleNamespace:
    values = {attribute("str_offsets_base"): start} if base else {}
    return SimpleNamespace(root=(None, values, 0), shape=SimpleNamespace(version=version, offset_size=width), string_table=(start, len(content) if end is None else end), sections=SimpleNamespace(string_offsets=content))


HEAD = b"\1" * 8
OFFSETS = [
    (with_offsets(HEAD + bytes(8)), True), (with_offsets(HEAD + bytes(7)), False), (with_offsets(HEAD + bytes(4) + b"\1\0\0\0"), False), (with_offsets(HEAD + bytes(8), base=False), False), (with_offsets(HEAD + bytes(8), 4, base=False), True),
    (with_offsets(HEAD + bytes(8) + b"\1", end=16), True), (with_offsets(HEAD + bytes(8), width=8), False), (with_offsets(HEAD + bytes(16), width=8), True), (Damaged(), False),
]  # fmt: skip


@pytest.mark.parametrize(("its", "has_one"), OFFSETS, ids=range(len(OFFSETS)))
def test_offsets_that_cannot_all_be_0(its, has_one):
    assert format_units._has_one_offset(its) is has_one


def with_files(name: tuple[int, int], folder: tuple[int, int], is_there: bool = True) -> SimpleNamespace:
    described = [SimpleNamespace(form=form, value=value) for form, value in (name, folder)]
    return SimpleNamespace(files=SimpleNamespace(find=lambda number: is_there and number == 0, name=described[0], folder=described[1]))


FILES = [
    (with_files((forms.STRP, 0), (forms.STRP, 0)), True), (with_files((forms.LINE_STRP, 5), (forms.LINE_STRP, 5)), True), (with_files((forms.STRP, 0), (forms.LINE_STRP, 0)), False), (with_files((forms.STRP, 0), (forms.STRP, 1)), False),
    (with_files((forms.STRING, 0), (forms.STRING, 0)), False), (with_files((forms.STRP, 0), (forms.STRP, 0), False), False), (SimpleNamespace(files=None), False), (Damaged(), False),
]  # fmt: skip


@pytest.mark.parametrize(("its", "has_one"), FILES, ids=range(len(FILES)))
def test_paths_that_cannot_be_one(its, has_one):
    assert format_units._has_one_path(its) is has_one


@pytest.mark.parametrize("sign", ["_has_one_string", "_shares_all", "_has_one_offset", "_has_one_path", None])
@pytest.mark.parametrize("lacking", [".debug_info", ".debug_str_offsets", ".debug_line", None])
def test_which_table_is_missing(sign, lacking, monkeypatch):
    """A sign counts for the section that it is about, in the first units."""
    units = [SimpleNamespace(number=number) for number in range(66)]
    for name in ("_has_one_string", "_has_one_offset", "_has_one_path"):
        monkeypatch.setattr(format_units, name, lambda its, name=name: name == sign and its.number == 63)
    monkeypatch.setattr(format_units, "_shares_all", lambda its: sign == "_shares_all" and its == units[:64])
    its = SimpleNamespace(lacks_relocations=lambda name: name == lacking)
    about = {"_has_one_string": ".debug_info", "_shares_all": ".debug_info", "_has_one_offset": ".debug_str_offsets", "_has_one_path": ".debug_line"}.get(sign)
    reason = format_units.relocation_problem(its, ".debug_info", units)
    assert (reason is not None) == (about == lacking and sign is not None)
    assert reason is None or reason.startswith(f"its {lacking} has no relocation table")
    assert format_units.relocation_problem(its, ".debug_info", units[:63]) is None or sign == "_shares_all"
    assert format_units.relocation_problem(its, ".debug_info", [*units[:63], units[65], units[63]]) is None
