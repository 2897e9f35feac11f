"""The compilation databases around a file, and the command whose flags it gets: its own, or that of a unit that includes it."""

from __future__ import annotations

import json
import os

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions, TreeCopy
from layoutlint.readers.clang import flag_search
from layoutlint.readers.clang.compdb import Command
from layoutlint.readers.clang.flag_search import Database, Match, _Nearness
from layoutlint.readers.clang.include_graph import IncludeGraph
from tests.harness.repository import write

DATABASE = "compile_commands.json"


def entry(file: str, *words: str, directory: str = ".") -> dict[str, object]:
    return {"directory": directory, "file": file, "arguments": ["cc", *words, "-c", file]}


def entries(*rows) -> str:
    return json.dumps(list(rows))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository, whose top is the working folder."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


AROUND = [
    # files, options, the databases around src/deep/a.h, and the folder whose flags all files have
    ([], {}, None),
    ([DATABASE], {}, ([DATABASE], None)),
    ([DATABASE], {"finds_flags": False}, None),
    ([f"build/{DATABASE}", f"src/{DATABASE}"], {}, ([f"src/{DATABASE}", f"build/{DATABASE}"], None)),
    ([f"src/deep/{DATABASE}", f"src/deep/build/{DATABASE}", DATABASE], {}, ([f"src/deep/{DATABASE}", f"src/deep/build/{DATABASE}", DATABASE], None)),
    (["compile_flags.txt"], {}, ([], "compile_flags.txt")),
    (["src/compile_flags.txt", DATABASE], {}, ([], "src/compile_flags.txt")),
    ([f"src/{DATABASE}", "compile_flags.txt"], {}, ([f"src/{DATABASE}"], "compile_flags.txt")),
    ([DATABASE, "compile_flags.txt"], {}, ([DATABASE], "compile_flags.txt")),
    ([f"src/{DATABASE}", f"other/{DATABASE}"], {"compile_commands": f"other/{DATABASE}"}, ([f"other/{DATABASE}"], None)),
    (["src/compile_flags.txt", "other/compile_flags.txt"], {"compile_commands": "other/compile_flags.txt"}, (["other/compile_flags.txt"], None)),
    ([f"other/{DATABASE}"], {}, None),
]  # fmt: skip


@pytest.mark.parametrize(("files", "options", "expected"), AROUND, ids=range(len(AROUND)))
def test_databases_around_a_file(files, options, expected, project):
    write(project, {"src/deep/a.h": "", **dict.fromkeys(files, "[]")})
    found = flag_search.search(str(project / "src/deep/a.h"), ReadOptions(**options))
    assert (found and ([each.path for each in found.databases], found.flags_file and found.flags_file.path)) == expected


def test_databases_around_the_file_that_a_link_names(project):
    write(project, {"src/a.h": "", f"src/{DATABASE}": "[]"})
    (project / "link.h").symlink_to("src/a.h")
    assert [each.path for each in flag_search.search("link.h", ReadOptions()).databases] == [f"src/{DATABASE}"]
    (project / DATABASE).write_text("[]")
    assert [each.path for each in flag_search.search("link.h", ReadOptions()).databases] == [DATABASE]


def test_databases_of_a_copy(project, monkeypatch):
    """Those of the copy come first, then those around the file in the working tree."""
    write(project, {"src/a.h": "", f"src/{DATABASE}": "[]", DATABASE: "[]", "copy/src/a.h": "", f"copy/{DATABASE}": "[]", "copy/.git/x": ""})
    copy = TreeCopy(str(project), str(project / "copy"), str(project / "src"))
    monkeypatch.chdir(project / "copy")
    options = ReadOptions(copy=copy)
    found = flag_search.search(str(project / "copy/src/a.h"), options)
    assert [os.path.relpath(each.path, project) for each in found.databases] == [f"copy/{DATABASE}", f"src/{DATABASE}", DATABASE]
    named = flag_search.search("src/a.h", ReadOptions(copy=copy, compile_commands=DATABASE))
    assert [os.path.relpath(each.path, project) for each in named.databases] == [f"src/{DATABASE}"]
    assert [each and os.path.relpath(each, project) for each in (flag_search.database_in(str(project / "copy"), options), flag_search.database_in(str(project / "copy/src"), options))] == [
        f"copy/{DATABASE}", f"src/{DATABASE}",
    ]  # fmt: skip
    assert flag_search.database_in(str(project / "copy/src"), ReadOptions()) is None
    assert flag_search.database_in(str(project / "copy/src"), ReadOptions(copy=copy, compile_commands=DATABASE)) is None
    assert flag_search.database_in(str(project / "copy/src"), ReadOptions(copy=copy, finds_flags=False)) is None
    (database,) = [each for each in found.databases if each.path == f"../src/{DATABASE}" or each.path.endswith(f"/src/{DATABASE}")]
    assert (database._report_name, replace_copy(database)._report_name) == (DATABASE, "")


def replace_copy(database: Database) -> Database:
    return Database(database.path, database.base)


