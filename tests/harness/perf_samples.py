"""Lines of `perf script` for accesses that a test chooses, in the format of tools/perf/builtin-script.c."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

COLUMNS = ("comm", "tid", "cpu", "time", "event", "addr", "data_src", "weight", "ip", "sym")
EVENTS = {"load": "cpu/mem-loads,ldlat=30/P", "store": "cpu/mem-stores/P", "other": "page-faults"}

# The fields of perf_mem_data_src (include/uapi/linux/perf_event.h): operation, level, snoop, lock, TLB, and the
# numbers of levels; each with the text that perf prints for it.
_NONE = 1 | 1 << 5 | 1 << 19 | 1 << 24 | 1 << 26 | 0xF << 33
_LOAD, _STORE = 1 << 1, 1 << 2
_HIT, _MISS, _L1, _L3, _REMOTE = (1 << 5 + bit for bit in (1, 2, 3, 6, 10))
_UNMODIFIED, _MODIFIED = 1 << 19 + 1, 1 << 19 + 4
_LOCKED, _TLB = 1 << 24 + 1, 1 << 26 + 1
SOURCES = {
    "load": (_LOAD | _HIT | _L1 | _UNMODIFIED | 1 << 24 | _TLB, "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A"),
    "local": (_LOAD | _HIT | _L3 | _MODIFIED | 1 << 24 | _TLB, "|OP LOAD|LVL L3 hit|SNP HitM|TLB L1 or L2 hit|LCK No|BLK  N/A"),
    "remote": (
        _LOAD | _HIT | _REMOTE | _MODIFIED | 1 << 24 | _TLB,
        "|OP LOAD|LVL Remote Cache (1 hop) hit|SNP HitM|TLB Walker hit|LCK No|BLK  N/A",
    ),
    "locked": (_LOAD | _HIT | _L3 | _MODIFIED | _LOCKED | _TLB, "|OP LOAD|LVL L3 hit|SNP HitM|TLB L1 or L2 hit|LCK Yes|BLK  N/A"),
    "store": (_STORE | _HIT | _L1 | 1 << 19 | 1 << 24, "|OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A"),
    "miss": (_STORE | _MISS | _L1 | 1 << 19 | 1 << 24, "|OP STORE|LVL L1 miss|SNP N/A|TLB N/A|LCK N/A|BLK  N/A"),
    "other": (_NONE, "|OP N/A|LVL N/A|SNP N/A|TLB N/A|LCK N/A|BLK  N/A"),
}  # fmt: skip


class Access(NamedTuple):
    """One sample: what it is, in SOURCES, where, by whom, and in which function."""

    kind: str
    address: int
    cpu: int = 0
    thread: int = 4242
    comm: str = "worker"
    symbol: str = "work"
    code: int = 0x401136
    weight: int = 100


def line(number: int, access: Access, columns: Iterable[str] = COLUMNS, form: str = "both") -> str:
    """Return the line of a sample; `form` is that of its data source: `number`, `text`, or both."""
    source, text = SOURCES[access.kind]
    event = EVENTS["store" if source & _STORE else "load" if source & _LOAD else "other"]
    printed = {"number": f"{source:16x}", "text": f" {text}", "both": f"{source:16x} {text:<95}"}[form]
    parts = {
        "comm": f"{access.comm:>16} ",
        "tid": f"{access.thread:7d} ",
        "cpu": f"[{access.cpu:03d}] ",
        "time": f"{5000 + number // 1000:5d}.{number % 1000 * 1000:06d}: ",
        "event": f"{event:>24}: ",
        "addr": f"{access.address:16x}",
        "data_src": printed,
        "weight": f"{access.weight:16d}",
        "ip": f" {access.code:16x}",
        "sym": f" {access.symbol}",
    }
    return "".join(text for name, text in parts.items() if name in frozenset(columns)) + "\n"


def text(accesses: Iterable[Access], columns: Iterable[str] = COLUMNS, form: str = "both") -> str:
    """Return the lines of samples."""
    return "".join(line(number, access, columns, form) for number, access in enumerate(accesses))
