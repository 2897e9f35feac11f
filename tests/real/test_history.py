"""`history` over Debian's kernels, and the layouts of them that fixtures have."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import run
from tools.documents.site import KERNELS

pytestmark = [pytest.mark.real, pytest.mark.exhaustive]
VERSIONS = {"6.1": "cloud", "6.12": "next", "7.2": "newest"}


def test_versions_decide_the_order(kernel):
    """When did `i_mmap` and `i_mmap_rwsem` meet again? After 6.12, before 7.2."""
    paths = [str(kernel(VERSIONS[version])) for version in ("7.2", "6.1", "6.12")]
    done = run("history", *paths, "address_space", "--pair", "i_mmap", "i_mmap_rwsem", "--format", "json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["order"]) == (0, "version")
    assert [build["version"].rpartition(".")[0] for build in found["builds"]] == ["6.1", "6.12", "7.2"]
    assert [len(bases) for bases in found["pairs"][0]["bases"]] == [7, 0, 2]
    (rule,) = found["rules"]
    assert rule["violating"] == [7, 0, 2]
    assert [step["worse"] for step in found["steps"]] == [[], [rule["rule"]]]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_fixtures_are_layouts_of_the_kernels(path, measured, tmp_path):
    fixture = json.loads(path.read_text())
    vmlinux = measured(VERSIONS[path.stem.removeprefix("linux-")])
    written = tmp_path / "written.json"
    assert run("snapshot", vmlinux, "--output", written, seconds=300).returncode == 0
    assert json.loads(written.read_text()) == fixture
