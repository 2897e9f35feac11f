"""The entries of compilation databases as commands: words, response files, what is refused, and which commands are selected."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import InputText, ReadOptions, Unread
from layoutlint.model.structs import Source, Struct
from layoutlint.model.target import TARGETS
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import compdb, flag_search, given_files, parallel, response_files
from layoutlint.readers.clang.compdb import Command
from layoutlint.readers.clang.given_files import GivenFiles
from layoutlint.readers.clang.inclusion import Inclusion
from layoutlint.readers.clang.parallel import UnitResults
from layoutlint.readers.clang.parse import ParsedUnit, Unit
from tests.harness.outside_words import words_of
from tests.harness.repository import write

QUOTE = "'"
ENTRIES = [
    # the text of a database; its commands as (file, folder, words, compiler), or the error
    ('[{"file": "a.c", "arguments": ["cc", "-c", "a.c"]}]', [("a.c", "BASE/", ("-c", "a.c"), "cc")]),
    ('[{"file": "a.c", "directory": "sub", "command": "gcc -DX=\\"a b\\" \'c d\'"}]', [("a.c", "BASE/sub", ("-DX=a b", "c d"), "gcc")]),
    ('[{"file": "a.c", "directory": "/abs", "arguments": ["x"], "command": "y z"}]', [("a.c", "/abs", (), "x")]),
    ('[{"file": "a", "command": "x"}, {"file": "b", "command": "y"}]', [("a", "BASE/", (), "x"), ("b", "BASE/", (), "y")]),
    ("[]", "names no files"), ("", "the file is empty: the build system has not written it yet"), (" \n", "the file is empty: the build system has not written it yet"),
    ("{}", "is not a compilation database: it holds no list"), ("[3]", "entry 1 names no `file`"), ('[{"file": "a", "command": "x"}, {}]', "entry 2 names no `file`"),
    ('[{"file": 3}]', "entry 1 names no `file`"), ('[{"file": "a", "directory": 3, "command": "x"}]', "entry 1: `directory` is not a string"),
    ('[{"file": "a"}]', "entry 1 (a) has neither `arguments` nor a `command`"), ('[{"file": "a", "arguments": []}]', "entry 1 (a) has neither `arguments` nor a `command`"),
    ('[{"file": "a", "arguments": "x"}]', "entry 1 (a) has neither `arguments` nor a `command`"), ('[{"file": "a", "arguments": ["x", 3]}]', "entry 1 (a) has neither `arguments` nor a `command`"),
    ('[{"file": "a", "command": ""}]', "entry 1 (a) has neither `arguments` nor a `command`"), ('[{"file": "a", "command": 3}]', "entry 1 (a) has neither `arguments` nor a `command`"),
    ('[{"file": "a", "command": "x"}, {"file": "b", "command": "\'"}]', f"entry 2: the command cannot be split: {words_of(shlex.split, QUOTE)}"),
    ("[" * 100_000, "is not a compilation database: *"), ("[1,]", f"is not a compilation database: {words_of(json.loads, '[1,]')}"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ENTRIES, ids=range(len(ENTRIES)))
def test_entries(text, expected, tmp_path):
    path = tmp_path / "compile_commands.json"
    path.write_text(text)
    if isinstance(expected, str):
        with pytest.raises(ReadError) as raised:
            compdb.load(str(path))
        assert raised.value.path == str(path)
        # How deep it is when Python gives up, and its words, depend on the stack.
        assert raised.value.reason == expected or (expected.endswith("*") and raised.value.reason.startswith(expected[:-1]))
    else:
        assert compdb.load(str(path)) == tuple(Command(file, folder.replace("BASE", str(tmp_path)), words, compiler) for file, folder, words, compiler in expected)


def test_relative_folders_start_where_a_database_was_written(tmp_path):
    write(tmp_path, {"build/compile_commands.json": '[{"file": "a.c", "command": "cc"}]'})
    (tmp_path / "link.json").symlink_to("build/compile_commands.json")
    assert compdb.load(str(tmp_path / "link.json"))[0].directory == f"{tmp_path}/build/"


@pytest.mark.parametrize(("name", "text", "what", "count"), [
    ("_MOST_OBJECTS", "[{}, {}, []]", "objects and lists", 4), ("_MOST_VALUES", "[1, 2, 3]", "values", 2),
])  # fmt: skip
def test_databases_of_many_small_values(name, text, what, count, tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text(text)
    monkeypatch.setattr(compdb, name, count)
    with pytest.raises(ReadError, match="entry 1 names no"):
        compdb.load_entries(str(path))
    monkeypatch.setattr(compdb, name, count - 1)
    with pytest.raises(ReadError, match=f"may hold {count} {what}, more than the {count - 1} that are read"):
        compdb.load_entries(str(path))


COMPILERS = [
    ("cl.exe", (), True), ("CL.EXE", (), True), ("C:\\VC\\bin\\cl.exe", (), True), ("/opt/clang-cl-18", (), True), ("icl", (), True), ("icx-cl", (), True), ("clang-cl.exe", (), True),
    ("ccache", ("cl.exe", "/c"), True), ("ccache", ("gcc", "cl.exe"), False), ("clang", ("-c", "--driver-mode=cl"), True), ("gcc", (), False), ("cc", ("-Ix",), False), ("clang", (), False),
    ("cl-x", (), False), ("xcl", (), False),
]  # fmt: skip


@pytest.mark.parametrize(("compiler", "words", "is_refused"), COMPILERS, ids=range(len(COMPILERS)))
def test_compilers_of_microsoft(compiler, words, is_refused):
    command = compdb.command_of("db", "/p", 1, {"file": "a.c", "arguments": [compiler, *words]})
    reason = f"is compiled by {command.compiler}, whose flags (/D, /I) are not read"
    assert compdb._expand_commands((command,)) == (((), [Unread("a.c", reason)]) if is_refused else ((command,), []))
    if is_refused:
        with pytest.raises(ReadError, match=re.escape(f"a.c: {reason}")):
            compdb.expand(command)
    else:
        assert compdb.expand(command) == command


SPLIT = [
    ("", []), (" \n", []), ("a b\n\tc", ["a", "b", "c"]), ("'a b' \"c d\"", ["a b", "c d"]), ("a'b c'd", ["ab cd"]), ("a\\ b", ["a b"]), ("''", [""]), ('"" x', ["", "x"]),
    ("\"a\\\"b\" 'a\\'b'", ['a"b', "a'b"]), ("\\\\", ["\\"]), ("\\\n", ["\n"]), ("'a", ["'a"]), ("-DX=\"y\"", ["-DX=y"]), ("'\"' \"'\"", ['"', "'"]), ("a\\", ["a\\"]), ("'a\\\\b'", ["a\\b"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), SPLIT, ids=range(len(SPLIT)))
def test_words_of_response_files(text, words):
    """As buildargv() of libiberty splits them."""
    assert response_files.split(text) == words


RESPONSES = {"a.rsp": "-DA @b.rsp", "b.rsp": "-DB @sub/c.rsp", "sub/c.rsp": "-DC", "self.rsp": "@self.rsp", "round1.rsp": "@round2.rsp", "round2.rsp": "@sub/../round1.rsp", "twice.rsp": "@sub/c.rsp @sub/c.rsp"}
EXPANSIONS = [
    ("-w", "-w"), ("@a.rsp -w", "-DA -DB -DC -w"), ("-w @gone.rsp", "-w @gone.rsp"), ("@twice.rsp", "-DC -DC"), ("@DIR/b.rsp", "-DB -DC"), ("@sub/c.rsp @sub/c.rsp", "-DC -DC"),
    ("@self.rsp", "! DIR/self.rsp: is a response file that includes itself"), ("@round1.rsp", "! DIR/sub/../round1.rsp: is a response file that includes itself"),
    ("@sub", "! DIR/sub: is a directory, and is named as a response file"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "expected"), EXPANSIONS, ids=[row[0] for row in EXPANSIONS])
def test_response_files(words, expected, tmp_path):
    write(tmp_path, RESPONSES)
    try:
        found = " ".join(response_files.expand(words.replace("DIR", str(tmp_path)).split(), str(tmp_path)))
    except ReadError as error:
        found = f"! {error}".replace(str(tmp_path), "DIR")
    assert found.lower() == expected.lower()


def test_limits_of_response_files(tmp_path, monkeypatch):
    write(tmp_path, {f"{number}.rsp": f"@{number + 1}.rsp" for number in range(20)} | {"20.rsp": "-DEND"} | {"ten.rsp": "-DLONG_ONE"})
    for deepest, name, is_read in ((4, "17.rsp", True), (3, "17.rsp", False), (4, "16.rsp", False)):
        monkeypatch.setattr(response_files, "_DEEPEST", deepest)
        if is_read:
            assert response_files.expand((f"@{name}",), str(tmp_path)) == ("-DEND",)
        else:
            with pytest.raises(ReadError, match=f"is a response file inside {deepest} others, which is the most that are read"):
                response_files.expand((f"@{name}",), str(tmp_path))
    expansion = response_files.Expansion()
    monkeypatch.setattr(response_files, "_MOST_OF_ALL", 29)
    monkeypatch.setattr(response_files, "_MOST_BYTES", 20)
    assert expansion.expand(("@ten.rsp", "@ten.rsp"), str(tmp_path)) == ("-DLONG_ONE", "-DLONG_ONE")
    assert expansion.expand(("-w",), str(tmp_path)) == ("-w",)
    with pytest.raises(ReadError, match="makes response files of more than 29 bytes, which are not read"):
        expansion.expand(("@ten.rsp",), str(tmp_path))
    with pytest.raises(ReadError, match="makes response files of more than 20 bytes, which are not read"):
        response_files.expand(("@ten.rsp",) * 3, str(tmp_path))


SOURCES = {"a.c": '#include "a.h"\n', "a.h": "struct ring { int a; };\n", "b.c": "struct ring_t;\n", "c.c": "int hot; /* layoutlint: owner=x */\n", "d.c": "typedef struct { int b; } ring_t;\n"}
SELECTED = [
    (Wanted(frozenset(("ring",))), "a.c"), (Wanted(frozenset(("ring_t",))), "d.c"), (Wanted(patterns=("ring*",)), "a.c d.c"), (Wanted(annotated=True), "c.c"), (Wanted(), ""),
    (Wanted(everything=True), "a.c b.c c.c d.c gone.c"), (Wanted(arrays=lambda _: True), "a.c b.c c.c d.c gone.c"), (Wanted(frozenset(("ring",)), annotated=True), "a.c c.c"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "expected"), SELECTED, ids=range(len(SELECTED)))
def test_commands_that_can_define_structs(wanted, expected, tmp_path):
    write(tmp_path, SOURCES)
    commands = tuple(Command(name, str(tmp_path), ()) for name in ("a.c", "b.c", "c.c", "d.c", "gone.c"))
    assert " ".join(each.file for each in compdb._select_commands(commands, wanted)) == expected


def test_a_long_search_selects_all_that_follow(tmp_path, monkeypatch):
    write(tmp_path, SOURCES)
    commands = tuple(Command(name, str(tmp_path), ()) for name in ("d.c", "a.c", "b.c", "c.c"))
    monkeypatch.setattr(compdb, "_MOST_TRIED", 0)
    assert [each.file for each in compdb._select_commands(commands, Wanted(frozenset(("none",))))] == ["a.c", "b.c", "c.c"]


MISSING = [(("a.c",), None), (("x.c",), "1 source that it names is not there: x.c"), (("x.c", "a.c", "y.c", "x.c"), "2 sources that it names are not there: x.c, y.c")]


@pytest.mark.parametrize(("names", "reason"), MISSING, ids=range(len(MISSING)))
def test_sources_that_are_gone(names, reason, tmp_path):
    write(tmp_path, SOURCES)
    commands = tuple(Command(name, str(tmp_path), ()) for name in names)
    assert [each.reason.replace(str(tmp_path), "DIR") for each in compdb._missing_sources(commands)] == ([reason] if reason else [])


# -- headers with errors, which are read through sources


def unit_result(unit: Unit, errors=(), problems=(), warnings=()) -> ParsedUnit:
    structs = tuple(Struct(f"s{number}", "struct", 8, 1, (), TARGETS[0], Source("x.h", 1), problem=problem) for number, problem in enumerate(problems))
    return ParsedUnit(unit, TARGETS[0], structs, (*errors, *warnings), (), warnings=frozenset(warnings))


HEADERS = {"src/a.h": "", "src/one.c": '#include "a.h"\n', "src/two.c": '#include "./a.h"\n', "src/b.h": "", "src/c.c": '#include "b.h"\n', "src/alone.h": ""}
MENDED = [
    # files that are read, errors by the name of a unit (with the header it is read for); units that are read through, what is noted
    ("src/a.h", {}, [], {}),
    ("src/a.h", {"src/a.h": ("e", "f")}, [["src/one.c"]], {"src/a.h": ("src/one.c", "e")}),
    ("src/a.h", {"src/a.h": ("e", "f"), "src/one.c": ("g",)}, [["src/one.c"], ["src/two.c"]], {"src/a.h": ("src/two.c", "e")}),
    ("src/a.h", {"src/a.h": ("e", "f"), "src/one.c": ("g",), "src/two.c": ("h",)}, [["src/one.c"], ["src/two.c"]], {"src/a.h": ("src/one.c", "e")}),
    ("src/a.h", {"src/a.h": ("e",), "src/one.c": ("g",), "src/two.c": ("h",)}, [["src/one.c"], ["src/two.c"]], {}),
    ("src/alone.h", {"src/alone.h": ("e",)}, [], {}),
    ("src/one.c", {"src/one.c": ("e",)}, [], {}),
    ("src/a.h src/b.h", {"src/a.h": ("e",), "src/b.h": ("f",), "src/one.c": ("g",)}, [["src/one.c", "src/c.c"], ["src/two.c"]], {"src/b.h": ("src/c.c", "f"), "src/a.h": ("src/two.c", "e")}),
]  # fmt: skip


@pytest.mark.parametrize(("paths", "errors", "through", "noted"), MENDED, ids=range(len(MENDED)))
def test_headers_with_errors_are_read_through_sources(paths, errors, through, noted, tmp_path, monkeypatch):
    write(tmp_path, HEADERS)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    runs = []

    def run(units, wanted, options):
        runs.append([unit.origin for unit in units])
        return UnitResults(tuple(unit_result(unit, errors.get(unit.origin, ())) for unit in units), ())

    monkeypatch.setattr(parallel, "run", run)
    files_read = GivenFiles(Wanted(), ReadOptions(), None)
    outcome = files_read.read(paths.split())
    assert [each for each in runs[1:] if each] == through
    assert files_read.through == noted
    assert [each.unit.origin for each in outcome.parsed] == [noted.get(path, (path,))[0] for path in paths.split()]
    for each in outcome.parsed:
        if each.unit.origin.endswith(".c") and noted:
            assert each.unit.only == {each.unit.subject}
            assert each.unit.subject in {str(tmp_path / path) for path in paths.split()}


def test_which_of_two_results_has_more_errors():
    unit = Unit("/t.h", (), "/", ("/",), "t.h")
    counts = [given_files._count_errors(unit_result(unit, *row)) for row in ((), (("e",),), (("e", "f"), ("p", None)), ((), ("p", "q")), (("e",), (), ("w",)))]
    assert counts == [0, 1, 3, 2, 1]
    firsts = [given_files._first_error(unit_result(unit, *row)) for row in ((("e", "f"), ("p",)), ((), (None, "p")), ((), ("p",), ("w",)))]
    assert firsts == ["e", "p", "p"]


def test_files_with_the_flags_of_databases(tmp_path, monkeypatch):
    """The flags of the command line come after those of the database, from the working folder; headers of units that are read are left out."""
    entries = [{"directory": "sub", "file": "../src/one.c", "arguments": ["cc", "-Iinc", "-DX"]}]
    write(tmp_path, {**HEADERS, "compile_commands.json": json.dumps(entries), "sub/x": ""})
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    options = ReadOptions(flags=("-Imore", "-DY"))
    files_read = GivenFiles(Wanted(), options, flag_search.search("src/one.c", options))
    assert files_read.leave_out_read(["src/a.h", "src/b.h", "src/one.c", "src/c.c"]) == ["src/b.h", "src/one.c", "src/c.c"]
    assert GivenFiles(Wanted(), options, None).leave_out_read(["src/a.h", "src/one.c"]) == ["src/a.h", "src/one.c"]
    own, header, other = (files_read.unit(path) for path in ("src/one.c", "src/a.h", "src/b.h"))
    shown = [" ".join(unit.flags) for unit in (own, header, other)]
    assert shown[0] == shown[1]
    assert f" -I inc -D X -I {tmp_path}/more -D Y" in shown[0]
    assert " -I more -D Y" in shown[2]
    assert "inc -D X" not in shown[2]
    assert [unit.directory for unit in (own, header, other)] == [f"{tmp_path}/sub", f"{tmp_path}/sub", str(tmp_path)]
    assert (list(files_read.matches), files_read.is_configured) == (["src/one.c", "src/a.h", "src/b.h"], False)
    assert [unit.origin for unit in files_read._candidates(header)] == ["src/one.c"]
    del files_read.matches["src/b.h"]
    assert files_read.is_configured


def test_an_unsaved_text(tmp_path, monkeypatch):
    from layoutlint.readers.clang import text_inputs

    monkeypatch.chdir(tmp_path)
    units = []
    monkeypatch.setattr(parallel, "run", lambda some, wanted, options: units.extend(some) or UnitResults(tuple(unit_result(unit) for unit in some), ()))
    reading = text_inputs.read_unsaved(InputText("sub/x.h", "int a;"), Wanted(), ReadOptions(flags=("-DX",)))
    (unit,) = units
    assert (unit.main, unit.text, unit.origin, unit.reported_main, reading.path) == (f"{tmp_path}/sub/x.h", "int a;", "sub/x.h", "sub/x.h", "sub/x.h")


# -- what files include, in a repository


INCLUDING = {
    "a.c": '#include "a.h"\n#include <sys.h>\n', "a.h": '#include "b.h"\n', "b.h": '#include "a.h"\n', "inc/sys.h": "", "other/sys.h": "", "m.c": '#define NAME "made.h"\n#include NAME\n', "made.h": "",
    "u.c": "#include UNKNOWN\n", "table.inc": "", "x.py": "", "deep/a.c": '#include "b.h"\n#include "x/y.h"\n', "far/x/y.h": "", "forced.h": '#include "made.h"\n', "gone.c": "",
}  # fmt: skip
CLOSURES = [
    # a file, include folders, forced headers; all files that it seems to include
    ("a.c", (), (), "a.c a.h b.h inc/sys.h other/sys.h"), ("a.c", ("inc",), (), "a.c a.h b.h inc/sys.h"), ("a.c", ("other", "inc"), (), "a.c a.h b.h other/sys.h"), ("b.h", (), (), "a.h b.h"),
    ("m.c", (), (), "m.c made.h"), ("deep/a.c", (), (), "a.h b.h deep/a.c far/x/y.h"), ("gone.c", (), ("forced.h",), "forced.h gone.c made.h"), ("unknown.c", (), (), "unknown.c"),
    ("u.c", (), (), "a.h b.h far/x/y.h forced.h inc/sys.h made.h other/sys.h table.inc u.c"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "folders", "forced", "expected"), CLOSURES, ids=range(len(CLOSURES)))
def test_what_files_include(file, folders, forced, expected, tmp_path):
    write(tmp_path, INCLUDING)
    top = f"{tmp_path}/"
    inclusion = Inclusion(frozenset(top + name for name in INCLUDING), tuple(top + name for name in folders), tuple(top + name for name in forced))
    for _ in range(2):
        assert " ".join(sorted(each.removeprefix(top) for each in inclusion.closure(top + file))) == expected
    for other in INCLUDING:
        inclusion.closure(top + other)
    assert " ".join(sorted(each.removeprefix(top) for each in inclusion.closure(top + file))) == expected


def test_files_that_are_not_of_the_repository(tmp_path):
    write(tmp_path, INCLUDING)
    top = f"{tmp_path}/"
    known = frozenset((f"{top}a.c", f"{top}u.c", f"{top}link.h"))
    (tmp_path / "link.h").symlink_to("a.h")
    for searches_disk, expected in ((False, {"a.c"}), (True, {"a.c", "a.h", "b.h", "inc/sys.h"})):
        inclusion = Inclusion(known, (f"{top}inc",), (), searches_disk)
        assert {each.removeprefix(top) for each in inclusion.closure(f"{top}a.c")} == expected
        assert {each.removeprefix(top) for each in inclusion.closure(f"{top}link.h")} == {"link.h", "a.h", *(("b.h",) if searches_disk else ())}
        assert {each.removeprefix(top) for each in inclusion.closure(f"{top}u.c")} == {"u.c", *(() if searches_disk else ("link.h", "a.h"))}
