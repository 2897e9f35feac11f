"""What gcc and clang lay out differently of one C text: it is unknown, and the reason is said."""

from __future__ import annotations

import json

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from tests.harness.command import run

ATOMIC = "gcc and clang lay out `{}`, an atomic type, differently"
DOUBLE = "under -malign-double gcc aligns `{}`, a long double, to 4 and clang to 8"
DISPUTED = [
    # members of the struct, flags, problem
    ("_Atomic struct { char x[3]; } a[4];", "-m64", ATOMIC.format("a")),
    ("_Atomic struct { char x[4]; } a[4];", "-m64", None),
    ("char c; struct { int i; _Atomic union { char x[12]; } u; } in[2];", "-m64", ATOMIC.format("in.u")),
    ("_Atomic struct { long a, b; } a;", "-m64", None),
    ("_Atomic struct { int a, b, c, d; } a;", "-m32", ATOMIC.format("a")),
    ("_Atomic wide a;", "-m64", ATOMIC.format("a")),
    ("_Atomic long long a; _Atomic double b;", "-m32", None),
    ("_Atomic struct { char x[3]; } *a;", "-m64", None),
    ("_Atomic struct { } a; int b;", "-m64", ATOMIC.format("a")),
    ("char c; long double d;", "-m32", None),
    ("char c; long double d;", "-m32 -malign-double", DOUBLE.format("d")),
    ("char c; real d;", "-m32 -malign-double", DOUBLE.format("d")),
    ("char c; struct { int i; _Complex long double d; } in;", "-m32 -malign-double", DOUBLE.format("in.d")),
    ("char c; double d; long double *p;", "-m32 -malign-double", None),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("members", "flags", "problem"), DISPUTED)
def test_what_compilers_disagree_on_is_unknown(tmp_path, members, flags, problem):
    text = f"typedef long double real;\ntypedef int wide __attribute__((aligned(16)));\nstruct s {{ {members} }};\n"
    (tmp_path / "s.h").write_text(text)
    [reading], _ = inputs.read((str(tmp_path / "s.h"),), Wanted(frozenset({"s"})), ReadOptions(flags=tuple(flags.split())))
    assert [struct.problem for struct in reading.structs] == [problem]


STATED = [
    # flags, the size of struct s, or the macro that its layout depends on
    ("-march=native", "__AVX512F__"),
    ("-march=native -DOTHER", "__AVX512F__"),
    ("-march=native -U__AVX512F__", "__AVX2__"),
    ("-march=native -U__AVX512F__ -D __AVX2__", 32),
    ("-D__AVX512F__=1 -march=native -D__SSE4_2__", 64),
    ("-march=native -U__AVX512F__ -D__AVX2__ -U__SSE4_2__", 32),
    ("-march=native -DWIDE=__AVX512F__ -U__AVX2__ -U__SSE4_2__", "__AVX512F__"),
]


@pytest.mark.parametrize(("flags", "expected"), STATED, ids=[flags for flags, _ in STATED])
def test_flags_settle_what_depends_on_the_compiler(flags, expected, tmp_path):
    many = " && ".join(f"defined(__{name}__)" for name in ("SSE4_2", "BMI2", "FMA", "AES", "PCLMUL"))
    text = "#ifdef __AVX512F__\n#define N 8\n#elif defined(__AVX2__)\n#define N 4\n#else\n#define N 2\n#endif\n"
    text += f"#if {many} && 0\n#define M 2\n#else\n#define M 1\n#endif\nstruct s {{ long a[N * M]; }};\n"
    (tmp_path / "a.h").write_text(text)
    words = (*flags.split(), "-U__BMI2__", "-U__FMA__", "-U__AES__", "-U__PCLMUL__") if isinstance(expected, int) else flags.split()
    done = run("show", "a.h", "s", "--format", "json", "--", *words, cwd=tmp_path)
    (struct,) = json.loads(done.stdout)["structs"]
    if isinstance(expected, int):
        assert (struct["size"], struct["problem"]) == (expected, None)
    else:
        assert f"`{expected}` depends on the compiler; add `-D{expected}` or `-U{expected}`" in struct["problem"]
