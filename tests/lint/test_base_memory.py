"""The findings of base revisions that are kept, as they were found; and what makes them be found anew."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from layoutlint import files
from layoutlint.comparison.baseline_match import Entry
from layoutlint.comparison.standings import PairShare, Standing
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import base_memory
from layoutlint.lint.base_memory import BaseFindings, recall_or_find
from layoutlint.lint.source_aligner import source_aligner
from layoutlint.model.aligner import LINUX, PLAIN
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.readers.cache import keys
from tests.harness.build import X86_64, struct

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


ALIGNED = "__attribute__((aligned({})))"
HEADERS = [
    # headers beside the struct, and what aligns to a line
    ({}, "_Alignas(64)"),
    ({"a.h": f"#define CACHE_ALIGN {ALIGNED.format(64)}\n"}, "CACHE_ALIGN"),
    ({"a.h": f"  #  define my_cacheline_aligned\t{ALIGNED.format('LINE')}\n"}, "my_cacheline_aligned"),
    ({"a.h": f"#define CACHE {ALIGNED.format(64)}\n#define ALIGN {ALIGNED.format(64)}\n"}, "_Alignas(64)"),
    ({"a.h": "#define CACHE_ALIGN 64\n"}, "_Alignas(64)"),
    ({"a.h": "#define CACHE_ALIGN _Alignas(64)\n"}, "CACHE_ALIGN"),
    ({"a.h": f"#define ALIGN {ALIGNED.format(64)}\n"}, "_Alignas(64)"),
    ({"a.h": f"#define CACHE {ALIGNED.format(64)}\n"}, "_Alignas(64)"),
    ({"a.h": f"#define CACHE_ALIGN(n) {ALIGNED.format(64)}\n"}, "_Alignas(64)"),
    ({"a.h": f"#define CACHE_ALIGN(n) {ALIGNED.format('n')}\n"}, "_Alignas(64)"),
    ({"a.h": f"#define CACHE_ALIGN(n) {ALIGNED.format('n')}\n", "b.h": "long x CACHE_ALIGN(64);\n"}, "CACHE_ALIGN(64)"),
    ({"a.h": f"#define ALIGN_TO(n) {ALIGNED.format('n')}\n"}, "_Alignas(64)"),
    ({"a.h": f"#define ALIGN_TO(n) {ALIGNED.format('n')}\nlong x ALIGN_TO(64);\n"}, "_Alignas(64)"),
    ({"a.h": f"#define ALIGN_TO(n) {ALIGNED.format('n')}\n", "b.h": "long x ALIGN_TO(64);\n"}, "ALIGN_TO(64)"),
    ({"a.h": f"#define ALIGN_TO(n) {ALIGNED.format('m')}\n", "b.h": "long x ALIGN_TO(64);\n"}, "_Alignas(64)"),
    ({"a.h": f"#define ALIGN_TO(n) {ALIGNED.format('n')}\n", "b.c": "long x ALIGN_TO(64);\n"}, "_Alignas(64)"),
]


@pytest.mark.parametrize(("headers", "expected"), HEADERS)
def test_the_attribute_of_a_project(headers, expected, tmp_path):
    for name, text in headers.items():
        (tmp_path / name).write_text(text)
    own = replace(struct("s", 8), source=Source(str(tmp_path / "s.h"), 1))
    text = Reading("s.c", "clang", X86_64, (own, struct("plain", 8)))
    found = [source_aligner(text, ())]
    found += [source_aligner(replace(text, reader="dwarf"), folders) for folders in ((str(tmp_path),), ())]
    assert [each.of_member(64, 64) for each in found] == [expected, expected, "_Alignas(64)"]
    is_macro = "_Alignas" not in expected and "_Alignas" not in "".join(headers.values())
    assert found[0].of_declarator(64, 64) == (expected if is_macro else ALIGNED.format(64))
    assert source_aligner(replace(text, is_kernel=True), ()) is LINUX


def test_folders_that_are_gone_have_no_headers(tmp_path):
    gone = replace(struct("s", 8), source=Source(str(tmp_path / "gone/s.h"), 1))
    assert source_aligner(Reading("s.c", "clang", X86_64, (gone,)), (str(Path(tmp_path) / "gone"),)) is PLAIN
