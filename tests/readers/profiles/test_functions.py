"""Shares of functions in the text of `perf report`."""

from __future__ import annotations

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.profiles import functions

PROFILE = """
# Overhead  Symbol
    41.20%  [k] _raw_spin_lock
     7,05%  [.] worker.isra.0
     1.00%  [k] worker
"""


def test_a_profile_is_read(tmp_path):
    (tmp_path / "p.txt").write_text(PROFILE)
    assert functions.read(str(tmp_path / "p.txt")) == pytest.approx({"_raw_spin_lock": 0.412, "worker": 0.0705})


@pytest.mark.parametrize("text", ["", "no rows\n", "12.00% function\n"])
def test_what_is_no_profile(tmp_path, text):
    (tmp_path / "p.txt").write_text(text)
    with pytest.raises(ReadError):
        functions.read(str(tmp_path / "p.txt"))
