"""The compiler that a database names decides the machine; only its name is read."""

from __future__ import annotations

import json
import re

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from layoutlint.readers.clang import build_compiler
from layoutlint.readers.clang.build_compiler import compiler_named, identify
from tests.harness.command import run
from tests.readers.clang.test_gcc_layouts import assert_as_gcc, read_facts

NAMES = [
    # a name: its family, version and machine
    ("gcc", "gcc", (), None), ("gcc-12", "gcc", (12,), None), ("/usr/bin/gcc-13.2.0", "gcc", (13, 2, 0), None), ("cc", None, (), None),
    ("clang", "clang", (), None), ("clang-16", "clang", (16,), None), ("c99", None, (), None), ("musl-gcc", "gcc", (), None), ("afl-clang", "clang", (), None),
    ("arm-linux-gnueabihf-gcc", "gcc", (), "arm-unknown-linux-gnueabihf"), ("arm-none-eabi-gcc-12.2.1", "gcc", (12, 2, 1), "arm-none-eabi"),
    ("/opt/gcc-arm/bin/arm-none-eabi-gcc", "gcc", (), "arm-none-eabi"), ("C:\\arm\\bin\\arm-none-eabi-gcc.exe", "gcc", (), "arm-none-eabi"),
    ("arm-none-linux-gnueabihf-gcc", "gcc", (), "arm-unknown-linux-gnueabihf"), ("arm-zephyr-eabi-gcc", "gcc", (), "arm-none-eabi"),
    ("riscv64-zephyr-elf-gcc", "gcc", (), "riscv64-none-elf"), ("arm-poky-linux-gnueabi-gcc", "gcc", (), "arm-unknown-linux-gnueabi"),
    ("aarch64-poky-linux-gcc", "gcc", (), "aarch64-unknown-linux"), ("arm-cortex_a8-linux-gnueabi-gcc", "gcc", (), "arm-unknown-linux-gnueabi"),
    ("arm-buildroot-linux-gnueabihf-gcc.br_real", "gcc", (), "arm-unknown-linux-gnueabihf"), ("x86_64-w64-mingw32-gcc-12-win32", "gcc", (12,), "x86_64-unknown-windows-gnu"),
    ("i686-w64-mingw32-gcc", "gcc", (), "i686-unknown-windows-gnu"), ("aarch64-linux-android21-clang", "clang", (), "aarch64-unknown-linux-android21"),
    ("armv7a-linux-androideabi21-clang", "clang", (), "armv7a-unknown-linux-androideabi21"), ("x86_64-pc-linux-gnu-gcc", "gcc", (), "x86_64-unknown-linux-gnu"),
    ("mips-linux-gnu-gcc-12", "gcc", (12,), "mips-unknown-linux-gnu"), ("/usr/arm-none-eabi/bin/gcc", "gcc", (), "arm-none-eabi"), ("s390x-linux-gnu-cc", None, (), "s390x-unknown-linux-gnu"),
    ("arm-rtems6-gcc", "gcc", (), "arm-unknown-rtems6"), ("mpicc", None, (), None), ("tcc", None, (), None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "family", "version", "triple"), NAMES, ids=range(len(NAMES)))
def test_names(name, family, version, triple):
    found = compiler_named(name)
    assert (found.family, found.version, found.triple, found.refusal) == (family, version, triple, None)


