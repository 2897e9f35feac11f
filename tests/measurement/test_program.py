"""The generated program: it compiles without a warning, and accesses the bytes that a compiler gives the fields."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from layoutlint.measurement import machine
from layoutlint.measurement.runner import FLAGS
from tests.harness.command import run
from tests.harness.tools import need

STRUCT = """
struct inner { char tag; struct { short low, high; } pair; };
struct tried {
	char first;
	struct inner inner;
	int count;
	unsigned flag : 3, other : 5;
	long words[3];
	char odd[5];
	void *lock;
} PACKED;
"""
FIELDS = ["first", "inner", "inner.pair", "count", "words", "words[1]", "odd", "lock"]
PRINT = """
#include <stdio.h>
#include <stddef.h>
#define SHOW(field) printf(#field " %zu %zu\\n", offsetof(struct tried, field), sizeof(((struct tried *)0)->field));
int main(void) { MEMBERS return 0; }
"""


def offsets(folder: Path, flags: list[str]) -> dict[str, tuple[int, int]]:
    """Offset and size of each field, as gcc has them."""
    members = " ".join(f"SHOW({field})" for field in FIELDS)
    (folder / "offsets.c").write_text(STRUCT + PRINT.replace("MEMBERS", members))
    subprocess.run([need("gcc", "-g"), *flags, "offsets.c", "-o", "offsets"], cwd=folder, check=True)
    lines = subprocess.run([folder / "offsets"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: (int(offset), int(size)) for name, offset, size in map(str.split, lines)}


def program(folder: Path, compiler: str, *words: str) -> list[tuple[int, int, str, int, int]]:
    """What the compiled program prints about its accesses: cell, thread, operation, bits, byte of the arena."""
    done = run("measure", *words, "--dry-run", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "made.c").write_text(done.stdout)
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wshadow"]
    subprocess.run([need(compiler, "-pthread"), *FLAGS, *warnings, "made.c", "-o", "made"], cwd=folder, check=True)
    printed = subprocess.run([folder / "made", "addresses"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in printed.splitlines()]
    return [(int(cell), int(thread), name, int(bits), int(byte)) for cell, thread, name, bits, byte in rows]


@pytest.mark.parametrize(("compiler", "flags", "field", "bases"), [
    ("gcc", ["-DPACKED=__attribute__((packed))"], "inner.pair", range(0, 64, 8)),
    ("clang", [], "inner", range(0, 64, 8)),
    *(pytest.param(compiler, flags, field, range(0, 64, 8), marks=pytest.mark.exhaustive)
      for compiler, flags in (("clang", ["-DPACKED=__attribute__((packed))"]), ("gcc", [])) for field in FIELDS[1:-1]),
])  # fmt: skip
def test_the_program_accesses_the_fields(tmp_path, compiler, flags, field, bases):
    """Each cell of each base: the bytes of the field and of `lock`, at the base, and the reference on other lines."""
    flags = flags or ["-DPACKED="]
    (tmp_path / "tried.h").write_text(STRUCT)
    fields = offsets(tmp_path, flags)
    rows = program(tmp_path, compiler, "tried.h", "tried", "--write", field, "--lock", "lock", "--intervals", "0", "--flags", " ".join(flags))
    cells: dict[int, dict[int, list[tuple[str, int]]]] = {}
    for cell, thread, operation, bits, byte in rows:
        cells.setdefault(cell, {}).setdefault(thread, []).extend((operation, at) for at in range(byte, byte + bits // 8))
        assert byte % (bits // 8) == 0
    control, (reference, *placed) = [cells.pop(0), cells.pop(1)], [*cells.values()]
    assert [{at // 64 for _, at in each[0]} == {at // 64 for _, at in each[1]} for each in control] == [True, False]
    assert not {at // 64 for _, at in reference[0]} & {at // 64 for _, at in reference[1]}
    assert len(placed) == len(bases)
    for base, threads in zip(bases, placed, strict=True):
        start = min(at for _, at in threads[0]) - fields["lock"][0]
        assert start % 64 == base
        for thread, (name, operation) in enumerate((("lock", "LOCK"), (field, "ADD"))):
            offset, size = fields[name]
            assert sorted(threads[thread]) == [(operation, start + offset + at) for at in range(size)]


HOSTILE = 'struct x { long __attribute__((aligned(8))) system, main, a_very_hostile_name; };\n'


def test_no_name_gets_into_the_program(tmp_path):
    """Of the input there are only numbers: names, messages and file names could hold code."""
    name = 'evil"\n#error evil\n.h'
    (tmp_path / name).write_text(HOSTILE)
    words = ("--write", "system", "--read", "a_very_hostile_name", "--intervals", "0")
    text = run("measure", f"./{name}", "x", *words, "--dry-run", cwd=tmp_path).stdout
    (tmp_path / "plain.h").write_text("struct y { long a, b, c; };\n")
    other = run("measure", "plain.h", "y", "--write", "a", "--read", "c", "--intervals", "0", "--dry-run", cwd=tmp_path).stdout
    assert text == other
    plan = text.split("#define THREADS")[1].split("static _Alignas(4096)")[0]
    assert set(re.findall(r"[A-Za-z_]+", plan)) <= {
        "CELLS", "ROUNDS", "WINDOW_NS", "TOTAL_NS", "MOST_SAMPLES", "MOST_SECONDS", "MOST_BYTES", "ARENA_BYTES", "SEED", "CORES",
        "OBJECT", "WORDS_", "ROLE", "X", "ADD", "LOAD", "PARTS", "access_", "print_", "define", "start", "u", "ull",
    }  # fmt: skip


def test_a_sweep_touches_more_than_the_cache(tmp_path):
    (tmp_path / "s.h").write_text("struct s { long a; long pad[4]; long b; };\n")
    rows = program(tmp_path, "gcc", "s.h", "s", "--write", "a", "--write", "b", "--sweep")
    spans = [{(byte // 64) for cell, _, _, _, byte in rows if cell == number} for number in (0, 1, 2, 3, 9)]
    assert [len(lines) for lines in spans] == [2, 1, 1, 1, 2]
    text = run("measure", "s.h", "s", "--write", "a", "--write", "b", "--sweep", "--dry-run", cwd=tmp_path).stdout
    arena = int(re.search(r"#define ARENA_BYTES (\d+)", text)[1])
    assert arena > (machine.cache_sizes(min(os.sched_getaffinity(0)))[1] or 1 << 20)
