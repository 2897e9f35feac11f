"""What both compilers agree on, though libclang warns of it or lacks a header: gcc's objects are the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.repository import write
from tests.harness.tools import need_c_library
from tests.readers.clang.test_bare_metal import gcc_sizes, read

HEADERS = {
    "push.h": "#pragma pack(push, 1)\n", "pop.h": "#pragma pack(pop)\n", "two.h": "#pragma pack(2)\n", "none.h": "#pragma pack()\n",
    "push2.h": "#pragma pack(push)\n#pragma pack(2)\n", "named.h": "#pragma pack(push, own, 4)\n", "unnamed.h": "#pragma pack(pop, own)\n",
    "open.h": "#pragma pack(push, 1)\nstruct inner { char c; long l; };\n",
}  # fmt: skip
MEMBERS = "{ char c; long long l; short s; }"
PACKS = [
    # texts whose structs are known
    f'#include "push.h"\nstruct a {MEMBERS};\n#include "pop.h"\nstruct b {MEMBERS};\n',
    f'#include "push.h"\n#include "push2.h"\nstruct a {MEMBERS};\n#include "pop.h"\nstruct b {MEMBERS};\n#include "pop.h"\nstruct c {MEMBERS};\n',
    f'#include "two.h"\nstruct a {MEMBERS};\n#include "none.h"\nstruct b {MEMBERS};\n',
    f'#include "open.h"\nstruct a {MEMBERS};\nstruct b {{ char c; struct inner i; struct a a; }};\n',
    f'#pragma pack(push, 4)\nstruct a {MEMBERS};\n',
    f'#include "named.h"\n#include "two.h"\nstruct a {MEMBERS};\n#include "unnamed.h"\nstruct b {MEMBERS};\n',
    f'struct b {MEMBERS};\n#include "push.h"\n#include "pop.h"\nstruct a {{ char c; struct b b; }};\n',
]  # fmt: skip


@pytest.mark.parametrize("flags", ["", "-fpack-struct=2"])
@pytest.mark.parametrize("compiler", ["gcc", "arm-linux-gnueabihf-gcc", "mips-linux-gnu-gcc"])
@pytest.mark.parametrize("text", PACKS, ids=range(len(PACKS)))
def test_packs_of_included_headers(text, compiler, flags, tmp_path):
    write(tmp_path, HEADERS)
    words = f"{compiler} {flags} -I{tmp_path}"
    assert read(tmp_path, text, words)[0] == gcc_sizes(tmp_path, text, words)


OF_WINDOWS = """
#include <windows.h>
#include <pshpack1.h>
struct a { char c; LARGE_INTEGER l; };
#include <poppack.h>
struct b { char c; LARGE_INTEGER l; BITMAPFILEHEADER h; WIN32_FIND_DATAA f; };
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("compiler", ["x86_64-w64-mingw32-gcc", "i686-w64-mingw32-gcc", "/usr/bin/x86_64-w64-mingw32-gcc"])
def test_packs_of_windows_headers(compiler, tmp_path):
    need_c_library(compiler.removeprefix("/usr/bin/"))
    assert read(tmp_path, OF_WINDOWS, compiler)[0] == gcc_sizes(tmp_path, OF_WINDOWS, compiler.removeprefix("/usr/bin/"))


INSIDE = [f'struct a {{ char c;\n#include "push.h"\nlong long l; }};\n#include "pop.h"\nstruct b {MEMBERS};\n']


@pytest.mark.parametrize("text", INSIDE)
def test_a_pack_that_begins_inside_a_struct(text, tmp_path):
    """Clang takes the pack at the start of a struct, and gcc that at its end."""
    write(tmp_path, HEADERS)
    words = f"gcc -I{tmp_path}"
    sizes, expected = read(tmp_path, text, words)[0], gcc_sizes(tmp_path, text, words)
    assert sizes["b"] == expected["b"]
    assert sizes["a"] in (None, expected["a"])


TYPEDEFS = f"""
typedef struct {MEMBERS} T __attribute__((packed));
typedef struct {MEMBERS} U __attribute__((__packed__, aligned(32)));
typedef struct tag {MEMBERS} V __attribute__((packed)), W;
typedef union {MEMBERS} X __attribute__((packed));
typedef long long Y __attribute__((packed));
struct s {{ char a; T t; char b; U u; char c; V v; char d; W w; char e; X x; char f; Y y; }};
struct t {{ char a; T t[2]; }};
struct v {{ char a; Y y[2]; struct tag tag; }};
"""


@pytest.mark.parametrize("compiler", ["gcc", "gcc -m32", "arm-none-eabi-gcc", "s390x-linux-gnu-gcc"])
def test_packed_behind_a_typedef_does_nothing(compiler, tmp_path):
    assert read(tmp_path, TYPEDEFS, compiler)[0] == gcc_sizes(tmp_path, TYPEDEFS, compiler)


OF_GCC = """
#include <omp.h>
#include <quadmath.h>
struct locks { char c; omp_lock_t l; omp_nest_lock_t n; };
struct quads { char c; __float128 f; __complex128 z; };
"""


@pytest.mark.parametrize("words", ["gcc", "gcc -fopenmp", "gcc-12 -O2", "gcc-11 -fopenmp"])
def test_headers_of_gcc(words, tmp_path):
    if not Path("/usr/include/stdio.h").exists():
        pytest.skip("no headers of the C library")
    assert read(tmp_path, OF_GCC, words)[0] == gcc_sizes(tmp_path, OF_GCC, words)


ENDS = """
#ifdef __MIPSEL__
#define PART char
#else
#define PART int
#endif
struct a { char c; int b : 3; long long l; };
struct b { PART part; };
"""
TARGETS = [
    ("mips-linux-gnu-gcc -EL", "mipsel"), ("mips-linux-gnu-gcc -EB", "mips"), ("mips-linux-gnu-gcc", "mips"),
    ("mips-linux-gnu-gcc -mel", "mipsel"), ("mips64-linux-gnuabi64-gcc -EL", "mips64el"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "target"), TARGETS, ids=[words for words, _ in TARGETS])
def test_mips_of_either_end(words, target, tmp_path):
    sizes, structs = read(tmp_path, ENDS, words)
    assert (sizes, structs["a"].target.name) == (gcc_sizes(tmp_path, ENDS, words), target)
