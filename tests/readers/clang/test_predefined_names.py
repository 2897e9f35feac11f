"""Macros that gcc predefines and libclang does not, and the reverse: gcc's own size, or unknown."""

from __future__ import annotations

import re
import subprocess

import pytest

from layoutlint.readers.clang import gcc_macros
from tests.harness.tools import need
from tests.readers.clang.test_told_apart import read, size

GCCS = {
    # each gcc, with libclang's triple
    "gcc": "x86_64-linux-gnu", "i686-linux-gnu-gcc": "i686-linux-gnu", "arm-linux-gnueabihf-gcc": "arm-linux-gnueabihf",
    "aarch64-linux-gnu-gcc": "aarch64-linux-gnu", "mips-linux-gnu-gcc": "mips-linux-gnu", "riscv64-linux-gnu-gcc": "riscv64-linux-gnu",
    "s390x-linux-gnu-gcc": "s390x-linux-gnu", "powerpc64-linux-gnu-gcc": "powerpc64-linux-gnu", "sparc64-linux-gnu-gcc": "sparc64-linux-gnu",
    "x86_64-w64-mingw32-gcc": "x86_64-w64-mingw32", "arm-none-eabi-gcc": "arm-none-eabi",
}  # fmt: skip
MODELLED = {*gcc_macros.NAMES, *gcc_macros.QUESTIONS, *gcc_macros.VERSION_NAMES}
"""Macros that are read as each compiler has them."""
NO_CONDITION = re.compile(r"__FLT_EVAL_METHOD__|_STDC_PREDEF_H|__has_(?:include|embed)\w*|_Float\w+|layoutlint__\w+|[A-Za-z]\w*|__builtin_\w+")
"""What conditions do not ask for, names that are no compiler's alone, and a name that clang has without listing it."""
XL = re.compile(r"__[a-z0-9_]*[a-z0-9]")
"""Functions of XL C, which clang has as macros for PowerPC."""


def names(*command: str) -> set[str]:
    done = subprocess.run([need(command[0]), *command[1:], "-dM", "-E", "-xc", "/dev/null"], check=True, capture_output=True, text=True)
    return set(re.findall(r"#define (\w+)", done.stdout))


@pytest.mark.parametrize("words", [(), ("-O2",), ("-std=c99",)], ids=" ".join)
@pytest.mark.parametrize("compiler", GCCS)
def test_the_table_has_every_name_that_only_one_of_both_has(compiler, words):
    triple = GCCS[compiler]
    ours = names("clang-16", f"--target={triple}", *words, *gcc_macros.flags((12, 2, 0), triple))
    different = {name for name in names(compiler, *words) ^ ours if not NO_CONDITION.fullmatch(name)} - MODELLED
    different -= {name for name in different if "powerpc" in triple and XL.fullmatch(name)}
    assert {name for name in different if not gcc_macros.is_predefined_otherwise(name, triple)} == set()
    assert len(different) > 50


ASKED = {
    # text of struct s: whether it is known
    "gcc's": ("struct s { int a;\n#ifdef __FLT128_MAX__\nint b, c;\n#endif\n};", False),
    "gcc's, not": ("struct s { int a;\n#ifndef __MMX_WITH_SSE__\nint b, c;\n#endif\n};", False),
    "clang's": ("struct s { int a;\n#ifdef __CONSTANT_CFSTRINGS__\nint b, c;\n#endif\n};", False),
    "a keyword as a macro": ("struct s { int a;\n#ifdef __seg_fs\nint b, c;\n#endif\n};", False),
    "value": ("struct s { int a;\n#if __INT_MAX__ > 5 && __LLONG_WIDTH__\nint b, c;\n#endif\n};", False),
    "behind a macro": ("#if defined(__DEC64_MAX__)\n#define N 8\n#else\n#define N 4\n#endif\nstruct s { char a[N]; };", False),
    "in an attribute": ("#ifdef __GCC_IEC_559\n#define WIDE __attribute__((aligned(32)))\n#else\n#define WIDE\n#endif\nstruct s { int a; } WIDE;", False),
    "beside it": ("#ifdef __FLT128_MAX__\nstruct t { int a; };\n#endif\nstruct s { int a; };", True),
    "of both": ("struct s { int a;\n#if defined(__LP64__) && defined(__SIZEOF_INT128__) && defined(__INT_MAX__)\nint b, c;\n#endif\n};", True),
    "of neither": ("struct s { int a;\n#ifdef __OWN_NAME__\nint b, c;\n#endif\n};", True),
    "headers": ("#include <stdint.h>\n#include <math.h>\n#include <wchar.h>\n#include <pthread.h>\nstruct s { int64_t a; wchar_t b; pthread_mutex_t c; };", True),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_a_struct_that_depends_on_one_is_unknown(name, tmp_path):
    text, is_known = ASKED[name]
    [struct] = read(tmp_path, text, "gcc-12")
    if is_known:
        assert (struct.problem, struct.bit_size) == (None, size(tmp_path, "gcc-12", text) * 8)
    else:
        assert re.search(r"`\w+` decides its layout .*; add `--query-driver '/usr/bin/\*gcc\*'`$", struct.problem), struct.problem


def test_a_flag_that_states_it_settles_it(tmp_path):
    [struct] = read(tmp_path, "struct s { int a;\n#ifdef __FLT128_MAX__\nint b, c;\n#endif\n};", "gcc-12", "-U", "__FLT128_MAX__")
    assert (struct.problem, struct.bit_size) == (None, 32)
