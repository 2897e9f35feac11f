"""Snapshots of real kernels: verdicts are those of the kernel, nothing differs, and a later kernel does not have the layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness import json_schemas
from tests.harness.command import run

pytestmark = pytest.mark.real
READERS = {"dwarf": (), "btf": ("--reader", "btf")}


def verdicts(path: Path | str, *words: str, cwd: Path) -> tuple[int, Any, Any]:
    """What a check of the shipped rules says, without lines and without the reasons for placements."""
    done = run("check", path, "--format", "json", *words, cwd=cwd, seconds=300)
    report = json.loads(done.stdout)
    rows = {
        (each["rule"], each["struct"], each["outcome"], each["message"], each["placements"]["total"], tuple(each["placements"]["bases"]))
        for each in (*report["findings"], *report["kept"])
    }
    return done.returncode, rows, report["coverage"]


@pytest.mark.parametrize(("name", "reader"), [("cloud", "btf"), ("next", "dwarf")])
def test_a_kernel(name, reader, kernel, tmp_path):
    path, words = kernel(name), READERS[reader]
    done = run("snapshot", path, *words, "--output", "k.json", cwd=tmp_path, seconds=300)
    assert done.returncode == 0
    assert json_schemas.snapshot_mistakes((tmp_path / "k.json").read_text()) == []
    assert verdicts(path, *words, cwd=tmp_path) == verdicts("k.json", cwd=tmp_path)
    for sides in ((path, "k.json"), ("k.json", path)):
        done = run("diff", *sides, *words, cwd=tmp_path, seconds=300)
        assert (done.returncode, done.stdout.startswith("nothing differs: compared ")) == (0, True)
    held = run("check", path, "--snapshot", "k.json", "--no-packs", *words, cwd=tmp_path, seconds=300)
    assert held.returncode == 0, held.stdout


def test_a_tree(kernel, tmp_path):
    name = "next-headers"
    words = ("--struct", "address_space", "--struct", "page")
    assert run("snapshot", kernel(name), *words, "--output", "t.json", cwd=tmp_path, seconds=300).returncode == 0
    done = run("diff", kernel(name), "t.json", "--struct", "address_space", cwd=tmp_path, seconds=300)
    assert (done.returncode, done.stdout.startswith("nothing differs: compared ")) == (0, True)


def test_what_a_later_kernel_changed(kernel, tmp_path):
    words = ("--struct", "address_space", "--output", "k.json")
    assert run("snapshot", kernel("next"), *words, cwd=tmp_path).returncode == 0
    done = run("check", kernel("newest"), "--snapshot", "k.json", "--no-packs", "--format", "json", cwd=tmp_path)
    (finding,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, finding["rule"], finding["outcome"]) == (1, "snapshot/address_space", "broken")
    assert "192 -> 152 bytes, fields across two lines 0 -> 1; resized `invalidate_lock`: 40 -> 32 bytes, because struct rw_semaphore changed" in finding["message"]
