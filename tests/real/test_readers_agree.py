"""The readers against one another: every struct that two of them see in the same kernel."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.harness.effort import row
from tests.oracles.agreement import agreements

pytestmark = pytest.mark.real

Definitions = dict[str, list[Struct]]

PAIRS = [
    # kernel and reader, kernel and reader, at least so many names in common
    ("cloud", "dwarf", "cloud", "btf", 7_000),
    ("next", "dwarf", "next", "btf", 8_000),
    row("next", "dwarf", "next-headers", "clang", 3_800),
    row("next", "btf", "next-headers", "clang", 3_800),
    ("newest", "dwarf", "newest", "btf", 9_000),
    ("newest", "dwarf", "newest-headers", "clang", 4_000),
    row("newest", "btf", "newest-headers", "clang", 4_000),
]

PRIVATE = "sources have a struct of this name of their own, and the one in the header is in no unit of this kernel"
TRANSPARENT = "gcc writes no members of a transparent union that a typedef names into debug information"
CALLED = "libclang opens a typedef below the calling convention that stands beside it; only the type's spelling differs"
EXPLAINED = {
    "aes_encrypt_arg": TRANSPARENT,
    "cstate": PRIVATE,
    "efi_runtime_services_t": CALLED,
    "mac_addr": PRIVATE,
    "map_info": PRIVATE,
    "port": PRIVATE,
    "release_pages_arg": TRANSPARENT,
}


@lru_cache(maxsize=3)  # gigabytes otherwise
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
        nearest = [agreements(struct, theirs[name], reader, other) for struct in ours[name]]
        if all(nearest):
            found[name] = min(nearest, key=len)
    return found


@pytest.mark.parametrize(("kernel_a", "reader_a", "kernel_b", "reader_b", "least"), PAIRS)
def test_readers_agree(kernel, kernel_a, reader_a, kernel_b, reader_b, least):
    ours, theirs = definitions(kernel(kernel_a), reader_a), definitions(kernel(kernel_b), reader_b)
    both = ours.keys() & theirs.keys()
    print(f"{kernel_a} {reader_a} and {kernel_b} {reader_b}: {len(both)} structs in common, of {len(ours)} and {len(theirs)}")
    found = disagreements(ours, theirs, reader_a, reader_b)
    assert {name: lines for name, lines in found.items() if name not in EXPLAINED} == {}
    assert len(both) >= least
