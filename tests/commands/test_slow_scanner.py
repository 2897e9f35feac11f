"""What is said while a run takes long: the step, and once that the scanner runs interpreted."""

from __future__ import annotations

import itertools
import re
import signal
import time

import pytest

from layoutlint.commands import terminal, version
from layoutlint.model.reading import no_progress

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
    monkeypatch.setattr(terminal, "_SILENCE", 0)
    progress = terminal.progress_on_stderr(True)
    for done in range(calls):
        progress(task, done, calls)
    assert capsys.readouterr().err.count("note: the DWARF scanner runs interpreted") == notes


def test_a_silent_run_says_what_it_does(monkeypatch, capfd):
    monkeypatch.setattr(terminal, "_SILENCE", 0.05)
    monkeypatch.delenv("LAYOUTLINT_NO_PROGRESS", raising=False)
    before = signal.getsignal(signal.SIGALRM)
    try:
        progress = terminal.progress_on_stderr(None)
        progress("parsing", 1, 4)
        time.sleep(0.3)
        terminal.write("")  # somebody may read it in a pager
        assert re.match(r"(parsing: 25 %, 0 s\n)+$", capfd.readouterr().err)
        time.sleep(0.2)
        assert capfd.readouterr().err == ""
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("choice", "variable"), [(False, ""), (None, "1")])
def test_a_run_can_be_silent(choice, variable, monkeypatch):
    monkeypatch.setenv("LAYOUTLINT_NO_PROGRESS", variable)
    assert terminal.progress_on_stderr(choice) is no_progress
