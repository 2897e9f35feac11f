"""Builds for microcontrollers by arm-none-eabi-gcc: its flags, its C library and its enums, with its objects as oracle."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang import cross_target, option_table
from layoutlint.readers.clang.build_compiler import compiler_named
from tests.harness.repository import write
from tests.harness.tools import need, need_c_library

TEXT = """
struct plain { char c; long long l; double d; void *p; };
struct state { enum { A, B = 200 } e; char c; enum { C = 70000 } f; enum { D = -1, E = 300 } g; };
"""
LIBRARY = """
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#include <reent.h>
#include <wchar.h>
struct library { char c; struct _reent r; int_fast8_t a; char d; uint_fast16_t b; size_t n; wint_t w; mbstate_t m; intptr_t i; int32_t j; };
"""
STM32 = "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard"


def read(folder, text: str, words: str):
    """Return the sizes of structs by a database that names the compiler; None for unknown."""
    arguments = [*words.split(), "-c", "unit.c"]
    entry = {"directory": str(folder), "file": "unit.c", "arguments": arguments}
    write(folder, {"unit.c": text, "compile_commands.json": json.dumps([entry])})
    reading = clang.read(str(folder / "compile_commands.json"), Wanted(everything=True), ReadOptions())
    wanted = re.findall(r"^struct (\w+) \{", text, re.MULTILINE)
    structs = {struct.name: struct for struct in reading.structs}
    return {name: None if structs[name].problem else structs[name].bit_size // 8 for name in wanted}, structs


def gcc_sizes(folder, text: str, words: str) -> dict[str, int]:
    """Return the sizes of structs by the compiler, out of its assembler text."""
    compiler, *rest = words.split()
    names = re.findall(r"^struct (\w+) \{", text, re.MULTILINE)
    marks = "".join(f"unsigned size_{name} = sizeof(struct {name});\n" for name in names)
    done = subprocess.run([need(compiler, "-c"), *rest, "-S", "-o", "-", "-xc", "-"], input=text + marks, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return {name: int(re.search(rf"^_?size_{name}:\n\s+\.(?:long|word|4byte)\s+(\d+)$", done.stdout, re.MULTILINE)[1]) for name in names}


ENUMS = [
    "arm-none-eabi-gcc", "arm-none-eabi-gcc -mabi=aapcs", "arm-none-eabi-gcc -mabi=aapcs-linux", "arm-none-eabi-gcc -fno-short-enums",
    "arm-none-eabi-gcc -mabi=aapcs-linux -fshort-enums", "arm-none-eabi-gcc -mabi=aapcs -mabi=aapcs-linux", f"arm-none-eabi-gcc {STM32}",
    "arm-linux-gnueabihf-gcc", "arm-linux-gnueabihf-gcc -mabi=aapcs", "arm-linux-gnueabihf-gcc -mabi=aapcs-linux",
    "arm-linux-gnueabihf-gcc -mabi=aapcs -fno-short-enums", "arm-linux-gnueabihf-gcc -mabi=aapcs-linux -fshort-enums",
]  # fmt: skip


@pytest.mark.parametrize("words", ENUMS)
def test_enums_are_as_short_as_those_of_gcc(words, tmp_path):
    assert read(tmp_path, TEXT, words)[0] == gcc_sizes(tmp_path, TEXT, words)


@pytest.mark.parametrize(("compiler", "is_known"), [("cc", False), ("clang", True)])
def test_an_abi_with_short_enums_for_gcc_alone(compiler, is_known, tmp_path):
    sizes, structs = read(tmp_path, TEXT, f"{compiler} --target=arm-linux-gnueabihf -mabi=aapcs")
    assert sizes["state"] == (16 if is_known else None)
    assert is_known or "short enums" in structs["state"].problem


SPECS = ["", "--specs=nosys.specs", "-specs=rdimon.specs", "-specs nosys.specs", "--specs=nano.specs --specs=nosys.specs", "--specs=nano.specs"]


@pytest.mark.parametrize("flags", [STM32, "-mcpu=cortex-m0 -mthumb", "-mcpu=cortex-m33 -mthumb -mabi=aapcs", ""])
@pytest.mark.parametrize("specs", SPECS)
def test_the_c_library_is_that_of_the_specs(specs, flags, tmp_path):
    words = f"arm-none-eabi-gcc {flags} {specs}"
    need_c_library("arm-none-eabi-gcc")
    expected = gcc_sizes(tmp_path, LIBRARY, words)
    assert read(tmp_path, LIBRARY, words)[0] == expected
    small = gcc_sizes(tmp_path, LIBRARY, f"arm-none-eabi-gcc {flags} --specs=nano.specs")
    assert (expected == small) is ("nano" in specs)


@pytest.mark.parametrize("specs", sorted(option_table.LINKER_SPECS))
def test_specs_of_the_linker_change_no_macro(specs):
    compiler = need("arm-none-eabi-gcc", "-c")
    words = ("-dM", "-E", "-xc", "/dev/null")
    with_specs = subprocess.run([compiler, f"--specs={specs}", *words], capture_output=True, text=True)
    if with_specs.returncode:
        pytest.skip(f"this newlib has no {specs}")
    assert with_specs.stdout == subprocess.run([compiler, *words], capture_output=True, text=True).stdout


def test_specs_that_are_not_known(tmp_path):
    _, structs = read(tmp_path, TEXT, "arm-none-eabi-gcc --specs=own/nosys.specs")
    assert "-specs=own/nosys.specs" in structs["plain"].problem


TOOLCHAIN = {"bin/arm-none-eabi-gcc": "", "arm-none-eabi/include/stdio.h": ""}
NANO = {"arm-none-eabi/include/newlib-nano/newlib.h": ""}
PLACES = [
    # files beside the program, its name, flags, whether newlib is the small one; the folders, or the problem
    (TOOLCHAIN, "arm-none-eabi-gcc", "", False, ["arm-none-eabi/include"]),
    (TOOLCHAIN, "arm-none-eabi-gcc", "-nostdinc", False, []),
    (TOOLCHAIN, "arm-none-eabi-gcc", "--sysroot=/x", False, []),
    (TOOLCHAIN, "arm-none-eabi-gcc", "-isystem /x", False, ["arm-none-eabi/include"]),
    (TOOLCHAIN, "arm-none-eabi-gcc", "", True, "newlib-nano"),
    (TOOLCHAIN | NANO, "arm-none-eabi-gcc", "", True, ["arm-none-eabi/include/newlib-nano", "arm-none-eabi/include"]),
    (TOOLCHAIN, "arm-none-eabi-gcc", "-I/x/newlib-nano", True, ["arm-none-eabi/include"]),
    ({"riscv64-unknown-elf/sysroot/usr/include/stdio.h": ""}, "riscv64-unknown-elf-gcc", "", False, ["riscv64-unknown-elf/sysroot/usr/include"]),
    ({"arm-linux-gnueabihf/libc/usr/include/stdio.h": ""}, "arm-linux-gnueabihf-gcc", "", False, ["arm-linux-gnueabihf/libc/usr/include"]),
    ({}, "riscv64-unknown-elf-gcc", "", True, []),
]  # fmt: skip


@pytest.mark.parametrize(("files", "name", "flags", "is_small", "expected"), PLACES, ids=range(len(PLACES)))
def test_the_headers_beside_the_compiler(files, name, flags, is_small, expected, tmp_path):
    write(tmp_path, files)
    found = cross_target.find_library(tuple(flags.split()), compiler_named(f"{tmp_path}/bin/{name}"), is_small)
    folders = [word.removeprefix(f"{tmp_path}/") for word in (*found.first, *found.last) if word.startswith("/") and "freestanding" not in word]
    assert (folders == expected and found.problem is None) if isinstance(expected, list) else expected in found.problem
