"""Random edits of the structs of a kernel, as in tests/comparison of made-up ones."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from layoutlint import api
from tests.comparison.test_random_edits import Shape, compare

pytestmark = pytest.mark.real


@pytest.mark.parametrize("seed", range(3))
def test_diff_says_what_two_runs_say_of_structs_of_linux(tmp_path, kernel, seed):
    chance = random.Random(seed)
    every = real_structs(kernel("next"))
    compare(tmp_path, {name: every[name] for name in chance.sample(sorted(every), 100)}, chance)


@cache
def real_structs(vmlinux: Path) -> dict[str, dict[str, Shape]]:
    """The structs with three fields or more, without bit-fields, unions and flexible arrays; fields by number."""
    structs = {}
    for layout in api.read(str(vmlinux), allow_unknown=True):
        fields = layout.struct.fields
        places = [(field.bit_offset // 8, (field.bit_size or 0) // 8) for field in fields]
        if len(places) < 3:
            continue
        is_plain = not any(field.is_bitfield or field.is_flexible or field.name is None for field in fields)
        starts = [start for start, _ in places[1:]] + [4096]
        is_apart = all(0 < size <= following - start for (start, size), following in zip(places, starts, strict=True))
        if is_plain and is_apart and layout.struct.name.isidentifier():
            structs[layout.struct.name] = {f"f{n}": Shape(size, alignment(start, size)) for n, (start, size) in enumerate(places)}
    return structs


def alignment(start: int, size: int) -> int:
    """The most that a field can be aligned to where it is, up to 8, and so that its size is a multiple."""
    return next(align for align in (8, 4, 2, 1) if start % align == 0 and size % align == 0)
