"""Both sides of limits of layouts, and members without a name, a size or a length."""

from __future__ import annotations

import pytest

from layoutlint.geometry.access_masks import access_masks, parts_mask
from layoutlint.geometry.allocation_room import allocation_room
from layoutlint.geometry.layout import Layout, remaining_parts
from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Field, Source, Unstated
from tests.harness.build import flexible, member, struct

REST = flexible("rest", 0)
OPEN_ENDS = [
    # the last members, and the path of the open end
    ((member(None, 8, 8, REST),), "rest"),
    ((member("in", 8, 8, REST),), "in.rest"),
    ((member("in", 8, 8, member(None, 0, 8, REST)),), "in.rest"),
    ((member(None, 8, 8, member("in", 0, 8, REST)),), "in.rest"),
    ((member(None, 8, 8, member("plain", 0, 8), REST, aggregate="union"),), "rest"),
    ((member(None, 8, 8, REST, member("plain", 0, 8), aggregate="union"),), "rest"),
    ((member(None, 8, 8, REST, member("plain", 0, 8)),), None),
    ((replace(member("in", 8, 16, REST), dims=(2,)),), None),
    ((flexible("__cacheline_group_end__x", 8),), None),
    ((flexible("rest", 8), member("last", 8, 8)), None),
]


@pytest.mark.parametrize(("last", "path"), OPEN_ENDS)
def test_the_open_end_of_a_struct(last, path):
    end = Layout(struct("s", 32, member("first", 0, 8), *last)).open_end
    assert (end and (end.path, end.offset)) == (path and (path, 8))


@pytest.mark.parametrize(("gap", "align", "basis"), [
    (14, None, ""), (15, None, ""), (16, 32, "suggested by the hole before `last`"), (17, 32, "suggested by the hole before `last`"),
    (31, 32, "suggested by the hole before `last`"), (32, 64, "suggested by the hole before `last`"),
])  # fmt: skip
def test_holes_that_suggest_an_alignment(gap, align, basis):
    """Padding is shorter than the alignment that causes it, and a hole of less than 16 bytes shows nothing."""
    made = struct("s", 192, member("first", 0, 64 - gap), member("last", 64, 128), align=None)
    found = Layout(replace(made, unstated=Unstated.ALIGNED)).suggested_align
    assert (found and (found.value, found.basis)) == (align and (align, basis))


def test_remaining_elements_of_an_array_without_a_length():
    (place,) = Layout(struct("s", 8, flexible("rest", 8))).places
    assert [(part.path, part.bit_offset, part.bit_size) for part in remaining_parts(place, [(2,)])] == [("rest[0..1]", 64, 0)]
    assert [part.path for part in remaining_parts(place, [(1,)])] == ["rest[0]"]
    assert list(remaining_parts(place, [(0,)])) == []


def test_parts_of_unknown_size_are_no_bytes():
    unknown = Field("blob", CType("void"), 64, None)
    empty = Field("none", CType("int", "[0]"), 0, 0, dims=(0,), align=4)
    rows = Field("rows", CType("struct row", "[2]"), 0, 256, dims=(2,), aggregate="struct", members=(member("a", 0, 4), unknown, empty), align=8)
    layout = Layout(struct("s", 32, rows))
    assert parts_mask(layout, lambda field: field.members[:2] or None) == 0xF | 0xF << 16
    assert parts_mask(layout, lambda field: (field,) if field.name == "a" else None) == 0xF | 0xF << 16
    assert parts_mask(layout, lambda field: (field,)) == (1 << 32) - 1


def test_an_array_of_elements_without_bytes_has_no_mask():
    none = Field("none", CType("struct empty", "[16]"), 0, 8, dims=(16,), align=1)
    assert parts_mask(Layout(struct("s", 8, none)), lambda field: (field,)) == 0
    assert allocation_room(Layout(struct("s", 8)), Storage("malloc", Source("r.toml", 1))) is None


def bare(name: str, offset: int, size: int, right: str = "", **more: object) -> Field:
    """A field of an integer type, as a damaged input can state it: sizes and dimensions need not agree."""
    return Field(name, CType("int", right), offset * 8, size * 8, align=4, **more)  # type: ignore[arg-type]


DAMAGED = [
    # the members of a struct of 16 bytes; where accesses start, what they can touch, and the bytes of all members that are wanted
    ((bare("a", 0, 4), bare("b", 12, 8)), 0x1001, 0xF00F, 0xFF00F), ((bare("a", 16, 4),), 0, 0, 0xF0000),
    ((bare("rows", 8, 16, "[4]", dims=(4,)),), 0x1100, 0xFF00, 0xFFFF00), ((bare("none", 0, 0, "[2][0]", dims=(2, 0)), bare("a", 4, 4)), 0x10, 0xF0, 0xF0),
    ((bare("none", 0, 8, "[2][0]", dims=(2, 0)),), 0, 0, 0), ((bare("none", 0, 8, "[0]", dims=(0,)),), 0, 0, 0), ((bare("open", 4, 8, "[]", dims=(None,)),), 0, 0, 0),
    ((bare("many", 0, 1, "[2]", dims=(2,)), bare("a", 4, 4)), 0x10, 0xF0, 0xF0), ((bare("one", 4, 4, "[1]", dims=(1,)),), 0x10, 0xF0, 0xF0),
    ((bare("a", 0, 4), replace(bare("bits", 8, 0), is_bitfield=True)), 0x101, 0x10F, 0xF),
    ((replace(bare("bits", 9, 0), bit_size=7, is_bitfield=True, align=None),), 0x200, 0x200, 0),
    ((replace(bare("bits", 9, 0), bit_size=16, is_bitfield=True),), 0x300, 0x700, 0),
    ((replace(bare("bits", 0, 0), bit_offset=71, bit_size=2, is_bitfield=True),), 0x100, 0x300, 0), ((bare("in", 4, 4, members=(bare("c", 0, 8),)),), 0x10, 0xFF0, 0xF0),
]  # fmt: skip


@pytest.mark.parametrize(("members", "starts", "inside", "wanted"), DAMAGED, ids=range(len(DAMAGED)))
def test_masks_of_sizes_that_contradict_one_another(members, starts, inside, wanted):
    layout = Layout(struct("s", 16, *members))
    masks = access_masks(layout)
    assert f"{masks.starts:x} {masks.inside:x}" == f"{starts:x} {inside:x}"
    assert f"{parts_mask(layout, lambda field: (field,)):x}" == f"{wanted:x}"


def test_wanted_members_that_are_larger_than_an_element():
    rows = bare("rows", 0, 16, "[2]", dims=(2,), members=(bare("a", 0, 4), bare("b", 4, 8)))
    assert parts_mask(Layout(struct("s", 16, rows)), lambda field: field.members[1:]) == 0xF0F0
    assert parts_mask(Layout(struct("s", 16, rows)), lambda field: field.members[:1]) == 0x0F0F
