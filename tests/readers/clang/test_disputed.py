"""What gcc and clang lay out differently of one C text: it is unknown, and the reason is said."""

from __future__ import annotations

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs

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
