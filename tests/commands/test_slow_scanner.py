"""The note that the scanner runs interpreted: once, after a wait that somebody notices."""

from __future__ import annotations

import itertools
import time

import pytest

from layoutlint.commands import terminal, version

ROWS = [
    ("interpreted", "reading DWARF", 1.0, 9, 1),
    ("partly compiled", "reading DWARF", 1.0, 9, 1),
    ("compiled", "reading DWARF", 1.0, 9, 0),
    ("interpreted", "reading DWARF", 0.1, 9, 0),
    ("interpreted", "parsing", 1.0, 9, 0),
]


@pytest.mark.parametrize(("state", "task", "step", "calls", "notes"), ROWS)
def test_a_long_interpreted_scan_is_noted_once(state, task, step, calls, notes, monkeypatch, capsys):
    clock = itertools.count()
    monkeypatch.setattr(version, "state", lambda: state)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock) * step)
    progress = terminal.progress_on_stderr(True)
    for done in range(calls):
        progress(task, done, calls)
    assert capsys.readouterr().err.count("note: the DWARF scanner runs interpreted") == notes
