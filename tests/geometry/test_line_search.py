"""Where a line is in a struct, found from touched offsets: compared with trying every byte."""

from __future__ import annotations

import random

import pytest

from layoutlint.geometry.access_masks import access_masks, field_at
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
