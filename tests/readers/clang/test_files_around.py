"""What is found in the files around an input: what a name is, sources that include a header, and a compiler's own headers."""

from __future__ import annotations

import os

import pytest

from layoutlint.readers.clang import builtin_headers, declared_things, given_files, libclang
from layoutlint.readers.clang.declared_things import what_is_around
from layoutlint.readers.clang.given_files import Includers
from tests.harness.repository import write

NAMES = {
    "src/a.h": "struct ring { long head; };\nint counter;\nvoid user(void) { mentioned(); }\n",
    "src/b.h": "#define LIMIT 3\nstruct other { int field, both; };\n", "src/c.c": "typedef unsigned long word_t;\n", "src/deep/d.h": "enum color { RED };\nint both;\n",
    "top.h": "typedef int outer_t;\n", "src/.hidden/x.h": "int hidden;\n", "src/notes.txt": "int noted;\n", "src/e.c": "int far_variable;\nint x = RED;\n",
}  # fmt: skip
THINGS = [
    # a name, what it is around src/a.h: in a repository, and in a folder alone
    ("counter", "a variable", "a variable"), ("head", "a field of ring", "a field of ring"), ("LIMIT", "a macro (b.h)", "a macro (b.h)"),
    ("word_t", "a typedef of `unsigned long` (c.c)", "a typedef of `unsigned long` (c.c)"), ("color", "an enum (deep/d.h)", "an enum (deep/d.h)"),
    ("RED", "an enumerator (deep/d.h)", "an enumerator (deep/d.h)"), ("field", "a field of other (b.h)", "a field of other (b.h)"),
    ("both", "a variable (deep/d.h)", "a variable (deep/d.h)"), ("outer_t", "a typedef of `int` (../top.h)", None), ("hidden", None, None), ("noted", None, None),
    ("mentioned", None, None), ("ring", None, None), ("gone", None, None), ("far_variable", "a variable (e.c)", "a variable (e.c)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inside", "alone"), THINGS, ids=[row[0] for row in THINGS])
def test_what_a_name_is_around_a_file(name, inside, alone, tmp_path, monkeypatch):
    write(tmp_path, NAMES)
    monkeypatch.chdir(tmp_path / "src")
    path = str(tmp_path / "src/a.h")
    assert what_is_around(path, name) == alone
    (tmp_path / ".git").mkdir()
    assert what_is_around(path, name) == inside


def test_files_that_seem_to_declare_a_name_come_first(tmp_path):
    """Those that only mention it are divided into declarations afterwards, and not all of them."""
    texts = {
        **{f"m{number:02}.h": "int x = NAME;\n" for number in range(45)}, "z1.h": "#define NAME 1\n", "z2.h": "enum NAME { A };\n", "z3.h": "typedef int NAME;\n",
        "z4.h": "struct { int a; } NAME;\n", "z5.h": "# \tdefine \tNAME\n", "n.h": "int NAMED;\n", "own.h": "int y = NAME;\n",
    }  # fmt: skip
    write(tmp_path, texts)
    files = [os.path.basename(each) for each in declared_things._likely_files(str(tmp_path / "own.h"), "NAME")]
    assert files == ["own.h", "z1.h", "z2.h", "z3.h", "z4.h", "z5.h", *(f"m{number:02}.h" for number in range(40))]


def test_the_files_of_a_folder_as_input(tmp_path):
    write(tmp_path, NAMES)
    assert what_is_around(str(tmp_path / "src"), "counter") == f"a variable ({min(os.path.relpath(tmp_path / 'src/a.h'), str(tmp_path / 'src/a.h'), key=len)})"
    assert what_is_around(str(tmp_path / "src"), "outer_t") is None


INCLUDING = {
    "lib/ring.h": "", "lib/ring.c": '#include "ring.h"\n', "lib/other.c": '#include "../lib/ring.h"\n', "lib/deep/far.c": "#include <lib/ring.h>\n",
    "app/main.c": '#include "wrap.h"\n', "app/wrap.h": '#include "lib/ring.h"\n', "app/not.c": '#include "string.h"\n#include "xring.h"\n', "app/ring.h": "",
    "app/own.c": '#include "app/ring.h"\n', "lib/round1.h": '#include "round2.h"\n', "lib/round2.h": '#include "round1.h"\n', "app/round.c": '#include "round1.h"\n',
}  # fmt: skip
SOURCES = [
    # a header, all sources by steps and nearness: for `ring.h` alone any folder can be meant
    ("lib/ring.h", ["lib/other.c", "lib/ring.c", "lib/deep/far.c", "app/main.c"]), ("app/ring.h", ["app/own.c", "lib/ring.c"]), ("lib/round2.h", ["app/round.c"]),
    ("app/wrap.h", ["app/main.c"]), ("app/none.h", []),
]  # fmt: skip


