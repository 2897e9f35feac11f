"""BTF that lost offsets or members, by its writer: no struct of it may differ from the DWARF of the same object."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Field, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.compilers.variants import compilers
from tests.harness.command import ROOT
from tests.harness.tools import need
from tests.real.kernels import Unavailable

FIXTURES = ROOT / "fixtures/writers"
LEAD = (FIXTURES / "lead.c").read_text()
LARGE = """
#define M (1 << 21)
struct behind { char a[M]; int b : 3; int c; };
struct before { int b : 3; char a[M]; int c; int d; };
struct across { char a[M - 4]; int b : 3; int e; int f; };
struct aligned { int b : 3; int x __attribute__((aligned(1 << 22))); };
struct gap { int : 8; int b : 3; char pad[60]; int x __attribute__((aligned(1 << 21))); int y; };
struct inner { int : 9; int q : 2; int z __attribute__((aligned(1 << 21))); };
struct outer { int n; struct inner i; };
struct array { int first, second; struct { char a[M]; long q : 40; long k; } s[2]; };
struct last { int b : 3; int c : 29; char a[4 * M]; };
struct small { long b : 3; int c : 29; int d; };
struct plain { char a[2 * M]; int c; };
struct either { union { int b : 3; char a[2 * M]; }; int c; };
"""
LOST, MOVED, REDUCED, LOADED = "24 bits", "unnamed bit-fields", "min_core_btf", "CO-RE"


def build(folder: Path, command: tuple[str, ...], text: str, name: str = "unit") -> Path:
    tags = [line.split()[1] for line in text.splitlines() if line.startswith("struct ") and "{" in line]
    (folder / f"{name}.c").write_text(text + "".join(f"struct {tag} {name}_{tag};\n" for tag in tags))
    subprocess.run([*command, "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
    return folder / f"{name}.o"


def raw(path: Path) -> Path:
    blob = path.with_suffix(".btf")
    with path.open("rb") as file:
        blob.write_bytes(ELFFile(file).get_section_by_name(".BTF").data())
    return blob


def structs(path: Path, reader: str = "btf") -> dict[str, Struct]:
    options = ReadOptions(reader=None if path.suffix == ".btf" else reader)  # type: ignore[arg-type]
    return {each.name: each for each in read(str(path), Wanted(everything=True), options).structs}


def problems(path: Path, reader: str = "btf") -> dict[str, str | None]:
    known = (LOST, MOVED, REDUCED, LOADED)
    return {
        name: next((sign for sign in known if sign in (each.problem or "")), each.problem)
        for name, each in structs(path, reader).items()
    }


def same(one: tuple[Field, ...], other: tuple[Field, ...]) -> bool:
    """Whether members are at the same places; a size that either does not state is like any."""
    return [(f.name, f.bit_offset) for f in one] == [(f.name, f.bit_offset) for f in other] and all(
        (None in (a.bit_size, b.bit_size) or a.bit_size == b.bit_size) and same(a.members, b.members)
        for a, b in zip(one, other, strict=True)
    )


def agree(of_btf: dict[str, Struct], of_dwarf: dict[str, Struct]) -> set[str]:
    """The structs that are not refused; they have to be those of DWARF."""
    good = {name for name, each in of_btf.items() if each.problem is None}
    for name in good:
        assert same(of_btf[name].fields, of_dwarf[name].fields), name
    return good


def gcc(version: int) -> tuple[str, ...]:
    if version == 12:
        return (need("gcc", "-c"),)
    try:
        return compilers.command(f"gcc-{version}")
    except Unavailable as reason:
        pytest.skip(str(reason))


def test_offsets_from_2_mib_on_by_clang(tmp_path):
    made = build(tmp_path, (need("clang"), "-target", "bpf", "-g"), LARGE)
    assert agree(structs(made), structs(made, "dwarf")) == {"small", "plain", "either"}
    assert set(problems(made).values()) == {None, LOST}


@pytest.mark.parametrize("version", [14, 15, 16])
def test_offsets_from_2_mib_on_by_gcc(tmp_path, version):
    """gcc drops bit-fields behind that, and then says that the struct has none."""
    made = build(tmp_path, (*gcc(version), "-gbtf"), LARGE)
    truth = build(tmp_path, (*gcc(version), "-g"), LARGE, "truth")
    assert agree(structs(made), structs(truth, "dwarf")) == {"small", "plain", "either"}


def test_pahole_refuses_such_a_file(tmp_path):
    made = build(tmp_path, (need("gcc", "-c"), "-g"), LARGE)
    done = subprocess.run([need("pahole"), "-J", made], capture_output=True, text=True)
    if done.returncode == 0 and "Error" not in done.stderr:  # then it has found a way
        agree(structs(made), structs(made, "dwarf"))


FIRST = {"lead": MOVED, "words": MOVED, "narrow": MOVED, "plain": MOVED, "holder": MOVED, "full": None}


@pytest.mark.parametrize("version", [12, 13, 14, 15, 16])
def test_unnamed_bit_fields_before_the_first_member(tmp_path, version):
    alone = build(tmp_path, (*gcc(version), "-gbtf"), LEAD, "alone")
    beside = build(tmp_path, (*gcc(version), "-g", "-gbtf"), LEAD, "beside")
    for path in (alone, raw(alone), beside, raw(beside)):
        assert problems(path) == FIRST, path


@pytest.mark.parametrize("version", [12, 16])
def test_the_same_in_objects_for_bpf(tmp_path, version):
    made = tmp_path / "bpf.o"
    made.write_bytes((FIXTURES / f"bpf-gcc-{version}.o").read_bytes())
    assert problems(made) == FIRST
    assert problems(raw(made)) == FIRST


def test_relocations_of_binutils_up_to_2_40():
    """R_BPF_DATA_32; the places are those of the ABI of the machine, as gcc has them everywhere."""
    found = structs(FIXTURES / "bpf-gcc-12.o", "dwarf")
    assert {name: [(f.name, f.bit_offset, f.bit_size) for f in each.fields] for name, each in found.items()} == {
        "lead": [("b", 8, 4), ("c", 32, 32)], "words": [("x", 32, 32), ("y", 64, 32)],
        "narrow": [("q", 3, 2), ("z", 8, 8)], "plain": [("a", 0, 8), ("b", 32, 32)],
        "full": [("a", 0, 64), ("b", 64, 32), ("c", 96, 32)], "holder": [("n", 0, 32), ("l", 32, 64)],
    }  # fmt: skip


def test_other_writers_state_them(tmp_path):
    text = LEAD + "struct list { int : 8; int b[2]; short s; };\n"
    clang = build(tmp_path, (need("clang"), "-target", "bpf", "-g"), text, "clang")
    pahole = build(tmp_path, (need("gcc", "-c"), "-g"), text, "pahole")
    subprocess.run([need("pahole"), "-J", pahole], check=True, capture_output=True)
    for path, truth in ((clang, clang), (raw(clang), clang), (pahole, pahole), (raw(pahole), pahole)):
        assert agree(structs(path), structs(truth, "dwarf")) == {*FIRST, "list"}, path


def random_struct(chance: random.Random, tag: str) -> str:
    """A struct with unnamed bit-fields at chance places; clang up to 15 loses those as wide as their type."""
    types = ("char", "short", "int", "long", "unsigned char")
    members = []
    for number in range(chance.randint(1, 5)):
        kind = chance.choice(types)
        width = chance.randint(1, {"char": 7, "short": 15, "int": 31, "long": 63, "unsigned char": 7}[kind])
        name = f"m{number}"
        members.append(chance.choice([f"{kind} {name};", f"{kind} {name} : {width};", f"{kind} : {width};", f"{kind} : 0;",
                                      f"{kind} {name}[{chance.randint(1, 3)}];"]))  # fmt: skip
    packed = chance.choice(["", "", " __attribute__((packed))"])
    return f"struct {tag} {{ {' '.join(members)} char end; }}{packed};\n"


@pytest.mark.parametrize("writer", ["gcc", "clang"])
def test_random_structs_with_unnamed_bit_fields(tmp_path, writer):
    chance = random.Random(40)
    text = "".join(random_struct(chance, f"s{number}") for number in range(300))
    flags = ("-g", "-gbtf") if writer == "gcc" else ("-target", "bpf", "-g")
    made = build(tmp_path, (need(writer, "-c"), *flags), text)
    known = agree(structs(made), structs(made, "dwarf"))
    assert len(known) == (300 if writer == "clang" else len(known)) > 50
    assert agree(structs(raw(made)), structs(made, "dwarf")) == known


def test_a_linked_program_has_a_blob_for_each_object(tmp_path):
    one = build(tmp_path, (*gcc(12), "-gbtf"), "struct one { int a, b; };\nstruct both { int c; };\n", "one")
    two = build(tmp_path, (*gcc(12), "-gbtf"), "struct two { long a; };\nstruct both { int c; };\nint main(void) { return 0; }\n", "two")
    for name, words in (("program", ("-nostartfiles", "-Wl,-e,main")), ("part", ("-r",))):
        subprocess.run([*gcc(12), *words, one, two, "-o", name], cwd=tmp_path, check=True)
        for path in (tmp_path / name, raw(tmp_path / name)):
            assert problems(path) == {"one": None, "both": None, "two": None}, path
            assert len(read(str(path), Wanted(frozenset({"both"})), ReadOptions()).structs) == 1


KERNEL = """
struct inner { long q; int z; int y; };
struct task_struct { long state; int pid; int tgid; struct inner in; char comm[16]; struct inner *next; };
struct sock { long e; long f; };
"""
PROGRAM = """
struct inner { int z; } __attribute__((preserve_access_index));
struct task_struct { int pid; struct inner in; } __attribute__((preserve_access_index));
struct sock___old { long f; } __attribute__((preserve_access_index));
struct own { char a; int b; struct task_struct *t; };
struct wrap { int n; struct task_struct t; };
__attribute__((section("tp"))) long use(struct task_struct *t, struct sock___old *s, struct own *o)
{
	return t->pid + t->in.z + s->f + o->b;
}
"""


def test_a_bpf_program_declares_what_its_loader_places(tmp_path):
    made = build(tmp_path, (need("clang"), "-target", "bpf", "-g", "-O2"), PROGRAM)
    loaded = {"inner": LOADED, "task_struct": LOADED, "sock___old": LOADED, "own": None, "wrap": LOADED}
    assert problems(made) == problems(made, "dwarf") == loaded


def test_min_core_btf_leaves_out_members(tmp_path):
    program = build(tmp_path, (need("clang"), "-target", "bpf", "-g", "-O2"), PROGRAM, "program")
    kernel = build(tmp_path, (need("gcc", "-c"), "-g"), KERNEL, "kernel")
    subprocess.run([need("pahole"), "-J", kernel], check=True, capture_output=True)
    whole, least = raw(kernel), tmp_path / "least.btf"
    subprocess.run([need("bpftool"), "gen", "min_core_btf", whole, least, program], check=True)
    assert problems(least) == {"inner": REDUCED, "task_struct": REDUCED, "sock": REDUCED}
    assert agree(structs(whole), structs(kernel, "dwarf")) == {"inner", "task_struct", "sock"}
