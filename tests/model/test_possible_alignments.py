"""Alignments that objects do not state: no verdict on one contradicts the compiled truth (docs/concepts.md)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from tests.harness.command import run

BUILDS = {
    "gcc": ("gcc-12",),
    "clang": ("clang-14",),
    "new clang": ("clang-22",),
    "btf": ("gcc-12",),
}
"""What makes the debug information; BTF is pahole's, of gcc's DWARF."""


class Case(NamedTuple):
    """A struct `s`, a rule on it, and what is known of it from each kind of debug information."""

    code: str
    rule: str
    truth: str
    """What the compiled program makes of it."""
    known: str
    """From gcc's DWARF, clang 14's, clang 22's and BTF: `=` is the truth and `?` unknown."""
    placement: str = ""
    options: tuple[str, ...] = ()
    struct: str = "s"


EBTREE = """
typedef unsigned int u32;
typedef void eb_troot_t;
struct eb_root { eb_troot_t *b[2]; };
struct eb_node {
    struct eb_root branches;
    eb_troot_t *node_p;
    eb_troot_t *leaf_p;
    short int bit;
    short unsigned int pfx;
} __attribute__((packed));
struct eb32_node {
    struct eb_node node;
    u32 key;
} __attribute__((packed));
"""
"""As haproxy's ebtree declares its nodes."""
PAIR = 'kind = "no-straddle"\nfields = ["a"]'
CASES = {
    "packed, offsets that look natural": Case(
        "struct __attribute__((packed)) s { char c[16]; __int128 a, b; };", PAIR, "at-risk", "?=??",
    ),
    "not packed": Case("struct s { char c[16]; __int128 a, b; };", PAIR, "kept", "????"),
    "packed around a member of an aligned type": Case(
        "struct line { long x; } __attribute__((aligned(64)));\n"
        "struct __attribute__((packed)) s { long c[8]; struct line a; };", PAIR, "at-risk", "===?",
    ),
    "epoll_event, static": Case(
        "struct __attribute__((packed)) s { unsigned int events; union { void *p; int fd; long a; } data; };",
        'kind = "no-straddle"\nfields = ["data"]', "at-risk", "====", 'placement = "static"',
    ),
    "epoll_event, in an array": Case(
        "struct __attribute__((packed)) s { unsigned int events; union { void *p; int fd; long a; } data; };",
        'kind = "no-straddle"\nfields = ["data"]', "at-risk", "====", 'placement = "aligned:8"\narray = true',
    ),
    "pragma pack(4)": Case(
        "#pragma pack(4)\nstruct s { long a, b; };", PAIR, "at-risk", "??=?", options=("--min-align", "4"),
    ),
    "pragma pack(4), objects at multiples of 8": Case(
        "#pragma pack(4)\nstruct s { long a, b; };", PAIR, "kept", "====", 'placement = "aligned:8"',
    ),
    "bit-fields of long": Case(
        "struct s { long a:33; long b:31; };", PAIR, "kept", "====",
    ),
    "bit-fields of long, static": Case(
        "struct s { long a:33; long b:31; };", PAIR, "kept", "????", 'placement = "static"',
    ),
    "bit-fields of long, packed, static": Case(
        "struct __attribute__((packed)) s { long a:33; long b:31; };", PAIR, "at-risk", "????",
        'placement = "static"',
    ),
    "packed, unnamed bit-fields where padding would be": Case(
        "struct __attribute__((packed)) s {\n char c;\n int : 24;\n int x;\n long a; };", PAIR, "at-risk", "????",
        'placement = "static"',
    ),
    "a hole between lines that follow one another": Case(
        "struct s {\n int c;\n long a;\n};", PAIR, "kept", "????", 'placement = "static"',
    ),
    "packed, unnamed bit-fields at the end": Case(
        "struct __attribute__((packed)) s {\n long a;\n int c;\n int : 32;\n};", PAIR, "at-risk", "????",
        'placement = "static"',
    ),
    "a member aligned to 64": Case(
        "struct s {\n long c;\n long a __attribute__((aligned(64)));\n};", 'kind = "line-start"\nfields = ["a"]',
        "kept", "=???",
    ),
    "a member aligned to 64 on the line of the one before": Case(
        "struct s { long c; long a __attribute__((aligned(64))); };", 'kind = "line-start"\nfields = ["a"]', "kept", "=???",
    ),
    "unnamed bit-fields in the place of what a pragma cuts down": Case(
        "#pragma pack(8)\nstruct s { long c; long : 64, : 64, : 64, : 64, : 64, : 64, : 64; long a __attribute__((aligned(64))), d[7]; };",
        'kind = "line-start"\nfields = ["a"]', "at-risk", "===?",
    ),
    "aligned to 64": Case(
        "struct s { long c[7], a; } __attribute__((aligned(64)));", 'kind = "line-start"\nfields = ["c"]', "kept", "===?",
    ),
    "aligned to less than a member": Case(
        "struct s { char c[16]; long double a; } __attribute__((aligned(8)));", PAIR, "kept", "=?=?",
    ),
    "an aligned bit-field": Case(
        "struct s { int a:3 __attribute__((aligned(64))); int b[15]; };", 'kind = "line-start"\nfields = ["a"]',
        "kept", "=???",
    ),
    "packed, a bit-field aligned to 16": Case(
        "struct __attribute__((packed)) s { int x:3 __attribute__((aligned(16))); char c[15]; __int128 a; };", PAIR,
        "kept", "=???",
    ),
    "pragma pack(2) cuts down what it moves": Case(
        "#pragma pack(2)\nstruct s { short c; double a; char e; };", PAIR, "at-risk", "====",
        'placement = "static"\narray = 5',
    ),
    "glibc's epoll_event, static": Case(
        "#include <sys/epoll.h>\n", 'kind = "no-straddle"\nfields = ["data"]', "at-risk", "====", 'placement = "static"',
        struct="epoll_event",
    ),
    "glibc's epoll_event, in an array": Case(
        "#include <sys/epoll.h>\n", 'kind = "no-straddle"\nfields = ["data"]', "at-risk", "====",
        'placement = "aligned:8"\narray = true', struct="epoll_event",
    ),
    "haproxy's eb_node, static": Case(
        EBTREE, 'kind = "no-straddle"\nfields = ["leaf_p"]', "at-risk", "====", 'placement = "static"', struct="eb_node",
    ),
    "haproxy's eb_node, at multiples of 8": Case(
        EBTREE, 'kind = "no-straddle"\nfields = ["leaf_p"]', "kept", "====", 'placement = "aligned:8"', struct="eb_node",
    ),
    "haproxy's eb_node, in an array": Case(
        EBTREE, 'kind = "no-straddle"\nfields = ["leaf_p"]', "at-risk", "====", 'placement = "malloc"\narray = 9',
        struct="eb_node",
    ),
    "haproxy's eb32_node, static": Case(
        EBTREE, 'kind = "no-straddle"\nfields = ["node.leaf_p"]', "at-risk", "=?=?", 'placement = "static"',
        struct="eb32_node",  # to clang 14 `key` can be a bit-field that is aligned, under a pragma
    ),
    "an embedded packed struct": Case(
        "struct in { char c[16]; __int128 i; } __attribute__((packed));\nstruct s { char c[16]; struct in a; };",
        PAIR, "at-risk", "====",
    ),
}  # fmt: skip


