"""All structs of a real kernel that could be smaller: gcc lays their orders out, and pahole lists them too."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutlint.commands.suggest import packing
from layoutlint.commands.suggest.packing import Packing, Unit
from layoutlint.lint.struct_listing import list_structs
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Field, Struct
from tests.harness.tools import need

pytestmark = pytest.mark.real

WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long"}
"""Types of bit-fields, by their alignment."""


@pytest.fixture(scope="module")
def packed(kernel) -> list[tuple[Struct, tuple[Unit, ...], Packing]]:
    """The structs of a kernel whose members explain their layout, with the smallest order of each."""
    found = []
    for struct in list_structs(str(kernel("cloud")), (), ReadOptions()).structs:
        if struct.aggregate == "struct" and struct.fields and not struct.problem:
            try:
                units = packing.units_of(struct, 64)
            except packing.CannotLayOut:
                continue
            found.append((struct, units, packing.pack(units, packing.align_of(struct, units))))
    return found


def members(struct: Struct, units: tuple[Unit, ...], order: tuple[int, ...]) -> Iterator[str]:
    """Members of the sizes and alignments of a struct's, in an order."""
    for number in order:
        for position, at in enumerate(units[number].fields):
            field = struct.fields[at]
            if units[number].run and units[number].run[position].is_fresh:
                yield f"{WORDS[field.align or 1]} : 0"
            yield member(field, at)


def member(field: Field, at: int) -> str:
    """A member as large as a field, and aligned like it."""
    if field.is_bitfield:
        return f"{WORDS[field.align or 1]} m{at} : {field.bit_size}"
    content = f"struct {{ char c[{(field.bit_size or 0) // 8}]; }} __attribute__((packed))"
    return f"{content} m{at} __attribute__((aligned({field.align})))"


def test_gcc_gives_the_declared_and_the_least_sizes(packed, tmp_path: Path):
    lines = ["#include <stdio.h>"]
    for number, (struct, units, found) in enumerate(packed):
        align = packing.align_of(struct, units) // 8
        for name, order in (("old", tuple(range(len(units)))), ("new", found.order)):
            body = "; ".join(members(struct, units, order))
            lines.append(f"struct {name}{number} {{ {body}; }} __attribute__((aligned({align})));")
    rows = ", ".join(f"{{ sizeof(struct old{number}), sizeof(struct new{number}) }}" for number in range(len(packed)))
    lines.append(f"unsigned long sizes[][2] = {{ {rows} }};")
    lines.append(f'int main(void) {{ for (int i = 0; i < {len(packed)}; i++) printf("%lu %lu\\n", sizes[i][0], sizes[i][1]); }}')
    (tmp_path / "sizes.c").write_text("\n".join(lines))
    subprocess.run([need("gcc", "-O0"), "-w", "sizes.c", "-o", "sizes"], cwd=tmp_path, check=True)
    compiled = subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True).stdout.splitlines()
    promised = [f"{(struct.bit_size or 0) // 8} {found.size}" for struct, _, found in packed]
    assert [pair for pair in zip(compiled, promised, strict=True) if pair[0] != pair[1]] == []


def test_the_least_sizes_are_proved_or_those_of_pahole(kernel, packed):
    command = [need("pahole"), "-F", "dwarf", "--packable", "-j1", str(kernel("cloud"))]
    rows = [line.split("\t") for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()]
    listed = {(name, int(size)): int(least) for name, size, least, _ in rows}
    ours = {(struct.name, (struct.bit_size or 0) // 8): found for struct, _, found in packed}
    assert len(listed.keys() & ours.keys()) > 400
    wrong = [key for key in listed.keys() & ours.keys() if ours[key].size not in (listed[key], ours[key].bound)]
    assert wrong == []
