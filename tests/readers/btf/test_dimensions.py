"""Arrays of several dimensions in pahole's BTF, which writes one of all elements: right, or not told."""

from __future__ import annotations

import itertools
import random
import subprocess
from math import prod
from pathlib import Path

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.harness import command
from tests.harness.effort import draws
from tests.oracles.c_probe import need

TYPES = ("char", "int", "short *", "struct inner", "row", "mat")
HEAD = "typedef int row[3]; typedef short mat[2][5]; struct inner { char c[2][3]; short s; };\n"


def source(seed: int, structs: int) -> str:
    rng = random.Random(seed)
    text = [HEAD]
    for number in range(structs):
        members = "".join(
            f"{rng.choice(TYPES)} m{each}{''.join(f'[{rng.choice((1, 2, 3, 4, 5, 6, 7))}]' for _ in range(rng.randrange(1, 4)))}; "
            for each in range(5)
        )
        text.append(f"struct s{number} {{ char before; {members}}} v{number};\n")
    return "".join(text)


def both(folder: Path, text: str) -> tuple[dict[str, Struct], dict[str, Struct]]:
    (folder / "arrays.c").write_text(text)
    subprocess.run([need("gcc"), "-g", "-c", "arrays.c", "-o", "arrays.o"], cwd=folder, check=True)
    subprocess.run([need("pahole"), "-J", "arrays.o"], cwd=folder, check=True)
    path = str(folder / "arrays.o")
    found = [read(path, Wanted(everything=True), ReadOptions(reader=reader)) for reader in ("dwarf", "btf")]
    return {each.name: each for each in found[0].structs}, {each.name: each for each in found[1].structs}


def paths(struct: Struct) -> list[str]:
    """Every element of every array of a struct, of all its dimensions and of the first of them."""
    out = []
    for field in struct.fields:
        sizes = [range(count or 0) for count in field.dims]
        for depth in range(1, len(sizes) + 1):
            out += [field.name + "".join(f"[{i}]" for i in index) for index in itertools.product(*sizes[:depth])]
    return out


def compare(folder: Path, text: str) -> tuple[int, int]:
    """How many paths were compared, and of how many BTF tells nothing; the others are as DWARF has them."""
    ours, theirs = both(folder, text)
    total = unknown = 0
    for name, struct in ours.items():
        exact, flat = Layout(struct), Layout(theirs[name])
        for path in paths(struct):
            place, other = exact.find(path), flat.find(path)
            assert place is not None
            total += 1
            if other is None:
                unknown += 1
            else:
                assert (other.bit_offset, other.bit_size) == (place.bit_offset, place.bit_size), f"{name}.{path}"
    return total, unknown


def test_an_element_is_that_of_the_dwarf_or_not_told(tmp_path):
    total, unknown = compare(tmp_path, source(1, 60))
    print(f"{total} paths, {unknown} not told by BTF")
    assert total > 1_000
    assert unknown < total


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 2 + draws(2, 10)))
def test_elements_of_many_arrays(tmp_path, seed):
    total, unknown = compare(tmp_path, source(seed, 400))
    assert 0 < unknown < total


PATHS = [
    # the array, a path, where its element starts and how many bytes it has; None where it can be several
    ("int x[6]", "x[5]", (20, 4)),  # of [3][2] and [2][3] there is none
    ("int x[6]", "x[3]", (12, 4)),
    ("int x[6]", "x[2]", None),  # the third of three, or of six
    ("int x[6]", "x[0]", None),
    ("int x[1][3]", "x[2]", (8, 4)),  # of [1][3] there is none
    ("int x[1][3]", "x[0][2]", (8, 4)),
    ("int x[2][3]", "x[1][2]", (20, 4)),
    ("int x[2][3]", "x[1]", None),
    ("int x[4][3]", "x[1][1]", None),
    ("int x[7]", "x[6]", (24, 4)),
    ("int x[7]", "x[7]", None),
    ("int x[1]", "x[0]", (0, 4)),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("declared", "path", "expected"), PATHS)
def test_what_a_path_means(tmp_path, declared, path, expected):
    _, flat = both(tmp_path, f"struct s {{ {declared}; int behind; }} v;\n")
    place = Layout(flat["s"]).find(path)
    assert (place and (place.bit_offset // 8, (place.bit_size or 0) // 8)) == expected


def test_dimensions_that_are_stated_are_taken(tmp_path):
    """gcc and clang keep them: an array of arrays in the same BTF proves it."""
    (tmp_path / "a.c").write_text("struct s { int x[2][3]; int y[6]; } v;\n")
    subprocess.run([need("clang"), "-target", "bpf", "-g", "-c", "a.c", "-o", "a.o"], cwd=tmp_path, check=True)
    (found,) = read(str(tmp_path / "a.o"), Wanted(everything=True), ReadOptions(reader="btf")).structs
    place = Layout(found).find("x[1]")
    assert place is not None
    assert (place.bit_offset, place.bit_size) == (96, 96)
    assert Layout(found).find("y[0]") is not None


def test_a_rule_on_such_an_element_says_why(tmp_path):
    both(tmp_path, "struct s { long before; int x[2][3]; } v;\n")
    (tmp_path / "r.toml").write_text(
        '[[rule]]\nid = "r"\nstruct = "s"\nkind = "separate"\nfields = [["before"], ["x[1]"]]\nwhy = "w"\nevidence = ["e"]\n'
    )
    done = command.run("check", "arrays.o", "--reader", "btf", "--rules", "r.toml", "--no-packs", cwd=tmp_path)
    assert done.returncode == 3
    output = " ".join(done.stdout.split())
    assert "BTF does not state the dimensions of `x` in struct s, so `x[1]` can be several elements" in output


def test_containers_count_all_elements(tmp_path):
    """The stride and the number of elements do not depend on dimensions."""
    ours, theirs = both(tmp_path, HEAD + "struct s { char before; struct inner x[2][3]; } v;\n")
    sides = [next(field for field in each["s"].fields if field.name == "x") for each in (ours, theirs)]
    assert [prod(count or 0 for count in field.dims) for field in sides] == [6, 6]
    assert sides[0].bit_size == sides[1].bit_size
