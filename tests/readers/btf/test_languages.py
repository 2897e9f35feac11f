"""Structs of other languages that pahole writes as structs of C: what tells them is reported, in `check` and in `show`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import need
from tests.readers.btf.btf_blob import INT, STRUCT, Strings, blob, record
from tests.readers.dwarf.test_omissions import RULES, reasons, report

CPP = {
    "a function": "struct q { long a, b; }; long f(q *v) { return v->a; }",
    "a variable in a namespace": "struct q { long a, b; }; namespace n { q v; }",
    "a base class": "struct base { long z; }; struct q : base { long a; } v;",
    "a template": "template<class T> struct ring { T a; }; ring<long> r; struct q { long a; } v;",
}
C = "struct q { long a, b; } v; long f(struct q *p) { return p->a; }\n"
SHOWN = "BTF shows structs of other languages as those of C"


def convert(folder: Path, text: str, *, compiler: str, suffix: str, strip: bool) -> Path:
    """Compile a unit, and convert its DWARF to BTF with pahole; without its DWARF, if that is stripped."""
    need("pahole")
    source, made = folder / f"q.{suffix}", folder / "q.o"
    source.write_text(text)
    subprocess.run([need(compiler), "-g", "-c", source, "-o", made], check=True)
    done = subprocess.run(["pahole", "-J", made], capture_output=True)
    if done.returncode:
        pytest.skip(done.stderr.decode())
    if strip:
        subprocess.run([need("objcopy"), "--remove-section=.debug_*", "--remove-section=.rela.debug_*", made], check=True)
    return made


@pytest.mark.parametrize("strip", [False, True], ids=["with DWARF", "with symbols"])
@pytest.mark.parametrize("case", CPP)
def test_c_plus_plus_in_btf(tmp_path, case, strip):
    made = convert(tmp_path, CPP[case], compiler="g++", suffix="cc", strip=strip)
    found = report(tmp_path, made, "--reader", "btf")
    assert [reason.startswith(SHOWN) for reason in reasons(found)] in ([True], [True, True])
    assert found["exit"] == 3
    shown = run("show", made, "q", "--reader", "btf")
    assert (f"note: {SHOWN}" in shown.stderr, shown.returncode) == (True, 0)


@pytest.mark.parametrize("strip", [False, True], ids=["with DWARF", "with symbols"])
def test_c_in_btf(tmp_path, strip):
    made = convert(tmp_path, C, compiler="gcc", suffix="c", strip=strip)
    found = report(tmp_path, made, "--reader", "btf")
    assert (reasons(found), found["exit"]) == ([], 0)
    assert SHOWN not in run("show", made, "q", "--reader", "btf").stderr


def test_rust_in_btf(tmp_path):
    need("rustc")
    need("pahole")
    (tmp_path / "q.rs").write_text("#![allow(non_camel_case_types)] pub struct q { pub a: u64 }\n#[no_mangle] pub extern \"C\" fn f(v: &q) -> u64 { v.a }\npub fn g() {}\n")
    made = tmp_path / "q.o"
    subprocess.run(["rustc", "-g", "--crate-type=lib", "--emit=obj", "q.rs", "-o", made], cwd=tmp_path, check=True)
    subprocess.run(["pahole", "-J", made], check=True, capture_output=True)
    for is_stripped in (False, True):
        if is_stripped:
            subprocess.run([need("strip"), "-g", made], check=True)
        found = report(tmp_path, made, "--reader", "btf")
        assert [("Rust" in reason and reason.startswith(SHOWN)) for reason in reasons(found)] == [True]


NAMES = {
    # the name of another struct in a raw blob, whether C can have it
    "ring<int>": False, "std::pair": False, "{closure_env#0}": False, "(u8, u16)": False, "&[u8]": False,
    "ring": True, "ring___old": True, "$ring": True,
}  # fmt: skip


@pytest.mark.parametrize(("name", "is_c"), NAMES.items())
def test_names_in_a_raw_blob(tmp_path, name, is_c):
    strings = Strings("long int", "a", "q", name)
    number, member = record(strings.add("long int"), INT, 8, 64), (strings.add("a"), 1, 0)
    structs = [record(strings.add(each), STRUCT, 8, *member, vlen=1) for each in ("q", name)]
    path = tmp_path / "q.btf"
    path.write_bytes(blob(b"".join((number, *structs)), strings.bytes))
    found = report(tmp_path, path)
    expected = [] if is_c else [f"{SHOWN}, and this may have some: C has no names like `{name}`"]
    assert (reasons(found), found["exit"]) == (expected, 0 if is_c else 3)
    assert (SHOWN in run("show", path, "q").stderr) != is_c


def test_structs_local_to_functions_in_btf_of_gcc(tmp_path):
    text = "struct q { long a, b; }; struct o { struct q q; } v; int f(int n) { static struct { int i; struct q q; } w; return w.i + n; }\n"
    (tmp_path / "q.c").write_text(text)
    made = tmp_path / "q.o"
    if subprocess.run([need("gcc"), "-gbtf", "-c", "q.c", "-o", made], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("gcc has no -gbtf")
    found = report(tmp_path, made, rules=f'{RULES}\n[struct.q]\nplacement = "embedded"\n')
    assert reasons(found) == ["BTF of a compiler has no structs local to functions, which can embed others"]
    assert found["exit"] == 3