@cache
def _tools() -> set[str]:
    return {tool for tool in ("gcc-12", "clang-14", "clang-22", "mips-linux-gnu-gcc", "pahole") if shutil.which(tool)}


def _object(folder: Path, build: str, source: Path) -> Path:
    needed = {*BUILDS[build], *(("pahole",) if build == "btf" else ())}
    if needed - _tools():
        pytest.skip(f"needs {', '.join(sorted(needed - _tools()))}")
    made = folder / f"{build.replace(' ', '-')}.o"
    subprocess.run([*BUILDS[build], "-g", "-c", "-o", made, source], check=True)
    if build == "btf":
        subprocess.run(["pahole", "-J", made], check=True)
    return made


def _outcome(path: Path, folder: Path, case: Case, *options: str) -> str:
    return _make_finding(path, folder, case, *options)["outcome"]


def _make_finding(path: Path, folder: Path, case: Case, *options: str) -> dict[str, str]:
    rules = folder / "rules.toml"
    head = f"[struct.{case.struct}]\n{case.placement}\n" if case.placement else ""
    rules.write_text(f'[pack]\nname = "p"\n{head}[[rule]]\nid = "r"\nstruct = "{case.struct}"\n{case.rule}\nwhy = "w"\nseverity = "error"\n')
    done = run("check", path, "--rules", rules, "--no-packs", "--format", "json", *case.options, *options)
    report = json.loads(done.stdout)
    (finding,) = report["findings"] or [{"outcome": "kept", "message": ""}]
    return {"outcome": str(finding["outcome"]), "message": str(finding["message"])}