@pytest.mark.parametrize(("header", "sources"), SOURCES, ids=[row[0] for row in SOURCES])
def test_sources_that_include_a_header(header, sources, tmp_path, monkeypatch):
    write(tmp_path, INCLUDING)
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(given_files, "_MOST_SOURCES", 9)
    includers = Includers()
    includers._search(str(tmp_path))
    assert [os.path.relpath(each, tmp_path) for each in includers._reached_sources(str(tmp_path / header))] == sources
    monkeypatch.setattr(given_files, "_MOST_SOURCES", 2)
    near = [each for each in sources if os.path.dirname(each).startswith(header[:3])] or sources
    assert [os.path.relpath(each, tmp_path) for each in Includers().sources(str(tmp_path / header))] == near[:2]


def test_the_nearest_folder_with_a_source_is_searched(tmp_path, monkeypatch):
    write(tmp_path, INCLUDING)
    (tmp_path / ".git").mkdir()
    includers, read = Includers(), []
    content = given_files.text_search.content
    monkeypatch.setattr(given_files.text_search, "content", lambda path: read.append(os.path.relpath(path, tmp_path)) or content(path))
    found = [os.path.relpath(each, tmp_path) for each in includers.sources(str(tmp_path / "lib/ring.h"))]
    assert (found, {os.path.dirname(path) for path in read}) == (["lib/other.c", "lib/ring.c", "lib/deep/far.c"], {"lib", "lib/deep"})
    includers.sources(str(tmp_path / "app/wrap.h"))
    includers.sources(str(tmp_path / "lib/none.h"))
    assert sorted(read) == sorted(INCLUDING)  # each once


@pytest.mark.parametrize(("most", "count"), [(3, 3), (4, 4), (100, 12)])
def test_the_search_for_sources_ends(most, count, tmp_path, monkeypatch):
    write(tmp_path, INCLUDING)
    monkeypatch.setattr(given_files, "_MOST_FILES", most)
    read = []
    monkeypatch.setattr(given_files.text_search, "content", lambda path: read.append(path) or b"")
    Includers()._search(str(tmp_path))
    assert len(read) == count


PLACES = [
    # folders with stddef.h, the version of libclang; the option and its folder
    ((), 18, None),
    (("llvm-14/lib/clang/14/include", "llvm-16/lib/clang/16/include", "llvm-19/lib/clang/19/include"), 18, ("-resource-dir", "llvm-16/lib/clang/16")),
    (("llvm-18/lib/clang/18/include", "llvm-9/lib/clang/9.0.1/include"), 18, ("-resource-dir", "llvm-18/lib/clang/18")),
    (("llvm-20/lib/clang/20/include", "llvm-19/lib/clang/19.1/include"), 18, ("-resource-dir", "llvm-19/lib/clang/19.1")),
    (("clang/17.0.6/include", "clang/17/include", "gcc/x86_64/12/include"), 18, ("-resource-dir", "clang/17.0.6")),
    (("llvm-20/lib/clang/20/include", "clang/17/include"), 18, ("-resource-dir", "llvm-20/lib/clang/20")),
    (("gcc/x86_64/9/include", "gcc/x86_64/12/include", "gcc/arm/10/include"), 8, ("-idirafter", "gcc/x86_64/12/include")),
]  # fmt: skip


@pytest.mark.parametrize(("folders", "version", "expected"), PLACES, ids=range(len(PLACES)))
def test_headers_of_the_compiler(folders, version, expected, tmp_path, monkeypatch):
    write(tmp_path, {f"{folder}/stddef.h": "" for folder in folders} | {"llvm-17/lib/clang/17/include/other.h": ""})
    patterns = (("llvm-*/lib/clang/*/include", True), ("clang/*/include", True), ("gcc/*/*/include", False))
    monkeypatch.setattr(builtin_headers, "_PLACES", [(str(tmp_path / pattern), is_clang) for pattern, is_clang in patterns])
    monkeypatch.setattr(libclang, "version", lambda _: version)
    flags = builtin_headers.flags.__wrapped__
    found = flags()
    assert (found and (found[0], os.path.relpath(found[1], tmp_path))) == expected
    monkeypatch.setattr(builtin_headers, "flags", flags)
    folder = builtin_headers.include_folder()
    assert (folder and os.path.relpath(folder, tmp_path)) == (expected and expected[1].removesuffix("/include") + "/include")
