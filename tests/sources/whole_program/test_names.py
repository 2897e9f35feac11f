"""What the name of a function tells of when it runs, and how often."""

from __future__ import annotations

import pytest

from layoutlint.sources.whole_program import rare_work
from layoutlint.sources.whole_program.phases import Phase, phase_of


@pytest.mark.parametrize(("name", "phase"), [
    ("ring_init", Phase.SETUP), ("destroy_ring", Phase.TEARDOWN), ("ring_show", Phase.SHOWING), ("ring_ioctl", Phase.SETTING),
    ("handle_error", Phase.FAILING), ("push", Phase.NORMAL), ("initial_window", Phase.NORMAL), ("seqcount", Phase.NORMAL),
    ("InitProcess", Phase.SETUP), ("ReportLockError", Phase.SHOWING), ("HTTPError", Phase.FAILING), ("LWLockInitialize", Phase.SETUP),
    ("ringInit", Phase.SETUP), ("initial", Phase.NORMAL), ("InitialWindow", Phase.NORMAL), ("XLOGShutdown", Phase.TEARDOWN),
])  # fmt: skip
def test_phases(name, phase):
    assert phase_of(name) is phase


@pytest.mark.parametrize(("name", "share"), [
    ("acceptCommonHandler", 0.1), ("conn_new", 0.1), ("serverCron", 0.1), ("rotate_log", 0.1), ("serverLog", 0.02), ("zones_cfg", 0.02), ("process_command", 1.0),
    ("renew", 1.0), ("logic", 1.0), ("ProcSleep", 0.1), ("get_stats_info", 0.02),
])  # fmt: skip
def test_work_that_is_rare_by_its_name(name, share):
    assert rare_work.share_of_name(name) == share
