"""Profiles of address_space, at the fields of whole kernels."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import ROOT, run

pytestmark = pytest.mark.real

P = "fixtures/profiles"
AFTER = {0: "gfp_mask", 4: "i_mmap_writable.counter", 8: "i_mmap.rb_root.rb_node", 16: "i_mmap.rb_leftmost"}

NAMED = ("--struct", "address_space")
ROWS = [
    # kernel, report, first byte of the struct on the line; None if its fields contradict the code; the structs
    ("next", "c2c-address-space-after.txt", 64, ()),
    ("newest", "c2c-address-space-after.txt", 56, NAMED),
    ("cloud", "c2c-address-space-after.txt", None, NAMED),
    ("next", "c2c-address-space-before.txt", None, NAMED),
]


@pytest.mark.parametrize(("name", "report", "first", "chosen"), ROWS)
def test_a_line_of_address_space(kernel, name, report, first, chosen):
    """Before the patch of Linux 6.9, the lock followed `flags`, as in none of these kernels."""
    done = run("evidence", f"{P}/{report}", "--in", kernel(name), *chosen, "--format", "json", cwd=ROOT, seconds=600)
    document = json.loads(done.stdout)
    if first is None:
        assert (done.returncode, document["structs"], len(document["unplaced"])) == (3, [], 1)
        return
    (struct,) = document["structs"]
    (line,) = struct["lines"]
    paths = {field["at"] - first: field["path"] for field in line["fields"]}
    assert (struct["name"], line["first_byte"], {at: paths[at] for at in AFTER}) == ("address_space", first, AFTER)
    assert (line["identified_by"], line["contradicting_code"]) == ("code", [])


def test_a_kernel_has_no_objects_at_addresses_of_programs(kernel):
    done = run("evidence", f"{P}/c2c-hitm.txt", "--in", kernel("next"), "--struct", "page", cwd=ROOT, seconds=600)
    assert (done.returncode, "the address is one of a program" in done.stdout) == (3, True)
