"""`concise`: one line for each finding, whatever the names contain."""

from __future__ import annotations

import re

import pytest

from layoutlint.judgement.finding import Coverage, Report
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.reports.check import concise
from tests.reports.sample import CLEAN, FINDINGS, MATRIX, REPORT, make_finding

GCC = re.compile(r"(?P<file>[^:]+):(?:(?P<line>\d+):)? (?P<severity>error|warning|note): (?P<text>.+) \[(?P<rule>[^\]]+)\]")
"""What vim's and Emacs' compilation modes read."""


@pytest.mark.parametrize(("name", "report"), [("concise.txt", REPORT), ("concise-matrix.txt", MATRIX)])
def test_concise(name, report, golden):
    golden(name, concise.render(report))


@pytest.mark.parametrize("report", [REPORT, MATRIX])
def test_every_line_but_the_last_is_one_that_editors_read(report):
    *rows, last = concise.render(report).splitlines()
    assert all(map(GCC.fullmatch, rows))
    assert last.endswith("exit 1: rules are broken or at risk")
    assert concise.render(report, summary=False).splitlines() == rows


def test_a_finding_is_a_line_and_a_suppressed_one_is_none():
    rows = concise.render(replace(REPORT, unread=(), coverage=Coverage(1, 1, 1)), summary=False).splitlines()
    matches = [match for row in rows if (match := GCC.fullmatch(row))]
    assert [(m["file"], m["line"], m["severity"], m["rule"]) for m in matches] == [
        (f.place.file, str(f.place.line), f.rule.severity.value, f.rule.id) for f in FINDINGS if f.suppressed is None
    ]


def test_nothing_wrong_is_one_line_or_none():
    assert concise.render(CLEAN) == "layoutlint: 1 kept; exit 0: nothing broken\n"
    assert concise.render(CLEAN, summary=False) == ""


def test_names_cannot_add_lines_or_commands():
    rule = replace(FINDINGS[2].rule, source=Source("a\nb\x1b[31m.toml", 1))
    odd = make_finding(rule, None, replace(FINDINGS[2].verdict, message="struct a\nb\r::error::x is missing"))
    rendered = concise.render(Report((), (odd,), (), Coverage(1, 1, 1), 3), summary=False)
    assert rendered == (
        r"a\nb\x1b[31m.toml:1: note: struct gone is unknown: struct a b ::error::x is missing [gone-apart]" "\n"
    )
