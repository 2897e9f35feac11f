"""What C text hides from a parse: it is reported, and no run is green over it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.readers.dwarf.test_omissions import reasons, report

GOOD = "struct q { long a, b; };\n"
BODY = "struct q { char c[60]; __int128 a; } x; x.a = n; return x.a;"
IF_DEF = "#ifdef HAVE_X\nstruct q { char c[60]; __int128 a; };\n#endif\n"
IF_DEF_TYPEDEF = "#ifdef HAVE_X\ntypedef struct { char c[60]; __int128 a; } q;\n#endif\n"

FILES = {
    "good": ({"a.h": GOOD}, ["a.h"], 0),
    "hidden by #ifdef": ({"a.h": GOOD, "b.h": IF_DEF}, ["a.h", "b.h"], 3),
    "a typedef": ({"a.h": GOOD, "b.h": IF_DEF_TYPEDEF}, ["a.h", "b.h"], 3),
    "with its flag": ({"a.h": GOOD, "b.h": IF_DEF}, ["a.h", "b.h", "--flags", "-DHAVE_X"], 0),
    "only there": ({"b.h": IF_DEF}, ["b.h"], 3),
    "another struct hidden": ({"a.h": GOOD + IF_DEF.replace("q", "other")}, ["a.h"], 0),
    "one or the other": ({"a.h": IF_DEF.replace("#endif", f"#else\n{GOOD}#endif")}, ["a.h"], 0),
    "what it includes has it": ({"a.h": GOOD, "b.h": f'#include "a.h"\n{IF_DEF}'}, ["a.h", "b.h"], 0),
    "in a comment": ({"a.h": GOOD, "b.h": "/* struct q { int x; }; */ // struct q { int x; };\n"}, ["a.h", "b.h"], 0),
    "in a macro": ({"a.h": GOOD, "b.h": "#define Z struct q { int x; }\n"}, ["a.h", "b.h"], 0),
    "in a string": ({"a.h": GOOD, "b.h": 'static const char *s = "struct q { int x; };";\n'}, ["a.h", "b.h"], 0),
    "behind #if 0": ({"a.h": GOOD, "b.h": "#if 0\nstruct q { int x; };\n#endif\n"}, ["a.h", "b.h"], 0),
    "in a function": ({"a.c": f"{GOOD}int f(int n) {{ {BODY} }}\n"}, ["a.c"], 3),
    "in a static inline": ({"a.h": GOOD, "b.h": f'#include "a.h"\nstatic inline int f(int n)\n{{\n\t{BODY}\n}}\n'}, ["b.h"], 3),
    "in an included function": ({"a.h": f"{GOOD}static inline int f(int n) {{ {BODY} }}\n", "b.c": '#include "a.h"\n'}, ["b.c"], 3),
    "in a block": ({"a.c": f"{GOOD}int f(int n) {{ if (n) {{ {BODY} }} return 0; }}\n"}, ["a.c"], 3),
    "in an old function": ({"a.c": f"{GOOD}int f(n) int n; {{ {BODY} }}\n"}, ["a.c"], 3),
    "a typedef in a function": ({"a.c": f"{GOOD}int f(int n) {{ typedef struct {{ char z; long a; }} q; q x = {{n, n}}; return x.a; }}\n"}, ["a.c"], 3),
    "a variable in a function": ({"a.c": f"{GOOD}int f(void *p) {{ struct q *x = p; return x->a; }}\n"}, ["a.c"], 0),
    "behind a function": ({"a.c": "int f(int n) { return n; }\n" + GOOD}, ["a.c"], 0),
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_declared_function_has_no_body(tmp_path):
    write(tmp_path, {"a.h": GOOD, "b.h": f"int f(int n);\n{IF_DEF}"})
    found = report(tmp_path, tmp_path / "a.h", tmp_path / "b.h")
    assert ["that `#if` leaves out" in reason for reason in reasons(found)] == [True]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("files", "words", "status"), FILES.values(), ids=FILES)
def test_files(tmp_path, files, words, status):
    write(tmp_path, files)
    found = report(tmp_path, *(tmp_path / word if word in files else word for word in words))
    assert found["exit"] == status
    assert bool(reasons(found)) == (status == 3)


FOLDERS = {
    "good": ({"a.h": GOOD}, None),
    **{f"x{suffix}": ({"a.h": GOOD, f"x{suffix}": GOOD}, f"x{suffix}") for suffix in (".inc", ".hpp", ".H", ".hh", ".h.in", ".y")},
    "hidden": ({"a.h": GOOD, ".sub/x.h": GOOD}, "x.h"),
    "hidden below": ({"a.h": GOOD, "one/.two/three/x.c": GOOD}, "x.c"),
    "other structs": ({"a.h": GOOD, "x.inc": GOOD.replace("q", "other")}, None),
    "of git": ({"a.h": GOOD, ".git/x.h": GOOD}, None),
    "prose": ({"a.h": GOOD, "README.md": GOOD}, None),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("files", "expected"), FOLDERS.values(), ids=FOLDERS)
def test_folders(tmp_path, files, expected):
    found = report(tmp_path, write(tmp_path / "tree", files))
    assert found["exit"] == (3 if expected else 0)
    assert [expected in reason for reason in reasons(found)] == ([True] if expected else [])


def test_links_out_of_a_folder_and_circles(tmp_path):
    tree = write(tmp_path / "tree", {"a.h": GOOD, "sub/b.h": GOOD.replace("q", "other")})
    (tree / "sub" / "up").symlink_to(tree)
    assert report(tmp_path, tree)["exit"] == 0
    (tree / "out").symlink_to(write(tmp_path / "elsewhere", {"c.h": GOOD}))
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "elsewhere")
    found = report(tmp_path, tree)
    assert (found["exit"], len(reasons(found))) == (3, 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_folders_without_access(tmp_path):
    tree = write(tmp_path / "tree", {"a.h": GOOD, "sub/b.h": GOOD})
    (tree / "sub").chmod(0)
    try:
        assert report(tmp_path, tree)["exit"] == 3
    finally:
        (tree / "sub").chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_files_without_access(tmp_path):
    tree = write(tmp_path / "tree", {"a.h": GOOD, "b.h": GOOD})
    (tree / "b.h").chmod(0)
    assert report(tmp_path, tree)["exit"] == 3


def test_files_that_are_not_read_and_a_large_one_that_is(tmp_path):
    tree = write(tmp_path / "tree", {"a.h": GOOD})
    (tree / "gone.h").symlink_to("nowhere")
    (tree / "round.h").symlink_to("round.h")
    assert report(tmp_path, tree)["exit"] == 0
    os.mkfifo(tree / "pipe.h")
    write(tree, {"b.h": "\n" * (4 << 20) + GOOD.replace("{", "{ long more;")})
    found = report(tmp_path, tree)
    assert found["exit"] == 3
    assert reasons(found) == ["cannot read pipe.h"]
    assert found["inputs"][0]["structs"] == 2


def test_sources_of_a_database_that_are_gone(tmp_path):
    entries = [{"directory": str(tmp_path), "file": name, "arguments": ["cc", "-c", name]} for name in ("a.c", "b.c", "c.S")]
    write(tmp_path, {"a.c": GOOD, "c.S": "nop\n", "compile_commands.json": json.dumps(entries)})
    found = report(tmp_path, tmp_path / "compile_commands.json")
    assert found["exit"] == 3
    assert [reason.partition(": ")[0] for reason in reasons(found)] == ["1 source that it names is not there"]


@pytest.mark.parametrize("place", ["sub", "sub/build"])
def test_a_database_below_a_folder_is_not_passed_over(tmp_path, place):
    source = tmp_path / "tree" / "sub" / "a.c"
    entries = [{"directory": str(source.parent), "file": "a.c", "arguments": ["cc", "-DX", "-c", "a.c"]}]
    database = {f"{place}/compile_commands.json": json.dumps(entries)}
    found = report(tmp_path, write(tmp_path / "tree", {"sub/a.c": GOOD, **database}))
    assert found["exit"] == 3
    assert [reason.partition(" in ")[0] for reason in reasons(found)] == ["read without the flags"]


def test_a_database_says_what_if_leaves_out(tmp_path):
    entries = [{"directory": str(tmp_path), "file": name, "arguments": ["cc", "-c", name]} for name in ("a.c", "b.c")]
    write(tmp_path, {"a.c": GOOD, "b.c": IF_DEF, "compile_commands.json": json.dumps(entries)})
    assert report(tmp_path, tmp_path / "compile_commands.json")["exit"] == 0


def test_guesses_on_structs_that_could_not_be_judged(tmp_path):
    write(tmp_path, {"a.h": "struct ok { long a; };\nstruct bad { gone_t a; };\nstruct worse { struct bad b; };\n"})
    done = run("check", tmp_path / "a.h", "--pack", "generic", "--format", "json")
    found = json.loads(done.stdout)
    assert done.returncode == found["exit"] == 3
    assert [reason.partition(",")[0] for reason in reasons(found)] == ["2 of 3 structs could not be judged"]
    assert run("check", tmp_path / "a.h", "--pack", "generic", "--allow-unknown").returncode == 0


LOST = {
    "no semicolon": ("int x struct in i;", 3, "may embed in: out at y.h:3"),
    "by a typedef": ("int x in_t i;", 3, "may embed in: out at y.h:3"),
    "in another that embeds it": ("int x struct ok i;", 3, "may embed in: out at y.h:3"),
    "by a macro": ("int x IN i;", 3, "may embed in: out at y.h:3"),
    "an unknown type before it": ("foo bar baz struct in i;", 3, "may embed in: out at y.h:3"),
    "a macro that is not defined": ("UNKNOWN_MACRO(struct in, i);", 3, "may embed in: out at y.h:3"),
    "an array of unknown length": ("struct in i[UNKNOWN];", 3, "the layout of struct out is unreliable"),
    "elements aligned to more than their size": ("wide w[3]; struct in i;", 3, "the layout of struct out is unreliable"),
    "no error": ("int x;", 0, "kept"),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("body", "status", "text"), LOST.values(), ids=LOST)
def test_a_container_with_errors_is_not_passed_over(tmp_path, body, status, text):
    (tmp_path / "y.h").write_text(
        "#define IN struct in\ntypedef short wide __attribute__((aligned(64))); typedef struct in { long a; char b; } in_t; "
        f"struct ok {{ struct in i; }};\nstruct out {{ {body} }};\n"
    )
    (tmp_path / "r.toml").write_text(
        '[pack]\nname = "x"\n[struct.in]\nplacement = "embedded"\n[struct.ok]\nplacement = "aligned:64"\n'
        '[struct.out]\nplacement = "aligned:64"\n'
        '[[rule]]\nid = "r"\nstruct = "in"\nkind = "no-straddle"\nfields = ["a"]\nwhy = "x"\n'
    )
    done = run("check", "y.h", "--rules", "r.toml", cwd=tmp_path)
    assert (done.returncode, " ".join(text.split()) in " ".join(done.stdout.split())) == (status, True), done.stdout
