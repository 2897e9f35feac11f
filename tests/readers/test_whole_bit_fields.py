"""Bit-fields as wide as their types, which clang up to 15 writes like members, with the byte they begin in."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.harness import tools

CODE = "typedef unsigned wide __attribute__((aligned(8)));\nenum e { A };\n"
CASES = {
    "behind bits without a name": ("char a; wide : 25; char m : 8; char *z;", "__attribute__((packed))", None),
    "at the start": ("int : 3; int m : 32; char : 5; char z;", "__attribute__((packed))", None),
    "at the end": ("int a; int : 3; int m : 32;", "__attribute__((packed))", None),
    "an enum": ("char a; int : 9; enum e m : 32; char : 7; char z;", "__attribute__((packed))", None),
    "a whole member before a gap": ("char a; int m; int : 9; char z;", "__attribute__((packed))", None),
    "nothing without a name": ("char a; int m : 32; char z;", "__attribute__((packed))", 32),
    "a gap that an alignment asks for": ("char a; int m; double z;", "", 32),
    "a gap at the end": ("double a; int m;", "", 32),
    "an array": ("char a; int : 9; char m[4]; int : 9; char z;", "__attribute__((packed))", 32),
    "a pointer": ("char a; int : 9; char *m; int : 9; char z;", "__attribute__((packed))", 64),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("reader", ["dwarf", "btf"])
def test_the_size_is_unknown_where_it_may_end_a_byte_later(name, reader, tmp_path):
    members, attributes, bits = CASES[name]
    compiler = next((one for one in ("clang-14", "clang-15", "clang-13") if tools.fault(one) is None), None)
    if compiler is None:
        pytest.skip("no clang before 16 works here")
    source, made = tmp_path / "s.c", tmp_path / "s.o"
    source.write_text(f"{CODE}struct s {{ {members} }} {attributes};\nstruct s s;\n")
    subprocess.run([compiler, "-g", "-gdwarf-4", "-c", source, "-o", made], check=True)
    if reader == "btf":
        if shutil.which("pahole") is None:
            pytest.skip("pahole is not installed")
        subprocess.run(["pahole", "-J", made], check=True)
    reading = read(str(made), Wanted(names=frozenset({"s"})), ReadOptions(reader=reader))
    (struct,) = reading.structs
    assert {field.name: field.bit_size for field in struct.fields}["m"] == bits, struct.problem
