"""`[override."RULE"]`: a rule of another pack is off or has another severity, and every report says so."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import ROOT, run

SIDES = "ring-sides-apart"
RULES = ("--rules", ROOT / "docs/example/layoutlint.toml", "--rules", "own.toml")
INPUT = ROOT / "docs/example/ring.h"


def override(id_: str = SIDES, *keys: str, why: str = 'why = "measured: no gain"') -> str:
    return f'[override."{id_}"]\n' + "".join(f"{key}\n" for key in (*keys, why) if key)


OFF, NOTE = "enabled = false", 'severity = "note"'
MISTAKES = [
    ("a misspelt id", override("ring-side-apart", OFF), "own.toml:1: no rule is called `ring-side-apart` (did you mean `ring-sides-apart`?)"),
    ("no reason", override(SIDES, OFF, why=""), f'own.toml:1: [override."{SIDES}"] has no `why`'),
    ("an empty reason", override(SIDES, OFF, why='why = " "'), "own.toml:3: `why` is empty"),
    ("nothing changes", override(SIDES), "needs either `enabled = false` or a `severity`"),
    ("it is on anyway", override(SIDES, "enabled = true"), "needs either `enabled = false` or a `severity`"),
    ("both", override(SIDES, OFF, NOTE), "needs either `enabled = false` or a `severity`"),
    ("no such severity", override(SIDES, 'severity = "warn"'), "own.toml:2: `severity` cannot be `warn` (did you mean `warning`?)"),
    ("a string for a boolean", override(SIDES, 'enabled = "no"'), "own.toml:2: `enabled` must be true or false, not a string"),
    ("a misspelt key", override(SIDES, "enabeld = false"), "own.toml:2: unknown key `enabeld`"),
    ("no table", "override = 3\n", "own.toml:1: `override` must be a table"),
    ("a guess that counts", override("generic-atomics-on-one-line", 'severity = "error"'),
     "own.toml:1: `generic-atomics-on-one-line` guesses, and can only be a note"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
@pytest.mark.parametrize("command", ["check", "rules check"])
def test_mistakes(command, text, message, tmp_path):
    (tmp_path / "own.toml").write_text(text)
    files = ROOT / "docs/example/layoutlint.toml", "own.toml"
    words = ("check", INPUT, *RULES) if command == "check" else ("rules", "check", *files)
    done = run(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_two_files_cannot_override_one_rule(tmp_path):
    (tmp_path / "own.toml").write_text(override(SIDES, OFF))
    (tmp_path / "other.toml").write_text(override(SIDES, NOTE))
    done = run("check", INPUT, *RULES, "--rules", "other.toml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"other.toml:1: `{SIDES}` is overridden at own.toml:1 already\n")


EFFECTS = [
    # the override, the rules that are judged with their severities, the sentence of the coverage
    (override(SIDES, OFF), {"ring-producer-on-one-line": "warning"}, f"{SIDES}: off (own.toml:1: measured: no gain)"),
    (override(SIDES, NOTE), {SIDES: "note", "ring-producer-on-one-line": "warning"},
     f"{SIDES}: note, not error (own.toml:1: measured: no gain)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "severities", "sentence"), EFFECTS)
def test_an_override_has_its_effect_and_is_reported(text, severities, sentence, tmp_path):
    (tmp_path / "own.toml").write_text(text)
    command = ("check", INPUT, *RULES)
    report = json.loads(run(*command, "--format", "json", cwd=tmp_path).stdout)
    assert {f["rule"]: f["severity"] for f in (*report["findings"], *report["kept"])} == severities
    assert report["coverage"]["overridden"] == [sentence]
    assert f"  overridden: {sentence}" in run(*command, cwd=tmp_path).stdout
    assert f"::notice title=overridden rule::{sentence}" in run(*command, "--format", "github", cwd=tmp_path).stdout
    assert f"overridden {sentence}" in run(*command, "--format", "sarif", cwd=tmp_path).stdout


def test_what_is_off_does_not_fail_the_run(tmp_path):
    both = "".join(override(id_, OFF) for id_ in (SIDES, "ring-producer-on-one-line"))
    (tmp_path / "own.toml").write_text(both + '[[rule]]\nid = "small"\nstruct = "ring"\nkind = "size"\nmax = 64\nwhy = "w"\n')
    assert run("check", INPUT, *RULES, cwd=tmp_path).returncode == 0


def test_a_rule_of_a_pack_that_is_not_used_is_no_mistake(tmp_path):
    """layoutlint.toml is read in every run, also of inputs that are no kernels."""
    (tmp_path / "own.toml").write_text(override("cred-usage-apart-from-ids", NOTE))
    done = run("check", INPUT, *RULES, "--format", "json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["coverage"]["overridden"]) == (1, [])


def test_the_builds_of_a_matrix_report_it_once(tmp_path):
    (tmp_path / "own.toml").write_text(override(SIDES, NOTE))
    (tmp_path / "m.toml").write_text(f'[build.a]\ninput = "{INPUT}"\n[build.b]\ninput = "{INPUT}"\n')
    done = run("check", "--matrix", "m.toml", *RULES, "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout)["coverage"]["overridden"] == [f"{SIDES}: note, not error (own.toml:1: measured: no gain)"]
