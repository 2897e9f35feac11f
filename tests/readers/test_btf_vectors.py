"""Vectors and atomic structs in BTF, which has neither: what is padded is never taken for an array without padding."""

from __future__ import annotations

import subprocess

import pytest

from layoutlint import inputs
from layoutlint.model import ReadOptions, Wanted
from tests.c_probe import compile_c, need

TEXT = """
typedef int v3 __attribute__((ext_vector_type(3)));
typedef double d3 __attribute__((ext_vector_type(3)));
typedef int v4 __attribute__((vector_size(16)));
struct s {{ {} }};
struct s v;
"""
MEMBERS = [
    # members, bytes of each as BTF tells; None is unknown
    ("char c; v3 v; char d;", (1, None, 1)),
    ("v3 v[2]; int i;", (None, 4)),
    ("d3 d; char c;", (None, 1)),
    ("v4 v; char c;", (16, 1)),
    ("int i[3]; int j;", (12, 4)),
    ("int i[3]; long l;", (None, 8)),
    ("int j; int i[3]; long l;", (4, 12, 8)),
    ("char c[5]; char d;", (5, 1)),
    ("int i[4]; long l;", (16, 8)),
    ("struct { char x[3]; } s[4]; int z;", (12, 4)),
    ("struct { char x[3]; } s[4]; char z;", (12, 1)),
    ("union { v3 v; char c; } u; int z;", (16, 4)),
    ("void *p[3]; char c __attribute__((aligned(32)));", (24, 1)),
]


@pytest.mark.parametrize(("members", "sizes"), MEMBERS)
def test_what_may_be_padded_has_no_size(tmp_path, members, sizes):
    path = compile_c("clang", TEXT.format(members), tmp_path / "s.o", "-c", "-g")
    subprocess.run([need("pahole"), "-J", "--btf_gen_floats", path], check=True, capture_output=True)
    [reading], _ = inputs.read((str(path),), Wanted(frozenset({"s"})), ReadOptions(reader="btf"))
    found = tuple(f.bit_size and f.bit_size // 8 for f in reading.structs[0].fields)
    assert found == sizes
