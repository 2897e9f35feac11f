"""C text that libclang does not come to an end with: told in time, and what else there is is judged."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from layoutlint.commands.rules import cases
from layoutlint.errors import ReadError
from layoutlint.intent.toml.rule_file import load
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.reading import ReadOptions, Unread
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang import parallel, unit_listings
from layoutlint.workers import sandbox
from tests.harness.command import ROOT, run

pytestmark = pytest.mark.usefixtures("own_processes")

NO_END, NO_MEMORY = "libclang does not end within 2 s", "libclang gives up (it may take 512 MB of memory)"
CRASH = "libclang crashes (Segmentation fault)"
BOMB = "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\nB(B(B(int;)))\n"
HANG = "#if __INCLUDE_LEVEL__ < 60\n#include __FILE__\n#include __FILE__\n#endif\n"  # 2^60 inclusions, little memory
DEEP = 100_000
HOSTILE = [
    # id, text, one of the reasons that can be told (machines differ in pace)
    (
        "a device without end",
        '#include "/dev/urandom"\n',
        ["libclang reads /dev/urandom, which is a pipe or a device"],
    ),
    (
        "a device of zeros",
        '#include "/dev/zero"\n',
        ["libclang reads /dev/zero, which is a pipe or a device"],
    ),
    (
        "a device under another name",
        '#include "zero.h"\n',
        ["libclang reads /dev/zero, which is a pipe or a device"],
    ),
    (
        "a device by a macro",
        '#define X "/dev/zero"\n#include X\n',
        ["libclang reads /dev/zero, which is a pipe or a device"],
    ),
    ("a pipe", '#include "pipe.h"\n', ["libclang reads {here}/pipe.h, which is a pipe or a device"]),
    (
        "a pipe that is only asked for",
        '#if __has_include("pipe.h")\n#endif\n',
        ["libclang reads {here}/pipe.h, which is a pipe or a device"],
    ),
    ("a macro that grows", BOMB, [NO_END, NO_MEMORY]),
    ("a huge initialiser", "int x[] = { [1 << 28] = 1 };\n", [NO_MEMORY, NO_END]),
    ("a deep sum", f"int x = {'1+' * DEEP}1;\n", [CRASH, NO_END]),
    ("a deep condition", f"#if {'(' * DEEP}1{')' * DEEP}\n#endif\n", [CRASH, NO_END]),
    ("a deep array", f"int x{'[1]' * DEEP};\n", [CRASH, NO_END]),
]
STRUCT = "struct s { int a; };\n"
RULES = '[[rule]]\nid = "small"\nstruct = "s"\nkind = "size"\nmax = 64\nwhy = "w"\n'


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module in (parallel, unit_listings):
        monkeypatch.setattr(module, "LIMITS", sandbox.WorkLimits(seconds=2, memory=512 << 20, is_confined=True))
    monkeypatch.setattr(parallel, "PATIENCE", sandbox.Patience(100))
    os.mkfifo("pipe.h")
    os.symlink("/dev/zero", "zero.h")
    (tmp_path / "good.h").write_text(STRUCT)
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("text", "reasons"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_a_hostile_text_is_not_read_and_the_others_are_judged(text, reasons, working_folder):
    (working_folder / "bad.h").write_text(text + STRUCT)
    started = time.monotonic()
    report = check(("bad.h", "good.h"), load(["rules.toml"]), (), Options())
    assert time.monotonic() - started < 60
    assert str(report.unread[0]) in [f"bad.h: {reason.format(here=working_folder)}" for reason in reasons]
    assert len(report.unread) == 1
    assert [(f.struct.origin, f.verdict.outcome.value) for f in report.kept_findings] == [("good.h", "kept")]


@pytest.mark.parametrize("jobs", [1, 4])
def test_in_a_folder_too(working_folder, jobs):
    (working_folder / "bad.c").write_text('#include "pipe.h"\n' + STRUCT)
    reading = clang.read(str(working_folder), Wanted(frozenset(["s"])), ReadOptions(jobs=jobs))
    assert reading.unread == (Unread("bad.c", f"libclang reads {working_folder}/pipe.h, which is a pipe or a device"),)
    assert [struct.origin for struct in reading.structs] == ["good.h"]


def test_a_case_of_a_rule_file_too(working_folder):
    (working_folder / "rules.cases.toml").write_text("".join(
        f"[[case]]\nname = '{name}'\ncode = '''\n{text}{STRUCT}'''\nexpect = {{ small = 'kept' }}\n"
        for name, text in (("bad", '#include "/dev/urandom"\n'), ("good", ""))
    ))  # fmt: skip
    (output,) = cases.run(load(["rules.toml"]))
    assert [[outcome.value for outcome in result.actual] for result in output.results] == [[], ["kept"]]
    assert output.results[0].message == "libclang reads /dev/urandom, which is a pipe or a device"


def test_brackets_that_are_too_deep_are_an_error_of_the_text(working_folder):
    (working_folder / "bad.h").write_text(f"int x = {'(' * DEEP}1{')' * DEEP};\n{STRUCT}")
    reading = clang.read("bad.h", Wanted(frozenset(["s"])), ReadOptions())
    assert "bad.h:1:265: error: bracket nesting level exceeded maximum of 256" in str(reading.unread[0])


def test_the_command_says_so_with_status_3(working_folder):
    (working_folder / "bad.h").write_text(f"int x = {'1+' * DEEP}1;\n{STRUCT}")
    done = run("check", "bad.h", "good.h", "--rules", "rules.toml", "--no-packs", cwd=working_folder)
    assert done.returncode == 3
    assert f"bad.h: {CRASH}" in done.stdout + done.stderr
    assert "LLVM" not in done.stderr


def reasons_of(file: str, *words: str) -> list[str]:
    """Why a file, or what was read of it, is not believed."""
    try:
        reading = clang.read(file, Wanted(frozenset(["s"])), ReadOptions(flags=words))
    except ReadError as error:
        return [str(error)]
    return [str(struct.problem) for struct in reading.structs]


FIRST = ["-include", "-imacros", "--include="]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("flag", FIRST)
@pytest.mark.parametrize("file", ["pipe.h", "/dev/zero", "/dev/tty", "/dev/full"])
def test_a_header_that_flags_name_first(flag, file, working_folder):
    (working_folder / "ok.h").write_text(STRUCT)
    words = (flag + file,) if flag.endswith("=") else (flag, file)
    started = time.monotonic()
    output = reasons_of("ok.h", *words)
    # Where there is no terminal, /dev/tty cannot be opened.
    assert output
    assert all("which is a pipe or a device" in one or "file not found" in one for one in output)
    assert time.monotonic() - started < 60


@pytest.mark.one_in(6)
@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("how", ["/proc/self/fd/{}", "/dev/fd/{}"])
def test_open_files_of_the_process_are_none_of_the_text(number, how, working_folder):
    """They are pipes to other processes, whose words would be eaten, or /dev/null, which is nobody's header."""
    (working_folder / "bad.h").write_text(f'#include "{how.format(number)}"\n{STRUCT}')
    if number in (1, 2):
        pytest.skip("where output goes: nowhere, which is empty")
    output = reasons_of("bad.h")
    assert output
    assert all("which is a pipe or a device" in one or "file not found" in one for one in output)


