"""The argument of `#pragma pack` where a struct begins, which the layout of the struct does not tell."""

from __future__ import annotations

import pytest

from layoutlint.lint.options import Options
from tests.harness.tools import NEEDS_SOLVER

pytestmark = NEEDS_SOLVER
STRUCT = "struct s { char a; long b; short c; char d[3]; } __attribute__((aligned(8)));"
CASES = [
    # text, the size with the members in the smallest order as gcc and clang have it
    (f"#pragma pack(4)\n{STRUCT}\n", 16),
    (f"#pragma pack(push, 2)\n{STRUCT}\n#pragma pack(pop)\n", 16),
    ("#pragma pack(2)\nstruct s { char a; short b; char c[2]; long d; int e; char f; } __attribute__((aligned(16)));\n", 32),
    ("#pragma pack(1)\n#pragma pack()\nstruct s { char a; long b; char c; } __attribute__((aligned(16)));\n", 16),
    ("#define PACK _Pragma(\"pack(4)\")\nPACK\nstruct s { char a; long b; char c; char e[3]; } __attribute__((aligned(8)));\n", 16),
]


@pytest.mark.parametrize(("text", "size"), CASES)
def test_the_argument_is_read(tmp_path, text, size):
    from layoutlint.suggestion.builds import Request  # imports the solver
    from layoutlint.suggestion.run import suggest

    path = tmp_path / "s.h"
    path.write_text(text)
    result = suggest(str(path), Request("s", ("size", "moves", "holes"), is_forced=True), (), (), Options())
    assert result.status == "optimal"
    assert not [note for note in result.notes if "likeliest" in note]
    assert result.new.bit_size == size * 8
