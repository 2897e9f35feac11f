"""The metric against figures that Linux prints itself: lines and bytes of the fast path in 6.5, before and after its move.

Commit 14006f1d8fa2 brought the tables with the figures before, the commits 18fd64d25422, 43a71cd66b9c and d5fed5addb2b those after.
The configuration is Ubuntu's generic one for x86-64 without IPV6 and with DEBUG_MUTEXES: its structs have the sizes that the commit
prints. The 4 lines of net_device leave out `ip_ptr`, `ptype_all` and `ingress_queue`, which have an access.
"""

from __future__ import annotations

import json
import re

import pytest

from tests.harness.command import ROOT, run

FOLDER = "fixtures/net_cachelines/6.5"
LINES = {
    ("tcp_sock", "before"): 12, ("tcp_sock", "after"): 8,
    ("net_device", "before"): 12, ("net_device", "after"): 4,
    ("netns_ipv4", "before"): 4, ("netns_ipv4", "after"): 2,
    ("linux_mib", "before"): 6,
    ("inet_sock", "before"): 14, ("inet_connection_sock", "before"): 18,
}  # fmt: skip
"""What the commits print, by struct and order."""
BYTES = {"tcp_sock": 396, "net_device": 234, "netns_ipv4": 77, "linux_mib": 104, "inet_sock": 922, "inet_connection_sock": 1166}
DIVIDED = {("netns_ipv4", "after"), ("inet_sock", "before"), ("inet_connection_sock", "before")}
"""Figures that are bytes by 64, rounded, not lines that were counted."""
SIZES = {"net_device": 39, "inet_sock": 15, "inet_connection_sock": 22, "netns_ipv4": 12}
"""Lines of the whole structs, by the first commit; it gives 960, 1368 and 768 bytes for the last three."""
FOUND = {
    ("tcp_sock", "before"): (12, 404), ("tcp_sock", "after"): (8, 403),
    ("net_device", "before"): (12, 281), ("net_device", "after"): (4, 249),
    ("netns_ipv4", "before"): (4, 52), ("netns_ipv4", "after"): (1, 52),
    ("linux_mib", "before"): (6, 104),
    ("inet_sock", "before"): (15, 914), ("inet_connection_sock", "before"): (19, 1131),
}  # fmt: skip
"""Lines and bytes that layoutlint finds. But for linux_mib, the bytes of the commits do not follow from the tables."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The tables as rule files, but those of the counters, which an enumeration numbers, as of a struct."""
    folder = tmp_path_factory.mktemp("tables")
    for at in sorted((ROOT / FOLDER).glob("*.rst")):
        struct = ("--struct", "linux_mib") if at.name == "snmp.rst" else ()
        done = run("rules", "import", "net_cachelines", f"{FOLDER}/{at.name}", *struct, "--output", folder / f"{at.stem}.toml")
        assert done.returncode == 0
    return folder


@pytest.fixture(scope="module")
def found(tables):
    """Lines and bytes of both paths together, by struct and order."""
    figures = {}
    for order in ("before", "after"):
        command = ("check", f"{FOLDER}/{order}.c", "--rules", tables, "--no-packs", "--min-align", "64", "--ignore-missing")
        report = json.loads(run(*command, "--format", "json").stdout)
        for finding in report["findings"] + report["kept"]:
            message = re.search(r"of any side touch (\d+) lines? .* their ([\d,]+) bytes", finding["message"])
            if finding["rule"].endswith("-lines-any"):
                figures[finding["struct"], order] = (int(message[1]), int(message[2].replace(",", "")))
    return figures


def test_every_figure_is_found(found):
    assert set(found) == set(LINES)
    assert found == FOUND


@pytest.mark.parametrize("struct", SIZES)
def test_the_struct_is_as_large_as_linux_says(struct):
    shown = json.loads(run("show", f"{FOLDER}/before.c", struct, "--format", "json").stdout)
    assert -(-shown["structs"][0]["size"] // 64) == SIZES[struct]


@pytest.mark.parametrize(("struct", "order"), [case for case in LINES if case not in DIVIDED])
def test_lines_are_those_that_linux_counted(found, struct, order):
    assert found[struct, order][0] == LINES[struct, order]


def test_bytes_of_the_counters_are_those_that_linux_prints(found):
    assert found["linux_mib", "before"][1] == BYTES["linux_mib"]
