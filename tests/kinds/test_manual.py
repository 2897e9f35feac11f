"""The manual of the kinds: up to date, and every example says what layoutlint says."""

from __future__ import annotations

import re
import runpy

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds import all_kinds, manual
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.reading import ReadOptions
from tests.harness.command import ROOT

KINDS = all_kinds()
EXAMPLES = [(kind, which) for kind in KINDS for which in ("breaks", "keeps")]
ACCESSES = '[struct.stats.fields]\npackets = { access = "hot-write" }\nlimit = { access = "hot-read" }\n'


def test_the_document_is_what_the_kinds_say():
    assert (ROOT / "docs/kinds.md").read_text() == manual.document(KINDS), (
        "run `python -m layoutlint.kinds.manual > docs/kinds.md`"
    )


def test_the_goals_lead_to_every_kind():
    page = manual.document(KINDS)
    goals = re.findall(r"^\| .+ \| \[([\w-]+)\]\(#\1\) \|$", page, re.M)
    assert sorted(goals) == sorted(kind.name for kind in KINDS)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
def test_the_module_prints_the_document(capsys):
    runpy.run_module("layoutlint.kinds.manual", run_name="__main__")
    assert capsys.readouterr().out == (ROOT / "docs/kinds.md").read_text()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("kind", "which"), EXAMPLES, ids=[f"{kind.name}-{which}" for kind, which in EXAMPLES])
def test_an_example_is_judged_as_it_says(kind, which, tmp_path):
    example = getattr(kind.manual, which)
    if kind.traits.about == "variables" or kind.traits.compares_definitions:
        pytest.skip("one C text is not enough: test_neighbours and test_one_layout compile the examples")
    (tmp_path / "example.c").write_text(example.code)
    (name,) = re.findall(r"^struct (\w+) {$", example.code, re.M)
    accesses = ACCESSES if kind.name in ("access", "complete") else ""
    text = f'[pack]\nname = "manual"\n{accesses}[[rule]]\nid = "example"\nstruct = "{name}"\nkind = "{kind.name}"\n{kind.manual.rule}\nwhy = "w"\n'
    options = Options(read=ReadOptions(flags=("--target=x86_64-linux-gnu",)))
    report = check([str(tmp_path / "example.c")], (rule_file.parse(text, "example.toml"),), (), options)
    (verdict,) = [finding.verdict for finding in (*report.findings, *report.kept_findings)]
    assert (verdict.outcome, verdict.message) == (example.outcome, example.message)
    assert (verdict.outcome is Outcome.KEPT) is (which == "keeps")


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_a_section_has_all_its_parts(kind):
    text = manual.explain(kind)
    assert text.startswith(f"## {kind.name}\n")
    for part in (kind.manual.meaning, kind.manual.remedy, kind.manual.breaks.message, kind.manual.keeps.code):
        assert part in text
    assert all(f"| `{key.name}` |" in text for key in kind.keys)
