"""As documented in README.md and docs/ci.md: on a vmlinux, and at the top of a kernel tree with nothing built."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command import ROOT, run

pytestmark = pytest.mark.real

RULE = "address-space-i-mmap-apart-from-rwsem"
JUDGED = [
    # kernel, outcome, violating bases of address_space: broken before Linux 6.9, kept by its fix, undone by 7.2
    ("headers", "at-risk", [0, 8, 16, 24, 32, 48, 56]),
    ("next-headers", "kept", []),
    ("newest-headers", "at-risk", [0, 56]),
]


@pytest.mark.parametrize(("name", "outcome", "bases"), JUDGED, ids=[case[0] for case in JUDGED])
def test_check_here_at_the_top_of_a_tree(kernel, name, outcome, bases):
    done = run("check", ".", "--format", "json", cwd=kernel(name))
    report = json.loads(done.stdout)
    found = [finding for finding in report["findings"] + report["kept"] if finding["rule"] == RULE]
    assert [(f["outcome"], f["placements"]["bases"]) for f in found] == [(outcome, bases)]
    assert done.returncode == report["exit"] == (0 if outcome == "kept" else 1)


@pytest.mark.skipif(not Path("/sys/kernel/btf/vmlinux").exists(), reason="the running kernel does not show its types")
def test_the_running_kernel():
    done = run("check", "/sys/kernel/btf/vmlinux", "--format", "json")
    report = json.loads(done.stdout)
    assert report["inputs"][0]["reader"] == "btf"
    assert report["coverage"]["applied"] > 0
    assert done.returncode in (0, 1)


def test_the_readme_shows_what_is_printed(newest):
    """The output in the README is what the command in it prints, but for the name of the file."""
    shown = re.search(r"```text\n\$ layoutlint check vmlinux (.*)\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert shown is not None
    done = run("check", newest, *shown[1].split())
    assert done.returncode == 1
    assert done.stdout.replace(str(newest), "vmlinux") == shown[2]
