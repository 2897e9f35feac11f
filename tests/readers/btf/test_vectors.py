"""Vectors and atomic structs in BTF, which has neither: what is padded is never taken for an array without padding."""

from __future__ import annotations

import re
import subprocess

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from tests.oracles.c_probe import compile_c, need

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


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("members", "sizes"), MEMBERS)
def test_what_may_be_padded_has_no_size(tmp_path, members, sizes):
    path = compile_c("clang", TEXT.format(members), tmp_path / "s.o", "-c", "-g")
    subprocess.run([need("pahole"), "-J", "--btf_gen_floats", path], check=True, capture_output=True)
    [reading], _ = inputs.read((str(path),), Wanted(frozenset({"s"})), ReadOptions(reader="btf"))
    found = tuple(f.bit_size and f.bit_size // 8 for f in reading.structs[0].fields)
    assert found == sizes


PACKED = "}} __attribute__((packed));"
TWINS = [
    # members with an array; the same with a vector of clang's in its place, also in a struct that is packed
    ("int i[3]; long l;", "v3 i; long l;"),
    ("int i[3]; int j;", "v3 i; int j;"),
    ("int j; int i[3]; long l;", "int j; v3 i; long l;"),
    ("int j; int i[3]; long l[4];", "int j; v3 i; long l[4];"),
    ("char c[5]; __int128 i;", "c5 c; __int128 i;"),
    ("char c[5]; char d[11]; __int128 i;", "c5 c; char d[11]; __int128 i;"),
    ("char b; char c[5]; __int128 i;", "char b; c5 c; __int128 i __attribute__((aligned(16)));"),
    ("short s[3]; long l;", "s3 s; long l;"),
    ("short s[3], t; long l;", "s3 s; short t; long l;"),
    ("int i[6]; long l;", "v3 i[2]; long l;"),
    ("int i[4]; long l;", "v4 i; long l;"),
    ("long l; int i[3];", "long l; v3 i;"),
    ("int i[3];", "v3 i;"),
]
TWIN = TEXT.replace(
    "struct s {",
    "typedef char c5 __attribute__((ext_vector_type(5)));\ntypedef short s3 __attribute__((ext_vector_type(3)));\nstruct s {",
)


def _write(folder, text):
    """What BTF has of the sizes and offsets in a struct, and whether a size is not known."""
    path = compile_c("clang", text, folder / "s.o", "-c", "-g")
    subprocess.run([need("pahole"), "-J", "--btf_gen_floats", path], check=True, capture_output=True)
    dump = subprocess.run([need("bpftool"), "btf", "dump", "file", path], check=True, capture_output=True, encoding="utf-8").stdout
    [reading], _ = inputs.read((str(path),), Wanted(frozenset({"s"})), ReadOptions(reader="btf"))
    lacks = any(field.bit_size is None for field in reading.structs[0].fields)
    return re.findall(r"STRUCT 's' (size=\d+)|'\w+' type_id=\d+ (bits_offset=\d+)", dump), lacks


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("array", "vector"), TWINS)
def test_the_size_is_known_unless_a_vector_would_look_alike(tmp_path, array, vector):
    dump, lacks = _write(tmp_path, TWIN.format(array))
    others = [text.format(vector) for text in (TWIN, TWIN.replace("}};", PACKED))]
    is_padded = "v4" not in vector
    assert lacks == (is_padded and any(_write(tmp_path, text)[0] == dump for text in others))
