"""The pack `generic` on a real kernel: notes only, the ten of the document, the same from DWARF and BTF."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from tests.harness.command import ROOT, run

pytestmark = pytest.mark.real
DOCUMENT = (ROOT / "docs" / "contributing" / "guesses.md").read_text()
ROWS = re.findall(r"^\| (\d+) \| `(\w+)` \|[^|]*\| ([\d.]+) \|", DOCUMENT, re.M)


@cache
def guesses(path: str, reader: str) -> dict:
    """Return the report with all notes on a kernel."""
    done = run("check", "--pack", "generic", "--format", "json", "--reader", reader, "--guesses", "100000", path, seconds=600)
    report = json.loads(done.stdout)
    assert (done.returncode, report["exit"], done.stderr) == (0, 0, "")
    assert {finding["severity"] for finding in report["findings"]} == {"note"}
    return report


def test_the_ten_highest_are_those_of_the_document(measured):
    report = guesses(str(measured("next")), "dwarf")
    found = [(str(f["rank"]["place"]), f["struct"], f"{f['rank']['score']:.1f}") for f in report["findings"]]
    assert found[:10] == ROWS
    (message,) = report["coverage"]["guessed"]
    notes, structs = re.match(r"generic: ([\d,]+) notes on ([\d,]+) structs", message).groups()
    assert f"gives {notes} notes on {structs} structs" in DOCUMENT


def test_dwarf_and_btf_say_the_same(kernel):
    """But for the structs that the report names: what it says depends on an alignment that BTF does not tell."""
    ours, theirs = (guesses(str(kernel("next")), reader) for reader in ("dwarf", "btf"))
    a, b = ({(f["rule"], f["struct"]) for f in report["findings"]} for report in (ours, theirs))
    untold = re.search(r"could not judge (.*)$", theirs["coverage"]["guessed"][0])[1]
    assert b <= a
    assert {struct for _, struct in a - b} <= set(re.findall(r"\w+", untold))
    assert len(b) > 100
