"""`text`: whole reports as golden files, and what holds for every one of them."""

from __future__ import annotations

import re

import pytest

from layoutlint.judgement.finding import Coverage, CoverageGap, Report, SkippedRule, Unresolved
from layoutlint.judgement.rule import place_as_why
from layoutlint.judgement.verdict import Outcome, unknown
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.model.target import target_named
from layoutlint.reports import FORMATS
from layoutlint.reports.check import text
from layoutlint.reports.check.summary import Detail
from tests.harness.build import context, member, struct
from tests.reports.sample import APART, CLEAN, FINDINGS, MATRIX, NODE, REPORT, make_finding

HEADLINE = re.compile(r"\S+:\d+: (error|warning|note): ")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
MANY = replace(
    REPORT,
    findings=tuple(replace(f, input=f"build/unit{n}.o") for n in range(17) for f in FINDINGS[:3]),
)
APART_VERDICT = FINDINGS[0].verdict
LONG = replace(
    REPORT,
    kept_findings=tuple(replace(REPORT.kept_findings[0]) for _ in range(6)),
    readings=REPORT.readings * 3,
    unread=REPORT.unread * 3,
    coverage=Coverage(
        9, 8, 7, tuple(Unresolved(f"r{n}", f"struct s{n} is in none of the inputs") for n in range(6)),
        tuple(SkippedRule(f"r{n}", "for Linux 4") for n in range(7)), not_covered=REPORT.coverage.not_covered * 6,
    ),
)  # fmt: skip
REPORTS = [
    ("text.txt", REPORT, Detail.VERBOSE),
    ("text-clean.txt", CLEAN, Detail.NORMAL),
    ("text-matrix.txt", MATRIX, Detail.NORMAL),
    ("text-short.txt", REPORT, Detail.NORMAL),
    ("text-long.txt", LONG, Detail.NORMAL),
    ("text-quiet.txt", LONG, Detail.QUIET),
]


@pytest.mark.parametrize(("name", "report", "detail"), REPORTS)
def test_text(name, report, detail, golden):
    golden(name, text.render(report, detail=detail))


def test_three_findings_are_drawn_and_four_are_not():
    three, four = (text.render(replace(REPORT, findings=FINDINGS[:1] * number)) for number in (3, 4))
    assert ("  line 0 [" in three, "  line 0 [" in four) == (True, False)
    assert "; -v shows offsets and evidence" in three


def test_notes_are_named_beside_what_fails():
    """Alone they are printed as other findings."""
    beside, alone = (text.render(replace(REPORT, findings=findings)) for findings in (FINDINGS[1:3] * 2, FINDINGS[2:3] * 2))
    assert "\n2 notes (-v): gone-apart\n" in beside
    assert ": note: " not in beside
    assert alone.count(": note: unknown: struct gone is in none of the inputs [gone-apart]\n") == 2


def test_nothing_is_only_in_the_short_report():
    """What is folded is counted, and -v has it."""
    verbose = text.render(LONG, detail=Detail.VERBOSE, width=1000)
    short = text.render(LONG, width=1000)
    rows = [re.sub("^(kept|inputs|coverage|not read):", " ", row) for row in short.splitlines() if not row.startswith("  line ")]
    added = [row for row in rows if row.partition(": `")[0] not in verbose]
    assert added == [
        "1 note (-v): gone-apart",
        "1 broken, 1 at-risk, 1 unknown, 1 note, 6 kept, 6 not read, 6 not covered (1 suppressed); "
        "-v shows offsets, evidence, 1 suppressed finding, 6 kept rules, 1 more input, 6 unresolved names, 7 skipped rules, "
        "1 more uncovered part, 6 harmless uncovered parts and 1 more unread input"
    ]


def test_a_long_list_of_kept_rules_names_those_that_tolerate():
    (kept, *_) = REPORT.kept_findings
    tolerant = replace(kept, verdict=replace(APART_VERDICT, outcome=Outcome.KEPT, tolerance=1.0))
    rendered = text.render(replace(CLEAN, kept_findings=(*(kept,) * 6, tolerant)))
    assert "kept: although they fail in some placements, which they tolerate: chunk-base\n" in rendered


