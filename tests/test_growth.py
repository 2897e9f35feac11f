"""Input of twice the size takes about twice the time, or is refused: small inputs must not take long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.readers.test_elf import tool

RULE = '[[rule]]\nid = "r"\nstruct = "q"\nkind = "{kind}"\n{keys}\nwhy = "w"\n'
TAG = '__attribute__((annotate("layoutlint: hot-read"))) __attribute__((btf_decl_tag("layoutlint: hot-read")))'


def chain(n: int) -> str:
    return "typedef int t0;\n" + "".join(f"typedef t{i} t{i + 1};\n" for i in range(n)) + f"struct q {{ t{n} a; }} v;\n"


def annotated(n: int) -> str:
    return "struct q {\n" + "".join(f"int f{i}; /* layoutlint: hot-read */\n" for i in range(n)) + "} v;\n"


def one_line(n: int) -> str:
    return annotated(n).replace("\n", " ")


def tagged(n: int) -> str:
    return "struct q {\n" + "".join(f"int f{i} {TAG};\n" for i in range(n)) + "} v;\n"


def wide(n: int) -> str:
    return "struct q {\n" + "".join(f"long f{i};\n" for i in range(n)) + "} v;\n"


GROWING = [
    # id, text, size, compiler (None: as C), kind, keys, what a refusal says (None: it is judged)
    ("typedefs, C", chain, 10_000, None, "no-straddle", 'fields = ["*"]', "stands for more than 256 typedefs"),
    ("comments", annotated, 2_000, None, "no-straddle", 'fields = ["*"]', None),
    ("comments on one line", one_line, 2_000, None, "no-straddle", 'fields = ["*"]', None),
    ("comments, many", annotated, 20_000, None, "no-straddle", 'fields = ["*"]', "more than 10,000 fields"),
    ("tags in DWARF", tagged, 4_000, "clang", "no-straddle", 'fields = ["*"]', None),
    ("stride", wide, 5_000, "gcc", "stride", "", None),
    ("fields of a stride", wide, 5_000, "gcc", "stride", 'fields = ["f*"]\nagainst = ["*"]', None),
    ("separate", wide, 2_000, "gcc", "separate", 'fields = [["f?[02468]*"], ["f?[13579]*"]]', "pairs of fields"),
    ("distance", wide, 2_000, "gcc", "distance", 'fields = ["*"]\nmin = 1', "pairs of fields"),
    ("order", wide, 3_000, "gcc", "order", 'fields = ["f?[02468]*", "f?[13579]*"]', "pairs of fields"),
    ("isolated", wide, 2_000, "gcc", "isolated", 'fields = ["f?[02468]*"]', "pairs of fields"),
]  # fmt: skip


def seconds(folder: Path, text: str, compiler: str | None, kind: str, keys: str) -> tuple[float, int, str]:
    """Processor time of a run, least of three; most memory in KiB; what it printed."""
    (folder / "q.c").write_text(text)
    (folder / "r.toml").write_text(RULE.format(kind=kind, keys=keys))
    source = "q.c"
    if compiler is not None:
        source = "q.o"
        subprocess.run([tool(compiler), "-g", "-c", "q.c", "-o", "q.o"], cwd=folder, check=True, capture_output=True)
    code = (
        "import os, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "sys.stdout.buffer.write(done.stdout + done.stderr)\n"
        "print(); print(used.ru_utime, used.ru_maxrss)\n"
    )
    words = [sys.executable, "-c", code, sys.executable, "-m", "layoutlint", "check", source, "--rules", "r.toml", "--no-packs", "-j1"]
    best, memory, told = 1e9, 0, ""
    for _ in range(3):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=300)
        told, _, figures = done.stdout.rstrip().rpartition("\n")
        taken, most = figures.split()
        best, memory = min(best, float(taken)), max(memory, int(most))
    return best, memory, told


@pytest.mark.exhaustive
@pytest.mark.parametrize(("text", "size", "compiler", "kind", "keys", "refusal"), [row[1:] for row in GROWING], ids=[row[0] for row in GROWING])
def test_twice_the_size_takes_about_twice_the_time(tmp_path, text, size, compiler, kind, keys, refusal):
    start, _, _ = seconds(tmp_path, "struct q { int f0, f1; } v;\n", compiler, kind, keys)
    once, _, _ = seconds(tmp_path, text(size), compiler, kind, keys)
    twice, memory, told = seconds(tmp_path, text(2 * size), compiler, kind, keys)
    assert twice - start < 3 * (once - start) + 0.3
    assert memory < 1 << 20
    assert (refusal is None) == ("exit 3" not in told), told[-500:]
    assert refusal is None or refusal in " ".join(told.split())
