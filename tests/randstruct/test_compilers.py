"""Randomised layouts against clang's own, under seeds that were not seen before."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tests.randstruct import golden

SEEDS = [sha256(bytes([number])).hexdigest() for number in range(4)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("source", golden.MARKED)
def test_clang(source, seed):
    """Clang's debug information has the order in which it lays out."""
    built = golden.compiled(source, golden.newest_clang(), "-g", f"-frandomize-layout-seed={seed}")
    names = list(golden.BUILDS[0 if source == "structs.c" else 7]["layouts"])
    theirs, _, _ = golden.show(built, names)
    ours, said, status = golden.show(golden.FOLDER / source, names, "--randstruct", "clang", "--seed", seed)
    notes = [line for line in said.splitlines() if "taken as of clang 16 to 19" not in line]
    assert (status, notes) == (0, [])
    assert {name: (one["size"], golden.bits(one)) for name, one in ours.items()} == {
        name: (one["size"], golden.bits(one)) for name, one in theirs.items()
    }
