"""As documented in README.md and docs/ci.md: on a vmlinux, and at the top of a kernel tree with nothing built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.command import run

pytestmark = pytest.mark.real

RULE = "address-space-i-mmap-apart-from-rwsem"
JUDGED = [
    # kernel, outcome, violating bases of address_space: the fix is in 6.9, and undone in 7.2
    ("headers", "at-risk", [0, 8, 16, 24, 32, 48, 56]),
    ("next-headers", "kept", []),
    ("newest-headers", "at-risk", [0, 56]),
]


@pytest.mark.parametrize(("name", "outcome", "bases"), JUDGED, ids=[case[0] for case in JUDGED])
def test_check_here_at_the_top_of_a_tree(measured, name, outcome, bases):
    done = run("check", ".", "--format", "json", cwd=measured(name))
    report = json.loads(done.stdout)
    found = [finding for finding in report["findings"] + report["kept"] if finding["rule"] == RULE]
    assert [(f["outcome"], f["placements"]["bases"]) for f in found] == [(outcome, bases)]
    failing = [f for f in report["findings"] if f["outcome"] in ("broken", "at-risk") and f["severity"] != "note"]
    assert done.returncode == report["exit"] == (1 if failing else 0)


@pytest.mark.skipif(not Path("/sys/kernel/btf/vmlinux").exists(), reason="the running kernel does not show its types")
def test_the_running_kernel():
    done = run("check", "/sys/kernel/btf/vmlinux", "--format", "json")
    report = json.loads(done.stdout)
    assert report["inputs"][0]["reader"] == "btf"
    assert report["coverage"]["applied"] > 0
    assert done.returncode in (0, 1)
