"""Which files are units of C, the flags of each, and what people must know about how they are read."""

from __future__ import annotations

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.clang import builtin_headers, c_units, cplusplus, cross_target
from layoutlint.readers.clang.c_units import NotC

FOREIGN = "--target=sparc64-linux-gnu"
REFUSED = [
    # a file, flags, whether it has another language, the reason
    *((f"a{suffix}", (), True, "is assembler, which defines no structs") for suffix in c_units.ASSEMBLER),
    *((f"a{suffix}", (), True, f"is C++; {cplusplus.REASON}") for suffix in c_units.CPLUSPLUS),
    ("a.c", ("-xc++",), True, f"is C++; {cplusplus.REASON}"), ("a.h", ("-x", "c++-header"), True, f"is C++; {cplusplus.REASON}"),
    *((f"a{suffix}", (), True, f"is {language} by its name; layoutlint reads C") for suffix, language in c_units._OTHER_LANGUAGES.items()),
    *((f"sub/{name}", (), True, f"is {language} by its name; layoutlint reads C") for name, language in c_units._OTHER_NAMES.items()),
    ("a.c", ("-xobjective-c",), False, "is compiled as objective-c; layoutlint reads C"), ("a.c", ("--target=x",), False, "is compiled for the target x, which is not known here"),
]  # fmt: skip


@pytest.mark.parametrize("flag", ["-xc", "-xc-header", "-xcpp-output", "--language=c"])
@pytest.mark.parametrize("path", ["a.cc", "a.hpp", "a.S", "a.rs", "Makefile"])
def test_a_flag_makes_any_file_c(path, flag, tmp_path):
    assert c_units.unit(path, (flag,), str(tmp_path), (str(tmp_path),)).main == str(tmp_path / path)


@pytest.mark.parametrize(("path", "words", "is_other", "reason"), REFUSED, ids=[f"{row[0]} {' '.join(row[1])}" for row in REFUSED])
def test_files_that_are_no_units(path, words, is_other, reason):
    with pytest.raises(ReadError) as raised:
        c_units.unit(path, words, "/p", ("/p",))
    assert (raised.value.path, raised.value.reason, isinstance(raised.value, NotC)) == (path, reason, is_other)


UNITS = [
    # a file, flags; the flags of the unit with builtin headers in /clang, for another machine without a library, its path and name
    ("a.c", (), ("-xc", "BUILTIN"), "/p/a.c", "a.c"),
    ("sub/../a.h", ("-DX",), ("-xc", "-D", "X", "BUILTIN"), "/p/a.h", "a.h"),
    ("/q/a.c", ("-nostdinc",), ("-xc", "-nostdinc"), "/q/a.c", "/q/a.c"),
    ("a.c", (FOREIGN,), ("-xc", FOREIGN, "BUILTIN", *cross_target.ALONE), "/p/a.c", "a.c"),
    ("a.c", (FOREIGN, "-nostdinc"), ("-xc", FOREIGN, "-nostdinc"), "/p/a.c", "a.c"),
    *(("a.unknown", ("-x", language), ("-xc", "BUILTIN"), "/p/a.unknown", "a.unknown") for language in c_units.LANGUAGES),
]  # fmt: skip


@pytest.mark.parametrize(("path", "words", "flags", "main", "name"), UNITS, ids=[f"{row[0]} {' '.join(row[1])}" for row in UNITS])
def test_units(path, words, flags, main, name, monkeypatch):
    monkeypatch.setattr(cross_target.files, "is_folder", lambda _: False)
    monkeypatch.setattr(builtin_headers, "gcc_flags", lambda *_: ())
    for builtin in (("-resource-dir", "/clang"), None):
        monkeypatch.setattr(builtin_headers, "flags", lambda builtin=builtin: builtin)
        unit = c_units.unit(path, words, "/p", ("/p",), builtin is None)
        at = flags.index("BUILTIN") if "BUILTIN" in flags else len(flags)
        assert unit.flags == (*flags[:at], *(builtin or () if at < len(flags) else ()), *flags[at + 1 :])
        assert (unit.main, unit.origin, unit.directory, unit.roots, unit.with_marks, unit.has_given_flags) == (main, name, "/p", ("/p",), builtin is None, True)


NOTES = [
    # flags, whether there are builtin headers; the notes
    ((), True, ()), ((), False, (c_units.NO_BUILTIN,)), (("-nostdinc",), False, ()), (("-nostdinc",), True, ()), ((FOREIGN,), True, (cross_target.NOTE,)),
    ((FOREIGN,), False, (c_units.NO_BUILTIN, cross_target.NOTE)), ((FOREIGN, "-nostdinc"), False, ()), ((FOREIGN, "--sysroot=/x"), True, ()), (("--target=arm-none-eabi",), True, ()),
]  # fmt: skip


@pytest.mark.parametrize(("words", "has_builtin", "notes"), NOTES, ids=range(len(NOTES)))
def test_notes(words, has_builtin, notes, monkeypatch):
    monkeypatch.setattr(cross_target.files, "is_folder", lambda _: False)
    monkeypatch.setattr(builtin_headers, "flags", lambda: ("-resource-dir", "/clang") if has_builtin else None)
    assert c_units.notes(words) == notes


@pytest.mark.parametrize(("options", "words"), [
    ({}, ()), ({"flags": ("-w",)}, ("-w",)), ({"target": "aarch64"}, ("--target=aarch64-linux-gnu",)), ({"config": ("SMP", "!DEBUG", "X")}, ("-DCONFIG_SMP=1", "-DCONFIG_X=1")),
    ({"target": "i386", "config": ("A",), "flags": ("-Dx",)}, ("--target=i386-linux-gnu", "-DCONFIG_A=1", "-Dx")),
])  # fmt: skip
def test_flags_of_the_command_line(options, words):
    assert c_units.command_line_flags(ReadOptions(**options)) == words
