"""Where a line is in a struct, found from touched offsets: compared with trying every byte."""

from __future__ import annotations

import random

import pytest

from layoutlint.geometry import access_masks as access_masks_module
from layoutlint.geometry.access_masks import TooLarge, access_masks, field_at, parts_mask
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.line_search import Candidate, Expectation, Search, best
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs

SOURCE = """
struct inner { char c; int i; };
struct s {
	char a; /* 0 */
	long b; /* 8 */
	int *p; /* 16 */
	double d; /* 24 */
	struct inner in[3]; /* 32, 40, 48: c, and i at 4 */
	unsigned x : 3, y : 7; /* 56 */
	union { short u[2]; int w; }; /* 60 */
	char flexible[];
};
"""
STARTS = [0, 8, 16, 24, 32, 36, 40, 44, 48, 52, 56, 60, 62]
INSIDE = [0, *range(8, 17), 24, 32, *range(36, 41), *range(44, 49), *range(52, 58), *range(60, 64)]


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    return read_layout(tmp_path_factory.mktemp("search"), SOURCE)


def read_layout(folder, source):
    path = folder / "s.h"
    path.write_text(source)
    options = ReadOptions(flags=("--target=x86_64-linux-gnu",))
    (reading,), _ = inputs.read((str(path),), Wanted(frozenset({"s"})), options)
    return Layout(next(struct for struct in reading.structs if struct.name == "s"))


def bits(mask: int) -> list[int]:
    return [byte for byte in range(mask.bit_length()) if mask >> byte & 1]


def test_where_accesses_can_start(layout):
    masks = access_masks(layout)
    assert (bits(masks.starts), bits(masks.inside)) == (STARTS, INSIDE)


def test_the_unit_of_a_bit_field_starts_before_it(tmp_path):
    masks = access_masks(read_layout(tmp_path, "struct s { long a; int : 8, x : 3; };"))
    assert (bits(masks.starts), bits(masks.inside)) == ([0, 8, 9], [*range(8), 8, 9])


@pytest.mark.parametrize(("byte", "path"), [(8, "b"), (44, "in[1].i"), (34, None), (57, "y"), (60, "u[0]"), (64, None)])
def test_the_field_at_a_byte(layout, byte, path):
    place = field_at(layout, byte)
    assert (place and place.path) == path


def attempts(starts: set[int], offsets: tuple[int, ...], size: int, align: int, line: int) -> list[int]:
    return [
        shift
        for shift in range(-line + 1, size)
        if shift % align == 0 and all(shift + offset in starts for offset in offsets)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_the_search_finds_what_trying_finds(layout, seed):
    generator = random.Random(seed)
    masks, align = access_masks(layout), generator.choice([1, 2, 8])
    offsets = tuple(sorted(generator.sample(range(0, 64, generator.choice([1, 4, 8])), generator.randrange(1, 4))))
    found = Search(64, layout.size, align, offsets).candidates(masks)
    assert [each.shift for each in found] == attempts(set(INSIDE), offsets, layout.size, align, 64)
    assert [each.shift for each in found if each.is_exact] == attempts(set(STARTS), offsets, layout.size, align, 64)


def test_expectations_choose_among_places(layout):
    masks = access_masks(layout)
    every = Search(64, layout.size, 8, (0, 8)).candidates(masks)
    assert [each.shift for each in every] == [0, 8, 16, 24, 32, 40, 48]
    chosen = Search(64, layout.size, 8, (0, 8), (Expectation(8, 1 << 24),)).candidates(masks)
    assert best(chosen) == (Candidate(16, True, True),)
    assert Candidate(16, True, True).base(64) == 48


LIMITS = "struct s { long a; struct { int b, c[2]; } in[2]; char d; };"
"""With five members, of which one is in an array of structs."""


@pytest.mark.parametrize(("name", "value", "is_too_large"), [
    ("LARGEST", 40, False), ("LARGEST", 39, True), ("_MOST_STEPS", 5, False), ("_MOST_STEPS", 4, True),
])  # fmt: skip
def test_structs_that_are_too_large(name, value, is_too_large, tmp_path, monkeypatch):
    monkeypatch.setattr(access_masks_module, name, value)
    layout = read_layout(tmp_path, LIMITS)
    assert layout.size == 40
    for make in (access_masks, lambda whole: parts_mask(whole, lambda field: None)):
        if is_too_large:
            with pytest.raises(TooLarge):
                make(layout)
        else:
            make(layout)


def wants(*names: str):
    """The fields of these names; of `in` its member `c`."""
    return lambda field: (field.members[1:] if field.name == "in" else (field,)) if field.name in names else None


@pytest.mark.parametrize(("names", "expected"), [
    ((), []), (("a",), [*range(8)]), (("b",), [8, 9, 10, 11, 20, 21, 22, 23]), (("in",), [*range(12, 20), *range(24, 32)]),
    (("d",), [32]), (("a", "c"), [*range(8), *range(12, 20), *range(24, 32)]),
])  # fmt: skip
def test_bytes_of_wanted_parts(names, expected, tmp_path):
    """A field that is not wanted can have members that are; a bit-field and a flexible array have no bytes."""
    text = LIMITS.replace("char d;", "char d; int e : 3; struct { } none[2]; long f[];")
    layout = read_layout(tmp_path, text)
    assert bits(parts_mask(layout, wants(*names, "e", "f", "none"))) == expected
