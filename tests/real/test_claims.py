"""What comments in the headers of real kernels claim about cache lines: docs/contributing/kernel-findings.md, and within its time."""

from __future__ import annotations

import json
import re
import resource
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.harness.command import ROOT, run

pytestmark = pytest.mark.real

DOCUMENT = (ROOT / "docs/contributing/kernel-findings.md").read_text()
ROWS = re.findall(r"^\| ([\d.]+) \| (\d+), in .*? \| (none|1: in struct file, .*?) \|$", DOCUMENT, re.M)
TREES = {"6.1": "headers", "6.12": "next-headers", "7.2": "newest-headers"}
SECONDS = 30
"""Of one processor, for the headers of a kernel."""


@dataclass(frozen=True)
class Claims:
    """The report of a run, the findings on comments among its findings, and the CPU time of the run in seconds."""

    report: dict
    found: list[dict]
    seconds: float


@cache
def claims(*words: str | Path) -> Claims:
    asked = ("check", *words, "--no-packs", "--no-annotations", "--comments", "--format", "json")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(*asked, seconds=600, PYTHONHASHSEED="0")  # a child of this process, whose CPU time can be read
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = json.loads(done.stdout)
    found = [f for f in (*report["findings"], *report["kept"]) if f["intent"]["by"] == "comment"]
    return Claims(report, found, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def test_the_document_has_its_table():
    assert [row[0] for row in ROWS] == list(TREES)


@pytest.mark.parametrize(("version", "number", "stale"), ROWS, ids=[row[0] for row in ROWS])
def test_header_trees(measured, version, number, stale):
    claimed = claims(measured(TREES[version]))
    assert 0.1 < claimed.seconds < SECONDS
    assert len(claimed.found) == int(number)
    if stale == "none":
        assert claimed.report["findings"] == []
    else:
        (finding,) = claimed.report["findings"]
        (field, offset, boundary) = re.search(r"`(\w+)` begins at (\d+), not at the boundary of (\d+) bytes", stale).groups()
        assert finding["rule"] == f"comment/file/{field}"
        assert finding["message"].endswith(f"begins at {offset}, {int(boundary) - int(offset)} bytes before {boundary}")


@pytest.mark.parametrize(("vmlinux", "headers"), [("next", "next-headers"), ("newest", "newest-headers")])
def test_debug_information_and_text_say_the_same(kernel, vmlinux, headers):
    common = kernel(headers).parent / kernel(headers).name.replace("cloud-amd64", "common")
    compiled, text = claims(kernel(vmlinux), "--sources", common).found, claims(kernel(headers)).found
    assert [(f["rule"], f["outcome"], f["fields"][0]["offset"]) for f in sorted(compiled, key=lambda f: f["rule"])] == [
        (f["rule"], f["outcome"], f["fields"][0]["offset"]) for f in sorted(text, key=lambda f: f["rule"])
    ]
