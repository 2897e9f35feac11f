"""C text by itself is read with the flags of the compile_commands.json around it, and the report says so."""

from __future__ import annotations

import json
import os
import shlex
import shutil

import pytest

from tests.harness.command import run
from tests.harness.repository import git

MY = "typedef struct { int a; long b; } my_t;\n"
Q = '#include "my.h"\nstruct q { my_t m; int c; };\n'
WIDE = "#ifndef WIDE\n#define WIDE 1\n#endif\nstruct q { char c[WIDE]; };\n"
SOURCE = '#include "q.h"\nstruct q x;\n'
PROJECT = {".git/HEAD": "", "inc/my.h": MY, "src/q.h": Q, "src/q.c": SOURCE}


def entry(file, *words, directory="..", **more):
    return {"directory": directory, "file": file, "arguments": ["cc", *words, "-c", file, "-o", "x.o"], **more}


def tree(folder, files):
    for name, content in files.items():
        at = folder / name
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def size_of_q(folder, *words):
    """The size of struct q, or None, and the notes."""
    done = run("show", "--format", "json", *words, cwd=folder)
    structs = json.loads(done.stdout)["structs"] if done.stdout else []
    lines = done.stderr.splitlines()
    return structs[0]["size"] if structs else None, [line.removeprefix("layoutlint: ").removeprefix("note: ") for line in lines]


def width(number):
    return f"-DWIDE={number}"