def _source(folder: Path, case: Case) -> Path:
    path = folder / "x.c"
    path.write_text(f"{case.code}\nstruct {case.struct} object;\n")
    return path


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", CASES)
def test_what_the_source_says_is_the_truth(name: str, tmp_path: Path) -> None:
    assert _outcome(_source(tmp_path, CASES[name]), tmp_path, CASES[name]) == CASES[name].truth


@pytest.mark.one_in(7)
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", CASES)
def test_no_verdict_on_an_object_contradicts_it(name: str, build: str, tmp_path: Path) -> None:
    case = CASES[name]
    made = _object(tmp_path, build, _source(tmp_path, case))
    expected = case.truth if case.known[list(BUILDS).index(build)] == "=" else "unknown"
    reader = ("--reader", "btf") if build == "btf" else ()
    assert _outcome(made, tmp_path, case, *reader) == expected


def test_a_typedef_can_be_aligned_in_btf(tmp_path: Path) -> None:
    code = "typedef struct { long a[4]; char c; } t __attribute__((aligned(64)));\nt object;\n"
    (tmp_path / "x.c").write_text(code)
    made = _object(tmp_path, "btf", tmp_path / "x.c")
    ((struct),) = json.loads(run("show", made, "t", "--reader", "btf", "--format", "json").stdout)["structs"]
    assert struct["align"] is None
    assert 64 in struct["align_possible"]


def test_what_another_input_states_of_the_same_struct_counts(tmp_path: Path) -> None:
    case = CASES["not packed"]
    source = _source(tmp_path, case)
    made = _object(tmp_path, "gcc", source)
    rules = tmp_path / "rules.toml"
    rules.write_text(f'[pack]\nname = "p"\n[[rule]]\nid = "r"\nstruct = "s"\n{case.rule}\nwhy = "w"\nseverity = "error"\n')
    assert run("check", made, "--rules", rules, "--no-packs").returncode == 3
    assert run("check", made, source, "--rules", rules, "--no-packs").returncode == 0


@pytest.mark.parametrize("target", ["riscv64-linux-gnu", "sparc64-linux-gnu", "arm-linux-gnueabihf"])
def test_gcc_leaves_out_the_alignment_of_what_is_as_large_as_a_register(target: str, tmp_path: Path) -> None:
    if not shutil.which(f"{target}-gcc-12"):
        pytest.skip(f"needs {target}-gcc-12")
    code = "struct pair { long a, b; } __attribute__((aligned(2 * sizeof(long))));\nstruct pair object;\n"
    (tmp_path / "x.c").write_text(code)
    subprocess.run([f"{target}-gcc-12", "-g", "-c", "x.c"], cwd=tmp_path, check=True)
    ((struct),) = json.loads(run("show", tmp_path / "x.o", "--all", "--format", "json").stdout)["structs"]
    assert struct["align"] is None
    assert struct["size"] in struct["align_possible"]


OPEN = [
    pytest.param(build, name, marks=() if build == "gcc" else pytest.mark.exhaustive)
    for at, build in enumerate(BUILDS)
    for name, case in CASES.items()
    if case.known[at] == "?"
]
TOLD = re.compile(r'The rule is (.*)\. Check the header, or state `placement = "aligned:(\d+)"` in the rule file')
OUTCOMES = re.compile(r"(kept|broken|at risk) if (?:it is )?((?:\d+(?:, | or )?)+)")


