"""Randomised structs that embed others whose alignment only bit-fields show."""

from __future__ import annotations

import subprocess

import pytest

from tests.oracles.c_probe import compile_c, need
from tests.randstruct import golden

SEEDS = ("0123456789abcdef02468ace13579bdffedcba9876543210ffeeddccbbaa9988", "7".zfill(64))
STRUCTS = [
    # what is embedded, what embeds it; for each seed sizeof and offsetof c, i, in and s in a program that GCC 12.2
    # compiled with the plugin of Linux 6.12
    ("struct in { long b : 5; };", "struct out { char c; int i; struct in in; short s; };",
     (24, 2, 16, 8, 0), (24, 16, 4, 8, 0)),
    ("struct in { int a : 3; long b : 40; };", "struct out { char c; struct in in[2]; short s; int i; };",
     (24, 4, 0, 8, 6), (32, 26, 0, 8, 24)),
    ("union in { long b : 7; };", "struct out { short s; int i; char c; union in in; };",
     (16, 10, 12, 0, 8), (16, 12, 8, 0, 14)),
    ("struct deep { long b : 5; }; struct in { struct deep d; };",
     "struct out { int i; struct in in; short s; char c; };", (24, 0, 4, 16, 8), (24, 0, 20, 8, 16)),
    ("struct in { long b : 5; char c; } __attribute__((packed));",
     "struct out { int i; struct in in; short s; char c; };", (12, 0, 4, 10, 8), (12, 0, 8, 1, 4)),
    ("struct in { long b : 5; char c; };",
     "struct out { int i; struct in in; short s; char c; } __attribute__((packed));",
     (15, 0, 1, 7, 5), (15, 0, 11, 1, 9)),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("reader", ["dwarf", "btf"])
@pytest.mark.parametrize(("inner", "outer", "first", "second"), STRUCTS)
def test_offsets_are_those_of_the_compiler(inner, outer, first, second, reader, tmp_path):
    built = compile_c("gcc", f"{inner}\n{outer}\nstruct out out;\n", tmp_path / "probe.o", "-g", "-c")
    if reader == "btf":
        subprocess.run([need("pahole"), "-J", built], check=True)
    for seed, wanted in zip(SEEDS, (first, second), strict=True):
        words = ("--randstruct", "gcc-full", "--seed", seed, "--kernel-version", "6.12", "--randomized", "out", "--reader", reader)
        output, message, status = golden.show(built, ["out"], *words)
        assert status == 0, message
        starts = golden.bits(output["out"])
        assert (output["out"]["size"], *(starts[name] // 8 for name in ("c", "i", "in", "s"))) == wanted