FROM = "flags from build/compile_commands.json"
SRC = {".git/HEAD": "", "src/q.h": WIDE, "src/q.c": SOURCE}
FOUND = [
    # what it is, files, the words after `show`, size of q, notes
    ("a source has its own entry", {"build/compile_commands.json": [entry("src/q.c", width(7))]}, ["src/q.c", "q"], 7, [FROM]),
    ("a header has those of a unit", {"build/compile_commands.json": [entry("src/q.c", width(7))]}, ["src/q.h", "q"], 7,
     [f"{FROM}, those of src/q.c, which includes it"]),
    ("beside the file", {"src/compile_commands.json": [entry("q.c", width(3), directory=".")]}, ["src/q.h", "q"], 3,
     ["flags from src/compile_commands.json, those of src/q.c, which includes it"]),
    ("the nearest of several", {
        "src/compile_commands.json": [entry("q.c", width(3), directory=".")],
        "build/compile_commands.json": [entry("src/q.c", width(7))],
        "compile_commands.json": [entry("src/q.c", width(8), directory=".")],
    }, ["src/q.c", "q"], 3, ["flags from src/compile_commands.json"]),
    ("the folder itself before its build folder", {
        "build/compile_commands.json": [entry("src/q.c", width(7))],
        "compile_commands.json": [entry("src/q.c", width(8), directory=".")],
    }, ["src/q.c", "q"], 8, ["flags from compile_commands.json"]),
    ("the next one, if the nearest does not know the file", {
        "src/compile_commands.json": [entry("other.c", width(3), directory=".")],
        "build/compile_commands.json": [entry("src/q.c", width(7))],
    }, ["src/q.h", "q"], 7, [f"{FROM}, those of src/q.c, which includes it"]),
    ("flags of the command line come later", {"build/compile_commands.json": [entry("src/q.c", width(7))]},
     ["src/q.h", "q", "--", "-UWIDE", width(9)], 9, [f"{FROM}, those of src/q.c, which includes it"]),
    ("flags of the command line are from the working folder", {
        "inc/my.h": MY, "src/q.h": Q, "build/compile_commands.json": [entry("q.c", directory="../src")],
    }, ["src/q.h", "q", "--", "-Iinc"], 24, [f"{FROM}, those of src/q.c, which includes it"]),
    ("flags of a folder", {"compile_flags.txt": f"-Wall\n\n  {width(6)}  \n"}, ["src/q.h", "q"], 6, ["flags from compile_flags.txt"]),
    ("flags of a folder are from that folder", {"inc/my.h": MY, "src/q.h": Q, "compile_flags.txt": "-I\ninc\n"}, ["src/q.h", "q"], 24,
     ["flags from compile_flags.txt"]),
    ("a database before the flags of its folder", {
        "build/compile_commands.json": [entry("src/q.c", width(7))], "compile_flags.txt": width(6),
    }, ["src/q.h", "q"], 7, [f"{FROM}, those of src/q.c, which includes it"]),
    ("flags of a folder before an outer database", {
        "build/compile_commands.json": [entry("src/q.c", width(7))], "src/compile_flags.txt": width(6),
    }, ["src/q.c", "q"], 6, ["flags from src/compile_flags.txt"]),
    ("flags of a folder for files that its database does not know", {
        "compile_commands.json": [entry("src/other.c", width(7), directory=".")], "compile_flags.txt": width(6),
    }, ["src/q.h", "q"], 6, ["flags from compile_flags.txt"]),
    ("no flags of a folder", {"compile_flags.txt": width(6)}, ["src/q.h", "q", "--no-compile-commands"], 1, []),
    ("flags that no compiler of C has", {"compile_flags.txt": "--driver-mode=cl\n"}, ["src/q.h", "q"], None,
     ["compile_flags.txt: is compiled by cc, whose flags (/D, /I) are not read (--no-compile-commands leaves it out)"]),
    ("the first of equal entries", {"build/compile_commands.json": [entry("src/q.c", width(7)), entry("src/q.c", width(9))]},
     ["src/q.c", "q"], 7, [f"{FROM} (the first of 2 entries)"]),
    ("the first of equal entries that include it", {
        "build/compile_commands.json": [entry("src/q.c", width(7)), entry("src/../src/q.c", width(9))],
    }, ["src/q.h", "q"], 7, [f"{FROM}, those of src/q.c, which includes it (the first of 2 entries)"]),
    ("a source that is gone", {"build/compile_commands.json": [entry("src/gone.c", width(5)), entry("src/q.c", width(7))]},
     ["src/q.h", "q"], 7, [f"{FROM}, those of src/q.c, which includes it"]),
    ("a folder that is gone", {
        "build/compile_commands.json": [entry("a.c", width(5), directory="gone"), entry("src/q.c", width(7))],
    }, ["src/q.h", "q"], 7, [f"{FROM}, those of src/q.c, which includes it"]),
    ("a unit of C++ is no unit of C", {
        "src/a.cc": SOURCE, "build/compile_commands.json": [entry("src/a.cc", width(5)), entry("src/q.c", width(7))],
    }, ["src/q.h", "q"], 7, [f"{FROM}, those of src/q.c, which includes it"]),
    ("a unit with -x c++ is no unit of C", {
        "src/a.c": SOURCE, "build/compile_commands.json": [entry("src/a.c", "-xc++", width(5)), entry("src/q.c", width(7))],
    }, ["src/q.h", "q"], 7, [f"{FROM}, those of src/q.c, which includes it"]),
    ("the source of the same name", {
        "src/a.c": SOURCE, "build/compile_commands.json": [entry("src/a.c", width(5)), entry("src/q.c", width(7))],
    }, ["src/q.h", "q"], 7, [f"{FROM}, those of src/q.c, which includes it"]),
    ("the source in the nearest folder", {
        "a/b.c": '#include "../src/q.h"\n', "src/z.c": SOURCE,
        "build/compile_commands.json": [entry("a/b.c", width(5)), entry("src/z.c", width(7))],
    }, ["src/q.h", "q"], 7, [f"{FROM}, those of src/z.c, which includes it"]),
    ("through other headers", {
        "inc/all.h": "#include <q.h>\n", "a.c": "#include <all.h>\n",
        "build/compile_commands.json": [entry("a.c", "-Iinc", "-Isrc", width(6))],
    }, ["src/q.h", "q"], 6, [f"{FROM}, those of a.c, which includes it"]),
    ("a command as one string", {
        "build/compile_commands.json": [{"directory": "..", "file": "src/q.c", "command": f"cc {width(4)} -c src/q.c"}],
    }, ["src/q.c", "q"], 4, [FROM]),
    ("nobody includes it", {"src/q.c": "", "build/compile_commands.json": [entry("src/q.c", width(7))]}, ["src/q.h", "q"], 1,
     ["build/compile_commands.json: no entry for it, and no unit that is seen to include it; read without their flags"]),
    ("turned off", {"build/compile_commands.json": [entry("src/q.c", width(7))]},
     ["src/q.h", "q", "--no-compile-commands"], 1, []),
    ("named", {"out/x/compile_commands.json": [entry("src/q.c", width(6), directory="../..")]},
     ["src/q.h", "q", "--compile-commands", "out/x/compile_commands.json"], 6,
     ["flags from out/x/compile_commands.json, those of src/q.c, which includes it"]),
    ("named in layoutlint.toml", {
        "out/db.json": [entry("src/q.c", width(6))], "layoutlint.toml": 'compile_commands = "out/db.json"\n',
        "compile_commands.json": [entry("src/q.c", width(8), directory=".")],
    }, ["src/q.h", "q"], 6, ["flags from out/db.json, those of src/q.c, which includes it"]),
    ("above the repository", {"src/.git/HEAD": "", "compile_commands.json": [entry("src/q.c", width(8), directory=".")]},
     ["src/q.h", "q"], 1, []),
    ("around a submodule", {
        "src/.git": "gitdir: ../.git/modules/src\n", "compile_commands.json": [entry("src/q.c", width(8), directory=".")],
    }, ["src/q.h", "q"], 8, ["flags from compile_commands.json, those of src/q.c, which includes it"]),
    ("around a work tree", {
        "src/.git": "gitdir: /somewhere/.git/worktrees/src\n",
        "compile_commands.json": [entry("src/q.c", width(8), directory=".")],
    }, ["src/q.h", "q"], 1, []),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("files", "words", "size", "notes"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND])
