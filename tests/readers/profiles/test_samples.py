"""Lines of `perf script`: their columns, what a data source says, and what is kept of many addresses."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from layoutlint.readers.profiles import sample_scan
from layoutlint.readers.profiles.read import read
from layoutlint.readers.profiles.sample_scan import Columns, Scanner
from layoutlint.readers.profiles.samples import form_of, line_blocks
from tests.harness import perf_samples
from tests.harness.perf_samples import COLUMNS, SOURCES, Access

START = "          worker  4242 [003]  5000.000001: "
FAULT = "page-faults:     7fea4de24110"
OP = "       629080842 |OP LOAD|LVL L3 hit|SNP HitM|TLB N/A|LCK No"
FORMS = [
    # a line as perf 6.1 or 6.12 prints it, and its columns
    (f"{START}{FAULT}", "comm tid cpu time event addr"),
    (f"{START}{FAULT} dl_close_state.2 ffffffff817554ea elf_load", "comm tid cpu time event addr ip sym"),
    (f"{START}{FAULT} [unknown]     7fb90b648106 sysmalloc+0x5e6 (/usr/lib/libc.so.6)", "comm tid cpu time event addr ip sym"),
    (f"{START}{FAULT} add     7fb90b648106", "comm tid cpu time event addr ip"),
    (f"    Web Content 9  4242/4243 [003] 5.1: {FAULT}", "comm tid cpu time event addr"),
    (f"kworker/0:1-foo 4242 5.1: {FAULT}", "comm tid time event addr"),
    (f"worker 4242 [003] {FAULT}", "comm tid cpu event addr"),
    (f" 4242 [003] 5.1:          1 {FAULT}", "tid cpu time period event addr"),
    (f"{START}cpu/mem-loads,ldlat=30/P:     7fea4de24110{OP}|BLK  N/A     {779:16}     7fea4de03a34 f", f"{' '.join(COLUMNS)}"),
    (f"{START}cpu/mem-loads,ldlat=30/P:     7fea4de24110{OP}     {779:16}", "comm tid cpu time event addr data_src weight"),
    (f"{START}cpu/mem-loads,ldlat=30/P:     7fea4de24110{OP}      7fea4de03a34 add", "comm tid cpu time event addr data_src ip sym"),
    (f"{START}cpu/mem-loads,ldlat=30/P:     7fea4de24110{OP}", "comm tid cpu time event addr data_src"),
    (f"{START}cpu/mem-loads,ldlat=30/P:     7fea4de24110{779:16}     7fea4de03a34 f", "comm tid cpu time event addr weight ip sym"),
    ("  Total records                     :     329219", ""),
    ("# captured on    : Mon Jan  6 10:00:00 2025", ""),
    ("    12.00%  worker  [.] f:    7fea4de24110", ""),
    (f"worker 4242 {FAULT}", ""),
    (f"{START}page-faults:     7FEA4DE24110", ""),
    ("          worker  4242 [003]  5000.000001: PERF_RECORD_LOST lost 5", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "columns"), FORMS)
def test_columns_are_told_by_their_form(text, columns):
    assert form_of(text) == (frozenset(columns.split()) or None)


BITS = {
    # what each data source counts: contended loads (remote, local), stores (hits, misses), loads, stores, locked, neither
    "load": (0, 0, 0, 0, 1, 0, 0, 0), "local": (0, 1, 0, 0, 1, 0, 0, 0), "remote": (1, 0, 0, 0, 1, 0, 0, 0),
    "locked": (0, 1, 0, 0, 1, 0, 1, 0), "store": (0, 0, 1, 0, 0, 1, 0, 0), "miss": (0, 0, 0, 1, 0, 1, 0, 0),
    "other": (0, 0, 0, 0, 0, 0, 0, 1),
}  # fmt: skip


@pytest.mark.parametrize("form", ["both", "text"])
@pytest.mark.parametrize("kind", list(SOURCES))
def test_data_sources(kind, form, tmp_path):
    path = tmp_path / "samples.txt"
    path.write_text(perf_samples.text([Access(kind, 0x1008)], form=form))
    samples = read(str(path)).samples
    row = list(samples.scanner.counts[: sample_scan.WIDTH])
    assert (*row[:2], *row[3:5], *row[6:10]) == BITS[kind]


# Numbers that perf itself decoded: perf-mem.txt of Linux 7.2, and a page fault of perf 6.1.
DECODED = [(0x629080842, "local", 1), (0x1A29081042, "load", 1), (0x1E05080021, "other", 1)]


@pytest.mark.parametrize(("number", "kind", "count"), DECODED)
def test_numbers_that_perf_printed(number, kind, count, tmp_path):
    path = tmp_path / "samples.txt"
    source, _ = SOURCES["load"]
    path.write_text(perf_samples.text([Access("load", 0x1008)], form="number").replace(f"{source:16x}", f"{number:16x}"))
    row = list(read(str(path), columns=frozenset(COLUMNS)).samples.scanner.counts[: sample_scan.WIDTH])
    is_hit = number & 1 << 19 + 4
    assert (row[sample_scan.LOADS], row[sample_scan.OTHERS], row[1]) == (count * (kind != "other"), kind == "other", bool(is_hit))


def _scan(scanner: Scanner, text: str) -> None:
    data = text.encode()
    assert scanner.scan(data, 0, len(data)) == len(data)


def test_random_samples_are_counted_as_by_a_dictionary():
    """Per address: samples, loads, the CPUs and threads that wrote, and those that read."""
    chance = random.Random(7)
    accesses = [
        Access(chance.choice(list(SOURCES)), 8 * chance.randrange(1, 300), chance.randrange(5), chance.randrange(100, 109))
        for _ in range(6_000)
    ]
    scanner = Scanner(Columns(frozenset(COLUMNS)), perf_bits)
    _scan(scanner, perf_samples.text(accesses))
    assert scanner.samples == len(accesses)
    expected = Counter(each.address for each in accesses)
    number = scanner.addresses.count
    keys, width = list(scanner.addresses.keys[:number]), sample_scan.WIDTH
    assert {key: scanner.counts[n * width + sample_scan.RECORDS] for n, key in enumerate(keys)} == expected
    lanes = [(lane >> 32, lane & 0xFFFFFFFF) for lane in scanner.lanes.keys[: scanner.lanes.count]]
    uses = {(keys[entry], *lanes[lane], bits) for entry, lane, bits in scanner.uses(set(range(number)))}
    assert uses == {(each.address, each.cpu, each.thread, _how(each.kind)) for each in accesses}


def perf_bits(source: int | bytes) -> int:
    """The bits of a number, by the union of the kernel's header."""
    assert isinstance(source, int)
    load, store, locked = source & 2, source & 4, source & 1 << 25
    bits = sample_scan.LOAD * bool(load) | sample_scan.STORE * bool(store) | sample_scan.LOCKED * bool(locked)
    return bits or sample_scan.NEITHER


