"""Numbers, sizes and depth that no honest input has: a result or a reason within a bound, never an internal error."""

from __future__ import annotations

import subprocess
import time

import pytest

from layoutlint.readers import c_tokens
from tests.harness.command import ROOT, run
from tests.readers.elf.test_elf import tool

DIGITS, HEX = "9" * 5_000, "0x" + "f" * 5_000
STRUCT = "struct s { char a; long b; char c; long d; char e[4]; };\n"
SUM = "+".join(["1"] * 2_000)
STRING = "#include <string.h>\n#include <stdio.h>\n" + STRUCT

SOURCES = {
    # id: C text, in which layouts are read and orders are searched
    "index": STRUCT + f"char g(struct s *p) {{ return p->e[{DIGITS}] + p->e[-{DIGITS}]; }}",
    "bytes": STRUCT + f"char g(struct s *p) {{ return *((char *)p + {DIGITS}) + *((char *)p + {HEX}); }}",
    "octal": STRING + "void g(struct s *p) { memset(p, 0, 010); memcpy(&p->b, p, 020); memset(&p->a, 0, 08); }",
    "sizes": STRING + f"void g(struct s *p) {{ memset(&p->a, 0, {DIGITS} * sizeof(p->a)); memset(&p->a, 0, sizeof(p->a) * {DIGITS}); }}",
    "widths": STRING + f'void g(struct s *p) {{ printf("%.{DIGITS}s", p->e); sscanf("", "%{DIGITS}s", p->e); }}',
    "elements": STRUCT + "struct s x = { .e = { [" + DIGITS + "] = 1, 2 } };",
    "an element that is no digit": STRUCT + "struct s x = { .e = { [\xb2] = 1, 2 } };",
    "macros": STRUCT + f"#define N {DIGITS}\nchar g(struct s *p) {{ return *((char *)p + N); }}",
    "conditions": f"#if __GNUC__ >= {DIGITS} || {DIGITS}\nint x;\n#endif\n" + STRUCT,
    "pragmas": f"#pragma pack({DIGITS})\n#pragma pack(push, {HEX})\n#pragma pack(010)\n" + STRUCT,
    "a sum": STRING + f"void g(struct s *p) {{ memset(p, 0, {SUM}); memset(&p->a, 0, sizeof(p->a) + {SUM}); }}",
    "parentheses": STRUCT + "int g(struct s *p) { return " + "(" * 200 + "p->a" + ")" * 200 + "; }",
    "assignments": STRUCT + "void g(struct s *p, int i) { " + "i = " * 2_000 + "p->a; }",
    "conditionals": STRUCT + "int g(struct s *p, int i) { return " + "".join(f"i == {n} ? p->a : " for n in range(2_000)) + "0; }",
    "members": "struct s { struct s *n; long b; char c; };\nlong g(struct s *p) { return p" + "->n" * 2_000 + "->b; }",
    "a large member": "struct s { char a; char x[1UL << 58]; char c; long d; };",
    "a large alignment": "struct s { char a; int x __attribute__((aligned(1 << 28))); char c; long d; };",
}  # fmt: skip
COMMANDS = (("show", "s"), ("suggest", "s"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("name", SOURCES)
def test_sources(tmp_path, name, words):
    (tmp_path / "a.c").write_bytes(SOURCES[name].encode("latin-1"))
    done = run(words[0], "a.c", words[1], cwd=tmp_path, seconds=60)
    assert done.returncode in (0, 3), done.stderr[-500:]


QUICK = {
    "octal": (SOURCES["octal"], ("suggest", "s"), ""),
    "bytes": (SOURCES["bytes"], ("suggest", "s"), ""),
    "a sum": (SOURCES["a sum"], ("suggest", "s"), "is nested too deeply"),
    "a large member": (SOURCES["a large member"], ("suggest", "s"), "refused: it has more than the 1,099,511,627,776 bytes"),
    "conditions": (SOURCES["conditions"], ("show", "s"), ""),
    "members behind 2^60 bytes": ("struct s { char x[1UL << 60]; char y; };", ("show", "s"), "line 1: a struct has more than 2^59 bytes"),
    "sizes that wrap around": (
        "struct s { char a[1UL << 60], b[1UL << 60], c[1UL << 60], d[1UL << 60], e; };", ("show", "s"), "line 1: a struct has more than 2^59 bytes",
    ),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", QUICK)
def test_what_is_said_of_sources(tmp_path, name):
    text, words, said = QUICK[name]
    (tmp_path / "a.c").write_text(text)
    done = run(words[0], "a.c", *words[1:], cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr[-500:]
    assert said in " ".join((done.stdout + done.stderr).split())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("bits", [40, 57, 58])
def test_offsets_behind_large_members_are_those_of_gcc(tmp_path, bits):
    text = f"struct s {{ char a; char x[1UL << {bits}]; char c; long d; }};\n"
    (tmp_path / "a.c").write_text(text)
    asked = text + "unsigned long v[] = { sizeof(struct s), __builtin_offsetof(struct s, c), __builtin_offsetof(struct s, d) };\n"
    made = subprocess.run([tool("gcc"), "-S", "-o-", "-xc", "-"], input=asked, capture_output=True, text=True, check=True)
    size, *offsets = [int(line.split()[1]) for line in made.stdout.splitlines() if line.split()[:1] == [".quad"]]
    shown = run("show", "a.c", "s", cwd=tmp_path).stdout
    assert f"{size:,} bytes" in shown
    assert [line.split()[0] for line in shown.splitlines() if line.endswith((" c", " d"))] == list(map(str, offsets))


LITERALS = [
    ("0", 0), ("010", 8), ("08", 8), ("0x10", 16), ("0X1fUL", 31), ("0b101", 5), ("12u", 12), ("00000000000000000000000000000000009", 9),
    (DIGITS, 1 << 64), (HEX, 1 << 64), ("0" * 5_000 + "7", 7), (str(1 << 64), 1 << 64), ("18446744073709551615", (1 << 64) - 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), LITERALS, ids=range(len(LITERALS)))
def test_literals(text, value):
    assert c_tokens.number(text) == value


ANNOTATED = (ROOT / "fixtures/profiles/annotate-group-6.12.txt").read_text()
C2C = (ROOT / "fixtures/profiles/c2c-hitm.txt").read_text()
REPORTS = {
    "an octal offset": (ANNOTATED.replace("       0x10 ", "        010 ", 1), 0, ""),
    "an event below the table": (
        ANNOTATED.replace("    4.74    4.10 ", " event[2] = page-faults\n    4.74    4.10 ", 1), 3, "an event is named below the head of its table",
    ),
    "samples in a title": (ANNOTATED.replace("(542 samples)", f"({'5' * 4_301} samples)", 1), 0, ""),
    "statistics": (f"total {'5' * 4_301}, ok 1 (50.0%), bad 1 (50.0%)\n" + ANNOTATED, 0, ""),
    "counts of a line": (C2C.replace(" 2024      470 ", f" {'5' * 4_301}      470 "), 3, "a number is too large"),
}  # fmt: skip


@pytest.mark.parametrize("name", REPORTS)
def test_reports(tmp_path, name):
    text, status, said = REPORTS[name]
    assert text not in (ANNOTATED, C2C)
    (tmp_path / "report").write_text(text)
    done = run("evidence", tmp_path / "report", "--in", "fixtures/profiles/box.c", cwd=ROOT)
    assert done.returncode == status, done.stderr[-500:]
    assert said in " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("command", ["suggest", "check"])
@pytest.mark.one_in(2)
def test_a_run_of_spaces_behind_a_cast(tmp_path, command):
    """A pattern took the cube of its length."""
    (tmp_path / "a.c").write_text(STRUCT + "int g(char *p) { return *(char *)" + " " * 60_000 + " p; }\n")
    (tmp_path / "r.toml").write_text('[[rule]]\nid = "r"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n')
    words = {"suggest": ("suggest", "a.c", "s"), "check": ("check", "a.c", "--rules", "r.toml", "--suggest", "--format", "sarif")}
    before = time.monotonic()
    done = run(*words[command], cwd=tmp_path, seconds=60)
    assert done.returncode in (0, 1), done.stderr
    assert time.monotonic() - before < 30