@pytest.mark.parametrize("detail", Detail)
@pytest.mark.parametrize("statistics", [False, True])
def test_a_status_that_is_not_0_has_its_reason(detail, statistics):
    gap = CoverageGap("a.o", "no debug information for b.c", None, 3)
    unread = Report((), (), (), Coverage(1, 1, 1), 3, REPORT.unread[:1])
    uncovered = Report((), (), (), Coverage(1, 1, 1, not_covered=(gap,)), 3)
    broken = Report((), FINDINGS[:1], (), Coverage(1, 1, 1), 1)
    for report, reason in ((unread, "drivers/net.ko"), (uncovered, "b.c; 3 rules could"), (broken, "node-cpu-apart")):
        assert reason in text.render(report, detail=detail, statistics=statistics)


def test_quiet_prints_nothing_if_nothing_is_wrong():
    assert text.render(CLEAN, detail=Detail.QUIET) == ""


def test_a_kept_rule_states_what_it_tolerates():
    (kept, *_) = REPORT.kept_findings
    tolerant = replace(kept, verdict=replace(APART_VERDICT, outcome=Outcome.KEPT, tolerance=1.0))
    for others, detail in (((), Detail.NORMAL), ((kept,) * 6, Detail.VERBOSE)):
        report = replace(CLEAN, kept_findings=(*others, tolerant))
        rendered = text.render(report, width=1000, detail=detail)
        assert f"    tolerated: {APART_VERDICT.message}; the rule tolerates 100.0% of the placements\n" in rendered
        assert FORMATS["junit"](report).count(f"{APART_VERDICT.message}; the rule tolerates") == 1


def test_statistics_count_findings_by_rule():
    head = text.render(MANY, statistics=True).split("\n\n")[0]
    assert head.splitlines() == [
        "   count  severity  rule",
        "      17  note      gone-apart      17 unknown",
        "      17  warning   mapping-apart   17 at-risk",
        "      17  error     node-cpu-apart  17 broken",
    ]
    assert "  1 suppressed" in text.render(REPORT, statistics=True)


ANNOTATED = [
    # the `why` of an annotation, and what the report prints about it
    (place_as_why(APART.source), []),
    ("written on every packet", ["why: written on every packet"]),
]


@pytest.mark.parametrize(("why", "reasons"), ANNOTATED)
def test_the_place_of_an_annotation_is_printed_once(why, reasons):
    source = APART.source
    of_rule = replace(APART, by="annotation", why=why, evidence=(f"annotation at {source}",))
    rendered = text.render(replace(REPORT, findings=(make_finding(of_rule, NODE),), kept_findings=()), detail=Detail.VERBOSE)
    labels = ("  why: ", "  stated by: ", "  evidence: ")
    assert [row.strip() for row in rendered.splitlines() if row.startswith(labels)] == [
        *reasons, f"stated by: annotation at {source}",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [60, 72, 100, 160])
@pytest.mark.parametrize("report", [REPORT, LONG, MANY, MATRIX], ids=["all outcomes", "long", "51 findings", "matrix"])
def test_text_is_wrapped_at_any_width(report, width):
    rows = text.render(report, width=width, detail=Detail.VERBOSE).splitlines()
    words = [row for row in rows if row.startswith(("  what: ", "  why: ", "  to do: ", "        "))]
    assert words
    assert max(map(len, words)) <= width


def test_a_row_has_a_cell_for_each_byte_of_a_line():
    of_struct = struct("pair", 128, member("a", 0, 8), member("b", 64, 8))
    verdict = replace(APART.kind.__class__((("a",), ("b",))).check(context(of_struct)), bases=(0,))
    drawn = text.render(replace(REPORT, findings=(make_finding(APART, of_struct, verdict),), kept_findings=()), detail=Detail.VERBOSE)
    rows = [row.partition("|")[2].rpartition("|")[0] for row in drawn.splitlines() if row.startswith("  line ")]
    assert [len(row.replace("|", "")) for row in rows] == [64] * len(rows)


@pytest.mark.parametrize("report", [REPORT, CLEAN, MANY, MATRIX], ids=["all outcomes", "clean", "51 findings", "matrix"])
def test_lines_fit(report):
    rows = text.render(report).splitlines()
    assert max(len(row) for row in rows if not HEADLINE.match(row)) <= 100


@pytest.mark.parametrize("report", [REPORT, CLEAN, MATRIX])
def test_colour_changes_no_character(report):
    colored = text.render(report, color=True)
    assert "\x1b[" in colored
    assert ESCAPE.sub("", colored) == text.render(report)


def test_many_findings_end_with_an_index():
    rendered = text.render(MANY, detail=Detail.VERBOSE)
    index = rendered[rendered.index("\nfindings\n") :].split("\n\n")[0].splitlines()[2:]
    assert len(index) == 51
    assert index[0] == "  error   node-cpu-apart  struct node: broken in all 8 placements"


