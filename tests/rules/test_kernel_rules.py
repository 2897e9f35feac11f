"""The packs for Linux: every rule has its cases, and the document says of the changes what the cases say."""

from __future__ import annotations

import csv
import re
import subprocess
from pathlib import Path

import pytest

from layoutlint.commands.rules import case_file, cases
from layoutlint.intent.toml import shipped_rules
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from tests.harness.command import ROOT
from tests.harness.tools import need

PACKS = shipped_rules.shipped_packs()
RULES = {rule.id: rule for pack in PACKS for rule in pack.rules}
CASES = [(pack, case) for pack in PACKS for case in case_file.load(pack, shipped_rules.file_of(pack))]
DOCUMENT = (ROOT / "docs" / "contributing" / "kernel-findings.md").read_text()
VERDICTS = {
    row[0]: tuple(row[1:]) for row in csv.reader((ROOT / "fixtures/kernel_verdicts/verdicts.csv").read_text().splitlines()[1:])
}
"""The outcomes of each rule on 6.1, 6.12, 6.12 for arm64, 6.18 and 7.2."""


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading of the document, without its head."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line.strip("|").split("|") for line in re.findall(r"^\|.*\|$", section, re.M)[2:]]


def table(heading: str) -> list[tuple[str, ...]]:
    return [tuple(cell.strip() for cell in row) for row in rows(heading)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)
def test_every_rule_has_a_breaking_and_a_keeping_case(pack):
    (tried,) = cases.run([pack])
    assert [(result.case.name, result.expected.rule.id, result.message) for result in tried.results if not result.passes] == []
    assert [(lack.rule.id, lack.lacks) for lack in tried.rules_without_cases] == []
    assert tried.passes


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_every_rule_says_why_and_where_from(rule):
    assert len(rule.why.split()) > 5
    assert rule.evidence


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("pack", "case"), CASES, ids=[f"{pack.name} {case.name}" for pack, case in CASES])
def test_dwarf_of_gcc_says_the_same(tmp_path, pack, case):
    need("gcc")
    if any(flag.startswith("--target") for flag in case.flags):
        pytest.skip("the case is for another machine than gcc's")
    if "extern " in case.text:
        pytest.skip("gcc leaves out variables that are declared only")
    pack = replace(pack, guesses=False, rules=tuple(replace(rule, guess=False) for rule in pack.rules))
    path, source = tmp_path / "case.o", tmp_path / "case.c"
    source.write_text(case.text)
    subprocess.run(["gcc", "-g", "-fno-eliminate-unused-debug-types", "-c", "-o", path, source], check=True)
    report = check([str(path)], (pack,), (), Options(read=ReadOptions(sources=(str(source),))))
    found = {f.rule.id: f.verdict.outcome for f in (*report.kept_findings, *report.findings)}  # the worst of several
    assert {e.rule.id: found[e.rule.id] for e in case.expectations} == {e.rule.id: e.outcome for e in case.expectations}


CHANGES = [tuple(row) for row in csv.reader((ROOT / "fixtures/kernel_verdicts/changes.csv").read_text().splitlines()[1:])]
"""Changes of Linux: the structs, the version and the rule of each."""


@pytest.mark.parametrize(("structs", "version", "rule"), CHANGES, ids=[row[2] for row in CHANGES])
def test_every_change_is_found_before_and_kept_after(structs, version, rule):
    text_message = {
        (word, expected.outcome.value)
        for _, case in CASES for word in ("before", "after") if case.name.startswith(f"{word}: ")
        for expected in case.expectations if expected.rule.id == rule
    }  # fmt: skip
    before = "at-risk" if structs == "address_space" else "broken"
    assert text_message >= {("before", before), ("after", "kept")}
    assert RULES[rule].struct in structs.split(", ")


def test_the_number_of_changes():
    numbers = (re.search(pattern, DOCUMENT)[1] for pattern in (r"(\d+) changes were examined", r"lists the (\d+) that"))
    assert tuple(map(int, numbers)) == (len(CHANGES) + len(table("The changes")), len(CHANGES))


def test_the_numbers_of_rules():
    counts = re.search(r"There are (\d+) rules.*? (\d+) come from changes, (\d+) from comments .*?, and (\d+) from", (ROOT / "docs/kernel-rules.md").read_text(), re.S)
    kernel = [rule for pack in PACKS if pack.name.startswith("kernel/") for rule in pack.rules]
    comments = [rule for pack in PACKS if pack.name == "kernel/comments" for rule in pack.rules]
    parts = (len(CHANGES), len(comments), len(kernel) - len(CHANGES) - len(comments))
    assert tuple(map(int, counts.groups())) == (len(kernel), *parts)
    assert f"{len(kernel)} [rules for Linux]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_document_has_the_verdicts_of_rules_that_fail():
    fails = {rule: row for rule, row in VERDICTS.items() if any(cell.startswith(("broken", "at-risk")) for cell in row)}
    assert {row[0]: row[1:6] for row in table("Verdicts on five kernels")} == fails


def test_every_rule_has_a_verdict_or_a_change():
    shown = {row[2] for row in CHANGES} | set(VERDICTS)
    packs = [pack for pack in PACKS if pack.kernel]
    historic = {rule.id for pack in packs for rule in pack.rules if rule.when.kernel and rule.when.kernel.below}
    assert {rule.id for pack in packs for rule in pack.rules} - shown <= historic


def test_every_rule_has_the_functions_that_write_and_read():
    """Those of kernel/comments have the file and line of the comment that asks for them."""
    named = [row[0] for row in csv.reader((ROOT / "fixtures/kernel_verdicts/functions.csv").read_text().splitlines()[1:])]
    packs = [pack for pack in PACKS if pack.kernel and pack.name != "kernel/comments"]
    assert sorted(named) == sorted(rule.id for pack in packs for rule in pack.rules)


def test_every_finding_has_the_code_behind_it():
    explained = {row[1] for row in csv.reader((ROOT / "fixtures/kernel_verdicts/findings.csv").read_text().splitlines()[1:])}
    assert explained == {row[0] for row in table("Verdicts on five kernels")}


KERNELS = {path.stem for path in Path(ROOT / "rules" / "kernel").glob("*.toml") if ".cases" not in path.name}


def test_no_pack_needs_every_struct():
    """`embedded` makes every run on a kernel read all that it defines; so do guesses, which are asked for."""
    words = {intent.placement.word for pack in PACKS for intent in pack.structs if intent.placement}
    assert "embedded" not in words
    assert {pack.name for pack in PACKS if not pack.guesses} == {f"kernel/{name}" for name in KERNELS}


def test_outcomes_of_cases_are_told_apart():
    """The cases would not show much if all that they expect were one outcome."""
    expected = [e.outcome for _, case in CASES for e in case.expectations]
    assert min(expected.count(Outcome.BROKEN), expected.count(Outcome.KEPT)) > 40
