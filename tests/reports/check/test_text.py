"""`text`: whole reports as golden files, and what holds for every one of them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from layoutlint.judgement.finding import Coverage, Report
from layoutlint.judgement.verdict import Outcome, unknown
from layoutlint.model.structs import Source
from layoutlint.model.target import target_named
from layoutlint.reports.check import text
from tests.harness.build import context, member, struct
from tests.reports.sample import APART, CLEAN, FINDINGS, MATRIX, NODE, REPORT, finding

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
MANY = replace(
    REPORT,
    findings=tuple(replace(f, input=f"build/unit{n}.o") for n in range(17) for f in FINDINGS[:3]),
)
APART_VERDICT = FINDINGS[0].verdict
REPORTS = [("text.txt", REPORT), ("text-clean.txt", CLEAN), ("text-matrix.txt", MATRIX)]


@pytest.mark.parametrize(("name", "report"), REPORTS)
def test_text(name, report, golden):
    golden(name, text.render(report))


def test_a_row_has_a_cell_for_each_byte_of_a_line():
    of_struct = struct("pair", 128, member("a", 0, 8), member("b", 64, 8))
    verdict = replace(APART.kind.__class__((("a",), ("b",))).check(context(of_struct)), bases=(0,))
    drawn = text.render(replace(REPORT, findings=(finding(APART, of_struct, verdict),), kept_findings=()))
    rows = [row.partition("|")[2].rpartition("|")[0] for row in drawn.splitlines() if row.startswith("  line ")]
    assert [len(row.replace("|", "")) for row in rows] == [64] * len(rows)


@pytest.mark.parametrize("report", [REPORT, CLEAN, MANY, MATRIX], ids=["all outcomes", "clean", "51 findings", "matrix"])
def test_lines_fit(report):
    assert max(map(len, text.render(report).splitlines())) <= 100


@pytest.mark.parametrize("report", [REPORT, CLEAN, MATRIX])
def test_colour_changes_no_character(report):
    colored = text.render(report, color=True)
    assert "\x1b[" in colored
    assert ESCAPE.sub("", colored) == text.render(report)


def test_many_findings_end_with_an_index():
    rendered = text.render(MANY)
    index = rendered[rendered.index("\nfindings\n") :].split("\n\n")[0].splitlines()[2:]
    assert len(index) == 51
    assert index[0] == "  error   node-cpu-apart  struct node: broken in 8 of 8 placements"


def test_the_witness_base_is_drawn():
    of_struct = struct("pair", 72, member("a", 0, 8), member("b", 8, 8), member("c", 64, 8))
    verdict = replace(APART.kind.__class__((("a",), ("b",))).check(context(of_struct)), bases=(48,))
    drawn = text.render(replace(REPORT, findings=(finding(APART, of_struct, verdict),), kept_findings=()))
    assert "an object at byte 48 of a 64-byte line" in drawn
    assert "  line 0  |        |        |        |        |        |        |AAAAAAAA|BBBBBBBB|  A B\n" in drawn


NAMED = [
    # what is found, where the finding points at; whether the rule's own place is told besides
    (unknown("struct node has no field `cpus`", missing_field=True), NODE, True),
    (unknown("struct node has no field `cpus`", missing_field=True), None, False),
    (unknown("struct node is declared but not defined"), NODE, False),
]


@pytest.mark.parametrize(("verdict", "of_struct", "is_told"), NAMED)
def test_a_rule_that_names_what_is_not_there_has_its_place(verdict, of_struct, is_told):
    found = finding(APART, of_struct, verdict)
    told = text.render(replace(REPORT, findings=(found,), kept_findings=()))
    assert (f"  stated by: rule file at {APART.source}\n" in told) == is_told
    assert f"  --> {found.place}" in told


def test_a_letter_is_drawn_where_the_list_explains_it():
    of_struct = struct("many", 56, *(member(f"f{n}", 4 * n, 4) for n in range(14)))
    places = context(of_struct).layout.places
    drawn = text.render(replace(REPORT, findings=(finding(APART, of_struct, replace(APART_VERDICT, evidence=places)),), kept_findings=()))
    assert "  L       44       4  f11" in drawn
    assert "\n                      and 2 more\n" in drawn
    assert "(`#` one of the 2 more, `.` another field" in " ".join(drawn.split())
    assert "|KKKKLLLL|########|" in drawn


@pytest.mark.parametrize(
    ("findings", "unread", "status", "last"),
    [
        ((), (), 0, "exit 0: nothing broken"),
        (FINDINGS[2:3], (), 0, "exit 0: nothing broken that counts; not counted: 1 unknown"),
        (FINDINGS[1:2], (), 0, "exit 0: nothing broken that counts; not counted: 1 at-risk"),
        ((), REPORT.unread[:1], 0, "exit 0: nothing broken that counts; not counted: 1 not read"),
        (FINDINGS[2:3], (), 3, "exit 3: something could not be judged"),
        (FINDINGS[:1], (), 1, "exit 1: rules are broken or at risk"),
    ],
)
def test_the_last_line_says_what_the_status_means(findings, unread, status, last):
    report = Report((), findings, (), Coverage(1, 1, 1), status, unread)
    assert text.render(report).splitlines()[-1] == last


def test_an_unknown_size_is_never_zero():
    field = replace(member("odd", 0, 8), bit_size=None, source=Source("odd.h", 4))
    of_struct = struct("odd", 16, field, member("b", 8, 8))
    place = context(of_struct).layout.places[0]
    verdict = replace(FINDINGS[2].verdict, evidence=(place,), outcome=Outcome.UNKNOWN)
    rendered = text.render(replace(REPORT, findings=(finding(APART, of_struct, verdict),)))
    assert "  A        0      ??  odd  odd.h:4\n" in rendered


def test_a_huge_field_is_drawn_by_its_ends():
    of_struct = struct("ring", 1 << 30, member("head", 0, 8), member("slots", 8, (1 << 30) - 8))
    verdict = APART.kind.__class__((("head",), ("slots",))).check(context(of_struct))
    rows = text.render(replace(REPORT, findings=(finding(APART, of_struct, verdict),))).splitlines()
    drawn = [row.split("|")[0].strip() for row in rows if row.startswith(("  line ", "  ..."))]
    assert drawn == ["line 0", "line 1", "line 2", "...", f"line {(1 << 24) - 1}"]


def test_a_longer_line_takes_several_rows():
    of_struct = replace(struct("wide", 256, member("a", 0, 8), member("b", 200, 8)), target=target_named("s390x"))
    verdict = APART.kind.__class__((("a",), ("b",))).check(context(of_struct))
    rows = text.render(replace(REPORT, findings=(finding(APART, of_struct, verdict),))).splitlines()
    drawn = [row[2:10].strip() for row in rows if row.startswith(("  line ", "      +"))]
    assert drawn == ["line 0", "+64", "+128", "+192"]
