"""Sizes and alignments that debug information does not state, against constants of what compilers made."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from layoutlint.readers.scalars import atomic_bits, round_up_bits
from tests.compilers.variants import compilers
from tests.harness.command import run
from tests.harness.tools import need
from tests.oracles.c_probe import compile_c
from tests.real import kernels


class Case(NamedTuple):
    """A struct `s`, its members, and what compiles it."""

    code: str
    members: tuple[str, ...]
    compilers: tuple[str, ...]
    flags: tuple[str, ...] = ()


GCC = ("gcc-9", "gcc-10", "gcc-12", "gcc-14")
CLANG = ("clang-13", "clang-14", "clang-16", "clang-22")
NUMBERS = "struct s { char c; long l; char d; long long ll; char e; double g; char h; long double ld; char i; void *p; };"
IN_NUMBERS = ("c", "l", "d", "ll", "e", "g", "h", "ld", "i", "p")
CASES = {
    "atomic structs of three bytes": Case(
        "struct s { char c; _Atomic struct { char x[3]; } a[4]; char d; };", ("c", "a", "d"), (*GCC[2:], *CLANG),
    ),
    "an array of atomic structs alone": Case(
        "struct s { _Atomic struct { char x[3]; } a[4]; };", ("a",), (*GCC[2:], *CLANG),
    ),
    "atomic integers of i386": Case(
        "struct s { char c; _Atomic long long a; char d; _Atomic double e; _Atomic long f; };", ("c", "a", "d", "e", "f"),
        (*GCC, *CLANG), ("-m32",),
    ),
    "numbers of i386": Case(NUMBERS, IN_NUMBERS, (*GCC, *CLANG), ("-m32",)),
    "numbers of i386, doubles aligned": Case(NUMBERS, IN_NUMBERS, (*GCC, *CLANG), ("-m32", "-malign-double")),
    "numbers of x32": Case(NUMBERS, IN_NUMBERS, (*GCC, *CLANG), ("-mx32",)),
    "wide numbers of x32": Case(
        "struct s { char c; __int128 a; char d; _Atomic long long e; char f; long double _Complex g; };",
        ("c", "a", "d", "e", "f", "g"), (*GCC, *CLANG), ("-mx32",),
    ),
    "aligned by itself, of x32": Case(
        "struct s { char c; struct { long double a; } d; };", ("c", "d"), (*GCC, *CLANG), ("-mx32",),
    ),
    "vectors of three": Case(
        "typedef int v3 __attribute__((ext_vector_type(3)));\nstruct s { char c; v3 a; char d; v3 e[2]; };",
        ("c", "a", "d", "e"), CLANG,
    ),
}  # fmt: skip
FORMS = {"DWARF 4": ("-gdwarf-4",), "DWARF 5": ("-gdwarf-5",), "BTF": ("-gdwarf-4",)}


QUICK = (("gcc-12", "DWARF 5"), ("clang-14", "BTF"))
"""What is tried in every run of the tests."""


def _cases() -> Iterator[object]:
    for name, case in CASES.items():
        for compiler in case.compilers:
            for form in FORMS:
                marks = () if (compiler, form) in QUICK else pytest.mark.exhaustive
                yield pytest.param(name, compiler, form, marks=marks)


def _build(case: Case, compiler: str, form: str, folder: Path) -> Path:
    try:
        command = compilers.command(compiler)
    except kernels.Unavailable as why:
        pytest.skip(str(why))
    numbers = [f"__builtin_offsetof(struct s, {m}), sizeof ((struct s *)0)->{m}" for m in case.members]
    output = ", ".join(("sizeof(struct s)", "_Alignof(struct s)", *numbers))
    code = f'const unsigned told[] __attribute__((section(".answers"))) = {{{output}}};'
    (folder / "x.c").write_text(f"{case.code}\nstruct s object;\n{code}\n")
    done = subprocess.run(
        [*command, *case.flags, *FORMS[form], "-c", "-o", "x.o", "x.c"], cwd=folder, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        pytest.skip(f"{compiler} does not compile it: {done.stderr[:200]}")
    if form == "BTF":
        done = subprocess.run([need("pahole"), "-J", "x.o"], cwd=folder, capture_output=True, encoding="utf-8")
        if "INT complex" in done.stdout + done.stderr:
            pytest.skip("pahole does not write complex numbers")
        done.check_returncode()
    return folder / "x.o"


def _truth(made: Path) -> tuple[int, ...]:
    subprocess.run([need("objcopy"), "-O", "binary", "-j", ".answers", made, made.with_name("told")], check=True)
    content = made.with_name("told").read_bytes()
    return struct.unpack(f"<{len(content) // 4}I", content)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "compiler", "form"), _cases())
def test_what_is_known_is_true(name: str, compiler: str, form: str, tmp_path: Path) -> None:
    case = CASES[name]
    made = _build(case, compiler, form, tmp_path)
    size, align, *places = _truth(made)
    reader = ("--reader", "btf" if form == "BTF" else "dwarf")
    ((shown),) = json.loads(run("show", made, "s", *reader, "--format", "json").stdout)["structs"]
    assert shown["size"] == size
    assert align in shown["align_possible"]
    offsets = {member["path"]: (member["offset"], member["size"]) for member in shown["fields"]}
    for member, offset, of_it in zip(case.members, places[::2], places[1::2], strict=True):
        assert offsets[member][0] == offset, member
        assert offsets[member][1] in (of_it, None), member


SIZES = range(36)


def test_clang_rounds_up_to_the_same(tmp_path):
    """0 for what is not rounded: a power of two, and more than 16 bytes. An empty struct gets a byte."""
    structs = "".join(f'\tprintf("%zu\\n", sizeof(_Atomic struct {{ char a[{size}]; }}));\n' for size in SIZES)
    made = compile_c("clang", f"#include <stdio.h>\nint main(void)\n{{\n{structs}\treturn 0;\n}}\n", tmp_path / "program", "-w")
    lines = subprocess.run([made], check=True, capture_output=True, text=True).stdout.split()
    assert {size: atomic_bits(size * 8) for size in SIZES} == {
        size: 0 if int(line) == size else int(line) * 8 for size, line in zip(SIZES, lines, strict=True)
    }


def test_bits_that_are_rounded_up():
    rounded = {bits: round_up_bits(bits, 4) for bits in (None, 0, 4, 8, 12, 16, 24, 32, 40)}
    assert rounded == {None: 0, 0: 0, 4: 0, 8: 0, 12: 0, 16: 0, 24: 32, 32: 0, 40: 0}
