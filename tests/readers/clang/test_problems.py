"""Errors that can change a layout make a struct unbelievable, with file and line; others do not."""

from __future__ import annotations

import pytest

from layoutlint.model.reading import ReadOptions, Unread
from layoutlint.model.structs import Source
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang

SPOILT = [
    # text, the problem of struct s
    ("struct s {\n\tint a ____cacheline_aligned;\n};", "t.h:2:7: error: no macro `____cacheline_aligned` is defined here"),
    ("struct s {\n\tint a;\n} ____cacheline_aligned;",
     "t.h:3:3: error: no macro `____cacheline_aligned` is defined here: it declares a variable of type `struct s`"),
    ("struct s { int a; } __packed;",
     "t.h:1:21: error: no macro `__packed` is defined here: it declares a variable of type `struct s`"),
    ("struct s { int a; } CACHE_ALIGNED;",
     "t.h:1:21: error: no macro `CACHE_ALIGNED` is defined here: it declares a variable of type `struct s`"),
    ("struct s { int a __aligned(64); };", "t.h:1:17: error: no macro `__aligned` is defined here"),
    ("struct s { int a; } __aligned(64);", "t.h:1:31: error: expected parameter declarator"),
    ("struct s { int a; } __packed __aligned(8);", "t.h:1:20: error: expected ';' after struct"),
    ("struct s { foo_t a; int b; };", "t.h:1:12: error: unknown type name 'foo_t'"),
    ("struct s { bool a; int b; };", "t.h:1:12: error: unknown type name 'bool'; "
     "C has it since C23 (-std=gnu23), and before that in <stdbool.h>"),
    ("struct s { alignas(64) int a; };", "t.h:1:12: error: unknown specifier 'alignas'; "
     "C has it since C23 (-std=gnu23), and before that in <stdalign.h>; `_Alignas` compiles since C11"),
    ("struct s { char a[N]; };", "t.h:1:19: error: use of undeclared identifier 'N'"),
    ("enum { M = NOT_THERE };\nstruct s { char a[M]; };", "t.h:1:12: error: use of undeclared identifier 'NOT_THERE'"),
    ("struct s { struct gone g; };", "t.h:1:24: error: field has incomplete type 'struct gone'"),
    ("struct i { foo_t a; };\nstruct s { int n; struct i in[2]; };", "t.h:1:12: error: unknown type name 'foo_t'"),
    ("struct i { foo_t a; };\ntypedef struct i i_t;\nstruct s { i_t in; };", "t.h:1:12: error: unknown type name 'foo_t'"),
    ("struct i { foo_t a; };\nstruct s { char c[sizeof(struct i)]; };", "t.h:1:12: error: unknown type name 'foo_t'"),
    ("struct i { int a; } ____cacheline_aligned;\nstruct s { char c; struct i in; };",
     "t.h:1:21: error: no macro `____cacheline_aligned` is defined here: it declares a variable of type `struct i`"),
    ('#include "gone.h"\nstruct s { int a; };', "t.h:1:10: error: 'gone.h' file not found; "
     "add its folder with `-I DIR`, or install the package that has it"),
    ("#error set up first\nstruct s { int a; };", "t.h:1:2: error: set up first"),
    ("#if SIZE(3)\n#endif\nstruct s { int a; };", "t.h:1:5: error: function-like macro 'SIZE' is not defined"),
    ("#pragma pack(some)\nstruct s { int a; };", "t.h:1:14: warning: unknown action for '#pragma pack' - ignored"),
    ("struct __attribute__((cacheline_aligned)) s { int a; };",
     "t.h:1:23: warning: unknown attribute 'cacheline_aligned' ignored"),
    ("struct s { int a;\n", "t.h:1:18: error: expected '}'"),
    ("struct s { int a;\nstruct other { int b; };\n", "t.h:2:25: error: expected '}'"),
    ("struct s { int a;\nint f(void);\n", "t.h:2:13: error: expected '}'"),
    ("struct s { int a; struct { int b; } c;\n#ifdef X\n};\n", "t.h:2:2: error: unterminated conditional directive"),
    ("struct s { LIST(x, 32); };", "t.h:1:12: error: type name requires a specifier or qualifier"),
    ('struct s { int a;\n#include "part.h"\n};', "part.h:1:1: error: unknown type name 'foo_t'"),
]  # fmt: skip
FINE = [
    # text of struct s with an error or a warning that cannot change it
    "foo_t before;\nstruct s { int a; };",
    "int f(void) { return undeclared; }\nstruct s { int a; };",
    "_Static_assert(sizeof(int) == 8, \"no\");\nstruct s { int a; };",
    "struct i { foo_t a; };\nstruct s { struct i *p; };",
    "struct s { int a; };\n#include \"gone.h\"",
    "struct s { int a; };\nstruct other { int b;\n",
    "struct s { int a; };\nint f(void) { return 1;\n",
    "struct s { int a; };\n#ifdef X\nint f(void);\n",
    "#define END }\nstruct s { int a; END;\nfoo after;\n",
    "struct s { int a; } example;",
    "struct s { int a; };\nstruct s __start, __stop;",
    "static struct s { int a; } __example;",
    "struct s { int a; } __attribute__((some_vendor_thing));",
    "struct s { int a; int b : 3; enum { X, Y }; };",
]  # fmt: skip
ONE = Wanted(frozenset(["s"]))


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "part.h").write_text("foo_t b;\n")
    (tmp_path / ".git").mkdir()  # missing headers are searched in no other test's folder
    return tmp_path


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("text", "problem"), SPOILT, ids=[text for text, _ in SPOILT])
def test_an_error_that_can_change_the_layout(working_folder, text, problem):
    (working_folder / "t.h").write_text(text)
    [struct] = clang.read("t.h", ONE, ReadOptions()).structs
    assert struct.problem == problem


