"""The structs of the seed threads in real kernels, from DWARF and from BTF: found, mended, and undone again."""

from __future__ import annotations

import pytest

from layoutlint.intent.toml import shipped_rules
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.reading import ReadOptions

pytestmark = pytest.mark.real

NODE, CHUNK = "osq-node-cpu-apart-from-links", "pcpu-chunk-base-addr-apart-from-counters"
NEIGHBOURS, ONE_LINE = "rwsem-count-next-to-owner", "rwsem-count-and-owner-on-one-line"
MAPPING = "address-space-i-mmap-apart-from-rwsem"
SEMAPHORE = {NEIGHBOURS: ("kept", ()), ONE_LINE: ("kept", (56,))}
FOUND = {
    # kernel: for each rule its outcome and the bases at which it fails
    "cloud": {NODE: ("broken", (0,)), CHUNK: ("broken", (0,)), MAPPING: ("at-risk", (0, 8, 16, 24, 32, 48, 56))},  # 6.1
    "next": {NODE: ("broken", (0,)), CHUNK: ("kept", ()), MAPPING: ("kept", ())},  # 6.12
    "newest": {NODE: ("broken", (0,)), CHUNK: ("kept", ()), MAPPING: ("at-risk", (0, 56))},  # 7.2
}


@pytest.mark.parametrize("reader", ["dwarf", "btf"])
@pytest.mark.parametrize("name", FOUND)
def test_the_seed_structs_of_a_vmlinux(kernel, name, reader):
    linux = tuple(shipped_rules.shipped_pack(f"kernel/{name}") for name in ("fs", "locking", "percpu"))
    report = check([str(kernel(name))], (), linux, Options(read=ReadOptions(reader=reader)))
    judged = {f.rule.id: (f.verdict.outcome.value, f.verdict.bases) for f in (*report.findings, *report.kept_findings)}
    assert judged.items() >= (FOUND[name] | SEMAPHORE).items()
    assert (report.exit_status, report.unread) == (1, ())
