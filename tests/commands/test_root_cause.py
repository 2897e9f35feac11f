"""C text with errors: the cause comes first, with the flag that mends it, and no layout that is known to be wrong."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import run

pytestmark = pytest.mark.usefixtures("whole_runs")

MY = "typedef struct { int a; long b; } my_t;\n"
Q = '#include "my.h"\nstruct q { my_t m; int c; };\n'
BARE = "struct w { my_t m; int c; };\n"
PTHREAD = "#include <pthread.h>\nstruct p { pthread_mutex_t m; int x; };\n"
ADD = "; add its folder with `-I DIR`, or install the package that has it"


def tree(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


CAUSES = [
    # what it is, files, the words after `show src/q.h q`, the reason
    ("the folder is in the project", {"inc/my.h": MY}, [],
     "src/q.h:1:10: error: 'my.h' file not found; add its folder with `-Iinc`"),
    ("a folder with a space", {"my inc/my.h": MY}, [],
     "src/q.h:1:10: error: 'my.h' file not found; add its folder with `-I'my inc'`"),
    ("the nearest of several", {"other/x/y/my.h": MY, "src/near/my.h": MY}, [],
     "src/q.h:1:10: error: 'my.h' file not found; add its folder with `-Isrc/near`"),
    ("a folder of the path", {"src/q.h": '#include <a/my.h>\nstruct q { my_t m; };\n', "lib/b/a/my.h": MY, "my.h": MY}, [],
     "src/q.h:1:10: error: 'a/my.h' file not found; add its folder with `-Ilib/b`"),
    ("nowhere", {}, [], f"src/q.h:1:10: error: 'my.h' file not found{ADD}"),
    ("hidden folders are not searched", {".old/my.h": MY}, [], f"src/q.h:1:10: error: 'my.h' file not found{ADD}"),
    ("a missing header of the second kind", {"src/q.h": '#include "in.h"\nstruct q { my_t m; };\n', "src/in.h": '#include "my.h"\n'}, [],
     f"src/in.h:1:10: error: 'my.h' file not found{ADD}"),
    ("an error before", {"src/q.h": f"struct q {{ gone_t x; }};\n{Q[:16]}"}, [], "src/q.h:1:12: error: unknown type name 'gone_t'"),
    ("#error", {"src/q.h": "#error include x.h first\nstruct q { my_t m; };\n"}, [], "src/q.h:1:2: error: include x.h first"),
    ("-nostdinc", {"src/q.h": PTHREAD.replace("struct p", "struct q")}, ["--", "-nostdinc"],
     "src/q.h:1:10: error: 'pthread.h' file not found; `-nostdinc` leaves out the system's headers; add the folder with `-I DIR`"),
    ("a sysroot without it", {"src/q.h": PTHREAD.replace("struct p", "struct q")}, ["--", "--sysroot=/nowhere"],
     "src/q.h:1:10: error: 'pthread.h' file not found; it is not in the sysroot /nowhere; add its folder with `-I DIR`"),
    ("C++ in a header of it", {"src/q.h": '#include "x.h"\nstruct q { my_t m; };\n', "src/x.h": "class a { int b; };\n"}, [],
     "src/x.h:1:1: error: `class` is C++; layoutlint reads only C, also in the DWARF of a program"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("files", "words", "reason"), [case[1:] for case in CAUSES], ids=[case[0] for case in CAUSES])
def test_the_cause_is_read_first(tmp_path, files, words, reason):
    folder = tree(tmp_path, {".git/HEAD": "", "src/q.h": Q, **files})
    done = run("show", "src/q.h", "q", *words, cwd=folder)
    assert done.stderr == f"layoutlint: the layout of struct q is unreliable: {reason}\n"
    assert done.returncode == 3


def test_the_advice_works(tmp_path):
    folder = tree(tmp_path, {".git/HEAD": "", "src/q.h": Q, "inc/my.h": MY})
    done = run("show", "src/q.h", "q", "--", "-Iinc", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_layout_is_shown(tmp_path):
    folder = tree(tmp_path, {"w.h": BARE})
    done = run("show", "w.h", "w", cwd=folder)
    assert done.stdout == "struct w  w.h:1\n  layout unreliable: w.h:1:12: error: unknown type name 'my_t'\n"
    done = run("show", "w.h", "w", "--format", "c", cwd=folder)
    assert done.stdout == "struct w; /* size: ??, layout unreliable: w.h:1:12: error: unknown type name 'my_t' */\n"


def test_json_has_no_numbers(tmp_path):
    folder = tree(tmp_path, {"w.h": BARE})
    [struct] = json.loads(run("show", "w.h", "w", "--format", "json", cwd=folder).stdout)["structs"]
    assert struct["problem"] == "w.h:1:12: error: unknown type name 'my_t'"
    assert [struct[key] for key in ("size", "align", "align_possible", "padding", "holes")] == [None, None, [], None, []]
    assert [[*field.values()] for field in struct["fields"]] == [
        ["m", None, None, None, None, None], ["c", "int", None, None, None, None]
    ]  # fmt: skip


def test_containers_have_no_offset(tmp_path):
    folder = tree(tmp_path, {"w.h": "struct in { int x; };\nstruct w { gone_t m; struct in held[2]; };\n"})
    done = run("containers", "w.h", "in", cwd=folder)
    assert [line.split("  layout")[0].split() for line in done.stdout.splitlines() if "w.held" in line] == [
        ["??", "??", "??", "??", "??", "w.held[2]"]
    ]
    [struct] = json.loads(run("containers", "w.h", "in", "--format", "json", cwd=folder).stdout)["structs"]
    [container] = struct["containers"]
    assert [container[key] for key in ("size", "offset", "bases")] == [None, None, None]
    assert container["arrays"] == [{"path": "held", "count": 2, "stride": None}]


MOOT = [
    # texts in which an error removes the field, or the struct, of an annotation
    '#include "my.h"\nstruct q { MY_FIELD(x) y; /* layoutlint: hot-write */\nint d; /* layoutlint: hot-read */ };\n',
    '#include "my.h"\nstruct q { int d; };\nMY_STRUCT(w) { int c; /* layoutlint: hot-write */ };\n',
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text", MOOT)
def test_notes_on_annotations_that_an_error_made_moot_are_left_out(tmp_path, text):
    folder = tree(tmp_path, {"src/q.h": text})
    report = json.loads(run("check", "src/q.h", "--format", "json", cwd=folder).stdout)
    assert [finding["rule"] for finding in report["findings"] if finding["kind"] == "unused"] == []
    reasons = [finding["message"] for finding in report["findings"]] + [each["reason"] for each in report["unread"]]
    assert "src/q.h:1:10: error: 'my.h' file not found" in reasons[0]
    assert report["exit"] == 3


CPLUSPLUS = [
    # the construct, a text with it
    ("class", "#pragma once\nclass foo { public: int x; };\n"),
    ("class", "struct a { int x; };\nclass b;\n"),
    ("namespace", "namespace a { struct b { int x; }; }\n"),
    ("namespace", "inline namespace a { struct b { int x; }; }\n"),
    ("template", "template <typename T>\nstruct a { T x; };\n"),
    ("using", "using a = int;\nstruct b { int x; };\n"),
    ("virtual", "struct a { virtual void f(); };\n"),
    ("public:", "struct a { public: int x; };\n"),
    ("::", "struct a { std::string x; };\n"),
    ('extern "C"', 'extern "C" { struct a { int x; }; }\n'),
    ('extern "C++"', 'extern "C++" { struct a { int x; }; }\n'),
    ("a base class", "struct a { int x; };\nstruct b : a { int y; };\n"),
    ("#include <vector>", "#include <vector>\nstruct a { int x; };\n"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("construct", "text"), CPLUSPLUS)
def test_a_header_of_cplusplus_is_called_that(tmp_path, construct, text):
    done = run("show", "x.h", "--all", cwd=tree(tmp_path, {"x.h": text}))
    assert done.stderr == (
        f"layoutlint: x.h: is a C++ header (it has `{construct}`); layoutlint reads only C, "
        "also in the DWARF of a program\nhelp: `layoutlint explain another-language`\n"
    )
    assert (done.returncode, done.stdout) == (3, "")


C_TEXTS = [
    "struct class { int x; }; struct b { struct class c; int namespace, template, using, virtual; };\n",
    '#ifdef __cplusplus\nextern "C" {\n#endif\nstruct a { int public; };\n#ifdef __cplusplus\n}\n#endif\n',
    "typedef int class; struct a { class x; };\n",
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("text", C_TEXTS)
def test_c_with_the_words_of_cplusplus_is_read(tmp_path, text):
    done = run("show", "x.h", "--all", cwd=tree(tmp_path, {"x.h": text}))
    assert (done.returncode, done.stderr) == (0, "")


def test_c_with_an_unknown_type_of_such_a_name_is_no_cplusplus(tmp_path):
    done = run("show", "x.h", "a", cwd=tree(tmp_path, {"x.h": "struct a { class *x; template y; };\n"}))
    assert done.stderr == "layoutlint: the layout of struct a is unreliable: x.h:1:12: error: unknown type name 'class'\n"
