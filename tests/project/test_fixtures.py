"""A fixture that is for `check` says in its own comment what is found in it; here that is held against what is found.

A comment at the end of the file gives the rules, as TOML between `check-rule-start` and `check-rule-end` or by
`check-pack: NAME` for a shipped pack, and the findings, kept ones as well, one line each: rule, outcome, message.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from layoutlint.intent.toml import rule_file, shipped_rules
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import Pack
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.reading import ReadOptions
from tests.harness.command import ROOT
from tests.oracles.c_probe import need

SOURCES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "fixtures").rglob("*.c"))
FIXTURES = [path for path in SOURCES if "check-findings-start" in (ROOT / path).read_text()]


def block(text: str, name: str) -> str:
    """The lines between two markers, without the comment's edge."""
    found = re.search(rf"^[ *]*check-{name}-start\n(.*?)^[ *]*check-{name}-end$", text, re.M | re.S)
    return "" if found is None else re.sub(r"^ \* ?", "", found[1], flags=re.M)


def packs(path: str, text: str) -> tuple[Pack, ...]:
    named = re.findall(r"check-pack: (\S+)", text)
    shipped = tuple(pack for pack in shipped_rules.shipped_packs() if pack.name in named)
    assert len(shipped) == len(named)
    rules = block(text, "rule")
    return (*shipped, rule_file.parse(rules, path)) if rules else shipped


def compile_object(path: str, folder: Path) -> Path:
    """An object file of a fixture that is about more than its text; linked of several units for `check-compiled-with: FLAG`."""
    need("gcc")
    flags = re.findall(r"check-compiled-with: (\S+)", Path(path).read_text()) or ["-g"]
    objects = [folder / f"fixture{number}.o" for number in range(len(flags))]
    for flag, made in zip(flags, objects, strict=True):
        subprocess.run(["gcc", "-g", "-O0", "-fno-common", flag, "-c", "-o", made, path], check=True)
    if len(objects) == 1:
        return objects[0]
    subprocess.run(["ld", "-r", "-z", "muldefs", "-o", folder / "fixture.o", *objects], check=True)
    return folder / "fixture.o"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("path", FIXTURES)
def test_what_it_says_is_found(path, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    text = Path(path).read_text()
    given = str(compile_object(path, tmp_path)) if "check-compiled" in text else path
    report = check([given], packs(path, text), (), Options(read=ReadOptions(flags=("--target=x86_64-linux-gnu",))))
    found = [
        f"{finding.rule.id} {finding.verdict.outcome.value} {finding_message(finding)}"
        for finding in (*report.findings, *report.kept_findings)
        if finding.struct is not None
    ]
    expected = block(text, "findings").splitlines()
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("path", [path for path in SOURCES if path.startswith("fixtures/kinds/")])
def test_a_kind_is_seen_to_be_broken_and_kept(path):
    outcomes = {line.split()[1] for line in block(Path(ROOT / path).read_text(), "findings").splitlines()}
    assert "kept" in outcomes
    assert outcomes & {"broken", "at-risk"}