@pytest.mark.parametrize(("build", "name"), OPEN)
def test_what_the_message_says_to_state_gives_the_verdict_that_it_says(build: str, name: str, tmp_path: Path) -> None:
    case = CASES[name]
    made = _object(tmp_path, build, _source(tmp_path, case))
    reader = ("--reader", "btf") if build == "btf" else ()
    output = TOLD.search(_make_finding(made, tmp_path, case, *reader)["message"])
    assert output is not None
    message = {align: outcome.replace(" ", "-") for outcome, aligns in OUTCOMES.findall(output[1]) for align in re.findall(r"\d+", aligns)}
    settled = case._replace(placement=f'placement = "aligned:{output[2]}"')
    assert _outcome(made, tmp_path, settled, *reader) == message[output[2]]


SHAPES = {
    # compiler and flags, the type and its alignment, code
    "gcc, an array of a typedef that lowers": (
        ("gcc-12",), "struct s", 4, "typedef long u __attribute__((aligned(4))); struct s { u m[5]; };"),
    "gcc, an array of arrays of it": (
        ("gcc-12",), "struct s", 8, "typedef const long u __attribute__((aligned(4))); struct s { u m[5][1]; };"),
    "gcc, an array of a typedef that lowers, and is const": (
        ("gcc-12",), "struct s", 8, "typedef const long u __attribute__((aligned(4))); struct s { u m[5]; };"),
    "gcc, an array of a typedef that raises, and is const": (
        ("gcc-12",), "struct s", 8,
        "typedef const struct { long a[2]; } u __attribute__((aligned(16))); struct s { u m[5]; };"),
    "gcc, a struct without tag and two typedefs of it, the first": (
        ("gcc-12",), "t", 1,
        "typedef struct { int a; } __attribute__((aligned(128))) t __attribute__((aligned(1)));\n"
        "typedef volatile t more __attribute__((aligned(128))); more other;"),
    "gcc, a struct without tag and two typedefs of it, the second": (
        ("gcc-12",), "more", 128,
        "typedef struct { int a; } __attribute__((aligned(128))) t __attribute__((aligned(1)));\n"
        "typedef volatile t more __attribute__((aligned(128))); t other;"),
    "old clang, an aligned bit-field as wide as its type": (
        ("clang-14",), "struct s", 64, "struct s { short a; int b : 32 __attribute__((aligned(64))); };"),
    "old clang, one under a pragma, where a member stands that is not aligned so": (
        ("clang-14",), "struct s", 8,
        "#pragma pack(8)\nstruct s { int a[9]; unsigned b : 32 __attribute__((aligned(16))); };"),
    "old clang, an aligned bit-field under a pragma": (
        ("clang-14",), "struct s", 16,
        "#pragma pack(16)\nstruct s { char a : 2; unsigned char b : 6 __attribute__((aligned(32))); long c; };"),
    "clang, a flag that packs all structs, which it writes nowhere": (
        ("clang-22", "-fpack-struct=4"), "struct s", 4, "struct s { char x; long a; };"),
    "clang, the same, and a member aligned to more": (
        ("clang-22", "-fpack-struct=1"), "struct s", 1, "struct s { int a __attribute__((aligned(2))); };"),
    "gcc with DWARF 4, an array of an atomic type, and one of a typedef that lowers it": (
        ("gcc-12", "-gdwarf-4"), "struct s", 4,
        "typedef _Atomic(float) u __attribute__((aligned(1)));\n"
        "struct other { u m[1][3]; } other; struct s { _Atomic(float) m[5][3]; };"),
    "clang, a flag with which typedefs do not lower members": (
        ("clang-22", "-mms-bitfields"), "struct s", 8, "typedef long u __attribute__((aligned(2))); struct s { u m; };"),
    "clang, the same, and a typedef that only repeats the alignment in structs": (
        ("clang-22", "-m32", "-mms-bitfields"), "struct s", 8,
        "typedef double u __attribute__((aligned(4))); struct s { u m; };"),
    "gcc, a flag with which double is aligned to its size": (
        ("gcc-12", "-m32", "-mms-bitfields"), "struct s", 8, "struct s { double m; char b : 3; };"),
    "gcc, the same, and a bit-field without a name behind a small one": (
        ("gcc-12", "-mms-bitfields"), "struct s", 8,
        "enum __attribute__((packed)) tiny { A }; struct s { enum tiny a : 8; unsigned long long : 0; };"),
    "gcc, the same, and one of a type that is aligned itself": (
        ("gcc-12", "-m32", "-mms-bitfields"), "struct s", 16,
        "typedef int u __attribute__((aligned(32))); struct s { unsigned a : 4; u : 0; };"),
    "gcc, a bit-field that the attribute ms_struct aligns to its size": (
        ("gcc-12", "-m32"), "struct s", 8, "struct s { unsigned long long a : 53; char b; } __attribute__((ms_struct));"),
    "gcc, a bit-field as wide as its type, which is aligned, in an ms_struct": (
        ("gcc-12", "-m32"), "struct s", 16,
        "typedef int u __attribute__((aligned(32)));\n"
        "#pragma pack(16)\nstruct s { void *a[2]; u b : 32; } __attribute__((ms_struct));"),
    "gcc, a scalar that the attribute ms_struct aligns to its size": (
        ("gcc-12", "-m32"), "struct s", 8, "struct s { int a; long long b; } __attribute__((ms_struct));"),
    "gcc, an enumeration that it aligns to its size": (
        ("gcc-12", "-m32"), "struct s", 8,
        "enum huge { A = 1ll << 32 }; struct s { enum huge b; int a[2]; } __attribute__((ms_struct));"),
    "gcc, a bit-field without a name in a gap of an ms_struct": (
        ("gcc-12",), "struct s", 4, "struct s { char a; int : 16; char b; } __attribute__((ms_struct));"),
    "gcc, one behind all members": (
        ("gcc-12",), "struct s", 8, "struct s { char a; long long : 3; } __attribute__((ms_struct));"),
    "gcc, one in a union": (("gcc-12",), "union s", 4, "union s { char a; int : 3; } __attribute__((ms_struct));"),
    "gcc, one of an aligned type": (
        ("gcc-12",), "struct s", 16,
        "typedef int u __attribute__((aligned(32))); struct s { char a; u : 3; char b; } __attribute__((ms_struct));"),
    "gcc, one without bits, which leaves a gap": (
        ("gcc-12",), "struct s", 8, "struct s { char a : 1; long long : 0; char b; } __attribute__((ms_struct));"),
    "gcc, one without bits, which leaves none": (
        ("gcc-12",), "struct s", 8,
        "struct s { int a : 32; int b : 32; long long : 0; int c; int d; } __attribute__((ms_struct));"),
    "gcc, an ms_struct without other members": (
        ("gcc-12",), "struct s", 4, "struct s { int : 16; } __attribute__((ms_struct));"),
    "clang, a bit-field without a name in a gap of an ms_struct": (
        ("clang-22",), "struct s", 4, "struct s { char a; int : 16; char b; } __attribute__((ms_struct));"),
    "clang, one without bits, which leaves none": (
        ("clang-22",), "struct s", 8, "struct s { int a : 32; int b : 32; long long : 0; } __attribute__((ms_struct));"),
    "gcc, a packed vector in a struct that is aligned to a part of it": (
        ("mips-linux-gnu-gcc",), "struct s", 8,
        "typedef int u __attribute__((vector_size(16))) __attribute__((aligned(2)));\n"
        "struct s { u m; } __attribute__((packed, aligned(8)));"),
    "clang, the same, and a bit-field without a name in a packed struct": (
        ("clang-22", "-mms-bitfields"), "struct s", 4, "struct __attribute__((packed)) s { unsigned : 1; };"),
    "clang with DWARF 4, an atomic typedef": (
        ("clang-22", "-gdwarf-4"), "struct s", 64,
        "typedef struct { long a[8]; } u __attribute__((aligned(64))); struct s { _Atomic(u) m; };"),
    "clang with DWARF 4, a typedef aligned to more than the member asks for": (
        ("clang-22", "-gdwarf-4"), "struct s", 64,
        "typedef void *u __attribute__((aligned(64))); struct s { u m __attribute__((aligned(4))); };"),
    "clang with DWARF 4, a packed member of an aligned typedef": (
        ("clang-22", "-gdwarf-4"), "union s", 1,
        "typedef short u __attribute__((aligned(4))); union __attribute__((packed)) s { u m; double d; };"),
    "clang with DWARF 4, a bit-field of an aligned typedef": (
        ("clang-22", "-gdwarf-4"), "struct s", 32,
        "typedef unsigned u __attribute__((aligned(32))); struct s { u a : 28; };"),
    "pahole, an empty struct": (
        ("gcc-12", "pahole"), "struct s", 8, "struct __attribute__((aligned(8))) s { long long : 0; };"),
}  # fmt: skip