def test_the_witness_base_is_drawn():
    of_struct = struct("pair", 72, member("a", 0, 8), member("b", 8, 8), member("c", 64, 8))
    verdict = replace(APART.kind.__class__((("a",), ("b",))).check(context(of_struct)), bases=(48,))
    drawn = text.render(replace(REPORT, findings=(make_finding(APART, of_struct, verdict),), kept_findings=()), detail=Detail.VERBOSE)
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
    found = make_finding(APART, of_struct, verdict)
    output = text.render(replace(REPORT, findings=(found,), kept_findings=()))
    assert (f"  stated by: rule file at {APART.source}\n" in output) == is_told
    assert f"{found.place}: error: unknown: struct node " in output


def test_a_letter_is_drawn_where_the_list_explains_it():
    of_struct = struct("many", 56, *(member(f"f{n}", 4 * n, 4) for n in range(14)))
    places = context(of_struct).layout.places
    drawn = text.render(replace(REPORT, findings=(make_finding(APART, of_struct, replace(APART_VERDICT, evidence=places)),), kept_findings=()), detail=Detail.VERBOSE)
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


@pytest.mark.parametrize(
    ("is_kernel", "failing", "others", "ends"),
    [
        (True, "shipped", "own", "only shipped rules are broken or at risk; --no-packs turns off those for kernels"),
        (True, "own", "shipped", "rules are broken or at risk"),
        (True, "shipped", "shipped", "rules are broken or at risk"),
        (False, "shipped", "own", "rules are broken or at risk"),
    ],
)
def test_the_last_line_names_shipped_rules_that_fail_alone(is_kernel, failing, others, ends):
    first, other = (replace(APART, id=part, shipped=part == "shipped") for part in (failing, others))
    reading = replace(REPORT.readings[0], is_kernel=is_kernel)
    report = Report((reading,), (replace(FINDINGS[0], rule=first),), (), Coverage(2, 2, 1), 1, (), (first, other))
    assert text.render(report).splitlines()[-1] == f"exit 1: {ends}"


@pytest.mark.parametrize(
    ("findings", "unread", "ends"),
    [
        ((), (), "something could not be judged; --allow-unknown accepts parts that are not covered"),
        ((), REPORT.unread[:1], "something could not be judged"),
        (FINDINGS[2:3], (), "something could not be judged"),
    ],
)
def test_the_last_line_names_the_option_for_parts_that_are_not_covered(findings, unread, ends):
    coverage = Coverage(1, 1, 1, not_covered=(CoverageGap("app", "1 C unit without debug information: b.c", 1),))
    report = Report((), findings, (), coverage, 3, unread)
    assert text.render(report).splitlines()[-1] == f"exit 3: {ends}"


def test_an_unknown_size_is_never_zero():
    field = replace(member("odd", 0, 8), bit_size=None, source=Source("odd.h", 4))
    of_struct = struct("odd", 16, field, member("b", 8, 8))
    place = context(of_struct).layout.places[0]
    verdict = replace(FINDINGS[2].verdict, evidence=(place,), outcome=Outcome.UNKNOWN)
    rendered = text.render(replace(REPORT, findings=(make_finding(APART, of_struct, verdict),)), detail=Detail.VERBOSE)
    assert "  A        0      ??  odd  odd.h:4\n" in rendered


def test_a_huge_field_is_drawn_by_its_ends():
    of_struct = struct("ring", 1 << 30, member("head", 0, 8), member("slots", 8, (1 << 30) - 8))
    verdict = APART.kind.__class__((("head",), ("slots",))).check(context(of_struct))
    rows = text.render(replace(REPORT, findings=(make_finding(APART, of_struct, verdict),)), detail=Detail.VERBOSE).splitlines()
    drawn = [row.split("|")[0].strip() for row in rows if row.startswith(("  line ", "  ..."))]
    assert drawn == ["line 0", "line 1", "line 2", "...", f"line {(1 << 24) - 1}"]


def test_a_longer_line_takes_several_rows():
    of_struct = replace(struct("wide", 256, member("a", 0, 8), member("b", 200, 8)), target=target_named("s390x"))
    verdict = APART.kind.__class__((("a",), ("b",))).check(context(of_struct))
    rows = text.render(replace(REPORT, findings=(make_finding(APART, of_struct, verdict),)), detail=Detail.VERBOSE).splitlines()
    drawn = [row[2:10].strip() for row in rows if row.startswith(("  line ", "      +"))]
    assert drawn == ["line 0", "+64", "+128", "+192"]
