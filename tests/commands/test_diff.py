"""`layoutlint diff`: what a change did to layouts and rules, which field caused it, and what could not be compared."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import run

RULES = """
[[rule]]
id = "apart"
struct = "s"
kind = "separate"
fields = [["a"], ["z"]]
why = "w"
"""
OLD = """
struct inner { long x; long y; };
struct other { int n; };
struct s { long a; struct inner in; long pad[5]; long z; };
struct holder { char c; struct s s; long last; };
"""


def files(folder: Path, old: str, new: str, rules: str = RULES) -> None:
    for name, text in (("old", old), ("new", new)):
        (folder / name).mkdir()
        (folder / name / "s.h").write_text(text)
    (folder / "rules.toml").write_text(rules)


def diff(folder: Path, *words: str, rules: bool = True) -> Any:
    given = ("--rules", "rules.toml") if rules else ()
    return run("diff", "old/s.h", "new/s.h", *given, *words, cwd=folder)


def document(folder: Path, *words: str, rules: bool = True) -> dict[str, Any]:
    done = diff(folder, "--format", "json", *words, rules=rules)
    found = json.loads(done.stdout)
    assert found["exit"] == done.returncode
    return found


def struct(found: dict[str, Any], name: str) -> dict[str, Any]:
    ((one),) = (each for each in found["structs"] if each["name"] == name)
    return one


CHANGES = {
    # what is replaced, by what; status and exit; the structs that changed, with the cause of each; the rule
    "nothing": ("", "", "same", 0, {}, "same"),
    "a comment": ("long a;", "long a; /* hot */", "same", 0, {}, "same"),
    "a field added": (
        "long a;", "long a; int more;", "same", 0,
        {"s": ("added", "more"), "holder": ("resized", "s")}, "same"),
    "a field removed, which brings others together": (
        "long pad[5];", "long pad[4];", "worse", 1,
        {"s": ("resized", "pad"), "holder": ("resized", "s")}, "worse"),
    "a field that fills a hole": ("char c;", "char c; char d;", "same", 0, {"holder": ("added", "d")}, "same"),
    "fields swapped": (
        "long pad[5]; long z;", "long z; long pad[5];", "worse", 1,
        {"s": ("reordered", "z"), "holder": ("changed", "s")}, "worse"),
    "an embedded struct grows": (
        "long y;", "long y; long w;", "same", 0,
        {"inner": ("added", "w"), "s": ("resized", "in"), "holder": ("resized", "s")}, "same"),
    "an embedded struct shrinks": (
        "long x; long y;", "long x;", "worse", 1,
        {"inner": ("removed", "y"), "s": ("resized", "in"), "holder": ("resized", "s")}, "worse"),
    "a struct added": ("struct other", "struct more { int m; };\nstruct other", "same", 0, {"more": None}, "same"),
    "a struct removed": ("struct other { int n; };", "", "same", 0, {"other": None}, "same"),
    "a struct renamed": (
        "struct inner { long x; long y; }", "struct within { long x; long y; }", "same", 0, {"within": None}, "same"),
    "a type with the same layout": ("long a;", "unsigned long a;", "same", 0, {"s": None}, "same"),
    "a ruled struct renamed": ("struct s ", "struct t ", "not-compared", 3, {"t": None}, "not-compared"),
    "a ruled field renamed": ("long z;", "long y;", "not-compared", 3,
        {"s": ("renamed", "y"), "holder": ("changed", "s")}, "not-compared"),
    "an error": ("long a;", "gone_t a;", "not-compared", 3, {}, "not-compared"),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CHANGES)
def test_changes(tmp_path, name):
    before, after, status, exit_status, changed, rule = CHANGES[name]
    new = OLD.replace(before, after).replace("struct inner in", "struct within in" if "within" in after else "struct inner in")
    new = new.replace("struct s s", "struct t s" if "struct t " in after else "struct s s")
    files(tmp_path, OLD, new)
    found = document(tmp_path)
    assert (found["status"], found["exit"]) == (status, exit_status)
    causes = {each["name"]: each["cause"] and (each["cause"]["kind"], each["cause"]["path"]) for each in found["structs"]}
    assert causes == changed
    assert [each["status"] for each in found["rules"]] == [rule]


@pytest.mark.parametrize(("words", "text"), [
    ((), "nothing differs: compared 4 structs (sizes, offsets and types at every\ndepth), 1 rule\nexit 0: nothing got worse\n"),
    (("--struct", "inner"), "nothing differs: compared 1 struct (sizes, offsets and types at every\ndepth)\nexit 0: nothing got worse\n"),
    (("--format", "markdown"), ""),
])  # fmt: skip
def test_what_was_compared_without_change(tmp_path, words, text):
    """A comment for a review is written only if something differs."""
    files(tmp_path, OLD, f"/* a comment */\n{OLD}")
    done = diff(tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, text, "")


def test_the_root_cause_once_with_its_containers(tmp_path):
    files(tmp_path, OLD, OLD.replace("long y;", "long y; long w;"))
    found = document(tmp_path)
    assert [(each["name"], each["root"], each["containers"]) for each in found["structs"]] == [
        ("inner", None, ["holder", "s"]), ("s", "inner", ["holder"]), ("holder", "inner", []),
    ]  # fmt: skip
    text = diff(tmp_path).stdout
    assert "struct inner: 16 -> 24 bytes" in text
    assert "changes 2 structs with it: holder, s" in text
    assert "struct s:" not in text


def test_what_moved_and_which_field_pushed_it(tmp_path):
    new = OLD.replace("long a;", "int b; long a;").replace("long z;", "long y2; long z;")
    files(tmp_path, OLD, new)
    moved = {each["path"]: (each["old"], each["new"], each["lines"], each["cause"]) for each in struct(document(tmp_path), "s")["moved"]}
    assert moved == {
        "a": (0, 8, [0, 0], "b"), "in": (8, 16, [0, 0], "b"), "pad": (24, 32, [0, 0], "b"), "z": (64, 80, [1, 1], "y2"),
    }  # fmt: skip


def test_pairs_base_by_base(tmp_path):
    files(tmp_path, OLD, OLD.replace("long pad[5];", "long pad[3];"))
    (pair,) = struct(document(tmp_path), "s")["pairs"]
    assert (pair["fields"], pair["violating"], pair["total"]) == (["a", "z"], [0, 2], 8)
    assert pair["bases"] == [[], [0, 8]]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("criterion", "change", "exit_status"), [
    ("worse", ("long a;", "long a; int more;"), 0), ("size", ("long a;", "long a; int more;"), 1),
    ("size", ("long a;", ""), 0), ("holes", ("long a;", "long a; char more;"), 1), ("holes", ("long a;", "int a, b;"), 0),
    ("lines", ("long pad[5];", "long pad[14];"), 1), ("lines", ("long a;", "long a; int more;"), 0),
    ("share", ("long pad[5];", "long pad[4];"), 1), ("share", ("long pad[5];", "long pad[6];"), 0),
    ("moved", ("long a;", "long a; int more;"), 1), ("moved", ("long pad[5]; long z;", "long z; long pad[5];"), 1),
    ("moved", ("long x; long y;", "long y; long x;"), 1), ("moved", ("long z; };", "};"), 1), ("moved", ("long z; };", "long z, end; };"), 1),
    ("moved", ("long x;", "int x;"), 1), ("moved", ("struct inner in;", "struct within { long v, y; } in;"), 1),
    ("moved", ("long a;", "unsigned long a;"), 0), ("moved", ("long z;", "union { long z; int part; };"), 0),
    ("types", ("long a;", "unsigned long a;"), 1), ("types", ("long x;", "double x;"), 1), ("types", ("long a;", "int a; int more;"), 0),
    ("types", ("long a;", "typedef_of_long a;"), 0), ("types", ("struct inner in;", "struct within { long x, y; } in;"), 1),
])  # fmt: skip
def test_what_fails_a_run(tmp_path, criterion, change, exit_status):
    rules = RULES.replace('"note"', '"error"')
    old = "typedef long typedef_of_long;" + OLD.replace("struct holder { char c; struct s s; long last; };", "")
    files(tmp_path, old, old.replace(*change), rules)
    done = diff(tmp_path, "--fail-on", criterion, "--struct", "s", "--allow-unknown")
    assert done.returncode == exit_status


@pytest.mark.parametrize(("old", "new", "failures"), [
    ("struct in { long x; int y; }; struct out { struct in in; };", "struct in { long x; int y, z; }; struct out { struct in in; };", []),
    ("struct in { long x; int y; }; struct out { struct in in; };", "struct in { int y; long x; }; struct out { struct in in; };", ["moved"]),
    ("struct in { int x; }; struct out { int y; };", "struct in { int x; };", ["moved"]),
    ("struct in { int x; };", "struct in { int x; }; struct out { int y; };", []),
    ("struct in { int x; float y; };", "struct in { unsigned x, y; };", ["types"]),
])  # fmt: skip
def test_what_counts_as_moved_and_retyped(tmp_path, old, new, failures):
    files(tmp_path, old, new)
    found = document(tmp_path, "--fail-on", "moved", "--fail-on", "types", rules=False)
    assert (found["failures"], found["exit"]) == (failures, int(bool(failures)))


@pytest.mark.parametrize(("edit", "failures"), [
    # the edit, and what fails without and with `--renames`
    (("int y;", "int w;"), (["moved"], [])), (("int y;", "unsigned w;"), (["moved"], ["moved"])), (("int y;", "int w; int v;"), (["moved"], [])),
    (("struct in in;", "struct in inner;"), (["moved"], [])), (("long x; int y;", "int w; long x;"), (["moved"], ["moved"])),
])  # fmt: skip
def test_renamed_fields(tmp_path, edit, failures):
    old = "struct in { long x; int y; }; struct out { struct in in; };"
    files(tmp_path, old, old.replace(*edit))
    for words, expected in zip(((), ("--renames",)), failures, strict=True):
        found = document(tmp_path, "--fail-on", "moved", *words, rules=False)
        assert (found["failures"], found["exit"]) == (expected, int(bool(expected)))


def test_renames_need_what_they_accept(tmp_path):
    files(tmp_path, OLD, OLD)
    done = diff(tmp_path, "--renames", rules=False)
    assert (done.returncode, "--renames needs --fail-on moved" in done.stderr) == (2, True)


def test_types_that_btf_does_not_state_are_not_compared(tmp_path):
    (tmp_path / "s.c").write_text("struct s { int x; } s;")
    for debug, name in (("-g", "dwarf.o"), ("-gbtf", "btf.o")):
        subprocess.run(["gcc", debug, "-c", "s.c", "-o", name], cwd=tmp_path, check=True)
    done = run("diff", "dwarf.o", "btf.o", "--fail-on", "types", "--format", "json", cwd=tmp_path)
    assert (done.returncode, [each["name"] for each in json.loads(done.stdout)["not_compared"]]) == (3, ["--fail-on types"])


def test_structs_are_chosen_by_several_names_and_patterns(tmp_path):
    """A name that one side has is enough; each that neither has is not compared."""
    files(tmp_path, OLD, OLD.replace("struct other", "typedef struct tagged { int n; } typedef_t; struct newer { int n; }; struct other"))
    found = document(tmp_path, "--struct", "struct inner", "--struct", "hold*", "--struct", "newer", "--struct", "typedef_t", rules=False)
    assert (found["compared"], [each["name"] for each in found["structs"]], found["exit"]) == (2, ["newer", "tagged"], 0)
    found = document(tmp_path, "--struct", "inner", "--struct", "holdr", "--struct", "z*", rules=False)
    assert (found["compared"], found["exit"], [each["reason"] for each in found["not_compared"]]) == (
        1, 3, ["no struct holdr (did you mean `holder`?)", "no struct matches z*"]
    )  # fmt: skip


def test_a_note_that_got_worse_fails_nothing(tmp_path):
    files(tmp_path, OLD, OLD.replace("long pad[5];", "long pad[4];"), f'{RULES}severity = "note"\n')
    found = document(tmp_path)
    assert ([each["status"] for each in found["rules"]], found["status"], found["exit"]) == (["worse"], "same", 0)


def test_worse_wins_over_what_could_not_be_compared(tmp_path):
    rules = RULES + RULES.replace('"apart"', '"gone"').replace('struct = "s"', 'struct = "inner"').replace('"a"', '"x"').replace('"z"', '"y"')
    files(tmp_path, OLD, OLD.replace("long pad[5];", "long pad[4];").replace("long x; long y;", "long v; long w;"), rules)
    found = document(tmp_path)
    assert (found["status"], found["exit"], [each["name"] for each in found["not_compared"]]) == ("worse", 1, ["gone on inner"])


def test_a_side_that_cannot_be_read_is_never_no_change(tmp_path):
    files(tmp_path, OLD, OLD)
    (tmp_path / "new/s.h").unlink()
    done = diff(tmp_path)
    assert (done.returncode, "no such file" in done.stdout + done.stderr) == (3, True)
    assert diff(tmp_path, "--allow-unknown").returncode == 0
    found = document(tmp_path)
    assert (found["structs"], found["rules"], len(found["not_compared"])) == ([], [], 1)


@pytest.mark.parametrize(("old", "new", "compared"), [
    # definitions of one name in two units, of one file: paired by content, and one that is left; else refused
    (("int x;", "long y;"), ("int x;", "long y;"), []),
    (("int x;", "long y;"), ("long y;", "int x;"), []),
    (("int x;", "long y;"), ("int x;", "long y; long z;"), []),
    (("int x;", "long y;"), ("int x; int w;", "long y; long z;"), ["t"]),
])  # fmt: skip
def test_several_definitions_of_a_name(tmp_path, old, new, compared):
    for side, bodies in (("old", old), ("new", new)):
        for number, body in enumerate(bodies):
            (tmp_path / f"{number}.c").write_text(f'#line 1 "t.h"\nstruct t {{ {body} }} v{number};\n')
            subprocess.run(["gcc", "-g", "-c", f"{number}.c"], cwd=tmp_path, check=True)
        subprocess.run(["ld", "-r", "-o", f"{side}.o", "0.o", "1.o"], cwd=tmp_path, check=True)
    rule = '[[rule]]\nid = "small"\nstruct = "t"\nkind = "size"\nmax = 64\nwhy = "w"\n'
    (tmp_path / "rules.toml").write_text(rule)
    done = run("diff", "old.o", "new.o", "--rules", "rules.toml", "--format", "json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert sorted({each["name"] for each in found["not_compared"]}) == sorted([*compared, *(f"small on {name}" for name in compared)])


@pytest.mark.parametrize(("bodies", "changes"), [(("int x;", "int x;"), []), (("int x;", "long x;"), ["removed"])])
def test_definitions_in_files_that_btf_does_not_state(tmp_path, bodies, changes):
    for number, body in enumerate(bodies):
        (tmp_path / f"{number}.c").write_text(f"struct t {{ {body} }} v{number};\n")
        subprocess.run(["gcc", "-g", "-c", f"{number}.c"], cwd=tmp_path, check=True)
    subprocess.run(["ld", "-r", "-o", "both.o", "0.o", "1.o"], cwd=tmp_path, check=True)
    (tmp_path / "btf.c").write_text("struct t { int x; } v;\n")
    subprocess.run(["gcc", "-gbtf", "-c", "btf.c"], cwd=tmp_path, check=True)
    done = run("diff", "both.o", "btf.o", "--format", "json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["not_compared"]) == (0, [])
    assert [each["status"] for each in found["structs"]] == changes


@pytest.mark.parametrize(("old", "new", "words", "reason"), [
    (OLD, OLD, ("--struct", "typo*"), "no struct matches typo*"), ("int x;", "int y;", (), "neither input defines a struct to compare"),
    ("struct s;", "struct s;", (), "neither input defines a struct to compare"),
    ("struct s;", "struct s;", ("--struct", "s"), "struct s is declared but not defined"),
])  # fmt: skip
def test_nothing_to_compare_is_never_no_change(tmp_path, old, new, words, reason):
    files(tmp_path, old, new)
    found = document(tmp_path, *words, rules=False)
    assert (found["status"], found["exit"]) == ("not-compared", 3)
    assert [each["reason"] for each in found["not_compared"]] == [reason]


def test_an_unreliable_struct_without_rules_is_not_compared(tmp_path):
    files(tmp_path, OLD, OLD.replace("int n;", "gone_t n;"))
    found = document(tmp_path, rules=False)
    assert (found["exit"], [each["name"] for each in found["not_compared"]]) == (3, ["other"])


def test_what_no_rule_is_about_and_was_not_read_is_noted(tmp_path):
    (tmp_path / "u.c").write_text("struct u { int n; } u;")
    (tmp_path / "bare.c").write_text("struct s { long a; } s; long f(void) { return s.a; }")
    subprocess.run(["gcc", "-g", "-c", "u.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-c", "bare.c"], cwd=tmp_path, check=True)
    subprocess.run(["ld", "-r", "-o", "all.o", "u.o", "bare.o"], cwd=tmp_path, check=True)
    done = run("diff", "all.o", "all.o", cwd=tmp_path)
    assert (done.returncode, done.stdout.startswith("nothing differs: compared ")) == (0, True)
    assert "all.o: not compared: 1 C unit without debug information: bare.c" in done.stderr


def test_names_that_contain_one_another(tmp_path):
    """By their names, `a` and `b` of two units contain one another: the search for the cause ends."""
    units = (("struct b { %s x; }; struct a { struct b b; } a;", "0.c"), ("struct a { %s y; }; struct b { struct a a; } b;", "1.c"))
    for side, word in (("old", "int"), ("new", "long")):
        for text, name in units:
            (tmp_path / name).write_text(text % word)
            subprocess.run(["gcc", "-g", "-c", name], cwd=tmp_path, check=True)
        subprocess.run(["ld", "-r", "-o", f"{side}.o", "0.o", "1.o"], cwd=tmp_path, check=True)
    assert run("diff", "old.o", "new.o", cwd=tmp_path, seconds=30).returncode == 0


def test_structs_that_contain_one_another_too_deeply(tmp_path):
    chain = "".join(f"struct s{n} {{ struct s{n - 1} p; }};" for n in range(1, 3000))
    files(tmp_path, f"struct s0 {{ int a; }};{chain}", f"struct s0 {{ long a; }};{chain}")
    done = diff(tmp_path, rules=False)
    assert (done.returncode, "is nested too deeply" in done.stderr) == (3, True), done.stderr


@pytest.mark.parametrize(("rules", "end"), [
    (RULES, "exit 1: rules got worse"),
    (f'{RULES}severity = "note"\n', "exit 0: what got worse fails nothing: notes, suppressed findings, or not in --fail-on"),
])  # fmt: skip
def test_lines_fit_into_a_mail(tmp_path, rules, end):
    files(tmp_path, OLD, OLD.replace("long x; long y;", "long x;"), rules)
    text = diff(tmp_path).stdout
    assert max(map(len, text.splitlines())) <= 75
    assert " ".join(text.split()).endswith(end)


def test_two_compilers_say_so_and_report_no_change(tmp_path):
    (tmp_path / "s.c").write_text(f"{OLD}\nstruct s s; struct holder h; struct other o;\n")
    for compiler in ("gcc", "clang"):
        subprocess.run([compiler, "-g", "-c", "s.c", "-o", f"{compiler}.o"], cwd=tmp_path, check=True)
    done = run("diff", "gcc.o", "clang.o", cwd=tmp_path)
    assert (done.returncode, done.stdout.startswith("nothing differs: compared ")) == (0, True)
    assert done.stderr.startswith("layoutlint: note: compiled by GCC: ")


def test_what_was_not_looked_at_is_not_the_same(tmp_path):
    """Local structs are not judged: a rule on one of them compares nothing."""
    (tmp_path / "rules.toml").write_text(RULES)
    for side in ("old", "new"):
        (tmp_path / f"{side}.c").write_text("void *f(void) { static struct s { long a, z; } v; return &v; }")
        subprocess.run(["gcc", "-g", "-c", f"{side}.c"], cwd=tmp_path, check=True)
    done = run("diff", "old.o", "new.o", "--rules", "rules.toml", "--format", "json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (3, "not-compared")


def test_alternative_placements_of_a_rule_file(tmp_path):
    """Two placements of one struct, for different inputs, do not contradict each other."""
    alternatives = '[[struct.s]]\nplacement = "line"\nwhen = { arch = ["aarch64"] }\n[[struct.s]]\nplacement = "kmalloc"\n'
    files(tmp_path, OLD, OLD.replace("long pad[5];", "long pad[9];"), RULES + alternatives)
    done = diff(tmp_path)
    assert (done.returncode, "contradicts" in done.stderr) == (0, False)
    assert "kmalloc-128" in done.stdout


def test_folders_are_read_alike_by_any_number_of_processes(tmp_path):
    """With one job they are read one after the other by this process, with more at the same time by others."""
    files(tmp_path, OLD, OLD.replace("pad[5]", "pad[3]"))
    (tmp_path / "new/bad.h").write_text("struct bad { gone_t x; };\n")
    runs = [
        run("diff", "old", "new", "--rules", "rules.toml", "--format", "json", "--jobs", jobs, cwd=tmp_path)
        for jobs in ("1", "2", "5")
    ]
    assert len({(done.returncode, done.stdout, done.stderr) for done in runs}) == 1
    found = json.loads(runs[0].stdout)
    assert (runs[0].returncode, {each["name"] for each in found["structs"]} >= {"s", "holder", "bad"}) == (1, True)


def test_lines_of_another_size(tmp_path):
    """`--line-size` counts for the lines of structs, and for what is on them, as it does for rules."""
    files(tmp_path, "struct s { long a[8]; long b; long c[7]; };", "struct s { long a[9]; long b; long c[7]; };")
    expected = {"32": ([4, 5], {"b": [2, 2], "c": [2, 2]}), "64": ([2, 3], {"b": [1, 1], "c": [1, 1]}), "128": ([1, 2], {"b": [0, 0], "c": [0, 0]})}
    for size, (lines, moved) in expected.items():
        changed = struct(document(tmp_path, "--line-size", size, rules=False), "s")
        assert (changed["lines"], {each["path"]: each["lines"] for each in changed["moved"]}) == (lines, moved)