def _show(folder: Path, words: tuple[str, ...], code: str, name: str) -> dict[str, Any]:
    """A struct of compiled code, as `show` has it."""
    compiler, *flags = (word for word in words if word != "pahole")
    if {compiler, *words} & {"gcc-12", "clang-14", "clang-22", "mips-linux-gnu-gcc", "pahole"} - _tools():
        pytest.skip(f"needs {', '.join(words)}")
    (folder / "x.c").write_text(code + "\n")
    subprocess.run([compiler, "-g", *flags, "-c", "x.c"], cwd=folder, check=True)
    reader = ("--reader", "btf") if "pahole" in words else ()
    if reader:
        subprocess.run(["pahole", "-J", "x.o"], cwd=folder, check=True)
    done = run("show", folder / "x.o", name, "--format", "json", *reader)
    ((struct),) = (one for one in json.loads(done.stdout)["structs"] if one["name"] == name)
    return cast("dict[str, Any]", struct)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SHAPES)
def test_the_alignment_is_one_of_those_that_are_possible(name: str, tmp_path: Path) -> None:
    words, of, align, code = SHAPES[name]
    code += f'\n_Static_assert(_Alignof({of}) == {align}, "");\n{of} object;'
    struct = _show(tmp_path, words, code, of.split()[-1])
    assert align in struct["align_possible"] or struct["align"] == align