def test_the_flags_of_a_file(tmp_path, files, words, size, notes):
    assert size_of_q(tree(tmp_path, {**SRC, **files}), *words) == (size, notes)


@pytest.mark.parametrize(("shell", "path", "size"), [(".", "src/q.h", 8), ("src", "q.h", 1), ("other", "../src/q.h", 6), ("src/deep", "../q.h", 1)])
def test_outside_of_a_repository_only_the_folders_of_the_file_and_the_shell_are_searched(tmp_path, shell, path, size):
    database = [entry("src/q.c", width(8), directory=".")]
    files = {"src/q.h": WIDE, "src/q.c": SOURCE, "src/deep/x": "", "compile_commands.json": database, "other/compile_flags.txt": width(6)}
    assert size_of_q(tree(tmp_path, files) / shell, path, "q")[0] == size


def test_a_folder_that_users_share_is_not_searched(tmp_path):
    folder = tree(tmp_path, {"src/q.h": WIDE, "src/q.c": SOURCE, "compile_commands.json": [entry("src/q.c", width(8), directory=".")]})
    assert size_of_q(folder, "src/q.c", "q")[0] == 8
    folder.chmod(0o1777)
    assert size_of_q(folder, "src/q.c", "q") == (1, [])


def test_links(tmp_path):
    """A database that is a link starts where it lies; a file that is a link is the file it leads to."""
    folder = tree(tmp_path, {**SRC, "build/compile_commands.json": [entry("src/q.c", width(7))]})
    (folder / "src/compile_commands.json").symlink_to("../build/compile_commands.json")
    (folder / "include").mkdir()
    (folder / "include/q.h").symlink_to("../src/q.h")
    assert size_of_q(folder, "src/q.c", "q") == (7, ["flags from src/compile_commands.json"])
    assert size_of_q(folder, "include/q.h", "q") == (7, [f"{FROM}, those of src/q.c, which includes it"])
    tree(tmp_path / "other", {".git/HEAD": ""})
    (tmp_path / "other/r.h").symlink_to(folder / "src/q.h")
    assert size_of_q(tmp_path / "other", "r.h", "q")[0] == 7


