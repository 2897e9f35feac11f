"""Structs of units in other languages: not covered, unless C has them with the same layout. Compilers print the layouts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import need
from tests.readers.dwarf.test_omissions import build, reasons, report

HEADERS = {
    # struct q, which a unit in C and one in C++ include
    "the same": "struct q { long a, b; };",
    "all kinds of members": (
        "enum e { ONE }; union u { int i; char c[5]; }; typedef struct { short s; } box;\n"
        "struct q { long a; enum e e; union u u[2][3]; box t; int *p; int (*f)(int); const char k; double d; struct { int x; }; int tail[]; };"
    ),
    "bit-fields": "struct q { long a; unsigned b : 3, : 4, c : 9; unsigned d : 30; };",
    "aligned": "struct q { char c; long a __attribute__((aligned(32))); } __attribute__((aligned(64)));",
    "packed": "struct q { char c; long a; } __attribute__((packed));",
    "an empty member": "struct none { }; struct q { struct none n; long a; };",
    "an empty member at the end": "struct none { }; struct q { long a; struct none n[8]; };",
    "a member of C++": "struct q {\n#ifdef __cplusplus\nlong more;\n#endif\nlong a; };",
    "a member of C": "struct q { long a;\n#ifndef __cplusplus\nlong more;\n#endif\n};",
    "another size": "#ifdef __cplusplus\ntypedef long n;\n#else\ntypedef int n;\n#endif\nstruct q { long a; n b[4]; };",
    "another order": "#ifdef __cplusplus\n#define PAIR long b; long a;\n#else\n#define PAIR long a; long b;\n#endif\nstruct q { PAIR };",
    "an inner struct": "struct in {\n#ifdef __cplusplus\nint y, x;\n#else\nint x, y;\n#endif\n}; struct q { struct in in; long a; };",
    "a typedef": "typedef struct { long a; char c; } q;",
    "a class with a function": "struct q { long a;\n#ifdef __cplusplus\nlong get() { return a; }\n#endif\n};",
    "a virtual function": "struct q { long a;\n#ifdef __cplusplus\nvirtual long get() { return a; }\n#endif\n};",
    "a base class": "#ifdef __cplusplus\nstruct base { long z; };\nstruct q : base { long a; };\n#else\nstruct q { long z, a; };\n#endif",
}  # fmt: skip
PRINT = """
#include <stdio.h>
#include <stddef.h>
int main(void) { printf("%zu %zu %zu", sizeof(QUALIFIED), __alignof__(QUALIFIED), offsetof(QUALIFIED, a)); return 0; }
"""


def facts(folder: Path, compiler: str, source: str) -> str:
    """What a compiler prints of `q`: its size, its alignment, and the offset of `a`."""
    name = "q" if "typedef" in source.splitlines()[-1] else "struct q"
    file = folder / ("print.c" if compiler == "gcc" else "print.cc")
    file.write_text(f'#include "q.h"\n{PRINT.replace("QUALIFIED", name)}')
    subprocess.run([need(compiler), "-w", file, "-o", folder / "print"], check=True)
    return subprocess.run([folder / "print"], check=True, capture_output=True, text=True).stdout


@pytest.mark.one_in(8)
@pytest.mark.parametrize("debug", ["-g", "-g -gdwarf-4", "-g -fdebug-types-section"])
@pytest.mark.parametrize("case", HEADERS)
def test_a_struct_that_both_languages_include(tmp_path, case, debug):
    name = "q" if "typedef" in HEADERS[case].splitlines()[-1] else "struct q"
    texts = {"q_h": f"{HEADERS[case]}\n", "a_c": f'#include "q.h"\n{name} *c(void *p) {{ return p; }}\n', "b_cc": f'#include "q.h"\n{name} *cpp() {{ static {name} v = {{}}; return &v; }}\n'}
    found = report(tmp_path, build(tmp_path, f"gcc {debug} -c a.c; g++ {debug} -c b.cc; ld -r a.o b.o -o out", **texts))
    is_same = facts(tmp_path, "gcc", HEADERS[case]) == facts(tmp_path, "g++", HEADERS[case])
    may_differ = not is_same or case in ("an inner struct", "a base class")  # that the facts do not show
    assert bool(reasons(found)) == may_differ
    if may_differ:
        assert "in units in C++" in reasons(found)[0]
        assert found["exit"] in (1, 3)


NAMES = {
    "a class": "class q { public: char c[60]; __int128 a; } v;",
    "in a namespace": "namespace n { struct q { char c[60]; __int128 a; } v; }",
    "in an unnamed namespace": "namespace { struct q { char c[60]; __int128 a; } v; } void *f() { return &v; }",
    "in a class": "struct outer { struct q { char c[60]; __int128 a; } in; } v;",
    "in a function": "int f(int n) { struct q { char c[60]; int a; } v = {}; return v.c[n]; }",
    "a typedef": "typedef struct { char c[60]; __int128 a; } q; q v;",
    "using": "struct other { char c[60]; __int128 a; }; using q = other; q v;",
}


@pytest.mark.parametrize("case", NAMES)
def test_names_of_c_plus_plus(tmp_path, case):
    found = report(tmp_path, build(tmp_path, "gcc -g -c a.c; g++ -g -c b.cc; ld -r a.o b.o -o out", a_c="struct q { long a, b; } v0;\n", b_cc=NAMES[case]))
    assert [reason.endswith(": q at b.cc:1") for reason in reasons(found)] == [True]
    assert found["exit"] == 3


def test_a_type_that_is_in_another_twice_is_looked_into_once(tmp_path):
    need("g++")
    chain = "".join(f"struct s{n} {{ s{n - 1} x, y; }};\n" for n in range(1, 22))
    source = f"struct held {{ long a; }};\nstruct s0 {{ int q; }};\n{chain}struct other {{ held z; }} o;\nlong f(s21 *p) {{ return (long)&p->y; }}\n"
    made = build(tmp_path, "g++ -g -gdwarf-4 -fdebug-types-section -c b.cc -o out", b_cc=source)
    done = run("containers", made, "held", cwd=tmp_path, seconds=10)
    assert done.returncode == 3
    assert "1 struct with held inside" in done.stderr


RUST = {
    # a struct of Rust, whether it is laid out like struct q { long a; int type; }
    "a binding": ("#[repr(C)] pub struct q { pub a: i64, pub type_: i32 }", True),
    "another type": ("#[repr(C)] pub struct q { pub a: i64, pub other: i32 }", False),
    "another order": ("#[repr(C)] pub struct q { pub type_: i32, pub a: i64 }", False),
    "an enum": ("pub enum q { A(i64), B(i32, i32) }", False),
    "what bindgen makes of a declaration": ("#[repr(C)] pub struct q { _unused: [u8; 0] }", True),
    "what newer ones make": ("#[repr(C)] pub struct q { pub _address: u8 }", True),
    "another name": ("pub struct r { pub a: i64 }", True),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", RUST)
def test_structs_of_rust(tmp_path, case):
    need("rustc")
    text, is_same = RUST[case]
    name = "r" if " r " in text else "q"
    source = f"#![allow(non_camel_case_types, dead_code)]\n{text}\n#[no_mangle] pub static V: Option<{name}> = None;\n"
    steps = "gcc -g -c a.c; rustc -g --crate-type=lib --emit=obj b.rs -o b.o; ld -r a.o b.o -o out"
    found = report(tmp_path, build(tmp_path, steps, a_c="struct q { long a; int type; } v;\n", b_rs=source))
    assert [("in units in Rust" in reason) for reason in reasons(found)] == ([] if is_same else [True])
    assert found["exit"] == (0 if is_same else 3)
