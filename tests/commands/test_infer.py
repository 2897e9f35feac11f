"""`accesses` and `infer` on sources, databases and kernels, as users call them."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.harness import tools
from tests.harness.command import run

pytestmark = pytest.mark.usefixtures("whole_runs")

SOURCE = """
#include "ring.h"
struct ring shared;
void take(struct ring *r) { __atomic_fetch_add(&r->head, 1, 5); }
unsigned long size(struct ring *r) { return r->size; }
int main(void) { take(&shared); return size(&shared); }
"""
HEADER = "struct ring { unsigned long size; unsigned long head; unsigned long pad[16]; unsigned long tail; };\n"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "ring.h").write_text(HEADER)
    (tmp_path / "ring.c").write_text(SOURCE)
    database = [{"directory": str(tmp_path), "file": "ring.c", "arguments": ["cc", "-c", "ring.c"]}]
    (tmp_path / "compile_commands.json").write_text(json.dumps(database))
    return tmp_path


@pytest.mark.parametrize("given", ["ring.c", ".", "compile_commands.json"])
def test_the_same_from_each_kind_of_input(project, given):
    found = json.loads(run("infer", given, "--format", "json", cwd=project).stdout)
    rows = [(each["struct"], each["writer"], each["victims"], each["rank"], each["rank_in_struct"]) for each in found["notes"]]
    assert rows == [("ring", "head", ["size"], 1, 1)]
    assert found["pairs"][0]["fields"] == ["head", "size"]
    assert {(each["path"], each["reads"], each["atomics"]) for each in found["fields"]} == {("head", 0, 1), ("size", 1, 0)}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("words", "expected"), [
    ("/* layoutlint: hot-read */", [("head", "hot-read")]),
    ("/* layoutlint: hot-write, contended */", []),
    ("/* layoutlint: ignore[x] known */", []),
    ("__attribute__((annotate(\"layoutlint:read-mostly\")))", [("head", "read-mostly")]),
])  # fmt: skip
@pytest.mark.parametrize("given", ["ring.c", ".", "compile_commands.json"])
def test_annotations_that_functions_contradict(project, given, words, expected):
    member = f"unsigned long head {words};" if words[0] == "_" else f"unsigned long head; {words}\n"
    (project / "ring.h").write_text(HEADER.replace("unsigned long head;", member))
    done = run("infer", given, "--format", "json", cwd=project)
    found = json.loads(done.stdout)["contradictions"]
    assert [(each["path"], each["declared"].split()[0]) for each in found] == expected
    assert done.returncode == 0


def test_a_mistake_in_an_annotation(project):
    (project / "ring.h").write_text(HEADER.replace("head;", "head; /* layoutlint: hot-reed */"))
    done = run("infer", "ring.c", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "ring.h:1" in done.stderr
    assert "hot-reed" in done.stderr


def test_accesses(project):
    done = run("accesses", ".", "--struct", "ring", cwd=project)
    assert (done.returncode, "  head: atomic in 1\n    atomic by take (ring.c:4)\n" in done.stdout) == (0, True)


@pytest.mark.parametrize(("body", "rows"), [
    ("r->head++;", ["read and written by f (r.c:2)"]),
    ("if (r->head) r->head = 0;", ["read and written by f (r.c:2)"]),
    ("r->head = r->size;", ["written by f (r.c:2)"]),
    ("while (n--) r->head += n;", ["read and written by f (r.c:2), in a loop"]),
    ("while (n--) r->head = n; n = r->head;", ["written by f (r.c:2), in a loop", "read by f (r.c:2)"]),
    ("__atomic_fetch_add(&r->head, 1, 5); r->head = 2;", ["written and atomic by f (r.c:2)"]),
])  # fmt: skip
def test_a_row_has_all_that_a_function_does(tmp_path, body, rows):
    (tmp_path / "ring.h").write_text(HEADER)
    (tmp_path / "r.c").write_text(f'#include "ring.h"\nvoid f(struct ring *r, int n) {{ {body} }}\n')
    done = run("accesses", "r.c", "--struct", "ring", cwd=tmp_path)
    shown = done.stdout.split("  head: ")[1].partition("\n  size")[0].partition("\n\n")[0]
    assert [row.strip() for row in shown.splitlines()[1:]] == rows


def test_the_draft_is_a_rule_file_that_judges(project):
    (project / "draft.toml").write_text(run("infer", ".", "--format", "toml", cwd=project).stdout)
    assert run("rules", "check", "draft.toml", cwd=project).returncode == 0
    done = run("check", "ring.c", "--rules", "draft.toml", "--format", "json", cwd=project)
    (found,) = json.loads(done.stdout)["findings"]
    assert (found["rule"], found["severity"], found["outcome"]) == ("ring-head-apart", "note", "at-risk")


def test_layouts_of_a_compiled_file(project):
    text = HEADER.replace("size; unsigned long head; unsigned long pad[16];", "size; unsigned long pad[16]; unsigned long head;")
    (project / "old.c").write_text(f"{text}struct ring v;\n")
    subprocess.run([tools.need("gcc"), "-g", "-c", "old.c"], cwd=project, check=True)
    assert json.loads(run("infer", "ring.c", "old.o", "--format", "json", cwd=project).stdout)["notes"] == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("words", "exit_status", "message"), [
    (("infer", "nowhere.c"), 3, "no such file"),
    (("infer", "empty"), 3, "has no C source that is built"),
    (("infer", "ring.o"), 2, "give C sources too"),
    (("infer", "ring.c", "--struct", "typo"), 3, "no function of these sources uses a field of a struct typo"),
    (("accesses", "ring.c", "--struct", "typo"), 3, "no function of these sources uses a field of a struct typo"),
    (("infer", "ring.c", "--profile", "ring.h"), 3, "perf report"),
    (("infer", "gone.json"), 3, "gone.c"),
    (("infer", "cpp.json"), 0, "C++"),
    (("accesses", "ring.c", "--rules", "bad.toml"), 2, "`effect` cannot be `loks`"),
    (("accesses", "ring.c", "--rules", "entries.toml"), 2, "must be from 0 to 1000"),
])  # fmt: skip
def test_what_cannot_be_told(project, words, exit_status, message):
    (project / "empty").mkdir()
    subprocess.run([tools.need("gcc"), "-g", "-c", "ring.c"], cwd=project, check=True)
    for name, file in (("gone", "gone.c"), ("cpp", "x.cc")):
        entries = [{"file": file, "arguments": ["cc", file]}, {"file": "ring.c", "arguments": ["cc", "ring.c"]}]
        (project / f"{name}.json").write_text(json.dumps(entries))
    (project / "bad.toml").write_text('[functions.take]\neffect = "loks"\n')
    (project / "entries.toml").write_text('[entries]\nmain = 1e9\n')
    done = run(*words, cwd=project)
    assert (done.returncode, message in done.stderr) == (exit_status, True), done.stderr


def test_bytes_do_not_depend_on_processes_or_the_cache(project, monkeypatch, tmp_path_factory):
    monkeypatch.delenv("LAYOUTLINT_NO_CACHE", raising=False)
    for number in range(3):
        (project / f"more{number}.c").write_text(SOURCE.replace("take", f"take{number}").replace("main", f"main{number}").replace("shared", f"s{number}"))
    outputs = {run("infer", ".", "--no-compile-commands", "--format", "json", "--jobs", jobs, cwd=project).stdout for jobs in ("1", "3", "3")}
    (output,) = outputs
    assert json.loads(output)["units"] == 4


SHARED = """
struct node { unsigned long size; unsigned long head; unsigned long pad[16]; };
static inline void take(struct node *n) { __atomic_fetch_add(&n->COUNTER, 1, 5); }
static inline unsigned long size(struct node *n) { return n->size; }
"""
USER = '#define COUNTER %s\n#include "%s"\nstruct node %s;\nint main(void) { take(&%s); return size(&%s); }\n'


def notes(folder, *words: str) -> list[tuple[str, str, list[str]]]:
    found = json.loads(run("infer", *words, "--format", "json", cwd=folder).stdout)
    return [(each["file"], each["writer"], each["victims"]) for each in found["notes"]]


@pytest.fixture
def two_programs(tmp_path):
    """Two structs of one name in two headers, two functions `main`."""
    (tmp_path / "one.h").write_text(SHARED)
    (tmp_path / "two.h").write_text(SHARED.replace("unsigned long pad[16]", "int other"))
    (tmp_path / "one.c").write_text(USER % ("head", "one.h", "a", "a", "a"))
    (tmp_path / "two.c").write_text(USER % ("other", "two.h", "b", "b", "b"))
    return tmp_path


def test_structs_of_one_name_are_told_apart(two_programs):
    expected = [("one.h", "head", ["size"]), ("two.h", "other", ["size"])]
    assert sorted(notes(two_programs, "one.c", "two.c")) == expected
    found = json.loads(run("accesses", "one.c", "two.c", "--format", "json", cwd=two_programs).stdout)
    assert {(each["defined_in"], each["path"]) for each in found["fields"]} == {
        ("one.h", "head"), ("one.h", "size"), ("two.h", "other"), ("two.h", "size"),
    }  # fmt: skip


def test_a_struct_of_a_compiled_file_that_could_be_several(two_programs):
    (two_programs / "own.c").write_text("struct node { unsigned long size, head, more[9]; } v;\n")
    subprocess.run([tools.need("gcc"), "-g", "-c", "own.c"], cwd=two_programs, check=True)
    done = run("infer", "one.c", "two.c", "own.o", "--format", "json", cwd=two_programs)
    assert json.loads(done.stdout)["notes"] == []


def test_what_the_cache_has_of_other_runs_changes_nothing(two_programs, monkeypatch, tmp_path_factory):
    """The layout of a header's struct is kept with the first unit of a run, and the second run has only the other unit."""
    (two_programs / "three.c").write_text(USER.replace("main", "run") % ("head", "one.h", "c", "c", "c"))
    for path in two_programs.iterdir():
        os.utime(path, (1e9, 1e9))
    monkeypatch.delenv("LAYOUTLINT_NO_CACHE", raising=False)
    notes(two_programs, "one.c", "three.c", "--jobs", "1")
    assert notes(two_programs, "three.c") == [("one.h", "head", ["size"])]


def test_functions_of_headers_that_macros_of_the_source_change(two_programs):
    """Each source has its own version of them, however many processes read them."""
    (two_programs / "more.c").write_text(USER.replace("main", "run") % ("size", "one.h", "d", "d", "d"))
    outputs = {run("accesses", "one.c", "more.c", "--format", "json", "--jobs", jobs, cwd=two_programs).stdout for jobs in "1244"}
    assert len(outputs) == 1
    found = json.loads(outputs.pop())["fields"]
    assert {(each["path"], use["effect"]) for each in found for use in each["uses"]} == {("head", "atomic"), ("size", "atomic"), ("size", "read")}


@pytest.mark.parametrize(("words", "message"), [
    (("infer", "ring.h"), "these sources define no function"),
    (("accesses", "ring.h"), "these sources define no function"),
    (("infer", "ring.c", "--profile", "profile.txt"), "no function of the profile is in these sources"),
])  # fmt: skip
def test_nothing_to_look_at_is_not_a_result(project, words, message):
    (project / "profile.txt").write_text("  12.00%  [k] elsewhere\n")
    done = run(*words, cwd=project)
    assert (done.returncode, message in done.stderr) == (3, True)
