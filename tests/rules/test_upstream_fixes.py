"""The structs of the mail threads that the project started from, before and after their patches.

Expected offsets, listings and rates are the mails' own; every verdict is read twice, through libclang from the source
and through DWARF from what gcc makes of it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import share_line
from layoutlint.intent.toml import shipped_rules
from layoutlint.judgement.condition import ALWAYS
from layoutlint.judgement.finding import Finding, Report
from layoutlint.lint.run import check
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from tests.harness.command import ROOT
from tests.harness.run_options import run_options
from tests.harness.tools import need
from tests.oracles import pahole

FIXES = ROOT / "fixtures" / "upstream_fixes"
FS, LOCKING, PERCPU, TP_FUTEX = "kernel/fs", "kernel/locking", "kernel/percpu", "kernel/tp-futex"


@pytest.fixture(params=["libclang", "gcc"])
def as_input(request, tmp_path):
    """What turns a fixture into an input: its source, or gcc's object file of it."""
    if request.param == "libclang":
        return lambda name: str(FIXES / f"{name}.c")
    need("gcc")

    def compile_source(name: str) -> str:
        path = tmp_path / f"{name}.o"
        command = ["gcc", "-g", "-fno-eliminate-unused-debug-types", "-c", str(FIXES / f"{name}.c"), "-o", str(path)]
        subprocess.run(command, check=True)
        return str(path)

    return compile_source


def layout(path: str, struct: str) -> Layout:
    (found,) = dispatch.read(path, Wanted(frozenset({struct})), ReadOptions()).structs
    return Layout(found)


def judge(path: str, name: str, **options: object) -> tuple[Report, dict[str, Finding]]:
    """By the rules of a pack, for whichever target each is."""
    pack = shipped_rules.shipped_pack(name)
    pack = replace(pack, rules=tuple(replace(rule, when=ALWAYS) for rule in pack.rules))
    report = check([path], (pack,), (), run_options(**options))
    return report, {finding.rule.id: finding for finding in (*report.findings, *report.kept_findings)}


OFFSETS = [
    # fixture, struct, size, offsets
    ("optimistic_spin_node-before", "optimistic_spin_node", 24, {"next": 0, "prev": 8, "locked": 16, "cpu": 20}),
    ("optimistic_spin_node-after", "optimistic_spin_node", 128, {"next": 0, "prev": 8, "locked": 16, "cpu": 64}),
    ("optimistic_spin_node-padding", "optimistic_spin_node", 128, {"locked": 16, "_pad1_": 64, "cpu": 64}),
    ("rw_semaphore-before", "rw_semaphore", 40, {"count": 0, "wait_list": 8, "wait_lock": 24, "osq": 28, "owner": 32}),
    ("rw_semaphore-after", "rw_semaphore", 40, {"count": 0, "owner": 8, "osq": 16, "wait_lock": 20, "wait_list": 24}),
    ("futex_state-before", "futex_state", 40, {"handoff_pid": 0, "locksteal_disabled": 4, "type": 8, "key": 16}),
    ("futex_state-after", "futex_state", 56,
     {"handoff_pid": 0, "locksteal_disabled": 4, "reader_osq": 8, "first_reader": 16, "type": 24, "key": 32}),
    ("futex_state-reconstructed", "futex_state", 128,
     {"mutex": 32, "refcount": 72, "handoff_pid": 76, "reader_osq": 84, "first_reader": 88, "type": 96, "key": 104}),
    ("futex_state-reconstructed-before", "futex_state", 112, {"mutex": 32, "handoff_pid": 76, "type": 84, "key": 88}),
    ("address_space-v6.1", "address_space", 192, {"i_mmap": 72, "i_mmap_rwsem": 88, "nrpages": 128}),
    ("address_space-before", "address_space", 192, {"i_mmap": 72, "i_mmap_rwsem": 120, "wb_err": 160}),
    ("address_space-after", "address_space", 192, {"i_mmap": 72, "wb_err": 120, "i_mmap_rwsem": 144}),
    ("address_space-v7.2", "address_space", 152, {"i_mmap": 64, "wb_err": 112, "i_mmap_rwsem": 120}),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("fixture", "struct", "size", "offsets"), OFFSETS, ids=[case[0] for case in OFFSETS])
def test_offsets(as_input, fixture, struct, size, offsets):
    found = layout(as_input(fixture), struct)
    assert (found.size, {name: found.find(name).offset for name in offsets}) == (size, offsets)


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_printed_listings_of_pcpu_chunk(as_input, when):
    """Yu Ma's mail of 2023-06-13 prints both with pahole: 136 bytes with holes of 14, 192 with padding of 56."""
    text = (FIXES / f"pcpu_chunk-{when}.pahole").read_text()
    (printed,) = pahole.shapes(text.splitlines())
    found = layout(as_input(f"pcpu_chunk-{when}"), "pcpu_chunk")
    spots = {p.path: pahole.Spot(p.bit_offset, p.bit_size or 0, False) for p in found.places}
    assert spots == dict(printed.spots)
    assert found.size == printed.size
    text_message = {key: int(number) for key, number in re.findall(r"([a-z][a-z ]*): (\d+)", text)}
    assert len(found.places) == text_message["members"]
    assert sum(place.size for place in found.places) == text_message["sum members"]
    assert [hole.size for hole in found.holes] == [int(size) for size in re.findall(r"XXX (\d+) bytes hole", text)]
    assert (len(found.holes), sum(hole.size for hole in found.holes)) == (text_message["holes"], text_message["sum holes"])
    assert found.bit_padding == text_message.get("padding", 0) * 8


