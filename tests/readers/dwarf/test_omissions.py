"""What DWARF does not describe, and what layoutlint does not look at: it is reported, and no run is green over it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.readers.elf.test_elf import tool

RULES = """
[pack]
name = "p"
[[rule]]
id = "q-a"
struct = "q"
kind = "no-straddle"
fields = ["a"]
severity = "error"
why = "a reader takes it in one access"
"""
GOOD = "struct q { long a, b; }; struct q good; int main(void) { return good.a; }\n"
OTHER = """#ifdef THREAD
struct q { char c[60]; __int128 a; } __attribute__((packed));
THREAD __thread struct q other __attribute__((used));
#elif !defined(EMPTY)
struct q { char c[60]; __int128 a; } __attribute__((packed)); struct q other;
#endif
#if defined(EMPTY) || defined(THREAD)
#elif defined(ALONE)
int f(void) { return other.a; }
#elif !defined(DATA)
static int k; int f(void) { return other.a + k++; }
#endif
"""
MAIN = "struct q { long a, b; }; struct q good; int f(void); int unused(void) { return 1; } int main(void) { return good.a + f(); }\n"
KEEPING = "struct q { long a, b; }; struct q other; static int k; __attribute__((noinline)) int f(void) { return other.a + k++; }\n"
LOCAL = """struct q { long a, b; }; struct q good;
int f(int n) { struct q { char c[60]; __int128 a; } x = {0}; x.a = n; return x.a + x.c[n]; }
"""
LOCAL_TYPEDEF = """typedef struct { long a, b; } q; q good;
int f(int n) { if (n) { typedef struct { char z; long a; } q; volatile q y = {n, n}; return y.a; } return 0; }
"""
LOCAL_DECLARED = "struct q { long a, b; }; struct q good; int f(void *p) { struct q; struct q *other = p; return other == 0; }\n"
LOCAL_VARIABLE = "struct q { long a, b; }; struct q good; int f(int q) { typedef int a; a b = q; return b; }\n"
ASSEMBLER = """    .text
    .globl f
    .type f, @function
f:  ret
inner: ret
    .size f, .-f
    .section .note.GNU-stack,"",@progbits
