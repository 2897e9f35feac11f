"""Arrays in C sources have the alignment that gcc gives them; None if an expression that is not evaluated states it."""

from __future__ import annotations

import subprocess

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from tests.oracles.c_probe import compile_c

CODE = """\
typedef struct { int word; } lock_t;
struct wide { int a __attribute__((aligned(128))); };
enum { HALF = 32 };
#define LINE __attribute__((__aligned__(1 << 6)))
lock_t plain[4];
lock_t locks[4] __attribute__((aligned(64)));
_Alignas(64) char rows[4][64];
char pool[4][32] __attribute__((aligned(32)));
static long values[4][8] LINE = { { 1 == 1 } };
static struct { lock_t l __attribute__((aligned(16))); } inner[4];
static struct { lock_t l __attribute__((aligned(16))); } outer[4] __attribute__((aligned(32))) = { { { 1 } } };
_Alignas(struct wide) char by_type[4][64];
long by_name[4][8] __attribute__((aligned(HALF * 2)));
"""
NAMES = ("plain", "locks", "rows", "pool", "values", "inner", "outer", "by_type", "by_name")
NOT_EVALUATED = ("by_type", "by_name")
VERDICTS = [
    ("locks", "broken", "element k's `word` at 0..3 of `locks`"), ("rows", "kept", "elements of `rows` 64 bytes apart"),
    ("pool", "broken", "element k at 0..31 of `pool` shares a line with element k+1 at 0..31 (32 bytes on)"),
    ("by_type", "unknown", "the source aligns variable by_type to an expression that is not evaluated"),
]  # fmt: skip


def test_alignments(tmp_path):
    says = "".join(f'printf("%lu ", (unsigned long)_Alignof({name}));' for name in NAMES)
    program = compile_c("gcc", f"#include <stdio.h>\n{CODE}int main(void) {{ {says} return 0; }}\n", tmp_path / "a")
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    (tmp_path / "a.c").write_text(CODE)
    reading = dispatch.read(str(tmp_path / "a.c"), Wanted(arrays=lambda _: True), ReadOptions())
    expected = {name: None if name in NOT_EVALUATED else int(word) for name, word in zip(NAMES, printed, strict=True)}
    assert {array.name: array.align for array in reading.arrays} == expected


@pytest.mark.parametrize(("name", "outcome", "message"), VERDICTS)
def test_verdicts(tmp_path, name, outcome, message):
    (tmp_path / "a.c").write_text(CODE)
    rule = f'[[rule]]\nid = "r"\nkind = "stride"\nwhy = "a test"\nvariables = ["{name}"]\n'
    report = check([str(tmp_path / "a.c")], (rule_file.parse(rule, "r.toml"),), (), Options())
    (found,) = (*report.findings, *report.kept_findings)
    assert (found.verdict.outcome.value, message in found.verdict.message) == (outcome, True)