REFUSED = [
    # what it is, the database, what the error says
    ("no JSON", "{", "build/compile_commands.json: is not a compilation database: *"),
    ("no list", "{}", "build/compile_commands.json: is not a compilation database: it holds no list (--no-compile-commands leaves it out)"),
    ("no file", [{"directory": "."}], "build/compile_commands.json: entry 1 names no `file` (--no-compile-commands leaves it out)"),
    ("no flags", [{"directory": "..", "file": "src/q.c"}],
     "build/compile_commands.json: entry 1 (src/q.c) has neither `arguments` nor a `command` (--no-compile-commands leaves it out)"),
    ("Microsoft's", [{"directory": "..", "file": "src/q.c", "command": "cl /DWIDE=7 /c src/q.c"}],
     "src/q.c: is compiled by cl, whose flags (/D, /I) are not read (--no-compile-commands reads it without these flags)"),
    ("a plugin", [entry("src/q.c", "-fplugin=./evil.so")],
     "the layout of struct q is unreliable: compiled with -fplugin=./evil.so, which libclang does not have and which may change layouts"),
    ("deep", "[" * 100_000, "build/compile_commands.json: is not a compilation database: *"),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("database", "error"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_cannot_be_read(tmp_path, database, error):
    done = run("show", "src/q.c", "q", cwd=tree(tmp_path, {**SRC, "build/compile_commands.json": database}))
    text_message = done.stderr.partition("\nhelp: ")[0].splitlines()[-1].removeprefix("layoutlint: ")
    assert text_message.startswith(error[:-1]) if error.endswith("*") else text_message == error
    assert done.returncode == 3


def test_a_pipe_is_no_database(tmp_path):
    folder = tree(tmp_path, {**SRC, "build/x": ""})
    os.mkfifo(folder / "build/compile_commands.json")
    assert size_of_q(folder, "src/q.c", "q") == (1, [])


USAGE = [
    (["--compile-commands", "gone.json"], "--compile-commands 'gone.json': no such file"),
    (["--compile-commands", "src/q.c", "--no-compile-commands"], "--compile-commands contradicts --no-compile-commands"),
    (["-isystem", "x"], "No such option '-i'. Compiler flags follow `--`, after all other arguments: `-- -isystem`."),
    (["-m32"], "No such option '-m'. Compiler flags follow `--`, after all other arguments: `-- -m32`."),
    (["--std=c99"], "No such option '--std'. Compiler flags follow `--`, after all other arguments: `-- --std=c99`."),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("words", "message"), USAGE)
def test_mistakes(tmp_path, words, message):
    done = run("check", *words, "src/q.h", cwd=tree(tmp_path, SRC))
    assert done.stderr.splitlines()[-1].removeprefix("Error: ") == message
    assert done.returncode == 2


def test_another_mistake_has_no_advice_on_flags(tmp_path):
    assert "Compiler flags" not in run("check", "--rulez", cwd=tmp_path).stderr


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", [["-Iinc", width(6)], ["-I", "inc", "-D", "WIDE=6"], ["--flags", shlex.join(["-Iinc", width(6)])]])
def test_flags_that_are_options(tmp_path, words):
    folder = tree(tmp_path, {".git/HEAD": "", "inc/w.h": WIDE, "q.h": '#include "w.h"\n'})
    assert size_of_q(folder, "q.h", "q", *words) == (6, [])


def test_the_sysroot_is_an_option(tmp_path):
    folder = tree(tmp_path, {".git/HEAD": "", "root/usr/include/only_here.h": WIDE, "q.h": "#include <only_here.h>\n"})
    assert size_of_q(folder, "q.h", "q", "--sysroot", "root") == (1, [])


ACCESSES = Q.replace("int c;", "int c; /* layoutlint: hot-write */ int d; /* layoutlint: hot-read */")


def test_the_report_says_so(tmp_path):
    folder = tree(tmp_path, {**PROJECT, "src/q.h": ACCESSES, "build/compile_commands.json": [entry("src/q.c", "-Iinc")]})
    done = run("check", "src/q.h", "--format", "json", cwd=folder)
    [given] = json.loads(done.stdout)["inputs"]
    assert (given["compile_commands"], given["notes"]) == (
        "build/compile_commands.json", [f"{FROM}, those of src/q.c, which includes it"]
    )  # fmt: skip
    assert done.returncode == 1
    assert f"    note: {FROM}, those of src/q.c, which includes it\n" in run("check", "src/q.h", cwd=folder).stdout
    [given] = json.loads(run("check", "src/q.h", "--no-compile-commands", "--format", "json", cwd=folder).stdout)["inputs"]
    assert (given["compile_commands"], given["notes"]) == (None, [])


RULE = """[[rule]]
id = "small"
struct = "q"
kind = "size"
max = 100
why = "a test"
"""


def report_on(folder, *words):
    return json.loads(run("check", *words, "--rules", "rules.toml", "--format", "json", cwd=folder).stdout)


@pytest.mark.parametrize(("files", "message"), [
    (["a.cc"], "names no C source that can be read"), (["a.cc", "a.c"], ""),
])  # fmt: skip
def test_a_database_beside_cplusplus(tmp_path, files, message):
    tree(tmp_path, dict.fromkeys(("a.cc", "a.c"), SOURCE) | {"q.h": "struct q { int c; };\n"})
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry(file, directory=".") for file in files]))
    done = run("show", "compile_commands.json", "q", cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (3 if message else 0, True), done.stderr


def test_a_folder(tmp_path):
    """The search is made once: sources have their own entries, headers that no source reads those of a unit."""
    files = {**PROJECT, "rules.toml": RULE, "src/q.c": "struct q;\n", "main.c": '#include "src/q.h"\n',
             "build/compile_commands.json": [entry("main.c", "-Iinc"), entry("src/q.c")]}  # fmt: skip
    folder = tree(tmp_path, files)
    report = report_on(folder, "src")
    assert [finding["outcome"] for finding in report["kept"]] == ["kept"]
    [given] = report["inputs"]
    assert given["compile_commands"] == "build/compile_commands.json"
    assert given["notes"] == ["flags from build/compile_commands.json, for the only file"]
    assert (report["coverage"]["not_covered"], report["exit"]) == ([], 0)
    report = report_on(folder, ".", "--no-compile-commands")
    assert [finding["outcome"] for finding in report["findings"]] == ["unknown"]


THROUGH = {
    ".git/HEAD": "", "inc/my.h": MY, "src/bare.h": "struct q { my_t m; int c; };\n",
    "src/q.c": '#include "my.h"\n#include "bare.h"\nstruct other { int x; };\nbroken here;\n',
}  # fmt: skip
ALONE = "src/bare.h:1:12: error: unknown type name 'my_t'"
THROUGHS = [
    # what it is, files, size of q, notes
    ("of the database", {"compile_commands.json": [entry("src/q.c", "-Iinc", directory=".")]}, [], 24, [
        "flags from compile_commands.json, those of src/q.c, which includes it",
        f"read through src/q.c, which includes it; by itself it has errors: {ALONE}",
    ]),
    ("in the folder", {}, ["-Iinc"], 24, [f"read through src/q.c, which includes it; by itself it has errors: {ALONE}"]),
    ("in the tree", {
        "src/q.c": "", "app/main.c": '#include "../inc/my.h"\n#include "../src/all.h"\n', "src/all.h": '#include "bare.h"\n',
    }, [], 24, [f"read through app/main.c, which includes it; by itself it has errors: {ALONE}"]),
    ("the next source, if the first has errors before it", {
        "src/a.c": '#include "bare.h"\n', "src/q.c": '#include "../inc/my.h"\n#include "bare.h"\n',
    }, [], 24, [f"read through src/q.c, which includes it; by itself it has errors: {ALONE}"]),
    ("none, if no source helps", {"src/q.c": '#include "bare.h"\n'}, [], None,
     [f"the layout of struct q is unreliable: {ALONE}"]),
    ("none, if the source leaves it out", {"src/q.c": '#if 0\n#include "bare.h"\n#endif\n'}, [], None,
     [f"the layout of struct q is unreliable: {ALONE}"]),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("files", "words", "size", "notes"), [case[1:] for case in THROUGHS], ids=[case[0] for case in THROUGHS])
def test_a_header_that_needs_others_is_read_through_a_source(tmp_path, files, words, size, notes):
    folder = tree(tmp_path, {**THROUGH, **files})
    assert size_of_q(folder, "src/bare.h", "q", *words) == (size, notes)


def test_only_the_structs_of_the_header_are_read(tmp_path):
    folder = tree(tmp_path, THROUGH)
    structs = json.loads(run("show", "src/bare.h", "--all", "-Iinc", "--format", "json", cwd=folder).stdout)["structs"]
    assert [struct["name"] for struct in structs] == ["q"]


def test_annotations_of_such_a_header(tmp_path):
    text = "struct q { my_t m; int c; /* layoutlint: hot-write */ int d; /* layoutlint: hot-read */ };\n"
    folder = tree(tmp_path, {**THROUGH, "src/bare.h": text})
    report = json.loads(run("check", "src/bare.h", "-Iinc", "--format", "json", cwd=folder).stdout)
    assert [finding["outcome"] for finding in report["findings"]] == ["broken"]
    assert report["unread"] == []


def test_the_standard_of_c_spoils_no_layout(tmp_path):
    """glibc's stdc-predef.h, which compilers include first, defines a macro that depends on the compiler."""
    folder = tree(tmp_path, {**SRC, "src/q.h": f"#include <stdio.h>\n{WIDE}", "compile_commands.json": [
        entry("src/q.c", "-std=c11", width(5), directory="."),
    ]})  # fmt: skip
    assert size_of_q(folder, "src/q.c", "q") == (5, ["flags from compile_commands.json"])


COMMON = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n", "include/linux/kconfig.h": "",
    "include/linux/q.h": "struct q { char c[1]; };\n",
}  # fmt: skip
OWN = {"include/generated/autoconf.h": "", ".config": "CONFIG_X86_64=y\n"}
COPIES = [
    # what it is, folders that have the common part with the size of q, size, note
    ("a copy of both", {"new/common": 2, "old/common": 1}, 2,
     "the headers of {0}/new/common are read, beside it; its Makefile names {0}/old/common"),
    ("a copy of one", {"old/common": 1}, 1, "the headers of {0}/old/common are read, which its Makefile names"),
    ("unpacked elsewhere", {"new/common": 2}, 2, None),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("parts", "size", "note"), [case[1:] for case in COPIES], ids=[case[0] for case in COPIES])