"""


def build(folder: Path, steps: str, **texts: str) -> Path:
    """Compile the texts (`a_c` is a.c) by command lines, of which the first word is a tool; the last gives `out`."""
    for name, text in texts.items():
        (folder / name.replace("_", ".")).write_text(text)
    for step in filter(None, map(str.strip, steps.split(";"))):
        name, *words = step.split()
        subprocess.run([tool(name), *words], cwd=folder, check=True)
    return folder / "out"


def report(folder: Path, *words: str | Path, rules: str = RULES) -> dict:
    (folder / "rules.toml").write_text(rules)
    return json.loads(run("check", "--rules", folder / "rules.toml", "--format", "json", *words).stdout)


def reasons(found: dict) -> list[str]:
    """What was not covered and rules could apply to."""
    return [part["reason"] for part in found["coverage"]["not_covered"] if part["rules"]]


TWO = "; gcc a.o b.o -o out"
UNITS = {
    "all described": ("gcc -g -c a.c; gcc -g -c b.c" + TWO, ""),
    "by clang": ("clang -g -c a.c; clang -g -c b.c" + TWO, ""),
    "without -g": ("gcc -g -c a.c; gcc -c b.c" + TWO, "1 C unit without debug information: b.c"),
    "clang without -g": ("clang -g -c a.c; clang -c b.c" + TWO, "1 C unit without debug information: b.c"),
    "linked by lld": ("clang -g -c a.c; clang -c b.c; clang -fuse-ld=lld a.o b.o -o out", "1 C unit without debug information: b.c"),
    "-g1": ("gcc -g -c a.c; gcc -g1 -c b.c" + TWO, "1 C unit compiled with line numbers only (-g1): b.c"),
    "-g -g1": ("gcc -g -c a.c; gcc -g -g1 -c b.c" + TWO, "1 C unit compiled with line numbers only (-g1): b.c"),
    "-g1 -g": ("gcc -g -c a.c; gcc -g1 -g -c b.c" + TWO, ""),
    "-gctf -g0": ("gcc -g -c a.c; gcc -gctf -g0 -c b.c" + TWO, "1 C unit compiled with -g0, which leaves out all types: b.c"),
    "-gctf -g0, data only": ("gcc -g -DONE -c a.c; gcc -gctf -g0 -DDATA -c b.c; ld -r a.o b.o -o out", "1 C unit without debug information: b.c"),
    "-g0 -gctf": ("gcc -g -c a.c; gcc -g0 -gctf -c b.c" + TWO, ""),
    "-ggdb1": ("gcc -g -c a.c; gcc -ggdb1 -c b.c" + TWO, "1 C unit compiled with line numbers only (-g1): b.c"),
    "-g1, not recorded": ("gcc -g -c a.c; gcc -g1 -gno-record-gcc-switches -c b.c" + TWO, "1 C unit compiled with line numbers only (-g1): b.c"),
    "clang -g1": ("clang -g -c a.c; clang -g1 -c b.c" + TWO, "1 C unit compiled with line numbers only (-g1): b.c"),
    "clang -gline-directives-only": ("clang -g -c a.c; clang -gline-directives-only -c b.c" + TWO, "1 C unit without debug information: b.c"),
    "split": ("gcc -g -gsplit-dwarf -c a.c; gcc -g -gsplit-dwarf -c b.c" + TWO, ""),
    "one of them split and without": ("gcc -g -gsplit-dwarf -c a.c; gcc -c b.c" + TWO, "1 C unit without debug information: b.c"),
    "stripped": ("gcc -g -c a.c; gcc -g -c b.c; strip -g b.o" + TWO, "1 C unit without debug information: b.o"),
    "one object": ("gcc -g -c a.c; gcc -c b.c; ld -r a.o b.o -o out", "1 C unit without debug information: b.c"),
    "type units": ("gcc -g -gdwarf-4 -fdebug-types-section -c a.c; gcc -g -c b.c" + TWO, ""),
    "type units, stripped": (
        "gcc -g -gdwarf-4 -fdebug-types-section -c a.c; gcc -g -c b.c; gcc a.o b.o -o out; objcopy --remove-section .debug_types out",
        "1 reference to types whose type units are missing (was .debug_types stripped?)",
    ),
    "structs of headers left out": (
        "gcc -g -c a.c; gcc -g -femit-struct-debug-baseonly -c b.c" + TWO,
        "1 C unit compiled with -femit-struct-debug-..., which leaves out structs of headers: b.c",
    ),
    "a C++ unit": ("gcc -g -c a.c; cp b.c b.cc; g++ -c b.cc" + TWO, ""),
    "a C++ unit with another struct": (
        "gcc -g -c a.c; cp b.c b.cc; g++ -g -std=c++14 -c b.cc" + TWO, "1 struct in units in C++ 14, which layoutlint does not read: q at b.cc:5",
    ),
    "OpenMP, which is linked with objects of its own": ("gcc -g -c a.c; gcc -g -c b.c; gcc -fopenmp a.o b.o -o out", ""),
    "global symbols only": ("gcc -g -c a.c; gcc -c b.c; gcc -Wl,--discard-all a.o b.o -o out", "1 function without debug information: f"),
    "linked by gcc -flto": ("gcc -g -flto -c a.c; gcc -flto -c b.c; gcc -flto a.o b.o -o out", "1 C unit without debug information: b.c"),
    "data only, linked by gcc -flto": (
        "gcc -g -flto -c a.c; gcc -flto -DDATA -c b.c; gcc -flto a.o b.o -o out", "1 C unit without debug information: b.c",
    ),
    "stripped, linked by lld": ("clang -g -c a.c; clang -c b.c; strip -g b.o; clang -fuse-ld=lld a.o b.o -o out", "1 function without debug information: f"),
    "stripped, without symbols of its own": (
        "gcc -g -c a.c; gcc -DALONE -c b.c; strip -g b.o" + "; gcc a.o b.o -o out", "1 function without debug information: f",
    ),
    "an object without local symbols": (
        "gcc -g -c a.c; gcc -c b.c; ld -r -x a.o b.o -o out", "1 function without debug information: f",
    ),
    "an empty unit": ("gcc -g -c a.c; gcc -DEMPTY -c b.c" + TWO, ""),
    "an empty unit with -g": ("gcc -g -c a.c; gcc -g -DEMPTY -c b.c" + TWO, ""),
    "an empty unit, clang and lld": ("clang -g -c a.c; clang -DEMPTY -c b.c; clang -fuse-ld=lld a.o b.o -o out", ""),
    "an empty unit in a library": ("gcc -g -fPIC -c a.c; gcc -DEMPTY -c b.c; gcc -shared a.o b.o -o out", ""),
    "an empty unit, linked with -r": ("gcc -g -c a.c; gcc -DEMPTY -c b.c; ld -r a.o b.o -o out", ""),
    "linked with -r": ("gcc -g -c a.c; gcc -c b.c; ld -r a.o b.o -o out", "1 C unit without debug information: b.c"),
    "global data only, linked with -r": ("gcc -g -c a.c; gcc -DDATA -c b.c; ld -r a.o b.o -o out", "1 C unit without debug information: b.c"),
    "an empty object": ("gcc -g -c a.c; gcc -DEMPTY -c b.c; ar rc out a.o b.o", ""),
    "global data only": ("gcc -g -c a.c; gcc -DDATA -c b.c" + TWO, "1 C unit without debug information: b.c"),
    "hidden data of a library": ("gcc -g -fPIC -c a.c; gcc -fPIC -fvisibility=hidden -DDATA -c b.c; gcc -shared a.o b.o -o out", "1 C unit without debug information: b.c"),
    "hidden data of a library, lld": ("clang -g -fPIC -c a.c; clang -fPIC -fvisibility=hidden -DDATA -c b.c; clang -fuse-ld=lld -shared a.o b.o -o out", "1 C unit without debug information: b.c"),
    "data of threads only": ("gcc -g -c a.c; gcc -DTHREAD= -c b.c" + TWO, "1 C unit without debug information: b.c"),
    "static data of threads only": ("gcc -g -c a.c; gcc -DTHREAD=static -c b.c" + TWO, "1 C unit without debug information: b.c"),
    "a global function only": ("gcc -g -c a.c; gcc -DALONE -c b.c" + TWO, "1 C unit without debug information: b.c"),
    "link-time optimisation": ("gcc -g -flto -c a.c; gcc -g -flto -c b.c; gcc -flto -g a.o b.o -o out", ""),
}  # fmt: skip


BUILDS = {
    "gcc": "gcc -g FLAGS -c a.c; gcc FLAGS B -c b.c; gcc LINK a.o b.o -o out",
    "gcc, DWARF 4": "gcc -g -gdwarf-4 FLAGS -c a.c; gcc FLAGS B -c b.c; gcc LINK a.o b.o -o out",
    "gcc, split": "gcc -g -gsplit-dwarf FLAGS -c a.c; gcc FLAGS B -c b.c; gcc LINK a.o b.o -o out",
    "gcc, split, DWARF 4": "gcc -g -gsplit-dwarf -gdwarf-4 FLAGS -c a.c; gcc FLAGS B -c b.c; gcc LINK a.o b.o -o out",
    "gcc, a section for each function": "gcc -g -O2 -ffunction-sections FLAGS -c a.c; gcc FLAGS B -c b.c; gcc -Wl,--gc-sections LINK a.o b.o -o out",
    "clang": "clang -g FLAGS -c a.c; clang FLAGS B -c b.c; gcc LINK a.o b.o -o out",
    "clang, DWARF 4": "clang -g -gdwarf-4 -O2 -ffunction-sections FLAGS -c a.c; clang FLAGS B -c b.c; gcc LINK a.o b.o -o out",
    "clang, split": "clang -g -gsplit-dwarf -ffunction-sections FLAGS -c a.c; clang FLAGS B -c b.c; gcc LINK a.o b.o -o out",
    "clang and lld": "clang -g -ffunction-sections FLAGS -c a.c; clang FLAGS B -c b.c; clang -fuse-ld=lld LINK a.o b.o -o out",
    "clang -flto": "clang -g -flto FLAGS -c a.c; clang -flto FLAGS B -c b.c; clang -flto -fuse-ld=lld LINK a.o b.o -o out",
    "gcc -flto": "gcc -g -flto FLAGS -c a.c; gcc -flto FLAGS B -c b.c; gcc -flto LINK a.o b.o -o out",
}
FORMS = [
    pytest.param("-fPIE", "-pie", id="a program"),
    pytest.param("-fno-pie", "-no-pie", id="at fixed addresses", marks=pytest.mark.exhaustive),
    pytest.param("-fPIC", "-shared", id="a library", marks=pytest.mark.exhaustive),
]
NO_SYMBOLS = "; objcopy --remove-section .symtab --strip-unneeded --keep-section=.debug_* out"
STRIPPED = [
    pytest.param("", NO_SYMBOLS, id="no symbols"),
    pytest.param("-Wl,--discard-all", "", id="global symbols", marks=pytest.mark.exhaustive),
]


@pytest.mark.one_in(7)
@pytest.mark.parametrize(("discard", "strip"), STRIPPED)
@pytest.mark.parametrize(("flags", "link"), FORMS)
@pytest.mark.parametrize("steps", BUILDS.values(), ids=BUILDS)
def test_code_tells_of_units_that_no_symbol_names(tmp_path, steps, flags, link, discard, strip):
    steps = steps.replace("FLAGS", flags).replace("LINK", f"{link} {discard}") + strip
    for described, folder in ((True, tmp_path / "good"), (False, tmp_path / "bad")):
        folder.mkdir()
        found = report(folder, build(folder, steps.replace(" B ", " -g " if described else " "), a_c=MAIN, b_c=KEEPING))
        assert (bool(reasons(found)), found["exit"]) == ((False, 0) if described else (True, 3))


def test_functions_without_unwind_tables(tmp_path):
    flags = "-fno-asynchronous-unwind-tables -fno-exceptions"
    steps = f"gcc -g {flags} -c a.c; gcc {flags} -c b.c; gcc -Wl,--discard-all a.o b.o -o out"
    out = build(tmp_path, steps, a_c=MAIN, b_c=KEEPING)
    assert reasons(report(tmp_path, out)) == ["1 function without debug information: f"]
    out = build(tmp_path, steps + NO_SYMBOLS, a_c=MAIN, b_c=KEEPING)
    assert reasons(report(tmp_path, out)) == [
        "without a symbol table, nor unwind tables all functions: it is not known whether there are units without debug information"
    ]


def test_damaged_unwind_tables_are_not_known(tmp_path):
    out = build(tmp_path, BUILDS["gcc"].replace("FLAGS", "-fPIE").replace("LINK", "-pie").replace("B", "-g") + NO_SYMBOLS, a_c=MAIN, b_c=KEEPING)
    (tmp_path / "zeros").write_bytes(b"\xfe" * 40)
    subprocess.run([tool("objcopy"), "--remove-section", ".eh_frame_hdr", "--update-section", f".eh_frame={tmp_path}/zeros", out], check=True)
    found = report(tmp_path, out)
    assert [("it is not known" in reason) for reason in reasons(found)] == [True]
    assert found["exit"] == 3


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("steps", "expected"), UNITS.values(), ids=UNITS)
def test_units(tmp_path, steps, expected):
    found = report(tmp_path, build(tmp_path, steps, a_c=GOOD, b_c=OTHER))
    assert reasons(found) == ([expected] if expected else [])
    at_risk = [finding["outcome"] for finding in found["findings"]]
    assert found["exit"] == (1 if at_risk else 3 if expected else 0)


@pytest.mark.parametrize(("text", "flags", "is_empty"), [
    ("", "", True), ("typedef int never; int f(void); extern int x;", "-fPIC", True), ("int x;", "-fcommon", False),
    ("int x;", "", False), ("int f(void) { return 1; }", "", False), ("int f(void) { return 1; }", "-flto", False), ("", "-flto", False),
    ('asm(".data; .byte 1");', "", False), ("int f(void) { return 1; }", "-flto strip", False), ("int f(void) { return 1; }", "-O1 strip", False),
])  # fmt: skip
def test_an_object_without_debug_information(tmp_path, text, flags, is_empty):
    """An empty one is read: it defines nothing."""
    more = "; strip out" if "strip" in flags else ""
    done = run("check", build(tmp_path, f"gcc {flags.removesuffix(' strip')} -c a.c -o out{more}", a_c=text), "--pack", "generic")
    assert done.returncode == 3  # nothing was judged
    assert ("has neither code nor data" in done.stdout, "debug file" not in done.stdout) == (is_empty, is_empty)


def test_a_struct_of_a_header_that_c_plus_plus_reads_too(tmp_path):
    texts = {"q_h": "struct q { long a, b; };\n", "a_c": '#include "q.h"\nstruct q good; int main(void) { return good.a; }\n'}
    out = build(tmp_path, "gcc -g -c a.c; g++ -g -c b.cc" + TWO, b_cc='#include "q.h"\nq other;\n', **texts)
    found = report(tmp_path, out)
    assert (reasons(found), found["exit"]) == ([], 0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("flags", ["", "-g"])
@pytest.mark.parametrize("suffix", ["S", "s"])
def test_assembler_is_no_lack(tmp_path, suffix, flags):
    out = build(tmp_path, f"gcc -g -c a.c; gcc {flags} -c f.{suffix} -o f.o; gcc a.o f.o -o out", a_c=GOOD, **{f"f_{suffix}": ASSEMBLER})
    found = report(tmp_path, out)
    assert (reasons(found), found["exit"]) == ([], 0)


def test_start_up_objects_are_only_mentioned(tmp_path):
    found = report(tmp_path, build(tmp_path, "gcc -g a.c -o out", a_c=GOOD))
    assert found["exit"] == 0
    assert all("start-up objects" in part["reason"] for part in found["coverage"]["not_covered"])


def test_without_symbols_it_is_not_known(tmp_path):
    found = report(tmp_path, build(tmp_path, "gcc -g -c a.c; gcc a.o -o out; objcopy --remove-section .symtab --strip-unneeded --keep-section=.debug_* out", a_c=GOOD))
    message = [part["reason"] for part in found["coverage"]["not_covered"]]
    assert (found["exit"], [reason for reason in message if "symbol table" in reason] != []) in ((0, True), (3, False))


LOCALS = {
    "a struct": (LOCAL, ["q"]),
    "a typedef": (LOCAL_TYPEDEF, ["q"]),
    "only declared": (LOCAL_DECLARED, None),
    "other things of the name": (LOCAL_VARIABLE, None),
    "none": (GOOD, None),
}
FLAGS = ["gcc -g", "gcc -g -O2", "gcc -g -gdwarf-4", "clang -g", "gcc -g -fdebug-types-section -gdwarf-4"]


@pytest.mark.one_in(11)
@pytest.mark.parametrize("compiler", FLAGS)
@pytest.mark.parametrize(("text", "names"), LOCALS.values(), ids=LOCALS)
def test_structs_local_to_functions(tmp_path, compiler, text, names):
    found = report(tmp_path, build(tmp_path, f"{compiler} -c a.c -o out", a_c=text))
    output = [part["structs"] for part in found["coverage"]["not_covered"] if part["rules"]]
    assert output == ([names] if names else [])
    assert found["exit"] == (3 if names else 0)


def test_in_all_formats_and_allowed(tmp_path):
    out = build(tmp_path, "gcc -g -c a.c; gcc -c b.c" + TWO, a_c=GOOD, b_c=OTHER)
    report(tmp_path, out)
    for form in ("text", "json", "sarif", "github"):
        done = run("check", out, "--rules", tmp_path / "rules.toml", "--format", form)
        assert "1 C unit without debug information: b.c" in " ".join(done.stdout.split())
        assert done.returncode == 3
        assert run("check", out, "--rules", tmp_path / "rules.toml", "--format", form, "--allow-unknown").returncode == 0


def test_a_rule_for_other_targets_does_not_apply(tmp_path):
    out = build(tmp_path, "gcc -g -c a.c; gcc -c b.c" + TWO, a_c=GOOD, b_c=OTHER)
    elsewhere = RULES.partition("[[rule]]")[2].replace("q-a", "q-b") + 'when = { arch = ["s390x"] }\n'
    found = report(tmp_path, out, rules=f"{RULES}[[rule]]{elsewhere}")
    assert [part["rules"] for part in found["coverage"]["not_covered"] if part["rules"]] == [1]


def test_in_a_folder_of_modules(tmp_path):
    for name, flags in (("good", "-g"), ("bad", "")):
        folder = tmp_path / "m" / name
        folder.mkdir(parents=True)
        build(folder, f"gcc -g -c a.c; gcc {flags} -c b.c; ld -r a.o b.o -o {name}.ko", a_c=GOOD.replace("main", f"f_{name}"), b_c=LOCAL.replace("good", "bad"))
        for text in folder.glob("*.c"):
            text.unlink()
    found = report(tmp_path, tmp_path / "m")
    assert sorted(reasons(found)) == [
        "1 C unit without debug information: b.c (bad.ko)",
        "1 struct local to functions, which layoutlint does not judge: q at b.c:2 (good.ko)",
    ]
    assert found["exit"] == 3
