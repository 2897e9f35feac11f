"""`github`: workflow commands, and the escaping that the runner undoes."""

from __future__ import annotations

import pytest

from layoutlint.judgement.finding import Coverage, Report
from layoutlint.judgement.rule import Severity
from layoutlint.model.record import replace
from layoutlint.reports import FORMATS
from layoutlint.reports.check.github import command, escape_data, escape_property
from tests.reports.sample import FINDINGS, MATRIX, REPORT

DATA = [
    ("plain", "plain"),
    ("100 %", "100 %25"),
    ("a\nb\r\nc", "a%0Ab%0D%0Ac"),
    ("%0A is no line end", "%250A is no line end"),
    ("a: b, c", "a: b, c"),
    ("::error::", "::error::"),
]
PROPERTIES = [
    ("plain", "plain"),
    ("C:\\x.h", "C%3A\\x.h"),
    ("a,b", "a%2Cb"),
    ("a%b\nc", "a%25b%0Ac"),
    ("%3A", "%253A"),
]


@pytest.mark.parametrize(("text", "escaped"), DATA)
def test_data(text, escaped):
    assert escape_data(text) == escaped


@pytest.mark.parametrize(("text", "escaped"), PROPERTIES)
def test_properties(text, escaped):
    assert escape_property(text) == escaped


@pytest.mark.parametrize(
    ("properties", "line"),
    [
        ({"file": "a.h", "line": 3, "title": "t: u"}, "::error file=a.h,line=3,title=t%3A u::m"),
        ({"file": "a.h", "line": None, "title": "t"}, "::error file=a.h,title=t::m"),
        ({}, "::error::m"),
    ],
)
def test_command(properties, line):
    assert command("error", properties, "m") == line


@pytest.mark.parametrize(
    ("number", "severity", "level"),
    [
        (0, Severity.ERROR, "error"),
        (0, Severity.WARNING, "warning"),
        (0, Severity.NOTE, "notice"),
        # What could not be told must not look like a mere notice.
        (2, Severity.ERROR, "error"),
        (2, Severity.WARNING, "warning"),
        (2, Severity.NOTE, "warning"),
    ],
)
def test_level(number, severity, level):
    found = FINDINGS[number]
    report = Report((), (replace(found, rule=replace(found.rule, severity=severity)),), (), Coverage(1, 1, 1), 1)
    assert FORMATS["github"](report).startswith(f"::{level} ")


@pytest.mark.parametrize(("name", "report"), [("github.txt", REPORT), ("github-matrix.txt", MATRIX)])
def test_github(name, report, golden):
    golden(name, FORMATS["github"](report))
