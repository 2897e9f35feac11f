"""The findings of base revisions that are kept, as they were found; and what makes them be found anew."""

from __future__ import annotations

from fractions import Fraction

import pytest

from layoutlint import files
from layoutlint.comparison.baseline_match import Entry
from layoutlint.comparison.standings import PairShare, Standing
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import base_memory
from layoutlint.lint.base_memory import BaseFindings, recall_or_find
from layoutlint.model.reading import Unread
from layoutlint.model.record import replace
from layoutlint.readers.cache import keys

STANDING = Standing(Outcome.AT_RISK, Fraction(3, 7), (PairShare("a", "b", Fraction(2, 7), True),), ("a",), "", 0.25)
FOUND = BaseFindings((Entry(("apart", "s", "", ""), "b", STANDING, "why"),), (Unread("old:s.h", "is damaged"),))


@pytest.fixture
def recall(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/s.h").write_text("of the commit")
    (tmp_path / "outside.h").write_text("first")
    runs: list[str] = []

    def find(*parts: object, found: BaseFindings = FOUND) -> BaseFindings:
        def read() -> BaseFindings:
            runs.append(" ".join(map(str, parts)))
            for path in ("tree/s.h", "outside.h"):
                files.read_all(str(tmp_path / path), 1000)
            return found

        return recall_or_find(parts, str(tmp_path / "tree"), read)

    return find, runs, tmp_path


def test_findings_are_kept_for_the_same_question(recall):
    find, runs, folder = recall
    assert [find("c1", "s.h"), find("c1", "s.h"), find("c2", "s.h"), find("c1", "s.h")] == [FOUND] * 4
    assert runs == ["c1 s.h", "c2 s.h"]
    (folder / "tree/s.h").write_text("of another commit")
    assert (find("c1", "s.h"), len(runs)) == (FOUND, 2)
    (folder / "outside.h").write_text("second")
    assert (find("c1", "s.h"), len(runs)) == (FOUND, 3)


@pytest.mark.parametrize("result", [b"", b"{", b'{"entries": [1]}', b'{"unread": [{"origin": "x"}]}'])
def test_damaged_findings_are_found_anew(recall, result, monkeypatch):
    find, runs, _ = recall
    monkeypatch.setattr(base_memory.Memory, "recall", lambda self: result)
    assert (find("c1"), runs) == (FOUND, ["c1"])


@pytest.mark.parametrize("share", ['"3/7"', "1", '"x"', "null"])
def test_only_texts_of_fractions_are_shares(recall, share, monkeypatch):
    find, runs, _ = recall
    kept = base_memory.msgspec.json.encode(FOUND, enc_hook=str).replace(b'"3/7"', share.encode())
    monkeypatch.setattr(base_memory.Memory, "recall", lambda self: kept)
    assert (find("c1"), len(runs)) == (FOUND, share != '"3/7"')


@pytest.mark.parametrize("error", [keys.Unknown(), OSError()])
def test_questions_without_a_key_are_not_kept(recall, error, monkeypatch):
    find, runs, _ = recall

    def fail(*_: object) -> str:
        raise error

    monkeypatch.setattr(base_memory.keys, "key_of", fail)
    assert ([find("c1"), find("c1")], len(runs)) == ([FOUND] * 2, 2)


def test_names_that_are_no_text_are_not_kept(recall):
    find, runs, _ = recall
    odd = replace(FOUND, unread=(Unread("\udc80", "is damaged"),))
    assert ([find("c1", found=odd), find("c1", found=odd)], len(runs)) == ([odd] * 2, 2)
