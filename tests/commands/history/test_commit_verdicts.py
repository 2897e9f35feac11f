"""Verdicts on commits whose files are in memory: which are read, which have one already, and what a report comes to."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import pytest

from layoutlint.commands.history import commit_verdicts
from layoutlint.commands.history.commit_files import CommitFiles, Questions
from layoutlint.commands.history.commit_verdicts import CommitVerdicts, Judged
from layoutlint.errors import ReadError, UsageError
from layoutlint.judgement.finding import Coverage, Finding, Report
from layoutlint.judgement.rule import Pack, Rule, Severity
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.kinds.separate import Separate
from layoutlint.lint.options import Options
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.structs import Source
from layoutlint.revisions import exported_tree, submodules
from layoutlint.revisions.exported_tree import ExportedTree
from layoutlint.revisions.git import Blob, Commit
from layoutlint.workers.child import Lost
from tests.harness.build import X86_64, member, struct
from tests.harness.whole import inline

RULES = tuple(Rule(name, "s", Separate((("a",), ("b",))), Severity.ERROR, "w", Source("r.toml", 1)) for name in ("apart", "other"))
PACK = Pack("p", "r.toml", RULES)
STRUCT = struct("s", 64, member("a", 0, 8), member("b", 8, 8))


def verdicts(root: Path | str = "root", **more: object) -> CommitVerdicts:
    return CommitVerdicts("apart", (PACK,), (), Options(), "s.h", lambda path: not path.startswith("docs/"), str(root), **more)  # type: ignore[arg-type]


def finding(outcome: Outcome, bases: int = 0, rule: Rule = RULES[0], message: str = "m") -> Finding:
    return Finding(rule, STRUCT, Verdict(outcome, message, bases=tuple(range(bases)), total=8 * bool(bases)), "s.h")


REPORTS = {
    "nothing": ((), (), ()),
    "an input that cannot be read": ((), (), (Unread("s.h", "no such file"),)),
    "another rule": ((finding(Outcome.BROKEN, rule=RULES[1]),), (), ()),
    "kept": ((), (finding(Outcome.KEPT),), ()),
    "at risk, and kept": ((finding(Outcome.AT_RISK, 2),), (finding(Outcome.KEPT),), ()),
    "at risk twice": ((finding(Outcome.AT_RISK, 2, message="few"), finding(Outcome.AT_RISK, 5, message="many")), (), ()),
    "at risk, and broken": ((finding(Outcome.AT_RISK, 5), finding(Outcome.BROKEN, 8)), (), ()),
    "broken, and unknown": ((finding(Outcome.BROKEN, 8), finding(Outcome.UNKNOWN, message="no header")), (), (Unread("s.h", "is damaged"),)),
}


@pytest.mark.parametrize("name", list(REPORTS))
def test_the_worst_finding_of_the_rule_decides(name, golden_row):
    failing, kept, unread = REPORTS[name]
    report = Report((Reading("s.h", "clang", X86_64, ()),), failing, kept, Coverage(1, 1, 1), 0, unread=unread)
    golden_row(inline(verdicts()._verdict(report)))


QUESTIONS = Questions(frozenset({"s.h", "inc/a.h", "sub/x/y.h"}), frozenset({"inc", ""}))
EDITS = [
    # the path and the letters of an edit, and whether it can change a verdict
    ("s.h", "M", True), ("t.h", "M", False), ("inc/b.h", "M", False), ("inc/b.h", "A", True), ("inc/b.h", "D", True), ("inc/b.h", "MA", True),
    ("inc/deep/b.h", "A", True), ("new.h", "A", True), ("new/deep.h", "A", True), ("sub", "M", True), ("sub/x", "M", True), ("su", "M", False),
    ("sub/x/y.h", "M", True), ("docs/s.md", "A", False), ("inc/a.h", "T", True),
]  # fmt: skip


@pytest.mark.parametrize(("path", "letters", "expected"), EDITS)
def test_edits_that_can_change_a_verdict(path, letters, expected):
    judged = Judged(commit_verdicts._unknown_verdict(""), QUESTIONS, ())
    assert verdicts(judged=[judged]).is_read(path, letters) == expected
    assert not verdicts().is_read(path, letters)


class Tree:
    """The part of a working tree that decides which new folders can have an effect."""

    tracked_folders = frozenset({".", "inc"})


@pytest.mark.parametrize(("path", "letters", "expected"), [
    ("new.h", "A", False), ("inc/b.h", "A", False), ("far/b.h", "A", True), ("far/b.h", "D", True), ("far/b.h", "M", False), ("docs/x/y", "A", False),
])  # fmt: skip
def test_folders_that_only_a_commit_has(path, letters, expected):
    assert verdicts(working_tree=Tree()).is_read(path, letters) == expected


def blob(text: str) -> Blob:
    return Blob("100644", text)


def test_the_answers_of_a_commit():
    files = CommitFiles({"s.h": blob("1"), "inc/a.h": blob("2"), "inc/deep/b.h": blob("3")})
    assert files.entries == {
        "": frozenset({("s.h", False), ("inc", True)}), "inc": frozenset({("a.h", False), ("deep", True)}), "inc/deep": frozenset({("b.h", False)}),
    }  # fmt: skip
    asked = Questions(frozenset({"s.h", "inc", "gone.h", "inc/a.h"}), frozenset({"inc", "gone"}))
    assert files.answers(asked) == ((False, True, blob("2"), blob("1")), (None, files.entries["inc"]))


@pytest.fixture
def commits(monkeypatch, tmp_path):
    """A judge of commits whose files are given by their id; what was judged, and what is left on the disk."""
    runs: list[str] = []
    trees = {"c1": {"s.h": "1"}, "c2": {"s.h": "1", "t.h": "new"}, "c3": {"s.h": "2"}, "c4": {"s.h": "lost"}, "c5": {"s.h": "wrong"}}

    def files_of(commit: Commit) -> dict[str, Blob]:
        if commit.id not in trees:
            raise UsageError("no such commit")
        return {path: blob(text) for path, text in trees[commit.id].items()}

    def export(commit: Commit, folder: str, is_wanted: object, earlier: object) -> ExportedTree:
        Path(folder, "s.h").write_text(trees[commit.id]["s.h"])
        return ExportedTree(folder, files_of(commit))

    def run_in_child(function: object, folder: str) -> tuple[object, list[str], Questions]:
        text = Path(folder, "s.h").read_text()
        runs.append(text)
        if text == "lost":
            raise Lost("was killed")
        if text == "wrong":
            raise ReadError("s.h", "is damaged")
        found = commit_verdicts.Verdict(commit_verdicts.NO_FAILURE, "kept", f"kept: {text}")
        return found, ["compile_commands.json"], Questions(frozenset({"s.h"}))

    monkeypatch.setattr(submodules, "files_of", files_of)
    monkeypatch.setattr(exported_tree, "export", export)
    monkeypatch.setattr(commit_verdicts, "run_in_child", run_in_child)
    return verdicts(tmp_path), runs


def test_commits_are_judged_once(commits, tmp_path):
    judge, runs = commits
    found = [judge.judge(Commit(name, name, ".")) for name in ("c1", "c2", "c3", "c1", "c4", "c5", "gone")]
    assert [each.sentence for each in found] == [
        "kept: 1", "kept: 1", "kept: 2", "kept: 1", "the process that read it was killed", "s.h: is damaged", "no such commit",
    ]  # fmt: skip
    assert [each.outcome for each in found] == ["kept"] * 4 + [None] * 3
    assert (runs, list(judge.verdicts), list(judge.databases)) == (["1", "2", "lost", "wrong"], ["c1", "c2", "c3", "c4", "c5", "gone"], ["compile_commands.json"])
    assert (len(os.listdir(tmp_path)), len(judge.latest), found[0].standing.share) == (1, 1, Fraction(0))
