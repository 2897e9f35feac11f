"""The allocator that a program names: by libraries that it needs, and by symbols of itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from tests.harness.command import run
from tests.oracles.c_probe import need

STRUCT = "struct small { int a, b; } object;\n"
BUMP = "static void *__simple_malloc(unsigned long n) { return 0; }\n"
WEAK = 'void *{}(unsigned long) __attribute__((weak, alias("__simple_malloc")));\n'
PROGRAMS = [
    # what it shows, the code, a library that it needs, the flags, the allocator
    ("the C library's", "void *malloc(unsigned long); int main(void) { return malloc(8) == 0; }", "", (), None),
    ("a library", "int main(void) { return 0; }", "libjemalloc.so.2", (), "jemalloc"),
    ("a library, stripped", "int main(void) { return 0; }", "libtcmalloc_minimal.so.4", ("-g",), "tcmalloc"),
    ("another", "int main(void) { return 0; }", "libmimalloc.so.2.0", (), "mimalloc"),
    ("linked into it, with a prefix", "void *je_malloc(unsigned long n) { return 0; } int main(void) { return 0; }", "", (), "jemalloc"),
    ("called by an object file", "void *tc_malloc(unsigned long); void *f(void) { return tc_malloc(8); }", "", ("-c",), "tcmalloc"),
    ("two of them: the one with the smaller blocks", "void *tc_malloc(unsigned long), *mi_malloc(unsigned long); void *f(void) { return mi_malloc(8) ? tc_malloc(8) : 0; }",
     "", ("-c",), "mimalloc"),
    ("musl without free", BUMP + WEAK.format("__libc_malloc_impl") + "int main(void) { return 0; }", "", (), "musl-static"),
    ("an older musl without free", BUMP + WEAK.format("malloc") + "int main(void) { return 0; }", "", (), "musl-static"),
    ("musl with free", BUMP + "void *keep = __simple_malloc; void *__libc_malloc_impl(unsigned long n) { return 0; } int main(void) { return 0; }", "", (), None),
]  # fmt: skip


def build(folder: Path, code: str, library: str, *flags: str) -> Path:
    """What gcc makes of some C, linked to a library of this name without content."""
    gcc = need("gcc")
    (folder / "a.c").write_text(STRUCT + code)
    needed = []
    if library:
        (folder / "none.c").write_text("")
        subprocess.run([gcc, "-shared", f"-Wl,-soname,{library}", "-o", folder / library, folder / "none.c"], check=True)
        needed = ["-Wl,--no-as-needed", str(folder / library)]
    subprocess.run([gcc, "-w", "-g", *flags, "-o", folder / "a", folder / "a.c", *needed], check=True)
    return folder / "a"


@pytest.mark.parametrize(("code", "library", "flags", "allocator"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS])
def test_programs(tmp_path, code, library, flags, allocator):
    made = build(tmp_path, code, library, *flags)
    if "-g" in flags:  # the symbols are in another file
        subprocess.run(["objcopy", "--only-keep-debug", made, tmp_path / "a.debug"], check=True)
        subprocess.run(["strip", made], check=True)
        subprocess.run(["objcopy", f"--add-gnu-debuglink={tmp_path / 'a.debug'}", made], check=True)
    reading = dispatch.read(str(made), Wanted(names=frozenset(("small",))), ReadOptions())
    assert reading.allocator == allocator


RULE = """\
[struct.small]
placement = "{}"
[[rule]]
id = "r"
struct = "small"
kind = "line-start"
fields = ["a"]
why = "a test"
"""


def test_malloc_is_that_of_the_program_and_of_its_snapshot(tmp_path):
    made, snapshot = build(tmp_path, PROGRAMS[4][1], ""), tmp_path / "snapshot.json"
    assert run("snapshot", made, "--all", "--output", snapshot).returncode == 0
    for word, where, placements in (
        ("malloc", made, "7 of 8"), ("malloc", snapshot, "7 of 8"), ("malloc", tmp_path / "a.c", "3 of 4"),
        ("jemalloc", tmp_path / "a.c", "7 of 8"), ("tcmalloc", made, "7 of 8"),
    ):  # fmt: skip
        (tmp_path / "r.toml").write_text(RULE.format(word))
        done = run("check", where, "--rules", tmp_path / "r.toml")
        assert f"in {placements} placements" in done.stdout, (word, where, done.stdout, done.stderr)
