"""Both sides of the limits of reports: the smallest that lets a report of perf through is the number of what it has."""

from __future__ import annotations

import importlib
import re

import pytest

from layoutlint.errors import ReadError
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
