"""`check --objects FILE`: objects of programs at the addresses where they were."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers import object_addresses
from tests.harness.command import ROOT, run
from tests.harness.tools import need

HEADER = "struct ring { long head; long pad[4]; long tail; };\nstruct other { long a; };\n"
"""`head` and `tail` are on one line where a ring starts at 0, 8 or 16."""
RULE = '[[rule]]\nid = "apart"\nstruct = "ring"\nkind = "separate"\nfields = [["head"], ["tail"]]\nwhy = "two threads"\n'
PROGRAM = """
#include <stdlib.h>
#include "ring.h"
struct ring *ring_new(void) { return calloc(1, sizeof(struct ring)); }
void ring_use(struct ring *r) { r->head++; r->tail++; }
int main(void) { for (int i = 0; i < 50; i++) ring_use(ring_new()); return 0; }
"""


def check(folder, objects: str, *options: str, rule: str = ""):
    (folder / "ring.h").write_text(HEADER)
    (folder / "layoutlint.toml").write_text(rule + RULE)
    (folder / "objects.txt").write_text(objects)
    return run("check", "ring.h", "--objects", "objects.txt", *options, cwd=folder)


@pytest.mark.parametrize(("objects", "outcome", "bases", "total", "share"), [
    ("ring 0x1028\nring 0x1068\n", "kept", [], 1, ""),
    ("ring 0x1000\nstruct ring 0xffff888100002040 2\n", "broken", [0], 1, ""),
    ("# a log\n\nring 0x1000\nring 0x1028 3\nother 0x8\n", "at-risk", [0], 2, "with 1 of 4 objects"),
    ("ring 0x1000 9\nring 0x1028\nring 0x1008\n", "at-risk", [0, 8], 3, "with 10 of 11 objects"),
])  # fmt: skip
def test_objects_are_judged_where_they_were(tmp_path, objects, outcome, bases, total, share):
    report = json.loads(check(tmp_path, objects, "--format", "json").stdout)
    (finding,) = (*report["findings"], *report["kept"])
    placements = finding["placements"]
    assert (finding["outcome"], placements["bases"], placements["total"]) == (outcome, bases, total)
    assert re.search(r"where \d+ objects? of objects.txt were|where \d+ objects of objects.txt were", placements["basis"])
    assert share in check(tmp_path, objects).stdout


@pytest.mark.parametrize(("tolerate", "status"), [(0.2, 1), (0.25, 0)])
def test_a_rule_tolerates_a_share_of_the_objects(tmp_path, tolerate, status):
    (tmp_path / "ring.h").write_text(HEADER)
    (tmp_path / "layoutlint.toml").write_text(RULE + f"tolerate = {tolerate}\n")
    (tmp_path / "objects.txt").write_text("ring 0x1000\nring 0x1028 3\n")
    assert run("check", "ring.h", "--objects", "objects.txt", cwd=tmp_path).returncode == status


@pytest.mark.parametrize(("objects", "rule", "total", "note"), [
    ("ring 0x1004\n", "", 8, "note: objects.txt is not used for struct ring: it is aligned to 8, and 1 of 1 objects are not"),
    ("ring 0x1000 5\nring 0x1028\n", '[struct.ring]\nplacement = "line"\n', 1,
     "note: layoutlint.toml:2: `line` of struct ring counts, and contradicts objects.txt, where 1 of 6 objects are elsewhere"),
    ("ring 0x1000 5\n", '[struct.ring]\nplacement = "malloc"\n', 1, ""),
    ("rings 0x1000\n", "", 8, "note: objects.txt has no object of a struct that is judged"),
])  # fmt: skip
def test_objects_that_are_not_used_are_noted(tmp_path, objects, rule, total, note):
    ended = check(tmp_path, objects, "--format", "json", rule=rule)
    report = json.loads(ended.stdout)
    (finding,) = (*report["findings"], *report["kept"])
    assert finding["placements"]["total"] == total
    assert [f"note: {each}" for each in report["inputs"][0]["notes"]] == ([note] if note else [])


@pytest.mark.parametrize(("text", "reason"), [
    ("", "has no objects"), ("# nothing\n", "has no objects"),
    *((f"ring 0x8\n{line}\n", ":2: expected STRUCT ADDRESS [COUNT]") for line in (
        "ring", "ring 1234", "ring 0x", "ring 0x1 0", "ring 0x1 -1", "ring 0x1 2 3", "ring 0x11112222333344445", "ring 0x1 9999999999999", "\0",
        "ring* 0x8", "ring 0x1 1.5", "x" * 100_000,
    )),
    ("".join(f"s{number} 0x8\n" for number in range(10_001)), ":10001: names more than 10,000 structs"),
])  # fmt: skip
def test_mistakes_are_refused_with_their_lines(tmp_path, text, reason):
    (tmp_path / "o.txt").write_text(text)
    with pytest.raises(ReadError) as refused:
        object_addresses.read(str(tmp_path / "o.txt"))
    assert reason in str(refused.value)


def test_gdb_prints_the_addresses(tmp_path):
    """By the line of docs/servers.md. malloc gives every ring 64 bytes, so all of them are at one place."""
    (tmp_path / "ring.h").write_text(HEADER)
    (tmp_path / "server.c").write_text(PROGRAM)
    (tmp_path / "layoutlint.toml").write_text(RULE)
    need("gdb")
    subprocess.run([need("gcc", "-g"), "-g", "-O0", "server.c", "-o", "server"], cwd=tmp_path, check=True)
    (line,) = (line.strip() for line in (ROOT / "docs/servers.md").read_text().splitlines() if line.startswith("    gdb "))
    subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True, capture_output=True)
    ended = run("check", "./server", "--objects", "objects.txt", "--format", "json", cwd=tmp_path)
    report = json.loads(ended.stdout)
    (finding,) = (*report["findings"], *report["kept"])
    assert (finding["outcome"], finding["placements"]["total"]) == ("kept", 1)
    assert "where 50 objects of objects.txt were" in finding["placements"]["basis"]
