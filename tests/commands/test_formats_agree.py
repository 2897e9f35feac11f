"""One run, every format: the same rules on the same structs, at the same places, with the same severities."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from layoutlint.reports import FORMATS
from tests.harness import repository
from tests.harness.command import run

SOURCES = {
    "inc/a.h": "struct in { long a; long z; };\n",
    "src/s.c": """#include "../inc/a.h"
struct worse { long a; long z; };
struct risky { long a; char pad[40]; long z; };
struct fine { long a; char pad[120]; long z; };
struct hushed { long a; /* layoutlint: ignore[hushed] measured */ long z; };
struct late { long a; /* layoutlint: ignore[late] until 2020-01-01 measured */ long z; };
struct old { long a; long z; };
struct moved { long a; };
union both { long a; long z; };
""",
    "base.toml": 'schema = "layoutlint/baseline/1"\naccept = [\n  { rule = "old", struct = "old", outcome = "broken" },\n]\n',
}
SEVERITIES = {"in": "error", "worse": "error", "risky": "warning", "fine": "error", "hushed": "error", "late": "note", "old": "error", "moved": "error"}
"""Of rules that two fields are apart, by the name of the rule and its struct."""
WHY = 'why = "a | <b> & \\"c\\" @all, [d](http://e.example)"\n'
RULES = "".join(
    f'[[rule]]\nid = "{name}"\nstruct = "{name}"\nkind = "separate"\nfields = [["a"], ["z"]]\nseverity = "{severity}"\n{WHY}'
    for name, severity in SEVERITIES.items()
) + "".join(
    f'[[rule]]\nid = "size/{name}"\nstruct = "{struct}"\nkind = "size"\nmax = {most}\nseverity = "{severity}"\n{WHY}'
    for name, struct, most, severity in (("gone", "gone", 7, "error"), ("both", "both", 7, "warning"), ("all", "*", 15, "note"))
)  # fmt: skip


class Row(NamedTuple):
    rule: str
    struct: str
    file: str
    """From the top of the repository, or from the working folder."""
    line: int | None
    severity: str


def struct_in(message: str) -> str:
    """The struct of a finding, with which its message begins."""
    match = re.match(r"(?:struct|union) (\w+) is (?:broken|at-risk|unknown)", message)
    assert match, message
    return match[1]


def split_place(place: str) -> tuple[str, int | None]:
    file, _, line = place.rpartition(":")
    return (file, int(line)) if line.isdecimal() else (place, None)


def read_sarif(text: str) -> list[Row]:
    (log,) = json.loads(text)["runs"]
    levels = [rule["defaultConfiguration"]["level"] for rule in log["tool"]["driver"]["rules"]]
    rows = []
    for result in log["results"]:
        (place,) = (each["physicalLocation"] for each in result["locations"])
        (named,) = result["locations"][0]["logicalLocations"]
        severity = levels[result["ruleIndex"]]
        assert result["level"] == ("none" if result["kind"] == "open" else severity)
        if not result["suppressions"]:
            struct = struct_in(result["message"]["text"])
            assert named["fullyQualifiedName"].partition(".")[0] == struct
            rows.append(Row(result["ruleId"], struct, place["artifactLocation"]["uri"], place["region"]["startLine"], severity))
    return rows


def read_json(text: str) -> list[Row]:
    rows = []
    for each in json.loads(text)["findings"]:
        place = next((field for field in each["fields"] if field["file"]), each["definition"] or each["intent"])
        if each["suppressed"] is None and each["state"] != "known":
            rows.append(Row(each["rule"], each["struct"], place["file"], place["line"], each["severity"]))
    return rows


def read_junit(text: str) -> list[Row]:
    rows = []
    for case in ET.fromstring(text).iter("testcase"):
        rule, name = case.get("classname", ""), case.get("name", "")
        if rule != "not-read" and len(case) and case[0].tag != "skipped":
            place, _, message = (case[0].text or "").partition(": ")
            struct = struct_in(message)
            assert name == f"{rule} on {struct}"
            rows.append(Row(rule, struct, *split_place(place), "note" if case[0].tag == "system-out" else case[0].get("type", "")))
    return rows


def read_checkstyle(text: str) -> list[Row]:
    names = {"error": "error", "warning": "warning", "info": "note"}
    return [
        Row(row.get("source", ""), struct_in(row.get("message", "")), file.get("name", ""), int(row.get("line", "")), names[row.get("severity", "")])
        for file in ET.fromstring(text) for row in file if row.get("source") != "not-read"
    ]  # fmt: skip


def read_gitlab(text: str) -> list[Row]:
    names = {"major": "error", "minor": "warning", "info": "note"}
    return [
        Row(row["check_name"], struct_in(row["description"]), row["location"]["path"], row["location"]["lines"]["begin"], names[row["severity"]])
        for row in json.loads(text) if row["check_name"] != "not-read"
    ]  # fmt: skip


def read_rdjson(text: str) -> list[Row]:
    names = {"ERROR": "error", "WARNING": "warning", "INFO": "note"}
    rows = [row for row in json.loads(text)["diagnostics"] if row["code"]["value"] != "not-read"]
    places = [(row["location"]["path"], row["location"]["range"]["start"]["line"]) for row in rows]
    return [Row(row["code"]["value"], struct_in(row["message"]), *place, names[row["severity"]]) for row, place in zip(rows, places, strict=True)]


def read_github(text: str) -> list[Row]:
    names = {"error": "error", "warning": "warning", "notice": "note"}
    rows = re.findall(r"^::(\w+) file=(.*),line=(\d+),title=(\S+) \(\w+\)::(.*)$", text, re.M)
    return [Row(rule, struct_in(message), file, int(line), names[level]) for level, file, line, rule, message in rows]


def read_markdown(text: str) -> list[Row]:
    rows = re.findall(r"^\| (\w+) \| `(.+?)` \| `(.+?)` \| (.*) \|$", text, re.M)
    found = [Row(rule, struct_in(re.sub(r"&#(\d+);", lambda code: chr(int(code[1])), message)), *split_place(place), severity)
             for severity, rule, place, message in rows if rule != "not-read"]  # fmt: skip
    return [row._replace(rule=re.sub(r"&#(\d+);", lambda code: chr(int(code[1])), row.rule)) for row in found]


def read_concise(text: str) -> list[Row]:
    rows = re.findall(r"^(\S+): (error|warning|note): (.*) \[(\S+)\]$", text, re.M)
    return [Row(rule, struct_in(message), *split_place(place), severity) for place, severity, message, rule in rows if rule != "not-read"]


def read_text(text: str) -> list[Row]:
    """Without notes, which it names in a line."""
    rows = re.findall(r"^(\S+): (error|warning): (?:unknown: )?(?:struct|union) (\w+)\b.* \[(\S+)\]$", text, re.M)
    return [Row(rule, struct, *split_place(place), severity) for place, severity, struct, rule in rows]


READERS: dict[str, Callable[[str], list[Row]]] = {
    "sarif": read_sarif, "json": read_json, "junit": read_junit, "checkstyle": read_checkstyle, "gitlab": read_gitlab, "rdjson": read_rdjson,
    "github": read_github, "markdown": read_markdown, "concise": read_concise, "text": read_text,
}  # fmt: skip
FROM_TOP = ("sarif", "checkstyle", "gitlab", "rdjson", "github")
"""Formats with paths from the top of the repository; those of the others are from the working folder."""


EXPECTED = [
    *(Row(name, name, "src/s.c", line, SEVERITIES[name]) for name, line in (("worse", 2), ("risky", 3), ("late", 6), ("moved", 8))),
    *(Row("size/all", name, "src/s.c", line, "note") for line, name in enumerate(("worse", "risky", "fine", "hushed", "late", "old"), 2)),
    Row("in", "in", "inc/a.h", 1, "error"), Row("size/all", "in", "inc/a.h", 1, "note"), Row("size/both", "both", "src/s.c", 9, "warning"),
    Row("size/gone", "gone", "layoutlint.toml", 1 + RULES[: RULES.index('"size/gone"')].count("\n") - 1, "error"),
]  # fmt: skip
"""What nobody accepts: not `hushed`, and not `old`."""


@pytest.mark.parametrize("folder", [".", "src"])
def test_all_formats_agree(tmp_path: Path, folder: str):
    repository.commit(tmp_path, "base", SOURCES | {"layoutlint.toml": RULES})
    here = tmp_path / folder

    def path(name: str) -> str:
        return os.path.relpath(tmp_path / name, here)

    words = [word for name in FORMATS for word in ("--output", f"{name}={tmp_path}/out.{name}")]
    done = run("check", path("src/s.c"), "none.h", "--rules", path("layoutlint.toml"), "--baseline", path("base.toml"), *words, cwd=here)
    assert done.returncode == 1, done.stderr
    texts = {name: (tmp_path / f"out.{name}").read_text() for name in FORMATS}
    found: dict[str, list[Any]] = {name: READERS[name](text) for name, text in texts.items() if name != "html"}
    for name, rows in found.items():
        start = tmp_path if name in FROM_TOP else here
        found[name] = sorted((row._replace(file=os.path.relpath(start / row.file, tmp_path)) for row in rows), key=str)
    expected = sorted(EXPECTED, key=str)
    assert found == {**dict.fromkeys(found, expected), "text": [row for row in expected if row.severity != "note"]}
    assert re.search(r"^8 notes \(-v\): size/all, late$", texts["text"], re.M)
    assert [name for name, text in texts.items() if name != "html" and "none.h" not in text] == []
