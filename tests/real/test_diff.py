"""`diff` of real kernels: what became of the structs whose layouts upstream has mended, and undone."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.harness import tools
from tests.harness.command import run
from tests.harness.effort import row

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def compare(tmp_path_factory):
    """Compares two inputs once, and reads each input once: a whole tree of headers takes half a minute."""
    kept = str(tmp_path_factory.mktemp("cache"))

    @cache
    def diff(old: Path, new: Path, *words: str) -> dict[str, Any]:
        done = run("diff", old, new, *words, "--format", "json", seconds=600, XDG_CACHE_HOME=kept)
        return json.loads(done.stdout)

    return diff


def struct(found: dict[str, Any], name: str) -> dict[str, Any]:
    ((one),) = (each for each in found["structs"] if each["name"] == name)
    return one


@pytest.fixture
def found(kernel, compare):
    return compare(kernel("next"), kernel("newest"))


class TestTwoKernels:
    """6.12 and 7.2: `address_space` came apart in 6.9, and together again before 7.2."""

    def test_the_rule_that_got_worse(self, found):
        worse = {each["rule"]: (each["before"], each["after"]) for each in found["rules"] if each["status"] == "worse"}
        assert worse["address-space-i-mmap-apart-from-rwsem"] == ("kept", "at-risk")
        assert (found["status"], found["exit"]) == ("worse", 1)

    def test_what_moved_the_lock(self, found):
        changed = struct(found, "address_space")
        (lock,) = (each for each in changed["moved"] if each["path"] == "i_mmap_rwsem")
        assert (lock["old"], lock["new"], lock["cause"]) == (144, 120, "i_private_list")
        assert {each["path"]: (each["kind"], each["struct"]) for each in changed["edits"]} == {
            "invalidate_lock": ("resized", "rw_semaphore"), "i_private_list": ("removed", None),
            "i_mmap_rwsem": ("resized", "rw_semaphore"), "i_private_data": ("removed", None),
        }  # fmt: skip
        assert "inode" in changed["containers"]
        (pair,) = changed["pairs"]
        assert (pair["fields"], pair["violating"], pair["total"]) == (["i_mmap", "i_mmap_rwsem"], [0, 2], 8)

    def test_what_was_reordered(self, found):
        changed = struct(found, "pcpu_chunk")
        assert (changed["cause"]["kind"], changed["cause"]["path"]) == ("reordered", "obj_exts")

    def test_most_structs_are_compared(self, found):
        assert found["compared"] > 8_000
        assert all(each["reason"] for each in found["not_compared"])


@pytest.mark.parametrize("name", ["next", "next-arm64"])
def test_a_kernel_is_as_it_is(kernel, name):
    done = run("diff", kernel(name), kernel(name), seconds=600)
    assert (done.returncode, done.stdout.startswith("nothing differs: compared ")) == (0, True)


def test_less_is_stated_and_nothing_changed(kernel, compare, tmp_path):
    """BTF against DWARF of one build: what BTF does not state is not compared, and nothing else differs."""
    objcopy = tools.need("objcopy")
    blob = tmp_path / "kernel.btf"
    subprocess.run([objcopy, "--dump-section", f".BTF={blob}", kernel("next"), tmp_path / "copy"], check=True)
    found = compare(kernel("next"), blob)
    assert [each["name"] for each in found["structs"] if each["status"] != "added"] == []
    assert [each["rule"] for each in found["rules"] if each["status"] in ("worse", "better")] == []
    assert {each["reason"].partition(" `")[0] for each in found["not_compared"]} == {"BTF does not state the dimensions of"}
    assert "read from dwarf before and btf now" in found["notes"]


WORSE = {
    # the struct: its rules that got worse
    "address_space": {"address-space-i-mmap-apart-from-rwsem"},
    "tcp_congestion_ops": {"tcp-congestion-fast-path-one-line"},
    "inode": set(),
}


@pytest.mark.parametrize("name", [*WORSE, row("*")])
def test_header_trees(kernel, compare, name):
    found = compare(kernel("next-headers"), kernel("newest-headers"), "--struct", name)
    worse = {each["rule"] for each in found["rules"] if each["status"] == "worse"}
    assert worse == (set().union(*WORSE.values()) if name == "*" else WORSE[name])
    if name in ("*", "address_space"):
        changed = struct(found, "address_space")
        assert [each["path"] for each in changed["moved"] if each["path"] == "i_mmap_rwsem"] == ["i_mmap_rwsem"]


@pytest.mark.parametrize("name", ["pcpu_chunk", row("*")])
def test_private_headers_are_in_no_header_package(kernel, compare, name):
    """The rule on `pcpu_chunk` of mm/percpu-internal.h is neither compared in silence nor a change against a vmlinux."""
    found = compare(kernel("next-headers"), kernel("newest-headers"), "--struct", name)
    reasons = {each["struct"]: each["reason"] for each in found["idle_rules"] if not each["is_excluded"]}
    assert reasons["pcpu_chunk"] == "neither input has mm/, where it is defined"
    found = compare(kernel("next-headers"), kernel("next"), "--struct", name)
    (rule,) = (each for each in found["rules"] if each["struct"] == "pcpu_chunk")
    assert (rule["status"], rule["reason"]) == ("not-compared", "the old input has no mm/, where it is defined")
    assert {each["status"] for each in found["structs"]} & {"removed", "renamed"} == set()
