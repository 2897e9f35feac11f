"""`accesses` and `infer` on sources, databases and kernels, as users call them."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.harness import tools
from tests.harness.command import run

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


def test_accesses(project):
    done = run("accesses", ".", "--struct", "ring", cwd=project)
    assert (done.returncode, "  head: atomic in 1\n    atomic by take (ring.c:4)\n" in done.stdout) == (0, True)


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


@pytest.mark.parametrize(("words", "exit_status", "message"), [
    (("infer", "nowhere.c"), 3, "no such file"),
    (("infer", "empty"), 3, "has no C source that is built"),
    (("infer", "ring.o"), 2, "name some"),
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
