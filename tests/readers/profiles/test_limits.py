"""Both sides of the limits of reports: the smallest that lets a report of perf through is the number of what it has."""

from __future__ import annotations

import importlib
import re
import time
from contextlib import suppress

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.profiles import c2c
from layoutlint.readers.profiles import read as module
from layoutlint.readers.profiles.read import read
from tests.harness.command import ROOT

PROFILES = ROOT / "fixtures/profiles"
LIMITS = {
    # a report, a module, its limit; what the report has of that, and what is said if less is allowed
    "rows of an annotation": ("annotate-6.12.txt", "annotated_types", "_MOST_ROWS", 27, "the report has more than {} rows"),
    "depth of an annotation": ("annotate-6.12.txt", "annotated_types", "_DEEPEST", 2, "is nested more than {} times"),
    "rows of a cache line": ("c2c-hitm.txt", "c2c", "_MOST_ROWS", 4, "the cache line has more than {} rows"),
    "rows of a report": ("report-6.12.txt", "type_report", "_MOST_ROWS", 9, "the report has more than {} rows"),
    "a line": ("report-6.12.txt", "report_text", "_LONGEST", 83, "the line is longer than {} bytes"),
}  # fmt: skip


@pytest.mark.parametrize("case", LIMITS)
def test_limit(case, monkeypatch):
    report, module, name, number, message = LIMITS[case]
    loaded = importlib.import_module(f"layoutlint.readers.profiles.{module}")
    monkeypatch.setattr(loaded, name, number)
    read(str(PROFILES / report))
    monkeypatch.setattr(loaded, name, number - 1)
    with pytest.raises(ReadError, match=re.escape(message.format(number - 1))):
        read(str(PROFILES / report))


def counted_lines() -> tuple[int, int]:
    profile = read(str(PROFILES / "c2c-hitm.txt"))
    return len(profile.blocks), profile.omitted


@pytest.mark.parametrize(("most", "kept"), [(2, (1, 0)), (1, (1, 0)), (0, (0, 1))])
def test_cache_lines_that_are_kept(most, kept, monkeypatch):
    monkeypatch.setattr(c2c, "_MOST_BLOCKS", most)
    assert counted_lines() == kept


@pytest.mark.parametrize(("most", "listed"), [(1, 1), (0, 0)])
def test_cache_lines_that_are_listed(most, listed, monkeypatch):
    monkeypatch.setattr(c2c, "_MOST_BLOCKS", most)
    assert read(str(PROFILES / "c2c-hitm.txt")).listed == listed


@pytest.mark.parametrize("most", [3, 2, 1])
def test_places_and_codes_that_are_kept(most, monkeypatch):
    monkeypatch.setattr(c2c, "_MOST_PLACES", most)
    monkeypatch.setattr(c2c, "_MOST_CODES", most)
    touch = read(str(PROFILES / "c2c-hitm.txt")).blocks[0].touches[0]
    assert (len(touch.lines), len(touch.codes)) == (min(most, 2), min(most, 2))


@pytest.mark.parametrize(("most", "kept"), [(2, 2), (1, 1), (0, 0)])
def test_build_ids_that_are_kept(most, kept, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_MOST_BUILD_IDS", most)
    (tmp_path / "report").write_text("".join(f"{number:016x} x\n" for number in range(2)) + (PROFILES / "c2c-hitm.txt").read_text())
    assert len(read(str(tmp_path / "report")).header.build_ids) == kept


LONG_LINES = [
    # a report, a part of a line of it, what is in the line again and again in place of that
    ("c2c-hitm.txt", "   0     ", " "), ("c2c-hitm.txt", " box  ", " "), ("annotate-6.12.txt", "Percent ", " "),
    ("report-6.12.txt", "Overhead", " "), ("report-6.12.txt", "# Samples", "# "), ("c2c-hitm.txt", "#  ", "#"), ("c2c-hitm.txt", "100.00%", "0.00% "),
]  # fmt: skip


@pytest.mark.parametrize(("report", "part", "again"), LONG_LINES)
def test_a_long_line_takes_no_square_of_its_length(report, part, again, tmp_path):
    text = (PROFILES / report).read_text()
    assert part in text
    (tmp_path / "report").write_text(text.replace(part, again * (60_000 // len(again)) + part, 1))
    before = time.process_time()
    with suppress(ReadError):
        read(str(tmp_path / "report"))
    assert time.process_time() - before < 20
