"""`diff` of one source, compiled by several compilers and options: notes at most, never a change."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.harness.command import run
from tests.harness.tools import need

SOURCE = """
struct plain { long a; char c; int b; };
struct packed { char c; long a; } __attribute__((packed));
struct aligned { int x; } __attribute__((aligned(64)));
struct field_aligned { int x; int y __attribute__((aligned(32))); };
struct bits { unsigned a:3, b:5; unsigned :0; unsigned c:31; unsigned long long d:40; _Bool e:1; };
struct nested { struct { int in; union { int u1; char u2[8]; }; }; struct plain p; enum { A, B } e; };
struct flex { int n; struct plain rest[]; };
struct zero { int n; char z[0]; int m; };
struct functions { int (*f)(int, struct plain *); void (*g)(void); const volatile char *s; int arr[3][4]; };
struct atomic { _Atomic int i; _Atomic long l; _Bool b; };
typedef struct { int q; unsigned r; } anon_td;
typedef struct named_td { anon_td a; struct named_td *next; } named_td;
struct only_ptr;
struct holder { struct only_ptr *p; anon_td t[2]; struct packed pk; struct aligned al; };
union u { int i; struct bits b; double d; };
#pragma pack(push, 2)
struct pragma { char c; int i; long l; };
#pragma pack(pop)
struct tail { long l; char c; };
struct plain p; struct packed pk; struct aligned al; struct field_aligned fa; struct bits bi; struct nested ne;
struct flex fl; struct zero ze; struct functions fu; struct atomic at; named_td nt; struct holder ho; union u un;
struct pragma pr; struct tail ta;
int use(struct plain *x, struct nested *n) { return x->b + n->in; }
int main(void) { return use(&p, &ne) + (int)sizeof(struct flex); }
"""
BUILDS = {
    # how a compiler is called; a program needs no -c
    "gcc -O2": ("gcc", "-g", "-O2", "-c"),
    "gcc DWARF 4": ("gcc", "-gdwarf-4", "-c"),
    "gcc strict DWARF 2": ("gcc", "-gdwarf-2", "-gstrict-dwarf", "-c"),
    "gcc type units": ("gcc", "-g", "-fdebug-types-section", "-c"),
    "gcc LTO": ("gcc", "-g", "-flto"),
    "gcc compressed": ("gcc", "-g", "-gz", "-c"),
    "gcc BTF": ("gcc", "-gbtf", "-c"),
    "clang": ("clang", "-g", "-c"),
    "clang -O2": ("clang", "-g", "-O2", "-c"),
    "clang DWARF 4": ("clang", "-gdwarf-4", "-c"),
    "clang-13": ("clang-13", "-g", "-c"),
    "clang-19": ("clang-19", "-g", "-c"),
    "clang-22": ("clang-22", "-g", "-c"),
    "clang LTO": ("clang", "-g", "-flto", "-fuse-ld=lld"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the source, and its reference: DWARF of gcc without optimisation."""
    need("gcc", "-c")
    path = tmp_path_factory.mktemp("noise")
    (path / "s.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-c", "-o", "reference.o", "s.c"], cwd=path, check=True)
    return path


def compare(folder, old: str, new: str, unreliable: str | None = None) -> None:
    """Nothing changed, and all is compared but what the format leaves open, with that as the reason."""
    done = run("diff", old, new, "--format", "json", cwd=folder)
    found = json.loads(done.stdout)
    reasons = {each["reason"].partition(": ")[2].partition(" whether")[0] for each in found["not_compared"]}
    assert (done.returncode, found["structs"], reasons) == ((3, [], {unreliable}) if unreliable else (0, [], set()))
    assert found["compared"] > (5 if unreliable else 10)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", BUILDS)
def test_another_build_is_no_change(folder, name):
    compiler, *flags = BUILDS[name]
    need(compiler, *flags)
    other = f"{name.replace(' ', '-')}.o"
    subprocess.run([compiler, *flags, "-o", other, "s.c"], cwd=folder, check=True)
    unreliable = "BTF of gcc does not state" if name == "gcc BTF" else None
    compare(folder, "reference.o", other, unreliable)
    compare(folder, other, "reference.o", unreliable)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_btf_of_pahole_is_no_change(folder, compiler):
    """pahole leaves out what it does not know (atomics): a size that is not stated is like any."""
    need(compiler, "-c")
    need("pahole")
    subprocess.run([compiler, "-g", "-c", "-o", f"pahole-{compiler}.o", "s.c"], cwd=folder, check=True)
    subprocess.run(["pahole", f"--btf_encode_detached={compiler}.btf", f"pahole-{compiler}.o"], cwd=folder, check=True, capture_output=True)
    compare(folder, "reference.o", f"{compiler}.btf")


def test_an_unknown_size_hides_no_other_change(folder):
    """Beside a member of unknown size, another that moved is reported."""
    need("pahole")
    text = "struct atomic { %s _Atomic int i; long l; } a;\n"
    for name, more in (("old", ""), ("new", "long extra;")):
        (folder / f"{name}.c").write_text(text % more)
        subprocess.run(["gcc", "-g", "-c", f"{name}.c"], cwd=folder, check=True)
    subprocess.run(["pahole", "--btf_encode_detached=new.btf", "new.o"], cwd=folder, check=True, capture_output=True)
    found = json.loads(run("diff", "old.o", "new.btf", "--format", "json", cwd=folder).stdout)
    assert [(each["name"], each["size"]) for each in found["structs"]] == [("atomic", [16, 24])]
