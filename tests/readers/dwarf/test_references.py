"""References of all widths in both byte orders: what a member is, and which structs hold another one."""

from __future__ import annotations

import pytest

from layoutlint.model.wanted import Wanted
from tests.readers.dwarf.dwarf_file import Dwarf
from tests.readers.dwarf.test_damage import read

UNIT, INT, STRUCT, MEMBER = 1, 2, 3, 4
AT_INT = 17
"""The unit header has 11 bytes, the root entry 6."""
INTS = 60
"""Entries of 6 bytes, so that places have two bytes that are not 0."""
WANTED = {
    "all": (Wanted(everything=True), {"other", "inner", "outer", "outermost"}), "containers": (Wanted(with_containers=frozenset(("inner",))), {"inner", "outer", "outermost"}),
    "one": (Wanted(frozenset(("outer",))), {"outer"}), "a pattern": (Wanted(patterns=("out*",)), {"outer", "outermost"}),
}  # fmt: skip


@pytest.mark.parametrize("request_name", WANTED)
@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("form", ["ref2", "ref4", "ref8"])
def test_references(tmp_path, form, little, request_name):
    plans = {
        UNIT: ("compile_unit", True, ("name:string", "language:data1")), INT: ("base_type", False, ("name:string", "byte_size:data1")),
        STRUCT: ("structure_type", True, ("name:string", "byte_size:data1")), MEMBER: ("member", False, ("name:string", f"type:{form}", "data_member_location:data1")),
    }  # fmt: skip
    entries: list[tuple[object, ...]] = [(UNIT, "u.c", 12), *((INT, "int", 4) for _ in range(INTS))]
    place, of = AT_INT + 6 * INTS, {"other": AT_INT, "inner": AT_INT, "outer": 0, "outermost": 0}
    last = 0
    for name in of:
        target = of[name] or last
        entries += [(STRUCT, name, 4), (MEMBER, "m", target, 0), (0,)]
        last, place = place, place + 1 + len(name) + 1 + 1 + 1 + 2 + int(form[-1]) + 1 + 1
    reading = read(tmp_path, Dwarf(plans, (*entries, (0,)), little=little).file(), WANTED[request_name][0])
    assert reading.unread == ()
    assert {struct.name: str(struct.fields[0].type) for struct in reading.structs} == {
        name: {"outer": "struct inner", "outermost": "struct outer"}.get(name, "int") for name in WANTED[request_name][1]
    }
