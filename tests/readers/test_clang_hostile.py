"""C text that libclang does not come to an end with: told in time, and what else there is is judged."""

from __future__ import annotations

import os
import time

import pytest

from layoutlint import lint, trial
from layoutlint.model import ReadOptions, Unread, Wanted
from layoutlint.readers import apart, clang
from layoutlint.readers.clang import units
from layoutlint.rulefile import load
from tests.command import run

NO_END, NO_MEMORY = "libclang does not end within 2 s", "libclang gives up (it may take 512 MB of memory)"
CRASH = "libclang crashes (Segmentation fault)"
BOMB = "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\nB(B(B(int;)))\n"
DEEP = 100_000
HOSTILE = [
    # id, text, one of the reasons that can be told (machines differ in pace)
    ("a device without end", '#include "/dev/urandom"\n', [NO_END, NO_MEMORY]),
    ("a device of zeros", '#include "/dev/zero"\n', [NO_END, NO_MEMORY]),
    ("a pipe", '#include "pipe.h"\n', [NO_END]),
    ("a macro that grows", BOMB, [NO_END, NO_MEMORY]),
    ("a huge initialiser", "int x[] = { [1 << 28] = 1 };\n", [NO_MEMORY, NO_END]),
    ("a deep sum", f"int x = {'1+' * DEEP}1;\n", [CRASH, NO_END]),
    ("a deep condition", f"#if {'(' * DEEP}1{')' * DEEP}\n#endif\n", [CRASH, NO_END]),
    ("a deep array", f"int x{'[1]' * DEEP};\n", [CRASH, NO_END]),
]
STRUCT = "struct s { int a; };\n"
RULES = '[[rule]]\nid = "small"\nstruct = "s"\nkind = "size"\nmax = 64\nwhy = "w"\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(units, "LIMITS", apart.Limits(seconds=2, memory=512 << 20))
    os.mkfifo("pipe.h")
    (tmp_path / "good.h").write_text(STRUCT)
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path


@pytest.mark.parametrize(("text", "reasons"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_a_hostile_text_is_not_read_and_the_others_are_judged(text, reasons, here):
    (here / "bad.h").write_text(text + STRUCT)
    started = time.monotonic()
    report = lint.check(("bad.h", "good.h"), load(["rules.toml"]), (), lint.Options())
    assert time.monotonic() - started < 20
    assert str(report.unread[0]) in [f"bad.h: {reason}" for reason in reasons]
    assert len(report.unread) == 1
    assert [(f.struct.origin, f.verdict.outcome.value) for f in report.kept] == [("good.h", "kept")]


@pytest.mark.parametrize("jobs", [1, 4])
def test_in_a_folder_too(here, jobs):
    (here / "bad.c").write_text('#include "pipe.h"\n' + STRUCT)
    reading = clang.read(str(here), Wanted(frozenset(["s"])), ReadOptions(jobs=jobs))
    assert reading.unread == (Unread("bad.c", NO_END),)
    assert [struct.origin for struct in reading.structs] == ["good.h"]


def test_a_case_of_a_rule_file_too(here):
    (here / "rules.cases.toml").write_text("".join(
        f"[[case]]\nname = '{name}'\ncode = '''\n{text}{STRUCT}'''\nexpect = {{ small = 'kept' }}\n"
        for name, text in (("bad", '#include "/dev/urandom"\n'), ("good", ""))
    ))  # fmt: skip
    (told,) = trial.run(load(["rules.toml"]))
    assert [[outcome.value for outcome in result.actual] for result in told.results] == [[], ["kept"]]
    assert told.results[0].message in (NO_END, NO_MEMORY)


def test_brackets_that_are_too_deep_are_an_error_of_the_text(here):
    (here / "bad.h").write_text(f"int x = {'(' * DEEP}1{')' * DEEP};\n{STRUCT}")
    reading = clang.read("bad.h", Wanted(frozenset(["s"])), ReadOptions())
    assert "bad.h:1:265: error: bracket nesting level exceeded maximum of 256" in str(reading.unread[0])


def test_the_command_says_so_with_status_3(here):
    (here / "bad.h").write_text(f"int x = {'1+' * DEEP}1;\n{STRUCT}")
    done = run("check", "bad.h", "good.h", "--rules", "rules.toml", "--no-packs", cwd=here)
    assert done.returncode == 3
    assert f"bad.h: {CRASH}" in done.stdout + done.stderr
    assert "LLVM" not in done.stderr