@pytest.mark.parametrize("text", FINE)
def test_an_error_that_cannot(working_folder, text):
    (working_folder / "t.h").write_text(text)
    [struct] = clang.read("t.h", ONE, ReadOptions()).structs
    assert (struct.problem, struct.bit_size) == (None, 64 if "*p" in text or "b : 3" in text else 32)


def test_an_error_in_a_header_that_is_included_first(working_folder):
    (working_folder / "t.h").write_text("struct s { int a; };")
    (working_folder / "first.h").write_text('\n\n\n#include "gone.h"\n')
    [struct] = clang.read("t.h", ONE, ReadOptions(flags=("-include", "first.h"))).structs
    assert (struct.problem or "").startswith("first.h:4:10: error: 'gone.h' file not found")


def test_a_struct_that_errors_may_have_swallowed(working_folder):
    (working_folder / "t.h").write_text("struct __packed s { int a; };\n")
    reading = clang.read("t.h", ONE, ReadOptions())
    assert [s for s in reading.structs if s.bit_size is not None] == []
    assert reading.unread == (
        Unread("t.h", "struct s not found, with errors: t.h:1:18: error: expected ';' after top level declarator (and 1 more)",
               place=Source("t.h", 1)),
    )


def test_the_arm_build_error_of_optimistic_spin_node(working_folder):
    """As the kernel's build robot saw it: on arm nothing that osq_lock.h includes defines the macro."""
    folder = working_folder / "include/linux"
    folder.mkdir(parents=True)
    (folder / "osq_lock.h").write_text(
        "/* SPDX-License-Identifier: GPL-2.0 */\n#ifndef __LINUX_OSQ_LOCK_H\n#define __LINUX_OSQ_LOCK_H\n\n/*\n"
        " * An MCS like lock especially tailored for optimistic spinning for sleeping\n"
        " * lock implementations (mutex, rwsem, etc).\n */\n"
        "struct optimistic_spin_node {\n\tstruct optimistic_spin_node *next, *prev;\n"
        "\tint locked; /* 1 if lock acquired */\n\t/*\n\t * Stores an encoded CPU # + 1 value.\n"
        "\t * Only read by other cpus, so split into different cache lines.\n\t */\n"
        "\tint cpu ____cacheline_aligned;\n};\n#endif\n"
    )
    wanted = Wanted(frozenset(["optimistic_spin_node"]))
    [struct] = clang.read("include/linux/osq_lock.h", wanted, ReadOptions(flags=("--target=arm-linux-gnueabi",))).structs
    assert struct.problem == "include/linux/osq_lock.h:16:9: error: no macro `____cacheline_aligned` is defined here"
