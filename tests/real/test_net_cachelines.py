"""docs/contributing/kernel-findings.md against real kernels: the lines of each path, the drift, the marks, and Linux's own assertions."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from tests.harness.command import ROOT, run

pytestmark = pytest.mark.real

DOCUMENT = (ROOT / "docs/contributing/kernel-findings.md").read_text()
KERNELS = {"6.1": "cloud", "6.12": "next", "7.2": "newest"}
TABLES = {"6.1": "6.12", "6.12": "6.12", "7.2": "7.2"}
FILES = {name: name for name in ("tcp_sock", "net_device", "inet_sock", "inet_connection_sock")} | {"netns_ipv4": "netns_ipv4_sysctl"}
METRICS = re.findall(r"^\| (\w+) \| ([\d.]+) \| (\d+) \| ([\d,]+) \| (\S+ \(\d+\)) \| (\S+ \(\d+\)) \| (\S+ \(\d+\)) \|$", DOCUMENT, re.M)
DRIFT = re.findall(r"^\| (\w+) \| ([\d.]+) \| (\d+) \| (\d+) \| (\d+) \|$", DOCUMENT, re.M)
MARKED = {
    "6.12": {"sock": 6, "tcp_sock": 6, "net_device": 3, "netns_ipv4": 4, "ipv6_devconf": 1, "page_pool": 1},
    "7.2": {"sock": 6, "tcp_sock": 6, "net_device": 3, "netns_ipv4": 4, "ipv6_devconf": 1, "page_pool": 1, "Qdisc": 2, "netkit": 2,
            "netns_sysctl_ipv6": 1},
}  # fmt: skip


@cache
def _check(at: Path, tables: str, folder: Path) -> dict[str, dict]:
    """What the imported tables of a version find in a kernel, by rule."""
    for struct, file in FILES.items():
        done = run("rules", "import", "net_cachelines", f"fixtures/net_cachelines/{tables}/{file}.rst", "--output", folder / f"{struct}.toml")
        assert done.returncode == 0
    report = json.loads(run("check", at, "--rules", folder, "--no-packs", "--format", "json", seconds=600).stdout)
    return {finding["rule"]: finding for finding in report["findings"] + report["kept"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = {version: tmp_path_factory.mktemp("tables") for version in KERNELS}
    return made.__getitem__


@pytest.fixture
def found(measured, folder):
    def find(version: str) -> dict[str, dict]:
        return _check(measured(KERNELS[version]), TABLES[version], folder(version))

    return find


def _lines(finding: dict) -> tuple[str, str, str]:
    """Fields, bytes, and lines now with those at best, as the document has them."""
    message = finding["message"]
    fields, size = re.search(r"the (\d+) field", message)[1], re.search(r"hold their ([\d,]+) bytes", message)[1]
    low, high = re.search(r"touch(?:es)? (\d+)(?: to (\d+))? line", message).groups()
    if finding["outcome"] == "at-risk":
        low, high = str(int(low) - 1), low
    enough = re.search(r"(\d+) would hold", message)
    best = enough[1] if enough else high or low
    return fields, size, f"{low}{f'-{high}' if high else ''} ({best})"


def test_the_document_has_its_tables():
    assert (len(METRICS), len(DRIFT)) == (9, 6)


@pytest.mark.parametrize(("struct", "version", "fields", "size", "tx", "rx", "both"), METRICS, ids=[" ".join(row[:2]) for row in METRICS])
def test_lines_of_a_path(found, struct, version, fields, size, tx, rx, both):
    rules = found(version)
    output = [_lines(rules[f"{struct}-lines-{side}"]) for side in ("tx", "rx", "any")]
    assert output[2][:2] == (fields, size)
    assert tuple(lines for _, _, lines in output) == (tx, rx, both)


@pytest.mark.parametrize(("struct", "version", "without_row", "without_field", "wrong"), DRIFT, ids=[" ".join(row[:2]) for row in DRIFT])
def test_drift(found, struct, version, without_row, without_field, wrong):
    rules = found(version)
    message = rules[f"{struct}-table"]["message"]
    counts = [re.search(pattern, message) for pattern in (r"(\d+) fields? of \d+ (?:is|are) not", r"(\d+) declarations? ha")]
    assert [count[1] if count else "0" for count in counts] == [without_row, without_field]
    marks = rules[f"marks/{struct}"]
    assert str(len(marks["fields"]) if marks["outcome"] == "broken" else 0) == wrong


@pytest.mark.parametrize("reader", ["dwarf", "btf"])
@pytest.mark.parametrize("version", MARKED)
def test_marks_are_kept(measured, version, reader):
    """All structs of the kernel; `sock` starts on a line, as kernel/groups says, and on none of its own."""
    at = measured(KERNELS[version])
    report = json.loads(run("check", at, "--struct", "*", "--reader", reader, "--format", "json", seconds=600).stdout)
    marks = [f for f in report["findings"] + report["kept"] if f["rule"].startswith("marks/")]
    assert {f["struct"]: len(re.findall(r"`\w+` at \d+\.\.\d+", f["message"])) for f in marks} == MARKED[version]
    assert {f["outcome"] for f in marks} == {"kept"}


ASSERTED = [line.split() for line in (ROOT / "fixtures/net_cachelines/6.12/asserted").read_text().splitlines()]
"""Struct, group and member of each CACHELINE_ASSERT_GROUP_MEMBER in Linux 6.12's net/; or a `<=` and bytes, of _SIZE."""


def test_what_linux_asserts_is_what_we_write(measured):
    structs = sorted({struct for struct, *_ in ASSERTED})
    done = run("rules", "asserts", *structs, "--in", measured("next"))
    assert done.returncode == 0
    members = set(re.findall(r"MEMBER\(struct (\w+), (\w+), (\w+)\)", done.stdout))
    sizes = {(s, g): int(n) for s, g, n in re.findall(r"SIZE\(struct (\w+), (\w+), (\d+)\)", done.stdout)}
    theirs = {tuple(words) for words in ASSERTED if "<=" not in words}
    assert theirs - members == set()
    assert (len(theirs), len(members)) == (173, 189)
    assert [words for words in ASSERTED if "<=" in words and sizes[words[0], words[1]] > int(words[3])] == []
