"""`check` with the shipped packs on real kernels: fixtures/kernel_verdicts/verdicts.csv, cell by cell.

The offsets behind its findings were looked up with pahole and in the source of each version; the document says what.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from tests.harness.command import ROOT, run
from tests.rules.test_kernel_rules import CASES, RULES, VERDICTS

pytestmark = pytest.mark.real

COLUMNS = {"cloud": 0, "next": 1, "next-arm64": 2, "newest": 4}
RUNNING, RUNNING_COLUMN = Path("/sys/kernel/btf/vmlinux"), 3
TABLE = {
    name: {rule: row[column] for rule, row in VERDICTS.items() if row[column] not in ("-", "unknown")}
    for name, column in {**COLUMNS, "running": RUNNING_COLUMN}.items()
}


def report_of(path: object, *options: str) -> dict[str, object]:
    done = run("check", str(path), "--no-annotations", "--format", "json", *options, seconds=600)
    report = json.loads(done.stdout)
    assert done.returncode == report["exit"]
    return report


def verdicts(report) -> dict[str, str]:
    """The cells that a report stands for; what structs say of themselves is in no pack."""
    output = {}
    for finding in report["findings"] + report["kept"]:
        if finding["rule"] not in RULES:
            continue
        at = finding["placements"]
        share = f" {at['violating']}/{at['total']}" if finding["outcome"] == "at-risk" else ""
        assert finding["rule"] not in output, "one definition each"
        output[finding["rule"]] = finding["outcome"] + share
    return output


FIRST_ELEMENTS = {"memcg-vmstats-percpu-apart-from-events": "memory_events", "zone-lock-apart-from-single-pages": "free_area"}
"""Rules on the first element of an array, whose size is not known where BTF has one dimension for all."""


def without_first_elements(outcomes: dict[str, str], report) -> dict[str, str]:
    """What BTF can say of a table; the report gives the reason for the rest."""
    unresolved = report["coverage"]["unresolved"]
    hidden = {
        rule for rule, field in FIRST_ELEMENTS.items()
        if any(reason.startswith(f"{rule}: BTF does not state the dimensions of `{field}`") for reason in unresolved)
    }  # fmt: skip
    return {rule: outcome for rule, outcome in outcomes.items() if rule not in hidden}


@pytest.mark.parametrize("reader", ["dwarf", "btf"])
@pytest.mark.parametrize("name", COLUMNS)
def test_the_table(measured, name, reader):
    at = measured(name)
    report = report_of(at, "--reader", reader)
    assert verdicts(report) == (TABLE[name] if reader == "dwarf" else without_first_elements(TABLE[name], report))
    assert (report["inputs"][0]["reader"], report["exit"]) == (reader, 1)


def test_the_running_kernel():
    if not RUNNING.exists():
        pytest.skip("the running kernel does not show its types")
    release = Path("/proc/sys/kernel/osrelease").read_text()
    if not re.match(r"6\.18\.44-fc", release):
        pytest.skip(f"the table is about one build of 6.18.44; this is {release.strip()}")
    report = report_of(RUNNING)
    assert verdicts(report) == TABLE["running"] == without_first_elements(TABLE["running"], report)


IN_MODULES = {
    "scsi-host-template-queueing-on-one-line", "nft-set-runtime-apart-from-counts", "xt-rateest-lock-with-counters",
    "xt-rateest-estimate-apart-from-lock",
}  # fmt: skip
"""Rules on structs that headers define, and that only modules use."""
TREES = {"headers": "cloud", "next-headers": "next", "newest-headers": "newest"}


@pytest.mark.parametrize("name", TREES)
def test_header_trees_say_what_the_binaries_say(measured, name):
    """Packages of headers hold what is below include/ and arch/; drivers' structs are in no vmlinux of the table."""
    at, binary = measured(name), TREES[name]
    output = verdicts(report_of(at))
    assert len(output) > 20
    assert {rule: outcome for rule, outcome in output.items() if rule in TABLE[binary]}.items() <= TABLE[binary].items()
    assert set(output) - set(TABLE[binary]) <= IN_MODULES


@pytest.mark.parametrize(("name", "outcome"), [("cloud", "kept"), ("next", "kept"), ("newest", None)])
def test_counters_of_protocols_memory(measured, name, outcome):
    """Variables until 6.17, and since 5.17 one on each line; in 7.2 the rule's `when` leaves it out."""
    at, rules = measured(name), ROOT / "fixtures" / "variables" / "net.toml"
    report = report_of(at, "--no-packs", "--rules", str(rules))
    assert [finding["outcome"] for finding in report["findings"] + report["kept"]] == [outcome] * (outcome is not None)


KERNELS = {"6.1": "cloud", "6.12": "next", "7.2": "newest"}
DATED = [
    (pack, case, KERNELS[named[1]])
    for pack, case in CASES
    if (named := re.search(r"Linux (6\.1|6\.12|7\.2)(?:\.\d+)?[ ,]", case.name)) and not case.name.startswith("otherwise")
]


@pytest.mark.parametrize(("pack", "case", "name"), DATED, ids=[case.name for _, case, _ in DATED])
def test_cases_have_the_offsets_of_the_kernel_that_they_name(measured, tmp_path, pack, case, name):
    at = measured(name)
    rules = [expected.rule for expected in case.expectations]
    wanted = Wanted(frozenset(rule.struct for rule in rules))
    source = tmp_path / "case.c"
    source.write_text(case.text)
    flags = ("--target=x86_64-linux-gnu",)
    reduced = {s.name: Layout(s) for s in dispatch.read(str(source), wanted, ReadOptions(flags=flags)).structs}
    whole = {s.name: Layout(s) for s in dispatch.read(str(at), wanted, ReadOptions(reader="btf")).structs}
    offsets = {
        (struct, place.path): (place.offset, whole[struct].match(place.path)[0].offset)
        for struct, layout in reduced.items()
        for place in layout.walk_fields(0)
        if whole[struct].match(place.path)
    }
    assert offsets
    assert {field: own for field, (own, _) in offsets.items()} == {field: real for field, (_, real) in offsets.items()}


def test_the_table_is_about_rules():
    assert {rule for column in TABLE.values() for rule in column} <= set(RULES)