def _how(kind: str) -> int:
    return {"other": 0, "store": 2, "miss": 2, "locked": 3}.get(kind, 1)


def test_the_least_sampled_of_too_many_addresses_are_dropped():
    hot = [Access("store", 0x1000 + 8 * (number % 4), number % 3) for number in range(200)]
    cold = [Access("load", 0x100000 + 8 * number, 9) for number in range(1000)]
    mixed = [access for pair in zip(cold, hot * 5, strict=True) for access in pair]
    scanner = Scanner(Columns(frozenset(COLUMNS)), perf_bits, most_addresses=64)
    _scan(scanner, perf_samples.text(mixed))
    width, keys = sample_scan.WIDTH, list(scanner.addresses.keys[: scanner.addresses.count])
    counts = {key: scanner.counts[n * width + sample_scan.RECORDS] for n, key in enumerate(keys)}
    assert {key: counts[key] for key in counts if key < 0x100000} == dict.fromkeys(range(0x1000, 0x1020, 8), 250)
    assert scanner.addresses.count <= 64
    assert scanner.dropped + sum(counts.values()) == len(mixed) == scanner.samples
    cpus = {scanner.lanes.keys[lane] >> 32 for entry, lane, _ in scanner.uses({keys.index(0x1000)})}
    assert cpus == {0, 1, 2}


def test_users_are_unknown_if_there_are_too_many():
    accesses = [Access("store", 8 * number, cpu) for number in range(1, 20) for cpu in range(3)]
    scanner = Scanner(Columns(frozenset(COLUMNS)), perf_bits, most_uses=50)
    _scan(scanner, perf_samples.text(accesses))
    assert (scanner.has_all_uses, scanner.samples, scanner.uses({0})) == (False, 57, [])


def test_lines_begin_with_the_most_contended_ones(tmp_path):
    path = tmp_path / "samples.txt"
    kinds = {0x1000: ("load",) * 9, 0x2000: ("local", "store"), 0x3040: ("remote", "local"), 0x4000: ("store", "store")}
    path.write_text(perf_samples.text(Access(kind, at + 8) for at, each in kinds.items() for kind in each))
    blocks, omitted = line_blocks(read(str(path)).samples, 64, lambda address: False)
    assert ([block.address for block in blocks], omitted) == ([0x3040, 0x2000, 0x4000, 0x1000], 0)
    assert [(block.counts.contended_loads, block.counts.stores, block.line) for block in blocks] == [
        (2, 0, 12), (1, 1, 10), (0, 2, 14), (0, 0, 1),
    ]  # fmt: skip
