"""Names of members in entries and in .debug_str, short and long: structs that differ in nothing else are told apart."""

from __future__ import annotations

import pytest

from layoutlint.model.wanted import Wanted
from tests.readers.dwarf.dwarf_file import Dwarf
from tests.readers.dwarf.test_damage import read

STRINGS = b"\0a\0abcdef\0abcdefg\0abcdefgh\0"
INLINE = ("a", "b", "abcdef", "abcdef7", "abcdefg", "abcdefgh", "a name that is long", "another name that is long", "a third one that is long", "c")
UNIT, INT, STRUCT, IN_ENTRY, IN_SECTION = 1, 2, 3, 4, 5
PLANS = {
    UNIT: ("compile_unit", True, ("name:string", "language:data1")),
    INT: ("base_type", False, ("name:string", "byte_size:data1")),
    STRUCT: ("structure_type", True, ("name:string", "byte_size:data1")),
    IN_ENTRY: ("member", False, ("name:string", "type:ref4", "data_member_location:data1")),
    IN_SECTION: ("member", False, ("name:strp", "type:ref4", "data_member_location:data1")),
}
AT_INT = 17


@pytest.mark.parametrize("little", [True, False])
def test_names(tmp_path, little):
    members = [*((IN_ENTRY, name) for name in INLINE), *((IN_SECTION, place) for place in range(len(STRINGS) - 1))]
    names = [*INLINE, *(STRINGS[place : STRINGS.index(0, place)].decode() for place in range(len(STRINGS) - 1))]
    structs = [entry for at, (code, name) in enumerate(members) for entry in ((STRUCT, f"s{at}", 4), (code, name, AT_INT, 0), (0,))]
    unit = Dwarf(PLANS, ((UNIT, "u.c", 12), (INT, "int", 4), *structs, (0,)), little=little)
    reading = read(tmp_path, unit.file(debug_str=STRINGS), Wanted(everything=True))
    assert reading.unread == ()
    assert {struct.name: struct.fields[0].name or "" for struct in reading.structs} == {f"s{at}": name for at, name in enumerate(names)}
