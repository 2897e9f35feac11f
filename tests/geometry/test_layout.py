"""Geometry: paths, patterns, holes, tilings and what alignment follows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from layoutlint.geometry.layout import Hole, Layout
from layoutlint.model.paths import is_pattern, is_within
from layoutlint.model.record import replace
from layoutlint.model.structs import Source, Struct, Unstated
from tests.harness.build import bits, flexible, member, struct
from tests.kinds.structs import (  # fmt: skip
    BITS,
    EMPTY,
    GROUPED,
    HIDDEN,
    NESTED,
    OPEN_UNION,
    RING,
    TAIL,
    UNION,
    WORDS,
    array,
    marker,
)
from tests.oracles import slow_model as slow
from tests.oracles.random_structs import structs

GRID = struct("grid", 96, array("cell", 0, 2, 48, member("x", 0, 8), member("y", 8, 8)))
MATRIX = replace(GRID, fields=(replace(GRID.fields[0], dims=(2, 3), bit_size=96 * 8),))
DEEP = struct("deep", 24, member(None, 0, 16, member("a", 0, 8), member(None, 8, 8, member("b", 0, 8), aggregate="union")),
              member("c", 16, 8, member("d", 0, 4), member(None, 4, 4, member("e", 0, 4))))  # fmt: skip


class TestFind:
    @pytest.mark.parametrize(("of_struct", "path", "offset", "size"), [
        (WORDS, "b", 8, 8),
        (NESTED, "lock.owner", 16, 8),
        (UNION, "text", 8, 4),
        (BITS, "count", 0, 3),
        (DEEP, "b", 8, 8),
        (DEEP, "c.d", 16, 4),
        (DEEP, "c.e", 20, 4),
        (RING, "slot", 8, 128),
        (RING, "slot[0]", 8, 32),
        (RING, "slot[3]", 104, 32),
        (RING, "slot[3].tail", 112, 8),
        (RING, "slot.tail", 16, 8),
        (MATRIX, "cell[1]", 48, 48),
        (MATRIX, "cell[1][2]", 80, 16),
        (MATRIX, "cell[1][2].y", 88, 8),
        (TAIL, "body", 16, 0),
        (EMPTY, "lock", 8, 0),
        (HIDDEN, "b", 8, None),
    ])  # fmt: skip
    def test_is_there(self, of_struct, path, offset, size):
        place = Layout(of_struct).find(path)
        assert (place.path, place.offset, place.size) == (path, offset, size)

    @pytest.mark.parametrize(("of_struct", "path"), [
        (WORDS, "e"), (WORDS, ""), (WORDS, "."), (WORDS, "a."), (WORDS, ".a"), (WORDS, "a.b"), (WORDS, "a[0]"), (WORDS, "a["),
        (RING, "slot[4]"), (RING, "slot[-1]"), (RING, "slot[x]"), (RING, "slot[0][0]"), (RING, "slot[99999999999999999999]"), (RING, "slot[" + "9" * 5000 + "]"),
        (MATRIX, "cell[0][3]"), (TAIL, "body[0]"), (NESTED, "lock.lock"), (NESTED, "owner"),
    ])  # fmt: skip
    def test_is_not_there(self, of_struct, path):
        assert Layout(of_struct).find(path) is None

    def test_an_incomplete_struct_has_no_layout(self):
        with pytest.raises(ValueError, match="struct words is incomplete"):
            Layout(replace(WORDS, bit_size=None))


class TestMatch:
    @pytest.mark.parametrize(("of_struct", "pattern", "paths"), [
        (WORDS, "b", ["b"]),
        (WORDS, "*", ["a", "b", "c", "d"]),
        (WORDS, "[bd]", ["b", "d"]),
        (WORDS, "?", ["a", "b", "c", "d"]),
        (WORDS, "x*", []),
        (NESTED, "lock.*", ["lock.count", "lock.owner", "lock.waiters"]),
        (NESTED, "*.owner", ["lock.owner"]),
        (NESTED, "*", ["a", "lock", "z"]),
        (DEEP, "?", ["a", "b", "c"]),
        (DEEP, "c.?", ["c.d", "c.e"]),
        (RING, "slot[2]", ["slot[2]"]),
        (RING, "slot.*", ["slot.head", "slot.tail"]),
        (RING, "slot[2].*", ["slot[2].head", "slot[2].tail"]),
        (RING, "sl*.head", ["slot.head"]),
        (MATRIX, "cell[1][2].?", ["cell[1][2].x", "cell[1][2].y"]),
        (RING, "slot[4].*", []),
        (WORDS, "*.*", []),
        (WORDS, "A", []),
    ])  # fmt: skip
    def test_means(self, of_struct, pattern, paths):
        assert [place.path for place in Layout(of_struct).match(pattern)] == paths

    @pytest.mark.parametrize(("path", "is_one"), [
        ("a", False), ("a.b", False), ("a[2]", False), ("a[2].b", False), ("a*", True), ("?", True), ("[ab]", True), ("a[!b]", True),
    ])  # fmt: skip
    def test_pattern_or_path(self, path, is_one):
        assert is_pattern(path) is is_one


class TestPlace:
    @pytest.mark.parametrize(("of_struct", "path", "extent"), [
        (WORDS, "b", "8..15"), (BITS, "count", "bits 7..16"), (TAIL, "body", "16 and beyond"), (EMPTY, "lock", "8, empty"),
        (HIDDEN, "b", "8..??"), (GROUPED, "begin", "64, empty"),
    ])  # fmt: skip
    def test_extent(self, of_struct, path, extent):
        assert Layout(of_struct).find(path).extent == extent

    def test_an_unknown_size_has_no_end(self):
        with pytest.raises(ValueError, match="the size of 'b' is not known"):
            _ = Layout(HIDDEN).find("b").end


IN_UNION = struct("u", 16, member("n", 0, 8), member(None, 8, 8, member("x", 0, 8), flexible("y", 0), aggregate="union"))
BURIED = struct("b", 24, member("a", 0, 8), member("m", 8, 16, member("n", 0, 8), member("o", 8, 8, member("k", 0, 8), flexible("t", 8))))
BURIED_BEFORE = struct("b", 24, member("m", 0, 16, member("n", 0, 16), flexible("t", 16)), member("a", 16, 8))
IN_ARRAY = struct("b", 16, array("m", 0, 2, 8, member("n", 0, 8), flexible("t", 8)))


class TestFlexible:
    @pytest.mark.parametrize(("of_struct", "end"), [
        (TAIL, "body"), (IN_UNION, "y"), (BURIED, "m.o.t"), (BURIED_BEFORE, None), (IN_ARRAY, None), (GROUPED, None), (WORDS, None),
        (OPEN_UNION, "x"), (struct("z", 8, member("n", 0, 8), marker("old", 8)), "old"),
    ])  # fmt: skip
    def test_open_end(self, of_struct, end):
        found = Layout(of_struct).open_end
        assert (found and found.path) == end

    @pytest.mark.parametrize(("of_struct", "path", "is_marker"), [
        (GROUPED, "begin", True), (TAIL, "body", False), (IN_UNION, "y", False), (OPEN_UNION, "x", False), (BURIED_BEFORE, "m.t", False),
    ])  # fmt: skip
    def test_a_marker_has_members_behind_it(self, of_struct, path, is_marker):
        place = Layout(of_struct).find(path)
        assert (place.is_marker, place.is_empty, place.is_flexible) == (is_marker, is_marker, not is_marker)


class TestOthers:
    @pytest.mark.parametrize(("of_struct", "chosen", "others"), [
        (WORDS, ["b"], ["a", "c", "d"]),
        (NESTED, ["lock"], ["a", "z"]),
        (NESTED, ["lock.owner"], ["a", "lock.count", "lock.waiters", "z"]),
        (NESTED, ["lock", "lock.owner"], ["a", "z"]),
        (RING, ["slot[1]"], ["size", "slot[0]", "slot[2..3]"]),
        (RING, ["slot[0]", "slot[3]"], ["size", "slot[1..2]"]),
        (RING, ["slot[2].head"], ["size", "slot[0..1]", "slot[2].tail", "slot[3]"]),
        (RING, ["slot.head"], ["size", "slot[0].tail", "slot[1..3]"]),
        (MATRIX, ["cell[1][1].x"], ["cell[0]", "cell[1][0]", "cell[1][1].y", "cell[1][2]"]),
        (DEEP, ["c.e"], ["a", "b", "c.d"]),
    ])  # fmt: skip
    def test_are_what_is_left(self, of_struct, chosen, others):
        layout = Layout(of_struct)
        assert [place.path for place in layout.remaining_fields([layout.find(path) for path in chosen])] == others

    def test_of_a_long_array_are_runs(self):
        layout = Layout(struct("long", 1 << 40, array("x", 0, 1 << 40, 1)))
        assert [(p.path, p.offset, p.size) for p in layout.remaining_fields([layout.find("x[5]")])] == [
            ("x[0..4]", 0, 5), ("x[6..1099511627775]", 6, (1 << 40) - 6),
        ]  # fmt: skip


class TestHoles:
    @pytest.mark.parametrize(("of_struct", "holes", "padding"), [
        (WORDS, [], 0),
        (struct("s", 24, member("a", 0, 4), member("b", 8, 8), member("c", 16, 1)), [(32, 32)], 56),
        (BITS, [(17, 7), (24, 8)], 0),
        (struct("s", 8, bits("a", 0, 3), bits("b", 6, 2), bits("c", 12, 2)), [(3, 3), (8, 4)], 50),
        (TAIL, [(96, 32)], 0),
        (UNION, [], 0),
        (struct("s", 8), [], 64),
        (struct("s", 0), [], 0),
        (HIDDEN, [], 0),
        (DEEP, [], 0),
    ])  # fmt: skip
    def test_between_and_behind(self, of_struct, holes, padding):
        layout = Layout(of_struct)
        assert ([(hole.bit_offset, hole.bit_size) for hole in layout.holes], layout.bit_padding) == (holes, padding)

    def test_inside_a_byte_has_no_offset_in_bytes(self):
        hole = Hole(17, 7)
        assert not hole.is_whole
        with pytest.raises(ValueError, match="the hole at bit 17 starts or ends inside a byte"):
            _ = hole.offset
        with pytest.raises(ValueError, match="the hole at bit 17 has no length in bytes"):
            _ = hole.size


class TestTiling:
    """A layout tiles its struct without gap or overlap."""

    @given(structs())
    @settings(max_examples=80)
    def test_fields_holes_and_padding_have_every_bit(self, judged):
        layout = Layout(judged)
        used = {bit for node in slow.nodes(judged) for bit in node.bits}
        in_holes = [bit for hole in layout.holes for bit in range(hole.bit_offset, hole.bit_offset + hole.bit_size)]
        behind = range(layout.bit_size - layout.bit_padding, layout.bit_size)
        assert not used & set(in_holes)
        assert sorted([*used, *in_holes, *behind]) == list(range(layout.bit_size))

    @given(structs())
    @settings(max_examples=80)
    def test_every_field_is_found_where_it_is(self, judged):
        layout = Layout(judged)
        for path, node in slow.nodes_by_path(judged).items():
            place = layout.find(path)
            assert (place.bit_offset, place.bit_size) == (node.bits.start, len(node.bits))
            if node.bytes:
                assert (place.offset, place.end) == (min(node.bytes), max(node.bytes) + 1)
            else:
                assert place.is_empty


def gap(gap_size: int, size: int) -> Struct:
    """Two words with a gap between them, and the second followed by others to the end."""
    behind = 16 + gap_size
    return struct(f"gap of {gap_size}", size, member("a", 0, 8, align=8), member("b", behind - 8, 8, align=8),
                  member("c", behind, size - behind), align=None)  # fmt: skip


BEHIND_ANONYMOUS = struct("behind anonymous", 64, member(None, 0, 8, member("a", 0, 4), member("c", 4, 4), align=4),
                          member("b", 32, 32, align=8), align=None)  # fmt: skip
IN_ANONYMOUS = struct("in anonymous", 64, member(None, 0, 64, member("a", 0, 8, align=8), member("b", 32, 32, align=8), align=8),
                      align=None)  # fmt: skip


GCC = Unstated.PACKED | Unstated.PRAGMA
CLANG = Unstated.PACKED | Unstated.BIT_FIELDS
OLD_CLANG = GCC | Unstated.BIT_FIELDS | Unstated.RAISED | Unstated.CAPPED
BTF = GCC | Unstated.ALIGNED
NATURAL = struct("natural", 16, member("a", 0, 8, align=8), member("b", 8, 8, align=8), align=None)
AT_1 = member("a", 0, 4, align=4, source=Source("h", 1))


class TestAlignment:
    @pytest.mark.parametrize(("of_struct", "value", "basis"), [
        (struct("stated", 8, member("a", 0, 8, align=8), align=64), 64, "stated by the input"),
        (struct("natural", 16, member("a", 0, 4, align=4), member("b", 8, 8, align=8), align=None), 8, "natural alignment of its members"),
        (struct("packed", 12, member("a", 0, 4, align=4), member("b", 4, 8, align=8), align=None), 4, "natural alignment of its members"),
        (struct("odd", 9, member("a", 0, 8, align=8), member("b", 8, 1), align=None), 1, "natural alignment of its members"),
        (struct("bits", 4, bits("a", 0, 3), align=None), 1, "natural alignment of its members"),
        (struct("none", 0, align=None), 1, "natural alignment of its members"),
        (struct("off", 40, member("a", 0, 8, align=8), member("b", 32, 8, align=8), align=None), 8, "natural alignment of its members"),
    ], ids=lambda value: value.name if isinstance(value, Struct) else "")  # fmt: skip
    def test_is_stated_or_follows(self, of_struct, value, basis):
        found = Layout(of_struct).align
        assert (found.value, found.basis) == (value, basis)
        assert Layout(of_struct).suggested_align is None

    @pytest.mark.parametrize(("of_struct", "value", "basis"), [
        (gap(24, 64), 32, "suggested by the hole before `b`"),
        (gap(56, 128), 64, "suggested by the hole before `b`"),
        (BEHIND_ANONYMOUS, 32, "suggested by the hole before `b`"),
        (struct("padded", 192, member("a", 0, 136, align=8), align=None), 64, "suggested by 56 bytes of padding at its end"),
        # the layout of old_timex32 in Linux 6.12, whose padding is unnamed bit-fields and whose alignment is 4
        (struct("timex", 128, member("a", 0, 84, align=4), align=None), 64, "suggested by 44 bytes of padding at its end"),
    ], ids=lambda value: value.name if isinstance(value, Struct) else "")  # fmt: skip
    def test_a_gap_suggests_more_and_proves_nothing(self, of_struct, value, basis):
        layout = Layout(replace(of_struct, unstated=BTF))
        assert layout.align.value < value
        assert (layout.suggested_align.value, layout.suggested_align.basis) == (value, basis)

    @pytest.mark.parametrize("of_struct", [
        gap(8, 32), replace(gap(56, 128), align=8), IN_ANONYMOUS, replace(gap(24, 64), aggregate="union"),
    ], ids=["small gap", "stated", "gap inside a member", "no gaps in a union"])  # fmt: skip
    def test_suggests_nothing(self, of_struct):
        assert Layout(replace(of_struct, unstated=BTF)).suggested_align is None

    @pytest.mark.parametrize(("name", "unstated", "of_struct", "possible"), [
        ("C text", Unstated.NOTHING, NATURAL, (8,)),
        ("gcc", GCC, NATURAL, (1, 2, 4, 8)),
        ("gcc, stated", GCC, replace(NATURAL, align=8), (8,)),
        ("clang 19 states pragmas", CLANG, NATURAL, (1, 8)),
        ("btf", BTF, replace(NATURAL, bit_size=64 * 8), (1, 2, 4, 8, 16, 32, 64)),
        ("clang 14 states what is asked for", OLD_CLANG, replace(NATURAL, align=2), (2, 4, 8)),
        ("a hole behind the line before", GCC, struct("s", 16, AT_1, member("b", 8, 8, align=8, source=Source("h", 2)), align=None), (1, 2, 4, 8)),
        ("a hole with lines between", GCC, struct("s", 16, AT_1, member("b", 8, 8, align=8, source=Source("h", 3)), align=None), (1, 2, 4, 8)),
        ("a small hole leaves less", GCC, struct("s", 24, AT_1, member("b", 8, 4, align=4), member("c", 16, 8, align=8, source=Source("h", 11)), align=None), (1, 2, 4, 8)),
        ("what members ask for", CLANG, struct("s", 128, member("a", 0, 8, align=8), member("b", 64, 8, align=64, requested_align=64), align=None), (64,)),
        ("what a pragma can cut down", OLD_CLANG, struct("s", 64, member("a", 0, 64, align=64, requested_align=64), align=None), (1, 2, 4, 8, 16, 64)),
        ("a hole before what asks", OLD_CLANG, struct("s", 128, member("a", 0, 8, align=8), member("b", 64, 8, align=64, requested_align=64), align=None), (1, 2, 4, 8, 16, 64)),
        ("aligned as bits can be", CLANG, struct("s", 32, bits("a", 0, 3), align=None), (1, 2, 4, 8, 16, 32)),
        ("types of bit-fields", GCC, struct("s", 8, replace(bits("a", 0, 33), align=8), replace(bits("b", 33, 31), align=8), align=None), (1, 2, 4, 8)),
        ("as large as a register", GCC | Unstated.AS_LARGE, struct("s", 16, member("a", 0, 8, align=8), member("b", 8, 8, align=8), align=None), (1, 2, 4, 8, 16)),
        ("of several that a member can have", GCC, struct("s", 16, member("a", 0, 16, align=8, possible=15), align=None), (1, 2, 4, 8)),
        ("as far as more is known", GCC, replace(NATURAL, possible=12), (4, 8)),
    ], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
    def test_what_is_possible(self, name, unstated, of_struct, possible):
        assert Layout(replace(of_struct, unstated=unstated)).alignments == possible


WITHIN = [
    # path, outer, whether the path is the outer one or a part of it; with any element
    ("a", "a", True, True), ("a.b", "a", True, True), ("a", "a.b", False, False), ("ab", "a", False, False),
    ("a[1]", "a", True, True), ("a[1].b", "a", True, True), ("a[1]", "a[1]", True, True), ("a[10]", "a[1]", False, False),
    ("a[1][2]", "a[1]", True, True), ("a[1]", "a[1][2]", False, False), ("a[1].b", "a.b", False, True),
    ("a[0].b", "a.b", True, True), ("a[0][1].b.c", "a.b", False, True), ("a.b", "a[0].b", True, True),
    ("a.b", "a[1].b", False, False), ("a.b", "a[0]", True, True), ("a", "a[0]", False, False), ("a[2..4]", "a", True, True),
    ("a[3]", "a[2..4]", True, True), ("a[3].b", "a[2..4]", True, True), ("a[2..3]", "a[2..4]", True, True),
    ("a[2..5]", "a[2..4]", False, False), ("a[2..4]", "a[3]", False, False), ("a[2..4].b", "a.b", False, True),
    ("a[" + "9" * 5000 + "]", "a[1]", False, False),
]  # fmt: skip


@pytest.mark.parametrize(("path", "outer", "is_part", "is_part_of_any"), WITHIN)
def test_a_path_is_a_part_of_another(path, outer, is_part, is_part_of_any):
    assert (is_within(path, outer), is_within(path, outer, any_element=True)) == (is_part, is_part_of_any)


@pytest.mark.parametrize(("center", "distance", "shift", "near"), [
    # of bytes a to h, those with bytes within a distance of a center
    ("d", 0, None, ""), ("d", 1, None, "ce"), ("d", 2, None, "bcef"), ("a", 2, None, "bc"), ("h", 1, None, "g"),
    ("d", 1, 0, "ce"), ("d", 1, 1, "ef"), ("d", 1, -1, "bc"), ("d", 1, 3, "fgh"),
])  # fmt: skip
def test_remaining_fields_near(center, distance, shift, near):
    layout = Layout(struct("bytes", 8, *(member(name, at, 1) for at, name in enumerate("abcdefgh"))))
    (place,) = layout.match(center)
    found = layout.remaining_fields_near((place,), (place,), distance, *(() if shift is None else (shift,)))
    assert "".join(each.path for each in found) == near
