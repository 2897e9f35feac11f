"""Formats for other tools: valid by what their makers publish, and the same findings in all of them."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from layoutlint.judgement.finding import Coverage, Report
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.reports import FORMATS
from layoutlint.reports.check.diagnostics import Repository
from tests.harness.command import run
from tests.harness.repository import git
from tests.harness.tools import need
from tests.reports.sample import CLEAN, FINDINGS, MATRIX, REPORT, make_finding

NAMES = ("gitlab", "junit", "markdown", "rdjson", "checkstyle")
GITLAB = {
    # docs.gitlab.com, "Code Quality report format": the keys that GitLab reads, all required
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./)"},
                    "lines": {"type": "object", "properties": {"begin": {"type": "integer", "minimum": 1}}, "required": ["begin"]},
                },
                "required": ["path", "lines"],
            },
        },
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
    },
}
RDJSON = {
    # reviewdog's proto/rdf/jsonschema/DiagnosticResult.json, as far as it is used
    "type": "object",
    "properties": {
        "source": {"type": "object", "properties": {"name": {"type": "string"}, "url": {"type": "string"}}},
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "message": {"type": "string"},
                    "severity": {"enum": ["ERROR", "WARNING", "INFO"]},
                    "code": {"type": "object", "properties": {"value": {"type": "string"}}},
                    "location": {
                        "type": "object",
                        "properties": {
                            "path": {"type": "string"},
                            "range": {
                                "type": "object",
                                "properties": {"start": {"type": "object", "properties": {"line": {"type": "integer"}}}},
                            },
                        },
                    },
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


def rules_in(name: str, text: str) -> list[str]:
    """The rules of the diagnostics of a report, sorted."""
    if name == "gitlab":
        return sorted(row["check_name"] for row in json.loads(text))
    if name == "rdjson":
        return sorted(row["code"]["value"] for row in json.loads(text)["diagnostics"])
    if name == "checkstyle":
        return sorted(error.get("source", "") for error in ET.fromstring(text).iter("error"))
    if name == "junit":
        cases = ET.fromstring(text).iter("testcase")
        return sorted(case.get("classname", "") for case in cases if len(case) and case[0].tag != "skipped")
    return sorted(re.findall(r"^\| \w+ \| `([^`]+)` \|", text, re.M))


@pytest.mark.parametrize("report", [REPORT, MATRIX, CLEAN])
def test_all_formats_have_the_same_findings(report):
    concise = FORMATS["concise"](report, summary=False)
    expected = sorted(re.findall(r"\[([^\]]+)\]$", concise, re.M))
    assert {name: rules_in(name, FORMATS[name](report)) for name in NAMES} == dict.fromkeys(NAMES, expected)


@pytest.mark.parametrize(("name", "schema"), [("gitlab", GITLAB), ("rdjson", RDJSON)])
@pytest.mark.parametrize("report", [REPORT, MATRIX, CLEAN])
def test_json_is_valid(name, schema, report):
    jsonschema.validate(json.loads(FORMATS[name](report)), schema)


JUNIT = {
    "testsuites": ({"name", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, {"testcase"}),
    "testcase": ({"name", "classname"}, {"failure", "error", "skipped", "system-out"}),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "skipped": ({"message"}, set()),
    "system-out": (set(), set()),
}
"""The attributes and children that Jenkins' junit-10.xsd allows, as far as they are used."""


@pytest.mark.parametrize("report", [REPORT, MATRIX, CLEAN])
def test_junit_is_valid(report):
    root = ET.fromstring(FORMATS["junit"](report))
    assert root.tag == "testsuites"
    for element in root.iter():
        names, children = JUNIT[element.tag]
        assert set(element.keys()) <= names
        assert {child.tag for child in element} <= children


@pytest.mark.parametrize("report", [REPORT, MATRIX, CLEAN])
def test_junit_counts(report):
    root = ET.fromstring(FORMATS["junit"](report))
    (suite,) = root
    cases = list(suite)
    for counted in (root, suite):
        assert int(counted.get("tests", "")) == len(cases)
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if counted is root and tag == "skipped":
                continue
            assert int(counted.get(attribute, "")) == sum(child.tag == tag for case in cases for child in case)
    passed = [case.get("classname") for case in cases if not len(case)]
    assert passed == [finding.rule.id for finding in report.kept_findings]


def test_fingerprints_differ_and_outlive_moved_lines():
    moved = replace(REPORT, findings=tuple(replace(f, rule=replace(f.rule, source=replace(f.rule.source, line=99))) for f in FINDINGS))
    first, second = (
        [row["fingerprint"] for row in json.loads(FORMATS["gitlab"](each))] for each in (REPORT, moved)
    )
    assert first == second
    twice = replace(REPORT, findings=FINDINGS + FINDINGS)
    rows = [row["fingerprint"] for row in json.loads(FORMATS["gitlab"](twice))]
    assert len(rows) == len(set(rows))


HOSTILE = "struct a\nb\r\x1b[31m]]></failure><x y=\"1\">&amp; @all [l](http://e.example) | `c` \u202e"


