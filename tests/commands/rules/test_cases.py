"""`layoutlint rules test`: what fails, what is said of it, and with which status it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.command import run

pytestmark = pytest.mark.usefixtures("whole_runs")

RULES = """
[struct.s]
placement = "line"
[[rule]]
id = "apart"
struct = "s"
kind = "separate"
fields = [["a"], ["b"]]
why = "w"
when = { arch = ["x86_64"] }
"""
NEAR, FAR = "struct s { long a, b; };", "struct s { long a; char pad[56]; long b; };"


def lay(folder: Path, *cases: tuple[str, str, str], rules: str = RULES) -> Path:
    """A rule file, with cases of C, outcome and further keys beside it."""
    (folder / "locks.toml").write_text(rules)
    tables = [
        f"[[case]]\nname = 'case {n}'\ncode = '''\n{code}\n'''\nexpect = {{ apart = '{outcome}' }}\n{more}\n"
        for n, (code, outcome, more) in enumerate(cases)
    ]
    (folder / "locks.cases.toml").write_text("".join(tables))
    return folder / "locks.toml"


TRIALS = [
    # id, cases (C, outcome, further keys), options, status, what became of them
    ("as expected", [(NEAR, "broken", ""), (FAR, "kept", "")], (), 0, [["broken"], ["kept"]]),
    ("not as expected", [(NEAR, "kept", ""), (FAR, "kept", "")], (), 1, [["broken"], ["kept"]]),
    ("no keeping case", [(NEAR, "broken", "")], (), 0, [["broken"]]),
    ("no keeping case, strict", [(NEAR, "broken", "")], ("--strict",), 1, [["broken"]]),
    ("both, strict", [(NEAR, "broken", ""), (FAR, "kept", "")], ("--strict",), 0, [["broken"], ["kept"]]),
    ("unknown is an outcome", [("struct s { long a; };", "unknown", "")], (), 0, [["unknown"]]),
    ("flags", [("struct s { long a; char pad[N]; long b; };", "kept", "flags = ['-DN=60']")], (), 0, [["kept"]]),
    ("another target", [(FAR, "kept", "flags = ['--target=aarch64-linux-gnu']")], (), 1, [[]]),
    ("no such struct", [("struct t { long a, b; };", "broken", "")], (), 1, [[]]),
    ("C with errors", [("struct s { u64 a, b; };", "broken", "")], (), 1, [["unknown"]]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cases", "options", "status", "actual"), [case[1:] for case in TRIALS], ids=[case[0] for case in TRIALS]
)
def test_trials(tmp_path, cases, options, status, actual):
    done = run("rules", "test", lay(tmp_path, *cases), *options, "--format", "json")
    output = json.loads(done.stdout)
    assert [result["actual"] for result in output["packs"][0]["results"]] == actual
    assert (done.returncode, output["exit"], done.stderr) == (status, status, "")


REASONS = [
    # C, expected outcome, further keys, what is said of the failure
    (NEAR, "kept", "", "expected kept: `a` at 0..7 shares a line with `b` at 8..15"),
    (NEAR, "broken", "flags = ['--target=aarch64-linux-gnu']", "expected broken: apart: for x86_64, not aarch64"),
    ("struct t;", "broken", "", "expected broken: the case does not define struct s"),
    ("struct s { long a; u64 b; };", "broken", "", "locks.cases.toml:4:20: error: unknown type name 'u64'"),
]


@pytest.mark.parametrize(("code", "outcome", "more", "message"), REASONS)
def test_what_is_said_of_a_failure(tmp_path, code, outcome, more, message):
    done = run("rules", "test", lay(tmp_path, (code, outcome, more)))
    assert done.returncode == 1
    assert message in done.stdout
    assert "1 verdict: 0 as expected, 1 not" in done.stdout


def test_rules_without_cases(tmp_path):
    lay(tmp_path)
    note = run("rules", "test", tmp_path / "locks.toml")
    strict = run("rules", "test", tmp_path / "locks.toml", "--strict")
    lack = f"{tmp_path}/locks.toml:4: apart has no breaking and no keeping case\n"
    assert (note.returncode, strict.returncode) == (0, 1)
    assert f"  note  {lack}" in note.stdout
    assert f"  FAIL  {lack}" in strict.stdout


def test_a_mistake_in_a_case_file_is_bad_usage(tmp_path):
    lay(tmp_path, (NEAR, "brokn", ""))
    done = run("rules", "test", tmp_path / "locks.toml")
    expected = f"{tmp_path}/locks.cases.toml:6: `apart` cannot be `brokn` (did you mean `broken`?)\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", expected)


def test_the_cases_of_the_example():
    done = run("rules", "test", "docs/example", "--strict")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "4 verdicts: 4 as expected, 0 not")


FOLDERS = [
    # working folder below the rules, how the rule file is given, the case file in messages
    (".", "locks.toml", "locks.cases.toml"),
    ("deep", "../locks.toml", "../locks.cases.toml"),
    (".", "{here}/locks.toml", "{here}/locks.cases.toml"),
]


@pytest.mark.parametrize(("folder", "given", "reported"), FOLDERS)
def test_errors_name_the_case_file_as_the_rule_file_was_given(tmp_path, folder, given, reported):
    (tmp_path / "deep").mkdir()
    lay(tmp_path, ("struct s { long a; u64 b; };", "broken", ""))
    done = run("rules", "test", given.format(here=tmp_path), "--format", "json", cwd=tmp_path / folder)
    (result,) = json.loads(done.stdout)["packs"][0]["results"]
    message = f"{reported.format(here=tmp_path)}:4:20: error: unknown type name 'u64'"
    assert result["message"] == f"the layout of s is unreliable: {message}"


def test_a_case_includes_headers_beside_its_file(tmp_path):
    (tmp_path / "types.h").write_text("typedef unsigned long u64;\n")
    rules = lay(tmp_path, ('#include "types.h"\nstruct s { u64 a, b; };', "broken", ""))
    done = run("rules", "test", rules, "--format", "json")
    assert [r["actual"] for r in json.loads(done.stdout)["packs"][0]["results"]] == [["broken"]]
