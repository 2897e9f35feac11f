"""`json`: the contract of schema `layoutlint/report/1`, key by key."""

from __future__ import annotations

import json

import pytest

from layoutlint.reports import FORMATS
from tests.reports.sample import CLEAN, DAMAGED, MATRIX, REPORT

FINDING = [
    "rule", "kind", "struct", "definition", "outcome", "severity", "message", "advice", "advice_kind", "why", "intent", "evidence", "origin", "origins",
    "input", "also", "fields",
    "placements", "randomised", "randomisable", "around", "rank", "fingerprint", "fingerprint_state",
    "suppressed", "expired", "state", "builds",
]  # fmt: skip
KEYS = [
    # where, keys in order
    ([], ["schema", "builds", "inputs", "findings", "kept", "unread", "coverage", "baseline", "saved_evidence", "exit"]),
    (["inputs", 0], ["path", "build", "reader", "target", "build_id", "structs", "files", "compile_commands", "notes"]),
    (["findings", 0], FINDING),
    (["findings", 2], FINDING),
    (["kept", 0], FINDING),
    (["findings", 0, "fields", 0], ["path", "offset", "size", "file", "line"]),
    (["findings", 0, "intent"], ["by", "file", "line"]),
    (["findings", 0, "origins", 0], ["origin", "support", "text", "file", "line", "report", "date"]),
    (["findings", 0, "placements"], ["line_size", "line_pairs", "total", "violating", "bases", "basis", "orders", "containers"]),
    (["unread", 0], ["origin", "reason", "files", "builds", "file", "line"]),
    (["coverage"], ["rules", "applied", "structs", "unresolved", "skipped", "guessed", "settings", "policy", "today", "overridden", "not_covered"]),
    (["coverage", "not_covered", 0], ["origin", "reason", "structs", "rules", "builds"]),
]

VALUES = [
    (["schema"], "layoutlint/report/1"),
    (["exit"], 1),
    (["inputs", 0, "target"], "x86_64"),
    (["inputs", 0, "structs"], 3),
    (["findings", 0, "outcome"], "broken"),
    (["findings", 0, "placements"], {"line_size": 64, "line_pairs": False, "total": 8, "violating": 8,
                                     "bases": [0, 8, 16, 24, 32, 40, 48, 56], "basis": None, "orders": None, "containers": []}),
    (["findings", 0, "fields", 0], {"path": "cpu", "offset": 20, "size": 4, "file": "example.h", "line": 22}),
    (["findings", 0, "definition"], {"file": "example.h", "line": 1, "origin": "example.c"}),
    (["findings", 1, "placements", "bases"], [0]),
    (["findings", 2, "outcome"], "unknown"),
    (["findings", 2, "struct"], "gone"),
    (["findings", 2, "placements"], {"line_size": None, "line_pairs": False, "total": 0, "violating": 0, "bases": [],
                                     "basis": None, "orders": None, "containers": []}),
    (["findings", 3, "suppressed"], "known since 2023"),
    (["findings", 3, "fields", 1], {"path": "populated", "offset": 72, "size": 0, "file": None, "line": None}),
    (["unread", 0, "origin"], "drivers/net.ko"),
    (["unread", 0, "files"], []),
    (["unread", 1, "files"], ["modules/a.ko", "modules/b.ko"]),
    (["inputs", 0, "files"], None),
    (["inputs", 1, "files"], 312),
    (["findings", 0, "also"], []),
    (["findings", 1, "input"], "modules/net/one.ko"),
    (["findings", 1, "also"], ["modules/net/two.ko", "modules/net/three.ko", "modules/net/four.ko"]),
]  # fmt: skip


def place_at(path):
    value = json.loads(FORMATS["json"](REPORT))
    for step in path:
        value = value[step]
    return value


@pytest.mark.parametrize(("path", "keys"), KEYS, ids=[".".join(map(str, path)) or "report" for path, _ in KEYS])
def test_keys(path, keys):
    assert list(place_at(path)) == keys


@pytest.mark.parametrize(("path", "value"), VALUES, ids=[".".join(map(str, path)) for path, _ in VALUES])
def test_values(path, value):
    assert place_at(path) == value


@pytest.mark.parametrize(("name", "report"), [("report.json", REPORT), ("clean.json", CLEAN), ("matrix.json", MATRIX)])
def test_json(name, report, golden):
    rendered = FORMATS["json"](report)
    assert rendered == json.dumps(json.loads(rendered), indent=2) + "\n"
    golden(name, rendered)


def test_a_failure_has_the_place_of_its_error():
    places = {"file": "old.snapshot", "line": 3}
    (read,) = json.loads(FORMATS["json"](DAMAGED))["unread"]
    assert read == {"origin": "old.snapshot:3", "reason": "`size` is missing", "files": [], "builds": [], **places}
    assert "::error file=old.snapshot,line=3,title=not read::" in FORMATS["github"](DAMAGED)