@pytest.mark.parametrize("name", NAMES)
def test_names_cannot_misuse_a_format(name):
    rule = replace(FINDINGS[2].rule, source=Source("a\"<b>\x01.toml", 1))
    odd = make_finding(rule, None, replace(FINDINGS[2].verdict, message=HOSTILE))
    text = FORMATS[name](Report((), (odd,), (), Coverage(1, 1, 1), 3))
    assert rules_in(name, text) == [rule.id]
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    if name == "markdown":
        outside = "".join(text.split("`")[::2])
        assert not any(word in outside for word in ("@all", "](", "://", "<x"))


@pytest.mark.parametrize(("file", "shown"), [
    ("a.h", "sub/a.h"), ("./a.h", "sub/a.h"), ("../b.h", "b.h"), ("/top/c.h", "c.h"), ("/usr/d.h", "/usr/d.h"), ("../../e.h", "../../e.h"),
])  # fmt: skip
def test_paths_are_from_the_top(file, shown):
    assert Repository("/top", "sub").path(file) == shown


NAMED = [
    # a name, the folders of compilers, the files of the repository, whether texts are inputs too, and the path from the top
    ("server.h", ("/top/src",), ("src/server.h", "server.h"), False, "src/server.h"),
    ("./server.h", ("/top/src",), ("src/server.h",), False, "src/server.h"),
    ("inc/r.h", ("/top/lib",), ("inc/r.h", "lib/inc/r.h"), False, "lib/inc/r.h"),
    ("inc/r.h", ("/top/lib",), ("inc/r.h", "lib/inc/r.h"), True, "inc/r.h"),
    ("r.h", ("/top/lib",), ("lib/r.h",), True, "lib/r.h"),
    ("r.h", ("/top/lib", "/top/app"), ("lib/r.h",), False, "lib/r.h"),
    ("r.h", ("/top/lib", "/top/app"), ("lib/r.h", "app/r.h"), False, "r.h"),
    ("config.h", ("/top/build",), ("docs/config.h",), False, "config.h"),
    ("server.h", ("/elsewhere/repo/src",), ("src/server.h",), False, "src/server.h"),
    ("server.h", ("/usr/src/library",), ("src/server.h",), False, "server.h"),
    ("../inc/r.h", ("/top/lib",), ("inc/r.h",), False, "inc/r.h"),
    ("/top/server.h", ("/top/src",), ("src/server.h",), False, "server.h"),
    ("layoutlint.toml", ("/top/src",), ("layoutlint.toml", "src/layoutlint.toml"), False, "layoutlint.toml"),
    ("server.h", (), ("src/server.h",), True, "server.h"),
]


@pytest.mark.parametrize(("name", "folders", "files", "has_texts", "path"), NAMED)
def test_a_name_of_debug_information_is_from_the_folder_of_the_compiler(name, folders, files, has_texts, path):
    assert Repository("/top", "", lambda: files, frozenset(folders), has_texts).path(name) == path


def test_a_program_that_was_compiled_in_another_folder(tmp_path):
    git(tmp_path, "init", "-q", ".")
    for folder, size in (("lib/inc", 8), ("inc", 4)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "r.h").write_text(f"struct r {{ char a[{size}]; }};\n")
    (tmp_path / "lib/r.c").write_text('#include "inc/r.h"\nstruct r r;\n')
    subprocess.run([need("gcc"), "-g", "-c", "r.c"], cwd=tmp_path / "lib", check=True)
    (tmp_path / "rules.toml").write_text('[[rule]]\nid = "x"\nstruct = "r"\nkind = "size"\nmax = 4\nwhy = "w"\n')
    git(tmp_path, "add", "-A")
    for folder, path in ((".", "lib/r.o"), ("inc", "../lib/r.o")):
        done = run("check", path, "--rules", tmp_path / "rules.toml", "--format", "github", cwd=tmp_path / folder)
        assert done.stdout.startswith("::error file=lib/inc/r.h,line=1,")


@pytest.mark.parametrize("folder", [".", "sub"])
def test_paths_from_any_folder(tmp_path, folder):
    git(tmp_path, "init", "-q", ".")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/q.h").write_text("struct q { long a; long b; };\n")
    (tmp_path / "r.toml").write_text('[[rule]]\nid = "r"\nstruct = "q"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n')
    path = Path("sub/q.h") if folder == "." else Path("q.h")
    words = [word for name in NAMES for word in ("--output", f"{name}=out.{name}")]
    done = run("check", path, "--rules", tmp_path / "r.toml", *words, cwd=tmp_path / folder)
    assert done.returncode == 1
    written: dict[str, Any] = {name: (tmp_path / folder / f"out.{name}").read_text() for name in NAMES}
    assert json.loads(written["gitlab"])[0]["location"] == {"path": "sub/q.h", "lines": {"begin": 1}}
    assert json.loads(written["rdjson"])["diagnostics"][0]["location"]["path"] == "sub/q.h"
    (file,) = ET.fromstring(written["checkstyle"])
    assert file.get("name") == "sub/q.h"
