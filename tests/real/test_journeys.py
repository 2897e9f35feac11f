"""What a new user types, from an empty folder to a finding, a picture of its lines and a rule that holds it (docs/contributing/testing.md)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.command import ROOT, run
from tests.harness.repository import commit
from tests.real import kernels

pytestmark = [pytest.mark.real, pytest.mark.exhaustive]

RULE = '[[rule]]\nid = "apart"\nstruct = "{}"\nkind = "separate"\nfields = [["{}"], ["{}"]]\nwhy = "different threads write them"\n'
RING = "struct ring {\n\tlong head;\n\tlong tail;\n\tchar more[@];\n};\n"
NIC = """\
#include <linux/netdevice.h>
#include <linux/spinlock.h>
struct nic {
	struct net_device *dev;
	spinlock_t lock;
	unsigned long packets;
	struct work_struct work ____cacheline_aligned;
};
"""
STRIDE = '[[rule]]\nid = "locks"\nkind = "stride"\nvariables = ["lru_locks"]\nwhy = "each thread takes another one"\n'
SETTINGS = '[settings]\nline-size = 32\nflags = ["--target=arm-none-eabi"]\n'
Step = tuple[dict[str, str], str, int, str]
"""The files that are written, the command, its exit status, and what it prints."""
JOURNEYS: dict[str, tuple[str, list[Step]]] = {
    # the project (none: an empty folder), and the steps
    "a header": ("", [
        ({"ring.h": RING.replace("@", "8"), "layoutlint.toml": RULE.format("ring", "head", "tail")}, "check ring.h", 1, "at-risk in 7 of 8"),
        ({}, "show ring.h ring", 0, "24 bytes"),
        ({"ring.h": RING.replace("long tail", "_Alignas(64) long tail").replace("@", "8")}, "check ring.h", 0, "1 kept"),
    ]),
    "a threaded server: Valkey": ("valkey", [
        ({}, "check src/server.h --pack generic", 0, "note: struct valkeyServer: "),
        ({}, "show src/server.h client", 0, "struct client 520 bytes"),
        ({"layoutlint.toml": RULE.format("client", "querybuf", "deferred_reply_bytes")}, "check src/server.h", 0, "1 kept"),
    ]),
    "a threaded server without its libraries: memcached": ("memcached", [
        ({}, "check memcached.h --pack generic", 3, "note: variable lru_locks: element k"),
        ({}, "show memcached.h conn", 3, "'event.h' file not found; add its folder"),
        ({"layoutlint.toml": STRIDE}, "check thread.c", 1, "error: variable lru_locks: element k"),
    ]),
    "firmware": ("", [
        ({"ring.h": RING.replace("@", "24"), "layoutlint.toml": SETTINGS + RULE.format("ring", "head", "tail")}, "check ring.h", 1, "broken in all 4 placements"),
        ({}, "show ring.h ring", 0, "32 bytes"),
        ({}, "rules asserts ring --in ring.h --c11", 0, "_Static_assert"),
    ]),
    "a kernel tree": ("next-headers", [
        ({}, "check . --struct page_pool", 0, "kept"),
        ({}, "show . page_pool", 0, "26 lines of 64 include/net/page_pool/types.h"),
        ({"layoutlint.toml": RULE.format("page_pool", "ring", "p")}, "check . --struct page_pool", 0, "kept"),
    ]),
    "a driver outside of the tree": ("", [
        ({"nic.h": NIC}, "show nic.h nic --kernel TREE", 0, "long unsigned int packets"),
        ({"layoutlint.toml": RULE.format("nic", "lock", "packets")}, "check nic.h --kernel TREE --no-packs", 1, "nic.h:5: error: struct nic: `lock` and `packets` share a line [apart]"),
        ({"nic.h": NIC.replace("packets;", "packets ____cacheline_aligned;")}, "check nic.h --kernel TREE --no-packs", 0, "1 kept"),
    ]),
    "a stable ABI": ("", [
        ({"ring.h": RING.replace("@", "8")}, "snapshot ring.h --struct ring --may-use more --output abi.json", 0, ""),
        ({"ring.h": RING.replace("char more[@]", "long used")}, "check ring.h --snapshot abi.json", 0, "1 kept"),
        ({"ring.h": RING.replace("long head;\n\tlong tail", "long tail;\n\tlong head").replace("@", "8")}, "check ring.h --snapshot abi.json", 1, "head"),
    ]),
    "a job for changes": ("repository", [
        ({"ring.h": RING.replace("@", "8"), "layoutlint.toml": ""}, "init", 0, "wrote .pre-commit-config.yaml"),
        ({"layoutlint.toml": RULE.format("ring", "head", "tail")}, "check ring.h --since HEAD", 1, "compared with HEAD: new"),
        ({}, "check ring.h --since HEAD --format github", 1, "::error file=ring.h,line=2"),
    ]),
}  # fmt: skip


def start(project: str, folder: Path, kernel: Callable[[str], Path]) -> Path:
    """The folder in which the user types."""
    if project == "repository":
        commit(folder, "start", {"README": "a ring\n"})
    elif project == "next-headers":
        return kernel(project)
    elif project:
        try:
            shutil.copytree(kernels.fetch_source(project), folder / project)
        except kernels.Unavailable as reason:
            pytest.skip(str(reason))
        return folder / project
    return folder


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey(tmp_path, kernel, name):
    project, steps = JOURNEYS[name]
    folder, own = start(project, tmp_path, kernel), tmp_path
    tree = str(kernel("next-headers")) if any("TREE" in command for _, command, *_ in steps) else ""
    for files, command, status, text in steps:
        for path, content in files.items():
            ((own if project == "next-headers" else folder) / path).write_text(content)
        words = command.replace("TREE", tree).split()
        if project == "next-headers" and files:
            words += ["--rules", str(own / "layoutlint.toml")]
        done = run(*words, cwd=folder)
        printed = re.sub(r"\s+", " ", done.stdout)
        assert (done.returncode, text in printed) == (status, True), f"{command}\n{done.stdout}{done.stderr}"


def test_the_document_lists_all():
    text = (ROOT / "docs/contributing/testing.md").read_text()
    rows = re.findall(r"^\| ([^|`]+) \| `", text.partition("## Journeys")[2].partition("\n## ")[0], re.M)
    assert rows == list(JOURNEYS)
