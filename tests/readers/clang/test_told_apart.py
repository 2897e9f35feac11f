"""Text that tells gcc from clang, and versions of gcc apart: each compiler's own size, or unknown."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from elftools.elf.elffile import ELFFile

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from layoutlint.readers.clang import conditions, gcc_macros
from tests.compilers.variants import compilers
from tests.harness.tools import need
from tests.oracles.c_probe import compile_c
from tests.readers.clang.test_gcc_layouts import read_facts
from tests.real import kernels

GUARDS = "#ifndef __has_attribute\n#define __has_attribute(x) 0\n#endif\n#ifndef __has_feature\n#define __has_feature(x) 0\n#endif\n#ifndef __has_builtin\n#define __has_builtin(x) 0\n#endif\n"
BOTH = "#define CHOOSE(x) {yes}\n#else\n#define CHOOSE(x) {no}\n#endif\n"
TEXTS = {
    # text of struct s: whether each compiler below lays it out alike
    "plain": ("struct s { char a; long b; };", True),
    "members": ("struct s { int a;\n#ifdef __clang__\nint b, c;\n#endif\n};", False),
    "llvm": ("struct s { int a;\n#ifndef __llvm__\nint b, c;\n#endif\n};", False),
    "version": ("struct s { int a;\n#if __GNUC__ >= 10\nint b, c;\n#endif\n};", False),
    "between versions": ("struct s { int a;\n#if __GNUC__ == 11\nint b, c;\n#endif\n};", False),
    "not clang": ("struct s { int a;\n#if defined(__GNUC__) && !defined(__clang__)\nint b, c;\n#endif\n};", False),
    "macro": ("#ifdef __clang__\n#define PAD 4\n#else\n#define PAD 8\n#endif\nstruct s { char pad[PAD]; };", False),
    "macro of a macro": ("#ifdef __clang__\n#define ON 1\n#endif\n#ifdef ON\n#define PAD 4\n#else\n#define PAD 8\n#endif\nstruct s { char pad[PAD]; };", False),
    "value": ("struct s { char pad[__GNUC__]; };", False),
    "typedef": ("#ifdef __clang__\ntypedef int own;\n#else\ntypedef long own;\n#endif\nstruct s { own a; };", False),
    "enum": ("enum e {\n#ifdef __clang__\nCOUNT = 4\n#else\nCOUNT = 8\n#endif\n};\nstruct s { char a[COUNT]; };", False),
    "nested": ("struct inner { int a;\n#ifdef __clang__\nint b;\n#endif\n};\nstruct s { struct inner in[2]; };", False),
    "pointer": ("struct inner { int a;\n#ifdef __clang__\nint b;\n#endif\n};\nstruct s { struct inner *in; };", True),
    "two texts": ("#ifdef __clang__\nstruct s { int a; };\n#else\nstruct s { long a; };\n#endif", False),
    "whole file": ("#if __GNUC__ >= 4\nstruct s { int a; };\n#endif", True),
    "guard": ("#ifndef GUARD\n#ifdef __GNUC__\n#define GUARD __GNUC__\n#endif\nstruct s { int a; };\n#endif", True),
    "attribute": ("#ifdef __GNUC__\n#define PACKED __attribute__((packed))\n#else\n#define PACKED\n#endif\nstruct s { char a; int b; } PACKED;", True),
    "pragma": ("#ifndef __clang__\n#pragma pack(push, 1)\n#endif\nstruct s { char a; int b; };\n#ifndef __clang__\n#pragma pack(pop)\n#endif", False),
    "pragma in a macro": ('#ifdef __clang__\n#define PACK\n#else\n#define PACK _Pragma("pack(1)")\n#endif\nPACK\nstruct t { char a; };\nstruct s { char a; int b; };', False),
    "macro in front": ("#ifdef __clang__\n#define WIDE\n#else\n#define WIDE __attribute__((aligned(32)))\n#endif\ntypedef WIDE struct s { int a; } s_t;\nstruct t { s_t in; };", False),
    "known attribute": (f"{GUARDS}struct s {{ int a;\n#if __has_attribute(packed)\nint b;\n#endif\n}};", True),
    "attribute of clang": (f"{GUARDS}struct s {{ int a;\n#if __has_attribute(ext_vector_type)\nint b;\n#endif\n}};", False),
    "attribute of gcc": (f"{GUARDS}struct s {{ int a;\n#if __has_attribute(__designated_init__)\nint b;\n#endif\n}};", False),
    "attribute since 12": (f"{GUARDS}struct s {{ int a;\n#if __has_attribute(tainted_args)\nint b;\n#endif\n}};", False),
    "attribute of none": (f"{GUARDS}struct s {{ int a;\n#if __has_attribute(frobnicated)\nint b;\n#endif\n}};", False),
    "wrapped": (f"{GUARDS}#define HAS(x) __has_attribute(x)\n#if HAS(ext_vector_type)\ntypedef int own;\n#else\ntypedef long own;\n#endif\nstruct s {{ own a; }};", False),
    "feature": (f"{GUARDS}#if __has_feature(attribute_ext_vector_type)\ntypedef int own;\n#else\ntypedef long own;\n#endif\nstruct s {{ own a; }};", False),
    "a macro with a like name": ("#define my__has_active(p) ((p) > 0)\n#define __has_own(p) (p)\n#define CHECK(p) (my__has_active(p) && __has_own(p))\nstruct s { int a; char b[CHECK(1)]; };", True),
    "defined feature": ("#ifdef __has_feature\ntypedef int own;\n#else\ntypedef long own;\n#endif\nstruct s { own a; };", False),
    "builtin": (f"{GUARDS}struct s {{ int a;\n#if __has_builtin(__builtin_expect)\nint b;\n#endif\n}};", True),
    "builtin of clang": (f"{GUARDS}struct s {{ int a;\n#if __has_builtin(__builtin_bitreverse32)\nint b;\n#endif\n}};", False),
    "builtin since 12": (f"{GUARDS}struct s {{ int a;\n#if __has_builtin(__builtin_dynamic_object_size)\nint b;\n#endif\n}};", False),
    "old version": ("#include <stdio.h>\nstruct s { char a[BUFSIZ > 0 ? 4 : 8];\n#if __GNUC_PREREQ (2, 8) || defined __clang__\nint b;\n#endif\n};", True),
    "C library": ("#include <pthread.h>\n#include <sys/stat.h>\n#include <netinet/in.h>\nstruct s { pthread_mutex_t lock; struct stat st; struct sockaddr_in address; };", True),
    "headers of the compiler": ("#include <stddef.h>\n#include <stdint.h>\n#include <limits.h>\n#include <float.h>\n#include <stdatomic.h>\n#include <stdbool.h>\n#include <stdarg.h>\nstruct s { size_t a; atomic_int b; uint8_t c[CHAR_BIT]; bool d; max_align_t e; };", True),
    "included": ("struct s { int a;\n#include \"members.h\"\n};", False),
    "chosen file": ("#ifdef __clang__\n#include \"clang.h\"\n#else\n#include \"gcc.h\"\n#endif\n#ifndef PAD\n#define PAD 4\n#endif\nstruct s { char a[PAD]; };", False),
}
FILES = {"members.h": "#ifndef __clang__\nlong b;\n#endif\n", "clang.h": "typedef int unused;\n", "gcc.h": "#define PAD 8\n"}
COMPILERS = ("gcc-12", "gcc-11", "clang-16")
NAMED = re.compile(r"`\w+(?:\(\w+\))?`.* (?:decides|decide) its layout .*; add `--query-driver '/usr/bin/\*gcc\*'`(?:, or a database that names `gcc-12`)?")
UNKNOWN_TO_GCC_11_AND_12 = {"attribute since 12", "attribute of none"}
"""Texts with a question whose answer is in no table."""


def size(folder, compiler: str, text: str) -> int:
    need(compiler)
    text = f"{text}\nunsigned long long size = sizeof(struct s);\n"
    with open(compile_c(compiler, text, folder / "s.o", "-c", f"-I{folder}"), "rb") as file:
        elf = ELFFile(file)
        [symbol] = elf.get_section_by_name(".symtab").get_symbol_by_name("size")
        return int.from_bytes(elf.get_section(symbol["st_shndx"]).data()[symbol["st_value"] :][:8], "little")


def read(folder, text: str, compiler: str | None, *words: str):
    for name, content in FILES.items():
        (folder / name).write_text(content)
    path = folder / "s.c"
    path.write_text(f"{text}\n")
    if compiler is not None:
        command = {"directory": str(folder), "file": "s.c", "arguments": [compiler, *words, "-c", "s.c"]}
        (folder / "compile_commands.json").write_text(json.dumps([command]))
    [reading], _ = inputs.read((str(path),), Wanted(frozenset({"s"})), ReadOptions())
    return [struct for struct in reading.structs if struct.name == "s"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_sizes_are_those_of_the_compiler_that_the_database_names(tmp_path, compiler, name):
    text, _ = TEXTS[name]
    [struct] = read(tmp_path, text, compiler)
    if name in UNKNOWN_TO_GCC_11_AND_12 and compiler != "clang-16":
        assert NAMED.search(struct.problem), struct.problem
    else:
        assert (struct.problem, struct.bit_size) == (None, size(tmp_path, compiler, text) * 8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", TEXTS)
def test_without_a_compiler_both_layouts_are_known(tmp_path, name):
    text, is_alike = TEXTS[name]
    [struct] = read(tmp_path, text, None)
    compilers = ("clang-16",) if name == "value" else ("gcc-12", "clang-16")
    sizes = {size(tmp_path, compiler, text) * 8 for compiler in compilers}
    if struct.problem is None:
        assert sizes == {struct.bit_size}
    else:
        assert not is_alike
        assert NAMED.search(struct.problem), struct.problem
        assert not struct.layouts or {each.bit_size for each in struct.layouts} >= sizes


@pytest.mark.parametrize("name", ["plain", "members", "version", "value", "old version", "C library", "builtin since 12"])
def test_a_gcc_without_a_version_is_known_where_versions_agree(tmp_path, name):
    text, _ = TEXTS[name]
    [struct] = read(tmp_path, text, "gcc")
    if name in ("version", "value", "builtin since 12"):
        assert NAMED.search(struct.problem), struct.problem
    else:
        assert (struct.problem, struct.bit_size) == (None, size(tmp_path, "gcc-12", text) * 8)


@pytest.mark.parametrize(
    ("condition", "is_constant"),
    [
        ("defined __GNUC__", True), ("!defined(__GNUC__)", True), ("__GNUC__", True), ("defined __clang__", False),
        ("__GNUC_PREREQ (2, 8) || defined __clang__", True), ("__GNUC_PREREQ (7, 0)", False), ("__GNUC__ >= 3 || X", True),
        ("__GNUC__ >= 3 && X", False), ("!(__GNUC__ < 3 && X)", True), ("100 * __GNUC__ >= 400", False), ("__GNUC__ > 3 + X", False),
        ("(__GNUC__ >= 3", False), ("__GNUC__ >= 3 ? X : Y", False), ("", False), ("0 && __clang__", True), ("__GNUC__ - 4", False),
    ],
)  # fmt: skip
def test_conditions_with_one_value_for_all_compilers(condition, is_constant):
    compilers = ((("__GNUC__", 4), ("__GNUC_MINOR__", 2), ("__clang__", 1)), (("__GNUC__", 14), ("__GNUC_MINOR__", 2)))
    names = frozenset({"__GNUC__", "__GNUC_MINOR__", "__clang__"})
    assert conditions.is_constant(condition.encode(), compilers, names) is is_constant


@pytest.mark.parametrize(("compiler", "version"), [("gcc-11", (11, 4, 0)), ("gcc-12", (12, 2, 0)), ("arm-linux-gnueabihf-gcc", (12, 2, 0)), ("s390x-linux-gnu-gcc", (12, 2, 0))])
def test_answers_are_those_of_gcc(tmp_path, compiler, version):
    need(compiler)
    machine = {"a": "arm-unknown-linux-gnueabihf", "s": "s390x-unknown-linux-gnu"}.get(compiler[0], "x86_64")
    questions = gcc_macros.known_questions(machine)
    lines = [f"#ifdef {macro}\n#if {macro}({name})\nchar yes{number};\n#endif\n#endif\n" for number, (macro, name) in enumerate(questions)]
    with open(compile_c(compiler, "".join(lines), tmp_path / "q.o", "-c"), "rb") as file:
        names = {symbol.name for symbol in ELFFile(file).get_section_by_name(".symtab").iter_symbols()}
    said = {question: gcc_macros.answer(*question, version, machine) for question in questions}
    assert {question for question in questions if said[question]} == {question for number, question in enumerate(questions) if f"yes{number}" in names}


@pytest.mark.parametrize("condition", ["__GNUC__ == 8", "__GNUC__ != 11", "__GNUC__ > 6 && __GNUC__ < 9", "defined __clang__ || __GNUC__ == 10"])
def test_versions_between_the_first_and_the_last(tmp_path, condition):
    _, struct = read_facts(tmp_path, "gcc", text=f"struct facts {{ int a;\n#if {condition}\nint b, c;\n#endif\n}};")
    assert "`__GNUC__` decides its layout" in (struct.problem or "")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["gcc-9", "gcc-10", "gcc-13", "gcc-14", "gcc-15", "gcc-16"])
def test_answers_are_those_of_other_versions(name):
    try:
        command = compilers.command(name)
    except kernels.Unavailable as reason:
        pytest.skip(str(reason))
    questions = gcc_macros.known_questions("x86_64")
    lines = [f"#ifdef {macro}\n#if {macro}({word})\nYES {number}\n#endif\n#endif\n" for number, (macro, word) in enumerate(questions)]
    text = "".join(("VERSION __GNUC__ __GNUC_MINOR__\n", *lines))
    made = subprocess.run([*command, "-E", "-P", "-xc", "-"], input=text, capture_output=True, text=True, check=True).stdout
    version = tuple(map(int, re.findall(r"VERSION (\d+) (\d+)", made)[0]))
    yes = {questions[int(number)] for number in re.findall(r"YES (\d+)", made)}
    assert {each for each in questions if gcc_macros.answer(*each, version, "x86_64")} == yes
