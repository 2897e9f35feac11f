"""`check` with the shipped packs on real kernels: what became of the layouts that the mail threads argued about."""

from __future__ import annotations

import json

import pytest

from tests.command import run
from tests.real import kernels

pytestmark = pytest.mark.real

ADDRESS_SPACE = "address-space-i-mmap-apart-from-rwsem"
CHUNK = "pcpu-chunk-base-addr-apart-from-counters"
SPIN_NODE = "osq-node-cpu-apart-from-links"
SEMAPHORE = "rwsem-count-next-to-owner"
ONE_LINE = "rwsem-count-and-owner-on-one-line"

ALL = list(range(0, 64, 8))
SEMAPHORE_KEPT = [
    (SEMAPHORE, "rw_semaphore", "kept", 0, []),
    (ONE_LINE, "rw_semaphore", "kept", 8, [56]),  # tolerated: two words fill a line's end and the next one's start
]

VERDICTS = [
    # kernel, its version, exit status, (rule, struct, outcome, placements, the violating ones)
    # 6.1: i_mmap at 72..87 touches i_mmap_rwsem at 88..127: only a line that starts between them parts the two
    ("cloud", (6, 1), 1, [
        (ADDRESS_SPACE, "address_space", "at-risk", 8, [base for base in ALL if base != 40]),
        (CHUNK, "pcpu_chunk", "broken", 1, [0]),
        (SPIN_NODE, "optimistic_spin_node", "broken", 1, [0]),
        *SEMAPHORE_KEPT]),
    # 6.5 moved base_addr, 6.9 moved i_mmap_rwsem; the spin node is as it was
    ("next", (6, 12), 1, [
        (ADDRESS_SPACE, "address_space", "kept", 8, []),
        (CHUNK, "pcpu_chunk", "kept", 1, []),
        (SPIN_NODE, "optimistic_spin_node", "broken", 1, [0]),
        *SEMAPHORE_KEPT]),
    # i_mmap at 64..79 and i_mmap_rwsem at 120..151: rw_semaphore lost 8 bytes, and the fix of 6.9 with them
    ("newest", (7, 2), 1, [
        (ADDRESS_SPACE, "address_space", "at-risk", 8, [0, 56]),
        (CHUNK, "pcpu_chunk", "kept", 1, []),
        (SPIN_NODE, "optimistic_spin_node", "broken", 1, [0]),
        *SEMAPHORE_KEPT]),
    # headers alone; pcpu_chunk is defined below mm/, and from 6.8 on the spin node below kernel/
    ("headers", (6, 1), 1, [
        (ADDRESS_SPACE, "address_space", "at-risk", 8, [base for base in ALL if base != 40]),
        (SPIN_NODE, "optimistic_spin_node", "broken", 1, [0]),
        *SEMAPHORE_KEPT]),
    ("next-headers", (6, 12), 0, [(ADDRESS_SPACE, "address_space", "kept", 8, []), *SEMAPHORE_KEPT]),
    ("newest-headers", (7, 2), 1, [(ADDRESS_SPACE, "address_space", "at-risk", 8, [0, 56]), *SEMAPHORE_KEPT]),
]  # fmt: skip
CASES = [
    *((name, reader, *rest) for name, *rest in VERDICTS for reader in ((None,) if "headers" in name else ("dwarf", "btf")))
]


@pytest.mark.parametrize(
    ("name", "reader", "version", "status", "verdicts"), CASES, ids=[f"{case[0]} {case[1] or 'clang'}" for case in CASES]
)
def test_verdicts(kernel, name, reader, version, status, verdicts):
    at = kernel(name)
    if kernels.version(at) != version:
        pytest.skip(f"{name} is now {'.'.join(map(str, kernels.version(at)))}; the verdicts here are those of {version}")
    done = run("check", at, "--format", "json", *(("--reader", reader) if reader else ()), seconds=600)
    report = json.loads(done.stdout)
    judged = [
        (f["rule"], f["struct"], f["outcome"], f["placements"]["total"], f["placements"]["bases"])
        for f in report["findings"] + report["kept"]
    ]
    assert sorted(judged) == sorted(verdicts)
    assert report["inputs"][0]["reader"] == (reader or "clang")
    assert done.returncode == report["exit"] == status
