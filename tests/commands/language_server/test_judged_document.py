"""All that an editor is told of a text: structs that are laid out and not, what embeds them, accesses, findings and failures.

The text in `golden/` is for review: `pytest --rewrite-goldens` writes it.
"""

from __future__ import annotations

import pytest

from layoutlint.commands.language_server import judged_document as document
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.document import JudgedStruct
from layoutlint.model.reading import ReadOptions
from tests.harness.run_options import run_options
from tests.harness.whole import inline

TEXT = """\
struct lock { int count; long owner; };
struct ring { struct lock lock; long head; struct lock spare[2]; long tail; };
struct rings { int number; struct ring each[3]; struct { struct ring one; } in; };
struct unknown_type { struct lock lock; struct absent it; };
struct around_unknown { struct unknown_type in; };
struct declared;
typedef struct { struct ring ring; } held;
union choice { struct ring ring; held held; };
struct empty { };
struct open { long length; struct lock locks[]; };
struct lock;
struct ring of_file;
"""
RULES = """\
[struct.ring]
fields = { head = { access = "hot-write" }, tail = { access = "hot-read" } }
[[rule]]
id = "apart"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "both are hot"
[[rule]]
id = "small"
struct = "l*"
kind = "size"
max = 12
why = "there are many"
[[rule]]
id = "whole"
struct = "unknown_type"
kind = "size"
max = 64
why = "it fits"
"""


def lines(judged: JudgedStruct) -> list[str]:
    """What is known about a struct, apart from its layout."""
    bases = None if judged.placements is None else judged.placements.bases
    head = f"= {judged.name} at {judged.struct.source}, bits {judged.struct.bit_size}, {judged.struct.problem or 'reliable'}, bases {bases}"
    found = [f"{each.rule.id} {each.verdict.outcome.value}: {each.verdict.message}" for each in judged.findings]
    return [head, *map(inline, judged.accesses), *map(inline, judged.holders), *found]


@pytest.mark.parametrize("has_rules", [True, False])
def test_whole_text(tmp_path, monkeypatch, golden, has_rules):
    """Also structs that embed themselves through others, with and without rules."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.c").write_text(TEXT)
    packs = (rule_file.parse(RULES, "rules.toml"),) if has_rules else ()
    options = run_options(finds_allocations=False, allow_unknown=True, ignore_missing=True, read=ReadOptions(finds_flags=False))
    given = document.Document(str(tmp_path / "text.c"), "text.c", TEXT)
    judged, report = document.judge(given, packs, (), options)
    text = [line for each in judged.structs for line in lines(each)] + [inline(each) for each in (*judged.failures, judged.is_kernel, dict(judged.paths))]
    assert (report is not None) == has_rules
    golden(f"document-{has_rules}.txt", "".join(f"{line}\n".replace(str(tmp_path), "FOLDER") for line in text))