FIELDS = {
    # compiler and flags, the size of member `a` of struct `s` in bytes, its first bit, what is read of both
    "gcc, a bit-field of a union whose type is aligned to less than its size": (
        ("gcc-12", "-m32", "-gdwarf-4"), None, 0, (6, 0),
        "typedef unsigned long long u __attribute__((aligned(1))); union s { u a : 43; char b[64]; } object;"),
    "clang with DWARF 4, an atomic empty struct": (
        ("clang-22", "-gdwarf-4"), 1, 0, (None, 0), "struct e {}; struct s { _Atomic(struct e) a; char b[3]; } object;"),
    "clang with DWARF 4, an empty struct with room behind it": (
        ("clang-22", "-gdwarf-4"), 0, 0, (None, 0), "struct e {}; struct s { struct e a; int : 24; char b; } object;"),
    "clang with DWARF 4, an empty struct": (
        ("clang-22", "-gdwarf-4"), 0, 0, (0, 0), "struct e {}; struct s { struct e a; char b[3]; } object;"),
    "clang, an array of arrays that are aligned to more than their size": (
        ("clang-22",), 192, 0, (None, 0),
        "typedef char u[2] __attribute__((aligned(64))); struct s { u a[3][3]; } object;"),
    "clang with DWARF 4, the same": (
        ("clang-22", "-gdwarf-4"), 192, 0, (None, 0),
        "typedef char u[2] __attribute__((aligned(64))); struct s { u a[3][3]; } object;"),
    "clang with DWARF 4, an atomic struct at the end of a packed one": (
        ("clang-22", "-gdwarf-4"), 8, 0, (None, 0),
        "struct i { char x[5]; }; struct __attribute__((packed)) s { _Atomic(struct i) a; char b; } object;"),
    "pahole, an integer of a size that BTF lacks": (
        ("clang-14", "-m32", "pahole"), 12, 0, (None, 0), "struct s { unsigned _BitInt(92) a; } object;"),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_a_size_that_the_input_does_not_tell_is_unknown(name: str, tmp_path: Path) -> None:
    words, size, start, read, code = FIELDS[name]
    if size is not None:
        code += f'\n_Static_assert(sizeof object.a == {size} && __builtin_offsetof(struct s, a) == {start}, "");'
    field = _show(tmp_path, words, code, "s")["fields"][0]
    assert (field["size"], field["bit_offset"] or field["offset"]) == read