def test_the_standard_input_is_no_empty_header(working_folder):
    (working_folder / "ok.h").write_text(STRUCT)
    reading = clang.read("ok.h", Wanted(frozenset(["s"])), ReadOptions(flags=("-include", "/dev/stdin")))
    assert "/dev/stdin' file not found" in reading.structs[0].problem


@pytest.mark.exhaustive
def test_units_that_hang_are_not_waited_for_one_by_one(working_folder, monkeypatch):
    monkeypatch.setattr(parallel.PATIENCE, "seconds", 3)
    monkeypatch.setattr(unit_listings, "_PATIENCE_SECONDS", 3)
    (working_folder / "a.h").write_text(STRUCT)
    for number in range(12):
        (working_folder / f"bad{number:02}.h").write_text(HANG + STRUCT)
    started = time.monotonic()
    reading = clang.read(str(working_folder), Wanted(frozenset(["s"])), ReadOptions(jobs=1))
    assert time.monotonic() - started < 20
    reasons = [one.reason for one in reading.unread]
    assert len(reasons) == 13
    assert reasons[-1] == "libclang is not begun: others that failed used up the time for it"


def test_memory_stays_small_while_a_device_is_read(working_folder):
    """The child's largest resident set, as the system tells of all children together."""
    (working_folder / "bad.h").write_text('#include "/dev/zero"\n' + STRUCT)
    code = (
        "import resource; from layoutlint.readers import clang; from layoutlint.model.wanted import *; from layoutlint.model.reading import *\n"
        "try: clang.read('bad.h', Wanted(everything=True), ReadOptions())\n"
        "except Exception as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=working_folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert int(done.stdout.split()[-1]) < 1 << 20, done  # KiB