PROJECT = {
    "src/a.c": '#include "a.h"\n', "src/b.c": '#include "shared.h"\n#include "a.h"\n', "src/a.h": "", "src/shared.h": '#include "sub/deep.h"\n', "src/sub/deep.h": "",
    "src/sub/deep.c": "", "lib/a.c": '#include <a.h>\n', "lib/only.h": "", "lib/c.cc": '#include "only.h"\n', "lib/d.S": '#include "only.h"\n', "lib/late.h": "",
    "lib/z.c": '#include "late.h"\n#include "shared.h"\n', "lib/first.h": "", "src/same.c": "", "src/rsp.c": '#include "after.h"\n', "src/after.h": "",
    DATABASE: entries(
        entry("src/a.c", "-DONE"), entry("src/b.c", "-DTWO"), entry("a.c", "-I../src", "-DTHREE", directory="lib"), entry("src/a.c", "-DAGAIN"),
        entry("lib/c.cc"), entry("lib/d.S"), entry("lib/z.c", "-Isrc", "-DFOUR", "-include", "lib/first.h"), entry("src/gone.c"), entry("src/same.c"),
        entry("src/rsp.c", "@gone.rsp"),
    ),
}  # fmt: skip
MATCHES = [
    # a file; the number of its entry, whether it is its own, the number of entries for the file, the note
    ("src/a.c", (0, True, 2, f"flags from {DATABASE} (the first of 2 entries)")),
    ("src/b.c", (1, True, 1, f"flags from {DATABASE}")),
    ("lib/a.c", (2, True, 1, f"flags from {DATABASE}")),
    ("src/../src/b.c", (1, True, 1, f"flags from {DATABASE}")),
    ("src/a.h", (0, False, 2, f"flags from {DATABASE}, those of src/a.c, which includes it (the first of 2 entries)")),
    ("src/shared.h", (1, False, 1, f"flags from {DATABASE}, those of src/b.c, which includes it")),
    ("src/sub/deep.h", (1, False, 1, f"flags from {DATABASE}, those of src/b.c, which includes it")),
    ("lib/late.h", (6, False, 1, f"flags from {DATABASE}, those of lib/z.c, which includes it")),
    ("lib/first.h", (6, False, 1, f"flags from {DATABASE}, those of lib/z.c, which includes it")),
    ("src/after.h", (9, False, 1, f"flags from {DATABASE}, those of src/rsp.c, which includes it")),
    ("lib/only.h", None), ("src/sub/deep.c", None), ("gone.h", None),
]  # fmt: skip


@pytest.mark.parametrize("is_all_read", [False, True])
def test_the_command_of_a_file(is_all_read, project):
    """The same whether the units were read before or not."""
    write(project, PROJECT)
    search = flag_search.search("src/a.c", ReadOptions())
    if is_all_read:
        assert search.match("gone.h") is None
        assert len(search.databases[0]._reads) == 10
    for path, expected in MATCHES:
        match = search.match(path)
        assert (match and (match.number, match.is_own, match.entries, match.note)) == expected, path
        assert match is None or (match.database, match.is_of_folder, match.report_name) == (DATABASE, False, "")
    assert search.match("lib/late.h").command == Command("lib/z.c", f"{project}/.", ("-Isrc", "-DFOUR", "-include", "lib/first.h", "-c", "lib/z.c"), "cc")
    assert search.match("src/a.h").source == str(project / "src/a.c")
    own, other = search.match("src/a.c"), search.match("src/b.c")
    assert [search.is_read_by(some, "src/shared.h") for some in ((own,), (own, other), ())] == [False, True, False]
    assert not search.is_read_by((Match("elsewhere", other.command, True, 1),), "src/shared.h")
    cause = " (the response file gone.rsp is not there)"
    assert search.missing_note() == f"{DATABASE}: no entry for it, and no unit that is seen to include it{cause}; read without their flags"


def test_units_are_searched_up_to_limits(project, monkeypatch):
    write(project, PROJECT)
    for name, value, found in (("_MOST_ENTRIES", 6, None), ("_MOST_ENTRIES", 7, 6), ("_MOST_VISITED", 100, 6), ("_MOST_VISITED", -1, None)):
        with monkeypatch.context() as patch:
            patch.setattr(flag_search, name, value)
            match = Database(DATABASE, "").find_includer("lib/late.h")
            assert (match and match.number) == found, (name, value)


def test_the_flags_of_all_files_of_a_folder(project):
    write(project, {**PROJECT, "compile_flags.txt": "-DALL\n"})
    search = flag_search.search("src/a.c", ReadOptions())
    assert [search.match(path).command.words[:1] for path in ("src/b.c", "src/shared.h", "lib/only.h")] == [("-DTWO",), ("-DTWO",), ("-DALL",)]
    match = search.match("lib/only.h")
    assert (match.database, match.is_of_folder, match.is_own, match.number, match.entries) == ("compile_flags.txt", True, True, 0, 1)
    assert match.note == "flags from compile_flags.txt"


