"""`diff --uses`: fields that share a line more often than before, ranked by what functions do to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import run
from tests.harness.json_schemas import mistakes

OLD = "struct ring { unsigned long size, mask, pad[16], tail, head, cold; };\n"
SOURCE = """
#include "new/ring.h"
struct ring shared;
void take(struct ring *r) { __atomic_fetch_add(&r->head, 1, 5); }
unsigned long size(struct ring *r) { unsigned long n = 0; for (int i = 0; i < 9; i++) n += r->size; return n + r->mask; }
int main(void) { take(&shared); return size(&shared); }
"""


def compare(folder: Path, old: str, new: str, *words: str, source: str = SOURCE) -> Any:
    for name, text in (("old", old), ("new", new)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "ring.h").write_text(text)
    (folder / "ring.c").write_text(source)
    return run("diff", "old/ring.h", "new/ring.h", *words, cwd=folder)


def likely(done: Any) -> Any:
    found = json.loads(done.stdout)
    assert mistakes(done.stdout) == []
    assert found["exit"] == done.returncode
    return found["likely_sharing"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("new", "pairs"), [
    # the written field and the read one, in how many of 8 placements, and the rank among the pairs of the writer
    ("struct ring { unsigned long size, head, mask, pad[16], tail, cold; };",
     [("head", "size", [0, 7], 1), ("head", "mask", [0, 7], 2)]),
    ("struct ring { unsigned long mask, tail, head, cold, pad[16], size; };", [("head", "mask", [0, 6], 1)]),
    ("struct ring { unsigned long size, mask, tail, pad[16], head, cold; };", []),  # nobody reads `tail`
    ("struct ring { unsigned long size, mask, pad[12], tail, head, cold; };", []),  # nearer, and still apart
    ("struct ring { unsigned long size, mask, pad[4], tail, head, cold; };",
     [("head", "mask", [0, 2], 1), ("head", "size", [0, 1], 2)]),
    ("struct ring { unsigned long size, mask, pad[16], tail, head, cold, more; };", []),
    (OLD, []),
])  # fmt: skip
def test_pairs(tmp_path, new, pairs):
    found = likely(compare(tmp_path, OLD, new, "--uses", "ring.c", "--format", "json"))
    rows = [(*each["fields"], each["violating"], each["rank_of_writer"]) for each in found["pairs"]]
    assert (sorted(rows), [each["rank"] for each in found["pairs"]]) == (sorted(pairs), list(range(1, len(pairs) + 1)))


def test_the_order_is_that_of_the_score(tmp_path):
    new = "struct ring { unsigned long size, head, mask, pad[16], tail, cold; };"
    first, second = likely(compare(tmp_path, OLD, new, "--uses", "ring.c", "--format", "json"))["pairs"]
    assert (first["fields"], first["score"] > second["score"]) == (["head", "size"], True)  # read in a loop
    assert first["reasons"] == ["`head` is changed atomically in 1 function (take)", "`size` is read in 1 function (size), never written"]


@pytest.mark.parametrize(("words", "in_text"), [
    ((), "`head` and `size` share a line in 0 of 8 -> 7 of 8 placements; `head` is changed atomically in 1 function (take)"),
    (("--format", "markdown"), "share a line in 0 of 8 -&#62; 7 of 8 placements"),
])  # fmt: skip
def test_formats_for_people(tmp_path, words, in_text):
    new = "struct ring { unsigned long size, head, mask, pad[16], tail, cold; };"
    done = compare(tmp_path, OLD, new, "--uses", "ring.c", *words)
    assert (done.returncode, in_text in " ".join(done.stdout.split())) == (0, True), done.stdout


def test_a_renamed_field_came_to_nothing(tmp_path):
    """It shared the lines before, by its old name."""
    new = OLD.replace("mask, pad[16]", "mask; unsigned long count; unsigned long pad[16]").replace(", head", "")
    old = new.replace("count", "head")
    source = SOURCE.replace("r->head", "r->count")
    assert likely(compare(tmp_path, old, new, "--uses", "ring.c", "--format", "json", source=source))["pairs"] == []


@pytest.mark.parametrize("words", [(), ("--format", "markdown"), ("--format", "sarif")])
def test_without_sources_nothing_is_added(tmp_path, words):
    new = "struct ring { unsigned long size, head, mask, pad[16], tail, cold; };"
    assert "likel" not in compare(tmp_path, OLD, new, *words).stdout


def test_without_sources_the_key_is_null(tmp_path):
    new = "struct ring { unsigned long size, head, mask, pad[16], tail, cold; };"
    assert likely(compare(tmp_path, OLD, new, "--format", "json")) is None


@pytest.mark.parametrize(("source", "uses", "exit_status", "message"), [
    (SOURCE, "gone.c", 2, "no such file or directory"),
    (SOURCE, "elf.o", 2, "is compiled"),
    ("int x;\n", "ring.c", 3, "these sources define no function"),
    ("int main(void) { return 0; }\n", "ring.c", 0, "no function of the sources uses a field of a struct that changed"),
    ('#include "gone.h"\n' + SOURCE, "ring.c", 3, "gone.h"),
    (SOURCE, "empty", 3, "has no C source that is built"),
])  # fmt: skip
def test_what_cannot_be_told(tmp_path, source, uses, exit_status, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "elf.o").write_bytes(b"\x7fELF" + bytes(60))
    new = "struct ring { unsigned long size, head, mask, pad[16], tail, cold; };"
    done = compare(tmp_path, OLD, new, "--uses", uses, source=source)
    assert (done.returncode, message in " ".join((done.stdout + done.stderr).split())) == (exit_status, True), done.stdout + done.stderr


def test_a_placement_that_a_rule_file_states(tmp_path):
    (tmp_path / "layoutlint.toml").write_text('[struct.ring]\nplacement = "aligned:64"\n')
    new = "struct ring { unsigned long size, mask, pad[4], tail, head, cold; };"
    found = likely(compare(tmp_path, OLD, new, "--uses", "ring.c", "--format", "json"))
    assert [(each["violating"], each["total"]) for each in found["pairs"]] == [([0, 1], 1)] * 2
