"""All that is read of reports of perf: of those that perf wrote, and of copies with one word changed.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.profiles.read import read
from tests.harness.command import ROOT
from tests.harness.whole import changes, whole_lines

PROFILES = ROOT / "fixtures/profiles"
REPORTS = sorted(path.name for path in PROFILES.glob("*.txt"))
EXCERPTS = dict(re.findall(r"^== (.*)\n((?:(?!== ).*\n)*)", Path(__file__).with_name("excerpts.txt").read_text(), re.MULTILINE))
"""Parts of reports by what is special about each."""
EDITS = {
    # what becomes of a word of a report
    "one more": lambda word: re.sub(r"\d+", lambda match: str(int(match[0]) + 1).zfill(len(match[0])), word, count=1),
    "ten times": lambda word: re.sub(r"(\d+)", r"\g<1>0", word, count=1),
    "zero": lambda word: re.sub(r"\d", "0", word),
    "gone": lambda word: "",
    "twice": lambda word: f"{word} {word}",
    "cut off": lambda word: word[: len(word) // 2],
    "another": lambda word: "x",
}  # fmt: skip


def lines_of(path: Path) -> list[str]:
    try:
        profile = read(str(path))
    except ReadError as error:
        return [f"! {error}"]
    return [line.replace(str(PROFILES), "PROFILES") for line in whole_lines(profile)]


@pytest.mark.parametrize("name", REPORTS)
def test_reports(name, golden_row):
    golden_row("\n".join(lines_of(PROFILES / name)))


@pytest.mark.parametrize("name", EXCERPTS)
def test_excerpts(name, tmp_path, monkeypatch, golden_row):
    monkeypatch.chdir(tmp_path)
    Path("report").write_text(EXCERPTS[name])
    golden_row("\n".join(lines_of(Path("report"))))


@pytest.mark.parametrize("name", REPORTS)
def test_reports_with_another_word(name, tmp_path, monkeypatch, golden_row):
    """Which lines differ, or why the report is refused."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(name)
    text = (PROFILES / name).read_text()[:6000]
    path = Path("report")
    path.write_text(text)
    first = lines_of(path)
    places = [match.span() for match in re.finditer(r"\S+", text)]
    shown = []
    for _ in range(20):
        (start, end), (what, edit) = chance.choice(places), chance.choice(list(EDITS.items()))
        path.write_text(text[:start] + edit(text[start:end]) + text[end:])
        shown += [f"== {text[start:end]!r} {what}", changes(first, lines_of(path))[:600]]
    golden_row("\n".join(shown))


def test_kept_lines(tmp_path):
    """Lines that are not needed are counted, and not kept."""
    path = str(PROFILES / "c2c-hitm.txt")
    every, none = read(path), read(path, lambda address: False)
    assert (len(every.blocks), every.omitted, len(none.blocks), none.omitted) == (1, 0, 0, 1)


def test_rows_of_other_columns_beside_lines_that_are_not_kept(tmp_path):
    (tmp_path / "report").write_text(EXCERPTS["lines without local hits, and blocks"])
    assert read(str(tmp_path / "report"), lambda address: False).omitted == 1