def test_files_that_no_database_knows(project):
    write(project, {**PROJECT, DATABASE: entries(entry("src/a.c", "-DX")), f"src/{DATABASE}": entries(entry("b.c"))})
    search = flag_search.search("src/a.c", ReadOptions())
    assert search.match("lib/only.h") is None
    assert search.missing_note() == f"src/{DATABASE} and {DATABASE}: no entry for it, and no unit that is seen to include it; read without their flags"


ERRORS = [
    # the database, a file, the error
    ("{}", "src/a.c", f"{DATABASE}: "), ("[3]", "src/a.c", f"{DATABASE}: "), ("[", "src/a.c", f"{DATABASE}: "),
    (entries({"directory": ".", "file": "src/a.c", "command": "cc 'x"}), "src/a.c", f"{DATABASE}: "),
]  # fmt: skip


@pytest.mark.parametrize(("text", "path", "error"), ERRORS, ids=range(len(ERRORS)))
def test_databases_with_mistakes(text, path, error, project):
    write(project, {**PROJECT, DATABASE: text})
    with pytest.raises(ReadError, match=r"\(--no-compile-commands leaves it out\)$") as raised:
        flag_search.search(path, ReadOptions()).match(path)
    assert str(raised.value).startswith(error)


NEAR = [
    # a header, sources from the nearest to the farthest
    ("/p/src/net/ring.h", ["/p/lib/ring.c", "/p/src/net/other.c", "/p/src/a.c", "/p/src/net/tcp/b.c", "/p/src/fs/c.c", "/p/lib/d.c", "/q/e.c"]),
    ("/p/ring.h", ["/p/deep/er/ring.c", "/p/a.c", "/p/src/b.c", "/p/src/net/c.c"]),
]  # fmt: skip


@pytest.mark.parametrize(("header", "sources"), NEAR, ids=[row[0] for row in NEAR])
def test_the_nearest_source(header, sources):
    near = _Nearness(header)
    for numbers in (range(len(sources)), range(len(sources))[::-1]):
        by_distance = sorted(zip(sources, numbers, strict=True), key=lambda each: near.rank(*each)[:2])
        assert [source for source, _ in by_distance] == sources
    assert near.rank("/p/x.c", 3) > near.rank("/p/x.c", 2)


def test_distances():
    near = _Nearness("/p/src/ring.h")
    paths = ("/p/src/ring.c", "/p/src/a.c", "/p/a.c", "/p/src/x/a.c", "/p/lib/a.c", "/q/r/s/a.c")
    assert [near.rank(path, 7) for path in paths] == [
        (False, 0, 7), (True, 0, 7), (True, 1, 7), (True, 1, 7), (True, 2, 7), (True, 5, 7),
    ]  # fmt: skip


INCLUDES = {
    "s/a.c": '#include "b.h"\n#include <c.h>\n#include "gone.h"\n#include "../i/d.h"\n', "s/b.h": "near", "i/b.h": "far", "i/c.h": '#include "b.h"\n#include <b.h>\n',
    "i/d.h": '#include "d.h"\n', "j/c.h": "later", "f/first.h": "#include <c.h>\n",
}  # fmt: skip
READ = [
    # flags, the files that a unit reads
    ((), ["s/a.c", "s/b.h", "i/d.h"]),
    (("-Ii",), ["s/a.c", "s/b.h", "i/c.h", "i/b.h", "i/d.h"]),
    (("-Ij", "-Ii"), ["s/a.c", "s/b.h", "j/c.h", "i/d.h"]),
    (("-Ij", "-include", "f/first.h"), ["f/first.h", "j/c.h", "s/a.c", "s/b.h", "i/d.h"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "expected"), READ, ids=[" ".join(row[0]) for row in READ])
def test_the_files_that_a_unit_reads(words, expected, tmp_path):
    write(tmp_path, INCLUDES)
    graph = IncludeGraph(lambda text: b"later" in text, 100)
    found = list(graph.files("s/a.c", str(tmp_path), words))
    assert sorted(os.path.relpath(path, tmp_path) for path, _ in found) == sorted(expected)
    assert {os.path.relpath(path, tmp_path) for path, is_examined in found if is_examined} == {"j/c.h"} & set(expected)


COUNTS = [(1, True, 2), (1, True, 2), (1, True, 3), (1, True, 5), (1, True, 5), (2, True, 7), (2, True, 7), (3, True, 9)]
"""The files that are found within limits of 0 to 7 tried paths, whether the search ended early, and the paths tried: two for a quoted name."""


def test_the_search_for_includes_ends(tmp_path):
    write(tmp_path, INCLUDES)
    counts = []
    for most in range(8):
        graph = IncludeGraph(lambda text: False, most)
        counts.append((len(list(graph.files("s/a.c", str(tmp_path), ("-Ii",)))), graph.is_exhausted, graph.tried))
    assert counts == COUNTS
    graph = IncludeGraph(lambda text: False, 100)
    assert (len(list(graph.files("s/a.c", str(tmp_path), ("-Ii",)))), graph.is_exhausted) == (5, False)
    before = graph.tried
    list(graph.files("s/a.c", str(tmp_path), ("-Ii",)))
    assert graph.tried == before  # each name is searched once
