"""The readers against one another: every struct that two of them see in the same kernel."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from layoutlint.model import ReadOptions, Struct, Wanted
from layoutlint.readers import read
from tests.agreement import agreeing

pytestmark = pytest.mark.real

Definitions = dict[str, list[Struct]]

PAIRS = [
    # kernel and reader, kernel and reader, at least so many names in common
    ("cloud", "dwarf", "cloud", "btf", 5_000),
    ("next", "dwarf", "next", "btf", 6_000),
    ("newest", "dwarf", "newest", "btf", 6_000),
    ("next", "dwarf", "next-headers", "clang", 3_000),
    ("next", "btf", "next-headers", "clang", 3_000),
    ("newest", "dwarf", "newest-headers", "clang", 3_000),
]


@cache
def definitions(path: Path, reader: str) -> Definitions:
    """Every complete and believed definition of an input, by name."""
    options = ReadOptions(reader=None if reader == "clang" else reader)
    found: Definitions = defaultdict(list)
    for struct in read(str(path), Wanted(everything=True), options).structs:
        if struct.bit_size is not None and struct.problem is None:
            found[struct.name].append(struct)
    return found


def disagreements(ours: Definitions, theirs: Definitions, reader: str, other: str) -> dict[str, list[str]]:
    """By name, in what the definitions of one reader differ from the nearest that the other has."""
    found = {}
    for name in sorted(ours.keys() & theirs.keys()):
        nearest = [agreeing(struct, theirs[name], reader, other) for struct in ours[name]]
        if all(nearest):
            found[name] = min(nearest, key=len)
    return found


@pytest.mark.parametrize(("kernel_a", "reader_a", "kernel_b", "reader_b", "least"), PAIRS, ids=[" ".join(p[:4]) for p in PAIRS])
def test_readers_agree(kernel, kernel_a, reader_a, kernel_b, reader_b, least):
    ours, theirs = definitions(kernel(kernel_a), reader_a), definitions(kernel(kernel_b), reader_b)
    both = ours.keys() & theirs.keys()
    print(f"{kernel_a} {reader_a} and {kernel_b} {reader_b}: {len(both)} structs in common, of {len(ours)} and {len(theirs)}")
    assert disagreements(ours, theirs, reader_a, reader_b) == {}
    assert len(both) >= least
