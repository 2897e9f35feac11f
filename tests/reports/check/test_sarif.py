"""`sarif`: valid by the official schema and by the sentences of the standard that a schema cannot say."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from layoutlint import __version__
from layoutlint.judgement.finding import Coverage, Report
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.reports import FORMATS
from layoutlint.reports.check import sarif
from tests.reports.sample import CLEAN, DAMAGED, FINDINGS, MATRIX, REPORT

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "fixtures" / "sarif" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8")
)
EMPTY = Report((), (), (), Coverage(0, 0, 0), 3)


def log(report):
    return json.loads(FORMATS["sarif"](report))


def run(report):
    return log(report)["runs"][0]


@pytest.mark.parametrize("report", [REPORT, CLEAN, EMPTY, MATRIX, DAMAGED], ids=["all outcomes", "clean", "empty", "matrix", "damaged"])
def test_valid_by_the_official_schema(report):
    validator = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)
    assert [error.message for error in validator.iter_errors(log(report))] == []


def test_the_schema_refuses_what_is_wrong():
    damaged = log(REPORT)
    damaged["runs"][0]["results"][0]["level"] = "fatal"
    validator = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)
    assert not validator.is_valid(damaged)


def test_a_failure_has_the_place_of_its_error():
    (notification,) = run(DAMAGED)["invocations"][0]["toolExecutionNotifications"]
    (location,) = notification["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "old.snapshot"
    assert location["physicalLocation"]["region"] == {"startLine": 3}


def test_the_schema_named_is_the_one_held_against():
    assert log(REPORT)["$schema"] == SCHEMA["id"]


RESULTS = [
    # finding, kind, level, suppressed
    (0, "fail", "error", False),
    (1, "fail", "warning", False),
    (2, "open", "none", False),
    (3, "fail", "note", True),
]


@pytest.mark.parametrize(("number", "kind", "level", "suppressed"), RESULTS)
def test_kind_and_level(number, kind, level, suppressed):
    result = run(REPORT)["results"][number]
    assert (result["kind"], result["level"], bool(result["suppressions"])) == (kind, level, suppressed)


def test_no_level_but_none_for_what_is_no_failure():
    """SARIF 3.27.10: where kind has any value other than "fail", a level that is present has the value "none"."""
    levels = {result["level"] for result in run(REPORT)["results"] if result["kind"] != "fail"}
    assert levels == {"none"}


def test_suppressions_are_in_all_results_or_in_none():
    """SARIF 3.27.23."""
    assert all("suppressions" in result for result in run(REPORT)["results"])


def test_every_rule_that_ran_is_listed_and_indexed():
    found = run(REPORT)
    rules = found["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.id for rule in REPORT.rules]
    assert all(rule["help"]["markdown"] and rule["shortDescription"]["text"] for rule in rules)
    assert [rules[result["ruleIndex"]]["id"] for result in found["results"]] == [f.rule.id for f in FINDINGS]


def test_what_was_not_read_is_a_failed_execution():
    invocation = run(REPORT)["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert [n["message"]["text"] for n in invocation["toolExecutionNotifications"]] == [
        "drivers/net.ko: the section .debug_info ends inside a unit",
        "modules: has no debug information (2 files: a.ko, b.ko)",
        "build/vmlinux: no debug information for 2 C units: a.c, b.c; 3 rules could apply to it",
        "modules: no debug information for start-up objects: crtstuff.c",
    ]
    assert run(CLEAN)["invocations"][0]["executionSuccessful"] is True


def test_locations():
    first, *_, missing, _ = run(REPORT)["results"]
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "example.h", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 22},
    }
    assert [r["physicalLocation"]["region"]["startLine"] for r in first["relatedLocations"]] == [18, 2]
    assert missing["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "rules/sample.toml"


def test_no_region_without_a_line():
    rule = replace(FINDINGS[2].rule, source=Source("rules/sample.toml"))
    report = replace(REPORT, findings=(replace(FINDINGS[2], rule=rule),))
    assert "region" not in run(report)["results"][0]["locations"][0]["physicalLocation"]


@pytest.mark.parametrize(
    ("file", "location"),
    [
        ("include/linux/fs.h", {"uri": "include/linux/fs.h", "uriBaseId": "%SRCROOT%"}),
        ("./a//b.h", {"uri": "a/b.h", "uriBaseId": "%SRCROOT%"}),
        ("x/../a.h", {"uri": "a.h", "uriBaseId": "%SRCROOT%"}),
        ("a b#c%.h", {"uri": "a%20b%23c%25.h", "uriBaseId": "%SRCROOT%"}),
        ("/usr/include/a.h", {"uri": "file:///usr/include/a.h"}),
        ("ä.h", {"uri": "%C3%A4.h", "uriBaseId": "%SRCROOT%"}),
        ("c:d.h", {"uri": "c%3Ad.h", "uriBaseId": "%SRCROOT%"}),
    ],
)
def test_artifact(file, location):
    assert sarif.artifact(file) == location


@pytest.mark.parametrize(("name", "report"), [("report.sarif", REPORT), ("matrix.sarif", MATRIX)])
def test_sarif(name, report, golden):
    golden(name, FORMATS["sarif"](report).replace(f'"version": "{__version__}"', '"version": "VERSION"'))
