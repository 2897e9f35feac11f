"""Rules on what stands around structs, and on variables, in real kernels: held against pahole and nm."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter

import pytest

from tests.harness.command import run
from tests.oracles.c_probe import need

pytestmark = pytest.mark.real

ALONE = """
[[rule]]
id = "alone"
struct = "{}"
kind = "isolated"
fields = ["*"]
around = true
why = "a test"
"""
LINE = 64


@pytest.mark.parametrize("name", ["rw_semaphore", "spinlock"])
def test_every_container_is_judged(tmp_path, kernel, name):
    vmlinux = kernel("next")
    (tmp_path / "r.toml").write_text(ALONE.format(name))
    done = run("check", vmlinux, "--no-packs", "--rules", tmp_path / "r.toml", "--format", "json")
    report = json.loads(done.stdout)
    every = (*report["findings"], *report["kept"])
    judged = Counter((f["struct"], re.sub(r"\[\d*\]", "", f["around"]["path"]), f["around"]["offset"]) for f in every)
    listed = json.loads(run("containers", vmlinux, name, "--format", "json").stdout)
    ways = Counter((c["name"], c["path"], c["offset"]) for s in listed["structs"] for c in s["containers"])
    assert judged == ways
    assert sum(ways.values()) > 50


VARIABLES = ("jiffies_64", "tasklist_lock", "mmlist_lock", "vm_committed_as", "nr_threads", "total_forks")


@pytest.mark.parametrize("name", ["next", "cloud"])
def test_variables_have_the_company_that_nm_shows(tmp_path, kernel, name):
    need("nm")
    vmlinux = kernel(name)
    rules = "".join(f'[[rule]]\nid = "{n}"\nkind = "neighbours"\nvariables = ["{n}"]\nalone = true\nwhy = "a test"\n' for n in VARIABLES)
    (tmp_path / "r.toml").write_text(rules)
    done = run("check", vmlinux, "--no-packs", "--rules", tmp_path / "r.toml", "--format", "json")
    report = json.loads(done.stdout)
    found = {f["rule"]: {p["path"] for p in f["fields"]} - {f["rule"]} for f in report["findings"]}
    listing = subprocess.run(["nm", "-nS", vmlinux], capture_output=True, text=True, check=True).stdout
    sized = [(int(a, 16), int(s, 16), n) for a, s, n in re.findall(r"^(\w+) (\w+) [bBdDrRvV] (\S+)$", listing, re.M)]
    expected = {}
    for variable in VARIABLES:
        ((at, size),) = [(a, s) for a, s, n in sized if n == variable]
        company = {n for a, s, n in sized if a // LINE <= (at + size - 1) // LINE and (a + s - 1) // LINE >= at // LINE
                   and (a + s <= at or at + size <= a)}  # fmt: skip
        if company:
            expected[variable] = company
    assert found == expected
    assert len(expected) > 1