ALL_8 = tuple(range(0, 64, 8))
VERDICTS = [
    # fixture, pack, rule, outcome, bases at which it fails, placements, exit status
    ("optimistic_spin_node-before", LOCKING, "osq-node-cpu-apart-from-links", "broken", (0,), 1, 1),
    ("optimistic_spin_node-after", LOCKING, "osq-node-cpu-apart-from-links", "kept", (), 1, 0),
    ("optimistic_spin_node-padding", LOCKING, "osq-node-cpu-apart-from-links", "kept", (), 1, 0),
    ("pcpu_chunk-before", PERCPU, "pcpu-chunk-base-addr-apart-from-counters", "broken", (0,), 1, 1),
    ("pcpu_chunk-after", PERCPU, "pcpu-chunk-base-addr-apart-from-counters", "kept", (), 1, 0),
    ("rw_semaphore-before", LOCKING, "rwsem-count-next-to-owner", "broken", (), 0, 1),
    ("rw_semaphore-before", LOCKING, "rwsem-count-and-owner-on-one-line", "at-risk", (32, 40, 48, 56), 8, 1),
    ("rw_semaphore-after", LOCKING, "rwsem-count-next-to-owner", "kept", (), 0, 0),
    ("rw_semaphore-after", LOCKING, "rwsem-count-and-owner-on-one-line", "kept", (56,), 8, 0),
    ("futex_state-before", TP_FUTEX, "futex-state-readers-apart-from-mutex", "unknown", (), 0, 3),
    ("futex_state-after", TP_FUTEX, "futex-state-readers-apart-from-mutex", "unknown", (), 0, 3),
    ("futex_state-reconstructed", TP_FUTEX, "futex-state-readers-apart-from-mutex", "at-risk", (8, 16, 24, 32, 40), 8, 1),
    ("futex_state-reconstructed-before", TP_FUTEX, "futex-state-readers-apart-from-mutex", "unknown", (), 0, 3),
    ("address_space-v6.1", FS, "address-space-i-mmap-apart-from-rwsem", "at-risk",
     tuple(base for base in ALL_8 if base != 40), 8, 1),
    ("address_space-before", FS, "address-space-i-mmap-apart-from-rwsem", "at-risk", (0, 48, 56), 8, 1),
    ("address_space-after", FS, "address-space-i-mmap-apart-from-rwsem", "kept", (), 8, 0),
    ("address_space-v7.2", FS, "address-space-i-mmap-apart-from-rwsem", "at-risk", (0, 56), 8, 1),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("fixture", "pack", "rule", "outcome", "bases", "total", "status"),
    [pytest.param(*case, id=f"{case[0]}: {case[2]}") for case in VERDICTS],
)
def test_verdicts(as_input, fixture, pack, rule, outcome, bases, total, status):
    report, findings = judge(as_input(fixture), pack)
    verdict = findings[rule].verdict
    assert (verdict.outcome.value, verdict.bases, verdict.total) == (outcome, bases, total)
    assert report.exit_status == status


def test_cpu_shares_with_all_three_links(as_input):
    _, findings = judge(as_input("optimistic_spin_node-before"), LOCKING)
    message = findings["osq-node-cpu-apart-from-links"].verdict.message
    assert [name for name in ("next", "prev", "locked") if f"shares a line with `{name}` at " in message] == [
        "next", "prev", "locked",
    ]  # fmt: skip


def test_pairs_of_lines_part_the_nodes_fields_at_one_of_two_bases(as_input):
    """With lines of 128, as the prefetcher of neighbouring lines sees them, a start on a line of 64 is 0 or 64."""
    _, before = judge(as_input("optimistic_spin_node-before"), LOCKING, line_size=128)
    _, after = judge(as_input("optimistic_spin_node-after"), LOCKING, line_size=128)
    found = [f["osq-node-cpu-apart-from-links"].verdict for f in (before, after)]
    assert [(v.outcome.value, v.bases, v.total) for v in found] == [("broken", (0, 64), 2), ("at-risk", (0,), 2)]


@pytest.mark.parametrize("flags", [(), ("--target=arm-linux-gnueabi",)], ids=["here", "arm"])
def test_a_missing_macro_makes_the_layout_unknown(flags):
    """The build robot's error on arm, 2023-12-21: no header defines ____cacheline_aligned."""
    path = FIXES / "optimistic_spin_node-arm.c"
    (line,) = [n for n, text in enumerate(path.read_text().splitlines(), 1) if "cpu ____cacheline_aligned" in text]
    report, findings = judge(str(path), LOCKING, read=ReadOptions(flags=flags))
    verdict = findings["osq-node-cpu-apart-from-links"].verdict
    assert (verdict.outcome.value, report.exit_status) == ("unknown", 3)
    assert f"{path.name}:{line}:9: error: no macro `____cacheline_aligned` is defined here" in verdict.message


# Waiman Long's mail of 2019-04-04: thousands of write-locks a second on a ThunderX2, by the semaphore's place in a line.
RATES = {
    "rw_semaphore-before": (17449, 17450, 17450, 17453, 14867, 14867, 14853, 14867),
    "rw_semaphore-after": (16588, 16465, 16460, 16462, 16471, 16470, 16464, 13172),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("fixture", "longs", "rate"),
    [(fixture, longs, rate) for fixture, rates in RATES.items() for longs, rate in enumerate(rates)],
)
def test_one_line_predicts_the_locking_rate(as_input, fixture, longs, rate):
    found = layout(as_input(fixture), "rw_semaphore")
    on_one_line = share_line(found.find("count"), found.find("owner"), longs * 8, 64)
    assert on_one_line == (rate > 0.95 * max(RATES[fixture]))


def test_every_fixture_is_looked_at():
    spoken = {case[0] for case in VERDICTS} | {"optimistic_spin_node-arm"}
    assert spoken == {path.stem for path in Path(FIXES).glob("*.c")}