def test_the_headers_of_a_copied_kernel_package(tmp_path, parts, size, note):
    tree(tmp_path / "new/own", {**OWN, "Makefile": f"include {tmp_path}/old/common/Makefile\n"})
    for part, number in parts.items():
        tree(tmp_path / part, {**COMMON, "include/linux/q.h": f"struct q {{ char c[{number}]; }};\n"})
    assert size_of_q(tmp_path, "new/own", "q") == (size, [note.format(tmp_path)] if note else [])


def test_an_installed_kernel_package_has_no_note(tmp_path):
    tree(tmp_path / "common", COMMON)
    tree(tmp_path / "own", {**OWN, "Makefile": f"include {tmp_path}/common/Makefile\n"})
    (tmp_path / "link").symlink_to("own")
    assert [size_of_q(tmp_path, name, "q") for name in ("own", "link")] == [(1, [])] * 2


def test_headers_of_a_folder_are_read_through_sources_too(tmp_path):
    folder = tree(tmp_path, {**THROUGH, "rules.toml": RULE})
    report = report_on(folder, "src", "-Iinc")
    assert [finding["outcome"] for finding in report["kept"]] == ["kept"]
    [given] = report["inputs"]
    assert given["notes"] == ["1 header read through sources, because of errors without them: src/bare.h (in src/q.c)"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_under_a_policy_the_commit_names_the_database(tmp_path):
    rules = 'compile_commands = "a.json"\n' + RULE.replace("max = 100", "max = 5")
    databases = {f"{name}.json": [entry("src/q.c", width(size), directory=".")] for name, size in (("a", 7), ("b", 3))}
    folder = tree(tmp_path, {"src/q.h": WIDE, "src/q.c": SOURCE, "layoutlint.toml": rules, **databases})
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "base")
    (folder / "layoutlint.toml").write_text(rules.replace("a.json", "b.json"))
    outcomes = [run("check", "src/q.h", *words, cwd=folder).returncode for words in ((), ("--policy-from", "HEAD"))]
    assert outcomes == [0, 1]
