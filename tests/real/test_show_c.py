"""`show --format c` on a real kernel, held against pahole's own text."""

from __future__ import annotations

import re
import subprocess

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from layoutlint.reports import SHOW_FORMATS
from layoutlint.reports.show.options import ShowOptions
from tests.harness.tools import need

pytestmark = pytest.mark.real

NAMES = frozenset({
    "task_struct", "sk_buff", "page", "tcp_sock", "inode", "address_space", "pcpu_chunk", "rw_semaphore",
    "mm_struct", "vm_area_struct", "file", "dentry", "super_block", "net_device", "sock", "rq", "cfs_rq",
    "request", "request_queue", "bio", "zone", "pglist_data", "module", "cred", "signal_struct",
    "kmem_cache", "mem_cgroup", "hrtimer", "timer_list", "work_struct", "device", "kobject", "fs_context",
    "nf_hook_ops", "vc_state", "pcie_link_state", "orc_entry", "bpf_prog", "bpf_map", "perf_event",
    "kvm_vcpu", "io_ring_ctx", "key", "blk_flush_queue", "dev_pm_info", "kbd_struct", "ip_options", "iphdr",
    "tcphdr", "ethhdr",
})  # fmt: skip

_BLOCK = re.compile(r"(?ms)^struct (\w+) \{\n.*?^\}[^\n]*\n")
_ATTRIBUTE = re.compile(r" __attribute__\(\((?:[^()]|\([^()]*\))*\)\)")
_FORCED = re.compile(r"\t/\* forced alignments:.*\n")
_PLACE = re.compile(r" +(?=/\*)")
_FLEXIBLE = re.compile(r"\[0?\]")


def settle(text: str) -> str:
    """A listing without what cannot agree.

    An `aligned` that asks for what the type has anyway leaves no trace in a layout; pahole 1.24 prints `[]` or
    `[0]` by a member's position, where the debug information tells one from the other.
    """
    return _FLEXIBLE.sub("[]", _PLACE.sub(" ", _FORCED.sub("", _ATTRIBUTE.sub("", text))))


def test_like_pahole(next):
    need("pahole")
    # `pahole -C` with several names stops after the first unit that has some of them.
    listed = subprocess.run(["pahole", str(next)], capture_output=True, text=True).stdout
    blocks = {m[1]: m[0] for m in _BLOCK.finditer(listed) if m[1] in NAMES}
    reading = dispatch.read(str(next), Wanted(frozenset(blocks)), ReadOptions())
    differing = [
        struct.name
        for struct in reading.structs
        if struct.aggregate == "struct"
        if settle("".join(SHOW_FORMATS["c"]((struct,), ShowOptions()))) != settle(blocks[struct.name])
    ]
    assert len(blocks) >= 45
    # An enum without a name is written out by pahole; net_device has one.
    assert differing == ["net_device"]