REFUSED = [
    # a name, and what is not known of it
    ("avr-gcc", "machine avr"), ("xtensa-esp32-elf-gcc", "machine xtensa"), ("m68k-linux-gnu-gcc", "machine m68k"), ("sh4-linux-gnu-gcc-12", "machine sh4"),
    ("msp430-elf-gcc", "machine msp430"), ("tricore-gcc", "machine tricore"), ("xtensa-esp32s3-elf-clang", "machine xtensa"), ("nios2-elf-gcc", "machine nios2"),
    ("iccarm", "not known here"), ("armclang", "not known here"), ("sdcc", "not known here"), ("cl430", "not known here"), ("mycc", "not known here"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words"), REFUSED, ids=range(len(REFUSED)))
def test_refused_names(name, words, tmp_path):
    (tmp_path / "q.c").write_text(TEXT)
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps([{"directory": ".", "file": "q.c", "command": f"{name} -c q.c"}]))
    readings, [unread] = inputs.read((str(path),), Wanted(frozenset({"q"})), ReadOptions())
    assert readings == []
    assert re.match(f"is compiled by {name}, .*{words}.*--target=.*--query-driver", unread.reason)


WRAPPED = [
    # words of a command: the compiler's word and the number of words up to it
    ("gcc -c x.c", "gcc", 1), ("ccache gcc -c", "gcc", 2), ("/usr/lib/ccache/ccache arm-none-eabi-gcc", "arm-none-eabi-gcc", 2), ("distcc gcc", "gcc", 2),
    ("ccache distcc gcc", "gcc", 3), ("env CC=x LANG=C gcc", "gcc", 4), ("sccache.exe clang.exe", "clang.exe", 2), ("/usr/lib/ccache/gcc -c", "/usr/lib/ccache/gcc", 1),
    ("icecc gcc", "gcc", 2), ("CCACHE_DIR=/x ccache gcc", "gcc", 3), ("nice -n 5 gcc", "gcc", 4), ("ccache", "ccache", 1),
    ("ccache u.c", "ccache", 1), ("ccache -c u.c", "ccache", 1), ("distcc ccache -DX u.cpp", "ccache", 2), ("nice -n 5 u.i", "nice", 1), ("env A=b", "env", 1),
    ("/bin/bash ../libtool --tag=CC --mode=compile gcc -c", "gcc", 5), ("timeout 10 gcc", "gcc", 3), ("sh -c gcc", "gcc", 3),
    ("/usr/bin/cmake -E __run_co_compile --tidy=x;-y --source=a.c -- arm-none-eabi-gcc -c", "arm-none-eabi-gcc", 7), ("cmake -E env A=b gcc", "gcc", 5),
]  # fmt: skip


@pytest.mark.parametrize(("command", "word", "number"), WRAPPED, ids=range(len(WRAPPED)))
def test_wrappers(command, word, number):
    words = command.split()
    assert (identify(words), words[number - 1]) == ((compiler_named(word), number), word)


NONE = [
    # words of a command without a compiler, and what is said of them
    (["ccache", "x.c"], "in which ccache runs no compiler"), (["/usr/bin/ccache", "-c", "x.c"], "in which ccache runs no compiler"),
    (["distcc", "ccache"], "in which ccache runs no compiler"), (["", "-c", "x.c"], "with an empty name for the compiler"),
    (["ccache", "", "-c", "x.c"], "with an empty name for the compiler"), ([" ", "x.c"], "with an empty name for the compiler"),
    (["/usr/bin/", "x.c"], "with an empty name for the compiler"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "reason"), NONE, ids=[" ".join(row[0]) for row in NONE])
def test_a_command_without_a_compiler_is_not_read(tmp_path, words, reason):
    (tmp_path / "x.c").write_text("struct s { char a; long b; };\n")
    (tmp_path / "compile_commands.json").write_text(json.dumps([{"directory": str(tmp_path), "file": "x.c", "arguments": words}]))
    done = run("show", "compile_commands.json", "s", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"x.c: has a command {reason}; name it there, or state one of docs/targets.md with `-- --target=...`" in done.stderr
    assert run("show", "compile_commands.json", "s", "--", "--target=x86_64-linux-gnu", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("command", [
    "arm-linux-gnueabihf-gcc", "ccache arm-linux-gnueabihf-gcc", "gcc -m32", "x86_64-w64-mingw32-gcc", "arm-none-eabi-gcc",
])  # fmt: skip
def test_layouts_of_the_named_machine(command, tmp_path):
    if command.startswith("ccache"):
        _, struct = read_facts(tmp_path, command, text="struct facts { char a; long b; void *c; };")
        assert (struct.target.name, struct.bit_size) == ("arm", 96)
    else:
        assert_as_gcc(tmp_path, command, text="struct facts { char a; long b; void *c; long long d; wchar_t e; };".replace("wchar_t", "__WCHAR_TYPE__"))


@pytest.mark.parametrize(("name", "flag"), [("arm-rtems6-gcc", "-fshort-enums"), ("arm-linux-gnueabi-gcc", "-fno-short-enums")])
def test_enums_of_arm(name, flag):
    assert flag in compiler_named(name).implied_flags(())


RULE = '[[rule]]\nid = "apart"\nstruct = "q"\nkind = "no-straddle"\nfields = ["b"]\nwhy = "w"\n'
TEXT = "struct q { char a[60]; long b; };\n"


@pytest.mark.parametrize(("words", "more", "line"), [
    ("arm-linux-gnueabihf-gcc", (), "by clang, arm, from arm-linux-gnueabihf-gcc"), ("gcc", (), "by clang, x86_64\n"),
    ("arm-none-eabi-gcc-12", (), "by clang, arm, from arm-none-eabi-gcc-12"), ("arm-none-eabi-gcc", ("--", "--target=aarch64-linux-gnu"), "by clang, aarch64\n"),
    ("avr-gcc", ("--", "--target=i386-linux-gnu"), "by clang, i386\n"),
])  # fmt: skip
def test_the_report_says_whose_word_the_target_is(words, more, line, tmp_path, monkeypatch):
    monkeypatch.setattr(build_compiler.os, "uname", lambda: type("U", (), {"machine": "x86_64"}))
    (tmp_path / "q.c").write_text(TEXT)
    (tmp_path / "layoutlint.toml").write_text(RULE)
    (tmp_path / "compile_commands.json").write_text(json.dumps([{"directory": ".", "file": "q.c", "command": f"{words} -O2 -c q.c"}]))
    done = run("check", "compile_commands.json", "-v", *more, cwd=tmp_path)
    assert line in done.stdout


def test_a_refused_compiler_is_status_3(tmp_path):
    (tmp_path / "q.c").write_text(TEXT)
    (tmp_path / "layoutlint.toml").write_text(RULE)
    (tmp_path / "compile_commands.json").write_text(json.dumps([{"directory": ".", "file": "q.c", "command": "avr-gcc -Os -c q.c"}]))
    done = run("check", "compile_commands.json", cwd=tmp_path)
    assert done.returncode == 3
    assert "is compiled by avr-gcc, whose machine avr is not known here" in " ".join(done.stdout.split())
