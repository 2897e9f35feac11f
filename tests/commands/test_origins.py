"""`check --evidence` and `evidence_files`: what findings rest on, by saved evidence that can come from strangers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from layoutlint.commands.evidence import json as evidence_json
from layoutlint.commands.measure import json as measure_json
from layoutlint.readers.profiles import saved
from tests.harness.command import ROOT, run
from tests.harness.tools import need

pytestmark = pytest.mark.usefixtures("whole_runs")

P = ROOT / "fixtures/profiles"
BEFORE = P / "c2c-address-space-before.txt"
HEADER = P / "address-space.h"
CHECK = ("check", "layouts.json", "--rules", P / "address-space.toml")
"""In `folder`: reading a snapshot is quick."""
RULE = "tree-apart-from-lock"
STORES = "11,316 stores to `i_mmap_rwsem`, 149 loads of `i_mmap` that took the line"

MEASURED = {
    "schema": "layoutlint/measure/1", "struct": "address_space", "rule": RULE, "mode": "contention", "refusal": None,
    "machine": {"processor": "AMD EPYC", "line_size": 64}, "run": {"date": "2026-11-23"},
    "layouts": [{
        "label": None, "size": 192,
        "accesses": [
            {"core": 0, "path": "i_mmap_rwsem.count", "offset": 120, "size": 8, "distance": 0},
            {"core": 1, "path": "i_mmap", "offset": 72, "size": 16, "distance": 0},
        ],
        "placements": [{"base": 0, "affected": True}, {"base": 8, "affected": False}],
    }],
    "ratios": [
        {"layout": None, "of": "affected", "to": "unaffected", "interval": wait, "ratio": {"median": median}, "clear": clear}
        for wait, median, clear in ((0, 0.1669, True), (100, 0.01, False), (1000, 0.86, True))
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def profile():
    done = run("evidence", BEFORE, "--in", HEADER, "--struct", "address_space", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    document["reports"][0]["captured"] = "Mon Nov 23 10:00:00 2026"
    return document


@pytest.fixture(scope="module")
def layouts(tmp_path_factory):
    path = tmp_path_factory.mktemp("snapshot") / "layouts.json"
    done = run("snapshot", HEADER, "--struct", "address_space", "--output", path)
    assert done.returncode == 0, done.stderr
    return path.read_text()


@pytest.fixture
def folder(tmp_path, profile, layouts):
    (tmp_path / "layouts.json").write_text(layouts)
    size = profile["structs"][0]["size"]
    (tmp_path / "c2c.json").write_text(json.dumps(profile))
    (tmp_path / "measured.json").write_text(json.dumps(edit(MEASURED, "layouts.0.size", size)))
    return tmp_path


def edit(document: dict, path: str = "", value: object = None) -> dict:
    """A copy of a document with another value at a path."""
    copy = json.loads(json.dumps(document))
    *steps, last = path.split(".")
    inner = copy
    for step in steps:
        inner = inner[int(step) if step.isdigit() else step]
    inner[int(last) if last.isdigit() else last] = value
    return copy


def make_finding(*words: str, cwd: Path) -> dict:
    done = run(*CHECK, *words, "--format", "json", cwd=cwd)
    assert done.returncode == 1, done.stderr
    (found,) = json.loads(done.stdout)["findings"]
    return found


def own(found: dict) -> list[tuple[str, str, str]]:
    return [(each["origin"], each["support"], each["text"]) for each in found["origins"][1:]]


def test_the_schemas_are_those_of_the_commands():
    printed = [each.Document.__struct_config__.tag for each in (evidence_json, measure_json)]
    assert printed == [saved.PROFILE_SCHEMA, saved.MEASURE_SCHEMA]


def test_a_finding_without_evidence_is_declared_by_its_rule(folder):
    found = make_finding(cwd=folder)
    assert found["origin"] == "declared"
    assert found["origins"] == [{
        "origin": "declared", "support": "supports", "text": "rule file", "file": str(P / "address-space.toml"), "line": 1,
        "report": None, "date": None,
    }]  # fmt: skip


def test_a_profile_and_a_measurement_support_a_finding(folder):
    found = make_finding("--evidence", "c2c.json", "--evidence", "measured.json", cwd=folder)
    assert found["origin"] == "measured"
    first, _, last = found["origins"][1:]
    assert (first["origin"], first["text"], first["date"]) == ("profiled", STORES, "Mon Nov 23 10:00:00 2026")
    assert first["report"] == f"perf c2c, {BEFORE}:11"
    assert (last["text"], last["date"]) == ("0.17 times the rate in the other placements, on AMD EPYC", "2026-11-23")


FORMATS = [
    ("text", f"profiled: {STORES} (perf c2c, {BEFORE}:11, Mon Nov 23 10:00:00 2026), in c2c.json"),
    ("text", "evidence c2c.json: supports 1 finding"),
    ("concise", f"in 3 of 8 placements (profiled) [{RULE}]"),
    ("github", f"%0Aprofiled: {STORES}"),
    ("gitlab", f". Profiled: {STORES}"),
    ("junit", f"Profiled: {STORES}"),
    ("rdjson", f"\\nProfiled: {STORES}"),
    ("checkstyle", f". Profiled: {STORES}"),
    ("markdown", "<br>Profiled: 11,316 stores to `i_mmap_rwsem`"),
    ("sarif", '"origin": "profiled"'),
    ("sarif", f"\\nProfiled: {STORES}"),
]


def format_all(folder: Path) -> dict[str, str]:
    """What each format prints, of one run."""
    outputs = [word for name in dict(FORMATS) for word in ("--output", f"{name}=out.{name}")]
    done = run(*CHECK, "--evidence", "c2c.json", *outputs, "--width", "1000", cwd=folder)
    assert done.returncode == 1, done.stderr
    return {name: (folder / f"out.{name}").read_text() for name in dict(FORMATS)}


def test_formats(folder):
    shown = format_all(folder)
    assert [row for row in FORMATS if row[1] not in shown[row[0]]] == []


LINE = "structs.0.lines.0"
PROFILES = [
    # what differs, the origin of the finding, and what is said of the file
    (f"{LINE}.identified_by", "struct", "declared", "possible", "if the line is one of this struct"),
    (f"{LINE}.line_size", 128, "declared", None, ""),
    (f"{LINE}.contradicting_code", ["f"], "declared", "possible", "if the line is one of this struct"),
    (f"{LINE}.fields.0.offset", 60, "declared", "other-layout", "`gfp_mask` was at 60 with 4 bytes, and is at 64 with 4 bytes"),
    (f"{LINE}.fields.0.path", "gone", "declared", "other-layout", "it has no `gone`"),
    (f"{LINE}.fields.0.path", "*", "declared", "other-layout", "it has no `*`"),
    ("structs.0.size", 8, "declared", "other-layout", "the struct had 8 bytes"),
    ("structs.0.name", "inode", "declared", None, ""),
    ("structs.0.aggregate", "union", "declared", None, ""),
    ("structs", [], "declared", None, ""),
    ("inputs.0.build_id", "12ab", "profiled", "supports", STORES),
    ("rules", [{"rule": RULE, "state": "measured"}], "profiled", "supports", STORES),
    ("later", {"key": 1}, "profiled", "supports", STORES),
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("path", "value", "origin", "support", "text"), PROFILES)
def test_profiles(folder, profile, path, value, origin, support, text):
    document = edit(profile, path, value)
    if value == 128:
        document = edit(document, f"{LINE}.base", -document["structs"][0]["lines"][0]["first_byte"] % 128)
    (folder / "c2c.json").write_text(json.dumps(document))
    found = make_finding("--evidence", "c2c.json", cwd=folder)
    assert found["origin"] == origin
    assert {each[1] for each in own(found)} == ({support} if support else set())
    assert text in "".join(each[2] for each in own(found))


MEASUREMENTS = [
    ("rule", None, "measured", "supports"),
    ("rule", "another", "declared", None),
    ("struct", "inode", "declared", None),
    ("refusal", "noise", "declared", None),
    ("machine.line_size", 128, "declared", "other-layout"),
    ("layouts.0.size", 8, "declared", "other-layout"),
    ("layouts.0.accesses.1.offset", 64, "declared", "other-layout"),
    ("layouts.0.accesses.1.core", 0, "declared", None),
    ("layouts.0.accesses.1.path", "gfp_mask", "declared", None),
    ("layouts.0.placements.0.affected", False, "declared", None),
    ("layouts", [], "declared", None),
    ("ratios", [], "declared", None),
    ("ratios.0.of", "after", "measured", "supports"),
    ("mode", "sweep", "declared", None),
    ("run", {}, "measured", "supports"),
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("path", "value", "origin", "support"), MEASUREMENTS)
def test_measurements(folder, path, value, origin, support):
    document = json.loads((folder / "measured.json").read_text())
    (folder / "m.json").write_text(json.dumps(edit(document, path, value)))
    found = make_finding("--evidence", "m.json", cwd=folder)
    assert found["origin"] == origin
    assert [each[1] for each in own(found)] == ([support] if support else [])


HUGE = 10**30
DAMAGED = [
    # the text of the file, the exit status, and a part of the message
    ("", 2, "is not evidence: not a whole JSON object"),
    ("[]", 2, "is not evidence: not a whole JSON object"),
    ('{"schema": "layoutlint/evidence/1"', 2, "not a whole JSON object"),
    ("[" * 100_000, 2, "is not evidence"),
    ("{}", 2, "it has no `schema`"),
    ('{"schema": 1}', 2, "it has no `schema`"),
    ('{"schema": "layoutlint/report/1"}', 2, "its `schema` is 'layoutlint/report/1'"),
    ('{"schema": "layoutlint/evidence/2"}', 2, "its `schema` is 'layoutlint/evidence/2'"),
    ('{"schema": "layoutlint/evidence/1"}', 3, "missing required field `inputs`"),
    ("inputs.0.path=1", 3, "`inputs[0].path`: expected `str`"),
    (f"{LINE}.address=0xg", 3, "`structs[0].lines[0].address`: expected `str` matching regex"),
    (f"{LINE}.base=1", 3, "`structs[0].lines[0].base`: contradicts `first_byte`"),
    (f"{LINE}.fields.0.at=4", 3, "`structs[0].lines[0].fields[0].at`: contradicts `first_byte` and `line_size`"),
    (f"{LINE}.line_size=0", 3, "`structs[0].lines[0].line_size`: expected `int` >= 1"),
    (f"{LINE}.counts.remote=-1", 3, "`structs[0].lines[0].counts.remote`: expected `int` >= 0"),
    (f"{LINE}.counts.remote={HUGE}", 3, "`structs[0].lines[0].counts.remote`"),
    (f"{LINE}.fields.0.written=null", 3, "`structs[0].lines[0].fields[0].written`: expected `bool`"),
    (f"structs.0.name={'x' * 5000}", 3, "`structs[0].name`: expected `str` of length <= 4096"),
    (
        'structs.0.samples=[{"event": 7, "path": "i_mmap", "offset": 72, "size": 16, "at": 72, "samples": 1, "report_lines": [1]}]',
        3, "`structs[0].samples[0].event`: there is no such event",
    ),
]  # fmt: skip


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("text", "status", "message"), DAMAGED, ids=[row[2] for row in DAMAGED])
def test_damaged_files(folder, profile, text, status, message):
    path, is_edit, value = text.partition("=")
    if is_edit:
        document = edit(profile, path, json.loads(value) if value[0] in "[-0123456789n" and value != "0xg" else value)
        text = json.dumps(document)
    (folder / "bad.json").write_text(text)
    done = run(*CHECK, "--evidence", "bad.json", cwd=folder)
    assert (done.returncode, "Traceback" in done.stderr) == (status, False)
    assert "bad.json: " in done.stderr
    assert message in done.stderr


@pytest.mark.parametrize("name", ["gone.json", "/dev/zero", "."])
def test_files_that_cannot_be_read(folder, name):
    done = run(*CHECK, "--evidence", name, cwd=folder)
    assert done.returncode == 2
    assert "cannot read the evidence" in done.stderr


def test_control_characters_reach_no_terminal(folder, profile):
    document = edit(edit(profile, f"{LINE}.report", "\x1b[2J::error::\n"), "reports.0.captured", "\x1b]0;x\x07\n")
    (folder / "c2c.json").write_text(json.dumps(document))
    for shown in format_all(folder).values():
        assert "\x1b" not in shown
        assert "\n::error::" not in shown


def test_an_output_does_not_replace_the_evidence(folder):
    done = run(*CHECK, "--evidence", "c2c.json", "--output", "json=c2c.json", cwd=folder)
    assert done.returncode == 2
    assert "it is the same file as c2c.json, which is read" in done.stderr


RULES = """
[[rule]]
id = "apart"
struct = "address_space"
kind = "separate"
fields = [["i_mmap"], ["i_mmap_rwsem"]]
why = "they wait"
"""
RULE_FILES = [
    # a line of the rule, the exit status, the origin, and a part of what is printed
    ('evidence_files = ["../c2c.json"]', 1, "profiled", "evidence rules/../c2c.json: supports 1 finding"),
    ("", 1, "declared", ""),
    ('evidence = ["inferred from sources"]', 1, "inferred", "inferred: inferred from sources, by a rule file"),
    ('evidence_files = ["gone.json"]', 2, None, "r.toml:2: `evidence_files` of rule `apart`: rules/gone.json: cannot read"),
    ('evidence_files = ["r.toml"]', 2, None, "rules/r.toml: is not evidence"),
    ('evidence_files = "c2c.json"', 2, None, "`evidence_files` must be a list"),
    ("evidence_files = [1]", 2, None, "`evidence_files`[0]"),
]


@pytest.mark.parametrize(("line", "status", "origin", "text"), RULE_FILES, ids=[row[0] for row in RULE_FILES])
def test_evidence_beside_the_rules(folder, line, status, origin, text):
    (folder / "rules").mkdir()
    (folder / "rules/r.toml").write_text(f"{RULES}{line}\n")
    words = ("check", "layouts.json", "--rules", "rules/r.toml", "--no-packs")
    done = run(*words, cwd=folder)
    assert done.returncode == status
    assert text in done.stdout + done.stderr
    if origin is not None:
        (found,) = json.loads(run(*words, "--format", "json", cwd=folder).stdout)["findings"]
        assert found["origin"] == origin


def test_evidence_of_another_rule_does_not_count(folder):
    (folder / "r.toml").write_text(f'{RULES}{RULES.replace("apart", "other")}evidence_files = ["c2c.json"]\n')
    done = run("check", "layouts.json", "--rules", "r.toml", "--no-packs", "--format", "json", cwd=folder)
    assert {each["rule"]: each["origin"] for each in json.loads(done.stdout)["findings"]} == {
        "apart": "declared", "other": "profiled",
    }  # fmt: skip


@pytest.mark.parametrize(("theirs", "origin", "support"), [("12ab", "profiled", "supports"), ("12ac", "declared", "other-build")])
def test_evidence_of_another_build_does_not_count(folder, profile, theirs, origin, support):
    (folder / "a.c").write_text(f'#include "{HEADER}"\nstruct address_space it;\n')
    words = [need("gcc"), "-g", "-shared", "-fPIC", "-Wl,--build-id=0x12ab", "a.c", "-o", "a.so"]
    subprocess.run(words, cwd=folder, check=True)
    (folder / "c2c.json").write_text(json.dumps(edit(profile, "inputs.0.build_id", theirs)))
    rules = ("--rules", P / "address-space.toml")
    done = run("check", "a.so", *rules, "--evidence", "c2c.json", "--format", "json", cwd=folder)
    (found,) = json.loads(done.stdout)["findings"]
    assert (found["origin"], {each[1] for each in own(found)}) == (origin, {support})
