"""What comments in the headers of real kernels claim about cache lines: docs/annotations.md, and within its time."""

from __future__ import annotations

import json
import re
import resource

import pytest

from tests.harness.command import ROOT, run
from tests.real import kernels

pytestmark = pytest.mark.real

DOCUMENT = (ROOT / "docs/annotations.md").read_text()
ROWS = re.findall(r"^\| ([\d.]+) \| (\d+), in .*? \| (none|1: in struct file, .*?) \|$", DOCUMENT, re.M)
TREES = {"6.1": "headers", "6.12": "next-headers", "7.2": "newest-headers"}
SECONDS = 60
"""Of one processor, for the headers of a kernel."""


def claims(*words) -> tuple[dict, list[dict]]:
    report = json.loads(run("check", *words, "--no-packs", "--no-annotations", "--comments", "--format", "json", seconds=600).stdout)
    return report, [f for f in (*report["findings"], *report["kept"]) if f["intent"]["by"] == "comment"]


def test_the_document_has_its_table():
    assert [row[0] for row in ROWS] == list(TREES)


@pytest.mark.parametrize(("version", "number", "stale"), ROWS, ids=[row[0] for row in ROWS])
def test_header_trees(kernel, version, number, stale):
    at = kernel(TREES[version])
    if ".".join(map(str, kernels.version(at))) != version:
        pytest.skip(f"{TREES[version]} is now {kernels.version(at)}; the document is about {version}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    report, found = claims(at)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < SECONDS
    assert len(found) == int(number)
    if stale == "none":
        assert report["findings"] == []
    else:
        (finding,) = report["findings"]
        (field, offset, boundary) = re.search(r"`(\w+)` begins at (\d+), not at the boundary of (\d+) bytes", stale).groups()
        assert finding["rule"] == f"comment/file/{field}"
        assert finding["message"].endswith(f"begins at {offset}, {int(boundary) - int(offset)} bytes before {boundary}")


@pytest.mark.parametrize(("vmlinux", "headers"), [("next", "next-headers"), ("newest", "newest-headers")])
def test_debug_information_and_text_say_the_same(kernel, vmlinux, headers):
    common = kernel(headers).parent / kernel(headers).name.replace("cloud-amd64", "common")
    compiled, text = claims(kernel(vmlinux), "--sources", common)[1], claims(kernel(headers))[1]
    assert [(f["rule"], f["outcome"], f["fields"][0]["offset"]) for f in sorted(compiled, key=lambda f: f["rule"])] == [
        (f["rule"], f["outcome"], f["fields"][0]["offset"]) for f in sorted(text, key=lambda f: f["rule"])
    ]
