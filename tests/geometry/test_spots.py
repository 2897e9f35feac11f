"""Where an embedded struct stands in a container, and what is beside it there: offsets as gcc has them."""

from __future__ import annotations

import subprocess

import pytest

from layoutlint.geometry import siblings
from layoutlint.geometry.containers import Index
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.siblings import (
    TooManySpots,
    next_elements,
    places_in_differing_elements,
    spots,
    spots_in,
)
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.oracles.c_probe import compile_c

SOURCE = """
struct lock { int count; int owner; };
struct plain { long head; struct lock lock; long tail; };
struct row { char first; struct lock locks[20]; char last; };
struct grid { long head; struct { int id; struct lock lock[2]; } cells[2][3]; long tail; };
struct either { long head; union { struct lock lock; long word; char text[16]; }; long tail; };
struct choice { long head; union { struct lock lock; long word; } of; long tail; };
struct outer { long before; struct plain plain; long after; };
struct unnamed { long head; struct { int id; struct lock lock; }; long tail; };
struct open { long head; struct lock locks[]; };
struct ended { char mark[0]; long far[4]; long head; struct lock lock; char end[0]; };
struct nothing { };
struct nested { struct row rows[4]; struct nothing none[3]; };
"""
BESIDE = [
    # the container; path of the embedded struct; its own siblings within 16 bytes; is there an own sibling, something outside, inside?
    ("plain", "lock", ["head", "tail"], {"head": "own outside", "lock": "", "lock.count": "inside", "tail": "own outside"}),
    ("row", "locks[0]", ["first", "locks[1]", "locks[2]"], {"first": "own outside", "locks[1]": "own outside", "locks[0].owner": "inside"}),
    ("row", "locks[19]", ["last", "locks[17]", "locks[18]"], {"locks[18].count": "own outside", "locks[19]": ""}),
    ("grid", "cells[0][1].lock[1]", ["cells[0][0]", "cells[0][2]", "cells[0][1].id", "cells[0][1].lock[0]"], {
        "cells[0][1].id": "own outside", "cells[1][1].id": "own outside", "cells[0][1]": "", "cells[0][1].lock[1].owner": "inside",
    }),
    ("either", "lock", ["head", "tail"], {"word": "", "text": "", "head": "own outside", "tail": "own outside"}),
    ("choice", "of.lock", ["head", "tail"], {"of.word": "", "of": "", "head": "own outside"}),
    ("outer", "plain.lock", ["before", "after"], {"plain.head": "outside", "before": "own outside", "plain": ""}),
    ("ended", "lock", ["far", "head", "end"], {"head": "own outside", "mark": "own outside", "lock.owner": "inside"}),
    ("unnamed", "lock", ["head", "tail", "id"], {"id": "own outside", "head": "own outside", "lock.count": "inside"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def structs(tmp_path_factory):
    path = tmp_path_factory.mktemp("spots") / "s.h"
    path.write_text(SOURCE)
    return read(str(path), Wanted(patterns=("*",)), ReadOptions(flags=("--target=x86_64-linux-gnu",))).structs


@pytest.fixture(scope="module")
def ways(structs):
    """Of each container, the way to the lock; and the lock."""
    index = Index(structs)
    (lock,) = index.definitions("lock")
    return {way.struct.name: way for way in index.containers("lock", lock)}, lock


def every_spot(ways, name):
    found, lock = ways
    return {spot.path: spot for spot in spots(found[name], lock, 64)}


def offsets(folder, paths) -> list[int]:
    prints = "".join(f'\tprintf("%zu\\n", 8 * __builtin_offsetof(struct {name}, {path}));\n' for name, path in paths)
    text = f"#include <stdio.h>\n{SOURCE}\nint main(void)\n{{\n{prints}\treturn 0;\n}}\n"
    done = subprocess.run([str(compile_c("gcc", text, folder / "program"))], check=True, capture_output=True, text=True)
    return [int(line) for line in done.stdout.split()]


def test_offsets(ways, tmp_path):
    """Of rows, the elements that differ in their place on a line or in their neighbours: here all."""
    found = {(name, path): spot.bit_offset for name, *_ in BESIDE for path, spot in every_spot(ways, name).items()}
    assert len([path for name, path in found if name == "row"]) == 20
    assert len([path for name, path in found if name == "grid"]) == 12
    for name, path, *_ in BESIDE:
        spot = every_spot(ways, name)[path]
        near = spot.own_siblings(spot.bit_offset - 128, spot.bit_offset + 64 + 128)
        found |= {(name, place.path): place.bit_offset for place in near}
    assert list(found.values()) == offsets(tmp_path, found)


@pytest.mark.parametrize(("name", "path", "beside", "paths"), BESIDE, ids=[row[0] + row[1] for row in BESIDE])
def test_what_is_beside(name, path, beside, paths, ways):
    spot = every_spot(ways, name)[path]
    near = spot.own_siblings(spot.bit_offset - 128, spot.bit_offset + 64 + 128)
    assert sorted(place.path for place in near) == sorted(beside)
    for other, words in paths.items():
        found = {"own": spot.is_own_sibling(other), "outside": spot.is_outside(other), "inside": spot.is_inside(other)}
        assert [word for word, holds in found.items() if holds] == words.split(), other
    assert spot.source.line == 1 + SOURCE[: SOURCE.index(f"struct {'plain' if name == 'outer' else name} {{")].count("\n")


@pytest.mark.parametrize(("name", "low", "high", "paths"), [
    # bytes of the container
    ("row", 0, 4, []), ("row", 0, 5, ["locks[0]"]), ("row", 12, 20, ["locks[1]"]), ("row", 11, 21, ["locks[0]", "locks[1]", "locks[2]"]),
    ("row", 160, 999, ["locks[19]"]), ("row", 164, 999, []),
    ("grid", 0, 16, ["cells[0][0].lock[0]"]), ("grid", 19, 33, ["cells[0][0].lock[0]", "cells[0][0].lock[1]", "cells[0][1].lock[0]"]),
    ("open", 800, 809, ["locks[99]", "locks[100]"]),
])  # fmt: skip
def test_spots_that_reach_into_bytes(name, low, high, paths, ways):
    found, lock = ways
    assert [spot.path for spot in spots_in(found[name], lock, low * 8, high * 8)] == paths


def test_elements_of_one_container_have_a_limit(tmp_path):
    path = tmp_path / "s.h"
    path.write_text(
        "struct lock { char held; }; struct cell { char id; struct lock locks[64]; };\n"
        "struct small { struct cell cells[64]; }; struct large { struct small smalls[2]; char last; };\n"
    )
    index = Index(read(str(path), Wanted(patterns=("*",)), ReadOptions()).structs)
    (lock,) = index.definitions("lock")
    found = {way.struct.name: way for way in index.containers("lock", lock)}
    assert next(spots(found["small"], lock, 64)).path == "cells[0].locks[0]"
    with pytest.raises(TooManySpots, match="is in 8,192 elements of arrays of large that differ, more than the limit of 4,096"):
        spots(found["large"], lock, 64)


@pytest.mark.parametrize(("most", "fails"), [(20, False), (19, True)])
def test_too_many_spots(most, fails, ways, structs, monkeypatch):
    monkeypatch.setattr(siblings, "MOST_SPOTS", most)
    layout = Layout(next(struct for struct in structs if struct.name == "row"))
    (place,) = layout.match("locks.count")
    if fails:
        with pytest.raises(TooManySpots, match="`locks` is in 20 elements of arrays of row that differ, more than the limit of 19"):
            every_spot(ways, "row")
        with pytest.raises(ValueError, match="is in more than 19 elements of different arrays"):
            places_in_differing_elements(layout.struct, place, 64)
    else:
        assert len(every_spot(ways, "row")) == len(places_in_differing_elements(layout.struct, place, 64)) == most


@pytest.mark.parametrize(("path", "outer", "line", "paths"), [
    # elements within a line of 8 or 16 bytes: one or two locks, a row
    ("rows[1].locks[0].count", "rows[1].locks", 8, ["rows[1].locks[1]"]),
    ("rows[1].locks[5].count", "rows[1].locks", 16, [f"rows[1].locks[{at}]" for at in (3, 4, 6, 7)]),
    ("rows[1].locks[5].count", "rows[1].locks", 9, [f"rows[1].locks[{at}]" for at in (3, 4, 6, 7)]),
    ("rows[1].locks[19]", "rows", 8, ["rows[0]", "rows[2]", "rows[1].locks[18]"]),
    ("rows[0].first", "rows", 8, ["rows[1]"]), ("rows[0].first", "rows[0]", 8, []), ("none[1]", "none", 8, []),
])  # fmt: skip
def test_next_elements(path, outer, line, paths, structs):
    layout = Layout(next(struct for struct in structs if struct.name == "nested"))
    assert [place.path for place in next_elements(layout, path, outer, line)] == paths
